package protocol_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// hashed is the hexadecimal SHA-256 of the parts in a row.
func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

func filledWith(b byte) (s protocol.Secret) {
	for i := range s {
		s[i] = b
	}
	return s
}

func TestCommitmentVectors(t *testing.T) {
	assert.Equal(t, "f301b8d060d847a830a6e624035178502739fffbe16b5710f19897e323774872",
		protocol.DrawCommitment("league_2025_even_odd", "R1M1", 1, "REF01", counted()))
	assert.Equal(t, "d24b52a6c2debfba18f0b54006a84f1bc77aec3ea96def987454c7794d3b5803",
		protocol.DrawCommitment("league_2025_even_odd", "R12M3", 10, "REF100", protocol.Secret{}))
	assert.Equal(t, "aa11340d28c57d779fbd9f0dfa4dc274cd48787587f3124463e2efb9a73789ab",
		protocol.DrawCommitment("ליגה", "R1M1", 2, "REF01", filledWith(0xff)))
	assert.Equal(t, "46b607824102f9af0846e7ad7151a7a5306f78d261b468ff1403f29392a05c11",
		protocol.EntropyCommitment("R1M1", "P01", counted()))
	assert.Equal(t, "9a6d44c3c577eac8a7f2f55bf575481e65e0bbeb027d9fa1b7bbdfb1aec883f3",
		protocol.EntropyCommitment("R1M1", "P02", protocol.Secret{}))
	assert.Equal(t, "231f9c9df577b94cde92f0d83c712ce87467ac484d3ff3ce1b8b448bbf575a81",
		protocol.EntropyCommitment("R2M1", "P100", filledWith(0xff)))
}

// TestCommitmentsSeparateTheirInputs moves a letter from one name to the next, which gives
// another commitment.
func TestCommitmentsSeparateTheirInputs(t *testing.T) {
	n := counted()
	assert.NotEqual(t, protocol.DrawCommitment("L", "R1M1", 1, "REF01", n), protocol.DrawCommitment("LR", "1M1", 1, "REF01", n))
	assert.NotEqual(t, protocol.DrawCommitment("L", "R1M1", 1, "1REF", n), protocol.DrawCommitment("L", "R1M1", 11, "REF", n))
	assert.NotEqual(t, protocol.EntropyCommitment("R1M1P", "01", n), protocol.EntropyCommitment("R1M1", "P01", n))
}

func TestSecretIsHexadecimal(t *testing.T) {
	s := counted()
	text := protocol.Secret(s).Hex()
	assert.Equal(t, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", text)
	read, ok := protocol.ParseSecret(text)
	assert.True(t, ok)
	assert.Equal(t, protocol.Secret(s), read)
	assert.Equal(t, strings.Repeat("0", 64), protocol.Secret{}.Hex())
	for name, wrong := range map[string]string{
		"empty": "", "short": text[2:], "odd": text[1:], "long": text + "00", "no hex": "g" + text[1:], "capitals": strings.ToUpper(text), "spaced": " " + text[1:],
	} {
		_, ok := protocol.ParseSecret(wrong)
		assert.False(t, ok, name)
	}
}

func TestCommitmentsOpenOnlyWithTheirSecrets(t *testing.T) {
	secret, other := protocol.Secret{1}, protocol.Secret{2}
	draw := protocol.DrawCommitment("league", "R1M1", 1, "REF01", secret)
	opensDraw := func(commitment string, attempt int, nonce string) bool {
		_, opens := protocol.OpensDraw(commitment, "league", "R1M1", attempt, "REF01", nonce)
		return opens
	}
	assert.True(t, opensDraw(draw, 1, secret.Hex()))
	assert.False(t, opensDraw(draw, 1, other.Hex()))
	assert.False(t, opensDraw(draw, 2, secret.Hex()))
	assert.False(t, opensDraw("", 1, secret.Hex()))
	entropy := protocol.EntropyCommitment("R1M1", "P01", secret)
	opensEntropy := func(commitment, player string, secret protocol.Secret) bool {
		_, opens := protocol.OpensEntropy(commitment, "R1M1", player, secret.Hex())
		return opens
	}
	assert.True(t, opensEntropy(entropy, "P01", secret))
	assert.False(t, opensEntropy(entropy, "P01", other))
	assert.False(t, opensEntropy(entropy, "P02", secret))
	assert.False(t, opensEntropy("", "P01", secret))
}
