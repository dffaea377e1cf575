package referee_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// The referee counts the answers that say so. A member that it cannot read says nothing, and
// costs the player nothing.
func TestFallbacksAreCounted(t *testing.T) {
	for _, test := range []struct {
		name     string
		fallback any
		want     league.PerPlayer[int]
	}{
		{"true", true, league.PerPlayer[int]{{Name: "P02", Value: 1}}},
		{"false", false, nil},
		{"no boolean", "true", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				record := w.Duel(nil, leaguetest.Options(
					leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("fallback", test.fallback))))
				assert.Equal(t, test.want, record.Fallbacks)
				assert.Equal(t, test.want, w.GameOver("p01").GameResult.Fallbacks)
				assert.NotEqual(t, league.StatusTechnicalLoss, record.Status)
			})
		})
	}
}
