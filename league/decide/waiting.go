package decide

import (
	"fmt"
	"slices"
	"time"

	"evenodd/league/protocol"
)

// A waitingQueue holds the rejected applicants that were told to apply again, those
// first that have waited longest. Without it a free slot or name would go to the
// applicant that calls most often.
type waitingQueue []waiter

// A waiter is a waiting applicant. Role and URL identify it.
type waiter struct {
	player  bool
	url     string        // see protocol.CanonicalURL
	name    string        // its protocol.NameKey
	code    protocol.Code // of its last rejection: no slot is free, or its name or URL is taken
	expires time.Time     // the applicant must apply again before
}

const (
	maxWaiters = 1000 // later applicants are not queued
	// waitMargin is how much later than asked an applicant may apply again: clients
	// add up to a tenth of the wait, and a call takes its time.
	waitMargin = 5 * time.Second
)

// ahead are the waiting applicants that have waited longer than a for what a is
// refused with this code: a slot of its role, or its name.
func (q *waitingQueue) ahead(a *Applicant, code protocol.Code, now time.Time) (waiters []waiter) {
	url := protocol.CanonicalURL(a.Endpoint)
	*q = slices.DeleteFunc(*q, func(w waiter) bool { return now.After(w.expires) })
	for _, w := range *q {
		switch {
		case w.player != a.Player():
		case w.url == url:
			return waiters
		case w.code == code && (code == protocol.ErrLeagueFull || code == protocol.ErrDuplicateName &&
			w.name == protocol.NameKey(a.DisplayName)):
			waiters = append(waiters, w)
		}
	}
	return waiters
}

// update keeps the position of an applicant that may apply again, and removes any
// other applicant: rejection nil means admitted.
func (q *waitingQueue) update(a *Applicant, rejection *RejectionError, now time.Time) {
	w := waiter{player: a.Player(), url: protocol.CanonicalURL(a.Endpoint), name: protocol.NameKey(a.DisplayName)}
	i := slices.IndexFunc(*q, func(other waiter) bool { return other.player == w.player && other.url == w.url })
	switch {
	case rejection != nil && rejection.Retry > 0:
		w.code = rejection.Reason.Code
		w.expires = now.Add(rejection.Retry + rejection.Retry/10 + waitMargin)
		if i >= 0 {
			(*q)[i] = w
		} else if len(*q) < maxWaiters {
			*q = append(*q, w)
		}
	case i >= 0:
		*q = slices.Delete(*q, i, i+1)
	}
}

// afterOthers adds to a rejection when the applicant may apply again, because a free
// slot or name is kept for applicants that have waited longer: when the position of
// one of them expires.
func (r *RejectionError) afterOthers(ahead []waiter, now time.Time) *RejectionError {
	first := slices.MinFunc(ahead, func(a, b waiter) int { return a.expires.Compare(b.expires) })
	r.Retry = max(time.Second, first.expires.Sub(now))
	r.Reason.Detail += fmt.Sprintf("; %d other applicants have waited longer: try again in %d s", len(ahead),
		wholeSeconds(r.Retry))
	return r
}
