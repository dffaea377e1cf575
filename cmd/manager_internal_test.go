package cmd

import (
	"context"
	"net"
	stdhttp "net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
)

// A manager knows that a request comes from an agent's address only if it has connected to that address for the agent's
// endpoint, and nothing hides the address of the caller.
func TestCalledFromTheAddressOfAnEndpoint(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint  string // "": that of the agent
		forwarded string
		trusts    bool // the address of the caller
		notCalled bool // the manager has not called the agent
		want      bool
	}{
		"directly":                        {want: true},
		"behind a proxy":                  {forwarded: "203.0.113.7"},
		"behind a proxy, made up":         {forwarded: "127.0.0.1"},
		"behind a trusted proxy":          {forwarded: "203.0.113.7", trusts: true},
		"the agent, by a trusted proxy":   {forwarded: "127.0.0.1", trusts: true}, // which is the proxy's own
		"a trusted proxy that names none": {trusts: true},
		"an agent that was not called":    {notCalled: true},
		"an agent on NATS":                {endpoint: protocol.NATSEndpoint("evenodd.l.agent.a")},
		"no endpoint":                     {endpoint: "http://[::1"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := newNode(nodeOptions{maxReply: maxReply, log: zerolog.Nop()})
			require.NoError(t, err)
			defer n.close()
			serve := func(answer func(ctx context.Context), trusted ...netip.Prefix) (endpoint string) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				mux := transport.NewMux(zerolog.Nop())
				mux.Handle("ping", func([]byte) (any, error) { return "", nil },
					func(ctx context.Context, _ string, _ any) (any, error) { answer(ctx); return "pong", nil })
				t.Cleanup(http.NewServer(mux, http.Config{MaxBody: maxRequest, TrustedProxies: trusted}).ServeUntil(l, time.Second))
				return "http://" + l.Addr().String() + http.Path
			}
			ping := func(client transport.Caller, endpoint string) {
				_, _, err := client.Call(t.Context(), transport.Request{Endpoint: endpoint, Method: "ping", Params: struct{}{},
					Decode: func([]byte) (any, error) { return "", nil }})
				require.NoError(t, err)
			}
			agent := serve(func(context.Context) {})
			if !test.notCalled {
				ping(n.client, agent)
			}
			if test.endpoint == "" {
				test.endpoint = agent
			}
			var got bool
			var trusted []netip.Prefix
			if test.trusts {
				trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
			manager := serve(func(ctx context.Context) { got = n.calledFrom(ctx, test.endpoint) }, trusted...)
			client := http.NewClient(http.ClientConfig{MaxReply: maxReply, Dialect: forwardedCalls(test.forwarded)})
			defer client.Close()
			ping(client, manager)
			assert.Equal(t, test.want, got)
			assert.False(t, n.calledFrom(t.Context(), agent), "outside of a request")
		})
	}
}

// forwardedCalls adds the header of a proxy to each call; "" adds none.
type forwardedCalls string

func (f forwardedCalls) Call(ctx context.Context, q *transport.Request, body []byte, post transport.Post) (transport.Posted, error) {
	header := map[string]string{}
	if f != "" {
		header["X-Forwarded-For"] = string(f)
	}
	posted, err := post(ctx, q.Endpoint, header, body)
	if err == nil && posted.Status != stdhttp.StatusOK {
		err = net.ErrClosed
	}
	return posted, err
}
