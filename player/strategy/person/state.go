package person

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// A State is what a front end shows to the person: the view of its player, and nothing else. It shares nothing with the
// Person.
type State struct {
	Player   string // display name
	PlayerID string // "" before it is known
	Score    Score

	Match       string // id of the match that is shown; "" before the first one
	Opponent    string // display name, or the id if there is none
	OpponentID  string
	Game, Rules string    // display name and rules of the game; "" before they are known
	Role        string    // the letter of the player in the rules, A or B; "" if unknown
	Mark        string    // of the person on the board; "" if unknown
	Question    *Question // nil while no move is due
	Moved       bool      // the last question was answered
	Late        bool      // the last question was not answered in time
	Refused     string    // that the referee has refused the last text, and why; "" if it has not
	Board       [][]Cell  // nil for none
	Text        string    // what the player may see, if it is a text
	Facts       []Fact    // what the player may see, if it is an object; in the order of the names
	Opening     []string  // the plies with which the match began, in words; nil for none
	Moves       []Made
	Result      *Result // of the match; nil before its end
	Last        *Past   // the match before, that is over; nil for none

	End   string // why no more matches come; "" while they may
	Again bool   // the front end offers another league
}

// A Past is a match that is over.
type Past struct {
	Match, Opponent string
	Result          *Result
}

// A Question is a move that is due.
type Question struct {
	Number   int // which an answer names
	Deadline time.Time
	Options  []Option
	Text     int // the most bytes of free text; 0 for options
}

// An Option is a legal move.
type Option struct{ Move, Words string }

// A Cell is a cell of a board.
type Cell struct {
	Text  string
	Move  string // that the person makes by choosing the cell; "" for none
	Words string // of Move
	Own   bool   // a move of the person has changed it last
	Other bool   // a move of the opponent has
	New   bool   // the last move has
	Label bool   // it names a move, and is no cell of the game
}

// A Fact is a member of what a player may see.
type Fact struct{ Name, Value string }

// A Made is a move of a match.
type Made struct {
	Own   bool
	Words string
}

// Now returns the present state, and a channel that is closed when it has changed.
func (p *Person) Now() (*State, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &State{Player: p.options.Player, PlayerID: p.playerID, Score: p.score, End: p.end, Again: p.again}
	m := p.shown()
	if p.last != nil && p.last != m {
		s.Last = &Past{p.last.id, p.called(p.last), p.last.result}
	}
	if m == nil {
		return s, p.changed
	}
	s.Match, s.OpponentID, s.Opponent = m.id, m.opponent, p.called(m)
	s.Game, s.Rules, s.Result = m.info.DisplayName, m.info.Rules, m.result
	s.Moves, s.Board = m.made(p.playerID), m.drawn()
	s.Mark = m.mark()
	if m.side != rules.NoSide {
		s.Role = "AB"[m.side : m.side+1]
	}
	q := m.question
	if q == nil {
		return s, p.changed
	}
	s.Moved, s.Late = done(q.answered), done(q.late)
	if r := q.refused; r != nil && (q.spent || q.waits()) {
		s.Refused = fmt.Sprintf("%q was refused: %s", words.Clip(r.Choice, 60), r.Reason)
	}
	s.Opening = lists.Map(q.view.Opening, m.info.Say)
	s.Text, s.Facts = shownOf(q.view.Context[contextView], s.Board != nil)
	if q.waits() {
		s.Question = &Question{Number: q.number, Deadline: q.deadline, Text: q.view.Text,
			Options: lists.Map(q.view.Options, func(move string) Option { return Option{move, m.info.Say(move)} })}
	}
	return s, p.changed
}

// shown is the match that is shown: the first one whose question waits, else the one that began last, or the last one
// that is over. p.mu is held.
func (p *Person) shown() *match {
	for _, m := range p.open {
		if m.question != nil && m.question.waits() {
			return m
		}
	}
	if n := len(p.open); n > 0 {
		return p.open[n-1]
	}
	return p.last
}

