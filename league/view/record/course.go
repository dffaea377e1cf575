package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A Step is a position of a match, and the moves and draws that led to it from the position before. The first
// position of a match has no moves. The turn in which the players of a game with draws are ready is no step.
type Step struct {
	Number int        `json:"move"` // of the turn that led here; 0 for the first position
	At     string     `json:"at,omitzero"`
	Moves  []MadeMove `json:"moves,omitzero"` // of the turn; those of player A first
	Draws  []MadeDraw `json:"draws,omitzero"` // after these moves
	// Opening are the plies that led to the first position, in words: those of player A and player B in turn.
	Opening []string   `json:"opening,omitzero"`
	Board   [][]string `json:"board,omitzero"` // rows of cells; absent for a game without a board
	Changed [][2]int   `json:"changed,omitzero"`
	Drawn   *int       `json:"drawn_number,omitzero"` // after the last move of a game with a number

	// TimeLeft is what the time banks of the players have then, in milliseconds, as far as it is known.
	TimeLeft league.PerPlayer[int] `json:"time_left_ms,omitzero"`

	Cells [][]Cell `json:"-"` // of the board
	Rows  []string `json:"-"` // names of its rows, for the reader; nil for none
}

// A MadeMove is a legal move.
type MadeMove struct {
	PlayerID string     `json:"player_id"`
	Side     rules.Side `json:"-"`
	Move     string     `json:"move"`
	Words    string     `json:"words"`           // "column 4"
	Speech   bool       `json:"speech,omitzero"` // the move is free text, and Words quote it
	Took     *float64   `json:"took_sec,omitzero"`
	GaveAway string     `json:"gave_away,omitzero"` // "win" or "draw", of the first such move of a player
	Better   string     `json:"better,omitzero"`    // a better move in words, if it gave away something

	used *protocol.TimeUsed
}

// Said are the words of the move after its player: "column 4", or says “Good morning.”
func (m *MadeMove) Said() string {
	switch {
	case m.Speech:
		return "says " + m.Words
	case m.Better != "":
		return m.Words + " ?"
	}
	return m.Words
}

// A MadeDraw is a draw during a match, as of a card or a die.
type MadeDraw struct {
	Of     int    `json:"of"`     // equally likely outcomes
	Number int    `json:"number"` // the outcome, from 0
	Words  string `json:"words"`  // "draw (0 to 5): 3"
}

// drawnIn is a draw of a game, which may be nil, in words.
func drawnIn(game rules.Game, of, number int) MadeDraw {
	d := MadeDraw{of, number, numbersInWords("draw", of, []int{number})}
	if says, ok := game.(rules.DrawSayer); ok {
		d.Words = says.SayDraw(number)
	}
	return d
}

// numbersInWords are the numbers of draws with so many outcomes: "draws (0 to 5): 4, 2, 1".
func numbersInWords(draws string, of int, numbers []int) string {
	return fmt.Sprintf("%s (0 to %d): %s", draws, of-1, strings.Join(lists.Map(numbers, strconv.Itoa), ", "))
}

// drawsInWords are draws in words, those in a row that have numbers alone together.
func drawsInWords(draws []MadeDraw) (all []string) {
	for len(draws) > 0 {
		first, n := draws[0], 0
		var numbers []int
		for n < len(draws) && draws[n].Of == first.Of &&
			draws[n].Words == numbersInWords("draw", first.Of, []int{draws[n].Number}) {
			numbers = append(numbers, draws[n].Number)
			n++
		}
		if n > 1 {
			all = append(all, numbersInWords("draws", first.Of, numbers))
		} else {
			n = 1
			all = append(all, first.Words)
		}
		draws = draws[n:]
	}
	return all
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
	Line    bool       // it belongs to the line that wins
}

// Class are the classes of the cell in HTML; "" for none.
func (c *Cell) Class() string {
	var classes []string
	switch {
	case c.Label:
		classes = append(classes, "label")
	case c.Owner != rules.NoSide:
		classes = append(classes, [...]string{"a", "b"}[c.Owner])
	case c.Text != "" && isBlank(c.Text):
		classes = append(classes, "blank")
	}
	if c.Changed {
		classes = append(classes, "new")
	}
	if c.Line {
		classes = append(classes, "line")
	}
	if c.Better {
		classes = append(classes, "better")
	}
	if utf8.RuneCountInString(c.Text) > 2 {
		classes = append(classes, "long")
	}
	return strings.Join(classes, " ")
}

