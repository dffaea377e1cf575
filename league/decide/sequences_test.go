package decide_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	table "evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// The sequences are commands of an organiser at random moments of random leagues. A driver does
// with the pure functions of this package and of package journal what the manager does with
// them, one event at a time.
//
//	go test ./league/decide -run TestSequences -sequence 7       one sequence again, with its events
//	go test ./league/decide -run TestSequences -sequences 20000  that many
var (
	oneSequence  = flag.Uint64("sequence", 0, "draw the sequence of this seed alone, and print its events")
	sequenceSize = flag.Int("sequences", 0, "how many sequences to draw")
)

func TestSequencesOfOrganiserCommands(t *testing.T) {
	count := *sequenceSize
	switch {
	case *oneSequence > 0:
		count = 0
		drawSequence(t, *oneSequence)
	case count == 0 && os.Getenv("EVENODD_TEST_ALL") != "":
		count = 20000
	case count == 0:
		count = 500
	}
	const lanes = 4
	for lane := range lanes {
		t.Run(fmt.Sprintf("lane %d", lane+1), func(t *testing.T) {
			t.Parallel()
			for seed := lane + 1; seed <= count && !t.Failed(); seed += lanes {
				drawSequence(t, uint64(seed))
			}
		})
	}
}

// drawSequence plays the league of a seed with random commands, and then to its end.
func drawSequence(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0xdec1de))
	rules, players := created(), 2+r.IntN(5)
	rules.SuspendAfter, rules.ShutdownAfter = []int{-1, 1, 2}[r.IntN(3)], []int{-1, 2, 3}[r.IntN(3)]
	switch r.IntN(4) {
	case 0:
		rules.Tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	case 1:
		rules.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: r.IntN(1 + pairing.MaxSwissRounds(players))}
	default:
		rules.Legs = 1 + r.IntN(2)
	}
	l := newSequence(t, r, rules, players, 1+r.IntN(3))
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("panic: %v", v)
		}
		if t.Failed() {
			t.Errorf("go test ./league/decide -run TestSequences -sequence %d", seed)
		}
		if t.Failed() || *oneSequence > 0 {
			for _, line := range l.lines {
				t.Logf("%s", line)
			}
		}
	}()
	for range 20 + l.IntN(150) {
		if l.IntN(4) == 0 || l.judged && l.IntN(2) == 0 { // commands may come before a round begins
			l.command()
		} else {
			l.advance(false)
		}
		if l.IntN(40) == 0 {
			l.restart()
		}
	}
	l.finish()
}

// A sequence is a league with its journal.
type sequence struct {
	*rand.Rand
	*journal.State
	t     *testing.T
	lines [][]byte

	reports   decide.Reports
	wanted    int                         // players
	judged    bool                        // the agents have been judged since the last round or rematch
	announced map[protocol.MatchID]string // the referees with which rematches began
}

func newSequence(t *testing.T, r *rand.Rand, rules *journal.Created, players, referees int) *sequence {
	t.Helper()
	l := &sequence{
		Rand: r, State: journal.NewState(), t: t, wanted: players,
		reports: decide.Reports{LeagueID: leagueID, GameType: evenodd.Type, Game: evenodd.Game{}},
	}
	l.record(rules)
	for n := range referees {
		l.record(referee(protocol.RefereeID(n+1), 1+r.IntN(2), []string{"", protocol.RefereeAuthNone}[r.IntN(2)]))
	}
	return l
}

// The sequences by which defects were found. In league, TestOrganiserSequences has those of a
// whole league.
func TestSequencesThatEndedALeague(t *testing.T) {
	rule := decide.Command{Name: protocol.CommandRule, By: "A. Smith", MatchID: "R1M1", Winner: "P01"}
	rematch := decide.Command{Name: protocol.CommandRematch, By: "A. Smith", MatchID: "R1M1"}
	suspend := func(id string) decide.Command {
		return decide.Command{Name: protocol.CommandSuspend, By: "A. Smith", AgentID: id}
	}
	readmit := func(id string) decide.Command {
		return decide.Command{Name: protocol.CommandReadmit, By: "A. Smith", AgentID: id}
	}
	for _, test := range []struct {
		name     string
		referees int
		play     func(l *sequence)
	}{
		{"rule, then rematch", 2, func(l *sequence) {
			l.until(func() bool { return l.Round == 1 })
			l.must(rule, rematch)
		}},
		{"forfeit, then rematch", 2, func(l *sequence) {
			l.until(func() bool { return l.Started != nil })
			l.must(suspend("P01"))
			l.until(func() bool { return l.Round == 1 })
			l.must(readmit("P01"), rematch)
		}},
		{"suspend every referee before the start", 2, func(l *sequence) {
			l.must(suspend("REF01"), suspend("REF02"))
			for l.Agents[protocol.PlayerID(l.wanted)] == nil {
				l.register()
			}
			require.False(l.t, (&decide.StartRule{Players: l.wanted, Referees: 1}).Due(l.State, time.Unix(1, 0)), "no referee is left")
			l.must(readmit("REF02"))
		}},
		{"suspend a player of a match that its referee has declined", 1, func(l *sequence) {
			l.until(func() bool { return l.Round == 1 })
			at := protocol.Attempt{MatchID: first(), Number: 1}
			l.record(&journal.MatchAssigned{Attempt: at, RefereeID: "REF01"})
			l.record(&journal.MatchDeclined{Attempt: at, RefereeID: "REF01"})
			l.must(suspend("P01"))
			l.play(first(), true)
			require.Equal(l.t, []string{"P01"}, l.Match(first()).Forfeited)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newSequence(t, rand.New(rand.NewPCG(1, 1)), created(), 4, test.referees)
			test.play(l)
			l.finish()
		})
	}
}

