package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"
)

// NoToken stands in auth_token of a reply to a caller that has not shown an
// access token: a player's own token is never worth sending to a referee.
const NoToken = "none"

// A TokenKey is the SHA-256 of an agent's token: what access tokens and the
// manager's proof are made with. Whoever holds the token can make it.
type TokenKey [sha256.Size]byte

// KeyOf is the key of a token.
func KeyOf(token string) TokenKey { return sha256.Sum256([]byte(token)) }

// DeriveToken makes an agent's token, tok-p01-…, from the manager's secret.
// A new generation makes the old token worthless.
func DeriveToken(secret [32]byte, leagueID, agentID string, generation int) string {
	return "tok-" + strings.ToLower(agentID) + "-" +
		keyed(secret[:], leagueID+"/"+agentID+"/"+strconv.Itoa(generation))
}

// AccessToken is the token that stands between one referee and one player in
// one attempt at a match: sent by the referee, checked by the player, sent
// back by it, and worth nothing elsewhere.
func AccessToken(key TokenKey, leagueID, matchID string, attempt int, refereeID string) string {
	return keyed(key[:], leagueID+"/"+matchID+"/"+strconv.Itoa(attempt)+"/"+refereeID)
}

// ManagerCredential is what a manager shows an agent to prove itself: the
// bearer credential beside start_match, notify_round, update_standings,
// notify_round_completed and notify_league_completed.
func ManagerCredential(key TokenKey, leagueID string) string {
	return keyed(key[:], leagueID+"/manager")
}

// SameToken compares in constant time.
func SameToken(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

func keyed(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(mac.Sum(sum[:0]))
}
