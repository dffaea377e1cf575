package bridge

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// maxExcerpt is the largest part of a response in the log, in bytes.
const maxExcerpt = 200

// excerpt is the beginning of a response as a quoted text without control characters.
func excerpt(body []byte) string {
	return strconv.QuoteToASCII(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), ""))
}

const (
	shortestToken = 4 // bytes; a shorter text protects nothing
	shortestEcho  = 8 // bytes; a longer beginning of a token gives it away
	maxDepth      = 5 // of objects in which tokens are searched
)

// tokensIn returns the secrets of a call: the credential beside its message, and all
// members of the message with a name that ends in "token" or is registration_code.
func tokensIn(message jsontext.Value, bearer string) [][]byte {
	tokens := [][]byte{}
	add := func(token string) {
		if len(token) >= shortestToken && token != protocol.RefereeAuthNone {
			tokens = append(tokens, []byte(token))
		}
	}
	add(bearer)
	var look func(v jsontext.Value, depth int)
	look = func(v jsontext.Value, depth int) {
		for _, m := range protocol.ParseObject(v) {
			if strings.HasSuffix(m.Name, "token") || m.Name == "registration_code" {
				add(protocol.Unquote(m.Value))
			}
			if depth > 0 {
				look(m.Value, depth-1)
			}
		}
	}
	look(message, maxDepth)
	return tokens
}

// withoutTokens replaces tokens, and truncated tokens, with ***.
func withoutTokens(text []byte, tokens [][]byte) []byte {
	for _, token := range tokens {
		for end := len(token); end >= min(len(token), shortestEcho); end-- {
			text = bytes.ReplaceAll(text, token[:end], []byte("***"))
		}
	}
	return protocol.HideTokens(text)
}
