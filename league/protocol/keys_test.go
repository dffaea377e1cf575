package protocol_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// docs/signatures.md has these vectors.
func TestKeyVectors(t *testing.T) {
	keys := protocol.ManagerKeysOf(counted())
	for want, key := range map[string][32]byte{
		"9da5b15a9d56a70db2df631cb6da2c4986b5d7a244d61e37b304c4dd1925adb8": keys.Token,
		"27e30a801ae116b6be0bb293187d0562ec1f4eac0d0339da102526415c66142f": keys.Registration,
		"c992ac96de5413a9b249c8213e08719ea7bf37a10e77e9f8311e6567730dae26": keys.Signature,
		"490ec4ca9691611fa04c5eb89f3a7b53215744daed88d0525dca9835a2014b68": keys.Admin,
	} {
		assert.Equal(t, want, hex.EncodeToString(key[:]))
	}
	assert.Equal(t, "adm-NXiGlvweTEBkMB4KYck1WwgJpt_gFHRSyDW_IgqMiKI", protocol.AdminToken(keys.Admin, "league_2025_even_odd"))
	token := protocol.DeriveToken(keys.Token, "league_2025_even_odd", "P01", 1)
	assert.Equal(t, "tok-p01-31IAhiJYkY1QLQgtB0uzF1GOqC0NgshkO2K8ASCZ2SM", token)
}