// called is the display name of the opponent, or its id. p.mu is held.
func (p *Person) called(m *match) string {
	return cmp.Or(p.options.Named(m.opponent), m.named(), m.opponent)
}

// named is the display name of the opponent in the table; "" if it is not there.
func (m *match) named() string {
	if m.question == nil {
		return ""
	}
	table := m.question.view.Table
	for i := range table {
		if table[i].PlayerID == m.opponent {
			return table[i].DisplayName
		}
	}
	return ""
}

// shownOf returns the view of a question as a text, or as the members of an object: without the board, if that is
// drawn.
func shownOf(view any, drawn bool) (text string, facts []Fact) {
	switch v := view.(type) {
	case string:
		return v, nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == contextBoard && drawn {
				continue
			}
			facts = append(facts, Fact{name, valueOf(v[name])})
		}
	}
	return "", facts
}

// valueOf is a value as people read it: lists with commas, objects with names, and several of these with semicolons.
func valueOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	case []any:
		between := ", "
		if len(v) > 0 {
			if _, object := v[0].(map[string]any); object {
				between = "; "
			}
		}
		return strings.Join(lists.Map(v, valueOf), between)
	case []map[string]any:
		return strings.Join(lists.Map(v, func(one map[string]any) string { return valueOf(one) }), "; ")
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+valueOf(v[name]))
		}
		return strings.Join(parts, ", ")
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}

// mark is that of the person on the board, as the last question says; "" if it does not.
func (m *match) mark() string {
	if m.question == nil {
		return ""
	}
	view, _ := m.question.view.Context[contextView].(map[string]any)
	for _, members := range []map[string]any{m.question.view.Context, view} {
		if text, ok := members["mark"].(string); ok {
			return text
		}
	}
	return ""
}

// drawn is the board of the match; nil for none. A game of one turn needs none.
func (m *match) drawn() (cells [][]Cell) {
	var places map[string]place
	switch {
	case m.known && m.game.MaxTurns() > 1:
		cells, places = m.replayed()
	case !m.known && m.question != nil:
		board := boardIn(m.question.view.Context)
		cells, places = cellsOf(board), map[string]place{}
		mark(cells, m.board, func(c *Cell) { c.New = true })
		own(cells, m.mark())
		if m.waits() {
			places = named(board, m.question.view.Options)
		}
	}
	if len(cells) == 0 || !m.waits() {
		return cells
	}
	for _, option := range m.question.view.Options {
		if at, ok := places[option]; ok {
			cells[at.row][at.column].choose(option, m.info.Say(option))
		}
		for i := range cells {
			for k := range cells[i] {
				if cells[i][k].Text == option {
					cells[i][k].choose(option, m.info.Say(option))
				}
			}
		}
	}
	return cells
}

// choose makes a cell that of a move.
func (c *Cell) choose(move, words string) {
	if c.Move == "" {
		c.Move, c.Words = move, words
	}
}

// waits tells whether the last question can be answered.
func (m *match) waits() bool { return m.question != nil && m.question.waits() }

func cellsOf(board [][]string) [][]Cell {
	return lists.Map(board, func(row []string) []Cell {
		return lists.Map(row, func(text string) Cell { return Cell{Text: text} })
	})
}

// own gives the cells with a mark to the person, and those with other marks to the opponent. It does nothing without a
// mark.
func own(cells [][]Cell, mark string) {
	for _, row := range cells {
		for k := range row {
			if text := strings.Trim(row[k].Text, ". "); mark != "" && text != "" {
				row[k].Own, row[k].Other = text == mark, text != mark && len(text) == len(mark)
			}
		}
	}
}

// mark changes the cells whose text differs from the board before, if there is one.
func mark(cells [][]Cell, before [][]string, as func(*Cell)) {
	for i, row := range cells {
		for k := range row {
			if i < len(before) && k < len(before[i]) && row[k].Text != before[i][k] {
				as(&cells[i][k])
			}
		}
	}
}

