package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// A player with such a key could sign all moves at once, and deny each of them: under the
// first one this signature is valid over every text.
func TestKeysThatProveNothingAreRefused(t *testing.T) {
	zeros := func(first string) string { return first + strings.Repeat("0", 64-len(first)) }
	ones := func(first, last string) string { return first + strings.Repeat("f", 60) + last }
	signature := zeros("01") + zeros("")
	for name, key := range map[string]string{
		"neutral element":                    zeros("01"),
		"neutral element with a sign":        "01" + strings.Repeat("0", 60) + "80",
		"order 2":                            ones("ec", "7f"),
		"order 2 with a sign":                ones("ec", "ff"),
		"order 4":                            zeros(""),
		"order 4 with a sign":                strings.Repeat("0", 62) + "80",
		"order 8":                            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"order 8 with a sign":                "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"another of order 8":                 "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"another with a sign":                "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"second form of order 4":             ones("ed", "7f"),
		"second form of the neutral element": ones("ee", "7f"),
		"second form of another point":       ones("f0", "ff"),
	} {
		assert.False(t, protocol.ValidPublicKey(key), name)
		for _, move := range []string{"even", "odd"} {
			s := statement()
			for s.Attempt = range 64 { // a key of order 8 is valid over every eighth text
				s.Move = move
				assert.False(t, s.Verify(key, signature), "%s: %s", name, move)
			}
		}
	}
	for _, key := range []string{ones("ec", "7e"), ones("eb", "7f"), zeros("02")} {
		assert.True(t, protocol.ValidPublicKey(key), key)
	}
}
