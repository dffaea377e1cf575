package protocol_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// vectorsOnPage returns the vectors of docs/signatures.md: the values by their names.
func vectorsOnPage(t *testing.T) (vectors []map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/signatures.md")
	require.NoError(t, err)
	for i, block := range strings.Split(string(page), "```") {
		body, isVector := strings.CutPrefix(block, "text\n")
		if i%2 == 0 || !isVector {
			continue
		}
		vector := map[string]string{}
		for line := range strings.Lines(body) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			require.True(t, ok, line)
			vector[name] = value
		}
		vectors = append(vectors, vector)
	}
	return vectors
}

func TestSignaturePageShowsTheVectors(t *testing.T) {
	vectors := vectorsOnPage(t)
	require.Len(t, vectors, 4)
	seed, err := hex.DecodeString(vectors[0]["seed"])
	require.NoError(t, err)
	key := protocol.NewSigningKey([32]byte(seed))
	assert.Equal(t, vectors[0]["public_key"], key.Public())
	for _, v := range vectors[1:3] {
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
			assert.Equal(t, v["moves_hash_0"], protocol.MovesHash(nil))
			assert.Equal(t, v["moves_hash"], protocol.MovesHash(moves))
		}
	}
	assert.Equal(t, vectors[3]["signature"], key.SignHead(vectors[3]["league_id"], vectors[3]["journal_head"]))
}
