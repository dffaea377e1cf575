package league_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
)

func TestAgentIDs(t *testing.T) {
	for _, test := range []struct {
		id              string
		player, referee int // 0: no such id
	}{
		{"P01", 1, 0},
		{"P99", 99, 0},
		{"P100", 100, 0},
		{"P999999", 999999, 0},
		{"P1000000", 0, 0},
		{"REF01", 0, 1},
		{"REF100", 0, 100},
		{"P00", 0, 0},
		{"P1", 0, 0},
		{"P001", 0, 0},
		{"", 0, 0},
		{"p01", 0, 0},
		{"P0x", 0, 0},
		{"P+1", 0, 0},
		{"P 1", 0, 0},
		{"P0\u0661", 0, 0},
		{"PLAYER01", 0, 0},
		{"REF001", 0, 0},
		{"ref01", 0, 0},
		{"player:P01", 0, 0},
	} {
		t.Run(test.id, func(t *testing.T) {
			n, ok := league.ParsePlayerID(test.id)
			assert.Equal(t, []any{test.player, test.player > 0}, []any{n, ok})
			n, ok = league.ParseRefereeID(test.id)
			assert.Equal(t, []any{test.referee, test.referee > 0}, []any{n, ok})
		})
	}
}

func TestAgentIDsAreNumbers(t *testing.T) {
	for n := 1; n < 2000; n++ {
		player, ok := league.ParsePlayerID(league.PlayerID(n))
		require.Equal(t, []any{n, true}, []any{player, ok})
		referee, ok := league.ParseRefereeID(league.RefereeID(n))
		require.Equal(t, []any{n, true}, []any{referee, ok})
	}
	assert.Equal(t, []string{"P01", "P99", "P100"}, []string{league.PlayerID(1), league.PlayerID(99), league.PlayerID(100)})
	assert.Equal(t, []string{"REF01", "REF100"}, []string{league.RefereeID(1), league.RefereeID(100)})
}

func TestIDsAreInOrder(t *testing.T) {
	ordered := []string{"P01", "P02", "P10", "P99", "P100", "P1000", "REF01", "REF99", "REF100", "", "P0", "P001", "P9", "alpha", "p01"}
	for i, a := range ordered {
		for j, b := range ordered {
			assert.Equal(t, cmp.Compare(i, j), cmp.Compare(league.CompareIDs(a, b), 0), "%q and %q", a, b)
		}
	}
}

func TestMatchIDs(t *testing.T) {
	for _, test := range []struct {
		id           string
		round, match int // 0: no such id
	}{
		{"R1M1", 1, 1},
		{"R12M345", 12, 345},
		{"R999999999M999999999", 999999999, 999999999},
		{"R1000000000M1", 0, 0},
		{"", 0, 0},
		{"R1M", 0, 0},
		{"M1R1", 0, 0},
		{"R0M1", 0, 0},
		{"R1M0", 0, 0},
		{"R01M1", 0, 0},
		{"R+1M1", 0, 0},
		{"R1M1M1", 0, 0},
		{"R1M1 ", 0, 0},
		{"r1m1", 0, 0},
		{"R1.5M1", 0, 0},
		{"../R1M1", 0, 0},
	} {
		t.Run(test.id, func(t *testing.T) {
			id, ok := league.ParseMatchID(test.id)
			assert.Equal(t, test.round > 0, ok)
			assert.Equal(t, league.MatchID{Round: test.round, Number: test.match}, id)
			var decoded league.MatchID
			assert.Equal(t, ok, decoded.UnmarshalText([]byte(test.id)) == nil)
			assert.Equal(t, id, decoded)
			if ok {
				assert.Equal(t, test.id, id.String())
			}
		})
	}
}

func TestMatchIDHasOneTextForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`R?[0-9]{0,4}M?[0-9]{0,4}`).Draw(t, "id")
		if parsed, ok := league.ParseMatchID(id); ok {
			require.Equal(t, id, parsed.String())
		}
		want := league.MatchID{Round: rapid.IntRange(1, 1e9-1).Draw(t, "round"), Number: rapid.IntRange(1, 1e9-1).Draw(t, "number")}
		text, err := want.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want.String(), string(text))
		got, ok := league.ParseMatchID(string(text))
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

func TestLeagueIDsWithADate(t *testing.T) {
	for id, has := range map[string]bool{
		"2026-11-29": true, "2026-11-29-class-cup": true, "2026-11-29x": false, "2026-11-2": false, "2026_11_29-cup": false,
		"league_2025_even_odd": false, "": false,
	} {
		assert.Equal(t, has, league.HasDate(id), id)
	}
}
