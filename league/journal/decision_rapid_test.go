package journal_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// A decidedLeague plays a league with random decisions of an organiser, and remembers in its
// own way what counts.
type decidedLeague struct {
	*journal.State
	t *rapid.T

	log     []journal.Data                            // the events that were applied
	results map[league.MatchID]*journal.MatchReported // that count
	forfeit map[league.MatchID]bool
	annuls  map[string]bool
	left    map[string]int // the announced rounds when a player was withdrawn
	denied  map[league.MatchID][]string
}

func newDecidedLeague(t *rapid.T) *decidedLeague {
	l := &decidedLeague{State: journal.NewState(), t: t, results: map[league.MatchID]*journal.MatchReported{}, forfeit: map[league.MatchID]bool{}, annuls: map[string]bool{}, left: map[string]int{},
		denied: map[league.MatchID][]string{}}
	format := rapid.SampledFrom([]*journal.Tournament{nil, nil, {Algorithm: pairing.Swiss, Rounds: 3}, {Algorithm: pairing.Knockout}}).Draw(t, "format")
	begins := created(1, format)
	started := &journal.Started{Referees: []string{"REF01", "REF02"}}
	if format == nil {
		begins.Legs, started.Algorithm = rapid.IntRange(1, 2).Draw(t, "legs"), journal.Algorithm
		begins.Tiebreakers = []string{"points", "head_to_head", "sonneborn_berger"}
	}
	l.must(begins)
	for _, id := range started.Referees {
		l.must(&journal.AgentRegistered{AgentID: id, Role: protocol.RoleReferee, DisplayName: id, Endpoint: "http://" + id + "/mcp", Capacity: 2})
	}
	for n := range rapid.IntRange(3, 6).Draw(t, "players") {
		id := league.PlayerID(n + 1)
		l.must(&journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, DisplayName: id, Endpoint: "http://" + id + "/mcp"})
		started.Players = append(started.Players, id)
	}
	l.must(started)
	return l
}

// try applies an event. One that is refused changes nothing.
func (l *decidedLeague) try(d journal.Data) bool {
	before := snapshot(l.t, l.State)
	if err := l.Apply(&journal.Event{Seq: l.Events + 1, At: when, Data: d}); err != nil {
		require.Equal(l.t, before, snapshot(l.t, l.State), "%T is refused: %v", d, err)
		return false
	}
	l.log = append(l.log, d)
	return true
}

func (l *decidedLeague) must(d journal.Data) {
	require.NoError(l.t, l.Apply(&journal.Event{Seq: l.Events + 1, At: when, Data: d}))
	l.log = append(l.log, d)
}

// snapshot is all that can be seen of a state.
func snapshot(t require.TestingT, s *journal.State) string {
	var matches []journal.Match
	for _, m := range s.Matches() {
		matches = append(matches, *m)
	}
	raw, err := json.Marshal(map[string]any{
		"events": s.Events, "agents": s.Agents, "dropped": s.Dropped, "matches": matches, "recorded": s.Recorded, "completed": s.Completed,
		"paused": s.Paused, "rematches": s.Rematches, "standings": s.Standings(), "round": s.Round, "open": s.Open(), "next": s.Pairings(s.Round + 1), "doubts": s.Doubts,
	})
	require.NoError(t, err)
	return string(raw)
}

func (l *decidedLeague) anyMatch() league.MatchID {
	round := rapid.IntRange(0, l.Round+1).Draw(l.t, "round")
	return league.MatchID{Round: round, Number: rapid.IntRange(1, 3).Draw(l.t, "number")}
}

func (l *decidedLeague) anyAgent() string {
	return rapid.SampledFrom([]string{"P01", "P02", "P03", "P04", "REF01", "REF02", "P99"}).Draw(l.t, "agent")
}

