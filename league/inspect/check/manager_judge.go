package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"evenodd/league/protocol"
)

// A standing is how a player stands by the reports of the kit, by the names of the members
// of a row.
type standing map[string]int

// wholeLeague is greater than every round.
const wholeLeague = 1 << 30

// standings counts the reports of the rounds up to this one.
func (x *managerExam) standings(round int) map[string]standing {
	rows := map[string]standing{}
	for _, p := range x.players {
		rows[p.id] = standing{"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.matches {
		if !m.accepted || m.round > round || rows[m.players[0]] == nil || rows[m.players[1]] == nil {
			continue
		}
		for _, player := range m.players {
			row := rows[player]
			row["played"]++
			switch m.verdict.WinnerOf(m.players) {
			case player:
				row["wins"]++
				row["points"] += 3
			case "":
				row["draws"]++
				row["points"]++
			default:
				row["losses"]++
			}
		}
	}
	return rows
}

// standingsProblem returns what is wrong with the standings after a round.
func (x *managerExam) standingsProblem(rows []members, round int) string {
	counted := x.standings(round)
	if len(rows) != len(counted) {
		return fmt.Sprintf("the standings have %d rows, and the league %d players", len(rows), len(counted))
	}
	for _, m := range rows {
		id := m.text("player_id")
		want := counted[id]
		if want == nil {
			return "the standings have " + quoted(id) + ", which is no player"
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got, ok := m.integer(name); got != want[name] && (ok || name == "points") {
				return fmt.Sprintf("%s of %s is %s, and by the reports %d", name, id, valueOf(m, name), want[name])
			}
		}
	}
	return ""
}

// orderProblem returns why rows are not in order.
func orderProblem(rows []members) string {
	for i := 1; i < len(rows); i++ {
		before, _ := rows[i-1].integer("points")
		points, _ := rows[i].integer("points")
		winsBefore, _ := rows[i-1].integer("wins")
		wins, _ := rows[i].integer("wins")
		if points > before || points == before && wins > winsBefore {
			return fmt.Sprintf("row %d has %d points and %d wins, and the row before %d and %d", i+1, points, wins, before, winsBefore)
		}
	}
	return ""
}

// rowProblem returns what the rows of the standings lack.
func rowProblem(f *fact) string {
	for i, m := range rowsOf(f.read()["standings"]) {
		rank, _ := m.integer("rank")
		numbers := integers("rank", "played", "wins", "draws", "losses", "points")(&fact{message: m})
		if problem := firstOf(numbers, when(rank < 1 || rank > i+1, "rank is %d", rank)); problem != "" {
			return fmt.Sprintf("row %d: %s", i+1, problem)
		}
	}
	return ""
}

// recordLeague records all messages of the manager.
func (x *managerExam) recordLeague() {
	announced := x.recordAnnouncements()
	x.recordAssignments(announced)
	x.recordBroadcasts(len(announced))
	x.recordEnd(len(announced))
	x.recordProofs()
}

// recordProofs records whether the manager has proved itself to agents to which it said so.
func (x *managerExam) recordProofs() {
	for _, m := range x.members() {
		if !m.proves {
			continue
		}
		want := protocol.KeyOf(m.token).ManagerCredential(x.league)
		for _, c := range x.fakes.received(func(c *call) bool { return c.to == m.fakeAgent && c.kind != "" }) {
			x.record("proof", &fact{call: c, problem: firstOf(when(c.bearer == "", "%s to %s came without a credential", c.kind, m.id),
				when(!protocol.SameToken(c.bearer, want), "%s to %s came with another credential", c.kind, m.id))})
		}
	}
	x.record("proof", &fact{skip: "it does not say that it proves itself"})
}

// recordAnnouncements records the announcements, and returns the matches of each round as
// the first player was told.
func (x *managerExam) recordAnnouncements() map[int][]members {
	announced := map[int][]members{}
	for i, p := range x.players {
		seen := map[int]bool{}
		for _, c := range x.received(p.fakeAgent, protocol.TypeRoundAnnouncement) {
			x.recordCall(c, protocol.ManagerSender)
			x.record("announcement", &fact{call: c})
			seen[roundOf(c)] = true
			if i == 0 {
				announced[roundOf(c)] = rowsOf(c.params["matches"])
			}
		}
		for round := range announced {
			x.record("announced", &fact{problem: when(!seen[round], "player %s was not told of round %d", p.id, round)})
		}
	}
	if len(announced) == 0 {
		x.record("announced", &fact{problem: "no player was told of any round"})
	}
	x.record("schedule", &fact{problem: x.scheduleProblem(announced)})
	return announced
}

// matchesProblem returns what the matches of an announcement lack.
func matchesProblem(f *fact) string {
	rows := rowsOf(f.read()["matches"])
	problem := when(len(rows) == 0, "matches is %s", jsonKind(f.read()["matches"]))
	for _, m := range rows {
		problem = firstOf(problem, filled("match_id", "game_type", "player_A_id", "player_B_id", "referee_endpoint")(&fact{message: m}))
	}
	return problem
}

// roundOf is the round_id of a call; 0 for none.
func roundOf(c *call) int {
	round, _ := c.params.integer("round_id")
	return round
}

// scheduleProblem returns why a schedule is no round robin.
func (x *managerExam) scheduleProblem(announced map[int][]members) string {
	met := map[[2]string]int{}
	pair := func(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }
	for _, round := range slices.Sorted(maps.Keys(announced)) {
		busy := map[string]bool{}
		for _, m := range announced[round] {
			a := m.text("player_A_id")
			b := m.text("player_B_id")
			if a == b || busy[a] || busy[b] {
				return fmt.Sprintf("in round %d a player plays twice: %s against %s", round, quoted(a), quoted(b))
			}
			busy[a], busy[b] = true, true
			met[pair(a, b)]++
		}
	}
	for i, p := range x.players {
		for _, q := range x.players[:i] {
			switch n := met[pair(p.id, q.id)]; {
			case n == 0:
				return fmt.Sprintf("%s and %s never meet", q.id, p.id)
			case n != met[pair(x.players[0].id, x.players[1].id)]:
				return fmt.Sprintf("%s and %s meet %d times, and others not", q.id, p.id, n)
			}
		}
	}
	return ""
}

// recordAssignments records when matches were assigned.
func (x *managerExam) recordAssignments(announced map[int][]members) {
	for _, round := range slices.Sorted(maps.Keys(announced)) {
		for _, m := range announced[round] {
			id := m.text("match_id")
			x.record("assigned", &fact{problem: when(!x.isAssigned(id), "match %s of round %d was announced, and assigned to no referee", quoted(id), round)})
		}
	}
	matches := x.assignments()
	for _, m := range matches {
		early := ""
		for _, p := range x.players {
			told := slices.ContainsFunc(x.received(p.fakeAgent, protocol.TypeRoundAnnouncement), func(c *call) bool {
				return c.seq <= m.call.seq && (roundOf(c) == m.round || m.round == 0)
			})
			early = firstOf(early, when(!told, "match %s was assigned before %s was told of its round", m.id, p.id))
		}
		x.record("time of assignment", &fact{call: m.call, problem: early})
	}
	// A round begins when all matches of the round before are reported.
	for _, c := range x.received(x.players[0].fakeAgent, protocol.TypeRoundAnnouncement) {
		round, early := roundOf(c), ""
		for _, m := range matches {
			late := m.round > 0 && m.round < round && (m.reported.IsZero() || c.at.Before(m.reported))
			early = firstOf(early, when(late, "round %d was announced before match %s of round %d was reported", round, m.id, m.round))
		}
		if round > 1 {
			x.record("time of announcement", &fact{call: c, problem: early})
		}
	}
	x.record("time of announcement", &fact{skip: "the league has one round alone"})
}

// assignments returns the assigned matches, in order.
func (x *managerExam) assignments() []*assignedMatch {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.matches)
}