// replayed is the board after the moves of the course, with the cells that the legal moves would fill.
func (m *match) replayed() (cells [][]Cell, fills map[string]place) {
	c := rules.Begin(m.game)
	first := m.draw(c)
	before := first
	cells = cellsOf(before)
	show := func(board [][]string, side rules.Side) {
		for i, row := range board {
			for k, text := range row {
				cells[i][k].Text, cells[i][k].New = text, false
			}
		}
		mark(cells, before, func(cell *Cell) {
			cell.New, cell.Own, cell.Other = true, side == m.side, side == m.side.Other()
		})
		before = board
	}
	for i, opening := 1, m.course.Opening(); i <= len(opening); i++ {
		c, _ = rules.BeginAfter(m.game, opening[:i]) // it is that of a course
		show(m.draw(c), rules.Side((i-1)%2))
	}
	turn, movers := 0, 0
	for _, made := range m.course.Moves() {
		if c.Turn() != turn {
			turn, movers = c.Turn(), len(c.ToMove())
		}
		if c, _ = c.Move(made.Side, made.Text); c.Turn() == turn { // they are those of a course
			continue
		}
		mover := rules.NoSide // both moved at once
		if movers == 1 {
			mover = made.Side
		}
		show(m.draw(c), mover)
	}
	label(cells, first, before)
	if m.waits() {
		fills = m.fills(cells, before)
	}
	return cells, fills
}

// label makes the cells of full rows labels that are the same on the first and the last board.
func label(cells [][]Cell, first, last [][]string) {
	for i, row := range last {
		if !slices.Contains(row, "") && slices.Equal(row, first[i]) {
			for k := range row {
				cells[i][k].Label = true
			}
		}
	}
}

// draw is the board as the person may see it; nil for none.
func (m *match) draw(c rules.Course) [][]string {
	if drawer, ok := c.Position().(rules.Drawer); ok {
		return drawer.Draw(m.side)
	}
	return nil
}

// A place is that of a cell.
type place struct{ row, column int }

// fills are the cells that the legal moves fill. Where the last row names the columns, and a move fills a cell of the
// column with its name, the whole rest of the column stands for it.
func (m *match) fills(cells [][]Cell, board [][]string) map[string]place {
	places := map[string]place{}
	for _, option := range m.question.view.Options {
		row, column, _, one := strategy.FilledBy(m.course, m.side, option, board)
		if !one {
			continue
		}
		places[option] = place{row, column}
		if last := cells[len(cells)-1][column]; !last.Label || last.Text != option {
			continue
		}
		for i := range cells {
			if cells[i][column].Text == "" {
				cells[i][column].choose(option, m.info.Say(option))
			}
		}
	}
	return places
}

// named are the cells that options name: by coordinates, or by the number of a card that lies face down.
func named(board [][]string, options []string) map[string]place {
	if places := coordinates(board, options); len(places) > 0 {
		return places
	}
	places := map[string]place{}
	for _, option := range options {
		n, err := strconv.Atoi(option)
		if err != nil || n < 1 || len(board) == 0 || n > len(board)*len(board[0]) {
			return nil
		}
		at := place{(n - 1) / len(board[0]), (n - 1) % len(board[0])}
		if board[at.row][at.column] != "?" {
			return nil
		}
		places[option] = at
	}
	return places
}

// coordinates are the cells that options name by a letter for the column and a number for the row, from the top left,
// such as a1: if all options do, and none of these cells is taken.
func coordinates(board [][]string, options []string) map[string]place {
	places := map[string]place{}
	for _, option := range options {
		if len(option) < 2 || option[1] == '0' {
			return nil
		}
		row, err := strconv.Atoi(option[1:])
		column := int(option[0]) - 'a'
		if err != nil || row < 1 || row > len(board) || column < 0 || column >= len(board[row-1]) ||
			strings.Trim(board[row-1][column], ". ") != "" {
			return nil
		}
		places[option] = place{row - 1, column}
	}
	return places
}
