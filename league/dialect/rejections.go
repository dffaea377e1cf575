package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// rank tells how informative a rejection is: an error of JSON-RPC that has a message
// of its own above other errors with a text, above an unknown method and a result that
// does not answer the question, above an HTTP status with a JSON body, above an HTTP
// status alone, above a response that cannot be read. But if the agent fails in the
// likeliest form (HTTP 5xx, or a response that is no answer), it says nothing that
// it does not know the methods of other forms.
func (r *reply) rank() int {
	const (
		unreadable = iota
		status
		statusWithJSON
		unknown
		failedFirst
	)
	text, succeeded := r.failed.text, r.status/100 == 2
	switch {
	case r.failed.there && r.failed.code != 0 && r.failed.code != methodNotFound && !unknownMethod.MatchString(text) && !slices.Contains(standard, text):
		return ownMessage + 1
	case r.failed.there && r.failed.code == 0 && text != "" && !unknownMethod.MatchString(text):
		return ownMessage
	case r.first && !r.failed.there && (succeeded || r.status >= httpInternalError):
		return failedFirst
	case r.failed.there, r.message != nil:
		return unknown
	case !succeeded && objectOf(r.body) != nil:
		return statusWithJSON
	case !succeeded:
		return status
	}
	return unreadable
}

// none tells that there is no rejection.
func (r *reply) none() bool { return r.verdict == understood }

// ownMessage is the least rank of a rejection with a message of its own.
const ownMessage = 5

// standard are the messages of JSON-RPC's own errors, which say no more than the code.
var standard = []string{"", "Parse error", "Invalid Request", "Method not found", "Invalid params", "Internal error", "Server error"}

// maxKept is how many bytes of a rejection are remembered.
const maxKept = 512

// kept is a rejection as it is remembered, when the log has it: a large one only if its
// HTTP status says enough.
func (r reply) kept() reply {
	r.raw = ""
	switch {
	case len(r.body) <= maxKept:
	case r.status/100 == 2 || r.failed.there:
		return reply{}
	default:
		r.body = nil
	}
	r.message = slices.Clip(r.message[:min(len(r.message), 1)])
	return r
}

// maxExcerpt is how many bytes of a response the log shows.
const maxExcerpt = 200

// excerpt is the beginning of a response as a quoted text without control characters.
func excerpt(body []byte) string {
	return strconv.QuoteToASCII(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), ""))
}

const (
	leastSecret = 4 // bytes: what is shorter protects nothing
	leastEcho   = 8 // bytes of the beginning of a token that give it away
)

// secretsOf are the tokens of a call: the credential beside its message, and all
// members of the message whose names say so.
func secretsOf(message jsontext.Value, bearer string) [][]byte {
	secrets := [][]byte{}
	add := func(secret string) {
		if len(secret) >= leastSecret && secret != protocol.RefereeAuthNone {
			secrets = append(secrets, []byte(secret))
		}
	}
	add(bearer)
	var look func(v jsontext.Value, deep int)
	look = func(v jsontext.Value, deep int) {
		for _, m := range objectOf(v) {
			if strings.HasSuffix(m.name, "token") {
				add(textOf(m.value))
			}
			if deep > 0 {
				look(m.value, deep-1)
			}
		}
	}
	look(message, depth)
	return secrets
}

// conceal replaces tokens, and truncated tokens, with ***.
func conceal(text []byte, secrets [][]byte) []byte {
	for _, secret := range secrets {
		head := secret[:min(len(secret), leastEcho)]
		for at := 0; ; {
			n := bytes.Index(text[at:], head)
			if n < 0 {
				break
			}
			n += at
			end := n + len(head)
			for end < len(text) && end-n < len(secret) && text[end] == secret[end-n] {
				end++
			}
			text = slices.Concat(text[:n], []byte("***"), text[end:])
			at = n + len("***")
		}
	}
	return protocol.HideTokens(text)
}
