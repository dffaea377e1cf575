package player

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/player/strategy"
)

func TestHistoryReturnsItsMatchesAsTheyWere(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "even", "R1M1", "a longer text"})
	number := rapid.IntRange(0, 3)
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(nil)
		want := map[string]store.HistoryMatch{}
		for range rapid.IntRange(0, 20).Draw(t, "matches") {
			m := store.HistoryMatch{
				Attempt: 1 + number.Draw(t, "attempt"),
				PlayedMatch: protocol.PlayedMatch{
					MatchID:    rapid.SampledFrom([]string{"", "R0M1", "R1M1", "R1M10", "R2M1", "R999999999M999999999", "R01M1", "game 7", "game 8"}).Draw(t, "id"),
					OpponentID: text.Draw(t, "opponent"), Result: rapid.SampledFrom([]string{"WIN", "DRAW", "LOSS", "TECHNICAL_WIN", "TECHNICAL_LOSS"}).Draw(t, "result"), MyChoice: text.Draw(t, "mine"),
					OpponentChoice: text.Draw(t, "other"), DrawnNumber: number.Draw(t, "number"), FromStandings: rapid.Bool().Draw(t, "inferred"),
				},
			}
			require.Zero(t, h.attempt("never played"))
			if h.add(&m) {
				want[m.MatchID] = m
			}
		}
		got := map[string]store.HistoryMatch{}
		for _, m := range matchesOf(h) {
			got[m.MatchID] = m
		}
		require.Equal(t, want, got)
		require.Len(t, h.played(), len(want))
		again := newHistory(matchesOf(h))
		require.Equal(t, h.remembered(), again.remembered())
		require.Equal(t, h.stats, again.stats)
		require.Equal(t, len(want), h.stats.Wins+h.stats.Draws+h.stats.Losses)
	})
}

// matchesOf returns the matches of a history, in the order in which they were added.
func matchesOf(h *history) (list []store.HistoryMatch) {
	for i := range h.entries {
		list = append(list, h.match(i))
	}
	return list
}

func TestRenamedFileReplacesNoOther(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "history.json")
	for i, want := range []string{
		"history-2025-01-15T100000Z.json", "history-2025-01-15T100000Z-2.json", "history-2025-01-15T100000Z-3.json",
	} {
		text := []byte{byte('a' + i)}
		require.NoError(t, os.WriteFile(path, text, 0o600))
		to, err := renameAside(disk.Real{}, path, "2025-01-15T10:00:00Z")
		require.NoError(t, err)
		assert.Equal(t, want, filepath.Base(to))
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		assert.Equal(t, text, got)
	}
	_, err := renameAside(disk.Real{}, path, "2025-01-15T10:00:00Z")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTimeOfAMoveIsThatOfTheRefereesClock(t *testing.T) {
	now := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	p := &Player{options: Options{Options: membership.Options{Clock: protocol.NewClock(func() time.Time { return now }, nil)}}}
	for _, test := range []struct {
		name, asked, deadline string
		want                  time.Duration
	}{
		{"half a minute", "2025-01-15T10:30:00Z", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"a second", "2025-01-15T10:30:00Z", "2025-01-15T10:30:01Z", time.Second},
		{"the rest of half a minute", "2025-01-15T10:29:59Z", "2025-01-15T10:30:29Z", 29 * time.Second},
		{"half a minute, by a clock that is ten seconds behind", "2025-01-15T10:29:50Z", "2025-01-15T10:30:20Z", 30 * time.Second},
		{"half a minute, by a clock that is a second ahead", "2025-01-15T10:30:01Z", "2025-01-15T10:30:31Z", 30 * time.Second},
		{"half a minute, by a clock that is three hours ahead", "2025-01-15T13:30:00Z", "2025-01-15T13:30:30Z", 30 * time.Second},
		{"half a minute after the same time as ever", "2020-01-01T00:00:00Z", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"half a minute after the same time as for weeks", "2025-01-01T00:00:00Z", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"half a minute after no time", "", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"now", "2025-01-15T10:30:00Z", "2025-01-15T10:30:00Z", 0},
		{"now, a moment later", "2025-01-15T10:30:00.135401Z", "2025-01-15T10:30:00.135409Z", 0},
		{"now, by a clock that is ahead", "2025-01-15T10:30:07Z", "2025-01-15T10:30:07Z", 0},
		{"before the request", "2025-01-15T10:30:09.165609Z", "2025-01-15T10:30:09.1656Z", 0},
		{"half a minute, by a clock that is an hour behind", "2025-01-15T09:30:00Z", "2025-01-15T09:30:30Z", 30 * time.Second},
		{"long ago, after the same time as ever", "2020-01-01T00:00:00Z", "2025-01-15T09:30:30Z", 0},
		{"nothing", "2025-01-15T10:30:00Z", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, p.within(test.asked, test.deadline))
		})
	}
}

