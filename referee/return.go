package referee

// returnToManager makes the manager assign a match again that was given up. The
// referee then starts it again under the same attempt and with the same nonce.
//
// The manager assigns matches again when the referee registers again with its
// token, else only after the time of the longest match. Registering again changes
// nothing for the other matches, which go on. A manager that does not prove itself
// may be a third-party agent that takes the registration for that of a new agent:
// the referee waits for it.
func (r *Referee) returnToManager(m *match) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.returned = true
	r.returns++
	if !m.member.Strict() || r.stopping || r.registering {
		return
	}
	r.registering = true
	r.work(nil, func(*match) { r.registerAgain() })
}

// registerAgain registers again, and once more if another match was returned
// meanwhile.
func (r *Referee) registerAgain() {
	for again := true; again; {
		r.mu.Lock()
		returns := r.returns
		r.mu.Unlock()
		unread, err := r.register(r.life)
		if unread != nil {
			r.options.Log.Error().Err(unread).Str("event_type", "FINISHED_MATCHES_UNREADABLE").
				Msg("registered again, but without the matches that this referee has finished")
		}
		if err != nil && r.life.Err() == nil {
			r.options.Log.Error().Err(err).Str("event_type", "MATCHES_NOT_REQUESTED").
				Msg("cannot ask the manager to assign the given-up matches again: it will do so when their time is over")
		}
		r.mu.Lock()
		again = err == nil && returns != r.returns
		r.registering = again
		r.mu.Unlock()
	}
}