// until plays a league with willing agents.
func (l *sequence) until(reached func() bool) {
	l.t.Helper()
	for !reached() {
		require.True(l.t, l.advance(true))
	}
}

// must gives commands that are possible.
func (l *sequence) must(commands ...decide.Command) {
	l.t.Helper()
	for _, c := range commands {
		require.True(l.t, l.order(c), c)
	}
}

// record applies an event that the manager records, and checks the state after it.
func (l *sequence) record(d journal.Data) {
	l.t.Helper()
	e := &journal.Event{Seq: l.Events + 1, At: fmt.Sprintf("2026-01-01T00:%02d:%02d.000Z", l.Events/60%60, l.Events%60), Prev: journal.Origin, Data: d}
	line, err := journal.Encode(e)
	require.NoError(l.t, err)
	l.lines = append(l.lines, line)
	require.NoError(l.t, l.Apply(e), "the manager ends")
	switch d.(type) {
	case *journal.MatchReported, *journal.MatchForfeited, *journal.MatchRuled, *journal.MatchReopened, *journal.AgentWithdrawn, *journal.RoundAnnounced:
		l.checkTable()
	}
}

// checkTable compares the table with one that is made of the results that count.
func (l *sequence) checkTable() {
	l.t.Helper()
	if l.Started == nil {
		return
	}
	scratch, err := table.New(len(l.Started.Players), l.Created.TableScoring())
	require.NoError(l.t, err)
	recorded, points := 0, 0
	for m := range l.Matches() {
		if m.Report == nil {
			continue
		}
		recorded++
		r, err := l.TableResult(m.Report)
		require.NoError(l.t, err)
		if l.Agents[l.Started.Players[r.A]].Annulled || l.Agents[l.Started.Players[r.B]].Annulled {
			continue
		}
		require.NoError(l.t, scratch.Record(r))
		points += m.Report.Score[0].Value + m.Report.Score[1].Value
	}
	require.Equal(l.t, recorded, l.Recorded)
	for i := range l.Started.Players {
		got, want := l.Table.Row(i), scratch.Row(i)
		points -= want.Points
		require.Equal(l.t, []int{want.Played, want.Wins, want.Draws, want.Losses, want.TechnicalLosses, want.Points + 3*got.Byes},
			[]int{got.Played, got.Wins, got.Draws, got.Losses, got.TechnicalLosses, got.Points}, l.Started.Players[i])
	}
	require.Zero(l.t, points, "points are conserved")
	if !l.Open() {
		require.Equal(l.t, l.Standings(), l.StandingsAfter(l.Round))
	}
}

// command draws a command of an organiser, which may be one that is refused.
func (l *sequence) command() {
	l.t.Helper()
	commands := []string{
		protocol.CommandPause, protocol.CommandResume, protocol.CommandSuspend, protocol.CommandReadmit, protocol.CommandWithdraw,
		protocol.CommandRematch, protocol.CommandRematch, protocol.CommandRule, protocol.CommandRule, protocol.CommandStart,
	}
	c := decide.Command{Name: commands[l.IntN(len(commands))], By: "A. Smith", Reason: []string{"", "first", "second"}[l.IntN(3)]}
	id := protocol.MatchID{Round: max(l.Round-l.IntN(3), 0), Number: 1 + l.IntN(3)}
	c.MatchID, c.AgentID = id.String(), protocol.PlayerID(1+l.IntN(l.wanted+1))
	if l.IntN(3) == 0 {
		c.AgentID = protocol.RefereeID(1 + l.IntN(4))
	}
	_, idA, idB, _ := l.Find(id)
	c.Winner = []string{idA, idB, protocol.WinnerDraw, protocol.WinnerNone, protocol.WinnerNone}[l.IntN(5)]
	l.order(c)
}

