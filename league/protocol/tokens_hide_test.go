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
		"nothing":                     {"", ""},
		"no token":                    {"round 1 tok- adm- tok-p01", "round 1 tok- adm- tok-p01"},
		"a token":                     {token, "***"},
		"the shortest":                {"x" + short, "x***"},
		"the admin's":                 {admin, "***"},
		"in a conversation":           {`{"conversation_id":"conv-1-` + token + `","n":1}`, `{"conversation_id":"conv-1-***","n":1}`},
		"two":                         {token + " and " + admin + ".", "*** and ***."},
		"at the end":                  {"that of P01: " + token, "that of P01: ***"},
		"a registration code":         {`{"registration_code":"s3cret-code","n":1}`, `{"registration_code":"***","n":1}`},
		"a code with spaces":          {`{"registration_code" : "a long secret", "n":1}`, `{"registration_code" : "***", "n":1}`},
		"a code with escapes":         {`{"registration_code":"\u0061bcdefgh"}`, `{"registration_code":"***"}`},
		"a code in a string of JSON":  {`{"text":"{\"registration_code\":\"s3cret-code\"}"}`, `{"text":"{\"registration_code\":\"***\"}"}`},
		"a code and a token":          {`{"registration_code":"s3cret-code","t":"` + token + `"}`, `{"registration_code":"***","t":"***"}`},
		"no code":                     {`{"registration_code":"","n":null}`, `{"registration_code":"","n":null}`},
		"the name of a code, no code": {`registration_code is missing`, `registration_code is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(protocol.HideTokens([]byte(tt.text))))
		})
	}
}
