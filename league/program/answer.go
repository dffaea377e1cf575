package program

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/words"
	"evenodd/rules"
)

// The limits of a game. Sizes are in bytes, those of JSON without white space.
const (
	maxAnswer   = 256 << 10 // of a line
	maxTurns    = 400
	maxMove     = 2000
	maxMoves    = 32 << 10 // all moves of a match
	maxOptions  = 16 << 10 // as JSON
	maxView     = 8 << 10  // as JSON
	maxSmall    = 6 << 10  // options, view and board of a question that is not large
	maxText     = 500      // of a reason
	maxRules    = 2000
	maxName     = 50
	maxBoard    = 32 // rows, and cells of a row
	maxCell     = 3  // characters
	maxKinds    = 20 // of moves
	maxExamples = 20 // of texts
	maxQuoted   = 200
)

var typePattern = words.Pattern(`^[a-z][a-z0-9_]{0,39}$`)

// IsType tells whether a text can be the type of a game.
func IsType(text string) bool { return typePattern().MatchString(text) }

// A description is the answer to {"describe": 1}.
type description struct {
	info     rules.Info
	maxTurns int
}

// readDescription reads the answer to {"describe": 1}. The error says what is wrong, and where.
func readDescription(line string) (d description, err error) {
	r := &reader{}
	m := r.object("", compact(line), "type", "version", "display_name", "rules", "move_types", "valid_choices",
		"move_word", "max_turns", "max_moves", "max_move", "draws", "hidden", "large", "sides_alike")
	i := &d.info
	i.Type = r.kind("type", m["type"])
	i.Version = r.text(m, "version", maxName, true)
	i.DisplayName = r.text(m, "display_name", maxName, true)
	i.Rules = r.text(m, "rules", maxRules, true)
	for n, kind := range r.list("move_types", m["move_types"], maxKinds) {
		i.MoveTypes = append(i.MoveTypes, r.kind(at("move_types", n), kind))
	}
	i.MoveWord = r.text(m, "move_word", maxName, false)
	d.maxTurns = r.number(m, "max_turns", 1, maxTurns)
	i.MaxMoves = d.maxTurns
	if m["max_moves"] != nil {
		i.MaxMoves = r.number(m, "max_moves", 1, d.maxTurns)
	}
	i.MaxMove = r.number(m, "max_move", 1, maxMove)
	i.Draws, i.Hidden, i.Large = r.flag(m, "draws"), r.flag(m, "hidden"), r.flag(m, "large")
	i.SidesAlike = r.flag(m, "sides_alike")
	if m["valid_choices"] != nil {
		i.ValidChoices = map[string][]string{}
		choices := r.object("valid_choices", m["valid_choices"], i.MoveTypes...)
		for _, kind := range slices.Sorted(maps.Keys(choices)) {
			where := "valid_choices." + kind
			i.ValidChoices[kind] = r.options(where, choices[kind], i.MaxMove)
		}
	}
	switch most := 2 * i.MaxMoves * i.MaxMove; {
	case d.maxTurns > 2*i.MaxMoves:
		r.fail("max_moves", "%d moves of each side cannot fill %d turns: a turn has a move of one side or of both",
			i.MaxMoves, d.maxTurns)
	case most > maxMoves:
		r.fail("", "the moves of a match can have %d bytes (two sides, max_moves %d, max_move %d), more than %d: lower one "+
			"of them", most, i.MaxMoves, i.MaxMove, maxMoves)
	default:
		if err := rules.NewProgram(*i, d.maxTurns).CheckReport(); err != nil {
			r.fail("", "%v", err)
		}
	}
	return d, r.problem
}

// readState reads what a program says of a history with a number of entries.
func readState(line string, info *rules.Info, entries int) (state *rules.State, err error) {
	r, s := &reader{quiet: info.Hidden}, &rules.State{Winner: rules.NoSide}
	m := r.object("", compact(line), "to_move", "draw", "winner", "reason", "illegal", "board")
	var said []string
	for _, name := range []string{"to_move", "draw", "winner", "illegal"} {
		if m[name] != nil {
			said = append(said, name)
		}
	}
	if len(said) != 1 {
		r.fail("", "must have exactly one of to_move, draw, winner and illegal, has %s", orNone(said))
	}
	if m["reason"] != nil && m["winner"] == nil {
		r.fail("reason", "belongs to winner; that of an illegal entry is in illegal")
	}
	s.Board = r.board(m["board"])
	switch {
	case r.problem != nil:
	case m["to_move"] != nil:
		sides := r.object("to_move", m["to_move"], "A", "B")
		if len(sides) == 0 {
			r.fail("to_move", "must have A, B or both: the sides that move now")
		}
		for side, name := range []string{"A", "B"} {
			if sides[name] != nil {
				s.ToMove[side] = r.question("to_move."+name, sides[name], info, len(m["board"]))
			}
		}
	case m["draw"] != nil:
		s.Draw = r.number(m, "draw", 2, rules.MaxOutcomes)
		if !info.Draws {
			r.fail("draw", `the description has no "draws": true`)
		}
	case m["winner"] != nil:
		s.Over, s.Winner, s.Reason = true, r.side("winner", m["winner"]), r.reason(m)
	default:
		illegal := r.object("illegal", m["illegal"], "index", "side", "reason")
		s.Illegal = &rules.Illegal{}
		s.Illegal.Index = r.within("illegal.").number(illegal, "index", 0, max(entries-1, 0))
		s.Illegal.Side = r.side("illegal.side", illegal["side"])
		s.Illegal.Reason = r.within("illegal.").reason(illegal)
		if entries == 0 {
			r.fail("illegal", "the history is empty, so it is legal")
		}
	}
	return s, r.problem
}