// outcome draws a result of a match, with its score.
func (l *decidedLeague) outcome(id league.MatchID) (d journal.MatchReported) {
	d.MatchID = id
	_, idA, idB, ok := l.Find(id)
	d.Status = rapid.SampledFrom([]string{league.StatusWin, league.StatusWin, league.StatusDraw, league.StatusTechnicalLoss}).Draw(l.t, "status")
	if d.Status == league.StatusWin {
		d.WinnerPlayerID = new(rapid.SampledFrom([]string{idA, idB}).Draw(l.t, "winner"))
	}
	d.Choices = league.Both(idA, (*string)(nil), idB, (*string)(nil))
	if rapid.Bool().Draw(l.t, "chosen") {
		d.Choices = league.Both(idA, new("even"), idB, new("odd"))
	}
	d.Reason = rapid.SampledFrom([]string{"", "so"}).Draw(l.t, "its reason")
	if d.Status != league.StatusTechnicalLoss {
		d.Grade = rapid.SampledFrom([]string{journal.GradeProven, journal.GradeStated}).Draw(l.t, "grade")
	}
	if ok {
		score, err := l.Score(&d)
		require.NoError(l.t, err)
		d.Score = score[:]
	}
	return d
}

// decide tries a decision, which may be one that is refused.
func (l *decidedLeague) decide() {
	by := journal.Decision{By: "A. Smith", Reason: rapid.SampledFrom([]string{"", "so"}).Draw(l.t, "reason")}
	switch rapid.IntRange(0, 11).Draw(l.t, "decision") {
	case 0:
		l.try(&journal.Decided{Command: protocol.CommandPause, Decision: by})
	case 1:
		l.try(&journal.Decided{Command: protocol.CommandResume, Decision: by})
	case 2:
		l.try(&journal.Decided{Command: protocol.CommandSuspend, Decision: by, AgentID: l.anyAgent()})
	case 3:
		l.try(&journal.Decided{Command: protocol.CommandReadmit, Decision: by, AgentID: l.anyAgent()})
	case 4:
		id := l.anyAgent()
		annuls := l.playedLessThanHalf(id)
		wrong := rapid.Bool().Draw(l.t, "wrong")
		if applied := l.try(&journal.Decided{Command: protocol.CommandWithdraw, Decision: by, AgentID: id, Annulled: annuls != wrong}); applied {
			require.False(l.t, wrong, "the event says the opposite of the rule")
			l.annuls[id], l.left[id] = annuls, l.Round
		}
	case 5, 6:
		l.try(&journal.Decided{Command: protocol.CommandRematch, Decision: by, MatchID: l.anyMatch()})
	case 7, 8:
		id := l.anyMatch()
		_, idA, idB, _ := l.Find(id)
		winner := rapid.SampledFrom([]string{idA, idB, protocol.WinnerDraw, protocol.WinnerNone, "P99", ""}).Draw(l.t, "winner")
		if l.try(&journal.Decided{Command: protocol.CommandRule, Decision: by, MatchID: id, Winner: winner}) {
			r := *l.Match(id).Report
			l.results[id], l.forfeit[id] = &r, false
			delete(l.denied, id)
		}
	case 9, 10, 11: // of a player, not of an organiser
		id, attempt := l.anyMatch(), 1
		m, idA, idB, ok := l.Find(id)
		if ok && m.Report != nil {
			attempt = m.Report.Number
		}
		player := rapid.SampledFrom([]string{idA, idB}).Draw(l.t, "denies")
		if l.try(&journal.ResultDenied{Attempt: league.Attempt{MatchID: id, Number: attempt}, PlayerID: player}) && !slices.Contains(l.denied[id], player) {
			l.denied[id] = append(l.denied[id], player)
		}
	}
}

func (l *decidedLeague) playedLessThanHalf(id string) bool {
	if l.Created.Tournament != nil || !slices.Contains(l.Started.Players, id) {
		return false
	}
	played := 0
	for match := range l.results {
		if _, idA, idB, _ := l.Find(match); (idA == id || idB == id) && l.results[match] != nil && !l.forfeit[match] {
			played++
		}
	}
	return 2*played < l.Created.Legs*(len(l.Started.Players)-1)
}

