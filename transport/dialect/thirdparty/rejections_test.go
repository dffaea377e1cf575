package thirdparty

import (
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The error of a call that a player rejects in every form has the HTTP status and the
// JSON-RPC code of a rejection, through the carrier.
func TestDecisiveRejectionHasItsHTTPStatusAndItsJSONRPCCode(t *testing.T) {
	for _, c := range []struct {
		name, body  string
		status      int
		code        protocol.Code
		rpc         int
		wants, kind string
	}{
		{name: "an error object under HTTP 500", status: 500, body: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Missing required fields"},"id":1}`,
			rpc: -32000, wants: "Missing required fields"},
		{name: "an error object under HTTP 400", status: 400, body: `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`,
			rpc: -32601, wants: "Method not found"},
		{name: "an error object under HTTP 200", status: 200, body: `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Unknown tool: x"},"id":1}`,
			rpc: -32603, wants: "Unknown tool: x"},
		{name: "pydantic's detail", status: 422, body: `{"detail":[{"type":"missing","loc":["body","params","message"],"msg":"Field required"}]}`,
			code: protocol.ErrConnection, rpc: -2, wants: `HTTP 422 Unprocessable Entity: [{"type":"missing","loc":["body","params","message"]`},
		{name: "a page", status: 500, body: "<html>", code: protocol.ErrConnection, rpc: -2, wants: "HTTP 500 Internal Server Error", kind: "text/html"},
		{name: "a page under HTTP 200", status: 200, body: "<html>", code: protocol.ErrConnection, rpc: -2, wants: "the answer is text/html, not JSON", kind: "text/html"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inAWorld(t, func(w *world) {
				w.thirdPartyAgent(8101, nethttp.HandlerFunc(func(out nethttp.ResponseWriter, in *nethttp.Request) {
					readAll(in)
					if c.kind != "" {
						out.Header().Set("Content-Type", c.kind)
					}
					out.WriteHeader(c.status)
					_, _ = out.Write([]byte(c.body))
				}))
				_, client := w.edge("", usual)
				for range 4 { // while forms are searched, and afterwards
					_, err := protocol.Invite.Call(w.life, client, protocol.Peer{Endpoint: at(8101)}, &protocol.GameInvitation{
						Envelope: protocol.NewStamp("referee:REF01", w.clock).Envelope(protocol.TypeGameInvitation, "conv-1"), LeagueID: leagueID,
						RoundID: 1, MatchID: "R1M1", GameType: "even_odd", RoleInMatch: protocol.RolePlayerA, OpponentID: "P02",
					})
					var failed *protocol.Error
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, c.code, failed.Code)
					assert.Equal(t, c.rpc, failed.RPC)
					assert.True(t, strings.HasPrefix(failed.Detail, c.wants), failed.Detail)
					var status interface{ HTTPStatus() int }
					require.ErrorAs(t, err, &status)
					assert.Equal(t, c.status, status.HTTPStatus())
				}
			})
		})
	}
}
