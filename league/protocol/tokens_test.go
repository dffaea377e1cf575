package protocol_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/protocol"
)

// signed is base64url(HMAC-SHA256(key, text)), straight from the formula.
func signed(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func keyOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func counted() (secret [32]byte) {
	for i := range secret {
		secret[i] = byte(i)
	}
	return secret
}

func TestTokenVectors(t *testing.T) {
	token := protocol.DeriveToken(counted(), "league_2025_even_odd", "P01", 1)
	assert.Equal(t, "tok-p01-SXrfTbBuBcDdK8wk54mu6ZA85wjN61iaG16h_Re4f6U", token)
	key := protocol.KeyOf(token)
	assert.Equal(t, "WNuGbsmJD9kg4HHH33an-tc50lQROaTBeNe4WwEYkQs", key.AccessToken("league_2025_even_odd", "R1M1", 1, "REF01"))
	assert.Equal(t, "6_bGsDfw96YfgrmDbfFtE6R80Z81HVZew1v9gDUj6GQ", key.ManagerCredential("league_2025_even_odd"))
	assert.Equal(t, "none", protocol.NoToken)
}

func TestTokensMatchTheFormulas(t *testing.T) {
	id := rapid.StringMatching(`(P|REF)\d{2,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var secret [32]byte
		copy(secret[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "secret"))
		leagueID := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,63}`).Draw(t, "league")
		agent, referee := id.Draw(t, "agent"), id.Draw(t, "referee")
		match := league.MatchID{Round: rapid.IntRange(1, 1000).Draw(t, "round"), Number: rapid.IntRange(1, 1000).Draw(t, "match")}.String()
		generation, attempt := rapid.IntRange(0, 1e6).Draw(t, "generation"), rapid.IntRange(0, 1e6).Draw(t, "attempt")

		token := protocol.DeriveToken(secret, leagueID, agent, generation)
		require.Equal(t, "tok-"+strings.ToLower(agent)+"-"+signed(secret[:], fmt.Sprintf("%s/%s/%d", leagueID, agent, generation)), token)

		key := protocol.KeyOf(token)
		access := fmt.Sprintf("%s/%s/%d/%s", leagueID, match, attempt, referee)
		for range 2 { // a key may be used again
			require.Equal(t, signed(keyOf(token), access), key.AccessToken(leagueID, match, attempt, referee))
			require.Equal(t, signed(keyOf(token), leagueID+"/manager"), key.ManagerCredential(leagueID))
		}
	})
}

func TestAccessTokenIsValidForNothingElse(t *testing.T) {
	key := protocol.KeyOf("tok-p01")
	token := key.AccessToken("L", "R1M1", 1, "REF01")
	assert.True(t, key.IsAccessToken(token, "L", "R1M1", 1, "REF01"))
	assert.False(t, key.IsAccessToken(token, "M", "R1M1", 1, "REF01"))
	assert.False(t, key.IsAccessToken(token, "L", "R1M2", 1, "REF01"))
	assert.False(t, key.IsAccessToken(token, "L", "R1M1", 2, "REF01"))
	assert.False(t, key.IsAccessToken(token, "L", "R1M1", 1, "REF02"))
	assert.False(t, key.IsAccessToken("", "L", "R1M1", 1, "REF01"))
	assert.False(t, protocol.KeyOf("tok-p02").IsAccessToken(token, "L", "R1M1", 1, "REF01"))
}