// advance does what a manager does next.
func (l *decidedLeague) advance() {
	for number := range l.Pairings(l.Round) {
		if id := (league.MatchID{Round: l.Round, Number: number + 1}); l.Open() && l.results[id] == nil {
			l.play(id)
			return
		}
	}
	switch {
	case l.Open():
		l.must(&journal.RoundCompleted{RoundID: l.Round, Summary: l.Summary(l.Round)})
	case len(l.Rematches) > 0:
		id := l.Rematches[0]
		order := l.Match(id).RematchOrdered
		if order == nil {
			l.play(id)
		} else if l.try(&journal.Decided{Command: journal.CommandReopen, Decision: order.Decision, MatchID: id}) {
			l.results[id] = nil
			delete(l.denied, id)
			l.try(&journal.RoundCompleted{RoundID: l.Round, Summary: l.Summary(l.Round)})
		}
	case l.HasRound(l.Round + 1):
		d := l.Announcement(nil)
		for range l.Pairings(l.Round + 1) {
			d.Referees = append(d.Referees, "REF01")
		}
		require.Equal(l.t, l.Paused == nil, l.try(d), "a round begins unless the league is paused")
	}
}

// play gets a match a result: a forfeit if a player is absent, else a report.
func (l *decidedLeague) play(id league.MatchID) {
	m, idA, idB, _ := l.Find(id)
	r := l.outcome(id)
	inactive := l.InactivePlayers(idA, idB)
	if len(inactive) > 0 {
		r.Status, r.Grade, r.WinnerPlayerID = league.StatusTechnicalLoss, "", journal.ForfeitWinner(idA, idB, inactive)
		score, _ := l.Score(&r)
		r.Score = score[:]
		l.must(&journal.MatchForfeited{MatchID: id, Players: inactive, Result: r.Result, Score: r.Score})
	} else {
		r.Number, r.RefereeID = m.NextAttempt(), "REF02"
		if r.Number > 1 {
			old := r
			old.Number = 1
			require.False(l.t, l.try(&old), "an attempt from before the rematch has no result any more")
		}
		l.must(&journal.MatchAssigned{Attempt: r.Attempt, RefereeID: r.RefereeID})
		if r.Grade == journal.GradeStated && rapid.Bool().Draw(l.t, "lost") {
			l.must(&journal.AttemptLost{Attempt: r.Attempt, RefereeID: r.RefereeID, Cause: journal.CauseRejected, Reason: "so"})
			r.Reason = rapid.SampledFrom([]string{journal.NotShown, "it drew 38"}).Draw(l.t, "the manager's reason")
		}
		l.must(&r)
	}
	l.results[id], l.forfeit[id] = &r, len(inactive) > 0
}

// check compares the table with one that is made of the results that count.
func (l *decidedLeague) check() {
	scratch, err := league.New(len(l.Started.Players), l.Created.TableScoring())
	require.NoError(l.t, err)
	if l.Created.Tournament.IsSwiss() {
		scratch.UseSwissRules()
	}
	for i := range l.Round {
		if l.Created.Tournament.IsSwiss() {
			for _, player := range pairing.Byes(len(l.Started.Players), l.Pairings(i+1)) {
				if left, withdrawn := l.left[l.Started.Players[player]]; !withdrawn || i < left {
					scratch.RecordBye(i+1, player)
				} else {
					scratch.RecordAbsence(i+1, player)
				}
			}
		}
	}
	recorded := 0
	for id, r := range l.results {
		if r == nil {
			continue
		}
		recorded++
		_, idA, idB, _ := l.Find(id)
		if l.annuls[idA] || l.annuls[idB] {
			continue
		}
		result, err := l.TableResult(r)
		require.NoError(l.t, err)
		require.NoError(l.t, scratch.Record(id.Round, result))
	}
	require.Equal(l.t, scratch.Ranking(nil), l.Table.Ranking(nil))
	require.Equal(l.t, recorded, l.Recorded)
	require.Equal(l.t, l.doubts(), l.Doubts)
	rows := l.Standings()
	for i, row := range rows {
		require.Equal(l.t, l.annuls[row.PlayerID], row.Annulled)
		require.False(l.t, i > 0 && rows[i-1].Annulled && !row.Annulled, "annulled players come last")
	}
}

