package record_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const leagues = "../../../testdata/leagues"

// The standings after a round are those that the league had when the round ended.
func TestStandingsAfterEachRound(t *testing.T) {
	folders, err := os.ReadDir(leagues)
	require.NoError(t, err)
	compared := 0
	for _, folder := range folders {
		ids, err := filepath.Glob(filepath.Join(leagues, folder.Name(), "data", "leagues", "*"))
		require.NoError(t, err)
		for _, id := range ids {
			t.Run(folder.Name()+"/"+filepath.Base(id), func(t *testing.T) {
				l := record.NewLeague()
				dir := record.NewFolder(store.In(filepath.Join(leagues, folder.Name())), filepath.Base(id))
				var then [][]league.Standing
				require.NoError(t, l.Update(context.Background(), dir, func(e *journal.Event, _ string) {
					if _, ok := e.Data.(*journal.RoundCompleted); ok {
						then = append(then, l.Standings())
					}
				}))
				if len(l.Decisions) > 0 {
					t.Skip("decisions change earlier results")
				}
				for i := range then {
					assert.Equal(t, then[i], l.StandingsAfter(i+1), "round %d", i+1)
					compared++
				}
			})
		}
	}
	assert.Positive(t, compared)
}

// A player that is withdrawn keeps the points of its earlier byes.
func TestPointsOfAWithdrawnPlayerIncludeItsByes(t *testing.T) {
	const withBye = "P05" // in round 1
	folder := record.NewFolder(store.In(filepath.Join(leagues, "swiss")), "league_2025_even_odd")
	lines, err := folder.Lines(t.Context(), 1)
	require.NoError(t, err)
	l := record.NewLeague()
	for _, line := range lines {
		e, err := journal.Decode([]byte(line))
		require.NoError(t, err)
		require.NoError(t, l.Fold(e))
		if l.CompletedRounds() == 1 {
			break
		}
	}
	require.NoError(t, l.Fold(&journal.Event{Seq: l.Events + 1, At: l.At, Data: &journal.Decided{
		Command: protocol.CommandWithdraw, Decision: journal.Decision{By: "A. Smith"}, AgentID: withBye,
	}}))
	player, _ := l.PlayerIndex(withBye)
	assert.Equal(t, l.Created.Scoring.Win, l.Points()[1][player])
}

// A match file that the manager wrote is no attempt with a transcript: a report must not show an empty conversation.
func TestMatchFileOfTheManagerIsNoTranscript(t *testing.T) {
	dir := store.In(t.TempDir())
	require.NoError(t, store.WriteDerived(dir.Disk, dir.Match("cup", "R1M1"), &store.Match{
		Header: store.NewHeader(""), LeagueID: "cup", RoundID: 1, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01",
		WrittenBy: store.WrittenByManager, Transcript: []store.Exchange{}, Lifecycle: store.Lifecycle{State: protocol.StateAcknowledged},
	}))
	_, err := dir.LoadMatch("cup", "R1M1")
	require.NoError(t, err)
	unreadable, err := record.NewFolder(dir, "cup").Attempts(func(doc *store.Match) error {
		t.Errorf("%s is visited", doc.MatchID)
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, unreadable)
}

func TestDurationsHaveTwoOrThreeDigits(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "< 1 ms", 0.4: "0.4 ms", 2.5: "2.5 ms", 12: "12 ms", 999.4: "999 ms", 999.6: "1.0 s", 3200: "3.2 s", 45000: "45 s",
	} {
		assert.Equal(t, want, record.Milliseconds(ms))
	}
}

func TestFormatsInWords(t *testing.T) {
	for want, d := range map[string]journal.Created{
		"round-robin":                                 {Legs: 1},
		"round-robin, 2 legs":                         {Legs: 2},
		"round-robin, 2 legs, openings of 1 ply":      {Legs: 2, Openings: 1},
		"Swiss system":                                {Legs: 1, Tournament: &journal.Tournament{Algorithm: pairing.Swiss}},
		"knockout":                                    {Legs: 1, Tournament: &journal.Tournament{Algorithm: pairing.Knockout}},
		"double elimination":                          {Legs: 1, Tournament: &journal.Tournament{Algorithm: pairing.DoubleElimination}},
		"gauntlet of 2, 4 legs":                       {Legs: 4, Tournament: &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 2}},
		"gauntlet of 2, 4 legs, openings of 32 plies": {Legs: 4, Openings: 32, Tournament: &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 2}},
	} {
		assert.Equal(t, want, record.FormatInWords(&d))
	}
}

func rated(id, strategy string, points int) league.Standing {
	return league.Standing{PlayerID: id, DisplayName: "Name of " + id, Strategy: strategy, Points: points}
}

