package protocol_test

import (
	"strings"
	"testing"

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
	s.MovesHash = protocol.MovesHash([]protocol.PlayerMove{{PlayerID: "P01", Move: "4"}, {PlayerID: "P02", Move: "0"}})
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
