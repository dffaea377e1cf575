package protocol

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// Secret holds 32 random bytes: the nonce of a referee or the entropy of a player. The
// zero value is the entropy of a player that committed to none.
type Secret [32]byte

// Hex returns the hexadecimal digits in lower case.
func (s Secret) Hex() string { return hexadecimal(s) }

// ParseSecret reads the text of Hex.
func ParseSecret(text string) (s Secret, ok bool) {
	if !isDigest(text) {
		return s, false
	}
	_, err := hex.Decode(s[:], []byte(text))
	return s, err == nil
}

// DrawCommitment returns the commitment of a referee to its nonce. The draw uses
// commit–reveal: the referee sends the commitment in MATCH_ASSIGNMENT_ACK and
// GAME_INVITATION before the players choose, and reveals the nonce with the result, so
// that anyone can recompute the draw.
func DrawCommitment(leagueID, matchID string, attempt int, refereeID string, nonce Secret) string {
	b := make([]byte, 0, 160)
	b = append(b, "evenodd-draw-v1"...)
	b = prefixed(b, leagueID)
	b = prefixed(b, matchID)
	b = prefixed(b, strconv.Itoa(attempt))
	b = prefixed(b, refereeID)
	b = append(b, nonce[:]...)
	return digest(b)
}

// EntropyCommitment returns the commitment of a player to its entropy, which it reveals
// with its choice (commit–reveal), so that neither side alone controls the draw.
func EntropyCommitment(matchID, playerID string, entropy Secret) string {
	b := make([]byte, 0, 96)
	b = append(b, "evenodd-entropy-v1"...)
	b = prefixed(b, matchID)
	b = prefixed(b, playerID)
	b = append(b, entropy[:]...)
	return digest(b)
}

// SameDigest compares two hexadecimal digests in constant time.
func SameDigest(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// prefixed appends LP(x): the length in two bytes, big-endian, then the bytes.
func prefixed(b []byte, x string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(x))) //nolint:gosec // identifiers are far shorter than 64 KB
	return append(b, x...)
}

func digest(b []byte) string {
	return hexadecimal(sha256.Sum256(b))
}

// hexadecimal allocates once, hex.EncodeToString twice: that makes 15 allocations more
// for each match.
func hexadecimal(b [32]byte) string {
	var text [64]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}
