// Package strategy contains the built-in strategies. A strategy receives the knowledge of
// a player before a move and returns a move. It must not depend on the player or on a
// carrier; the referee judges whether the move is legal.
package strategy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules/connectfour"
	"evenodd/rules/tictactoe"
)

// A View is the knowledge of a player at a question for a move.
type View struct {
	GameType   string
	MoveType   string
	Options    []string       // the legal moves; none for free text
	Text       int            // the most bytes of a move in free text, of one line; 0 for options
	Context    map[string]any // read only
	Rules      string         // of the game, as the referee says them; "" if it has not
	MatchID    string
	RoundID    int
	PlayerID   string
	OpponentID string
	Role       string     // of the player in this match, as in GAME_INVITATION; "" if unknown
	Random     *rand.Rand // of this decision alone

	// Moves are the moves of earlier turns of this match, if the question names them: in a league that
	// signs. Read only.
	Moves []protocol.PlayerMove
	// Opening are the plies with which the match began, those of player A and player B in turn; nil for none. Read only.
	Opening []string
	// Earlier are the questions for a move that the player has answered in this match since its last
	// start, oldest first. Read only.
	Earlier []Answered

	// Refused is the last answer to this question, in free text, that the referee has refused; nil for none. The strategy
	// should write another one.
	Refused *Refusal

	// Within is the time until the referee's deadline; 0 if unknown.
	Within time.Duration
	// TimeLeft is what the player has for all further moves of the match; 0 without a time bank.
	TimeLeft time.Duration
	// Memory returns the counts of all finished matches, which are read only. The player
	// keeps them from the first call on.
	Memory func() *Memory
	// Recent returns the last finished matches, n at most, oldest first; nil without a
	// history.
	Recent func(n int) []protocol.PlayedMatch
	// Fallback is set to true by a strategy whose model or host did not choose, so that the
	// choice is another strategy's or a random one; nil if nobody asks.
	Fallback *bool
	// Table holds the first rows of the table after the last completed round, 100 at
	// most; nil before that. Read only.
	Table []protocol.StandingRow
}

// An Answered is an earlier question of a match, with the answer.
type Answered struct {
	Options []string
	Context map[string]any
	Choice  string
}

// A Refusal is an answer that the referee has refused.
type Refusal struct{ Choice, Reason string }

// Shown returns what the player may see, as the question says it; nil if the game has no views.
func (v *View) Shown() any { return v.Context["view"] }

// FellBack notes that the choice is a fallback.
func (v *View) FellBack() {
	if v.Fallback != nil {
		*v.Fallback = true
	}
}

// A Strategy chooses moves. The strategies of this package have no state. Safe for
// concurrent use.
type Strategy interface {
	Name() string
	Choose(ctx context.Context, v View) (string, error)
}

// A Watcher is a strategy that follows the matches of its player. The calls return at once, and call no method of the
// player.
type Watcher interface {
	// Began tells of an attempt at a match that the player has accepted: the type of its game, and the role of the
	// player, each "" if unknown.
	Began(matchID, opponentID, gameType, role string)
	// Ended tells of the result of a match, with the reason of the referee, "" for none.
	Ended(m *protocol.PlayedMatch, reason string)
	// Refused tells that the referee has refused the last answer in a match, a free text, and why. If the player may try
	// again, the question comes again.
	Refused(matchID string, r Refusal)
}

// Totals count what a player has asked a program, a model or a server.
type Totals struct {
	Questions int    `json:"questions"`
	Failed    int    `json:"failed"`            // of the questions
	Fallback  string `json:"fallback,omitzero"` // strategy that chose then; "" if the player lost
	Cause     string `json:"cause,omitzero"`    // of the last failure, as in FailedError

	Model *protocol.ModelTotals `json:"model,omitzero"`
}

// A FailedError says why a program, a model or a server did not decide.
type FailedError struct {
	Cause string // for people and other agents: "bot.py: exit status 1"; at most 200 bytes, and nothing of this machine
	Err   error  // for the log of the player
}

// Error returns the text for the log.
func (e *FailedError) Error() string { return e.Err.Error() }

// Unwrap returns the error for the log.
func (e *FailedError) Unwrap() error { return e.Err }

// A Memory holds counts of finished matches. Safe for concurrent use.
type Memory struct {
	mu    sync.RWMutex
	drawn map[string]int    // draws by parity
	last  map[string]string // the last choice by opponent; that of any opponent under ""
	chose map[seen]int      // the choices of all opponents under ""
}

// seen is a choice of an opponent.
type seen struct{ opponentID, choice string }

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{drawn: map[string]int{}, last: map[string]string{}, chose: map[seen]int{}}
}

// Remember adds a finished match: the opponent's choice and the parity drawn, "" for
// none.
func (m *Memory) Remember(opponentID, choice, parity string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if parity != "" {
		m.drawn[parity]++
	}
	if choice == "" {
		return
	}
	for _, id := range [...]string{opponentID, ""} {
		m.last[id] = choice
		m.chose[seen{id, choice}]++
	}
}

// Drawn returns how often a parity was drawn.
func (m *Memory) Drawn(parity string) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.drawn[parity]
}

// Chose returns how often an opponent made a choice; for a new opponent, how often all
// opponents together did.
func (m *Memory) Chose(opponentID, choice string) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.chose[seen{m.about(opponentID), choice}]
}

