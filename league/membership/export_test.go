package membership

// Set calls set, Registering registering, and Answered answered.
func (c *Current) Set(m *Membership) { c.set(m) }
func (c *Current) Registering()      { c.registering() }
func (c *Current) Answered()         { c.answered() }

// AgentWith returns an agent with an identity store.
func AgentWith(identities *IdentityStore, o Options) *Agent {
	return &Agent{options: &o, identities: identities}
}