// order gives a command of an organiser, and tells whether it is possible.
func (l *sequence) order(c decide.Command) bool {
	l.t.Helper()
	var d journal.DecisionEvent
	var err error
	if c.Name == protocol.CommandStart {
		var planned *journal.StartPlanned
		if planned, err = decide.PlanStart(l.State, journal.Decision{By: c.By, Reason: c.Reason}, time.Unix(0, 0)); planned != nil {
			d = planned
		}
	} else {
		d, err = decide.Decision(l.State, c)
	}
	if err != nil {
		var fault *protocol.Error
		require.ErrorAs(l.t, err, &fault)
		return false
	}
	l.record(d)
	require.NotEmpty(l.t, d.About())
	_ = decide.Consequence(l.State, d)
	l.ask()
	return true
}

// ask sends each query of each agent: a query answers at any time.
func (l *sequence) ask() {
	view := &decide.View{State: l.State, LeagueID: leagueID, Phase: decide.Phase(l.State, false)}
	for id := range l.Agents {
		for _, query := range []string{protocol.QueryStandings, protocol.QueryStatus, protocol.QuerySchedule, protocol.QueryNextMatch, protocol.QueryPlayerStats} {
			q := &protocol.LeagueQuery{LeagueID: leagueID, QueryType: query, QueryParams: protocol.QueryParams{PlayerID: id, RoundID: protocol.AllRounds}}
			_, err := view.Answer(q, id)
			var fault *protocol.Error
			require.True(l.t, err == nil || errors.As(err, &fault), "%s of %s: %v", query, id, err)
		}
	}
	_ = decide.Results(l.State)
}

// advance does what happens next in a league: what the manager does, or an agent. In a
// willing league agents answer, and referees conduct their matches. It returns false if nothing can
// happen before a decision of the organiser.
func (l *sequence) advance(willing bool) bool {
	l.t.Helper()
	if !willing && l.IntN(10) == 0 {
		l.event()
	}
	switch {
	case l.Completed != nil:
		return false
	case l.Started == nil:
		return l.register()
	case l.Open():
		open := l.openMatches()
		if len(open) == 0 {
			l.record(&journal.RoundCompleted{RoundID: l.Round, Summary: l.Summary(l.Round)})
			l.Condense(l.Round - 1)
			l.judged = false
			return true
		}
		l.play(open[l.IntN(len(open))], willing)
		return true
	}
	for _, id := range l.Rematches {
		if l.Match(id).Reopened() {
			l.play(id, willing)
			return true
		}
	}
	switch {
	case l.Paused != nil:
		return false
	case !l.judged: // commands may come between this and the next event
		l.judge()
		l.judged = true
	case len(l.Rematches) > 0:
		d := decide.Reopen(l.State)
		l.record(d)
		l.announced[d.MatchID] = decide.RematchReferee(l.State, d.MatchID)
		l.judged = false
	case l.HasRound(l.Round + 1):
		l.judge()
		referees := decide.ChooseReferees(l.State, l.Round+1)
		for _, id := range referees {
			require.False(l.t, l.Agents[id].Out(), "round %d is given to %s", l.Round+1, id)
		}
		l.record(l.Announcement(referees))
		for _, id := range l.openMatches() {
			l.forfeit(id)
		}
	default:
		champion := l.Champion()
		l.record(&journal.LeagueCompleted{Champion: champion})
	}
	return true
}

// register does the next thing before the start.
func (l *sequence) register() bool {
	rule := decide.StartRule{Players: l.wanted, Referees: 1, MinPlayers: 2}
	if rule.Due(l.State, time.Unix(1, 0)) {
		for _, id := range l.ids() {
			if !l.Agents[id].Answered {
				l.record(&journal.RegistrationDropped{AgentID: id, Reason: journal.DroppedAtStart})
			}
		}
		started := &journal.Started{}
		if l.Created.Tournament == nil {
			started.Algorithm = journal.Algorithm
		}
		referees, players := l.AgentRecords()
		for i := range players {
			started.Players = append(started.Players, players[i].PlayerID)
		}
		for i := range referees {
			started.Referees = append(started.Referees, referees[i].RefereeID)
		}
		l.record(started)
		l.announced = map[protocol.MatchID]string{}
		return true
	}
	for n := range 3 * l.wanted {
		id := protocol.PlayerID(n + 1)
		if l.Agents[id] == nil && !l.Dropped[id] && n-len(l.Dropped) < l.wanted {
			applicant := player(id)
			applicant.AwaitsAnswer = l.IntN(3) == 0
			l.record(applicant)
			return true
		}
	}
	for _, id := range l.ids() {
		if !l.Agents[id].Answered {
			l.record(&journal.AgentAnswered{AgentID: id})
			return true
		}
	}
	for n := range 10 { // an organiser has withdrawn or suspended the others
		id := protocol.RefereeID(n + 1)
		if l.Agents[id] == nil && !l.Dropped[id] {
			l.record(referee(id, 1, ""))
			return true
		}
	}
	return false
}

