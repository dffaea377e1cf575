package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		name string
		err  *protocol.Error
		want string
	}{
		{"of the catalogue", protocol.Fault(protocol.ErrTimeout, "%s was silent", "P01"), "E001 TIMEOUT_ERROR: P01 was silent"},
		{"without a detail", protocol.Fault(protocol.ErrLeagueFull, ""), "E020 LEAGUE_FULL"},
		{"of JSON-RPC", &protocol.Error{RPC: -32601, Detail: "Method not found"}, "JSON-RPC error -32601: Method not found"},
		{"of JSON-RPC without a message", &protocol.Error{RPC: -32000}, "JSON-RPC error -32000"},
	} {
		t.Run(test.name, func(t *testing.T) { assert.EqualError(t, test.err, test.want) })
	}
}

func TestErrorContext(t *testing.T) {
	e := protocol.Fault(protocol.ErrInvalidParityChoice, "no such choice").With("choice", "both").With("valid_choices", []string{"even", "odd"})
	assert.Equal(t, map[string]any{"choice": "both", "valid_choices": []string{"even", "odd"}}, e.Context)
	assert.Equal(t, 4004, e.RPC)
	assert.Equal(t, 7, e.Coded(7).RPC)
	code, message, data := e.RPCError()
	assert.Equal(t, []any{7, "INVALID_PARITY_CHOICE", nil}, []any{code, message, data}, "no LEAGUE_ERROR before it travels")
}

func TestAsErrorFindsAWrappedError(t *testing.T) {
	own := protocol.Fault(protocol.ErrMatchNotFound, "no such match")
	assert.Same(t, own, protocol.AsError(errors.Join(errors.New("first"), own)))
	assert.False(t, protocol.Unreachable(own))
	assert.False(t, protocol.Unreachable(nil))
}

// TestUntrustedTextIsClipped limits the length of another agent's text in an error.
func TestUntrustedTextIsClipped(t *testing.T) {
	flood := strings.Repeat("é", 10000)
	e := protocol.AsError(&rpcFailure{1, flood, nil})
	assert.Less(t, len(e.Detail), 100)
	assert.True(t, strings.HasPrefix(flood, strings.TrimSuffix(e.Detail, "…")), "no letter is cut in two")
	broken := protocol.Examine(protocol.TypeGameOver, []byte(`{"protocol":"`+flood+`"}`))
	assert.Less(t, len(broken[0].Got), 100)
	broken = protocol.Examine(flood, []byte(`{}`))
	assert.Less(t, len(broken[0].Got), 100)
}

// carried is the error of a carrier for a response that is not a message.
type carried struct{ wait time.Duration }

func (c carried) Error() string             { return "HTTP 429 Too Many Requests" }
func (c carried) RetryAfter() time.Duration { return c.wait }

func TestRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		e    *protocol.Error
		wait time.Duration
	}{
		"whole seconds, rounded up": {protocol.RateLimited(1200 * time.Millisecond), 2 * time.Second},
		"as JSON has it":            {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", 1.5), 1500 * time.Millisecond},
		"nothing is said":           {protocol.Fault(protocol.ErrRateLimited, ""), 0},
		"a text":                    {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", "soon"), 0},
		"the past":                  {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", -3.0), 0},
		"for ever":                  {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", 1e300), time.Hour},
		"by the carrier":            {protocol.AsError(fmt.Errorf("call: %w", carried{7 * time.Second})), 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.wait, test.e.RetryAfter())
		})
	}
	assert.Equal(t, protocol.ErrConnection, protocol.AsError(carried{time.Second}).Code, "no message has the code")
}