// compact removes white space from JSON.
func compact(line string) jsontext.Value {
	value := jsontext.Value(line)
	_ = value.Compact() // reading it returns the error
	return value
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return words.And(list)
}

// at names an element of a list.
func at(list string, n int) string { return list + "[" + strconv.Itoa(n) + "]" }

// A reader reads an answer, and keeps the first problem.
type reader struct {
	problem error
	prefix  string // of the names of members
	quiet   bool   // a problem quotes no value, because it may be a secret
	of      *reader
}

// within returns a reader of the members of a member.
func (r *reader) within(prefix string) *reader { return &reader{prefix: prefix, quiet: r.quiet, of: r} }

func (r *reader) fail(where, format string, args ...any) {
	if r.of != nil {
		r.of.fail(r.prefix+where, format, args...)
		return
	}
	if r.problem == nil {
		text := fmt.Sprintf(format, args...)
		if where != "" {
			text = where + ": " + text
		}
		r.problem = Wrong("%s", text)
	}
}

// not quotes a value that is not as it must be.
func (r *reader) not(value jsontext.Value) string {
	switch {
	case value == nil:
		return ", and is missing"
	case r.quiet:
		return ""
	}
	return ", not " + words.Clip(string(value), 60)
}

// object reads an object with known members.
func (r *reader) object(where string, value jsontext.Value, known ...string) map[string]jsontext.Value {
	var members map[string]jsontext.Value
	err := json.Unmarshal(value, &members)
	switch {
	case value == nil || value.IsValid() && value.Kind() != '{':
		r.fail(where, "must be an object%s", r.not(value))
	case err != nil && r.quiet:
		r.fail(where, "is not valid JSON")
	case err != nil:
		r.fail(where, "is not valid JSON (%s): %s", reasonOf(err), words.Clip(string(value), maxQuoted))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			r.fail(where, "unknown member %q%s", words.Clip(name, maxName), words.DidYouMean(name, known))
		}
	}
	return members
}

// reasonOf returns the reason of a syntax error without the name of the library.
func reasonOf(err error) string {
	text := strings.TrimPrefix(err.Error(), "jsontext: ")
	if _, after, found := strings.Cut(text, "jsontext: "); found {
		text = after
	}
	return text
}

// list reads a list of at least one value.
func (r *reader) list(where string, value jsontext.Value, most int) (list []jsontext.Value) {
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil || len(list) == 0 || len(list) > most {
		r.fail(where, "must be a list of 1 to %d values%s", most, r.not(value))
		return nil
	}
	return list
}

// string reads a text of some bytes, all visible and in one line.
func (r *reader) string(where string, value jsontext.Value, most int) (text string) {
	if value.Kind() != '"' || json.Unmarshal(value, &text) != nil || len(text) > most || text == "" {
		r.fail(where, "must be a text of 1 to %d bytes%s", most, r.not(value))
		return ""
	}
	if words.Escape(text) != text {
		r.fail(where, "must be one line of visible characters%s", r.not(value))
	}
	return text
}

// text reads a member that is a text.
func (r *reader) text(m map[string]jsontext.Value, name string, most int, required bool) string {
	if m[name] == nil && !required {
		return ""
	}
	return r.string(name, m[name], most)
}

// reason reads a text for people. It may quote the words of a player, who could stop the league by invisible or too
// many characters: so they are escaped and clipped, and no problem of the program.
func (r *reader) reason(m map[string]jsontext.Value) (text string) {
	value := m["reason"]
	if value.Kind() != '"' || json.Unmarshal(value, &text) != nil || text == "" {
		r.fail("reason", "must be a text of at most %d bytes%s", maxText, r.not(value))
	}
	return words.Clip(words.Escape(text), maxText-len("…"))
}

// kind reads an identifier.
func (r *reader) kind(where string, value jsontext.Value) string {
	var text string
	if value.Kind() != '"' || json.Unmarshal(value, &text) != nil || !IsType(text) {
		r.fail(where, "must be 1 to 40 characters a-z, 0-9 and _, a letter first, such as liars_dice%s", r.not(value))
	} else if text == rules.Ready {
		r.fail(where, "is reserved: %s is the move of the first turn of each game with draws", text)
	}
	return text
}

