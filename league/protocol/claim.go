package protocol

import "bytes"

// A Claim is what a request says about its sender. It is read from the encoded
// request, in any form of our own and of third-party agents, and before anything is
// checked: only a valid token proves it. A member that is missing is "".
type Claim struct {
	Token          string // auth_token
	Sender         string
	MatchID        string
	ConversationID string
}

// ClaimOf reads the claim of a request. It has no other member if it has no token.
func ClaimOf(body []byte) (c Claim) {
	if c.Token = textMember(body, `"auth_token"`); c.Token != "" {
		c.Sender, c.MatchID = textMember(body, `"sender"`), textMember(body, `"match_id"`)
		c.ConversationID = textMember(body, `"conversation_id"`)
	}
	return c
}

// textMember returns the first member with a quoted name whose value is a string without
// escapes, at any depth; "" for none.
func textMember(body []byte, name string) string {
	const space = " \t\r\n"
	for {
		_, rest, ok := bytes.Cut(body, []byte(name))
		if !ok {
			return ""
		}
		body = rest
		value, isMember := bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte(":"))
		value, isText := bytes.CutPrefix(bytes.TrimLeft(value, space), []byte(`"`))
		text, _, ends := bytes.Cut(value, []byte(`"`))
		if isMember && isText && ends && !bytes.ContainsRune(text, '\\') {
			return string(text)
		}
	}
}
