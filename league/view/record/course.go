package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// A Step is a position of a match, and the moves that led to it from the position before. The first
// position of a match has no moves.
type Step struct {
	Number  int        `json:"move"` // of the turn that led here; 0 for the first position
	At      string     `json:"at,omitzero"`
	Moves   []MadeMove `json:"moves,omitzero"` // of the turn; those of player A first
	Board   [][]string `json:"board,omitzero"` // rows of cells; absent for a game without a board
	Changed [][2]int   `json:"changed,omitzero"`
	Drawn   *int       `json:"drawn_number,omitzero"` // after the last move of a game with a number

	Cells [][]Cell `json:"-"` // of the board
}

// A MadeMove is a legal move.
type MadeMove struct {
	PlayerID string   `json:"player_id"`
	Move     string   `json:"move"`
	Words    string   `json:"words"` // "column 4"
	Took     *float64 `json:"took_sec,omitzero"`
	GaveAway string   `json:"gave_away,omitzero"` // "win" or "draw", of the first such move of a player
	Better   string   `json:"better,omitzero"`    // a better move in words, if it gave away something
}

// Mistake says what a move gave away; "" for nothing.
func (m *MadeMove) Mistake() string {
	if m.Better == "" {
		return ""
	}
	return "gave away a " + m.GaveAway + "; better: " + m.Better
}

// A Cell is a cell of a board.
type Cell struct {
	Text    string
	Owner   rules.Side // whose move changed it last; NoSide for none
	Changed bool       // it differs from the position before
	Label   bool       // it has this text in all positions, such as the name of a column
	Better  bool       // the better move would have changed it
}

// Words are the moves of the step: "P01 column 4, P02 column 2".
func (s *Step) Words() string {
	words := lists.Map(s.Moves, func(m MadeMove) string {
		if m.Better != "" {
			return m.PlayerID + " " + m.Words + " ?"
		}
		return m.PlayerID + " " + m.Words
	})
	if s.Drawn != nil {
		words = append(words, "number "+strconv.Itoa(*s.Drawn))
	}
	if len(words) == 0 {
		return "before the first move"
	}
	return strings.Join(words, ", ")
}

// Took is the longest time that a move of the step took; nil if it is not known.
func (s *Step) Took() (longest *float64) {
	for _, m := range s.Moves {
		if m.Took != nil && (longest == nil || *m.Took > *longest) {
			longest = m.Took
		}
	}
	return longest
}

// Mistakes are the moves of the step that gave away a win or a draw.
func (s *Step) Mistakes() []MadeMove {
	return lists.Filter(s.Moves, func(m MadeMove) bool { return m.Better != "" })
}

// Mistakes are the first moves of the players that gave away a win or a draw: "move 4 ? P01 gave away a
// draw; better: cell 0".
func (c *Conversation) Mistakes() (list []string) {
	for i := range c.Steps {
		for _, m := range c.Steps[i].Mistakes() {
			list = append(list, fmt.Sprintf("move %d ? %s %s", c.Steps[i].Number, m.PlayerID, m.Mistake()))
		}
	}
	return list
}

// A replay follows the moves of a match.
type replay struct {
	info    rules.Info
	players [2]string
	course  rules.Course
	made    [2]*MadeMove // in this turn
	broken  bool         // a move was not legal: the rest is not known
	erred   [2]bool
	steps   []Step
}

// follow rebuilds the positions of the match from the legal moves of its messages. A file without messages
// may have the moves beside them, and the result has those of a game of one turn. The steps end
// at a move that the rules do not allow. A match without a move has no steps.
func (c *Conversation) follow(doc *store.Match, games rules.Registry) {
	game, err := games.Game(c.GameType)
	if err != nil {
		return
	}
	r := &replay{info: game.Info(), players: [2]string{c.PlayerA.PlayerID, c.PlayerB.PlayerID}, course: rules.Begin(game)}
	r.add("")
	r.messages(c.Lines, c.RefereeID)
	if len(c.Lines) == 0 {
		for _, m := range doc.Moves {
			r.move(MadeMove{PlayerID: m.PlayerID, Move: m.Move}, "")
		}
	}
	if len(r.steps) == 1 && c.Result != nil && !rules.ListsMoves(game) {
		for side, move := range c.Result.Moves(r.players) {
			r.move(MadeMove{PlayerID: r.players[side], Move: move}, "")
		}
	}
	if len(r.steps) == 1 {
		return
	}
	if c.Result != nil && r.course.Over() {
		r.steps[len(r.steps)-1].Drawn = c.Result.DrawnNumber
	}
	label(r.steps)
	c.Steps = r.steps
}

