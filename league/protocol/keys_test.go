package protocol_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// docs/signatures.md has these vectors.
func TestKeyVectors(t *testing.T) {
	for domain, want := range map[string]string{
		protocol.DomainToken:            "9da5b15a9d56a70db2df631cb6da2c4986b5d7a244d61e37b304c4dd1925adb8",
		protocol.DomainRegistration:     "27e30a801ae116b6be0bb293187d0562ec1f4eac0d0339da102526415c66142f",
		protocol.DomainManagerSignature: "c992ac96de5413a9b249c8213e08719ea7bf37a10e77e9f8311e6567730dae26",
		protocol.DomainAdmin:            "490ec4ca9691611fa04c5eb89f3a7b53215744daed88d0525dca9835a2014b68",
	} {
		key := protocol.DeriveKey(counted(), domain)
		assert.Equal(t, want, hex.EncodeToString(key[:]), domain)
		assert.NotContains(t, domain, "/", "earlier versions keyed messages with a slash")
	}
	assert.Equal(t, "adm-NXiGlvweTEBkMB4KYck1WwgJpt_gFHRSyDW_IgqMiKI", protocol.AdminToken(protocol.ManagerKeysOf(counted(), protocol.KeyDerivation).Admin, "league_2025_even_odd"))
	token := protocol.DeriveToken(protocol.ManagerKeysOf(counted(), protocol.KeyDerivation).Token, "league_2025_even_odd", "P01", 1)
	assert.Equal(t, "tok-p01-31IAhiJYkY1QLQgtB0uzF1GOqC0NgshkO2K8ASCZ2SM", token)
}

func TestLeagueOfAnEarlierVersionKeepsItsTokens(t *testing.T) {
	keys := protocol.ManagerKeysOf(counted(), 0)
	assert.Equal(t, counted(), keys.Token)
	assert.Equal(t, counted(), keys.Registration)
	assert.Equal(t, protocol.ManagerKeysOf(counted(), protocol.KeyDerivation).Signature, keys.Signature)
	assert.Equal(t, "tok-p01-SXrfTbBuBcDdK8wk54mu6ZA85wjN61iaG16h_Re4f6U", protocol.DeriveToken(keys.Token, "league_2025_even_odd", "P01", 1))
}
