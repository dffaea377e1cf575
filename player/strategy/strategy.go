// Package strategy decides. A strategy sees what a player may know before a
// move, and names one; whether the move is legal the referee judges.
package strategy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// A View is what a player knows when it is asked for a move.
type View struct {
	GameType   string
	MoveType   string
	Options    []string // the legal moves, at least one
	Context    map[string]any
	MatchID    string
	RoundID    int
	PlayerID   string
	OpponentID string
	Memory     *Memory    // of finished matches; read only
	Random     *rand.Rand // this decision's own source

	// Within is how long the referee waits for the move, as far as it said so; 0
	// where it did not.
	Within time.Duration
	// Recent are the last finished matches, n at most, the oldest first; nil where
	// nobody keeps them.
	Recent func(n int) []Past
	// Table has the rows of the table after the last completed round, by rank, the
	// first 100 at most; nil before the first. Read only.
	Table []protocol.StandingRow
}

// Past is a finished match as the player saw it. What did not happen is "" or 0.
type Past struct {
	MatchID        string
	OpponentID     string
	Result         string // WIN, LOSS, DRAW, TECHNICAL_WIN or TECHNICAL_LOSS
	Choice         string
	OpponentChoice string
	DrawnNumber    int
}

// A Strategy chooses moves. Those of this package hold no state: what they know
// is in the view.
// Safe for concurrent use.
type Strategy interface {
	Name() string
	Choose(ctx context.Context, v View) (string, error)
}

// A Memory is what a player remembers of finished matches, counted as it goes.
// Safe for concurrent use.
type Memory struct {
	mu        sync.RWMutex
	drawn     map[string]int          // how often each parity was drawn
	opponents map[string]*observation // by opponent
	all       observation             // every opponent together
}

type observation struct {
	choices []tally // few: a game has few moves, and most opponents are met once
	last    string
}

type tally struct {
	choice string
	times  int
}

func (o *observation) see(choice string) {
	o.last = choice
	for i := range o.choices {
		if o.choices[i].choice == choice {
			o.choices[i].times++
			return
		}
	}
	o.choices = append(o.choices, tally{choice, 1})
}

func (o *observation) times(choice string) int {
	for _, t := range o.choices {
		if t.choice == choice {
			return t.times
		}
	}
	return 0
}

// NewMemory is empty.
func NewMemory() *Memory {
	return &Memory{drawn: map[string]int{}, opponents: map[string]*observation{}}
}

// Remember takes in a finished match: what the opponent chose and the parity
// that was drawn, "" for what did not happen.
func (m *Memory) Remember(opponentID, choice, parity string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if parity != "" {
		m.drawn[parity]++
	}
	if choice == "" {
		return
	}
	o := m.opponents[opponentID]
	if o == nil {
		o = &observation{}
		m.opponents[opponentID] = o
	}
	o.see(choice)
	m.all.see(choice)
}

// Drawn is how often a parity was drawn.
func (m *Memory) Drawn(parity string) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.drawn[parity]
}

// Chose is how often an opponent made a choice; for one that was never met,
// how often all opponents together did.
func (m *Memory) Chose(opponentID, choice string) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.about(opponentID).times(choice)
}

// Last is an opponent's last choice; for one that was never met, that of the
// opponent met last. "" when nothing is known.
func (m *Memory) Last(opponentID string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.about(opponentID).last
}

func (m *Memory) about(opponentID string) *observation {
	if o := m.opponents[opponentID]; o != nil {
		return o
	}
	return &m.all
}

// named are the built-in strategies, in the order in which they are listed.
func named() []Strategy {
	return []Strategy{
		simple{"random", func(v View) string { return anyOf(v, v.Options) }},
		simple{"even", func(v View) string { return preferred(v, "even") }},
		simple{"odd", func(v View) string { return preferred(v, "odd") }},
		simple{"alternate", alternate},
		simple{"frequency", frequency},
		simple{"mirror", mirror},
		simple{"contrarian", contrarian},
		perfect{},
	}
}

// A Specialist is a strategy that plays some games only, those of the types that
// it lists. Every other strategy plays any game.
type Specialist interface{ Games() []string }

// Playable are those of the game types that a strategy plays.
func Playable(s Strategy, types []string) []string {
	specialist, ok := s.(Specialist)
	if !ok {
		return types
	}
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !slices.Contains(specialist.Games(), t) })
}

// Fits is an error when a strategy plays none of the game types, if any are named.
func Fits(s Strategy, types ...string) error {
	if len(types) == 0 || len(Playable(s, types)) > 0 {
		return nil
	}
	return fmt.Errorf("strategy %s plays %s, not %s", s.Name(), strings.Join(s.(Specialist).Games(), ", "), strings.Join(types, ", "))
}

// Names lists the strategies.
func Names() []string {
	var names []string
	for _, s := range named() {
		names = append(names, s.Name())
	}
	return names
}

// New finds a strategy by name; the error lists those there are.
func New(name string) (Strategy, error) {
	for _, s := range named() {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown strategy %q; there are: %s", name, strings.Join(Names(), ", "))
}

type simple struct {
	name   string
	choose func(View) string
}

func (s simple) Name() string { return s.name }

func (s simple) Choose(_ context.Context, v View) (string, error) {
	if len(v.Options) == 0 {
		return "", fmt.Errorf("%s: no move to choose from", s.name)
	}
	return s.choose(v), nil
}

func anyOf(v View, options []string) string { return options[v.Random.IntN(len(options))] }

// preferred is the wanted move where the game has it, else any.
func preferred(v View, want string) string {
	if slices.Contains(v.Options, want) {
		return want
	}
	return anyOf(v, v.Options)
}

// alternate goes through the options from round to round.
func alternate(v View) string { return v.Options[(max(v.RoundID, 1)-1)%len(v.Options)] }

// frequency bets on what has been drawn most. The draws are independent, so it
// gains nothing (spec 003 §3.6.2); it is here to be compared with.
func frequency(v View) string {
	return anyOf(v, commonest(v.Options, v.Memory.Drawn))
}

// mirror repeats the opponent's last choice.
func mirror(v View) string { return preferred(v, v.Memory.Last(v.OpponentID)) }

// contrarian avoids the opponent's commonest choice: distinct choices are
// worth 1.5 points each, equal ones 1.
func contrarian(v View) string {
	likely := commonest(v.Options, func(o string) int { return v.Memory.Chose(v.OpponentID, o) })
	if len(likely) == len(v.Options) {
		return anyOf(v, v.Options)
	}
	rest := slices.DeleteFunc(slices.Clone(v.Options), func(o string) bool { return slices.Contains(likely, o) })
	return anyOf(v, rest)
}

// commonest lists the options with the highest count.
func commonest(options []string, count func(string) int) []string {
	best, top := []string(nil), -1
	for _, o := range options {
		switch n := count(o); {
		case n > top:
			best, top = []string{o}, n
		case n == top:
			best = append(best, o)
		}
	}
	return best
}
