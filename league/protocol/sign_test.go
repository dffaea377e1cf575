package protocol_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// statement is that of a match of one turn.
func statement() protocol.MoveStatement {
	return protocol.MoveStatement{
		Started: hashed("start"), MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: "P01",
		DrawCommitment:     protocol.DrawCommitment("league_2025_even_odd", "R1M1", 1, "REF01", counted()),
		EntropyCommitments: [2]string{protocol.EntropyCommitment("R1M1", "P01", counted()), protocol.EntropyCommitment("R1M1", "P02", filledWith(0xff))},
		Turn:               1, Move: "even", Entropy: protocol.Secret(counted()).Hex(),
	}
}

// laterStatement is that of the third turn of a match.
func laterStatement() protocol.MoveStatement {
	s := statement()
	s.MatchID, s.Attempt, s.PlayerID, s.Turn, s.Move, s.Entropy = "R12M3", 10, "P02", 3, "8", ""
	s.EntropyCommitments = [2]string{}
	s.MovesHash = protocol.MovesHash(nil, []protocol.PlayerMove{{PlayerID: "P01", Move: "4"}, {PlayerID: "P02", Move: "0"}})
	return s
}

// TestSignatureCoversEachMember changes one member of a signed statement at a time.
func TestSignatureCoversEachMember(t *testing.T) {
	key := protocol.NewSigningKey(counted())
	for name, change := range map[string]func(s *protocol.MoveStatement){
		"started":       func(s *protocol.MoveStatement) { s.Started = hashed("other") },
		"match":         func(s *protocol.MoveStatement) { s.MatchID = "R1M2" },
		"attempt":       func(s *protocol.MoveStatement) { s.Attempt++ },
		"referee":       func(s *protocol.MoveStatement) { s.RefereeID = "REF02" },
		"player":        func(s *protocol.MoveStatement) { s.PlayerID = "P09" },
		"draw":          func(s *protocol.MoveStatement) { s.DrawCommitment = hashed("other") },
		"A's entropy":   func(s *protocol.MoveStatement) { s.EntropyCommitments[0] = hashed("other") },
		"B's entropy":   func(s *protocol.MoveStatement) { s.EntropyCommitments[1] = hashed("other") },
		"turn":          func(s *protocol.MoveStatement) { s.Turn++ },
		"move":          func(s *protocol.MoveStatement) { s.Move = "odd" },
		"entropy":       func(s *protocol.MoveStatement) { s.Entropy = hashed("other") },
		"earlier moves": func(s *protocol.MoveStatement) { s.MovesHash = hashed("other") },
	} {
		s := laterStatement()
		signature := key.SignMove(&s)
		require.True(t, s.Verify(key.Public(), signature), name)
		change(&s)
		assert.False(t, s.Verify(key.Public(), signature), name)
	}
}

func TestInvalidSignatures(t *testing.T) {
	key, s := protocol.NewSigningKey(counted()), statement()
	signature := key.SignMove(&s)
	for name, c := range map[string]struct{ key, signature string }{
		"another key":         {protocol.NewSigningKey(filledWith(1)).Public(), signature},
		"no key":              {"", signature},
		"no signature":        {key.Public(), ""},
		"upper case":          {key.Public(), strings.ToUpper(signature)},
		"too long":            {key.Public(), signature + "00"},
		"one digit":           {key.Public(), strings.Repeat("0", 128)},
		"not hexadecimal":     {key.Public(), strings.Repeat("x", 128)},
		"key not hexadecimal": {strings.Repeat("x", 64), signature},
	} {
		assert.False(t, s.Verify(c.key, c.signature), name)
	}
	s.Move = strings.Repeat("x", 1<<16)
	assert.Empty(t, key.SignMove(&s), "the length does not fit into two bytes")
	assert.False(t, s.Verify(key.Public(), signature))
}

func TestSignedHead(t *testing.T) {
	key := protocol.NewSigningKey(counted())
	signature := key.SignHead("L", hashed("head"))
	assert.True(t, protocol.VerifyHead(key.Public(), signature, "L", hashed("head")))
	for _, v := range []*protocol.HeadVerifier{nil, {}} {
		for range 2 { // also right after a valid one
			assert.True(t, v.Verify(key.Public(), signature, "L", hashed("head")))
			assert.False(t, v.Verify(key.Public(), signature, "L2", hashed("head")))
			assert.False(t, v.Verify(key.Public(), signature, "L", hashed("other")))
		}
	}
	assert.False(t, protocol.VerifyHead(key.Public(), signature, "L2", hashed("head")))
	assert.False(t, protocol.VerifyHead(key.Public(), signature, "L", hashed("other")))
	assert.False(t, protocol.VerifyHead(protocol.NewSigningKey(filledWith(1)).Public(), signature, "L", hashed("head")))
	s := statement()
	assert.False(t, s.Verify(key.Public(), signature))
}

func TestPublicKeyForm(t *testing.T) {
	assert.True(t, protocol.ValidPublicKey(protocol.NewSigningKey(counted()).Public()))
	for _, text := range []string{"", "ab", strings.Repeat("A", 64), strings.Repeat("g", 64), strings.Repeat("a", 65)} {
		assert.False(t, protocol.ValidPublicKey(text), text)
	}
}

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

