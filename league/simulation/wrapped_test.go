package simulation_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation"
)

// A wrapped context hides the type of another.
type wrapped struct{ context.Context }

// A wrapper wraps the context of every call.
type wrapper struct{ protocol.Caller }

func (w wrapper) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	return w.Caller.Call(wrapped{ctx}, r)
}

func TestWrappingEveryContextChangesNothing(t *testing.T) {
	tests := []struct{ name, transport, faults string }{
		{"memory with faults", simulation.Memory, heavy},
		{"wire with faults", simulation.Wire, heavy},
		{"memory", simulation.Memory, ""},
		{"HTTP", simulation.HTTP, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := faultyOptions(11)
			o.Transport, o.Faults = tt.transport, tt.faults
			want := withoutReferees(run(t, o))
			o = simulation.Decorated(o, func(c protocol.Caller) protocol.Caller { return wrapper{c} })
			got, err := simulation.Run(wrapped{t.Context()}, o)
			require.NoError(t, err)
			require.Equal(t, want, withoutReferees(got))
		})
	}
}