// Words are the moves and draws of the step: "P01 column 4, P02 column 2".
func (s *Step) Words() string { return s.WordsBy(func(id string) string { return id }) }

// WordsBy is Words with the names that a function has for the ids of players.
func (s *Step) WordsBy(named func(id string) string) string {
	words := lists.Map(s.Moves, func(m MadeMove) string { return named(m.PlayerID) + " " + m.Said() })
	switch {
	case len(s.Opening) > 0:
		words = append(words, "after the opening: "+strings.Join(s.Opening, ", "))
	case len(words) == 0:
		words = append(words, "before the first move")
	}
	words = append(words, drawsInWords(s.Draws)...)
	if s.Drawn != nil {
		words = append(words, "number "+strconv.Itoa(*s.Drawn))
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
	game    rules.Game
	info    rules.Info
	matchID string
	chance  *rules.Chance // nil if the file does not reveal it
	players [2]string
	course  rules.Course
	made    [2]*MadeMove // in this turn
	broken  bool         // a move was not legal, or a draw is not known: the rest is not known
	erred   [2]bool
	steps   []Step
}

// follow rebuilds the positions of the match from the legal moves of its messages. A file without messages
// may have the moves beside them, and the result has those of a game of one turn. The steps end
// at a move that the rules do not allow. A match without a move has no steps. The positions of a game of a program are
// those of the file: see recorded.
func (c *Conversation) follow(doc *store.Match, games rules.Registry) {
	game, err := games.Game(c.GameType)
	if _, program := game.(*rules.Program); program || err != nil {
		c.Steps = recorded(doc, c.Lines, game)
		return
	}
	r := &replay{game: game, info: game.Info(), matchID: c.MatchID, chance: chanceOf(doc),
		players: [2]string{c.PlayerA.PlayerID, c.PlayerB.PlayerID}, course: rules.Begin(game)}
	switch {
	case len(doc.Opening) > 0:
		if !r.open(doc.Opening) {
			return
		}
	case !rules.HasDraws(game): // the first position of any other follows its ready turn
		r.add("")
	}
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
	if len(r.steps) <= 1 {
		return
	}
	if c.Result != nil && r.course.Over() {
		r.steps[len(r.steps)-1].Drawn = c.Result.DrawnNumber
	}
	label(r.steps, isLabel)
	r.markLine()
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
			m := MadeMove{PlayerID: u.From, Move: form.ChoiceIn(protocol.ParseObject(u.Message)), used: u.Used}
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
	m.Side, m.Words = side, r.info.Say(m.Move)
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

// add adds the step to the present position, and makes the draws that are due there.
func (r *replay) add(at string) {
	step := Step{Number: len(r.steps), Board: boardOf(r.course.Position())}
	if step.Number > 0 { // not after the ready turn
		step.At = at
		for _, m := range r.made {
			if m != nil {
				step.Moves = append(step.Moves, *m)
			}
		}
	}
	r.made = [2]*MadeMove{}
	r.steps = append(r.steps, step)
	settle(r.steps)
	if r.course.Outcomes() == 0 {
		return
	}
	if r.chance == nil {
		r.broken = true
		return
	}
	known := len(r.course.Draws())
	r.course = r.course.Settle(r.matchID, r.chance)
	last := &r.steps[step.Number]
	for _, d := range r.course.Draws()[known:] {
		last.Draws = append(last.Draws, drawnIn(r.game, d.Of, d.Number))
	}
	before := last.Board
	last.Board = boardOf(r.course.Position())
	for i, row := range last.Board {
		for k, text := range row {
			if c := &last.Cells[i][k]; text != before[i][k] {
				c.Text, c.Changed, c.Owner = text, true, rules.NoSide // nobody has done it
			}
		}
	}
	last.changed()
}

// markLine marks the line that wins, and names the rows of the boards.
func (r *replay) markLine() {
	lines, ok := r.course.Position().(rules.LineDrawer)
	if !ok {
		return
	}
	for i := range r.steps {
		r.steps[i].Rows = lines.RowNames()
	}
	if r.broken {
		return
	}
	for _, at := range lines.Line() {
		r.steps[len(r.steps)-1].Cells[at[0]][at[1]].Line = true
	}
}
