package player

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
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
		to, err := renameAside(path, "2025-01-15T10:00:00Z")
		require.NoError(t, err)
		assert.Equal(t, want, filepath.Base(to))
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		assert.Equal(t, text, got)
	}
	_, err := renameAside(path, "2025-01-15T10:00:00Z")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPastDeadlineIsIgnored(t *testing.T) {
	now := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	p := &Player{options: Options{Options: membership.Options{Clock: protocol.NewClock(func() time.Time { return now }, nil)}}}
	for _, test := range []struct {
		name, asked, deadline string
		want                  time.Duration
	}{
		{"half a minute", "2025-01-15T10:30:00Z", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"a second", "2025-01-15T10:30:00Z", "2025-01-15T10:30:01Z", time.Second},
		{"the rest of half a minute", "2025-01-15T10:29:50Z", "2025-01-15T10:30:20Z", 20 * time.Second},
		{"now", "2025-01-15T10:30:00Z", "2025-01-15T10:30:00Z", 0},
		{"now, a moment later", "2025-01-15T10:30:00.135401Z", "2025-01-15T10:30:00.135409Z", 0},
		{"now, by a clock that is ahead", "2025-01-15T10:30:07Z", "2025-01-15T10:30:07Z", 0},
		{"before the request", "2025-01-15T10:30:09.165609Z", "2025-01-15T10:30:09.1656Z", 0},
		{"long ago", "2025-01-15T09:30:00Z", "2025-01-15T09:30:30Z", 0},
		{"nothing", "2025-01-15T10:30:00Z", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, p.within(test.asked, test.deadline))
		})
	}
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

// A referee learns what a bot answered, and nothing else of its failures.
func TestErrorOfAStrategy(t *testing.T) {
	wrong := &strategy.WrongAnswerError{Text: `answered "Even", which is not a legal choice`}
	named := undecided(errors.Join(errors.New("the bot exec:/home/ann/bot.py"), wrong))
	assert.Equal(t, &protocol.Error{RPC: protocol.RPCInternal, Detail: `the strategy answered "Even", which is not a legal choice`}, protocol.AsError(named))

	crashed := errors.New("/home/ann/bot.py: exit status 3")
	assert.Equal(t, crashed, undecided(crashed), "the caller receives an internal error without details")
}