// Last returns an opponent's last choice; for a new opponent, the last choice of any
// opponent; "" if there is none.
func (m *Memory) Last(opponentID string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.last[m.about(opponentID)]
}

// about returns the id of an opponent, and "" for a new one.
func (m *Memory) about(opponentID string) string {
	if _, met := m.last[opponentID]; met {
		return opponentID
	}
	return ""
}

// named returns the built-in strategies in the order of Names.
func named() []Strategy {
	return []Strategy{
		simple{"random", func(v View) string { return anyOf(v, v.Options) }},
		simple{"even", func(v View) string { return preferred(v, "even") }},
		simple{"odd", func(v View) string { return preferred(v, "odd") }},
		simple{"alternate", alternate},
		simple{"frequency", frequency},
		simple{"mirror", mirror},
		simple{"contrarian", contrarian},
		searcher{"perfect", tictactoe.Type, perfect},
		searcher{"lookahead", connectfour.Type, lookahead},
		equilibrium{},
	}
}

// A specialist is a strategy that plays only games of certain types. All other strategies
// play any game.
type specialist interface{ Games() []string }

// Playable returns the game types that a strategy plays, of those given.
func Playable(s Strategy, types []string) []string {
	limited, ok := s.(specialist)
	if !ok {
		return types
	}
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !slices.Contains(limited.Games(), t) })
}

// Fits returns an error if a strategy plays none of the given game types.
func Fits(s Strategy, types ...string) error {
	if len(types) == 0 || len(Playable(s, types)) > 0 {
		return nil
	}
	return fmt.Errorf("strategy %s plays %s, not %s", s.Name(), strings.Join(s.(specialist).Games(), ", "),
		strings.Join(types, ", "))
}

// For returns the name of a strategy that plays a game well: of one that plays only this game, else of the one that
// plays any.
func For(gameType string) string {
	for _, s := range named() {
		if limited, ok := s.(specialist); ok && slices.Contains(limited.Games(), gameType) {
			return s.Name()
		}
	}
	return "random"
}

// Specialties lists the specialists with their games, for a help text.
func Specialties() string {
	var parts []string
	for _, s := range named() {
		if limited, ok := s.(specialist); ok {
			parts = append(parts, s.Name()+" plays only "+strings.Join(limited.Games(), ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Names returns the names of the strategies.
func Names() []string {
	return lists.Map(named(), Strategy.Name)
}

// New returns the strategy with a name; the error for an unknown name lists all names.
func New(name string) (Strategy, error) {
	for _, s := range named() {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown strategy %q; choose one of: %s", name, strings.Join(Names(), ", "))
}

type simple struct {
	name   string
	choose func(View) string
}

func (s simple) Name() string { return s.name }

func (s simple) Choose(_ context.Context, v View) (string, error) {
	switch {
	case len(v.Options) > 0:
		return s.choose(v), nil
	case v.Text > 0:
		v.Options = texts(&v)
		return s.choose(v), nil
	}
	return "", fmt.Errorf("%s: no move to choose from", s.name)
}

// texts are those of a strategy that understands no words: the examples of the question, or greetings, but not the one
// that was refused.
func texts(v *View) []string {
	all := lists.Filter(protocol.ExamplesIn(v.Context), func(text string) bool { return len(text) <= v.Text })
	if len(all) == 0 {
		all = greetings(v.Text)
	}
	others := lists.Filter(all, func(text string) bool { return v.Refused == nil || text != v.Refused.Choice })
	if len(others) == 0 {
		return all
	}
	return others
}

// greetings are the texts, of at most so many bytes, of a strategy that understands no words. A game may refuse them.
func greetings(most int) []string {
	fitting := lists.Filter([]string{"hello", "yes", "no"}, func(text string) bool { return len(text) <= most })
	if len(fitting) == 0 {
		return []string{"?"}
	}
	return fitting
}

func anyOf(v View, options []string) string { return options[v.Random.IntN(len(options))] }

// preferred returns the wanted move if it is legal, else a random one.
func preferred(v View, want string) string {
	if slices.Contains(v.Options, want) {
		return want
	}
	return anyOf(v, v.Options)
}

// alternate takes the next option in each round.
func alternate(v View) string { return v.Options[(max(v.RoundID, 1)-1)%len(v.Options)] }

// frequency chooses the parity that was drawn most often. The draws are independent, so
// this gains nothing; the strategy exists for comparison.
func frequency(v View) string {
	return anyOf(v, commonest(v.Options, v.Memory().Drawn))
}

// mirror repeats the opponent's last choice.
func mirror(v View) string { return preferred(v, v.Memory().Last(v.OpponentID)) }

// contrarian avoids the opponent's most frequent choice: different choices earn 1.5
// points on average, equal ones 1.
func contrarian(v View) string {
	likely := commonest(v.Options, func(o string) int { return v.Memory().Chose(v.OpponentID, o) })
	if len(likely) == len(v.Options) {
		return anyOf(v, v.Options)
	}
	rest := slices.DeleteFunc(slices.Clone(v.Options), func(o string) bool { return slices.Contains(likely, o) })
	return anyOf(v, rest)
}

// commonest returns the options with the highest count.
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
