package audit_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"evenodd/rules"
)

// bids is a game with a draw, a hidden prize, secret moves and a word. PLAYER_A alone sees the prize, both bid in
// secret so many times, and PLAYER_A says a word that does not begin with x. The higher sum of bids wins.
type bids int

func (bids) Info() rules.Info {
	return rules.Info{Type: "bids", DisplayName: "Bids", Rules: "Bid.", MoveTypes: []string{"bid", "word"}, MaxMoves: 3,
		Draws: true, Hidden: true}
}

func (b bids) MaxTurns() int         { return int(b) + 1 }
func (b bids) Start() rules.Position { return bidsPosition{rounds: int(b), prize: -1} }

type bidsPosition struct {
	rounds int // of bids
	prize  int // from 0; -1 before the draw
	bids   [][2]string
	word   string
}

func (p bidsPosition) Outcomes() int {
	if p.prize < 0 {
		return 4
	}
	return 0
}

func (p bidsPosition) Drawn(outcome int) rules.Position {
	p.prize = outcome
	return p
}

func (p bidsPosition) ToMove() []rules.Side {
	switch {
	case p.prize < 0, p.word != "":
		return nil
	case len(p.bids) == p.rounds:
		return []rules.Side{rules.SideA}
	}
	return []rules.Side{rules.SideA, rules.SideB}
}

func (p bidsPosition) Ask(side rules.Side) rules.Question {
	view := map[string]any{"round": len(p.bids) + 1}
	if side == rules.SideA {
		view["prize"] = p.prize
	}
	if len(p.bids) == p.rounds {
		return rules.Question{MoveType: "word", Text: 20, View: view}
	}
	return rules.Question{MoveType: "bid", Options: []string{"1", "2", "3"}, View: view, Secret: true}
}

func (p bidsPosition) Check(side rules.Side, move string) error {
	switch options := p.Ask(side).Options; {
	case options != nil && !slices.Contains(options, move):
		return errors.New("no bid")
	case options == nil && strings.HasPrefix(move, "x"):
		return errors.New("no word begins with x")
	}
	return nil
}

func (p bidsPosition) Play(moves [2]string) rules.Position {
	if len(p.bids) == p.rounds {
		p.word = moves[rules.SideA]
	} else {
		p.bids = append(slices.Clip(p.bids), moves)
	}
	return p
}

func (p bidsPosition) Judge(rules.Chance) rules.Verdict {
	var sums [2]int
	for _, turn := range p.bids {
		for side, bid := range turn {
			n, _ := strconv.Atoi(bid)
			sums[side] += n
		}
	}
	v := rules.Verdict{Winner: rules.NoSide,
		Explain: func(rules.Verdict, [2]string) string { return "the bids are compared" }}
	if sums[rules.SideA] != sums[rules.SideB] {
		v.Winner = rules.SideA
		if sums[rules.SideA] < sums[rules.SideB] {
			v.Winner = rules.SideB
		}
	}
	return v
}
