// Package kuhnpoker is the game Kuhn poker, the smallest game of poker: a pack of three cards, one card for each of two
// players, and one round of bets. A match has twenty hands. All functions are pure.
package kuhnpoker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "kuhn_poker"

// MoveType is the only kind of move.
const MoveType = "act"

// The moves.
const (
	Check = "check"
	Bet   = "bet"
	Fold  = "fold"
	Call  = "call"
)

// Hands is the number of hands of a match.
const Hands = 20

// The members of the view of a side.
const (
	ViewHand    = "hand"    // number, from 1
	ViewCard    = "card"    // of the side: J, Q or K
	ViewBetting = "betting" // moves of this hand so far
	ViewChips   = "chips"   // that the side has won in the hands before; negative if it has lost more
	ViewHands   = "hands"   // the hands before: each with the members betting, card, chips and ViewShown
	ViewShown   = "shown"   // the card of the opponent in a hand before; absent after a fold
)

// cards are the names of the cards, from the lowest.
var cards = [3]string{"J", "Q", "K"}

// deals are the outcomes of a draw: the cards of PLAYER_A and PLAYER_B.
var deals = [6][2]int{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}

// Game is Kuhn poker. PLAYER_A moves first in the hands 1, 3, 5 and so on, PLAYER_B in the others.
type Game struct{}

var (
	_ rules.Game      = Game{}
	_ rules.DrawSayer = Game{}
	_ rules.Drawing   = position{}
	_ rules.Drawer    = position{}
)

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Kuhn Poker",
		Rules: "A match has 20 hands with the cards J, Q and K, of which K is the highest. In each hand both players pay " +
			"one chip and get one card, which the opponent does not see. Player A moves first in hand 1, then the players " +
			"take turns to move first. The first player checks or bets one chip. After a bet the other player folds, and " +
			"loses the hand, or calls with one chip. After a check the other player checks or bets; then the first player " +
			"folds or calls. If nobody folds, both cards are shown and the higher one wins the chips of the hand. The " +
			"player with more chips after all hands wins the match; equal chips are a draw.",
		MoveTypes:    []string{MoveType},
		ValidChoices: map[string][]string{MoveType: {Check, Bet, Fold, Call}},
		MaxMoves:     3 * Hands / 2,
		Draws:        true,
		Hidden:       true,
	}
}

// MaxTurns is three for each hand.
func (Game) MaxTurns() int { return 3 * Hands }

// Start returns the position before the first deal.
func (Game) Start() rules.Position { return position{} }

// SayDraw names the cards of player A and player B.
func (Game) SayDraw(outcome int) string {
	if outcome < 0 || outcome >= len(deals) {
		return "no deal"
	}
	deal := deals[outcome]
	return "deal: " + cards[deal[rules.SideA]] + " to A, " + cards[deal[rules.SideB]] + " to B"
}

// A hand is a hand as far as it was played.
type hand struct {
	cards [2]int // by side
	first rules.Side
	moves []string
	after string // the first letters of the moves, for options
}

// options are the legal moves by hand.after; the hand is over after any other.
var options = map[string][]string{
	"":   {Check, Bet},
	"c":  {Check, Bet},
	"b":  {Fold, Call},
	"cb": {Fold, Call},
}

// letter stands for a move in hand.after. Of check and call, which have the same letter, one is legal at most.
func letter(move string) string { return move[:1] }

func (h *hand) over() bool { return options[h.after] == nil }

// shown tells whether both sides have seen both cards.
func (h *hand) shown() bool { return h.over() && !strings.HasSuffix(h.after, "f") }

// paid returns the chips that a side has paid.
func (h *hand) paid(side rules.Side) int {
	paid := 1
	for i, move := range h.moves {
		if (h.first+rules.Side(i))%2 == side && (move == Bet || move == Call) {
			paid++
		}
	}
	return paid
}

// won returns the chips that a side wins in a hand that is over; they are negative if it loses.
func (h *hand) won(side rules.Side) int {
	winner := rules.SideA
	switch {
	case h.shown() && h.cards[rules.SideB] > h.cards[rules.SideA]:
		winner = rules.SideB
	case !h.shown(): // the side that would be next
		winner = (h.first + rules.Side(len(h.moves))) % 2
	}
	chips := min(h.paid(rules.SideA), h.paid(rules.SideB))
	if winner != side {
		return -chips
	}
	return chips
}

// seen returns what a side may see of a hand that is over.
func (h *hand) seen(side rules.Side) map[string]any {
	seen := map[string]any{ViewBetting: h.moves, ViewCard: cards[h.cards[side]], ViewChips: h.won(side)}
	if h.shown() {
		seen[ViewShown] = cards[h.cards[side.Other()]]
	}
	return seen
}

// position is a match between two moves or deals. The zero value is that before the first deal.
type position struct {
	hand                      // the last one; it is over while a deal is due
	hands int                 // that were dealt
	ended int                 // of these
	chips int                 // that SideA has won in the hands that are over
	seen  [2][]map[string]any // by side, of the hands that are over
	last  [2]string           // the last move of each side
}

// dealing tells whether a deal is due or the match is over.
func (p position) dealing() bool { return p.ended == p.hands }

