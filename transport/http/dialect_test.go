package http_test

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/transport"
	carrier "evenodd/transport/http"
)

// A lateDialect calls the server again after its response.
type lateDialect struct{ asked chan string }

func (l lateDialect) Serve(ctx context.Context, _ netip.Addr, path string, body []byte, serve carrier.Serve) (int, transport.Answer) {
	if path != carrier.Path {
		return http.StatusOK, transport.Answer{Body: []byte(`{"path":"` + path + `","bytes":` + string(rune('0'+len(body))) + `}`)}
	}
	go func() { l.asked <- string(serve(context.WithoutCancel(ctx), body).Body) }()
	return http.StatusOK, serve(ctx, body)
}

// A dialect may call serve after it has returned its response.
func TestDialectMayCallAfterItsResponse(t *testing.T) {
	l := lateDialect{make(chan string, 1)}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Dialect: l})
	body := `{"jsonrpc":"2.0","method":"echo","params":{"Text":"hi"},"id":1}`
	answer := send(t, http.MethodPost, base+"/mcp", strings.NewReader(body), nil).body
	assert.JSONEq(t, `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`, answer)
	assert.Equal(t, answer, <-l.asked)
}

// A request to a path of the dialect needs neither a body nor a Content-Type. The path of
// the protocol needs both.
func TestThirdPartyPathNeedsNoBody(t *testing.T) {
	with := func(config carrier.Config) func(path string, body string, kind []string) int {
		base, _ := start(t, serving(nil), config)
		return func(path, body string, kind []string) int {
			return send(t, http.MethodPost, base+path, strings.NewReader(body), http.Header{"Content-Type": kind}).status
		}
	}
	ask := with(carrier.Config{MaxBody: maxBody, Dialect: lateDialect{make(chan string, 1)}})
	assert.Equal(t, http.StatusOK, ask("/create_schedule", "", nil))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/create_schedule", "{}", nil))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/create_schedule", "", []string{"text/plain"}))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/mcp", "", nil))
	plain := with(carrier.Config{MaxBody: maxBody})
	assert.Equal(t, http.StatusNotFound, plain("/create_schedule", "", nil))
}

// An addressRecorder records the addresses of callers.
type addressRecorder struct{ from chan netip.Addr }

func (w addressRecorder) Serve(_ context.Context, from netip.Addr, _ string, _ []byte, _ carrier.Serve) (int, transport.Answer) {
	w.from <- from
	return http.StatusOK, transport.Answer{Body: []byte(`{}`)}
}

func TestDialectIsToldTheAddressOfTheCaller(t *testing.T) {
	w := addressRecorder{make(chan netip.Addr, 1)}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Dialect: w})
	send(t, http.MethodPost, base+"/mcp", strings.NewReader(`{}`), nil)
	assert.True(t, (<-w.from).IsLoopback())
}