// doubts finds the doubts about the results in all matches.
func (l *decidedLeague) doubts() map[string]*journal.Doubts {
	all := map[string]*journal.Doubts{}
	for id := range l.Doubts { // also those of referees whose results do not count any more
		all[id] = &journal.Doubts{Denied: map[league.MatchID][]string{}}
		if l.Doubts[id].Explained != nil {
			all[id].Explained = []league.MatchID{}
		}
	}
	for id, m := range l.Matches() {
		if m.Report == nil || all[m.Report.RefereeID] == nil {
			continue
		}
		d := all[m.Report.RefereeID]
		if m.Report.Grade == journal.GradeStated {
			d.Stated++
		}
		switch m.Doubt() {
		case "", journal.OnItsWord:
		case journal.NotShown:
			d.NotShown++
		default:
			d.Explained = append(d.Explained, id)
		}
		if len(l.denied[id]) > 0 {
			d.Denied[id] = l.denied[id]
		}
	}
	return all
}

// straight is the same league without a decision but the withdrawals: each match got the result that counts at
// once.
func (l *decidedLeague) straight() *journal.State {
	s := journal.NewState()
	apply := func(d journal.Data) {
		require.NoError(l.t, s.Apply(&journal.Event{Seq: s.Events + 1, At: when, Data: d}))
	}
	for _, d := range l.log {
		switch d := d.(type) {
		case *journal.Created, *journal.AgentRegistered, *journal.Started:
			apply(d)
		case *journal.RoundAnnounced:
			apply(d)
			for number := range s.Pairings(d.RoundID) {
				id := league.MatchID{Round: d.RoundID, Number: number + 1}
				if l.results[id] == nil {
					continue
				}
				r := *l.results[id]
				r.Number, r.RefereeID = 1, "REF01"
				apply(&journal.MatchAssigned{Attempt: r.Attempt, RefereeID: r.RefereeID})
				apply(&r)
			}
		case *journal.Decided: // later rounds are without a withdrawn player
			if d.Command == protocol.CommandWithdraw && slices.Contains(l.Started.Players, d.AgentID) {
				apply(d)
			}
		case *journal.RoundCompleted:
			apply(&journal.RoundCompleted{RoundID: d.RoundID, Summary: s.Summary(d.RoundID)})
		}
	}
	return s
}

// step is a decision, or what a manager does next.
func (l *decidedLeague) step() {
	if rapid.IntRange(0, 3).Draw(l.t, "decide") == 0 {
		l.decide()
	} else {
		l.advance()
	}
}

func TestTableFollowsFromTheResultsThatCountAfterAnyDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newDecidedLeague(t)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			l.step()
			l.check()
		}
		if len(l.Rematches) == 0 && l.Created.Tournament != nil {
			want := l.straight()
			for i := range want.Standings() {
				require.Equal(t, want.Standings()[i].PlayerID, l.Standings()[i].PlayerID, "the ranking follows from the results")
			}
			require.Equal(t, want.Pairings(want.Round+1), l.Pairings(l.Round+1), "the next round follows from the results")
		}
	})
}

func TestCondensingBetweenDecisionsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newDecidedLeague(t)
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			l.step()
		}
		again := journal.NewState()
		for i, d := range l.log {
			line, err := journal.Encode(&journal.Event{Seq: i + 1, At: when, Prev: journal.Origin, Data: d})
			require.NoError(t, err)
			e, err := journal.Decode(line)
			require.NoError(t, err)
			require.NoError(t, again.Apply(e), "event %d: %s", i+1, line)
			again.Condense(again.CompletedRounds())
		}
		require.JSONEq(t, snapshot(t, l.State), snapshot(t, again))
	})
}