func meeting(a, b, winner int, technical bool) record.Meeting {
	return record.Meeting{Played: league.Played{A: a, B: b, Winner: winner, Technical: technical}}
}

func TestStatisticsOfASmallLeague(t *testing.T) {
	r := &record.Results{
		LeagueID: "x", SidesAlike: true,
		Players: []league.Standing{rated("P10", "random", 1), rated("P02", "mirror", 6), rated("P01", "random", 1)},
		Meetings: []record.Meeting{
			meeting(2, 1, 1, false), meeting(2, 0, league.None, false), meeting(1, 0, 1, true), meeting(2, 0, league.None, true),
		},
	}
	s := r.Statistics()
	assert.Equal(t, []any{4, 2, 2, false}, []any{s.Matches, s.Played, s.Used, s.Sampled})
	assert.Equal(t, "2 matches (1 with a winner) are too few to tell the players apart: their order can be luck.", s.Sentence)
	assert.Equal(t, stats.Sides{WinsB: 1, Draws: 1}, s.Sides)
	assert.False(t, s.Equality.Possible)
	assert.Equal(t, 1, s.Equality.Matches)
	require.Len(t, s.Ratings, 3)
	first := s.Ratings[0]
	assert.Equal(t, []any{"P02", "Name of P02", "mirror", 1, 1}, []any{first.PlayerID, first.DisplayName, first.Strategy, first.Matches, first.Rank})
	assert.InDelta(t, 2, first.SonnebornBerger, 1e-9, "the points of both that it beat")
	assert.Equal(t, 10, first.LegsToNext)
	assert.Equal(t, []stats.Strategy{
		{Name: "random", Players: 2, Tally: league.Tally{Played: 6, Draws: 2, Losses: 4, TechnicalLosses: 3}},
		{Name: "mirror", Players: 1, Tally: league.Tally{Played: 2, Wins: 2}},
	}, s.Strategies)

	r.Players[1].Annulled = true
	s = r.Statistics()
	assert.Equal(t, []any{2, 2, 1}, []any{len(s.Ratings), s.Matches, s.Used}, "without the annulled player and its matches")
	assert.Equal(t, "The only match is a draw: nothing can be said about the players.", s.Sentence)
}

// Results that rest on the word of a referee are counted, but rate nobody.
func TestStatisticsOmitStatedResults(t *testing.T) {
	won, stated := meeting(0, 1, 0, false), meeting(0, 1, 1, false)
	stated.Stated = true
	r := &record.Results{
		LeagueID: "x", SidesAlike: true, Meetings: []record.Meeting{won, stated, stated},
		Players: []league.Standing{rated("P01", "random", 3), rated("P02", "random", 6)},
	}
	s := r.Statistics()
	assert.Equal(t, []any{3, 2, 1}, []any{s.Matches, s.Stated, s.Used})
	assert.Contains(t, s.Sentence, " Not rated: 2 results on the word of a referee alone.")
	assert.Equal(t, "P01", s.Ratings[0].PlayerID)
	r.Players[1].Annulled = true
	s = r.Statistics()
	assert.Equal(t, []int{0, 0}, []int{s.Matches, s.Stated}, "without the annulled player and its matches")
	assert.NotContains(t, r.Told(), "Not rated")
}

func TestStatisticsBeforeTheStart(t *testing.T) {
	s := record.NewLeague().Results(rules.Registry{}).Statistics()
	assert.Equal(t, "No match has been decided by play yet: nothing can be said about the players.", s.Sentence)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"ratings":[]`)
}

func TestStatisticsOfRecordedLeagues(t *testing.T) {
	games := rules.NewRegistry(evenodd.Game{})
	for _, tt := range []struct {
		folder  string
		paired  bool // by results
		players int
	}{{"finished", false, 4}, {"half_played", false, 4}, {"swiss", true, 5}, {"knockout", true, 5}} {
		t.Run(tt.folder, func(t *testing.T) {
			l := record.NewLeague()
			folder := store.In(filepath.Join(leagues, tt.folder))
			require.NoError(t, l.Update(context.Background(), record.NewFolder(folder, "league_2025_even_odd"), nil))
			s := l.Results(games).Statistics()
			assert.Equal(t, l.Recorded, s.Matches)
			assert.Len(t, s.Ratings, tt.players)
			assert.NotEmpty(t, s.Sentence)
			assert.Equal(t, s.Told, l.Results(games).Told())
			if tt.paired && !s.Equality.Rejected {
				assert.Contains(t, s.Sentence, "where results decide who meets whom")
				assert.False(t, s.Equality.Possible)
			}
			again, err := json.Marshal(l.Results(games).Statistics())
			require.NoError(t, err)
			text, err := json.Marshal(s)
			require.NoError(t, err)
			assert.Equal(t, string(text), string(again))
		})
	}
}
