package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestClaimOfARequest(t *testing.T) {
	const token = "tok-p01-abc"
	all := protocol.Claim{Token: token, Sender: "referee:REF01", MatchID: "R1M1", ConversationID: "conv-r1m1-a2"}
	for _, tt := range []struct {
		name, body string
		want       protocol.Claim
	}{
		{"our form", `{"jsonrpc":"2.0","method":"m","params":{"sender":"referee:REF01","conversation_id":"conv-r1m1-a2","auth_token":"tok-p01-abc","match_id":"R1M1"},"id":1}`, all},
		{"with spaces", `{ "auth_token" : "tok-p01-abc" , "sender":` + "\n\t" + `"referee:REF01", "match_id": "R1M1", "conversation_id": "conv-r1m1-a2" }`, all},
		{"in arguments of a tool", `{"params":{"name":"x","arguments":{"m":{"auth_token":"tok-p01-abc","sender":"referee:REF01","match_id":"R1M1","conversation_id":"conv-r1m1-a2"}}}}`, all},
		{"behind a value with the name of the member", `{"player_id":"auth_token","auth_token":"tok-p01-abc"}`, protocol.Claim{Token: token}},
		{"inside a text", `{"reason":"\"auth_token\":\"tok-p01-abc\""}`, protocol.Claim{}},
		{"no token", `{"sender":"referee:REF01","match_id":"R1M1"}`, protocol.Claim{}},
		{"no text", `{"auth_token":7}`, protocol.Claim{}},
		{"an escape", `{"auth_token":"tok-p01-a\u0062c"}`, protocol.Claim{}},
		{"cut off", `{"auth_token":"tok-p01-abc`, protocol.Claim{}},
		{"cut off before the value", `{"auth_token":`, protocol.Claim{}},
		{"nothing", ``, protocol.Claim{}},
		{"many names", strings.Repeat(`"auth_token"`, 1000), protocol.Claim{}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, protocol.ClaimOf([]byte(tt.body))) })
	}
}
