package protocol

import "regexp"

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
	if c.Token = first(claimedToken, body); c.Token != "" {
		c.Sender, c.MatchID = first(claimedSender, body), first(claimedMatch, body)
		c.ConversationID = first(claimedConversation, body)
	}
	return c
}

var (
	claimedToken        = textMember("auth_token")
	claimedSender       = textMember("sender")
	claimedMatch        = textMember("match_id")
	claimedConversation = textMember("conversation_id")
)

// textMember matches a member whose value is a string without escapes, at any depth.
func textMember(name string) *regexp.Regexp {
	return regexp.MustCompile(`"` + name + `"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"`)
}

// first returns the value of the first member; "" for none.
func first(member *regexp.Regexp, body []byte) string {
	if found := member.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return ""
}
