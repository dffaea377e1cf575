package protocol_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
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

		key, sum := protocol.KeyOf(token), sha256.Sum256([]byte(token))
		access := fmt.Sprintf("%s/%s/%d/%s", leagueID, match, attempt, referee)
		for range 2 { // a key may be used again
			require.Equal(t, signed(sum[:], access), key.AccessToken(leagueID, match, attempt, referee))
			require.Equal(t, signed(sum[:], leagueID+"/manager"), key.ManagerCredential(leagueID))
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

func TestHideTokens(t *testing.T) {
	token := protocol.DeriveToken([32]byte{1}, "league", "P01", 1)
	short := token[:len(token)-protocol.MaxTokenLength+22]
	admin := "adm-" + strings.Repeat("x_-A9", 7)
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":                     {"", ""},
		"no token":                    {"round 1 tok- adm- tok-p01", "round 1 tok- adm- tok-p01"},
		"a token":                     {token, "***"},
		"the shortest":                {"x" + short, "x***"},
		"the admin's":                 {admin, "***"},
		"in a conversation":           {`{"conversation_id":"conv-1-` + token + `","n":1}`, `{"conversation_id":"conv-1-***","n":1}`},
		"two":                         {token + " and " + admin + ".", "*** and ***."},
		"at the end":                  {"that of P01: " + token, "that of P01: ***"},
		"a registration code":         {`{"registration_code":"s3cret-code","n":1}`, `{"registration_code":"***","n":1}`},
		"a code with spaces":          {`{"registration_code" : "a long secret", "n":1}`, `{"registration_code" : "***", "n":1}`},
		"a code with escapes":         {`{"registration_code":"\u0061bcdefgh"}`, `{"registration_code":"***"}`},
		"a code in a string of JSON":  {`{"text":"{\"registration_code\":\"s3cret-code\"}"}`, `{"text":"{\"registration_code\":\"***\"}"}`},
		"a code and a token":          {`{"registration_code":"s3cret-code","t":"` + token + `"}`, `{"registration_code":"***","t":"***"}`},
		"no code":                     {`{"registration_code":"","n":null}`, `{"registration_code":"","n":null}`},
		"the name of a code, no code": {`registration_code is missing`, `registration_code is missing`},
	} {
		assert.Equal(t, tt.want, string(protocol.HideTokens([]byte(tt.text))), name)
	}
}

func TestHideTokensFindsWhatItsPatternMatches(t *testing.T) {
	pattern := regexp.MustCompile(
		`(registration_code\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"])+|(?:tok|adm)-[A-Za-z0-9_-]{22,}`)
	parts := rapid.SampledFrom([]string{"tok", "adm", "-", "registration", "_", "code", `":"`, `"`, strings.Repeat("x", 22)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"), "")
		want := pattern.ReplaceAllString(text, "${1}***")
		require.Equal(t, want, string(protocol.HideTokens([]byte(text))))
		require.Equal(t, want, protocol.WithoutTokens(text))
	})
}

func TestKeyVectors(t *testing.T) {
	vector := vectorsOf(t)[4]
	secret := counted()
	assert.Equal(t, vector["secret"], hex.EncodeToString(secret[:]))
	keys := protocol.ManagerKeysOf(secret)
	for name, key := range map[string][32]byte{
		"evenodd-token-v2":             keys.Token,
		"evenodd-registration-v2":      keys.Registration,
		"evenodd-manager-signature-v1": keys.Signature,
		"evenodd-admin-v1":             keys.Admin,
	} {
		assert.Equal(t, vector[name], hex.EncodeToString(key[:]))
	}
	assert.Equal(t, vector["admin token"], protocol.AdminToken(keys.Admin, vector["league_id"]))
	assert.Equal(t, vector["first token of P01"], protocol.DeriveToken(keys.Token, vector["league_id"], "P01", 1))
}

func TestClaimOfARequest(t *testing.T) {
	const token = "tok-p01-abc"
	all := protocol.Claim{Token: token, Sender: "referee:REF01", MatchID: "R1M1", ConversationID: "conv-r1m1-a2"}
	for _, tt := range []struct {
		name, body string
		want       protocol.Claim
	}{
		{"our form", `{"jsonrpc":"2.0","method":"m","params":{"sender":"referee:REF01","conversation_id":"conv-r1m1-a2","auth_token":"tok-p01-abc","match_id":"R1M1"},"id":1}`, all},
		{"with spaces", `{ "auth_token" : "tok-p01-abc" , "sender":` + "\n\t" + `"referee:REF01", "match_id": "R1M1", "conversation_id": "conv-r1m1-a2" }`, all},
		{"in arguments of a tool", `{"params":{"name":"x","arguments":{"m":{"auth_token":"tok-p01-abc","sender":"referee:REF01","match_id":"R1M1","conversation_id":"conv-r1m1-a2"}}}}`, all},
		{"behind a value with the name of the member", `{"player_id":"auth_token","auth_token":"tok-p01-abc"}`, protocol.Claim{Token: token}},
		{"inside a text", `{"reason":"\"auth_token\":\"tok-p01-abc\""}`, protocol.Claim{}},
		{"no token", `{"sender":"referee:REF01","match_id":"R1M1"}`, protocol.Claim{}},
		{"no text", `{"auth_token":7}`, protocol.Claim{}},
		{"an escape", `{"auth_token":"tok-p01-a\u0062c"}`, protocol.Claim{}},
		{"cut off", `{"auth_token":"tok-p01-abc`, protocol.Claim{}},
		{"cut off before the value", `{"auth_token":`, protocol.Claim{}},
		{"nothing", ``, protocol.Claim{}},
		{"many names", strings.Repeat(`"auth_token"`, 1000), protocol.Claim{}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, protocol.ClaimOf([]byte(tt.body))) })
	}
}
