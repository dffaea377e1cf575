package strategy

import (
	"context"
	"fmt"

	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/tictactoe"
)

// searcher plays one game. It chooses at random among the best moves that a search finds.
type searcher struct {
	name, game string
	best       func(game map[string]any) ([]string, error) // from the context of a question
}

var _ specialist = searcher{}

// Name returns the name of the strategy.
func (s searcher) Name() string { return s.name }

// Games returns the game types that the strategy plays.
func (s searcher) Games() []string { return []string{s.game} }

// Choose returns one of the best moves.
func (s searcher) Choose(_ context.Context, v View) (string, error) {
	if err := Fits(s, v.GameType); err != nil {
		return "", err
	}
	best, err := s.best(v.Context)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.name, err)
	}
	return anyOf(v, best), nil
}

// perfect plays perfectly.
func perfect(game map[string]any) ([]string, error) {
	board, _ := game[tictactoe.ContextBoard].(string)
	mark, _ := game[tictactoe.ContextMark].(string)
	return tictactoe.Best(board, mark)
}

// lookaheadMoves is the number of moves of both sides that lookahead searches.
const lookaheadMoves = 6

// lookahead searches a few moves ahead.
func lookahead(game map[string]any) ([]string, error) {
	mark, _ := game[connectfour.ContextMark].(string)
	return connectfour.Best(lines(game[connectfour.ContextBoard]), mark, lookaheadMoves)
}

// equilibrium plays an equilibrium of each hand of Kuhn poker.
type equilibrium struct{}

var _ specialist = equilibrium{}

// Name returns the name of the strategy.
func (equilibrium) Name() string { return "nash" }

// Games returns the game type that the strategy plays.
func (equilibrium) Games() []string { return []string{kuhnpoker.Type} }

// Choose returns a move with the probability that it has in the equilibrium.
func (s equilibrium) Choose(_ context.Context, v View) (string, error) {
	if err := Fits(s, v.GameType); err != nil {
		return "", err
	}
	view, _ := v.Shown().(map[string]any)
	card, _ := view[kuhnpoker.ViewCard].(string)
	pay, pass, probability, err := kuhnpoker.Equilibrium(card, lines(view[kuhnpoker.ViewBetting]))
	switch {
	case err != nil:
		return "", fmt.Errorf("nash: %w", err)
	case v.Random.Float64() < probability:
		return pay, nil
	}
	return pass, nil
}

// lines returns a list of texts in a context, which is a []any if it came as JSON; nil for
// anything else.
func lines(value any) []string {
	list, ok := value.([]any)
	if !ok {
		texts, _ := value.([]string)
		return texts
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i], _ = item.(string)
	}
	return texts
}
