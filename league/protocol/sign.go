package protocol

import (
	"crypto/ed25519"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"evenodd/league"
)

// A SigningKey is the Ed25519 key by which an agent signs. It is immutable.
type SigningKey struct{ private ed25519.PrivateKey }

// NewSigningKey returns the key of a seed.
func NewSigningKey(seed [ed25519.SeedSize]byte) *SigningKey {
	return &SigningKey{ed25519.NewKeyFromSeed(seed[:])}
}

// Public returns the public key as messages have it: 64 lower-case hexadecimal digits.
func (k *SigningKey) Public() string { return hex.EncodeToString(k.private[ed25519.SeedSize:]) }

// A MoveStatement is what a player signs in its answer to a question for a move. The
// signature proves that the player made this move, with this entropy, after it was shown
// these commitments and moves.
type MoveStatement struct {
	Started        string // the hash of the event that started the league
	MatchID        string
	Attempt        int
	RefereeID      string
	PlayerID       string
	DrawCommitment string // of the referee
	// EntropyCommitments are those of PLAYER_A and PLAYER_B; "" for none.
	EntropyCommitments [2]string
	Turn               int    // from 1
	Move               string // exactly as in the answer
	Entropy            string // in hexadecimal digits; "" for none
	MovesHash          string // of opening and moves of earlier turns; see MovesHash. "" in turn 1 without an opening
	// ViewHash is that of the view that the player was shown (see ViewHash), in a game that hides something; "" in any
	// other. The statement of a hidden game has a tag of its own, and its MovesHash is a HiddenMovesHash.
	ViewHash string
}

// SignMove returns the signature of a statement in hexadecimal digits; "" for a statement
// with a text of more than 64 KB, which cannot be signed.
func (k *SigningKey) SignMove(s *MoveStatement) string { return k.sign(s.texts()) }

// sign returns the signature of a statement in hexadecimal digits; "" if a text is too long.
func (k *SigningKey) sign(texts []string) string {
	if tooLong(texts) {
		return ""
	}
	return hex.EncodeToString(ed25519.Sign(k.private, prefixed(nil, texts...)))
}

// tooLong tells whether a text is too long for its length prefix.
func tooLong(texts []string) bool {
	return slices.ContainsFunc(texts, func(x string) bool { return len(x) > math.MaxUint16 })
}

// Verify tells whether a signature of the statement is valid under a public key.
func (s *MoveStatement) Verify(publicKey, signature string) bool {
	return verify(publicKey, signature, s.texts())
}

// texts returns the parts of the statement.
func (s *MoveStatement) texts() []string {
	tag := "evenodd-move-v1"
	if s.ViewHash != "" {
		tag = "evenodd-move-v2"
	}
	texts := []string{
		tag, s.Started, s.MatchID, strconv.Itoa(s.Attempt), s.RefereeID, s.PlayerID, s.DrawCommitment,
		s.EntropyCommitments[0], s.EntropyCommitments[1], strconv.Itoa(s.Turn), s.Move, s.Entropy,
	}
	if s.Turn > 1 || s.MovesHash != "" {
		texts = append(texts, s.MovesHash)
	}
	if s.ViewHash != "" {
		texts = append(texts, s.ViewHash)
	}
	return texts
}

// verify tells whether a signature of a statement is valid under a public key.
func verify(publicKey, signature string, texts []string) bool {
	if !ValidPublicKey(publicKey) || !isSignature(signature) || tooLong(texts) {
		return false
	}
	key, _ := hex.DecodeString(publicKey) // both are valid
	binary, _ := hex.DecodeString(signature)
	return ed25519.Verify(key, prefixed(nil, texts...), binary)
}

// InOrder returns the entropy commitments of PLAYER_A and PLAYER_B, "" for a missing one,
// given one player of the match and its role.
func InOrder(commitments league.PerPlayer[string], playerID, role string) (inOrder [2]string) {
	side := 0
	if role == RolePlayerB {
		side = 1
	}
	for _, c := range commitments {
		if c.Name == playerID {
			inOrder[side] = c.Value
		} else {
			inOrder[1-side] = c.Value
		}
	}
	return inOrder
}

// A MoveSignature is the last signature of a player in a match.
type MoveSignature struct {
	Turn      int    `json:"turn" rule:"min=1"`
	Signature string `json:"signature" rule:"signature"`
	// hash of the view that the player was shown, in a game that hides something
	ViewHash string `json:"view_hash,omitzero" rule:"digest"`
}

// SignHead returns the manager's signature of a journal's head, in hexadecimal digits.
func (k *SigningKey) SignHead(leagueID, head string) string {
	return k.sign(headStatement(leagueID, head))
}

// VerifyHead tells whether a signature of a journal's head is valid under the public key
// of the manager.
func VerifyHead(publicKey, signature, leagueID, head string) bool {
	return verify(publicKey, signature, headStatement(leagueID, head))
}

// A HeadVerifier verifies heads for players that are told the same ones, each head once.
// The zero value and nil are ready to use; nil remembers nothing.
type HeadVerifier struct {
	last atomic.Pointer[headClaim] // the last valid one
}

type headClaim struct{ publicKey, signature, leagueID, head string }

// Verify is VerifyHead.
func (v *HeadVerifier) Verify(publicKey, signature, leagueID, head string) bool {
	if v == nil {
		return VerifyHead(publicKey, signature, leagueID, head)
	}
	claim := headClaim{publicKey, signature, leagueID, head}
	if last := v.last.Load(); last != nil && *last == claim {
		return true
	}
	valid := VerifyHead(publicKey, signature, leagueID, head)
	if valid {
		v.last.Store(&claim)
	}
	return valid
}

func headStatement(leagueID, head string) []string {
	return []string{"evenodd-head-v1", leagueID, head}
}

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
