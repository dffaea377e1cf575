package strategy

import (
	"context"
	"fmt"

	"evenodd/rules/tictactoe"
)

// perfect never makes a mistake in the games that it knows. Which of several best
// moves it makes is left to chance.
type perfect struct{}

var _ Specialist = perfect{}

// Name is what the strategy is asked for by.
func (perfect) Name() string { return "perfect" }

// Games lists those it knows.
func (perfect) Games() []string { return []string{tictactoe.Type} }

// Choose makes one of the best moves.
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