func TestTimeOfADecisionEndsWithTheTimeBank(t *testing.T) {
	for _, test := range []struct{ within, left, want time.Duration }{
		{30 * time.Second, 0, 30 * time.Second},
		{30 * time.Second, time.Minute, 30 * time.Second},
		{6 * time.Second, 6700 * time.Millisecond, 6700 * time.Millisecond}, // the deadline is cut to a second
		{0, 300 * time.Millisecond, 300 * time.Millisecond},
		{0, time.Hour, 30 * time.Second},
		{0, 0, 0},
	} {
		assert.Equal(t, test.want, inTime(test.within, test.left), test)
	}
	assert.Positive(t, inBank(math.MaxInt), "the time of a question is limited, so that no duration overflows")
}

// Only conversation ids in the form of this program contain an attempt.
func TestAttemptIsParsedFromOwnConversationIDs(t *testing.T) {
	for conversation, attempt := range map[string]int{
		"conv-r1m1-a1":                         1,
		"conv-r1m1-a12":                        12,
		"conv-r1m1-a0":                         1,
		"conv-r1m1-a02":                        1,
		"conv-r2m1-a7":                         1,
		"conv-R1M1-a1234567":                   1,
		"bb9530a3-a9f8-4972-a02d-a12345678901": 1,
		"":                                     1,
	} {
		assert.Equal(t, attempt, attemptOf("R1M1", conversation), conversation)
	}
}

// A referee learns the cause of a bot's failure, and nothing of the player's machine.
func TestErrorOfAStrategy(t *testing.T) {
	failed := &strategy.FailedError{Cause: "bot.py: exit status 3", Err: errors.New("the bot exec:/home/ann/bot.py ended")}
	assert.Equal(t, &protocol.Error{RPC: protocol.RPCInternal, Detail: "bot.py: exit status 3"}, protocol.AsError(undecided(failed)))

	crashed := errors.New("/home/ann/bot.py: exit status 3")
	assert.Equal(t, crashed, undecided(crashed), "the caller receives an internal error without details")
}

