package dialect_test

import (
	"fmt"

	"evenodd/transport/dialect"
)

// A request in a third-party form becomes one in the form of the specification.
func ExampleReadRequest() {
	q := dialect.ReadRequest([]byte(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": {"name": "receive_parity_call", "arguments": {"match_id": "R1M1"}}}`))
	fmt.Println(q.Resolve(), q.Method, q.Kind, q.MatchID(), q.ThirdParty)
	// Output: true choose_parity CHOOSE_PARITY_CALL R1M1 true
}
