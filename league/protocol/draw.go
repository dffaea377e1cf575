package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// Secret holds 32 random bytes: the nonce of a referee, the entropy of a player, or the secret of an
// agent's identity. The zero value is the entropy of a player that committed to none.
type Secret [32]byte

// Hex returns the hexadecimal digits in lower case.
func (s Secret) Hex() string {
	var text [2 * len(s)]byte
	hex.Encode(text[:], s[:])
	return string(text[:])
}

// hexOfTwo returns the digits of two secrets. They share the memory of one string.
func hexOfTwo(a, b Secret) (textA, textB string) {
	const digits = 2 * len(a)
	var both [2 * digits]byte
	hex.Encode(both[:], a[:])
	hex.Encode(both[digits:], b[:])
	text := string(both[:])
	return text[:digits], text[digits:]
}

// ParseSecret reads the text of Hex.
func ParseSecret(text string) (s Secret, ok bool) {
	if len(text) != 2*len(s) {
		return s, false
	}
	if _, _ = hex.Decode(s[:], []byte(text)); !s.is(text) { // it takes upper case, too
		return Secret{}, false
	}
	return s, true
}

// is tells whether text is that of the secret.
func (s Secret) is(text string) bool {
	var own [2 * len(s)]byte
	hex.Encode(own[:], s[:])
	return string(own[:]) == text // without an allocation
}

// DrawCommitment returns the commitment of a referee to its nonce. The draw uses
// commit–reveal: the referee sends the commitment in MATCH_ASSIGNMENT_ACK and
// GAME_INVITATION before the players choose, and reveals the nonce with the result, so
// that anyone can recompute the draw.
func DrawCommitment(leagueID, matchID string, attempt int, refereeID string, nonce Secret) string {
	return digestOf(drawTitle, nonce, leagueID, matchID, strconv.Itoa(attempt), refereeID).Hex()
}

// CommittedNonce returns the digits of a nonce, and its DrawCommitment.
func CommittedNonce(leagueID, matchID string, attempt int, refereeID string,
	nonce Secret) (revealed, commitment string) {
	return hexOfTwo(nonce, digestOf(drawTitle, nonce, leagueID, matchID, strconv.Itoa(attempt), refereeID))
}

// OpensDraw reads a nonce, and tells whether it belongs to a DrawCommitment.
func OpensDraw(commitment, leagueID, matchID string, attempt int, refereeID, nonce string) (secret Secret, opens bool) {
	secret, ok := ParseSecret(nonce)
	return secret, ok && digestOf(drawTitle, secret, leagueID, matchID, strconv.Itoa(attempt), refereeID).is(commitment)
}

// DrawInput returns the bytes whose SHA-256 is the DrawCommitment.
func DrawInput(leagueID, matchID string, attempt int, refereeID string, nonce Secret) []byte {
	return appendInput(nil, drawTitle, nonce, leagueID, matchID, strconv.Itoa(attempt), refereeID)
}

// EntropyCommitment returns the commitment of a player to its entropy, which it reveals
// with its choice (commit–reveal), so that neither side alone controls the draw.
func EntropyCommitment(matchID, playerID string, entropy Secret) string {
	return digestOf(entropyTitle, entropy, matchID, playerID).Hex()
}

// CommittedEntropy returns the digits of an entropy, and its EntropyCommitment.
func CommittedEntropy(matchID, playerID string, entropy Secret) (revealed, commitment string) {
	return hexOfTwo(entropy, digestOf(entropyTitle, entropy, matchID, playerID))
}

// OpensEntropy reads an entropy, and tells whether it belongs to an EntropyCommitment.
func OpensEntropy(commitment, matchID, playerID, entropy string) (secret Secret, opens bool) {
	secret, ok := ParseSecret(entropy)
	return secret, ok && digestOf(entropyTitle, secret, matchID, playerID).is(commitment)
}

// The titles of the inputs of commitments.
const (
	drawTitle    = "evenodd-draw-v1"
	entropyTitle = "evenodd-entropy-v1"
)

// digestOf returns the SHA-256 of the input of a commitment.
func digestOf(title string, secret Secret, texts ...string) Secret {
	var input [160]byte // the usual ones fit
	return sha256.Sum256(appendInput(input[:0], title, secret, texts...))
}

func appendInput(b []byte, title string, secret Secret, texts ...string) []byte {
	return append(prefixed(append(b, title...), texts...), secret[:]...)
}

// prefixed appends LP(x) for each text: the length in two bytes, big-endian, then the bytes.
func prefixed(b []byte, texts ...string) []byte {
	for _, x := range texts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(x))) //nolint:gosec // statements with longer texts are refused
		b = append(b, x...)
	}
	return b
}