func TestResultIsTakenFromUnambiguousStandingsOnly(t *testing.T) {
	type table struct{ round, wins, draws, losses int }
	for _, test := range []struct {
		name    string
		current []int // rounds of matches without a result
		filed   int   // wins that the history gets after the first table
		unknown bool  // the totals before the first table are unknown
		tables  []table
		want    string
	}{
		{name: "a win", current: []int{1}, tables: []table{{1, 1, 0, 0}}, want: "WIN"},
		{name: "a draw", current: []int{2}, tables: []table{{1, 0, 0, 0}, {2, 0, 1, 0}}, want: "DRAW"},
		{name: "a loss, after a table during the round", current: []int{2}, tables: []table{{2, 0, 0, 0}, {2, 0, 0, 1}}, want: "LOSS"},
		{name: "the match is not over", current: []int{1}, tables: []table{{1, 0, 0, 0}}},
		{name: "two more matches", current: []int{1}, tables: []table{{1, 1, 0, 1}}},
		{name: "a known match", current: []int{2}, filed: 1, tables: []table{{1, 0, 0, 0}, {2, 1, 0, 0}}},
		{name: "a known match and one more", current: []int{2}, filed: 1, tables: []table{{1, 0, 0, 0}, {2, 2, 0, 0}}, want: "WIN"},
		{name: "two matches without a result", current: []int{1, 2}, tables: []table{{1, 1, 0, 0}}},
		{name: "a match of another round", current: []int{2}, tables: []table{{1, 1, 0, 0}}},
		{name: "a missing table", current: []int{3}, tables: []table{{1, 0, 0, 0}, {3, 1, 0, 0}}},
		{name: "the first table after a restart", current: []int{2}, unknown: true, tables: []table{{2, 1, 0, 0}}},
		{name: "a late table without a known match", current: []int{2}, filed: 1, tables: []table{{1, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}}},
		{name: "no match", tables: []table{{1, 1, 0, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Player{Agent: member(t, "P01"), current: map[string]*match{}, history: newHistory(nil)}
			if !test.unknown {
				p.tally = tally{known: true}
			}
			for _, round := range test.current {
				id := league.MatchID{Round: round, Number: 1}.String()
				p.current[id] = &match{id: id, opponent: "P02", round: round, attempt: 1, chosen: "odd"}
			}
			for i, at := range test.tables {
				for n := range test.filed {
					if i == 1 {
						won := Seen("P01", league.MatchID{Round: 9, Number: n + 1}.String(), 1, &league.Result{Status: league.StatusWin, WinnerPlayerID: new("P01")})
						p.history.add(&won)
					}
				}
				p.infer(at.round, []protocol.StandingRow{{PlayerID: "P02", Wins: 7}, {PlayerID: "P01", Wins: at.wins, Draws: at.draws, Losses: at.losses}})
			}
			matches := p.history.played()[test.filed:]
			if test.want == "" {
				assert.Empty(t, matches)
				assert.Len(t, p.current, len(test.current))
				return
			}
			round := test.current[0]
			assert.Equal(t, []protocol.PlayedMatch{{
				MatchID: league.MatchID{Round: round, Number: 1}.String(), OpponentID: "P02", Result: test.want, MyChoice: "odd", FromStandings: true,
			}}, matches)
			assert.Empty(t, p.current)
			assert.Empty(t, p.recentMatches(10)[test.filed:], "strategies do not get results from the standings")
		})
	}
}

func TestGameOverReplacesAResultFromTheStandings(t *testing.T) {
	h := newHistory(nil)
	inferred := Seen("P01", "R1M1", 2, &league.Result{Status: league.StatusDraw})
	inferred.FromStandings = true
	assert.True(t, h.add(&inferred))
	final := Seen("P01", "R1M1", 2, &league.Result{Status: league.StatusTechnicalLoss})
	assert.True(t, h.add(&final))
	assert.False(t, h.add(&final), "the same result counts once")
	assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, h.stats)
}

// The choice of a technical loss may be that of an earlier turn, of which a player knows nothing any more that has
// inferred the result.
func TestGameOverAfterTheStandingsNamesAnEarlierChoice(t *testing.T) {
	p := &Player{Agent: member(t, "P01"), history: newHistory(nil)}
	inferred := store.HistoryMatch{Attempt: 1, PlayedMatch: protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "P02", Result: "LOSS",
		MyChoice: "1", FromStandings: true}}
	require.True(t, p.history.add(&inferred))
	result := league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P02")}
	told := Seen("P01", "R1M1", 1, &result)
	told.MyChoice = "0"
	p.compareChoice(nil, &told, &result, "REF01")
	assert.Equal(t, "0", told.MyChoice)
	assert.Empty(t, told.ReportedChoice)
}

// member returns an agent that is registered under an id.
func member(t *testing.T, id string) *membership.Agent {
	t.Helper()
	a, err := membership.NewAgent(protocol.RolePlayer, &membership.Options{Name: id, Clock: protocol.SystemClock()})
	require.NoError(t, err)
	accept := func(context.Context) (*membership.Answer, error) {
		return &membership.Answer{AgentID: &id, Token: "t", Registration: &protocol.Registration{Status: protocol.StatusAccepted}}, nil
	}
	apply := func(protocol.Envelope, string) func(context.Context) (*membership.Answer, error) { return accept }
	require.NoError(t, a.Register(t.Context(), apply, nil))
	return a
}