// event is something that an agent does at any time: it registers again or answers a ping.
func (l *sequence) event() {
	ids := l.ids()
	if len(ids) == 0 {
		return
	}
	id := ids[l.IntN(len(ids))]
	if !l.Agents[id].Answered {
		l.record([]journal.Data{&journal.AgentAnswered{AgentID: id}, &journal.RegistrationDropped{AgentID: id, Reason: journal.DroppedSilent}}[l.IntN(2)])
		return
	}
	if back := decide.Revival(l.State, id); back != nil {
		l.record(back)
		return
	}
	if a := l.Agents[id]; a.PartOver() == "" && l.Completed == nil {
		l.record(&journal.AgentReturned{AgentID: id, Endpoint: a.Endpoint, Generation: a.Generation + l.IntN(2), Reason: "it registered again"})
	}
}

// ids are the ids of the registered agents.
func (l *sequence) ids() []string { return slices.SortedFunc(maps.Keys(l.Agents), protocol.CompareIDs) }

// judge suspends and shuts down agents.
func (l *sequence) judge() {
	for _, id := range slices.Concat(l.Started.Players, l.Started.Referees) {
		if d := decide.Suspension(l.State, id); d != nil {
			l.record(d)
		}
	}
}

// openMatches are the matches of the open round without a result.
func (l *sequence) openMatches() (open []protocol.MatchID) {
	for i := range l.Pairings(l.Round) {
		if id := (protocol.MatchID{Round: l.Round, Number: i + 1}); l.Match(id).Report == nil {
			open = append(open, id)
		}
	}
	return open
}

// forfeit ends a match with an absent player that no referee has.
func (l *sequence) forfeit(id protocol.MatchID) bool {
	if decide.Holder(l.State, id) != "" {
		return false
	}
	forfeit, err := decide.Forfeit(l.State, id)
	require.NoError(l.t, err)
	if forfeit != nil {
		l.record(forfeit)
	}
	return forfeit != nil
}

// play does the next thing in a match without a result.
func (l *sequence) play(id protocol.MatchID, willing bool) {
	l.t.Helper()
	m := l.Match(id)
	holder := decide.Holder(l.State, id)
	if holder == "" {
		l.assign(id, willing)
		return
	}
	at := protocol.Attempt{MatchID: id, Number: m.LastAttempt(holder)}
	next := l.IntN(8)
	if willing {
		next = 7
	}
	switch next {
	case 0:
		if d, _ := decide.Acceptance(m, at, holder, &protocol.MatchAssignmentAck{Attempt: at.Number}); d != nil {
			l.record(d)
		}
	case 1:
		if d := decide.Decline(m, at, holder, &protocol.MatchAssignmentAck{Reason: "busy"}); d != nil {
			l.record(d)
		}
	case 2, 3:
		if d := decide.RefereeFailure(l.State, id, holder, "it did not report"); d != nil {
			l.record(d)
		}
	default:
		l.report(id, holder, willing)
	}
}

// assign gives a match that no referee has to one, or ends it without one.
func (l *sequence) assign(id protocol.MatchID, willing bool) {
	l.t.Helper()
	if l.forfeit(id) {
		return
	}
	m := l.Match(id)
	announced, again := l.announced[id]
	switch {
	case !m.Reopened():
		announced = l.Rounds[id.Round-1].Referees[id.Number-1]
	case !again: // the manager has restarted
		announced = decide.RematchReferee(l.State, id)
	}
	failed := func(referee string) bool {
		return !willing && slices.ContainsFunc(m.Current(), func(a journal.Attempt) bool {
			return a.Referee == referee && (a.Failed || m.IsLost(a.Number))
		})
	}
	chosen := decide.NextReferee(l.State, announced, l.IntN(3), failed)
	if chosen == "" {
		if r, err := decide.ResultOfLostAttempt(l.State, id); r != nil && l.IntN(2) == 0 {
			require.NoError(l.t, err)
			l.record(r)
			return
		}
		for _, referee := range l.Started.Referees {
			if back := decide.Revival(l.State, referee); back != nil && (willing || l.IntN(2) == 0) {
				l.record(back)
			}
		}
		return
	}
	_ = decide.Unannounced(l.State, announced, chosen)
	if number, again := decide.AttemptFor(m, chosen, willing || l.IntN(3) == 0); !again {
		l.record(&journal.MatchAssigned{Attempt: protocol.Attempt{MatchID: id, Number: number}, RefereeID: chosen})
	}
}

