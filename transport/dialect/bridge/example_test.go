package bridge_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
)

// A third-party referee calls a tool. The code of the agent receives the method of the
// specification, and the referee receives the result of a tool.
func ExampleBridge_Serve() {
	b := bridge.New(bridge.Options{Endpoint: "http://localhost:8101/mcp", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	agent := func(_ context.Context, request []byte) transport.Answer {
		fmt.Println(protocol.ParseObject(request).Text("method"))
		return transport.Answer{Body: []byte(`{"jsonrpc":"2.0","result":{"match_id":"R1M1","parity_choice":"odd"},"id":1}`)}
	}
	status, answer := b.Serve(context.Background(), netip.Addr{}, "/mcp", []byte(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": {"name": "receive_parity_call", "arguments": {"match_id": "R1M1", "opponent_id": "P02"}}}`), agent)
	fmt.Println(status, string(answer.Body))
	// Output:
	// choose_parity
	// 200 {"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"{\"match_id\":\"R1M1\",\"parity_choice\":\"odd\",\"choice\":\"odd\"}"}],"isError":false},"id":1}
}
