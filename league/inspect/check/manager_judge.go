package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// wholeLeague is greater than every round.
const wholeLeague = 1 << 30

// standings are those by the reports of the rounds up to this one, as rows of a message by player.
func (x *managerExam) standings(round int) map[string]members {
	x.mu.Lock()
	defer x.mu.Unlock()
	table, _ := league.New(len(x.players), league.DefaultScoring()) // these are valid
	index := func(id string) int { return slices.IndexFunc(x.players, func(p *member) bool { return p.id == id }) }
	for _, m := range x.matches {
		played := league.Played{A: index(m.players[0]), B: index(m.players[1]), Winner: league.None}
		if !m.accepted || m.round > round || played.A < 0 || played.B < 0 {
			continue
		}
		if m.verdict.Winner != rules.NoSide {
			played.Winner = index(m.verdict.WinnerOf(m.players))
		}
		_ = table.Record(m.round, played) // both are players of the table
	}
	rows := map[string]members{}
	for i, p := range x.players {
		rows[p.id] = objectOf(encoded(table.Row(i)))
	}
	return rows
}

// standingsProblem returns what is wrong with the standings after a round.
func (x *managerExam) standingsProblem(rows []members, round int) string {
	counted := x.standings(round)
	if x.unsure(round) {
		return undecided
	}
	listed := func(id string) bool {
		return slices.ContainsFunc(rows, func(m members) bool { return m.text("player_id") == id })
	}
	players := len(counted)
	for _, p := range x.players {
		if p.late && !listed(p.id) {
			players--
		}
	}
	if len(rows) != players {
		return fmt.Sprintf("the standings have %d rows, and the league %d players", len(rows), players)
	}
	for _, m := range rows {
		id := m.text("player_id")
		want := counted[id]
		if want == nil {
			return "the standings have " + quoted(id) + ", which is no player"
		}
		for _, name := range []string{"played", "wins", "draws", "losses", "points"} {
			if got := m[name]; !sameJSON(got, want[name]) && (got != nil || name == "points") {
				return fmt.Sprintf("%s of %s is %s, and by the reports %s", name, id, valueOf(m, name), want[name])
			}
		}
	}
	return ""
}

// unsure tells whether a report up to this round got no answer: the manager may have counted it, or not.
func (x *managerExam) unsure(round int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.matches, func(m *assignedMatch) bool { return m.unanswered && m.round <= round })
}

// orderProblem returns why rows are not in order.
func orderProblem(rows []members) string {
	points, wins := 1<<30, 0
	for i, m := range rows {
		rank, _ := m.integer("rank")
		if rank < 1 || rank > i+1 {
			return fmt.Sprintf("the rank of row %d is %s", i+1, valueOf(m, "rank"))
		}
		before, winsBefore := points, wins
		points, _ = m.integer("points")
		wins, _ = m.integer("wins")
		if points > before || points == before && wins > winsBefore {
			return fmt.Sprintf("row %d has %d points and %d wins, and the row before %d and %d", i+1, points, wins, before,
				winsBefore)
		}
	}
	return ""
}

