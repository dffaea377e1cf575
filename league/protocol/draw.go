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
func (s Secret) Hex() string {
	text := hexadecimal(s)
	return string(text[:])
}

// ParseSecret reads the text of Hex.
func ParseSecret(text string) (s Secret, ok bool) {
	if !isDigest(text) {
		return s, false
	}
	_, err := hex.Decode(s[:], []byte(text))
	return s, err == nil
}

// A digest is SHA-256 in hexadecimal digits.
type digest [64]byte

// DrawCommitment returns the commitment of a referee to its nonce. The draw uses
// commit–reveal: the referee sends the commitment in MATCH_ASSIGNMENT_ACK and
// GAME_INVITATION before the players choose, and reveals the nonce with the result, so
// that anyone can recompute the draw.
func DrawCommitment(leagueID, matchID string, attempt int, refereeID string, nonce Secret) string {
	d := drawCommitment(leagueID, matchID, attempt, refereeID, nonce)
	return string(d[:])
}

// CommitDraw returns the nonce of a referee as it reveals it, and its DrawCommitment, in
// one allocation.
func CommitDraw(leagueID, matchID string, attempt int, refereeID string, nonce Secret) (text, commitment string) {
	return texts(hexadecimal(nonce), drawCommitment(leagueID, matchID, attempt, refereeID, nonce))
}

// OpensDraw tells whether a nonce belongs to a DrawCommitment.
func OpensDraw(commitment, leagueID, matchID string, attempt int, refereeID string, nonce Secret) bool {
	return drawCommitment(leagueID, matchID, attempt, refereeID, nonce).is(commitment)
}

func drawCommitment(leagueID, matchID string, attempt int, refereeID string, nonce Secret) digest {
	return digestOf(appendDraw(make([]byte, 0, 160), leagueID, matchID, attempt, refereeID, nonce))
}

// DrawInput returns the bytes whose SHA-256 is the DrawCommitment.
func DrawInput(leagueID, matchID string, attempt int, refereeID string, nonce Secret) []byte {
	return appendDraw(nil, leagueID, matchID, attempt, refereeID, nonce)
}

func appendDraw(b []byte, leagueID, matchID string, attempt int, refereeID string, nonce Secret) []byte {
	b = append(b, "evenodd-draw-v1"...)
	b = prefixed(b, leagueID)
	b = prefixed(b, matchID)
	b = prefixed(b, strconv.Itoa(attempt))
	b = prefixed(b, refereeID)
	return append(b, nonce[:]...)
}

// EntropyCommitment returns the commitment of a player to its entropy, which it reveals
// with its choice (commit–reveal), so that neither side alone controls the draw.
func EntropyCommitment(matchID, playerID string, entropy Secret) string {
	d := entropyCommitment(matchID, playerID, entropy)
	return string(d[:])
}

// CommitEntropy returns the entropy of a player as it reveals it, and its
// EntropyCommitment, in one allocation.
func CommitEntropy(matchID, playerID string, entropy Secret) (text, commitment string) {
	return texts(hexadecimal(entropy), entropyCommitment(matchID, playerID, entropy))
}

// texts returns two digests as strings, in one allocation.
func texts(a, b digest) (textA, textB string) {
	var both [2 * len(a)]byte
	copy(both[:], a[:])
	copy(both[len(a):], b[:])
	text := string(both[:])
	return text[:len(a)], text[len(a):]
}

// OpensEntropy tells whether an entropy belongs to an EntropyCommitment.
func OpensEntropy(commitment, matchID, playerID string, entropy Secret) bool {
	return entropyCommitment(matchID, playerID, entropy).is(commitment)
}

func entropyCommitment(matchID, playerID string, entropy Secret) digest {
	b := make([]byte, 0, 96)
	b = append(b, "evenodd-entropy-v1"...)
	b = prefixed(b, matchID)
	b = prefixed(b, playerID)
	b = append(b, entropy[:]...)
	return digestOf(b)
}

// is compares the digest with its text in constant time.
func (d digest) is(text string) bool { return subtle.ConstantTimeCompare(d[:], []byte(text)) == 1 }

// prefixed appends LP(x): the length in two bytes, big-endian, then the bytes.
func prefixed(b []byte, x string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(x))) //nolint:gosec // identifiers are far shorter than 64 KB
	return append(b, x...)
}

func digestOf(b []byte) digest { return hexadecimal(sha256.Sum256(b)) }

func hexadecimal(b [32]byte) (text digest) {
	hex.Encode(text[:], b[:])
	return text
}
