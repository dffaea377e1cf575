package page

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

// A script makes a league by its events.
type script struct {
	t testing.TB
	l *record.League
}

// add folds an event, a second after the one before.
func (s *script) add(d journal.Data) {
	n := s.l.Events + 1
	at := fmt.Sprintf("2026-11-22T10:%02d:%02d.000Z", n/60, n%60)
	require.NoError(s.t, s.l.Fold(&journal.Event{Seq: n, At: at, Data: d}))
}

// newScript makes a league of Even/Odd whose players have these names, before its start.
func newScript(t testing.TB, tournament *journal.Tournament, names ...string) *script {
	s := &script{t, record.NewLeague()}
	s.add(&journal.Created{
		SchemaVersion: store.SchemaVersion, LeagueID: "cup", GameType: "even_odd", Legs: 1, Tournament: tournament,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "wins", "draws"},
	})
	s.add(&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "Referee", Capacity: 9, Generation: 1})
	for i, name := range names {
		s.add(&journal.AgentRegistered{AgentID: league.PlayerID(i + 1), Role: protocol.RolePlayer, DisplayName: name, Generation: 1})
	}
	return s
}

// startedScript starts a league of so many players.
func startedScript(t testing.TB, players int) *script {
	names := make([]string, players)
	for i := range names {
		names[i] = fmt.Sprintf("Player %d", i+1)
	}
	s := newScript(t, nil, names...)
	s.start()
	return s
}

// start starts the league with all players.
func (s *script) start() {
	d := &journal.Started{Referees: []string{"REF01"}}
	if s.l.Created.Tournament == nil {
		d.Algorithm = journal.Algorithm
	}
	for i := 1; s.l.Agents[league.PlayerID(i)] != nil; i++ {
		d.Players = append(d.Players, league.PlayerID(i))
	}
	s.add(d)
}

// announce announces the next round and assigns its matches.
func (s *script) announce() {
	referees := make([]string, len(s.l.Pairings(s.l.Round+1)))
	for i := range referees {
		referees[i] = "REF01"
	}
	s.add(s.l.Announcement(referees))
	for i := range referees {
		at := league.Attempt{MatchID: league.MatchID{Round: s.l.Round, Number: i + 1}, Number: 1}
		s.add(&journal.MatchAssigned{Attempt: at, RefereeID: "REF01"})
		s.add(&journal.MatchAccepted{Attempt: at, RefereeID: "REF01"})
	}
}

