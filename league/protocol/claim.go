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
	members := [...]*string{&c.Token, &c.Sender, &c.MatchID, &c.ConversationID}
	for i, member := range claimed {
		if found := member.FindSubmatch(body); found != nil {
			*members[i] = string(found[1])
		}
		if c.Token == "" {
			break
		}
	}
	return c
}

// claimed are the members of a claim.
var claimed = [...]*regexp.Regexp{
	textMember("auth_token"), textMember("sender"), textMember("match_id"), textMember("conversation_id"),
}

// textMember matches a member whose value is a string without escapes, at any depth.
func textMember(name string) *regexp.Regexp {
	return regexp.MustCompile(`"` + name + `"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"`)
}
