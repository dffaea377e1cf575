package journal_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// A tournamentLog folds a league of players P01, P02 … called A, B … and one referee.
type tournamentLog struct {
	*journal.State
	t *testing.T
}

func created(legs int, tournament *journal.Tournament) *journal.Created {
	return &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: "L", GameType: "even_odd", Legs: legs,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"}, Tournament: tournament,
	}
}

func startTournament(t *testing.T, tournament *journal.Tournament, players int) tournamentLog {
	t.Helper()
	return startLeague(t, created(1, tournament), players)
}

func startLeague(t *testing.T, begins *journal.Created, players int) tournamentLog {
	t.Helper()
	l := folded(t, begins)
	l.apply(&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "R", Endpoint: "http://r/mcp", Capacity: 2})
	started := &journal.Started{Referees: []string{"REF01"}}
	if begins.Tournament == nil {
		started.Algorithm = journal.Algorithm
	}
	for n := range players {
		id := league.PlayerID(n + 1)
		l.apply(&journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, DisplayName: string(rune('A' + n)), Endpoint: "http://" + id + "/mcp"})
		started.Players = append(started.Players, id)
	}
	l.apply(started)
	return l
}

// folded is the league after some events.
func folded(t *testing.T, all ...journal.Data) tournamentLog {
	t.Helper()
	l := tournamentLog{journal.NewState(), t}
	for _, d := range all {
		l.apply(d)
	}
	return l
}

func (l tournamentLog) try(d journal.Data) error {
	return l.Apply(&journal.Event{Seq: l.Events + 1, At: when, Data: d})
}

func (l tournamentLog) apply(d journal.Data) {
	l.t.Helper()
	require.NoError(l.t, l.try(d))
}

// announcement is the event of the next round, and its matches as text.
func (l tournamentLog) announcement() (d *journal.RoundAnnounced, matches string) {
	d = l.Announcement(nil)
	for _, ids := range d.Pairings {
		d.Referees = append(d.Referees, "REF01")
		matches += " " + l.Agents[ids[0]].DisplayName + l.Agents[ids[1]].DisplayName
	}
	return d, matches
}

// play plays the next round, in which the player with the lower id wins, and returns its
// matches.
func (l tournamentLog) play() string {
	l.t.Helper()
	d, matches := l.announcement()
	l.apply(d)
	for i, ids := range d.Pairings {
		attempt := league.Attempt{MatchID: league.MatchID{Round: d.RoundID, Number: i + 1}, Number: 1}
		winner, loser := min(ids[0], ids[1]), max(ids[0], ids[1])
		l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
		l.apply(&journal.MatchReported{Attempt: attempt, RefereeID: "REF01", Score: league.Both(winner, 3, loser, 0), Result: league.Result{
			Status: league.StatusWin, WinnerPlayerID: &winner,
			Choices: league.Both(winner, new("even"), loser, new("odd")),
		}})
	}
	l.apply(&journal.RoundCompleted{RoundID: d.RoundID, Summary: l.Summary(d.RoundID)})
	return matches
}

func TestSwissRoundsFollowFromResults(t *testing.T) {
	l := startTournament(t, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 9}, 5)
	assert.Equal(t, []int{3, 6, 1}, []int{l.TotalRounds(), l.TotalMatches(), l.KnownRounds()}, "five players admit three rounds")
	byes := 0
	for round := 1; round <= 3; round++ {
		assert.Nil(t, l.Pairings(round+1), "not known yet")
		assert.True(t, l.HasRound(round))
		l.play()
		for _, row := range l.Standings() {
			assert.Equal(t, 3*(row.Wins+*row.Byes), row.Points, row.DisplayName)
			assert.Equal(t, round, row.Played+*row.Byes, row.DisplayName)
			byes += *row.Byes
		}
	}
	assert.Equal(t, 1+2+3, byes, "one in each round")
	assert.False(t, l.HasRound(4))
	first := l.Standings()[0]
	l.apply(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: first.PlayerID, Points: first.Points}})
}

