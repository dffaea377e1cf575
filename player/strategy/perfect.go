package strategy

import (
	"context"
	"fmt"

	"evenodd/rules/tictactoe"
)

// perfect plays perfectly. It chooses among equally good moves at random.
type perfect struct{}

var _ specialist = perfect{}

// Name returns the name of the strategy.
func (perfect) Name() string { return "perfect" }

// Games returns the game types that the strategy plays.
func (perfect) Games() []string { return []string{tictactoe.Type} }

// Choose returns one of the best moves.
func (p perfect) Choose(_ context.Context, v View) (string, error) {
	if err := Fits(p, v.GameType); err != nil {
		return "", err
	}
	board, _ := v.Context[tictactoe.ContextBoard].(string)
	mark, _ := v.Context[tictactoe.ContextMark].(string)
	best, err := tictactoe.Best(board, mark)
	if err != nil {
		return "", fmt.Errorf("perfect: %w", err)
	}
	return anyOf(v, best), nil
}