// messages follows the moves in messages, and marks the messages of mistakes.
func (r *replay) messages(lines []Line, refereeID string) {
	asked := map[string]time.Time{} // when the present question to a player was first put
	for i := range lines {
		u := &lines[i]
		form := protocol.MoveFormBy(u.Method)
		switch {
		case form == nil:
		case u.From == refereeID && u.Try <= 1:
			asked[u.To] = u.time
		case u.From != refereeID && u.Error == nil && u.Void == "":
			m := MadeMove{PlayerID: u.From, Move: form.ChoiceIn(protocol.ParseObject(u.Message))}
			if at := asked[u.From]; !at.IsZero() && !u.time.Before(at) {
				took := u.time.Sub(at).Seconds()
				m.Took = &took
			}
			u.Mark = r.move(m, u.At)
		}
	}
}

// move makes a move, and the turn if all its moves are made. It returns what the move gave away.
func (r *replay) move(m MadeMove, at string) (mistake string) {
	side, before := rules.Side(slices.Index(r.players[:], m.PlayerID)), r.course
	if r.broken || !before.Owes(side) {
		return ""
	}
	after, err := before.Move(side, m.Move)
	if r.broken = err != nil; r.broken {
		return ""
	}
	m.Words = r.info.Say(m.Move)
	position := before.Position()
	better := rules.Better(position, m.Move)
	if better != "" && !r.erred[side] {
		r.erred[side] = true
		m.Better, m.GaveAway = r.info.Say(better), "draw"
		if position.(rules.Solver).Value() == side {
			m.GaveAway = "win"
		}
	}
	r.made[side], r.course = &m, after
	if after.Turn() == before.Turn() {
		return ""
	}
	r.add(at)
	if m.Better != "" {
		var moves [2]string
		moves[side] = better
		last := &r.steps[len(r.steps)-1]
		mark(last.Cells, boardOf(before.Play(moves).Position()), boardOf(position), func(c *Cell) { c.Better = true })
	}
	return m.Mistake()
}

// add adds the step to the present position.
func (r *replay) add(at string) {
	step := Step{Number: len(r.steps), At: at, Board: boardOf(r.course.Position())}
	mover := rules.NoSide // the only one
	for side, m := range r.made {
		if m != nil {
			step.Moves, mover = append(step.Moves, *m), rules.Side(side)
		}
	}
	if len(step.Moves) != 1 {
		mover = rules.NoSide
	}
	for i, row := range step.Board {
		step.Cells = append(step.Cells, lists.Map(row, func(text string) Cell {
			return Cell{Text: text, Owner: rules.NoSide}
		}))
		for k := range row {
			if step.Number > 0 {
				step.Cells[i][k].Owner = r.steps[step.Number-1].Cells[i][k].Owner
			}
		}
	}
	if step.Number > 0 {
		step.Changed = mark(step.Cells, step.Board, r.steps[step.Number-1].Board, func(c *Cell) {
			c.Changed, c.Owner = true, mover
		})
	}
	r.steps, r.made = append(r.steps, step), [2]*MadeMove{}
}

// boardOf is the board of a position; nil for none. A cell is at most 3 characters of visible text.
func boardOf(p rules.Position) [][]string {
	drawer, ok := p.(rules.Drawer)
	if !ok {
		return nil
	}
	return lists.Map(drawer.Draw(rules.NoSide), func(row []string) []string {
		return lists.Map(row, func(cell string) string {
			text := []rune(words.Escape(cell))
			return string(text[:min(len(text), 3)])
		})
	})
}

// mark marks the cells in which two boards of one size differ, and returns their places.
func mark(cells [][]Cell, one, other [][]string, as func(c *Cell)) (places [][2]int) {
	for i, row := range one {
		for k, text := range row {
			if text != other[i][k] {
				as(&cells[i][k])
				places = append(places, [2]int{i, k})
			}
		}
	}
	return places
}

// label marks the cells that have the same text in all positions.
func label(steps []Step) {
	for i, row := range steps[0].Board {
		for k, text := range row {
			same := text != "" && !slices.ContainsFunc(steps, func(s Step) bool { return s.Board[i][k] != text })
			for n := range steps {
				steps[n].Cells[i][k].Label = same
			}
		}
	}
}
