package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

func TestKindsOfFailedCalls(t *testing.T) {
	const endpoint = "http://agent/mcp"
	address := netip.MustParseAddr("127.0.0.1")
	cause := errors.New("too many open files")
	tested := map[transport.Kind]bool{}
	for _, tt := range []struct {
		err  error
		kind transport.Kind
		text string
	}{
		{&transport.Error{Code: -32603, Message: "Internal error"}, transport.Failed, "JSON-RPC error -32603: Internal error"},
		{context.DeadlineExceeded, transport.Timeout, "context deadline exceeded"},
		{context.Canceled, transport.Canceled, "context canceled"},
		{cause, transport.Unknown, "too many open files"},
		{&transport.CallError{Kind: transport.Refused, Err: cause}, transport.Refused, "too many open files"},
		{&transport.CallError{Kind: transport.Unreadable, Err: cause}, transport.Unreadable, "too many open files"},
		{&transport.CallError{Kind: transport.Closed, Err: cause}, transport.Closed, "connection closed without an answer"},
		{&transport.CallError{Kind: transport.Broken, Err: cause}, transport.Broken, "too many open files"},
		{&transport.CallError{Kind: transport.Local, Err: cause}, transport.Local, "this side cannot make connections: too many open files"},
		{&transport.CallError{Kind: transport.Unreachable, Endpoint: endpoint}, transport.Unreachable, "nobody listens at " + endpoint},
		{&transport.CallError{Kind: transport.Unreachable, Endpoint: endpoint, Err: cause}, transport.Unreachable,
			"nobody listens at " + endpoint + ": too many open files"},
		{&transport.CallError{Kind: transport.Forbidden, Endpoint: endpoint}, transport.Forbidden,
			endpoint + " is an endpoint that must not be called"},
		{&transport.CallError{Kind: transport.Forbidden, Endpoint: endpoint, Address: address}, transport.Forbidden,
			endpoint + " is at 127.0.0.1, an address that must not be called"},
		{&transport.CallError{Kind: transport.Held, Endpoint: endpoint, Err: cause}, transport.Held,
			endpoint + " has failed too often; too many open files"},
		{&transport.CallError{Kind: transport.Canceled, Err: context.DeadlineExceeded}, transport.Canceled, "context deadline exceeded"},
	} {
		err := fmt.Errorf("call: %w", tt.err)
		assert.Equal(t, tt.kind, transport.KindOf(err), tt.text)
		assert.EqualError(t, err, "call: "+tt.text)
		tested[tt.kind] = true
	}
	source, err := os.ReadFile("callerror.go")
	require.NoError(t, err)
	kinds := regexp.MustCompile(`(?m)^\t[A-Z]\w+ +(Kind = iota )?// `).FindAll(source, -1)
	assert.Greater(t, len(kinds), 10)
	assert.Len(t, tested, len(kinds), "each kind has a row above")
	status := &transport.CallError{Kind: transport.Failed, Status: 429, Err: &transport.Error{}}
	assert.Equal(t, 429, transport.StatusOf(fmt.Errorf("call: %w", status)))
	assert.Zero(t, transport.StatusOf(cause))
}
