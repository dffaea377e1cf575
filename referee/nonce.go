package referee

import (
	crand "crypto/rand"
	"fmt"

	"evenodd/league/protocol"
)

// nonce returns the referee's secret for the commit–reveal draw of one attempt at a
// match: GAME_INVITATION holds its commitment, GAME_OVER and the report reveal it.
//
// The nonce derives from the referee's stored secret, so that a referee that is
// restarted within a match cannot draw again, and its report matches the
// commitment that the manager holds. A referee that stores nothing cannot continue
// a match: its nonces are random.
func (r *Referee) nonce(q *protocol.MatchAssignment) (s protocol.Secret) {
	switch {
	case r.options.Nonce != nil && q.AnnulledAttempts > 0: // a rematch draws anew
		return r.options.Nonce(fmt.Sprintf("%s/%d", q.MatchID, q.AnnulledAttempts))
	case r.options.Nonce != nil:
		return r.options.Nonce(q.MatchID)
	case r.options.Folder.IsZero():
		_, _ = crand.Read(s[:]) // never fails
		return s
	}
	return r.Derive(fmt.Sprintf("nonce/%q/%q/%d", q.LeagueID, q.MatchID, q.Attempt))
}
