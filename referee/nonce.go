package referee

import (
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"fmt"

	"evenodd/league/protocol"
)

// nonce is the referee's part in the draw of one attempt at a match. It is made
// of the referee's secret: one that dies in a match and takes up the same attempt
// must not be able to draw again, and its report must fit the commitment that
// the manager holds. A referee that keeps nothing cannot come back, and has no
// way to know a match that it finished long ago: its nonces are random.
func (r *Referee) nonce(leagueID, matchID string, attempt int) (s protocol.Secret) {
	switch {
	case r.options.Nonce != nil:
		return r.options.Nonce(matchID)
	case r.options.Folder == "":
		_, _ = crand.Read(s[:]) // never fails
		return s
	}
	secret := r.identities.Secret()
	mac := hmac.New(sha256.New, secret[:])
	_, _ = fmt.Fprintf(mac, "nonce/%q/%q/%d", leagueID, matchID, attempt) // a hash takes everything
	return protocol.Secret(mac.Sum(nil))
}
