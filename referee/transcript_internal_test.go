package referee

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestTokenIsTakenOutOfAMessageAsByAParser(t *testing.T) {
	for text, fast := range map[string]bool{
		`{}`:                                        true,
		`{"auth_token":"x"}`:                        true,
		`{"auth_token":""}`:                         true,
		`{"a":"b","auth_token":"x"}`:                true,
		`{"auth_token":"x","a":{"b":[1]}}`:          true,
		`{"a":"b","auth_token":"x","c":1}`:          true,
		`{"a":"auth_token","b":"auth_token"}`:       true,
		`{"a":{"auth_token":"x"}}`:                  false, // of another object: it stays
		`{"a":["b"],"auth_token":"x"}`:              false,
		`{"auth_token":null,"a":1}`:                 false,
		`{"auth_token":"x","a":{"auth_token":"y"}}`: false,
		`{"a":"\"auth_token\":","auth_token":"x"}`:  false,
		`{"auth_token":"x\"y","a":1}`:               false,
		`[1]`:                                       false,
		``:                                          false,
	} {
		want := protocol.ParseObject([]byte(text))
		want.Drop(tokenMember)
		got, ok := withoutToken([]byte(text))
		if assert.Equal(t, fast, ok, text); ok {
			assert.Equal(t, string(want.Append(nil)), string(got), text)
		}
	}
}
