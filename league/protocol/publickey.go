package protocol

import (
	"encoding/hex"
	"slices"
)

// ValidPublicKey tells whether text is a public key that can prove something: 64 lower-case
// hexadecimal digits, the only encoding of its point, and not of small order. Verification
// by Ed25519 accepts a point of small order as a key, but everybody can make signatures for
// it, and one signature is valid over many moves.
func ValidPublicKey(text string) bool {
	if !isDigest(text) {
		return false
	}
	var y Secret
	_, _ = hex.Decode(y[:], []byte(text)) // it is valid
	y[len(y)-1] &= 0x7f                   // without the sign of x, which says nothing about the order
	slices.Reverse(y[:])                  // its bytes are little-endian
	switch digits := y.Hex(); digits {
	case "0000000000000000000000000000000000000000000000000000000000000001", // order 1
		"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec", // order 2
		"0000000000000000000000000000000000000000000000000000000000000000", // order 4
		"05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826", // order 8
		"7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7": // order 8
		return false
	default:
		return digits < "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed" // 2^255-19
	}
}
