package simulation

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"evenodd/league/protocol"
)

// Each random decision has a source of its own, made of the seed and of what
// is decided: then the order in which things happen cannot change a result.

// Nonce is a referee's part in the draw of a match.
func Nonce(seed uint64, matchID string) protocol.Secret { return derive(seed, "nonce", matchID, "") }

// Entropy is a player's part in the draw of a match.
func Entropy(seed uint64, matchID, playerID string) protocol.Secret {
	return derive(seed, "entropy", matchID, playerID)
}

// Random is the source of one decision of a player.
func Random(seed uint64, playerID, decision string) *rand.Rand {
	key := derive(seed, "choice", decision, playerID)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:16]))) //nolint:gosec // a seeded simulation
}

// derive is SHA-256 of a label, what is decided, the seed and the two parts,
// each part behind its length. No word for what begins with another.
func derive(seed uint64, what, a, b string) protocol.Secret {
	var buffer [160]byte
	text := append(buffer[:0], "evenodd-simulation-v1/"...)
	text = append(text, what...)
	text = binary.BigEndian.AppendUint64(text, seed)
	for _, part := range [...]string{a, b} {
		text = binary.BigEndian.AppendUint16(text, uint16(len(part))) //nolint:gosec // ids are short
		text = append(text, part...)
	}
	return sha256.Sum256(text)
}