// number reads a member that is a whole number.
func (r *reader) number(m map[string]jsontext.Value, name string, least, most int) (n int) {
	if value := m[name]; value.Kind() != '0' || json.Unmarshal(value, &n) != nil || n < least || n > most {
		r.fail(name, "must be a whole number from %d to %d%s", least, most, r.not(value))
		return least
	}
	return n
}

// flag reads a member that is true or false; false if it is missing.
func (r *reader) flag(m map[string]jsontext.Value, name string) bool {
	switch value := m[name]; {
	case value == nil || value.Kind() == 'f':
		return false
	case value.Kind() != 't':
		r.fail(name, "must be true or false%s", r.not(value))
	}
	return true
}

// side reads "A", "B" or null.
func (r *reader) side(where string, value jsontext.Value) rules.Side {
	side, known := map[string]rules.Side{`"A"`: rules.SideA, `"B"`: rules.SideB, "null": rules.NoSide}[string(value)]
	if !known {
		r.fail(where, `must be "A", "B" or null%s`, r.not(value))
	}
	return side
}

// options reads legal moves.
func (r *reader) options(where string, value jsontext.Value, most int) (options []string) {
	if len(value) > maxOptions {
		r.fail(where, "has %d bytes, more than %d: shorten the options", len(value), maxOptions)
	}
	seen := map[string]bool{}
	for n, v := range r.list(where, value, maxOptions) {
		option := r.string(at(where, n), v, most)
		switch {
		case seen[option]:
			r.fail(at(where, n), "is there already%s", r.not(v))
		case strings.TrimSpace(option) != option:
			r.fail(at(where, n), "must not begin or end with a blank%s", r.not(v))
		}
		seen[option] = true
		options = append(options, option)
	}
	return options
}

// question reads the question to a side, beside a board with a size.
func (r *reader) question(where string, value jsontext.Value, info *rules.Info, board int) *rules.Question {
	q, in := &rules.Question{}, r.within(where+".")
	m := r.object(where, value, "type", "options", "text", "examples", "view", "secret")
	if m["type"] == nil && len(info.MoveTypes) == 1 {
		q.MoveType = info.MoveTypes[0]
	} else if q.MoveType = in.kind("type", m["type"]); !slices.Contains(info.MoveTypes, q.MoveType) {
		in.fail("type", "must be one of move_types of the description: %s", strings.Join(info.MoveTypes, ", "))
	}
	switch options, text := m["options"], m["text"]; {
	case (options == nil) == (text == nil):
		r.fail(where, "must have either options or text")
	case options != nil:
		q.Options = in.options("options", options, info.MaxMove)
	default:
		q.Text = in.number(m, "text", 1, info.MaxMove)
	}
	q.Examples = in.examples(m["examples"], q.Text)
	q.View = in.view(m["view"])
	if q.Secret = in.flag(m, "secret"); q.Secret && !info.Hidden {
		in.fail("secret", `the description has no "hidden": true`)
	}
	if size := len(m["options"]) + len(m["examples"]) + len(m["view"]) + board; size > maxSmall && !info.Large {
		r.fail(where, "options, examples, view and board have %d bytes, more than %d: shorten them, or set \"large\": true in the "+
			"description", size, maxSmall)
	}
	return q
}

// examples reads legal texts of some bytes at most; none is no example.
func (r *reader) examples(value jsontext.Value, most int) (texts []string) {
	switch {
	case value == nil:
		return nil
	case most == 0:
		r.fail("examples", "belong to text: all legal moves are in options")
		return nil
	}
	for n, one := range r.list("examples", value, maxExamples) {
		texts = append(texts, r.string(at("examples", n), one, most))
	}
	return texts
}

// view reads what a side may see: a text, or an object.
func (r *reader) view(value jsontext.Value) (view any) {
	switch kind := value.Kind(); {
	case kind != '"' && kind != '{':
		r.fail("view", "must be a text or an object with what this side may see%s", r.not(value))
	case len(value) > maxView:
		r.fail("view", "has %d bytes, more than %d", len(value), maxView)
	case json.Unmarshal(value, &view) != nil:
		r.fail("view", "is not valid JSON")
	}
	return view
}

// board reads rows of cells; none is no board.
func (r *reader) board(value jsontext.Value) (board [][]string) {
	if value == nil {
		return nil
	}
	for n, row := range r.list("board", value, maxBoard) {
		var cells []string
		if json.Unmarshal(row, &cells) != nil || len(cells) == 0 || len(cells) > maxBoard ||
			n > 0 && len(cells) != len(board[0]) {
			r.fail(at("board", n), "must be a list of 1 to %d texts, as many as in each row%s", maxBoard, r.not(row))
			return nil
		}
		for i, cell := range cells {
			if utf8.RuneCountInString(cell) > maxCell || words.Escape(cell) != cell {
				r.fail(at(at("board", n), i), "must be a text of at most %d visible characters%s", maxCell, r.not(row))
			}
		}
		board = append(board, cells)
	}
	return board
}
