package protocol_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// seedMessages adds every example of the documents, and one message of each type in our
// form, to the methods that accept them.
func seedMessages(f *testing.F, add func(method int, message []byte), of func(endpoint) string) {
	f.Helper()
	examples := originals(f)
	for i, e := range endpoints() {
		for _, v := range examples[of(e)] {
			add(i, v)
		}
		add(i, []byte(`{"auth_token":"tok-p01-abc"}`))
	}
}

// FuzzRequest expects of any request that nothing panics, that a handler accepts what
// Examine accepts, and that an error is bounded and contains no token of the request.
func FuzzRequest(f *testing.F) {
	seedMessages(f, func(method int, message []byte) { f.Add(uint8(method), message) }, func(e endpoint) string { return e.request })
	all := endpoints()
	mux := newMux()
	serveAll(mux)
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		if len(raw) > 64<<10 {
			return // a request has 10 KB, and a MB from the manager
		}
		e := all[int(which)%len(all)]
		value, err := mux.routes[e.name].decode(raw)
		if err == nil {
			_, err = mux.routes[e.name].handle(context.Background(), "", value)
		}
		if e.request != "" {
			broken := protocol.Examine(e.request, raw)
			if len(broken) == 0 {
				require.NoError(t, err)
			}
		}
		if err == nil {
			return
		}
		var fault *protocol.Error
		require.ErrorAs(t, err, &fault)
		_, message, data := fault.RPCError()
		told, encoding := json.Marshal(data)
		require.NoError(t, encoding)
		require.Less(t, len(told), 32<<10, "an error is not much larger than a request may be")
		if token := tokenIn(raw); token != "" {
			require.NotContains(t, message+string(told), token)
		}
	})
}

// tokenIn returns the auth_token of a message if the message contains it only once.
func tokenIn(raw []byte) string {
	var shown struct {
		AuthToken jsontext.Value `json:"auth_token"`
	}
	var token string
	if json.Unmarshal(raw, &shown) != nil || json.Unmarshal(shown.AuthToken, &token) != nil {
		return ""
	}
	if len(token) < 8 || strings.Count(string(raw), token) != 1 || strings.Contains(`"protocol league.v2"`, token) {
		return ""
	}
	return token
}

// FuzzReply expects that every result of a call is a message or an error, and that
// nothing panics.
func FuzzReply(f *testing.F) {
	add := func(method int, message []byte) { f.Add(uint8(method), message) }
	seedMessages(f, add, func(e endpoint) string { return e.result })
	for i := range endpoints() {
		add(i, sampleJSON(f, protocol.TypeLeagueError))
		add(i, []byte("null"))
	}
	all := endpoints()
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		if len(raw) > 64<<10 {
			return // no reader accepts more
		}
		e := all[int(which)%len(all)]
		messageType, err := e.call(callerFunc(func(_ context.Context, c sent) (any, error) { return c.Decode(raw) }))
		if err != nil {
			require.NotNil(t, protocol.AsError(err))
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
			return
		}
		require.NotContains(t, []string{protocol.TypeLeagueError, protocol.TypeGameError}, messageType)
	})
}
