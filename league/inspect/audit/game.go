package audit

import (
	"slices"

	"evenodd/rules"
)

// A progress is the position of a game at a moment of a transcript.
type progress struct {
	position rules.Position // nil where it is not known
	moves    [2]string
	moved    [2]bool // the sides that have moved in this position
}

func (p *progress) known() bool { return p.position != nil }

// asks tells whether a side has a move to make in a known position.
func (p *progress) asks(side rules.Side) bool {
	return slices.Contains(p.position.ToMove(), side) && !p.moved[side]
}

// move makes a move that counts. After one that cannot count, the position is not
// known.
func (p *progress) move(side rules.Side, move string) {
	if !p.known() {
		return
	}
	if !p.asks(side) || p.position.Check(side, move) != nil {
		p.position = nil
		return
	}
	p.moves[side], p.moved[side] = move, true
	for _, other := range p.position.ToMove() {
		if !p.moved[other] {
			return
		}
	}
	*p = progress{position: p.position.Play(p.moves)}
}

// severalTurns tells whether the game is known and has more than one turn.
func (t *transcriptCheck) severalTurns() bool { return t.game != nil && t.game.MaxTurns() > 1 }

// legal tells whether a player may make a move now. Unknown is the answer where
// the position is not known.
func (t *transcriptCheck) legal(s *playerSide, move string, unknown bool) bool {
	switch {
	case t.game != nil && !t.severalTurns():
		return t.game.Start().Check(s.side, move) == nil
	case !t.progress.known():
		return unknown
	}
	return t.progress.position.Check(s.side, move) == nil
}
