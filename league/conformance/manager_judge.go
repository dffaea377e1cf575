package conformance

import (
	"cmp"
	"fmt"
	"slices"

	"evenodd/league/protocol"
)

// A row is how a player stands by the reports that the kit has made.
type row struct{ played, wins, draws, losses, points int }

// table counts the reports of the rounds up to this one.
func (x *hearing) table(round int) map[string]*row {
	rows := map[string]*row{}
	for _, p := range x.players {
		rows[p.id] = &row{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range x.order {
		f := x.matches[id]
		a, b := rows[f.a], rows[f.b]
		if !f.accepted || f.round > round || a == nil || b == nil {
			continue
		}
		a.played++
		b.played++
		switch f.winner {
		case f.a:
			a.win()
			b.losses++
		case f.b:
			b.win()
			a.losses++
		default:
			for _, r := range []*row{a, b} {
				r.draws++
				r.points++
			}
		}
	}
	return rows
}

func (r *row) win() {
	r.wins++
	r.points += 3
}

// tableProblem says what is wrong with standings when the league is over.
func (x *hearing) tableProblem(rows []members, whole bool) string {
	return x.standingsProblem(rows, 1<<30, whole)
}

// standingsProblem says what is wrong with the standings after a round.
func (x *hearing) standingsProblem(rows []members, round int, whole bool) string {
	counted := x.table(round)
	if whole && len(rows) != len(counted) {
		return fmt.Sprintf("the standings have %d rows, and the league %d players", len(rows), len(counted))
	}
	for _, m := range rows {
		id, _ := m.text("player_id")
		want := counted[id]
		if want == nil {
			return "the standings have " + quoted(id) + ", which is no player"
		}
		if points, _ := m.integer("points"); points != want.points {
			return fmt.Sprintf("%s has %s points; by the reports it has %d wins and %d draws, which are %d", id, valueOf(m, "points"), want.wins, want.draws, want.points)
		}
		for name, n := range map[string]int{"wins": want.wins, "draws": want.draws, "losses": want.losses, "played": want.played} {
			if got, ok := m.integer(name); ok && got != n {
				return fmt.Sprintf("%s of %s is %d, and by the reports %d", name, id, got, n)
			}
		}
	}
	return ""
}

// orderProblem says why rows are not in order.
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

// rowProblem says what a row lacks.
func rowProblem(rows []members) string {
	for i, m := range rows {
		if rank, ok := m.integer("rank"); !ok || rank < 1 || rank > i+1 {
			return fmt.Sprintf("rank of row %d is %s", i+1, valueOf(m, "rank"))
		}
		for _, name := range []string{"played", "wins", "draws", "losses", "points"} {
			if _, ok := m.integer(name); !ok {
				return fmt.Sprintf("%s of row %d is %s", name, i+1, valueOf(m, name))
			}
		}
	}
	return ""
}

// judgeLeague looks at all that the manager has said, in the order of requirements.
func (x *hearing) judgeLeague() {
	announced := x.judgeAnnouncements()
	x.judgeHanding(announced)
	x.judgeBroadcasts(len(announced))
	x.judgeEnd(len(announced))
	x.judgeProofs()
}

// judgeProofs looks whether the manager has proved itself where it said so.
func (x *hearing) judgeProofs() {
	kinds := []string{
		protocol.TypeRoundAnnouncement, protocol.TypeMatchAssignment, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted,
	}
	for _, m := range slices.Concat(x.players, x.referees) {
		if !m.proves {
			continue
		}
		want := protocol.KeyOf(m.token).ManagerCredential(x.league)
		for _, c := range x.stage.told(func(c *call) bool { return c.to == m.actor && slices.Contains(kinds, c.kind) }) {
			x.judge("M-PRV-01", firstOf(when(c.bearer == "", "%s to %s came without a credential", c.kind, m.id),
				when(!protocol.SameToken(c.bearer, want), "%s to %s came with another credential", c.kind, m.id)), c.exchange())
		}
	}
	x.skip("M-PRV-01", "it does not say that it proves itself")
}

// toldTo are the calls of a kind to an agent.
func (x *hearing) toldTo(a *actor, kind string) []*call {
	return x.stage.told(func(c *call) bool { return c.to == a && c.kind == kind })
}

// judgeAnnouncements looks at the rounds, and returns the matches of each by
// round, as the first player was told them.
func (x *hearing) judgeAnnouncements() map[int][]members {
	announced := map[int][]members{}
	for i, p := range x.players {
		seen := map[int]bool{}
		for _, c := range x.toldTo(p.actor, protocol.TypeRoundAnnouncement) {
			shown := c.exchange()
			x.envelope(c.said, protocol.TypeRoundAnnouncement, protocol.ManagerSender, "", c.at, shown)
			round, ok := c.params.integer("round_id")
			rows := rowsOf(c.params["matches"])
			problem := firstOf(c.params.filled("league_id"), when(!ok, "round_id is %s", valueOf(c.params, "round_id")), when(len(rows) == 0, "matches is %s", jsonKind(c.params["matches"])))
			for _, m := range rows {
				problem = firstOf(problem, m.filled("match_id"), m.filled("game_type"), m.filled("player_A_id"), m.filled("player_B_id"), m.filled("referee_endpoint"))
			}
			x.judge("M-RND-02", problem, shown)
			seen[round] = true
			if i == 0 {
				announced[round] = rows
			}
		}
		for round := range announced {
			x.judge("M-RND-01", when(!seen[round], "player %s was not told of round %d", p.id, round))
		}
	}
	if len(announced) == 0 {
		x.fail("M-RND-01", "no player was told of any round")
	}
	x.judge("M-RND-03", x.scheduleProblem(announced))
	return announced
}

// scheduleProblem says why a schedule is no round robin.
func (x *hearing) scheduleProblem(announced map[int][]members) string {
	met := map[[2]string]int{}
	for _, round := range sortedRounds(announced) {
		busy := map[string]bool{}
		for _, m := range announced[round] {
			a, _ := m.text("player_A_id")
			b, _ := m.text("player_B_id")
			if a == b || busy[a] || busy[b] {
				return fmt.Sprintf("in round %d a player plays twice: %s against %s", round, quoted(a), quoted(b))
			}
			busy[a], busy[b] = true, true
			met[[2]string{min(a, b), max(a, b)}]++
		}
	}
	for i, p := range x.players {
		for _, q := range x.players[:i] {
			switch n := met[[2]string{min(p.id, q.id), max(p.id, q.id)}]; {
			case n == 0:
				return fmt.Sprintf("%s and %s never meet", q.id, p.id)
			case n != met[[2]string{min(x.players[0].id, x.players[1].id), max(x.players[0].id, x.players[1].id)}]:
				return fmt.Sprintf("%s and %s meet %d times, and others not", q.id, p.id, n)
			}
		}
	}
	return ""
}

func sortedRounds[T any](rounds map[int]T) []int {
	var all []int
	for round := range rounds {
		all = append(all, round)
	}
	slices.Sort(all)
	return all
}

// judgeHanding looks at when matches were handed out.
func (x *hearing) judgeHanding(announced map[int][]members) {
	x.mu.Lock()
	fixtures := make([]*fixture, 0, len(x.order))
	for _, id := range x.order {
		fixtures = append(fixtures, x.matches[id])
	}
	x.mu.Unlock()
	for _, round := range sortedRounds(announced) {
		for _, m := range announced[round] {
			id, _ := m.text("match_id")
			x.judge("M-ASG-01", when(x.fixtureOf(id) == nil, "match %s of round %d was announced, and handed to no referee", quoted(id), round))
		}
	}
	for _, f := range fixtures {
		early := ""
		for _, p := range x.players {
			told := slices.ContainsFunc(x.toldTo(p.actor, protocol.TypeRoundAnnouncement), func(c *call) bool {
				round, _ := c.params.integer("round_id")
				return c.seq <= f.call.seq && (round == f.round || f.round == 0)
			})
			if !told {
				early = fmt.Sprintf("match %s was handed out before %s was told of its round", f.match, p.id)
			}
		}
		x.judge("M-RND-04", early, f.call.exchange())
	}
	x.judgeBarrier(fixtures)
}

// judgeBarrier looks whether a round began before the one before it was over.
func (x *hearing) judgeBarrier(fixtures []*fixture) {
	for _, c := range x.toldTo(x.players[0].actor, protocol.TypeRoundAnnouncement) {
		round, _ := c.params.integer("round_id")
		early := ""
		for _, f := range fixtures {
			if f.round > 0 && f.round < round && (f.reported.IsZero() || c.at.Before(f.reported)) {
				early = fmt.Sprintf("round %d was announced before match %s of round %d was reported", round, f.match, f.round)
			}
		}
		if round > 1 {
			x.judge("M-RND-05", early, c.exchange())
		}
	}
	x.skip("M-RND-05", "the league has one round alone")
}

// judgeBroadcasts looks at what players are told when a round is over.
func (x *hearing) judgeBroadcasts(rounds int) {
	for _, p := range x.players {
		updates, ends := x.toldTo(p.actor, protocol.TypeStandingsUpdate), x.toldTo(p.actor, protocol.TypeRoundCompleted)
		x.judge("M-RND-06", when(len(updates) < rounds, "%s got %d standings updates in %d rounds", p.id, len(updates), rounds))
		x.judge("M-RND-07", when(len(ends) < rounds, "%s was told of the end of %d rounds of %d", p.id, len(ends), rounds))
		last := 0
		for _, c := range updates {
			round, ok := c.params.integer("round_id")
			x.judge("M-STA-03", firstOf(when(!ok, "round_id is %s", valueOf(c.params, "round_id")), rowProblem(rowsOf(c.params["standings"]))), c.exchange())
			if round < last || round == 0 { // no match has been reported
				continue
			}
			last = round
			x.judgeStandings(c, round)
		}
		for _, c := range ends {
			x.judge("M-RND-07", x.endOfRoundProblem(c, rounds), c.exchange())
		}
	}
}

// judgeStandings looks at one broadcast. Where every result is broadcast, the
// last of a round counts.
func (x *hearing) judgeStandings(c *call, round int) {
	rows := rowsOf(c.params["standings"])
	after := x.toldTo(c.to, protocol.TypeStandingsUpdate)
	for _, later := range after {
		if r, _ := later.params.integer("round_id"); r == round && later.seq > c.seq {
			return
		}
	}
	x.judge("M-STA-01", x.standingsProblem(rows, round, true), c.exchange())
	x.judge("M-STA-02", orderProblem(rows), c.exchange())
}

func (x *hearing) endOfRoundProblem(c *call, rounds int) string {
	round, ok := c.params.integer("round_id")
	_, completed := c.params.integer("matches_completed")
	_, played := c.params.integer("matches_played")
	next, isNumber := c.params.integer("next_round_id")
	return firstOf(
		when(!ok, "round_id is %s", valueOf(c.params, "round_id")),
		when(!completed && !played, "matches_completed is %s", valueOf(c.params, "matches_completed")),
		when(round < rounds && (!isNumber || next != round+1), "next_round_id is %s after round %d of %d", valueOf(c.params, "next_round_id"), round, rounds),
		when(round == rounds && isNumber, "next_round_id is %d after the last round", next),
	)
}

// judgeEnd looks at the end of the league.
func (x *hearing) judgeEnd(rounds int) {
	for _, p := range x.players {
		ends := x.toldTo(p.actor, protocol.TypeLeagueCompleted)
		x.judge("M-END-01", when(len(ends) == 0, "%s was not told", p.id))
		if len(ends) == 0 {
			continue
		}
		c := ends[0]
		x.envelope(c.said, protocol.TypeLeagueCompleted, protocol.ManagerSender, "", c.at, c.exchange())
		rows := rowsOf(c.params["final_standings"])
		total, _ := c.params.integer("total_rounds")
		matches, _ := c.params.integer("total_matches")
		x.mu.Lock()
		played := len(x.matches)
		x.mu.Unlock()
		x.judge("M-END-03", firstOf(
			when(total != rounds, "total_rounds is %s, and %d were played", valueOf(c.params, "total_rounds"), rounds),
			when(matches != played, "total_matches is %s, and %d were played", valueOf(c.params, "total_matches"), played),
			when(len(rows) == 0, "final_standings is %s", jsonKind(c.params["final_standings"])),
		), c.exchange())
		x.judge("M-STA-02", orderProblem(rows), c.exchange())
		x.judge("M-END-02", x.championProblem(c.params), c.exchange())
	}
	for _, r := range x.referees {
		x.judge("M-END-04", when(len(x.toldTo(r.actor, protocol.TypeLeagueCompleted)) == 0, "%s was not told", r.id))
	}
	x.judgeDuplicate()
}

// championProblem says why somebody is not the champion.
func (x *hearing) championProblem(m members) string {
	champion := objectOf(m["champion"])
	id, _ := champion.text("player_id")
	counted := x.table(1 << 30)
	if counted[id] == nil {
		return "the champion is " + cmp.Or(quoted(id), "missing")
	}
	for _, p := range x.players {
		if r, best := counted[p.id], counted[id]; r.points > best.points || r.points == best.points && r.wins > best.wins {
			return fmt.Sprintf("the champion is %s with %d points and %d wins, and %s has %d and %d", id, best.points, best.wins, p.id, r.points, r.wins)
		}
	}
	return ""
}

// judgeDuplicate looks whether the second, different report of the first match
// has counted: then the table is that of the second.
func (x *hearing) judgeDuplicate() {
	l := x.lab
	l.mu.Lock()
	wrong := l.findings["M-STA-01"] != nil && l.findings["M-STA-01"].Verdict == Fail
	counted := l.findings["M-STA-01"] != nil
	l.mu.Unlock()
	switch {
	case !counted:
		x.skip("M-RPT-03", "there were no standings that would show it")
	case wrong:
		x.fail("M-RPT-03", "the standings are not those of the first reports")
	default:
		x.pass("M-RPT-03")
	}
}
