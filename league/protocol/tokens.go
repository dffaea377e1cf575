package protocol

import (
	"bytes"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"evenodd/league/words"
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

// sign returns the text of mac.
func (k *TokenKey) sign(parts ...string) string {
	text := k.mac(parts...)
	return string(text[:])
}

// mac returns base64url(HMAC-SHA256) without padding of the parts, joined by slashes. A match has
// several tokens, and hmac.New takes longer than the hash.
func (k *TokenKey) mac(parts ...string) (text [MaxTokenLength]byte) {
	var buffer [256]byte
	b := append(buffer[:0], k.inner[:]...)
	for i, part := range parts {
		if i > 0 {
			b = append(b, '/')
		}
		b = append(b, part...)
	}
	inner := sha256.Sum256(b)
	mac := sha256.Sum256(append(append(b[:0], k.outer[:]...), inner[:]...))
	base64.RawURLEncoding.Encode(text[:], mac[:])
	return text
}

// MaxTokenLength is the length of a token's secret part, in characters, which hold all 256 bits.
const MaxTokenLength = 43

// DeriveToken derives an agent's token, tok-p01-…, from the manager's key for tokens
// (ManagerKeys.Token). A new generation invalidates the old token.
func DeriveToken(key [32]byte, leagueID, agentID string, generation int) string {
	return "tok-" + strings.ToLower(agentID) + "-" + newKey(key).sign(leagueID, agentID, strconv.Itoa(generation))
}

// AdminToken derives the token of the organiser of a league, adm-…, from the manager's key for
// it (ManagerKeys.Admin). The organiser can compute it on the machine of the manager, from the
// secret in the data folder.
func AdminToken(key [32]byte, leagueID string) string {
	return "adm-" + newKey(key).sign(leagueID, "admin")
}

// AccessToken returns the token of one referee for one player in one attempt at a match.
// The referee sends it, and the player checks it and sends it back. It is valid for
// nothing else.
func (k *TokenKey) AccessToken(leagueID, matchID string, attempt int, refereeID string) string {
	return k.sign(leagueID, matchID, strconv.Itoa(attempt), refereeID)
}

// IsAccessToken compares a token with AccessToken in constant time.
func (k *TokenKey) IsAccessToken(token, leagueID, matchID string, attempt int, refereeID string) bool {
	mac := k.mac(leagueID, matchID, strconv.Itoa(attempt), refereeID)
	return subtle.ConstantTimeCompare([]byte(token), mac[:]) == 1
}

// ManagerCredential returns the bearer credential that authenticates the manager to an
// agent in start_match, notify_round, update_standings, notify_round_completed and
// notify_league_completed.
func (k *TokenKey) ManagerCredential(leagueID string) string { return k.sign(leagueID, "manager") }

// SameToken compares in constant time.
func SameToken(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// HiddenToken replaces a token in files and logs.
const HiddenToken = "***"

// HideTokens replaces everything that looks like a token by HiddenToken, because messages
// of other agents may contain a token in any field, and many people read files and logs.
// So it does with the value of each member registration_code, also in JSON that is a string
// of other JSON. It returns text itself if there is none.
func HideTokens(text []byte) []byte {
	if !HasSign(text) {
		return text
	}
	return secrets().ReplaceAll(text, []byte("${1}"+HiddenToken))
}

// WithoutTokens is HideTokens for a string.
func WithoutTokens(text string) string {
	if !HasSign([]byte(text)) { // which copies nothing
		return text
	}
	return string(HideTokens([]byte(text)))
}

// HasWrongToken tells whether a reply shows a token that is not that of its question: neither the right one nor
// NoToken. A question without a token has no wrong one.
func (e *Envelope) HasWrongToken(asked string) bool {
	_, broken := e.BrokenField("auth_token")
	return asked != "" && (broken || e.AuthToken != "" && e.AuthToken != NoToken && !SameToken(e.AuthToken, asked))
}

// HasSign tells whether HideTokens may have something to hide: one of three texts is in each match of secrets. It
// stops at hyphens and underscores alone, because a search for each of the texts takes three times as long.
func HasSign(text []byte) bool {
	for rest := text; ; {
		before, after, found := bytes.Cut(rest, []byte("-"))
		switch {
		case !found:
			return bytes.Contains(text, []byte("_code")) && bytes.Contains(text, []byte("registration_code"))
		case bytes.HasSuffix(before, []byte("tok")), bytes.HasSuffix(before, []byte("adm")):
			return true
		}
		rest = after
	}
}

// secrets matches tokens, also ones that are cut to 22 characters, which hold 128 bits, and a member
// registration_code up to the end of its value.
var secrets = words.Pattern(
	`(registration_code\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"])+|(?:tok|adm)-[A-Za-z0-9_-]{22,}`)

// ManagerKeys are the keys of a league's manager, each derived from its secret by a domain of its own, so
// that no output of one use is an output of another.
type ManagerKeys struct {
	Token        [32]byte // of the agents' tokens, see DeriveToken
	Registration [32]byte // of the fingerprints of registrations
	Signature    [32]byte // the seed of the manager's Ed25519 key
	Admin        [32]byte // of the admin token, see AdminToken
	Lot          [32]byte // its lowest bit decides who is side A once more, see pairing.RoundRobinFor
}

// ManagerKeysOf derives the keys of a league from its secret: HMAC-SHA256 with the secret as key
// and the domain as message.
func ManagerKeysOf(secret [32]byte) ManagerKeys {
	return ManagerKeys{
		Token: Derive(secret, "evenodd-token-v2"), Registration: Derive(secret, "evenodd-registration-v2"),
		Signature: Derive(secret, "evenodd-manager-signature-v1"), Admin: Derive(secret, "evenodd-admin-v1"),
		Lot: Derive(secret, "evenodd-side-v1"),
	}
}

// Derive returns the HMAC-SHA256 of a text under a key.
func Derive(key [32]byte, text string) Secret {
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write([]byte(text)) // never fails
	return Secret(mac.Sum(nil))
}

// A MasterSecret is what the managers of a league share: at least MinMaster random bytes that only they have. The
// secret of each league follows from it.
type MasterSecret []byte

// MinMaster is the least number of bytes of a master secret.
const MinMaster = 32

// The nonce of a league has 16 random bytes, and the first 8 bytes of a MAC, by which a manager with another master
// secret notices that.
const nonceBytes, checkBytes = 16, 8

// NewNonce returns the nonce of a new league, in hexadecimal digits. It is public.
func (m MasterSecret) NewNonce(leagueID string) string {
	var random [nonceBytes]byte
	_, _ = crand.Read(random[:]) // never fails
	nonce := hex.EncodeToString(random[:])
	_, check := m.derive(leagueID, nonce)
	return nonce + check
}

// Secret returns the secret of a league with a nonce, or an error if the nonce was made with another master secret.
func (m MasterSecret) Secret(leagueID, nonce string) (secret [32]byte, err error) {
	random, check := nonce[:min(2*nonceBytes, len(nonce))], nonce[min(2*nonceBytes, len(nonce)):]
	secret, want := m.derive(leagueID, random)
	if !SameToken(check, want) {
		return secret, errors.New("the league began with another secret: each of its managers needs the same " +
			"--secret-file, or begin a new league with --new-league")
	}
	return secret, nil
}

func (m MasterSecret) derive(leagueID, nonce string) (secret [32]byte, check string) {
	mac := hmac.New(sha512.New, m)
	_, _ = mac.Write([]byte("evenodd-manager-secret-v1/" + leagueID + "/" + nonce)) // never fails
	sum := mac.Sum(nil)
	return [32]byte(sum), hex.EncodeToString(sum[len(secret):][:checkBytes])
}

// A Claim is what a request says about its sender. It is read from the encoded
// request, in any form of our own and of third-party agents, and before anything is
// checked: only a valid token proves it. A member that is missing is "".
type Claim struct {
	Token          string // auth_token
	Sender         string
	MatchID        string
	ConversationID string
}

// ClaimOf reads the claim of a request. It has no other member if it has no token.
func ClaimOf(body []byte) (c Claim) {
	members := [...]*string{&c.Token, &c.Sender, &c.MatchID, &c.ConversationID}
	for i, member := range claimed {
		if found := member().FindSubmatch(body); found != nil {
			*members[i] = string(found[1])
		}
		if c.Token == "" {
			break
		}
	}
	return c
}

// claimed are the members of a claim.
var claimed = [...]func() *regexp.Regexp{
	textMember("auth_token"), textMember("sender"), textMember("match_id"), textMember("conversation_id"),
}

// textMember matches a member whose value is a string without escapes, at any depth.
func textMember(name string) func() *regexp.Regexp {
	return words.Pattern(`"` + name + `"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"`)
}