// vectorsOf returns the vectors of testdata/signatures.txt: the values by their names.
func vectorsOf(t *testing.T) (vectors []map[string]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/signatures.txt")
	require.NoError(t, err)
	for block := range strings.SplitSeq(string(text), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		vector := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			require.True(t, ok, line)
			vector[name] = value
		}
		vectors = append(vectors, vector)
	}
	require.Len(t, vectors, 7)
	return vectors
}

func TestSignatureVectors(t *testing.T) {
	vectors := vectorsOf(t)
	seed, err := hex.DecodeString(vectors[0]["seed"])
	require.NoError(t, err)
	key := protocol.NewSigningKey([32]byte(seed))
	assert.Equal(t, vectors[0]["public_key"], key.Public())
	for _, v := range append(vectors[1:3:3], vectors[6]) {
		number := func(name string) int {
			n, err := strconv.Atoi(v[name])
			require.NoError(t, err, name)
			return n
		}
		s := protocol.MoveStatement{
			Started: v["started"], MatchID: v["match_id"], Attempt: number("attempt"), RefereeID: v["referee_id"], PlayerID: v["player_id"],
			DrawCommitment: v["draw_commitment"], EntropyCommitments: [2]string{v["entropy_commitment_A"], v["entropy_commitment_B"]},
			Turn: number("turn"), Move: v["move"], Entropy: v["entropy"], MovesHash: v["moves_hash"],
		}
		assert.Equal(t, v["signature"], key.SignMove(&s))
		var moves []protocol.PlayerMove
		for move := range strings.SplitSeq(v["moves"], ", ") {
			if player, text, ok := strings.Cut(move, " "); ok {
				moves = append(moves, protocol.PlayerMove{PlayerID: player, Move: text})
			}
		}
		if s.Turn > 1 {
			opening := strings.Fields(v["opening"])
			assert.Equal(t, v["moves_hash_0"], protocol.MovesHash(opening, nil))
			assert.Equal(t, v["moves_hash"], protocol.MovesHash(opening, moves))
		}
	}
	assert.Equal(t, vectors[3]["signature"], key.SignHead(vectors[3]["league_id"], vectors[3]["journal_head"]))
}

func TestHiddenVectors(t *testing.T) {
	v := vectorsOf(t)[5]
	nonce, ok := protocol.ParseSecret(v["nonce"])
	require.True(t, ok)
	assert.Equal(t, v["secret_move"], protocol.SecretMove(nonce, 2, "P01", "raise"))

	var view any
	require.NoError(t, json.Unmarshal([]byte(v["view"]), &view))
	assert.Equal(t, v["view_hash"], protocol.ViewHash(view))
	assert.Equal(t, hashed(v["canonical_view"]), v["view_hash"])
	assert.Equal(t, v["null_view_hash"], protocol.ViewHash(nil))
	assert.NotEqual(t, protocol.ViewHash("K"), protocol.ViewHash(map[string]any{"card": "K"}))
	assert.Empty(t, protocol.ViewHash("\xff"), "it has no JSON")

	moves := []protocol.PlayerMove{
		{Turn: 1, PlayerID: "P01", Move: "ready"}, {Turn: 1, PlayerID: "P02", Move: "ready"},
		{Turn: 2, PlayerID: "P01", Move: "raise", Secret: true}, {Turn: 2, PlayerID: "P02", Move: "call it"},
	}
	shown := protocol.ShownMoves(moves, "P02", nonce)
	assert.Equal(t, protocol.PlayerMove{Turn: 2, PlayerID: "P01", Move: v["secret_move"], Secret: true}, shown[2])
	assert.Equal(t, "raise", moves[2].Move, "the moves of the caller stay")
	assert.Equal(t, protocol.PlayerMove{Turn: 2, PlayerID: "P01", Move: "raise"},
		protocol.ShownMoves(moves, "P01", nonce)[2],
		"a player sees its own move")
	assert.Equal(t, v["moves_hash_0"], protocol.HiddenMovesHash(nil))
	assert.Equal(t, v["moves_hash"], protocol.HiddenMovesHash(shown))

	seed, err := hex.DecodeString(vectorsOf(t)[0]["seed"])
	require.NoError(t, err)
	key := protocol.NewSigningKey([32]byte(seed))
	s := protocol.MoveStatement{
		Started: v["started"], MatchID: "R12M3", Attempt: 10, RefereeID: "REF01", PlayerID: "P02", Turn: 3, Move: "fold",
		DrawCommitment: v["draw_commitment"], MovesHash: v["moves_hash"], ViewHash: v["view_hash"],
	}
	assert.Equal(t, v["signature"], key.SignMove(&s))
	s.ViewHash = protocol.ViewHash("another card")
	assert.False(t, s.Verify(key.Public(), v["signature"]))
}

func TestMoveInFreeTextIsOneHarmlessLine(t *testing.T) {
	for _, text := range []string{"is it alive?", "מה זה", "a\u200db", "<script>alert(1)</script>", ""} {
		assert.True(t, protocol.HarmlessLine(text), "%q", text)
	}
	for _, text := range []string{"a\nb", "a\tb", "\x1b[2J", "\u0085", "\u2028", "\u202e", "\u2066", "\u061c", "\u200e",
		"\u200f", "\xff"} {
		assert.False(t, protocol.HarmlessLine(text), "%q", text)
	}
}

// hashed is the hexadecimal SHA-256 of a text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func filledWith(b byte) protocol.Secret { return protocol.Secret(bytes.Repeat([]byte{b}, 32)) }

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
