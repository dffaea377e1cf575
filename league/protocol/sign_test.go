package protocol_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

// statement is that of the first test vector: a match of one turn.
func statement() protocol.MoveStatement {
	return protocol.MoveStatement{
		Started: hashed("start"), MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: "P01",
		DrawCommitment:     protocol.DrawCommitment("league_2025_even_odd", "R1M1", 1, "REF01", counted()),
		EntropyCommitments: [2]string{protocol.EntropyCommitment("R1M1", "P01", counted()), protocol.EntropyCommitment("R1M1", "P02", filledWith(0xff))},
		Turn:               1, Move: "even", Entropy: protocol.Secret(counted()).Hex(),
	}
}

// laterStatement is that of the second test vector: the third turn of a match.
func laterStatement() protocol.MoveStatement {
	s := statement()
	s.MatchID, s.Attempt, s.PlayerID, s.Turn, s.Move, s.Entropy = "R12M3", 10, "P02", 3, "8", ""
	s.EntropyCommitments = [2]string{}
	s.MovesHash = protocol.MovesHash([]protocol.PlayerMove{{PlayerID: "P01", Move: "4"}, {PlayerID: "P02", Move: "0"}})
	return s
}

func TestSignatureVectors(t *testing.T) {
	key := protocol.NewSigningKey(counted())
	assert.Equal(t, "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8", key.Public())
	first, later := statement(), laterStatement()
	assert.Equal(t, "2d6227ea714705ca38505280627ae88cf4ba8155db3f084bde966aaf0892702807267c6256a87386effa65130ae77abef44ae14526907dc8450dce7a20f17005", key.SignMove(&first))
	assert.Equal(t, "bc39d730a8631ca258cfbff0ae9e69581fe59540d775153cae6aa383fd92347a7db00b8a3881b39f3568e119ee0f0f5ee1f53381f632438a1d85277a84516906", key.SignMove(&later))
	assert.Equal(t, "26dd319a4198abe01d63892c5fb070cb445f7ed4eb57451bf02318393e6c2f09", protocol.MovesHash(nil))
	assert.Equal(t, "b195433e9691f63bfe6ca47570546fbc604f0bdf0111dfdf1edb57299fb128e6", later.MovesHash)
	assert.Equal(t, "42093f063c7bdbfab7074d77fbd1c348bf165988503736166aa383b180abb3305e5610c93b6598712146ad103f9dc6899b9c73b268db0aca09205868aac6b10f", key.SignHead("league_2025_even_odd", hashed("head")))
}

func TestSignaturesMatchTheFormula(t *testing.T) {
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "P01", "even", strings.Repeat("x", 300)}))
	rapid.Check(t, func(t *rapid.T) {
		var seed [32]byte
		copy(seed[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		s := protocol.MoveStatement{
			Started: word.Draw(t, "started"), MatchID: word.Draw(t, "match"), Attempt: rapid.IntRange(0, 1e6).Draw(t, "attempt"),
			RefereeID: word.Draw(t, "referee"), PlayerID: word.Draw(t, "player"), DrawCommitment: word.Draw(t, "draw"),
			EntropyCommitments: [2]string{word.Draw(t, "A"), word.Draw(t, "B")}, Turn: rapid.IntRange(1, 9).Draw(t, "turn"),
			Move: word.Draw(t, "move"), Entropy: word.Draw(t, "entropy"), MovesHash: word.Draw(t, "moves"),
		}
		text := lp("evenodd-move-v1") + lp(s.Started) + lp(s.MatchID) + lp(strconv.Itoa(s.Attempt)) + lp(s.RefereeID) + lp(s.PlayerID) +
			lp(s.DrawCommitment) + lp(s.EntropyCommitments[0]) + lp(s.EntropyCommitments[1]) + lp(strconv.Itoa(s.Turn)) + lp(s.Move) + lp(s.Entropy)
		if s.Turn > 1 {
			text += lp(s.MovesHash)
		}
		key := protocol.NewSigningKey(seed)
		private := ed25519.NewKeyFromSeed(seed[:])
		require.Equal(t, hex.EncodeToString(private.Public().(ed25519.PublicKey)), key.Public())
		require.Equal(t, hex.EncodeToString(ed25519.Sign(private, []byte(text))), key.SignMove(&s))
		require.True(t, s.Verify(key.Public(), key.SignMove(&s)))
	})
}

func TestMovesHashMatchesTheFormula(t *testing.T) {
	hash := func(text string) string { raw, _ := hex.DecodeString(hashed(text)); return string(raw) }
	want := hash("evenodd-moves-v1" + hash("evenodd-moves-v1"+hash("evenodd-moves-v1")+lp("P01")+lp("4")) + lp("P02") + lp("0"))
	assert.Equal(t, hex.EncodeToString([]byte(want)), laterStatement().MovesHash)
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

func BenchmarkSignMove(b *testing.B) {
	key, s := protocol.NewSigningKey(counted()), statement()
	for b.Loop() {
		key.SignMove(&s)
	}
}

func BenchmarkVerifyMove(b *testing.B) {
	key, s := protocol.NewSigningKey(counted()), statement()
	signature, public := key.SignMove(&s), key.Public()
	for b.Loop() {
		s.Verify(public, signature)
	}
}
