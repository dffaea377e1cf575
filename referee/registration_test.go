package referee_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// refusing is a manager that refuses every registration and records the limits of the calls.
type refusing struct{ limits []time.Duration }

func (m *refusing) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	m.limits = append(m.limits, r.Limit)
	return &protocol.RefereeRegisterResponse{Registration: protocol.Registration{Status: protocol.StatusRejected}}, nil, nil
}

func TestRegisterTimeoutLimitsTheCall(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 25 * time.Second: 25 * time.Second} {
		m := &refusing{}
		r, err := referee.New(referee.Options{
			Options: membership.Options{
				Name: "Alpha", Endpoint: "http://localhost:8001/mcp", Manager: "http://localhost:8000/mcp", Caller: m,
				Clock: protocol.SystemClock(), Log: zerolog.Nop(), RegisterTimeout: timeout,
			},
			MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
		})
		require.NoError(t, err)
		require.Error(t, r.Register(t.Context()))
		assert.Equal(t, []time.Duration{want}, m.limits)
		r.Close()
	}
}
