package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"strconv"
	"strings"
	"sync"
)

// NoToken is the auth_token of a reply to a caller without an access token, because a
// player never sends its own token to a referee.
const NoToken = "none"

// A TokenKey derives access tokens and the manager's credential from an agent's token:
// both are HMACs with the SHA-256 of the token as key. Safe for concurrent use.
type TokenKey struct {
	mu   sync.Mutex
	mac  hash.Hash
	text []byte // what is signed, kept for the next time
}

// KeyOf returns the key of a token.
func KeyOf(token string) *TokenKey {
	key := sha256.Sum256([]byte(token))
	return newKey(key[:])
}

func newKey(key []byte) *TokenKey { return &TokenKey{mac: hmac.New(sha256.New, key)} }

// sign is base64url(HMAC-SHA256(key, parts joined by slashes)), without
// padding.
func (k *TokenKey) sign(parts ...string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = k.text[:0]
	for i, part := range parts {
		if i > 0 {
			k.text = append(k.text, '/')
		}
		k.text = append(k.text, part...)
	}
	k.mac.Reset()
	k.mac.Write(k.text)
	k.text = k.mac.Sum(k.text[:0])
	var encoded [43]byte
	base64.RawURLEncoding.Encode(encoded[:], k.text)
	return string(encoded[:])
}

// The length of a token's secret part, in characters: 43 hold all 256 bits, 22
// hold 128.
const (
	MinTokenLength = 22
	MaxTokenLength = 43
)

// DeriveToken derives an agent's token, tok-p01-…, from the manager's secret. A new
// generation invalidates the old token.
func DeriveToken(secret [32]byte, leagueID, agentID string, generation int) string {
	return "tok-" + strings.ToLower(agentID) + "-" +
		newKey(secret[:]).sign(leagueID, agentID, strconv.Itoa(generation))
}

// AccessToken returns the token of one referee for one player in one attempt at a match.
// The referee sends it, and the player checks it and sends it back. It is valid for
// nothing else.
func (k *TokenKey) AccessToken(leagueID, matchID string, attempt int, refereeID string) string {
	return k.sign(leagueID, matchID, strconv.Itoa(attempt), refereeID)
}

// ManagerCredential returns the bearer credential that authenticates the manager to an
// agent in start_match, notify_round, update_standings, notify_round_completed and
// notify_league_completed.
func (k *TokenKey) ManagerCredential(leagueID string) string {
	return k.sign(leagueID, "manager")
}

// SameToken compares in constant time.
func SameToken(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// HiddenToken replaces a token in files and logs.
const HiddenToken = "***"

// HideTokens replaces everything that looks like a token by HiddenToken, because messages
// of other agents may contain a token in any field, and many people read files and logs.
// It returns text itself if there is none.
func HideTokens(text []byte) []byte {
	var hidden []byte // the result so far; nil while it equals text
	done := 0
	for i := 0; i+4 <= len(text); i++ {
		if prefix := string(text[i : i+4]); prefix != "tok-" && prefix != "adm-" {
			continue
		}
		end := i + 4
		for end < len(text) && ofToken(text[end]) {
			end++
		}
		if end-i-4 < MinTokenLength {
			continue
		}
		hidden = append(append(hidden, text[done:i]...), HiddenToken...)
		done, i = end, end-1
	}
	if done == 0 {
		return text
	}
	return append(hidden, text[done:]...)
}

func ofToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