// report sends a report of a referee: usually a credible one, of an attempt that it has or had.
func (l *sequence) report(id protocol.MatchID, refereeID string, willing bool) {
	l.t.Helper()
	m, idA, idB, _ := l.Find(id)
	q := &protocol.MatchResultReport{MatchID: id.String(), RoundID: id.Round, LeagueID: leagueID, Attempt: m.LastAttempt(refereeID)}
	even, odd, number := evenodd.Even, evenodd.Odd, 1+l.IntN(10)
	won := []string{idB, idA}[(number+1)%2]
	details := &protocol.ResultDetails{Status: protocol.StatusWin, DrawnNumber: &number, Choices: protocol.Both(idA, &even, idB, &odd)}
	q.Result.Winner, q.Result.Details = &won, details
	switch l.IntN(6) {
	case 0, 1:
		fault := [...]string{string(protocol.ErrTimeout), string(protocol.ErrInvalidParityChoice)}[l.IntN(2)]
		details.Status, details.DrawnNumber, details.Choices = protocol.StatusTechnicalLoss, nil, protocol.Both(idA, &even, idB, nil)
		details.Faults, q.Result.Winner = protocol.PerPlayer[string]{{Name: idB, Value: fault}}, &idA
		if l.IntN(3) == 0 {
			details.Faults, q.Result.Winner = protocol.Both(idA, fault, idB, fault), nil
		}
	case 2:
		details.Status, details.Choices, q.Result.Winner = protocol.StatusDraw, protocol.Both(idA, &even, idB, &even), nil
	case 3:
		if !willing { // the report contradicts itself
			won = []string{idA, idB}[(number+1)%2]
		}
	}
	claim, err := l.reports.Read(l.State, q, refereeID, "")
	if err != nil {
		return
	}
	l.reports.Prove(&claim)
	v := l.reports.Judge(l.State, claim, decide.PlayerAway)
	switch {
	case v.Accepted:
		l.record(v.Result)
	case v.Disputed:
		l.record(&journal.MatchDisputed{Attempt: v.Result.Attempt, RefereeID: v.Result.RefereeID, GameResult: v.Result.GameResult})
	case v.Rejected != "" && !m.IsLost(v.Result.Number):
		l.record(decide.LoseAttempt(v.Result, v.Rejected))
	}
}

// restart replaces the state by that of the journal.
func (l *sequence) restart() {
	l.t.Helper()
	again := journal.NewState()
	for i, line := range l.lines {
		e, err := journal.Decode(line)
		require.NoError(l.t, err)
		require.NoError(l.t, again.Apply(e), "line %d", i+1)
	}
	require.JSONEq(l.t, snapshot(l.t, l.State), snapshot(l.t, again))
	l.State, l.announced, l.judged = again, map[protocol.MatchID]string{}, false
}

// snapshot is all that can be seen of a state.
func snapshot(t *testing.T, s *journal.State) string {
	t.Helper()
	matches := make([]*journal.Match, 0)
	for m := range s.Matches() {
		matches = append(matches, m)
	}
	raw, err := json.Marshal(map[string]any{
		"events": s.Events, "agents": s.Agents, "dropped": s.Dropped, "matches": matches, "recorded": s.Recorded, "completed": s.Completed,
		"paused": s.Paused, "rematches": s.Rematches, "standings": s.Standings(), "rounds": s.RoundRecords(), "open": s.Open(), "next": s.Pairings(s.Round + 1),
	})
	require.NoError(t, err)
	return string(raw)
}

// finish plays the league to its end, with agents that do what they should.
func (l *sequence) finish() {
	l.t.Helper()
	for range 3000 {
		switch {
		case l.Completed != nil:
			l.restart()
			return
		case l.Paused != nil:
			require.True(l.t, l.order(decide.Command{Name: protocol.CommandResume, By: "A. Smith"}))
		case l.Started == nil && l.StartPlanned == nil && !l.advance(true):
			l.order(decide.Command{Name: protocol.CommandReadmit, By: "A. Smith", AgentID: protocol.RefereeID(1)})
		default:
			l.advance(true)
		}
	}
	require.Fail(l.t, "the league does not end")
}
