package league

import (
	"fmt"
	"math"
	"slices"
	"time"

	"evenodd/league/protocol"
)

// A waiter is an applicant that was told to apply again, by role and endpoint. Without
// this queue a free slot or name would go to the applicant that calls most often.
type waiter struct {
	player  bool
	url     string // see protocol.CanonicalURL
	name    string
	code    protocol.Code // of its last refusal: for want of a slot, or because its name or URL is taken
	expires time.Time
}

const (
	maxWaiters = 1000 // later applicants are not queued
	// patience is how much later than asked an applicant may apply again: the clients of
	// this program add up to a tenth of the wait, and a call takes its time.
	patience = 5 * time.Second
)

// ahead are the queued applicants that have waited longer than a for what it is
// refused with this code: a slot of its role, or its name. M.mu is held.
func (m *Manager) ahead(a applicant, code protocol.Code) (waiters []waiter) {
	now, at := m.options.Clock.Now(), protocol.CanonicalURL(a.endpoint)
	m.waiting = slices.DeleteFunc(m.waiting, func(w waiter) bool { return now.After(w.expires) })
	for _, w := range m.waiting {
		switch {
		case w.player != a.player:
		case w.url == at:
			return waiters
		case w.code == code && (code == protocol.ErrLeagueFull || code == protocol.ErrDuplicateName && w.name == a.name):
			waiters = append(waiters, w)
		}
	}
	return waiters
}

// queueUp keeps the place of an applicant that is refused and may apply again, and
// removes any other applicant. M.mu is held.
func (m *Manager) queueUp(a applicant, no *refusal) {
	w := waiter{player: a.player, url: protocol.CanonicalURL(a.endpoint), name: a.name}
	i := slices.IndexFunc(m.waiting, func(other waiter) bool { return other.player == w.player && other.url == w.url })
	switch {
	case no != nil && no.retry > 0:
		w.code = no.code
		w.expires = m.options.Clock.Now().Add(no.retry + no.retry/10 + patience)
		if i >= 0 {
			m.waiting[i] = w
		} else if len(m.waiting) < maxWaiters {
			m.waiting = append(m.waiting, w)
		}
	case i >= 0:
		m.waiting = slices.Delete(m.waiting, i, i+1)
	}
}

// afterOthers adds to a refusal when to apply again, because what is free is kept for
// applicants that have waited longer: when the place of one of them expires.
func (m *Manager) afterOthers(no *refusal, ahead []waiter) *refusal {
	first := slices.MinFunc(ahead, func(a, b waiter) int { return a.expires.Compare(b.expires) })
	no.retry = max(time.Second, first.expires.Sub(m.options.Clock.Now()))
	no.reason += fmt.Sprintf("; %d other applicants have waited longer: try again in %d s", len(ahead), int(math.Ceil(no.retry.Seconds())))
	return no
}
