package membership

import "evenodd/league/protocol"

type IdentityStore = identityStore

var NewIdentityStore = newIdentityStore

// Set sets the membership; Registering and Answered call the methods of their names.
func (c *Current) Set(m *Membership) { c.p.Store(m) }
func (c *Current) Registering()      { c.registering() }
func (c *Current) Answered()         { c.answered() }

// AgentWith returns the player P01 with an identity store.
func AgentWith(identities *identityStore, o Options) *Agent {
	return &Agent{options: &o, identities: identities, stamp: protocol.NewStamp("player:P01", o.Clock)}
}
