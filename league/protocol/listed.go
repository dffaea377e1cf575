package protocol

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A PlayerMove is a legal move of a player in a game of several turns.
type PlayerMove struct {
	PlayerID string `json:"player_id"`
	Move     string `json:"move" rule:"max=2000"`
	// number of the turn, in games with a view
	Turn int `json:"turn,omitzero" rule:"min=1"`
	// in a question: `move` is the [commitment](evidence.md#signatures) to a move that the receiver learns at the end
	// only; elsewhere: the other player did not learn the move before the end
	Secret bool `json:"secret,omitzero"`
}

// MaxMove is the largest size of a move, in bytes of UTF-8.
const MaxMove = 2000

// A Drawn is a draw during a match, as of a card or a die, and its outcome.
type Drawn struct {
	// number of the turn that comes next
	Turn int `json:"turn" rule:"min=1"`
	// equally likely outcomes
	Of int `json:"of" rule:"min=2"`
	// the outcome, from 0
	Number int `json:"number"`
}

// The domains separate the hashes of moves from all other hashes.
const (
	movesDomain       = "evenodd-moves-v1"
	hiddenMovesDomain = "evenodd-moves-v2"
)

// MovesHash returns the running hash of moves in order of turns, PLAYER_A before PLAYER_B
// within a turn, in hexadecimal digits. It begins with the plies of the opening.
func MovesHash(opening []string, moves []PlayerMove) string {
	sum := sha256.Sum256(prefixed([]byte(movesDomain), opening...))
	for i := range moves {
		sum = sha256.Sum256(prefixed(append([]byte(movesDomain), sum[:]...), moves[i].PlayerID, moves[i].Move))
	}
	return Secret(sum).Hex()
}

// HiddenMovesHash is MovesHash for the statements of a hidden game. It covers the turns, too. The moves are those that
// the player was shown: see ShownMoves.
func HiddenMovesHash(moves []PlayerMove) string {
	sum := sha256.Sum256([]byte(hiddenMovesDomain))
	for i := range moves {
		m := &moves[i]
		sum = sha256.Sum256(prefixed(append([]byte(hiddenMovesDomain), sum[:]...), strconv.Itoa(m.Turn), m.PlayerID, m.Move))
	}
	return Secret(sum).Hex()
}

// ShownMoves returns the moves as a question to a player shows them, and as it signs them: the secret moves of its
// opponent as commitments. A question marks no others as secret. The result is moves itself if none is secret.
func ShownMoves(moves []PlayerMove, playerID string, nonce Secret) []PlayerMove {
	if !slices.ContainsFunc(moves, func(m PlayerMove) bool { return m.Secret }) {
		return moves
	}
	shown := slices.Clone(moves)
	for i := range shown {
		m := &shown[i]
		if m.Secret = m.Secret && m.PlayerID != playerID; m.Secret {
			m.Move = SecretMove(nonce, m.Turn, m.PlayerID, m.Move)
		}
	}
	return shown
}

// SecretMove returns the commitment to a secret move, in hexadecimal digits. The nonce of the referee, which opponents
// learn in GAME_OVER, opens it.
func SecretMove(nonce Secret, turn int, playerID, move string) string {
	input := append([]byte("evenodd-secret-v1"), nonce[:]...)
	return Secret(sha256.Sum256(prefixed(input, strconv.Itoa(turn), playerID, move))).Hex()
}

// ViewHash returns the hash of what a player may see of a hidden game: the SHA-256 of the JSON in the form of RFC 8785,
// in hexadecimal digits. Nil is null, for a question without a view. It returns "" for a value that has no such form.
func ViewHash(view any) string {
	text, err := json.Marshal(view)
	if err != nil || (*jsontext.Value)(&text).Canonicalize() != nil {
		return ""
	}
	return Secret(sha256.Sum256(text)).Hex()
}

// TurnIn returns the turn in the context of a question of a game with views; 0 for none. It is a float64 if it has
// crossed a network.
func TurnIn(context map[string]any) int {
	switch turn := context["turn"].(type) {
	case int:
		return turn
	case float64:
		return int(turn)
	}
	return 0
}