// Outcomes returns the six deals of two of three cards.
func (p position) Outcomes() int {
	if p.dealing() && p.hands < Hands {
		return len(deals)
	}
	return 0
}

// Drawn deals the cards of the next hand.
func (p position) Drawn(outcome int) rules.Position {
	p.hand = hand{cards: deals[outcome], first: rules.Side(p.hands % 2)}
	p.hands++
	return p
}

func (p position) ToMove() []rules.Side {
	if p.dealing() {
		return nil
	}
	return []rules.Side{p.mover()}
}

// mover returns the side to move in a hand that is not over.
func (p position) mover() rules.Side { return (p.first + rules.Side(len(p.moves))) % 2 }

func (p position) Ask(side rules.Side) rules.Question {
	if p.checkTurn(side) != nil {
		return rules.Question{}
	}
	return rules.Question{MoveType: MoveType, Options: slices.Clone(options[p.after]), View: map[string]any{
		ViewHand: p.hands, ViewCard: cards[p.cards[side]], ViewBetting: append([]string{}, p.moves...),
		ViewChips: p.chipsOf(side), ViewHands: append([]map[string]any{}, p.seen[side]...),
	}}
}

// chipsOf returns what a side has won in the hands that are over.
func (p position) chipsOf(side rules.Side) int {
	if side == rules.SideB {
		return -p.chips
	}
	return p.chips
}

func (p position) checkTurn(side rules.Side) error {
	switch {
	case p.dealing():
		return errors.New("nobody is to move")
	case side != p.mover():
		return errors.New("it is the other's turn")
	}
	return nil
}

func (p position) Check(side rules.Side, move string) error {
	if err := p.checkTurn(side); err != nil {
		return err
	}
	if legal := options[p.after]; !slices.Contains(legal, move) {
		return fmt.Errorf("choice must be %s", strings.Join(legal, " or "))
	}
	return nil
}

func (p position) Play(moves [2]string) rules.Position {
	move := moves[p.mover()]
	p.last[p.mover()] = move
	p.moves, p.after = append(slices.Clip(p.moves), move), p.after+letter(move)
	if !p.over() {
		return p
	}
	p.ended++
	p.chips += p.won(rules.SideA)
	for side := range p.seen {
		p.seen[side] = append(slices.Clip(p.seen[side]), p.hand.seen(rules.Side(side)))
	}
	return p
}

// hidden is a card that a side does not see.
const hidden = "?"

// Draw returns a row for each side: its letter, its card, the chips that it has paid in this hand, and those that it
// has won in the hands that are over. Each side sees its own card, and that of the other after a showdown.
func (p position) Draw(side rules.Side) [][]string {
	drawn := [][]string{{"A", "", "", "0"}, {"B", "", "", "0"}}
	if p.hands == 0 {
		return drawn
	}
	for s := range rules.Side(2) {
		card := cards[p.cards[s]]
		if side == s.Other() && !p.shown() {
			card = hidden
		}
		chips := strconv.Itoa(p.chipsOf(s))
		if p.chipsOf(s) > 0 {
			chips = "+" + chips
		}
		drawn[s] = []string{drawn[s][0], card, strconv.Itoa(p.paid(s)), chips}
	}
	return drawn
}

// Judge counts the chips. Chance has had its part in the deals.
func (p position) Judge(rules.Chance) rules.Verdict {
	winner, chips, hands := rules.SideA, p.chips, p.ended
	switch {
	case chips == 0:
		winner = rules.NoSide
	case chips < 0:
		winner, chips = rules.SideB, -chips
	}
	return rules.Verdict{Winner: winner, Moves: p.last, Explain: func(_ rules.Verdict, ids [2]string) string {
		if winner == rules.NoSide {
			return fmt.Sprintf("Nobody has won chips after %d hands", hands)
		}
		unit := "chips"
		if chips == 1 {
			unit = "chip"
		}
		return fmt.Sprintf("%s has won %d %s from %s in %d hands", ids[winner], chips, unit, ids[winner.Other()], hands)
	}}
}

// Equilibrium returns the two legal moves of a side with a card after the betting so far in a hand, the one that pays a
// chip and the other one, and the probability of the first one in an equilibrium: that in which the first player bets
// with J one time in three. A side that plays so loses at most 1/18 chip in a hand on average if it moves first, and
// wins as much if it moves second, against any opponent. An error means that a card or a betting is not one of the
// game, or that nobody is to move after it.
func Equilibrium(card string, betting []string) (pay, pass string, probability float64, err error) {
	played := ""
	for _, move := range betting {
		if !slices.Contains(options[played], move) {
			return "", "", 0, fmt.Errorf("no betting of this game: %.60q", betting)
		}
		played += letter(move)
	}
	index := slices.Index(cards[:], card)
	if legal := options[played]; legal == nil || index < 0 {
		return "", "", 0, fmt.Errorf("nobody is to move with card %.10q after %.60q", card, betting)
	}
	probability = map[string][3]float64{ // with J, Q and K
		"":   {1. / 3, 0, 1},
		"c":  {1. / 3, 0, 1},
		"b":  {0, 1. / 3, 1},
		"cb": {0, 2. / 3, 1},
	}[played][index]
	if pay, pass = Bet, Check; slices.Contains(options[played], Call) {
		pay, pass = Call, Fold
	}
	return pay, pass, probability, nil
}