// recordTold records whether an agent got as many notices of a kind as it should, and returns
// them.
func (x *managerExam) recordTold(name string, m *member, kind string, want int) []*call {
	got := x.received(m.fakeAgent, kind)
	x.record(name, &fact{problem: when(len(got) < want, "%s got %d of %d %s", m.id, len(got), want, kind)})
	return got
}

// recordBroadcasts records the messages to players after each round.
func (x *managerExam) recordBroadcasts(rounds int) {
	for _, p := range x.players {
		updates := x.recordTold("standings updates", p, protocol.TypeStandingsUpdate, rounds)
		ends := x.recordTold("ends of rounds", p, protocol.TypeRoundCompleted, rounds)
		last := 0
		for i, c := range updates {
			round := roundOf(c)
			x.record("standings update", &fact{call: c})
			if round < last || round == 0 { // no match has been reported
				continue
			}
			last = round
			// The last update of a round counts.
			if !slices.ContainsFunc(updates[i+1:], func(c *call) bool { return roundOf(c) == round }) {
				rows := rowsOf(c.params["standings"])
				x.record("standings", &fact{call: c, problem: x.standingsProblem(rows, round)})
				x.record("order of standings", &fact{call: c, problem: orderProblem(rows)})
			}
		}
		for _, c := range ends {
			x.record("ends of rounds", &fact{call: c, problem: endOfRoundProblem(c, rounds)})
		}
	}
}

