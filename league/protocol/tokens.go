package protocol

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
)

// NoToken is the auth_token of a reply to a caller without an access token, because a
// player never sends its own token to a referee.
const NoToken = "none"

// A TokenKey derives access tokens and the manager's credential from an agent's token:
// both are HMACs with the SHA-256 of the token as key. It is immutable.
type TokenKey struct{ inner, outer [sha256.BlockSize]byte } // the padded keys of HMAC (RFC 2104)

// KeyOf returns the key of a token.
func KeyOf(token string) *TokenKey { return newKey(sha256.Sum256([]byte(token))) }

func newKey(key [sha256.Size]byte) *TokenKey {
	k := &TokenKey{}
	copy(k.inner[:], key[:])
	k.outer = k.inner
	for i := range k.inner {
		k.inner[i] ^= 0x36
		k.outer[i] ^= 0x5c
	}
	return k
}

// A signature is base64url(HMAC-SHA256) without padding.
type signature [43]byte

// sign signs parts joined by slashes. It computes HMAC on the stack, because a match has
// several tokens, and hmac.New takes longer than the hash.
func (k *TokenKey) sign(parts ...string) (text signature) {
	var buffer [256]byte
	b := append(buffer[:0], k.inner[:]...)
	for i, part := range parts {
		if i > 0 {
			b = append(b, '/')
		}
		b = append(b, part...)
	}
	inner := sha256.Sum256(b)
	b = append(append(b[:0], k.outer[:]...), inner[:]...)
	mac := sha256.Sum256(b)
	base64.RawURLEncoding.Encode(text[:], mac[:])
	return text
}

// The length of a token's secret part, in characters: 43 hold all 256 bits, 22
// hold 128.
const (
	MinTokenLength = 22
	MaxTokenLength = 43
)

// DeriveToken derives an agent's token, tok-p01-…, from the manager's key for tokens
// (ManagerKeys.Token). A new generation invalidates the old token.
func DeriveToken(key [32]byte, leagueID, agentID string, generation int) string {
	text := newKey(key).sign(leagueID, agentID, strconv.Itoa(generation))
	return "tok-" + strings.ToLower(agentID) + "-" + string(text[:])
}

// AdminToken derives the token of the organiser of a league, adm-…, from the manager's key for
// it (ManagerKeys.Admin). The organiser can compute it on the machine of the manager, from the
// secret in the data folder.
func AdminToken(key [32]byte, leagueID string) string {
	text := newKey(key).sign(leagueID, "admin")
	return "adm-" + string(text[:])
}

// AccessToken returns the token of one referee for one player in one attempt at a match.
// The referee sends it, and the player checks it and sends it back. It is valid for
// nothing else.
func (k *TokenKey) AccessToken(leagueID, matchID string, attempt int, refereeID string) string {
	text := k.sign(leagueID, matchID, strconv.Itoa(attempt), refereeID)
	return string(text[:])
}

// IsAccessToken compares a token with AccessToken in constant time.
func (k *TokenKey) IsAccessToken(token, leagueID, matchID string, attempt int, refereeID string) bool {
	text := k.sign(leagueID, matchID, strconv.Itoa(attempt), refereeID)
	return subtle.ConstantTimeCompare([]byte(token), text[:]) == 1
}

// ManagerCredential returns the bearer credential that authenticates the manager to an
// agent in start_match, notify_round, update_standings, notify_round_completed and
// notify_league_completed.
func (k *TokenKey) ManagerCredential(leagueID string) string {
	text := k.sign(leagueID, "manager")
	return string(text[:])
}

// SameToken compares in constant time.
func SameToken(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// HiddenToken replaces a token in files and logs.
const HiddenToken = "***"

// HideTokens replaces everything that looks like a token by HiddenToken, because messages
// of other agents may contain a token in any field, and many people read files and logs.
// So it does with the value of each member registration_code. It returns text itself if
// there is none.
func HideTokens(text []byte) []byte {
	text = hideCodes(text)
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

// hideCodes replaces the value of each member registration_code, also in JSON that is a
// string of other JSON.
func hideCodes(text []byte) []byte {
	if !bytes.Contains(text, []byte("registration_code")) {
		return text
	}
	return codeMember.ReplaceAll(text, []byte("${1}"+HiddenToken))
}

// codeMember matches a member registration_code up to the end of its value.
var codeMember = regexp.MustCompile(`(registration_code\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"])+`)

func ofToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