// recordLeague records all messages of the manager.
func (x *managerExam) recordLeague() {
	x.mu.Lock()
	assigned := lists.Map(x.matches, func(m *assignedMatch) string { return m.id })
	x.mu.Unlock()
	announced := map[int][]members{} // the matches of each round, as the first player was told
	told := x.present()
	if len(told) == 0 {
		x.miss("the manager has taken no player with an endpoint of the examination", "announced")
		return
	}
	for _, c := range told[0].received(protocol.TypeRoundAnnouncement) {
		x.recordCall(c)
		announced[roundOf(c)] = rowsOf(c.params["matches"])
	}
	x.show("announced", nil, when(len(announced) == 0, "%s was not told of any round", told[0].id))
	x.show("schedule", nil, x.scheduleProblem(announced))
	for _, round := range slices.Sorted(maps.Keys(announced)) {
		for _, m := range announced[round] {
			id := m.text("match_id")
			x.show("assigned", nil,
				when(!slices.Contains(assigned, id), "match %s of round %d was announced, and assigned to no referee", quoted(id), round))
		}
	}
	rounds := len(announced)
	for _, p := range told {
		x.recordTold("announced", p, protocol.TypeRoundAnnouncement, rounds, nil)
		x.recordTold("ends of rounds", p, protocol.TypeRoundCompleted, rounds, nil)
		x.recordStandings(x.recordTold("standings updates", p, protocol.TypeStandingsUpdate, rounds, nil))
		want := object{"total_rounds": rounds, "total_matches": len(assigned)}
		for _, c := range x.recordTold("end told", p, protocol.TypeLeagueCompleted, 1, want) {
			x.recordCall(c)
			rows := rowsOf(c.params["final_standings"])
			x.recordRows(c, rows, wholeLeague)
			if champion := objectOf(c.params["champion"]).text("player_id"); len(rows) > 0 {
				first := rows[0].text("player_id")
				x.record("champion", &fact{call: c,
					problem: when(champion != first, "the champion is %s, and %s is first", quoted(champion), quoted(first))})
			}
		}
	}
	for _, r := range x.referees { // the manager may tell them a moment later
		x.await(200*time.Millisecond, func() bool { return len(r.received(protocol.TypeLeagueCompleted)) > 0 })
		x.recordTold("end told", r, protocol.TypeLeagueCompleted, 1, nil)
	}
}

// recordTold records whether an agent got as many notices of a kind as it should, and the notices. It
// returns them.
func (x *managerExam) recordTold(name string, m *member, kind string, count int, want object) []*call {
	got := m.received(kind)
	x.show(name, nil, when(len(got) < count, "%s got %d of %d %s", m.id, len(got), count, kind))
	for _, c := range got {
		x.record(kind, &fact{call: c, want: want})
	}
	return got
}

// recordStandings records the last update of the standings of each round.
func (x *managerExam) recordStandings(updates []*call) {
	last := 0
	for i, c := range updates {
		round := roundOf(c)
		if round < last || round == 0 { // no match has been reported
			continue
		}
		last = round
		if !slices.ContainsFunc(updates[i+1:], func(c *call) bool { return roundOf(c) == round }) {
			x.recordRows(c, rowsOf(c.params["standings"]), round)
		}
	}
}

// recordRows records standings after a round.
func (x *managerExam) recordRows(c *call, rows []members, round int) {
	x.record("standings", &fact{call: c, problem: x.standingsProblem(rows, round)})
	x.record("order of standings", &fact{call: c, problem: orderProblem(rows)})
}

// roundOf is the round_id of a call; 0 for none.
func roundOf(c *call) int {
	round, _ := c.params.integer("round_id")
	return round
}

// scheduleProblem returns why a schedule is no round robin.
func (x *managerExam) scheduleProblem(announced map[int][]members) string {
	met := map[[2]string]int{}
	for _, round := range slices.Sorted(maps.Keys(announced)) {
		busy := map[string]bool{}
		for _, m := range announced[round] {
			a, b := m.text("player_A_id"), m.text("player_B_id")
			if a == b || busy[a] || busy[b] {
				return fmt.Sprintf("in round %d a player plays twice: %s against %s", round, quoted(a), quoted(b))
			}
			busy[a], busy[b] = true, true
			met[[2]string{a, b}]++
			met[[2]string{b, a}]++
		}
	}
	if x.stopped != "" {
		return skipped(x.stopped)
	}
	var players []*member // but those that the league may leave out
	for _, p := range x.players {
		if !p.late {
			players = append(players, p)
		}
	}
	if len(players) < 2 {
		return undecided
	}
	usual := met[[2]string{players[0].id, players[1].id}]
	for i, p := range players {
		for _, q := range players[:i] {
			if n := met[[2]string{p.id, q.id}]; n == 0 || n != usual {
				return fmt.Sprintf("%s and %s meet %d times, and others %d times", q.id, p.id, n, usual)
			}
		}
	}
	return ""
}

// rowsOf returns the objects of an array.
func rowsOf(raw jsontext.Value) []members {
	var rows []members
	if raw.Kind() != '[' || json.Unmarshal(raw, &rows, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return rows
}
