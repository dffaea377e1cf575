package conduct

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A Board is what the program of a game has shown of the board.
type Board struct {
	Turn  int // before which it was so, from 1
	Cells [][]string
}

// Boards are the boards that the program of the game has shown, in order of turns, each with another turn. The caller
// must not change them.
func (m *Match) Boards() []Board { return m.boards }

// Draws are the draws so far. The caller must not change them.
func (m *Match) Draws() []rules.Draw { return m.course.Draws() }

// NextTurn is the turn that is being played, or comes next while nobody owes an answer, from 1.
func (m *Match) NextTurn() int { return m.course.Turn() }

// Awaits tells whether the match goes on only with what the program of the game says of a history. If so, the caller
// asks it, and then calls Told. Next does not go on before.
func (m *Match) Awaits() (history []rules.Entry, due bool) {
	if !m.course.Awaits() || m.state == protocol.StateAssigned || m.sides[0].owes || m.sides[1].owes || m.Decided() ||
		m.givenUp || m.strayed {
		return nil, false
	}
	return m.course.History(), true
}

// Told goes on with what the program says of the history of Awaits, and makes a draw that is due. The error says how
// the program contradicts what it said before: the attempt cannot go on.
func (m *Match) Told(state *rules.State) error {
	course, err := m.course.Told(state)
	if err != nil {
		return err
	}
	if len(state.Board) > 0 {
		if n := len(m.boards); n > 0 && m.boards[n-1].Turn == course.Turn() { // before a draw
			m.boards = m.boards[: n-1 : n-1]
		}
		m.boards = append(m.boards, Board{course.Turn(), state.Board})
	}
	m.course = course
	m.settle()
	return nil
}

// CheckSize returns an error if a question by what the program has just said, or a report with the moves so far, would
// be larger than agents read: no player loses a match by that. It counts 2 KB for the rest of a question, and 4 KB and
// two moves for that of a report.
func (m *Match) CheckSize(state *rules.State) error {
	m.collectMoves()
	info := m.game.Info()
	largest, what := m.listed+rules.ReportRest+2*info.MaxMove, "the report"
	for side, q := range state.ToMove {
		if q == nil {
			continue
		}
		text, err := json.Marshal([]any{q.Options, q.Examples, q.View, m.board(rules.SideA), info.Rules})
		if err != nil {
			return fmt.Errorf("what the program says has no encoding as JSON: %w", err)
		}
		if size := m.listed + m.sides[side].veiled + len(text) + rules.QuestionRest; size > largest {
			largest, what = size, "a question"
		}
	}
	return info.CheckSize(fmt.Sprintf("in turn %d %s has", m.course.Turn(), what), largest)
}

// settle makes all draws that are due, by the entropies that both sides have revealed in the ready turn.
func (m *Match) settle() {
	if m.course.Outcomes() > 0 {
		chance, before := m.chance(), len(m.course.Draws())
		m.course = m.course.Settle(m.assignment.MatchID, &chance)
		m.listed += (len(m.course.Draws()) - before) * rules.DrawSize
	}
}

// Legal tells whether only the program of the game can say if an answer is legal, which is right in all else: a move in
// free text. If so, the caller asks it about the history, and then calls Refuse, before Judge.
func (m *Match) Legal(of rules.Side, r *Reply) (history []rules.Entry, due bool) {
	if m.state != protocol.StateCollectingChoices || !m.asksText(of) || m.judgeReply(&m.sides[of], of, r) != nil {
		return nil, false
	}
	history = m.course.History()
	if other := of.Other(); m.course.Last(other).Turn == m.course.Turn() { // a move is judged alone, whichever comes first
		history = history[:len(history)-1]
	}
	var moves [2]string
	moves[of] = r.Choice
	return append(history, rules.Entry{Moves: moves}), true
}

// asksText tells whether a side is asked for a move in free text.
func (m *Match) asksText(of rules.Side) bool { return m.views && m.course.Ask(of).Text > 0 }

// Refuse makes an answer one that the program of the game refuses, if it does so by what it says of a history of Legal.
// The error says how the program contradicts what it said before.
func (m *Match) Refuse(of rules.Side, r *Reply, history []rules.Entry, state *rules.State) error {
	switch refused := state.Illegal; {
	case refused == nil:
	case refused.Index != len(history)-1 || refused.Side != of:
		return m.game.(*rules.Program).Contradiction(refused) //nolint:forcetypeassert // only a program is asked
	default:
		r.Refused = refused
	}
	return nil
}
