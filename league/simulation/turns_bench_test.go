package simulation

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/transport"
)

// BenchmarkTurns plays matches of Connect Four over HTTP, one match after the other, so that each call waits for the
// one before. The floor is the same calls, by their sizes, with net/http alone; that of signed is unsigned.
func BenchmarkTurns(b *testing.B) {
	asSimulate(b)
	const legs = 20
	o := benchmarkLeague(2, HTTP)
	o.GameType, o.Games, o.Concurrency, o.Legs = connectfour.Type, rules.NewRegistry(connectfour.Game{}), 1, legs
	r := &recorder{network: newNetwork(Memory)}
	_, err := runOn(b.Context(), o, r)
	require.NoError(b, err)
	bodies := make([][2][]byte, len(r.exchanges))
	for i, e := range r.exchanges {
		request, err := transport.EncodeRequest(e.method, e.params, 1)
		require.NoError(b, err)
		response, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "result": e.result, "id": 1})
		require.NoError(b, err)
		bodies[i] = [2][]byte{request, response}
	}
	calls := func(b *testing.B) {
		b.ReportMetric(float64(b.N*len(bodies))/b.Elapsed().Seconds(), "calls/s")
	}
	var floor, unsigned float64
	b.Run("floor", func(b *testing.B) {
		url, client := rawEcho(b)
		floor = perMatch(b, legs, 0, func() {
			for range b.N {
				for _, body := range bodies {
					rawCall(b, client, url, body[0], len(body[1]))
				}
			}
		})
		calls(b)
	})
	league := func(b *testing.B, floor float64, sign bool) float64 {
		o := o
		o.Sign = sign
		defer calls(b)
		return perMatch(b, legs, floor, func() {
			for range b.N {
				if _, err := Run(b.Context(), o); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("unsigned", func(b *testing.B) { unsigned = league(b, floor, false) })
	b.Run("signed", func(b *testing.B) { league(b, unsigned, true) })
}