func TestSeedingDecidesTheBracketOfAKnockout(t *testing.T) {
	for seeding, want := range map[string]string{
		"":     "AD BC",
		"BCDA": "BA CD",
		"DxC":  "DB CA", // nobody is called x; A and B follow
	} {
		tournament := &journal.Tournament{Algorithm: pairing.Knockout}
		for _, name := range seeding {
			tournament.Seeding = append(tournament.Seeding, string(name))
		}
		l := startTournament(t, tournament, 4)
		if seeding == "DxC" {
			assert.Equal(t, []string{"x"}, l.MissingSeeds())
		}
		assert.Equal(t, " "+want, l.play(), seeding)
	}
}

func TestKnockoutRanksByTheBracket(t *testing.T) {
	l := startTournament(t, &journal.Tournament{Algorithm: pairing.Knockout}, 4)
	assert.Equal(t, 8, l.TotalRounds(), "with all replays")
	l.play()
	require.Error(t, l.try(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P01", Points: 3}}), "the final is missing")
	assert.Equal(t, " AB CD", l.play(), "the final, and the match for third place")
	assert.Equal(t, league.Champion{PlayerID: "P01", DisplayName: "A", Points: 6}, l.Champion(), "without a reason")
	require.Error(t, l.try(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P02", Points: 3}}))
	by := journal.Decision{By: "A. Smith"}
	l.apply(&journal.Decided{Command: protocol.CommandPause, Decision: by})
	require.ErrorContains(t, l.try(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P01", Points: 6}}), "completed while it is paused")
	l.apply(&journal.Decided{Command: protocol.CommandResume, Decision: by})
	l.apply(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P01", Points: 6}})
	assert.Equal(t, []int{2, 4}, []int{l.TotalRounds(), l.TotalMatches()})
	for i, row := range l.Standings() {
		assert.Equal(t, fmt.Sprint(i+1, string(rune('A'+i))), fmt.Sprint(row.Rank, row.DisplayName))
	}
}

func TestImpossibleAnnouncementIsRejected(t *testing.T) {
	for name, change := range map[string]func(d *journal.RoundAnnounced){
		"no pairings":                     func(d *journal.RoundAnnounced) { d.Pairings, d.Referees = nil, nil },
		"an unknown player":               func(d *journal.RoundAnnounced) { d.Pairings[1][1] = "P09" },
		"a referee":                       func(d *journal.RoundAnnounced) { d.Pairings[1][1] = "REF01" },
		"a player twice":                  func(d *journal.RoundAnnounced) { d.Pairings[1][1] = d.Pairings[0][0] },
		"a player against itself":         func(d *journal.RoundAnnounced) { d.Pairings[1][1] = d.Pairings[1][0] },
		"a match without a referee":       func(d *journal.RoundAnnounced) { d.Referees = d.Referees[1:] },
		"a round that does not come next": func(d *journal.RoundAnnounced) { d.RoundID = 2 },
	} {
		l := startTournament(t, &journal.Tournament{Algorithm: pairing.Swiss}, 5)
		d, _ := l.announcement()
		change(d)
		require.Error(t, l.try(d), name)
		d, _ = l.announcement()
		require.NoError(t, l.try(d), "%s: nothing changed", name)
	}
	l := folded(t, events()[:7]...)
	require.ErrorContains(t, l.try(&journal.RoundAnnounced{RoundID: 1, Pairings: [][2]string{{"P01", "P02"}}, Referees: []string{"REF01"}}), "round-robin")
}

func TestRoundCountsWhatItRepeats(t *testing.T) {
	l := startTournament(t, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 9}, 5)
	l.play()
	for _, id := range []string{"P01", "P02", "P03"} {
		l.apply(&journal.Decided{Command: protocol.CommandWithdraw, Decision: journal.Decision{By: "A. Smith", Reason: "so"}, AgentID: id})
	}
	repeated := 0
	for l.HasRound(l.Round + 1) {
		d, _ := l.announcement()
		require.Equal(t, [][2]string{{"P04", "P05"}}, [][2]string{{min(d.Pairings[0][0], d.Pairings[0][1]), max(d.Pairings[0][0], d.Pairings[0][1])}})
		repeated += d.RepeatedPairs
		d.RepeatedPairs++
		require.ErrorContains(t, l.try(d), "pairs that have met")
		l.play()
	}
	assert.Equal(t, 3, l.Round)
	assert.Equal(t, 1, repeated, "once they meet for the first time")
}

func TestPlayersAreAbsentOnceTheirPartIsOver(t *testing.T) {
	by := journal.Decision{By: "A. Smith", Reason: "so"}
	for _, tt := range []struct {
		name   string
		event  func(annuls bool) journal.Data
		absent bool
	}{
		{"withdrawn", func(annuls bool) journal.Data {
			return &journal.Decided{Command: protocol.CommandWithdraw, Decision: by, AgentID: "P02", Annulled: annuls}
		}, true},
		{"shut down", func(bool) journal.Data { return &journal.AgentShutdown{AgentID: "P02", Reason: "so"} }, true},
		{"suspended by the organiser", func(bool) journal.Data {
			return &journal.Decided{Command: protocol.CommandSuspend, Decision: by, AgentID: "P02"}
		}, false},
		{"suspended", func(bool) journal.Data { return &journal.AgentSuspended{AgentID: "P02", Reason: "so"} }, false},
	} {
		for format, tournament := range map[string]*journal.Tournament{
			"Swiss": {Algorithm: pairing.Swiss}, "knockout": {Algorithm: pairing.Knockout}, "round-robin": nil,
			"double elimination": {Algorithm: pairing.DoubleElimination}, "gauntlet": {Algorithm: pairing.Gauntlet, Gauntlet: 1},
		} {
			t.Run(tt.name+", "+format, func(t *testing.T) {
				l := startTournament(t, tournament, 4)
				known := l.Pairings(1)
				l.apply(tt.event(tournament.IsFixed()))
				paired := slices.ContainsFunc(l.Pairings(1), func(p pairing.Pairing) bool { return p.A == 1 || p.B == 1 })
				assert.Equal(t, tt.absent && !tournament.IsFixed(), !paired)
				if tournament.IsFixed() {
					assert.Equal(t, l.TotalRounds(), l.KnownRounds())
					assert.Equal(t, known, l.Pairings(1))
				}
			})
		}
	}
}

// A player that is readmitted after its shutdown is paired from the next round on. A round that it missed is no bye.
func TestReadmittedPlayersArePairedAgain(t *testing.T) {
	readmitted := &journal.Decided{Command: protocol.CommandReadmit, Decision: journal.Decision{By: "A. Smith", Reason: "so"}, AgentID: "P02"}
	for missed := range 2 {
		l := startTournament(t, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 2}, 4)
		l.apply(&journal.AgentShutdown{AgentID: "P02", Reason: "so"})
		if missed > 0 {
			l.play()
		}
		l.apply(readmitted)
		pairings := l.Pairings(missed + 1)
		assert.Len(t, pairings, 2)
		assert.Empty(t, pairing.Byes(4, pairings))
		i := slices.IndexFunc(l.Standings(), func(r league.Standing) bool { return r.PlayerID == "P02" })
		assert.Equal(t, []int{0, 0}, []int{l.Standings()[i].Points, *l.Standings()[i].Byes})
	}
}

// A player that wins its first match of a knockout leaves, so that it ranks lower, and is readmitted before the next
// round.
func TestReadmissionInAKnockoutChangesTheStandings(t *testing.T) {
	l := startTournament(t, &journal.Tournament{Algorithm: pairing.Knockout}, 4)
	l.play()
	first := l.Standings()[0].PlayerID
	l.apply(&journal.AgentShutdown{AgentID: first, Reason: "so"})
	require.NotEqual(t, first, l.Standings()[0].PlayerID)
	readmitted := &journal.Decided{Command: protocol.CommandReadmit, Decision: journal.Decision{By: "A. Smith", Reason: "so"}, AgentID: first}
	l.apply(readmitted)
	assert.Equal(t, first, l.Standings()[0].PlayerID)
	assert.NotZero(t, journal.StaleBy(readmitted)&journal.StaleStandings)
	assert.False(t, readmitted.ChangesResults())
}

func TestImpossibleTournamentIsRejected(t *testing.T) {
	for want, d := range map[string]*journal.Created{
		"not known":    created(1, &journal.Tournament{Algorithm: "swiss-v9"}),
		`"circle-v1"`:  created(1, &journal.Tournament{Algorithm: pairing.Circle}),
		"2 legs":       created(2, &journal.Tournament{Algorithm: pairing.Swiss}),
		"3 rounds":     created(1, &journal.Tournament{Algorithm: pairing.Knockout, Rounds: 3}),
		"-1 rounds":    created(1, &journal.Tournament{Algorithm: pairing.Swiss, Rounds: -1}),
		"of 0 players": created(2, &journal.Tournament{Algorithm: pairing.Gauntlet}),
		"of 2 players": created(1, &journal.Tournament{Algorithm: pairing.DoubleElimination, Gauntlet: 2}),
		`"A" in the`:   created(1, &journal.Tournament{Algorithm: pairing.Swiss, Seeding: []string{"A", "B", "A"}}),
		`name "" in `:  created(1, &journal.Tournament{Algorithm: pairing.Swiss, Seeding: []string{""}}),
	} {
		l := folded(t)
		require.ErrorContains(t, l.try(d), want)
		assert.Nil(t, l.Created)
	}
}

// Exactly one event names the algorithm.
func TestStartOfATournamentNamesNoAlgorithm(t *testing.T) {
	swiss := events()[:6]
	swiss[0].(*journal.Created).Tournament = &journal.Tournament{Algorithm: pairing.Swiss}
	l := folded(t, swiss...)
	started := events()[6].(*journal.Started)
	require.ErrorContains(t, l.try(started), `was created with "swiss-v2"`)
	started.Algorithm = ""
	l.apply(started)
	l = folded(t, events()[:6]...)
	require.Error(t, l.try(started), "a round-robin names its algorithm")
}

// playWinners plays all rounds of a round-robin. Each pair of winners is a winner and a loser;
// the other matches are draws.
func (l tournamentLog) playWinners(winners ...[2]string) {
	l.t.Helper()
	for l.Round < l.TotalRounds() {
		l.apply(&journal.RoundAnnounced{RoundID: l.Round + 1, Referees: []string{"REF01", "REF01"}[:len(l.Pairings(l.Round+1))]})
		for i, p := range l.Pairings(l.Round) {
			attempt := league.Attempt{MatchID: league.MatchID{Round: l.Round, Number: i + 1}, Number: 1}
			a, b := l.Started.Players[p.A], l.Started.Players[p.B]
			score := league.Both(a, 1, b, 1)
			result := league.Result{Status: league.StatusDraw, Choices: league.Both(a, new("odd"), b, new("odd"))}
			for _, w := range winners {
				if w == [2]string{a, b} || w == [2]string{b, a} {
					score = league.Both(w[0], 3, w[1], 0)
					result = league.Result{
						Status: league.StatusWin, WinnerPlayerID: &w[0],
						Choices: league.Both(w[0], new("even"), w[1], new("odd")),
					}
				}
			}
			l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
			l.apply(&journal.MatchReported{Attempt: attempt, RefereeID: "REF01", Score: score, Result: result})
		}
		l.apply(&journal.RoundCompleted{RoundID: l.Round, Summary: l.Summary(l.Round)})
	}
}

func TestChampionHasTheReason(t *testing.T) {
	headToHead := []string{"points", "head_to_head"}
	for _, tt := range []struct {
		name        string
		tiebreakers []string
		winners     [][2]string
		want        league.Champion
	}{
		{"the points decide", headToHead, [][2]string{{"P02", "P01"}, {"P02", "P03"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 9}},
		{"head-to-head decides", headToHead, [][2]string{{"P03", "P01"}, {"P01", "P02"}, {"P01", "P04"}, {"P03", "P02"}, {"P04", "P03"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P03", DisplayName: "C", Points: 6, Reason: "on head-to-head"}},
		{"the wins decide", []string{"points", "wins"}, [][2]string{{"P04", "P01"}, {"P02", "P04"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 5}},
		{"two share the first rank", headToHead, [][2]string{{"P02", "P01"}, {"P04", "P03"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 5, Reason: "shared by P02 and P04"}},
		{"three beat each other in a circle", headToHead, [][2]string{{"P02", "P03"}, {"P03", "P04"}, {"P04", "P02"}},
			league.Champion{PlayerID: "P02", DisplayName: "B", Points: 4, Reason: "shared by P02, P03 and P04"}},
		{"all share the first rank", headToHead, nil,
			league.Champion{PlayerID: "P01", DisplayName: "A", Points: 3, Reason: "shared by P01, P02, P03 and P04"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begins := created(1, nil)
			begins.Tiebreakers = tt.tiebreakers
			l := startLeague(t, begins, 4)
			l.playWinners(tt.winners...)
			assert.Equal(t, tt.want, l.Champion())
		})
	}
}
