package player_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
)

// refusing is a manager that rejects every registration and records the limits of the calls.
type refusing struct{ limits []time.Duration }

func (m *refusing) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	m.limits = append(m.limits, r.Limit)
	return &protocol.LeagueRegisterResponse{Registration: protocol.Registration{Status: protocol.StatusRejected}}, nil, nil
}

func TestRegisterTimeoutLimitsTheCall(t *testing.T) {
	decide, err := strategy.New("even")
	require.NoError(t, err)
	for timeout, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 25 * time.Second: 25 * time.Second} {
		m := &refusing{}
		p, err := player.New(player.Options{
			Options: membership.Options{
				Name: "Alpha", Endpoint: "http://localhost:8101/mcp", Manager: "http://localhost:8000/mcp", Caller: m,
				Clock: protocol.SystemClock(), Log: zerolog.Nop(), RegisterTimeout: timeout,
			},
			Games: []string{"even_odd"}, Strategy: decide,
		})
		require.NoError(t, err)
		require.Error(t, p.Register(t.Context()))
		assert.Equal(t, []time.Duration{want}, m.limits)
	}
}
