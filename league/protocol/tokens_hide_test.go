package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestHideTokens(t *testing.T) {
	token := protocol.DeriveToken([32]byte{1}, "league", "P01", 1)
	short := token[:len(token)-protocol.MaxTokenLength+protocol.MinTokenLength]
	admin := "adm-" + strings.Repeat("x_-A9", 7)
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":           {"", ""},
		"no token":          {"round 1 tok- adm- tok-p01", "round 1 tok- adm- tok-p01"},
		"a token":           {token, "***"},
		"the shortest":      {"x" + short, "x***"},
		"the admin's":       {admin, "***"},
		"in a conversation": {`{"conversation_id":"conv-1-` + token + `","n":1}`, `{"conversation_id":"conv-1-***","n":1}`},
		"two":               {token + " and " + admin + ".", "*** and ***."},
		"at the end":        {"that of P01: " + token, "that of P01: ***"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(protocol.HideTokens([]byte(tt.text))))
		})
	}
}
