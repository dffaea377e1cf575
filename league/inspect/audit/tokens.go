package audit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// checkTokens finds tokens in a transcript, which may hold none: every reader of
// the file could impersonate the agent.
func (t *transcriptCheck) checkTokens(e *exchange) {
	const impersonation = "every reader of the file can impersonate its agent"
	if e.Error != nil && containsToken(e.Error.Detail) {
		t.find(e, "/error/detail", "a text that looks like a token: %s", impersonation)
	}
	if !t.file.mayHoldToken {
		return
	}
	if at, what := tokenIn(e.Message); what != "" {
		t.find(e, "/message"+at, "%s: %s", what, impersonation)
	}
}

// mayHoldToken is a fast check: no file without these bytes holds a token in a message.
func mayHoldToken(raw []byte) bool {
	return slices.ContainsFunc([]string{"auth_token", "tok-", "adm-", `\u`}, func(part string) bool { return bytes.Contains(raw, []byte(part)) })
}

// tokenIn finds the first token in a message; what is "" for none.
func tokenIn(message jsontext.Value) (at jsontext.Pointer, what string) {
	decoder := jsontext.NewDecoder(bytes.NewReader(message), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return "", ""
		}
		at := decoder.StackPointer()
		container, position := decoder.StackIndex(decoder.StackDepth())
		isValue := container != '{' || position%2 == 0
		switch {
		case isValue && at.LastToken() == "auth_token" && (token.Kind() != 'n' && token.Kind() != '"' || token.Kind() == '"' && token.String() != ""):
			return at, "an auth_token with a value"
		case token.Kind() == '"' && containsToken(token.String()):
			return at, "a text that looks like a token"
		}
	}
}

func containsToken(text string) bool {
	return string(protocol.HideTokens([]byte(text))) != text
}

// validText removes what is not UTF-8: the referee leaves it out of a type.
func validText(text string) string { return strings.ReplaceAll(text, "\uFFFD", "") }
