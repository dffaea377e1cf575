package strategy

import (
	"context"
	"fmt"

	"evenodd/rules/connectfour"
)

// lookahead searches a few moves ahead. It chooses among equally good moves at random.
type lookahead struct{}

var _ specialist = lookahead{}

// lookaheadMoves is the number of moves of both sides that lookahead searches.
const lookaheadMoves = 6

// Name returns the name of the strategy.
func (lookahead) Name() string { return "lookahead" }

// Games returns the game types that the strategy plays.
func (lookahead) Games() []string { return []string{connectfour.Type} }

// Choose returns one of the best moves that the search finds.
func (l lookahead) Choose(_ context.Context, v View) (string, error) {
	if err := Fits(l, v.GameType); err != nil {
		return "", err
	}
	mark, _ := v.Context[connectfour.ContextMark].(string)
	best, err := connectfour.Best(lines(v.Context[connectfour.ContextBoard]), mark, lookaheadMoves)
	if err != nil {
		return "", fmt.Errorf("lookahead: %w", err)
	}
	return anyOf(v, best), nil
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
