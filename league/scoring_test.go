package league_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

func TestDefaultScoringIsThatOfTheSpecification(t *testing.T) {
	s := league.DefaultScoring()
	assert.Equal(t, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "wins", "draws"}}, s)
	assert.NoError(t, s.Validate())

	s.Tiebreakers[0] = "changed by one caller"
	assert.Equal(t, "points", league.DefaultScoring().Tiebreakers[0], "each caller gets its own list")
}

func TestUnknownOrRepeatedTiebreakersAreInvalid(t *testing.T) {
	const known = "points, wins, draws, head_to_head, buchholz, sonneborn_berger, win_rate"
	for _, tt := range []struct {
		name        string
		tiebreakers []string
		want        []string // in the error; none: no error
	}{
		{"all of them", []string{"points", "wins", "draws", "head_to_head", "buchholz", "sonneborn_berger", "win_rate"}, nil},
		{"without points", []string{"win_rate"}, nil},
		{"none", nil, nil},
		{"unknown", []string{"points", "goals"}, []string{`unknown tie-breaker "goals"`, known}},
		{"misspelt", []string{"Points"}, []string{`unknown tie-breaker "Points"`, known}},
		{"empty", []string{""}, []string{`unknown tie-breaker ""`, known}},
		{"repeated", []string{"points", "wins", "points"}, []string{`"points" is repeated`, known}},
		{"unknown and repeated", []string{"goals", "goals"}, []string{`unknown tie-breaker "goals"`, known}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: tt.tiebreakers}.Validate()
			_, newErr := league.New(2, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: tt.tiebreakers})
			assert.Equal(t, err, newErr, "New and Validate return the same error")
			if tt.want == nil {
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}