// report reports a match of the open round: the winner is A, B or "" for a draw. A fault is the
// error code of the loser.
func (s *script) report(number int, winner, fault string) {
	id := league.MatchID{Round: s.l.Round, Number: number}
	_, a, b, _ := s.l.Find(id)
	d := &journal.MatchReported{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF01"}
	even, odd, number4, parity := "even", "odd", 4, "even"
	d.Choices = league.PerPlayer[*string]{{Name: a, Value: &even}, {Name: b, Value: &odd}}
	d.Status, d.DrawnNumber, d.NumberParity = league.StatusDraw, &number4, &parity
	loser := b
	switch winner {
	case "A":
		d.Status, d.WinnerPlayerID = league.StatusWin, &a
	case "B":
		d.Status, d.WinnerPlayerID, loser = league.StatusWin, &b, a
	}
	if fault != "" {
		d.Status, d.DrawnNumber, d.NumberParity, d.Choices = league.StatusTechnicalLoss, nil, nil, nil
		d.Faults = league.PerPlayer[string]{{Name: loser, Value: fault}}
	}
	score, err := s.l.Score(d)
	require.NoError(s.t, err)
	d.Score = score[:]
	s.add(d)
}

// complete completes the open round.
func (s *script) complete() {
	s.add(&journal.RoundCompleted{RoundID: s.l.Round, Summary: s.l.Summary(s.l.Round)})
}

// round plays a whole round: side A wins every match.
func (s *script) round() {
	s.announce()
	for i := range s.l.Pairings(s.l.Round) {
		s.report(i+1, "A", "")
	}
	s.complete()
}

// finish plays the rest of the league.
func (s *script) finish() {
	for s.l.HasRound(s.l.Round + 1) {
		s.round()
	}
	s.add(&journal.LeagueCompleted{Champion: s.l.Champion()})
}

// leagues are the leagues of testdata by name.
func leagues(t testing.TB) map[string]*record.League {
	all := map[string]*record.League{}
	for _, name := range []string{"finished", "half_played", "knockout", "swiss"} {
		folder := store.In(filepath.Join("../../../testdata/leagues", name))
		ids, err := filepath.Glob(filepath.Join(folder.Path, "data", "leagues", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, ids)
		l := record.NewLeague()
		require.NoError(t, l.Update(context.Background(), record.NewFolder(folder, filepath.Base(ids[0])), nil))
		all[name] = l
	}
	return all
}

// The chart computes points in one pass; the standings count each round anew.
func TestPointsOfTheChartAreThoseOfTheStandings(t *testing.T) {
	for name, l := range leagues(t) {
		for round, points := range l.Points()[:l.CompletedRounds()+1] {
			for _, row := range l.StandingsAfter(round) {
				player, ok := l.PlayerIndex(row.PlayerID)
				require.True(t, ok)
				assert.Equal(t, row.Points, points[player], "%s: %s after round %d", name, row.PlayerID, round)
			}
		}
	}
}

func TestStandingsTellThatAPlayerIsSuspended(t *testing.T) {
	s := startedScript(t, 4)
	s.add(&journal.AgentSuspended{AgentID: "P02", Reason: "did not answer"})
	for _, row := range at(s.l, live).standings().Rows {
		if row.ID == "P02" {
			assert.Equal(t, [2]string{"suspended", "did not answer"}, [2]string{row.State, row.Inactive})
		} else {
			assert.Empty(t, row.State+row.Inactive)
		}
	}
}

func TestStandingsTellTheMovementSinceTheRoundBefore(t *testing.T) {
	s := startedScript(t, 4)
	assert.False(t, at(s.l, live).standings().Moves, "nothing to compare with")
	s.announce()
	s.report(1, "A", "")
	s.report(2, "", "")
	s.complete()
	s.announce()
	s.report(1, "B", "")
	v := at(s.l, live).standings()
	require.True(t, v.Moves)
	before := map[string]int{}
	for _, row := range s.l.StandingsAfter(1) {
		before[row.PlayerID] = row.Rank
	}
	moved := 0
	for _, row := range v.Rows {
		assert.Equal(t, before[row.ID]-row.Rank, row.Move, row.ID)
		if row.Move != 0 {
			moved++
		}
	}
	assert.Positive(t, moved)
	assert.Equal(t, "Standings now", v.Caption)
}

func TestRoundOfAPage(t *testing.T) {
	s := startedScript(t, 4)
	s.round()
	s.round()
	s.announce()
	for _, tt := range []struct {
		text  string
		round int
		label string
		value int
	}{
		{"", live, "Live", 3}, {"0", 0, "Start", 0}, {"1", 1, "Round 1 of 3", 1}, {"2", 2, "Round 2 of 3", 2},
		{"3", live, "Live", 3}, {"999", live, "Live", 3}, {"-1", live, "Live", 3}, {"two", live, "Live", 3},
	} {
		v := overviewOf(s.l, parseRound(tt.text))
		assert.Equal(t, tt.round, v.Round, tt.text)
		assert.Equal(t, tt.label, v.Timeline.Label, tt.text)
		assert.Equal(t, tt.value, v.Timeline.Value, tt.text)
		assert.Equal(t, 3, v.Timeline.Max)
	}
	s.report(1, "", "")
	s.report(2, "", "")
	s.complete()
	s.finish()
	v := overviewOf(s.l, 3)
	assert.Equal(t, live, v.Round, "the last round of a league that is over is its end")
	assert.Equal(t, "End", v.Timeline.Label)
	assert.Equal(t, 3, v.Timeline.Max)
	assert.Equal(t, 2, overviewOf(s.l, 2).Results.Round)
}

func TestPastRoundHasItsStandingsAndResults(t *testing.T) {
	s := startedScript(t, 4)
	s.finish()
	v := overviewOf(s.l, 1)
	assert.Equal(t, "Results of round 1", v.Results.Title)
	assert.Len(t, v.Results.Rows, 2)
	assert.Equal(t, "replay", v.Progress.State)
	assert.Equal(t, 2, v.Progress.Recorded)
	assert.Empty(t, v.Running.Rows)
	assert.Empty(t, v.Progress.Champion)
	for i, row := range s.l.StandingsAfter(1) {
		assert.Equal(t, row.PlayerID, v.Standings.Rows[i].ID)
		assert.Equal(t, row.Points, v.Standings.Rows[i].Points)
	}
	assert.Equal(t, []int{0, 1, 2, 3}, v.Chart.rounds, "the lines stay whole, and a marker moves")
	assert.Equal(t, v.Chart.X[1].At, v.Chart.Marker)
}

func TestProgressTellsTheState(t *testing.T) {
	s := newScript(t, nil, "Ann", "Bob", "Cem", "Dan")
	state := func() *progress { return overviewOf(s.l, live).Progress }
	assert.Equal(t, "waiting", state().State)
	assert.Equal(t, 4, state().Players)
	s.add(&journal.Decided{Command: protocol.CommandStart, Decision: journal.Decision{By: "Ada", Reason: "bus"}, StartAt: "2026-11-22T12:00:00Z"})
	assert.Equal(t, "Ada", state().Awaited.Start.By)
	assert.Equal(t, "2026-11-22T12:00:00Z", state().Awaited.Start.StartAt)
	s.start()
	s.announce()
	assert.Equal(t, "running", state().State)
	assert.Equal(t, "Round 1 of 3", state().Text)
	s.report(1, "A", "")
	s.report(2, "B", "E001")
	assert.Equal(t, 1, state().Technical)
	s.complete()
	assert.Contains(t, state().Announce, "Round 1 ended.")
	s.add(&journal.Decided{Command: protocol.CommandPause, Decision: journal.Decision{By: "Ada", Reason: "lunch"}})
	assert.Equal(t, "paused", state().State)
	assert.Equal(t, "lunch", state().Paused.Reason)
	s.add(&journal.Decided{Command: protocol.CommandResume, Decision: journal.Decision{By: "Ada"}})
	s.finish()
	assert.Equal(t, "over", state().State)
	assert.Contains(t, state().Champion, "Champion: ")
}

func TestRunningMatchesComeBeforeWaitingOnes(t *testing.T) {
	s := startedScript(t, 4)
	s.add(s.l.Announcement([]string{"REF01", "REF01"}))
	second := league.Attempt{MatchID: league.MatchID{Round: 1, Number: 2}, Number: 1}
	s.add(&journal.MatchAssigned{Attempt: second, RefereeID: "REF01"})
	rows := at(s.l, live).running().Rows
	require.Len(t, rows, 2)
	assert.Equal(t, "R1M2", rows[0].MatchID)
	assert.Equal(t, "assigned", rows[0].State)
	assert.NotEmpty(t, rows[0].Since)
	assert.Equal(t, "waiting", rows[1].State)
	s.add(&journal.MatchAccepted{Attempt: second, RefereeID: "REF01"})
	assert.Equal(t, "playing", at(s.l, live).running().Rows[0].State)
}

func TestResultTellsWhyAMatchWasLost(t *testing.T) {
	s := startedScript(t, 4)
	s.announce()
	s.report(1, "A", "E001")
	s.report(2, "B", "")
	m := at(s.l, live)
	first, second := m.result(league.MatchID{Round: 1, Number: 1}), m.result(league.MatchID{Round: 1, Number: 2})
	assert.Equal(t, first.B.ID+" did not answer in time", first.Note)
	assert.Equal(t, technical, first.MarkB)
	assert.Equal(t, first.A.ID+" won against "+first.B.ID+" in R1M1", first.Sentence())
	assert.Equal(t, "3–0", first.Score)
	assert.Equal(t, "P03 even, P04 odd, number 4", second.Note)
	assert.Equal(t, "0–3", second.Score)
	assert.Equal(t, second.B.ID+" won against "+second.A.ID+" in R1M2", second.Sentence())
}

func TestRulingsAndRematchesAreShownWithTheirAuthor(t *testing.T) {
	s := startedScript(t, 4)
	s.round()
	by := journal.Decision{By: "Ada", Reason: "wrong number"}
	id := league.MatchID{Round: 1, Number: 1}
	s.add(&journal.Decided{Command: protocol.CommandRematch, Decision: by, MatchID: id})
	m := at(s.l, live)
	assert.Equal(t, "Ada", m.result(id).Rematch.By)
	assert.Equal(t, []string{"R1M1"}, m.progress().Rematches)
	require.Len(t, m.decisions(decisionsShown), 1)
	assert.Equal(t, "R1M1", m.decisions(decisionsShown)[0].Match)
	assert.Contains(t, m.decisions(decisionsShown)[0].About, "wrong number")
	assert.Empty(t, at(s.l, 0).results().Rows)
}

func TestMarkOfADisputedResultStaysWithIt(t *testing.T) {
	s := startedScript(t, 4)
	s.announce()
	s.report(1, "A", "")
	s.report(2, "A", "")
	id := league.MatchID{Round: 1, Number: 1}
	first := s.l.Match(id).Report
	s.add(&journal.MatchDisputed{Attempt: first.Attempt, RefereeID: "REF01", Result: first.Result})
	s.add(&journal.ResultDenied{Attempt: first.Attempt, PlayerID: "P02"})
	s.complete()
	by := journal.Decision{By: "Ada"}
	v := at(s.l, live).match(id, 0)
	assert.Contains(t, v.Notes, "Referee REF01 reported another result later. The first one counts.")
	s.add(&journal.Decided{Command: protocol.CommandRematch, Decision: by, MatchID: id})
	s.add(&journal.Decided{Command: journal.CommandReopen, Decision: by, MatchID: id})
	second := *first
	second.Number = 2
	s.add(&journal.MatchAssigned{Attempt: second.Attempt, RefereeID: "REF01"})
	s.add(&journal.MatchAccepted{Attempt: second.Attempt, RefereeID: "REF01"})
	s.add(&second)
	v = at(s.l, live).match(id, 0)
	assert.NotContains(t, strings.Join(v.Notes, " "), "another result")
	assert.NotContains(t, strings.Join(v.Notes, " "), "reached it")
	assert.Equal(t, "its result, disputed by REF01 and P02, is annulled", v.Attempts[0].State)
	assert.Equal(t, "its result counts", v.Attempts[1].State)
}

func TestCrossTableHasBothSidesOfEachMatch(t *testing.T) {
	s := startedScript(t, 4)
	s.announce()
	s.report(1, "A", "")
	s.report(2, "", "")
	s.complete()
	s.announce()
	s.report(1, "B", "E001")
	c := crossOf(s.l, live, 0, 0)
	_, a, b, _ := s.l.Find(league.MatchID{Round: 1, Number: 1})
	assert.Equal(t, crossCell{Text: "W", Class: won, Match: "R1M1", Title: a + " won against " + b + " in R1M1", Rival: b}, cellOf(c, a, b))
	assert.Equal(t, "L", cellOf(c, b, a).Text)
	_, a, b, _ = s.l.Find(league.MatchID{Round: 2, Number: 1})
	assert.Equal(t, "T", cellOf(c, a, b).Text)
	assert.Equal(t, "W", cellOf(c, b, a).Text)
	assert.True(t, cellOf(c, "P01", "P01").Self)
	assert.Empty(t, cellOf(crossOf(s.l, 1, 0, 0), a, b).Text, "after round 1 the match of round 2 has no result")
}

func cellOf(c *cross, row, column string) (found crossCell) {
	for _, r := range c.Rows {
		for i, cell := range r.Results {
			if r.ID == row && c.Columns[i].ID == column {
				found = cell
			}
		}
	}
	return found
}

func TestCrossTableSumsUpSeveralLegs(t *testing.T) {
	s := newScript(t, nil, "Ann", "Bob")
	s.l.Created.Legs = 3
	s.start()
	s.announce()
	s.report(1, "A", "")
	s.complete()
	s.announce()
	s.report(1, "", "")
	s.complete()
	c := crossOf(s.l, live, 0, 0)
	first, second := c.Columns[0].ID, c.Columns[1].ID
	assert.Equal(t, "1–1–0", cellOf(c, first, second).Text)
	assert.Equal(t, "0–1–1", cellOf(c, second, first).Text)
	assert.Equal(t, first+" against "+second+": 1 win, 1 draw, 0 losses", c.Rows[0].Results[1].Title)
	assert.True(t, c.Rows[0].Results[1].Several)
}

func TestLikelihoodsOfSuperiorityHaveTheRowsOfTheCrossTable(t *testing.T) {
	s := startedScript(t, 4)
	c := crossOf(s.l, live, 0, 0)
	c.addSuperiority(&statistics{})
	assert.Nil(t, c.Superior, "before the first result")
	s.round()
	v := &statistics{}
	v.fill(s.l.Results(s.l.Games).Statistics())
	c = crossOf(s.l, live, 0, 0)
	c.addSuperiority(v)
	require.Len(t, c.Superior, 4)
	percents := regexp.MustCompile(`^(<1|>99|\d+)%$`)
	for i, row := range c.Superior {
		assert.Equal(t, c.Rows[i].ID, row.ID)
		for k, text := range row.Likelihoods {
			if i == k {
				assert.Empty(t, text)
			} else {
				assert.Regexp(t, percents, text)
			}
		}
	}
}

func TestCrossTableOfManyPlayersHasWindows(t *testing.T) {
	s := startedScript(t, 200)
	s.round()
	c := crossOf(s.l, live, 45, 161)
	assert.Len(t, c.Windows, 5)
	assert.Equal(t, 41, c.From)
	assert.Equal(t, 161, c.Against)
	cells := 0
	for _, r := range c.Rows {
		cells += len(r.Results)
	}
	assert.Equal(t, crossWidth*crossWidth, cells)
	for _, wrong := range []int{-3, 0, 201, 99999} {
		assert.Equal(t, 1, crossOf(s.l, live, wrong, wrong).From)
	}
}

func TestKnockoutIsShownAsABracket(t *testing.T) {
	for name, l := range leagues(t) {
		c := crossOf(l, live, 0, 0)
		assert.Equal(t, name == "knockout", c.Bracket != nil, name)
		if name == "knockout" {
			stages := c.Bracket.Parts[0].Stages
			assert.Equal(t, []string{"Quarter-final", "Semi-final", "Final"}, titles(c.Bracket)[0])
			final := stages[2].Ties[0]
			assert.Contains(t, final.Sides[:], bracketSide{ref{l.Champion().PlayerID, l.Ref(l.Champion().PlayerID).Name}, "won", []mark{won}})
			require.NotNil(t, stages[2].Third)
			assert.NotEmpty(t, stages[2].Third.Matches)
			assert.Empty(t, crossOf(l, 1, 0, 0).Bracket.Parts[0].Stages[2].Ties[0].Matches, "after round 1")
			assert.Equal(t, titles(c.Bracket), titles(overviewOf(l, live).Bracket), "the overview leads with it")
		}
	}
}

// titles are the titles of the stages of each part.
func titles(b *bracket) [][]string {
	return lists.Map(b.Parts, func(p bracketPart) []string {
		return lists.Map(p.Stages, func(s bracketStage) string { return s.Title })
	})
}

func TestDoubleEliminationIsShownInParts(t *testing.T) {
	s := newScript(t, &journal.Tournament{Algorithm: pairing.DoubleElimination}, "Ann", "Bob", "Cid", "Dan", "Eva")
	assert.Empty(t, crossOf(s.l, live, 0, 0).Bracket.Parts, "before the start")
	s.start()
	want := [][]string{
		{"Quarter-final", "Semi-final", "Winners’ final"}, {"Stage 1", "Stage 2", "Stage 3", "Losers’ final"},
		{"First final", "Second final"},
	}
	for s.l.HasRound(s.l.Round + 1) {
		assert.Equal(t, want, titles(overviewOf(s.l, live).Bracket))
		s.announce()
		assert.Equal(t, fmt.Sprintf("Round %d of at most 32", s.l.Round), overviewOf(s.l, live).Progress.Text)
		for i := range s.l.Pairings(s.l.Round) {
			s.report(i+1, "A", "") // the higher seed
		}
		s.complete()
	}
	b := crossOf(s.l, live, 0, 0).Bracket
	want[2] = []string{""} // the second final is not needed
	assert.Equal(t, want, titles(b))
	losers := b.Parts[1].Stages
	assert.Equal(t, []bool{true, false, true, false}, lists.Map(losers, func(s bracketStage) bool { return s.Straight }))
	assert.Equal(t, []bool{false, true}, lists.Map(losers[0].Ties, func(t bracketTie) bool { return t.Empty }))
	final := b.Parts[2].Stages[0].Ties[0]
	assert.Equal(t, [2]bracketSide{{ref{"P01", "Ann"}, "won", []mark{won}}, {ref{"P02", "Bob"}, "lost", []mark{lost}}}, final.Sides)
	assert.Equal(t, "P01", s.l.Champion().PlayerID)
	assert.True(t, at(s.l, live).bracket(2).Earlier)
}

func TestCrossTableOfAGauntletHasColumnsForItsSeeds(t *testing.T) {
	s := newScript(t, &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 2, Seeding: []string{"Dan"}}, "Ann", "Bob", "Cid", "Dan")
	s.start()
	for s.l.HasRound(s.l.Round + 1) {
		s.announce()
		s.report(1, "A", "")
		s.report(2, "A", "")
		s.complete()
	}
	c := crossOf(s.l, live, 0, 0)
	ids := func(row standingsRow) string { return row.ID }
	assert.ElementsMatch(t, []string{"P04", "P01"}, lists.Map(c.Columns, ids))
	require.Len(t, c.Rows, 2)
	for _, row := range c.Rows {
		assert.Contains(t, []string{"P02", "P03"}, row.ID)
		assert.NotContains(t, lists.Map(row.Results, func(c crossCell) string { return c.Text }), "", "each has met each seed")
	}
}

func TestPlayerPageExplainsTechnicalLosses(t *testing.T) {
	s := startedScript(t, 4)
	s.announce()
	_, _, loser, _ := s.l.Find(league.MatchID{Round: 1, Number: 1})
	s.report(1, "A", "E009")
	s.report(2, "A", "")
	s.complete()
	s.announce()
	v := playerOf(s.l, loser, "")
	require.Len(t, v.Faults, 1)
	assert.Equal(t, "could not be reached", v.Faults[0].Short)
	assert.Equal(t, []string{"R1M1"}, v.Faults[0].Matches)
	assert.Len(t, v.Next, 1)
	assert.Len(t, v.Results, 1)
	assert.Equal(t, technical, v.Results[0].Mark)
	assert.Empty(t, v.Heads, "one match against each opponent is in the results")
	assert.Empty(t, playerOf(s.l, loser, v.Next[0].Opponent.ID).Results)
	for _, unknown := range []string{"", "P99", "REF01", "<b>"} {
		assert.Nil(t, playerOf(s.l, unknown, ""), unknown)
	}
}

func TestStatisticsAreComputedAgainWhenTheLeagueHasGrown(t *testing.T) {
	known := &statistics{Rounds: 20}
	for _, tt := range []struct {
		name string
		now  statistics
		want bool
	}{
		{"same", statistics{Rounds: 20}, false},
		{"one round more", statistics{Rounds: 21}, false},
		{"a tenth more", statistics{Rounds: 22}, true},
		{"over", statistics{Rounds: 20, Over: true}, true},
		{"a decision", statistics{Rounds: 20, decisions: 1}, true},
		{"another league", statistics{Rounds: 3}, true},
	} {
		assert.Equal(t, tt.want, tt.now.isNewAgainst(known), tt.name)
	}
	assert.True(t, (&statistics{}).isNewAgainst(nil))
}

func TestPlayerWithoutARatedMatchHasNoRating(t *testing.T) {
	v := &statistics{}
	v.fill(&stats.Analysis{Ratings: []stats.Player{
		{PlayerID: "P01", Matches: 2, Rating: 1600, Low: 1450, High: 1750}, {PlayerID: "P03", DisplayName: "Cem", Rating: 1500, Low: 100, High: 2900},
		{PlayerID: "P02", Matches: 2, Rating: 1400, Low: 1250, High: 1550},
	}})
	assert.Len(t, v.Rows, 2)
	assert.Equal(t, []ref{{"P03", "Cem"}}, v.Unrated)
	assert.Equal(t, []scaleMark{{1200, "0", "start"}, {1500, "50.0", "middle"}, {1800, "100", "end"}}, v.Scale, "it does not stretch the axis")
	assert.Nil(t, v.rating("P03"))
}

func TestStatesOfAgentsAreWords(t *testing.T) {
	s := startedScript(t, 4)
	s.round()
	s.add(&journal.AgentShutdown{AgentID: "P01", Reason: "did not answer in its last 3 matches"})
	s.add(&journal.AgentShutdown{AgentID: "P02", Reason: "missed its last 5 matches"})
	s.add(&journal.Decided{Command: protocol.CommandWithdraw, Decision: journal.Decision{By: "Ada"}, AgentID: "P03", Annulled: true})
	for id, want := range map[string]string{"P01": "did not answer in its last 3 matches", "P02": "did not answer (missed its last 5 matches)", "P03": "withdrawn (", "P04": "active"} {
		assert.True(t, strings.HasPrefix(s.l.StateInWords(s.l.Agents[id]), want), s.l.StateInWords(s.l.Agents[id]))
	}
}

func TestAnotherKeyAfterTheStartIsShown(t *testing.T) {
	s := &script{t, record.NewLeague()}
	key := func(n byte) string { return protocol.NewSigningKey([32]byte{n}).Public() }
	s.add(&journal.Created{
		SchemaVersion: store.SchemaVersion, LeagueID: "cup", GameType: "even_odd", Legs: 1, ManagerKey: key(9),
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"}, Configuration: journal.Configuration{Roster: &journal.Roster{Players: 3}},
	})
	s.add(&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "Referee", Capacity: 9, Generation: 1})
	for _, id := range []string{"P01", "P02", "P03"} {
		s.add(&journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, DisplayName: id, Generation: 1})
	}
	s.start()
	s.round()
	s.add(&journal.AgentReturned{AgentID: "P01", Generation: 2, PublicKey: key(1)})
	mark := fmt.Sprintf("has had another key since event %d", s.l.Events)
	assert.Equal(t, "active ("+mark+")", s.l.StateInWords(s.l.Agents["P01"]))
	s.finish()
	s.add(&journal.AgentInformed{AgentID: "P01"})
	assert.Equal(t, "finished; "+mark, s.l.StateInWords(s.l.Agents["P01"]))
	marked := 0
	rows, err := s.l.Schedule(0)
	require.NoError(t, err)
	for _, row := range rows {
		id, _ := league.ParseMatchID(row.MatchID)
		r := at(s.l, live).result(id)
		page := at(s.l, live).match(id, 0)
		if row.RoundID > 1 && (row.PlayerAID == "P01" || row.PlayerBID == "P01") {
			marked++
			assert.Equal(t, []string{"P01 " + mark}, row.KeyMarks)
			assert.Equal(t, row.PlayerAID+" even, "+row.PlayerBID+" odd, number 4; P01 "+mark, r.Note)
			assert.Equal(t, []string{"P01 " + mark + "."}, page.Notes)
		} else {
			assert.Empty(t, row.KeyMarks)
			assert.NotContains(t, r.Note, mark)
			assert.Empty(t, page.Notes)
		}
	}
	assert.Positive(t, marked)
}
