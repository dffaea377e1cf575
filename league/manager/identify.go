package manager

import "evenodd/league/protocol"

// callerOrganiser is the name of a caller with the admin token.
const callerOrganiser = "organiser"

// Identify names the caller of an encoded request by a valid token, as a bearer credential
// or in the message: an agent, or the organiser. It returns "" for a caller without one. It
// serves the limits of a carrier; the handlers authenticate each message themselves.
func (m *Manager) Identify(bearer string, body []byte) string {
	for _, token := range []string{bearer, protocol.ClaimOf(body).Token} {
		if token == "" {
			continue
		}
		if m.organiser.is(token) {
			return callerOrganiser
		}
		m.mu.Lock()
		a, _, err := m.owner(token)
		m.mu.Unlock()
		if err == nil {
			return a.id
		}
	}
	return ""
}
