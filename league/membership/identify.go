package membership

import "evenodd/league/protocol"

// Names of callers with a valid credential.
const (
	callerManager = "manager"
	callerOwner   = "owner"
)

// Identify names the caller of an encoded request by a valid credential: that of the
// manager, or the agent's own token. It returns "" for a caller without one, and never
// waits. It serves the limits of a carrier; the handlers authenticate each message
// themselves.
func (c *Current) Identify(bearer string, body []byte) string {
	m := c.Membership()
	switch {
	case m == nil:
	case c.KnowsManager(bearer):
		return callerManager
	case protocol.SameToken(bearer, m.Token), protocol.SameToken(protocol.ClaimOf(body).Token, m.Token):
		return callerOwner
	}
	return ""
}