func endOfRoundProblem(c *call, rounds int) string {
	f, round := &fact{call: c}, roundOf(c)
	next, isNumber := c.params.integer("next_round_id")
	completed := integers("matches_completed")(f)
	if integers("matches_played")(f) == "" {
		completed = ""
	}
	return firstOf(integers("round_id")(f), completed,
		when(round < rounds && (!isNumber || next != round+1), "next_round_id is %s after round %d of %d", valueOf(c.params, "next_round_id"), round, rounds),
		when(round == rounds && isNumber, "next_round_id is %d after the last round", next),
	)
}

// recordEnd records the end of the league.
func (x *managerExam) recordEnd(rounds int) {
	for _, p := range x.players {
		ends := x.recordTold("end told", p, protocol.TypeLeagueCompleted, 1)
		if len(ends) == 0 {
			continue
		}
		c := ends[0]
		x.recordCall(c, protocol.ManagerSender)
		rows := rowsOf(c.params["final_standings"])
		x.record("totals", &fact{
			call: c, want: map[string]any{"total_rounds": rounds, "total_matches": len(x.assignments())},
			problem: when(len(rows) == 0, "final_standings is %s", jsonKind(c.params["final_standings"])),
		})
		x.record("order of standings", &fact{call: c, problem: orderProblem(rows)})
		x.record("champion", &fact{call: c, problem: x.championProblem(c.params)})
	}
	for _, r := range x.referees {
		x.recordTold("end told to referees", r, protocol.TypeLeagueCompleted, 1)
	}
	x.recordDuplicate()
}

// championProblem returns why a player is not the champion.
func (x *managerExam) championProblem(m members) string {
	id := objectOf(m["champion"]).text("player_id")
	counted := x.standings(wholeLeague)
	if counted[id] == nil {
		return "the champion is " + cmp.Or(quoted(id), "missing")
	}
	for _, p := range x.players {
		r, best := counted[p.id], counted[id]
		if cmp.Or(cmp.Compare(r["points"], best["points"]), cmp.Compare(r["wins"], best["wins"])) > 0 {
			return fmt.Sprintf("the champion is %s, %v by the reports, and %s is %v", id, best, p.id, r)
		}
	}
	return ""
}

// recordDuplicate records whether the second, different report of the first match has
// counted: then the standings are wrong.
func (x *managerExam) recordDuplicate() {
	f := &fact{problem: when(x.failed("M-STA-01"), "the standings are not those of the first reports")}
	if x.verdict("M-STA-01") == "" {
		f.skip = "there were no standings that would show it"
	}
	x.record("duplicate", f)
}
