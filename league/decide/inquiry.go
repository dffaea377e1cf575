package decide

import (
	"errors"
	"fmt"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// An Inquiry is what is asked of the program of a game about the match of a report, and what it says: whether each draw
// was due, and whether the whole history is legal and who has won. The caller asks the program as long as Asks has a
// question, and tells the answers by Told. Nil is that of a game of this program, of which nothing is to be asked. It
// is not safe for concurrent use.
type Inquiry struct {
	program *rules.Program
	opening int           // entries of history
	history []rules.Entry // the opening, then draws and moves
	draws   []int         // the indexes of the draws in history
	answers []*rules.State

	ids   [2]string
	moves []protocol.PlayerMove // of the report
	of    []protocol.Drawn      // of the report
	last  [2]rules.LastMove     // of each side
	ready [2]bool               // the sides that have moved in the ready turn

	wrong   error // how the report contradicts the rules; nil if it does not
	failure error // how the program failed; nil if it did not
}

// Inquire begins the inquiry about a report; nil for a game that is no program.
func (j *ReportJudge) Inquire(r *journal.MatchReported, ids [2]string) *Inquiry {
	program, ok := j.Game.(*rules.Program)
	if !ok {
		return nil
	}
	q := &Inquiry{program: program, opening: len(r.Opening), ids: ids, moves: r.Evidence.Moves, of: r.Draws}
	course, err := rules.BeginAfter(program, r.Opening)
	if q.wrong = err; err == nil {
		q.history = course.History()
		q.wrong = q.read()
	}
	return q
}

// read makes a history of the moves and draws of the report: the draws before each turn, then its moves. The ready turn
// is no part of it.
func (q *Inquiry) read() error {
	info, turn, before := q.program.Info(), 0, 0
	if !info.Draws && len(q.of) > 0 {
		return errors.New("draws: the game has none")
	}
	if !slices.IsSortedFunc(q.of, func(a, b protocol.Drawn) int { return a.Turn - b.Turn }) {
		return errors.New("draws: they are not in the order of turns")
	}
	for i := range q.moves {
		m := &q.moves[i]
		side, err := q.mover(i, turn)
		if err != nil {
			return err
		}
		ready := info.Draws && m.Turn == 1
		if m.Turn > turn {
			turn, before = m.Turn, i
			if !ready {
				q.drawn(turn)
				q.history = append(q.history, rules.Entry{})
			}
		}
		q.last[side] = rules.LastMove{Text: m.Move, Turn: turn, Before: before}
		if !ready {
			q.history[len(q.history)-1].Moves[side] = m.Move
		} else if q.ready[side] = m.Move == rules.Ready; !q.ready[side] {
			return fmt.Errorf("moves: move %d must be %q, not %.60q", i+1, rules.Ready, m.Move)
		}
	}
	q.drawn(turn + 1)
	switch n := len(q.draws); {
	case n < len(q.of):
		return fmt.Errorf("draws: draw %d is before turn %d, which the match did not reach", n+1, q.of[n].Turn)
	case info.Draws && len(q.history) > q.opening && q.ready != [2]bool{true, true}:
		return errors.New("moves: the ready turn, in which both players move, is missing")
	}
	return nil
}

// mover returns the side of move i from 0, after a move of a turn. The error says why the move cannot follow the ones
// before.
func (q *Inquiry) mover(i, turn int) (side int, err error) {
	m := &q.moves[i]
	side = slices.Index(q.ids[:], m.PlayerID)
	switch {
	case side < 0 || m.Move == "" || m.Turn < max(turn, 1) || m.Turn > turn+1:
		return side, fmt.Errorf("moves: move %d, %.60q of %.40q in turn %d, does not follow the one before", i+1, m.Move,
			m.PlayerID, m.Turn)
	case q.last[side].Turn == m.Turn || rules.Side(side) == rules.SideA && q.last[rules.SideB].Turn == m.Turn:
		return side, fmt.Errorf("moves: move %d, %.60q, is the second of %s in turn %d, or comes before that of %s", i+1,
			m.Move, m.PlayerID, m.Turn, q.ids[rules.SideA])
	}
	return side, nil
}

// drawn adds the draws before a turn.
func (q *Inquiry) drawn(turn int) {
	for n := len(q.draws); n < len(q.of) && q.of[n].Turn <= turn; n++ {
		q.draws = append(q.draws, len(q.history))
		q.history = append(q.history, rules.Entry{Draw: &q.of[n].Number})
	}
}

// begun tells whether there is anything to ask about: a move, and in a game with draws the ready turn of both sides.
func (q *Inquiry) begun() bool {
	return len(q.moves) > 0 && (!q.program.Info().Draws || q.ready == [2]bool{true, true})
}

// Asks returns the history that the program is to be asked about next; false if the inquiry is over.
func (q *Inquiry) Asks() (history []rules.Entry, due bool) {
	switch {
	case q == nil || q.wrong != nil || q.failure != nil || !q.begun() || len(q.answers) > len(q.of):
		return nil, false
	case len(q.answers) < len(q.of):
		return q.history[:q.draws[len(q.answers)]], true
	}
	return q.history, true
}

// Told takes what the program says of the history of Asks, or the error with which it failed.
func (q *Inquiry) Told(state *rules.State, err error) {
	history, due := q.Asks()
	if !due {
		return
	}
	if err != nil {
		q.failure = err
		return
	}
	number := len(q.answers) // of the draw, from 0
	q.answers = append(q.answers, state)
	switch refused := state.Illegal; {
	case refused != nil && (refused.Index < 0 || refused.Index >= len(history)):
		q.failure = fmt.Errorf("the program refuses entry %d of a history of %d", refused.Index, len(history))
	case refused != nil && refused.Index < q.opening:
		q.failure = q.program.Contradiction(refused)
	case refused != nil && number > 0 && refused.Index < q.draws[number-1]: // it had accepted the entry before
		q.failure = fmt.Errorf("the program refuses entry %d of a history that it had accepted before", refused.Index)
	case refused != nil:
		q.wrong = q.illegal(refused)
	case number < len(q.of) && state.Draw != q.of[number].Of:
		q.wrong = fmt.Errorf("draws: draw %d, before turn %d, has %d outcomes; by the rules of %s it has %d", number+1,
			q.of[number].Turn, q.of[number].Of, q.program.Info().Type, state.Draw)
	}
}

// illegal is the error for a report whose history the program refuses.
func (q *Inquiry) illegal(refused *rules.Illegal) error {
	entry := q.history[refused.Index]
	if entry.Draw != nil {
		return fmt.Errorf("draws: draw %d of them is not legal: %.200s", slices.Index(q.draws, refused.Index)+1,
			refused.Reason)
	}
	turn := 1
	for _, before := range q.history[q.opening:refused.Index] {
		if before.Draw == nil {
			turn++
		}
	}
	if q.program.Info().Draws {
		turn++
	}
	if refused.Side != rules.SideA && refused.Side != rules.SideB {
		return fmt.Errorf("moves: turn %d is not legal: %.200s", turn, refused.Reason)
	}
	side := refused.Side
	return fmt.Errorf("moves: that of %s in turn %d, %.60q, is not legal: %.200s", q.ids[side], turn, entry.Moves[side],
		refused.Reason)
}

// fail makes the program one that has failed.
func (q *Inquiry) fail(err error) {
	if q != nil {
		q.failure = err
	}
}

// Failure is how the program failed; nil if it did not.
func (q *Inquiry) Failure() error {
	if q == nil {
		return nil
	}
	return q.failure
}

// reached is how far the match of the report went.
func (q *Inquiry) reached() (after position, err error) {
	after.last = q.last
	switch {
	case q.wrong != nil || q.failure != nil:
		return after, errors.Join(q.wrong, q.failure)
	case !q.begun():
		after.owes = [2]bool{!q.ready[0], !q.ready[1]}
		return after, nil
	case len(q.answers) <= len(q.of):
		return after, errUnasked
	}
	end := q.answers[len(q.answers)-1]
	for side, question := range end.ToMove {
		after.owes[side] = question != nil
	}
	after.over, after.winner = end.Over, end.Winner
	return after, nil
}

var errUnasked = errors.New("the program of the game was not asked about the match")

// A position is how far a match went by its report.
type position struct {
	over   bool
	owes   [2]bool // the sides that are to move
	last   [2]rules.LastMove
	course rules.Course // of a game of this program
	winner rules.Side   // of a match that is over, in the game of a program
}

// judge is the verdict on a match that is over. That of a program has no moves.
func (p *position) judge(game rules.Game, chance rules.Chance) rules.Verdict {
	if _, program := game.(*rules.Program); program {
		return rules.Verdict{Winner: p.winner}
	}
	return p.course.Judge(chance)
}

// positionOf is the position that a course has reached.
func positionOf(c rules.Course) position {
	p := position{over: c.Over(), course: c}
	for side := range p.owes {
		p.owes[side], p.last[side] = c.Owes(rules.Side(side)), c.Last(rules.Side(side))
	}
	return p
}

// reportedDraws makes the draws of a course as a report has them. CheckDraws compares the numbers with those that
// follow from the secrets.
func reportedDraws(draws []protocol.Drawn) func(rules.Course) (rules.Course, error) {
	return func(c rules.Course) (rules.Course, error) {
		n := len(c.Draws())
		if n >= len(draws) {
			return c, &drawsError{fmt.Sprintf("draw %d, before turn %d, is missing", n+1, c.Turn())}
		}
		d := draws[n]
		if d.Turn != c.Turn() || d.Of != c.Outcomes() || d.Number < 0 || d.Number >= d.Of {
			return c, &drawsError{fmt.Sprintf("draw %d is %d of %d outcomes before turn %d; by the rules it has %d, before "+
				"turn %d", n+1, d.Number, d.Of, d.Turn, c.Outcomes(), c.Turn())}
		}
		return c.Drawn(d.Number), nil
	}
}

// A drawsError says which draw of a report is not possible.
type drawsError struct{ text string }

func (e *drawsError) Error() string { return "draws: " + e.text }

// CheckDraws compares the draws of a report with those that follow from the secrets of the match.
func CheckDraws(r *journal.MatchReported, chance rules.Chance) error {
	for i, d := range r.Draws {
		if d.Of < 2 || d.Of > rules.MaxOutcomes {
			return fmt.Errorf("draws: draw %d has %d outcomes", i+1, d.Of)
		}
		if number := chance.Draw(r.MatchID.String(), i+1, d.Of); d.Number != number {
			return fmt.Errorf("draws: draw %d is %d; by the nonce and the entropies it is %d", i+1, d.Number, number)
		}
	}
	return nil
}
