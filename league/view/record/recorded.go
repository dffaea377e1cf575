package record

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A recordedTurn is what the file of a match has of a turn.
type recordedTurn struct {
	at    string // of the last answer
	moves [2]*MadeMove
	board [][]string // before the moves
	draws []MadeDraw // before them
	ready bool       // it is the ready turn
}

// recorded returns the positions of a match whose file has the moves with their turns, the draws and the boards. So the
// game, which may be nil, need not be asked. A board that the file has not is that of the turn before. The file of an
// attempt that was given up has the moves in its messages alone.
func recorded(doc *store.Match, lines []Line, game rules.Game) []Step {
	r := turnsOf(doc, lines, game)
	first := 1
	if t := r.turns[1]; t != nil && (t.ready || len(doc.Draws) > 0 && t.isReady()) {
		first = 2
	}
	steps := []Step{{Opening: lists.Map(doc.Opening, infoOf(game).Say)}}
	for turn := first; ; turn++ {
		t := r.turns[turn]
		if t == nil {
			break
		}
		last := &steps[len(steps)-1]
		last.Board, last.Draws = visible(t.board), t.draws
		if t.moves == [2]*MadeMove{} {
			break
		}
		steps = append(steps, Step{Number: len(steps), At: t.at, Moves: t.made(game)})
	}
	if len(steps) == 1 {
		return nil
	}
	fill(steps)
	for i := range steps {
		settle(steps[:i+1])
	}
	label(steps, isMargin)
	return steps
}

// turnsOf collects what the file of a match has of its turns.
func turnsOf(doc *store.Match, lines []Line, game rules.Game) *recordedMatch {
	r := &recordedMatch{players: [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}, turns: map[int]*recordedTurn{}}
	r.messages(lines, doc.RefereeID)
	for _, m := range doc.Moves {
		r.move(m.Turn, MadeMove{PlayerID: m.PlayerID, Move: m.Move, Speech: isSpeech(m.Move)}, "")
	}
	for _, d := range doc.Draws {
		if d.Turn >= 1 && d.Of >= 2 && len(r.turn(d.Turn).draws) < maxDrawsShown {
			r.turn(d.Turn).draws = append(r.turn(d.Turn).draws, drawnIn(game, d.Of, d.Number))
		}
	}
	for _, b := range doc.Boards {
		r.turn(b.Turn).board = b.Cells
	}
	return r
}

// made are the moves of the turn, in words.
func (t *recordedTurn) made(game rules.Game) (moves []MadeMove) {
	info := infoOf(game)
	for _, m := range t.moves {
		if m == nil {
			continue
		}
		if m.Words = info.Say(m.Move); m.Speech {
			m.Words = quoted(m.Move)
		}
		moves = append(moves, *m)
	}
	return moves
}

// infoOf describes a game, which may be nil.
func infoOf(game rules.Game) rules.Info {
	if game == nil {
		return rules.Info{}
	}
	return game.Info()
}

// maxDrawsShown is the number of draws between two turns that are shown.
const maxDrawsShown = 100

// A recordedMatch has the turns of a match by their numbers.
type recordedMatch struct {
	players [2]string
	turns   map[int]*recordedTurn
}

func (r *recordedMatch) turn(number int) *recordedTurn {
	if r.turns[number] == nil {
		r.turns[number] = &recordedTurn{}
	}
	return r.turns[number]
}

// move adds a move of a turn, or what else is known of it. A move without a turn is none of such a game.
func (r *recordedMatch) move(turn int, m MadeMove, at string) {
	side := slices.Index(r.players[:], m.PlayerID)
	if m.Side = rules.Side(side); turn < 1 || side < 0 || m.Move == "" {
		return
	}
	t := r.turn(turn)
	if known := t.moves[side]; known != nil && known.Move == m.Move {
		return // by its message, which tells more
	}
	t.at, t.moves[side] = cmp.Or(at, t.at), &m
}

// isReady tells whether both sides were only ready.
func (t *recordedTurn) isReady() bool {
	return !slices.ContainsFunc(t.moves[:], func(m *MadeMove) bool { return m != nil && m.Move != rules.Ready })
}

// messages follows the moves in messages.
func (r *recordedMatch) messages(lines []Line, refereeID string) {
	type question struct {
		line        *Line
		MoveRequest struct {
			protocol.MoveRequest
			Context struct {
				Turn  int        `json:"turn"`
				Board [][]string `json:"board"`
			} `json:"context"`
		} `json:"move_request"`
	}
	asked := map[string]*question{} // the present one, by player
	for i := range lines {
		u := &lines[i]
		form := protocol.MoveFormBy(u.Method)
		switch {
		case form == nil:
		case u.From == refereeID && u.Try <= 1:
			q := &question{line: u}
			if json.Unmarshal(u.Message, q) == nil {
				turn := r.turn(q.MoveRequest.Context.Turn)
				turn.board, turn.ready = q.MoveRequest.Context.Board, q.MoveRequest.MoveType == rules.Ready
				asked[u.To] = q
			}
		case u.From != refereeID && u.Error == nil && u.Void == "" && asked[u.From] != nil:
			q := asked[u.From]
			m := MadeMove{PlayerID: u.From, Move: form.ChoiceIn(protocol.ParseObject(u.Message)), Speech: q.MoveRequest.Text > 0,
				used: u.Used}
			if !q.line.time.IsZero() && !u.time.Before(q.line.time) {
				took := u.time.Sub(q.line.time).Seconds()
				m.Took = &took
			}
			r.move(q.MoveRequest.Context.Turn, m, u.At)
		}
	}
}

// maxBoard is the most rows of a board that are shown, and the most cells of a row.
const maxBoard = 64

// visible returns a board of a file with visible cells of at most 3 characters; nil for one that is not rectangular, or
// too large.
func visible(board [][]string) [][]string {
	if len(board) == 0 || len(board) > maxBoard || len(board[0]) > maxBoard ||
		slices.ContainsFunc(board, func(row []string) bool { return len(row) != len(board[0]) }) {
		return nil
	}
	return lists.Map(board, func(row []string) []string { return lists.Map(row, cellOf) })
}

// fill gives each step a board of one size, if any has one: that of the step before, or at first an empty one.
func fill(steps []Step) {
	i := slices.IndexFunc(steps, func(s Step) bool { return s.Board != nil })
	if i < 0 {
		return
	}
	board := lists.Map(steps[i].Board, func(row []string) []string { return make([]string, len(row)) })
	for n := range steps {
		if own := steps[n].Board; len(own) == len(board) && len(own[0]) == len(board[0]) {
			board = own
		}
		steps[n].Board = board
	}
}

// isMargin tells whether a cell of a game of a program is a label, as the letters and numbers beside a board: the cells
// of a line at the edge that never change and all differ.
func isMargin(same [][]bool, board [][]string, row, column int) bool {
	if !same[row][column] {
		return false
	}
	margin := func(n int, cell func(i int) (row, column int)) bool {
		texts := map[string]bool{}
		for i := range n {
			row, column := cell(i)
			text := board[row][column]
			if !isBlank(text) && (!same[row][column] || texts[text]) {
				return false
			}
			texts[text] = true
		}
		return len(texts) > 2
	}
	lastRow, lastColumn := len(board)-1, len(board[0])-1
	return (row == 0 || row == lastRow) && margin(lastColumn+1, func(i int) (int, int) { return row, i }) ||
		(column == 0 || column == lastColumn) && margin(lastRow+1, func(i int) (int, int) { return i, column })
}
