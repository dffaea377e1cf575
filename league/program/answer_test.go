package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
)

// described is the answer to {"describe": 1} with changed members; null removes one.
func described(changes ...string) string {
	members := []string{
		`"type": "nim"`, `"version": "1"`, `"display_name": "Nim"`, `"rules": "Take sticks."`,
		`"move_types": ["take", "pass"]`,
		`"max_turns": 12`, `"max_moves": 6`, `"max_move": 5`, `"draws": true`, `"hidden": true`,
	}
	for _, c := range changes {
		name, _, _ := strings.Cut(c, ":")
		for i, m := range members {
			if strings.HasPrefix(m, name+":") {
				members[i] = ""
			}
		}
		if !strings.HasSuffix(c, "-") {
			members = append(members, c)
		}
	}
	return "{" + strings.Join(strings.FieldsFunc(strings.Join(members, "\x00"), func(r rune) bool { return r == 0 }),
		",") + "}"
}

func TestDescription(t *testing.T) {
	d, err := readDescription(described(`"move_word": "stick"`, `"valid_choices": {"pass": ["no"]}`, `"large": true`))
	require.NoError(t, err)
	assert.Equal(t, description{rules.Info{
		Type: "nim", Version: "1", DisplayName: "Nim", Rules: "Take sticks.", MoveTypes: []string{"take", "pass"},
		MaxMoves: 6,
		MaxMove:  5, Draws: true, Hidden: true, Large: true, MoveWord: "stick",
		ValidChoices: map[string][]string{"pass": {"no"}},
	}, 12}, d)
	d, err = readDescription(described(`"max_moves":-`))
	require.NoError(t, err)
	assert.Equal(t, 12, d.info.MaxMoves, "that of all turns")
}

func TestWrongDescriptions(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{`{`, "is not valid JSON (unexpected EOF"},
		{`{"type": "nim", "type": "nim"}`, `is not valid JSON (duplicate object member name "type")`},
		{`{"type": 'nim'}`, "is not valid JSON (invalid character '\\'' at start of value"},
		{described(`"tpye": "nim"`), `unknown member "tpye" (did you mean type?)`},
		{described(`"type":-`),
			"type: must be 1 to 40 characters a-z, 0-9 and _, a letter first, such as liars_dice, and is missing"},
		{described(`"type": "Nim!"`),
			`type: must be 1 to 40 characters a-z, 0-9 and _, a letter first, such as liars_dice, not "Nim!"`},
		{described(`"move_types": ["ready"]`), "move_types[0]: is reserved: ready is the move of the first turn"},
		{described(`"move_types": []`), "move_types: must be a list of 1 to 20 values, not []"},
		{described(`"version": 1`), "version: must be a text of 1 to 50 bytes, not 1"},
		{described(`"version": "1\n2"`), `version: must be one line of visible characters`},
		{described(`"rules": ""`), "rules: must be a text of 1 to 2000 bytes"},
		{described(`"max_turns": 401`), "max_turns: must be a whole number from 1 to 400, not 401"},
		{described(`"max_turns": 1.5`), "max_turns: must be a whole number from 1 to 400, not 1.5"},
		{described(`"max_turns": "12"`), "max_turns: must be a whole number"},
		{described(`"max_moves": 13`), "max_moves: must be a whole number from 1 to 12, not 13"},
		{described(`"max_moves": 5`), "max_moves: 5 moves of each side cannot fill 12 turns"},
		{described(`"max_move": 2001`), "max_move: must be a whole number from 1 to 2000"},
		{described(`"max_turns": 18`, `"max_moves": 9`, `"max_move": 2000`),
			"the moves of a match can have 36000 bytes (two sides, max_moves 9, max_move 2000), more than 32768: lower one of them"},
		{described(`"max_turns": 225`, `"max_moves": 225`, `"max_move": 3`),
			"the report of a match of 225 turns, with 225 moves of each side, can " +
				`have 23984 bytes, more than the 10 KB of a message: set "large": true in the description of the game, or lower max_turns`},
		{described(`"max_turns": 400`, `"max_moves": 400`, `"max_move": 40`, `"large": true`),
			"can have 69058 bytes, more than the 64 KB of a " +
				"message: make views and options smaller, or lower max_turns"},
		{described(`"hidden": 1`), "hidden: must be true or false, not 1"},
		{described(`"valid_choices": {"take": ["longer"]}`),
			`valid_choices.take[0]: must be a text of 1 to 5 bytes, not "longer"`},
		{described(`"valid_choices": {"tale": ["a"]}`), `valid_choices: unknown member "tale" (did you mean take?)`},
	} {
		_, err := readDescription(tt.answer)
		require.ErrorContains(t, err, tt.want, tt.answer)
		var wrong *WrongAnswerError
		assert.ErrorAs(t, err, &wrong)
	}
}

func openInfo() *rules.Info {
	return &rules.Info{MoveTypes: []string{"take", "pass"}, MaxMove: 5, Draws: true, Hidden: false}
}

func TestStates(t *testing.T) {
	hidden := openInfo()
	hidden.Hidden = true
	for _, tt := range []struct {
		answer string
		want   *rules.State
	}{
		{`{"to_move": {"B": {"type": "take", "options": ["1", "2 x"], "view": {"a": [1, null]}}}, "board": [["x", "♚♛♜"], ["", "."]]}`,
			&rules.State{Winner: rules.NoSide, Board: [][]string{{"x", "♚♛♜"}, {"", "."}}, ToMove: [2]*rules.Question{nil,
				{MoveType: "take", Options: []string{"1", "2 x"}, View: map[string]any{"a": []any{1.0, nil}}}}}},
		{`{"to_move": {"A": {"type": "take", "text": 5, "examples": ["one", "two"], "view": "x", "secret": true}, "B": {"type": "pass", "options": ["no"], "view": "y"}}}`,
			&rules.State{Winner: rules.NoSide, ToMove: [2]*rules.Question{{MoveType: "take", Text: 5,
				Examples: []string{"one", "two"}, View: "x", Secret: true},
				{MoveType: "pass", Options: []string{"no"}, View: "y"}}}},
		{`{"draw": 2147483647}`, &rules.State{Winner: rules.NoSide, Draw: 2147483647}},
		{`{"winner": null, "reason": "{A} and {B} have 3"}`,
			&rules.State{Winner: rules.NoSide, Over: true, Reason: "{A} and {B} have 3"}},
		{`{"winner": "B", "reason": "x", "board": [["x"]]}`, &rules.State{Winner: rules.SideB, Over: true, Reason: "x",
			Board: [][]string{{"x"}}}},
		{`{"illegal": {"index": 2, "side": "A", "reason": "taken"}}`, &rules.State{Winner: rules.NoSide,
			Illegal: &rules.Illegal{Index: 2, Side: rules.SideA, Reason: "taken"}}},
		{`{"illegal": {"index": 0, "side": null, "reason": "no draw is due"}}`, &rules.State{Winner: rules.NoSide,
			Illegal: &rules.Illegal{Side: rules.NoSide, Reason: "no draw is due"}}},
	} {
		state, err := readState(tt.answer, hidden, 3)
		require.NoError(t, err, tt.answer)
		assert.Equal(t, tt.want, state, tt.answer)
	}
	// A reason may quote what a player said.
	state, err := readState(`{"illegal": {"index": 0, "side": "A", "reason": "no word: a\u200b`+strings.Repeat("é", 300)+
		`"}}`, hidden, 3)
	require.NoError(t, err)
	assert.Equal(t, "no word: a\\u200b"+strings.Repeat("é", 240)+"…", state.Illegal.Reason)
	one := openInfo()
	one.MoveTypes = []string{"take"}
	state, err = readState(`{"to_move": {"A": {"options": ["1"], "view": ""}}}`, one, 0)
	require.NoError(t, err)
	assert.Equal(t, "take", state.ToMove[0].MoveType, "the only one")
}

// toMove is an answer with a question to side A.
func toMove(members string) string { return `{"to_move": {"A": {"type": "take", ` + members + `}}}` }

func TestWrongStates(t *testing.T) {
	words := func(n, size int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"%0*d"`, size, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for _, tt := range []struct{ answer, want string }{
		{`{}`, "must have exactly one of to_move, draw, winner and illegal, has none"},
		{`{"draw": 6, "winner": "A", "reason": "x"}`,
			"must have exactly one of to_move, draw, winner and illegal, has draw and winner"},
		{`{"wnner": "A"}`, `unknown member "wnner" (did you mean winner?)`},
		{`{"draw": 1}`, "draw: must be a whole number from 2 to 2147483647, not 1"},
		{`{"draw": 2147483648}`, "draw: must be a whole number from 2 to 2147483647"},
		{`{"winner": "C", "reason": "x"}`, `winner: must be "A", "B" or null, not "C"`},
		{`{"winner": "A"}`, "reason: must be a text of at most 500 bytes, and is missing"},
		{`{"draw": 6, "reason": "x"}`, "reason: belongs to winner"},
		{`{"illegal": {"index": 3, "side": "A", "reason": "x"}}`, "illegal.index: must be a whole number from 0 to 2, not 3"},
		{`{"illegal": {"index": 0, "reason": "x"}}`, `illegal.side: must be "A", "B" or null, and is missing`},
		{`{"illegal": "taken"}`, "illegal: must be an object, not \"taken\""},
		{`{"to_move": {}}`, "to_move: must have A, B or both"},
		{`{"to_move": "A"}`, `to_move: must be an object, not "A"`},
		{`{"to_move": {"A": {}}}`, "to_move.A.type: must be 1 to 40 characters"},
		{`{"to_move": {"A": {"type": "tale", "options": ["1"], "view": ""}}}`,
			"to_move.A.type: must be one of move_types of the description: take, pass"},
		{toMove(`"view": ""`), "to_move.A: must have either options or text"},
		{toMove(`"options": ["1"], "text": 3, "view": ""`), "to_move.A: must have either options or text"},
		{toMove(`"options": [], "view": ""`), "to_move.A.options: must be a list of 1 to"},
		{toMove(`"options": [1], "view": ""`), "to_move.A.options[0]: must be a text of 1 to 5 bytes, not 1"},
		{toMove(`"options": ["1", "123456"], "view": ""`),
			`to_move.A.options[1]: must be a text of 1 to 5 bytes, not "123456"`},
		{toMove(`"options": ["1", "1"], "view": ""`), `to_move.A.options[1]: is there already, not "1"`},
		{toMove(`"options": [" 1"], "view": ""`), "to_move.A.options[0]: must not begin or end with a blank"},
		{toMove(`"options": ["\u202e1"], "view": ""`), "to_move.A.options[0]: must be one line of visible characters"},
		{toMove(`"text": 6, "view": ""`), "to_move.A.text: must be a whole number from 1 to 5, not 6"},
		{toMove(`"text": 3, "view": "", "examples": []`), "to_move.A.examples: must be a list of 1 to 20 values"},
		{toMove(`"text": 3, "view": "", "examples": ["one", "four"]`),
			`to_move.A.examples[1]: must be a text of 1 to 3 bytes, not "four"`},
		{toMove(`"text": 5, "view": "", "examples": ["a\u200eb"]`),
			"to_move.A.examples[0]: must be one line of visible characters"},
		{toMove(`"options": ["1"], "view": "", "examples": ["1"]`), "to_move.A.examples: belong to text"},
		{toMove(`"options": ["1"]`),
			"to_move.A.view: must be a text or an object with what this side may see, and is missing"},
		{toMove(`"options": ["1"], "view": [1]`), "to_move.A.view: must be a text or an object"},
		{toMove(`"options": ["1"], "view": "` + strings.Repeat("x", 8200) + `"`),
			"to_move.A.view: has 8202 bytes, more than 8192"},
		{toMove(`"options": ["1"], "view": "", "secret": true`), `to_move.A.secret: the description has no "hidden": true`},
		{toMove(`"options": ` + words(700, 5) + `, "view": "` + strings.Repeat("x", 1000) + `"`),
			`to_move.A: options, examples, view and board have 6603 bytes, more than 6144: shorten them, or set "large": true in the description`},
		{toMove(`"options": ` + words(2100, 5) + `, "view": ""`), "to_move.A.options: has 16801 bytes, more than 16384"},
		{`{"draw": 6, "board": []}`, "board: must be a list of 1 to 32 values"},
		{`{"draw": 6, "board": [["a", "b"], ["c"]]}`, "board[1]: must be a list of 1 to 32 texts, as many as in each row"},
		{`{"draw": 6, "board": [["abcd"]]}`, "board[0][0]: must be a text of at most 3 visible characters"},
		{`{"draw": 6, "board": [["\u001b"]]}`, "board[0][0]: must be a text of at most 3 visible characters"},
		{`{"draw": 6} {"draw": 6}`, "is not valid JSON"},
	} {
		_, err := readState(tt.answer, openInfo(), 3)
		require.ErrorContains(t, err, tt.want, tt.answer)
	}
	_, err := readState(`{"illegal": {"index": 0, "side": "A", "reason": "x"}}`, openInfo(), 0)
	require.ErrorContains(t, err, "illegal: the history is empty, so it is legal")
	_, err = readState(`{"draw": 6}`, &rules.Info{}, 0)
	require.ErrorContains(t, err, `draw: the description has no "draws": true`)
}

// An error of a hidden game quotes no card.
func TestErrorsOfHiddenGamesHaveNoValues(t *testing.T) {
	info := openInfo()
	info.Hidden = true
	for _, answer := range []string{
		`{"to_move": {"A": {"type": "take", "options": ["queen!"], "view": "queen"}}}`,
		`{"to_move": {"A": {"type": "take", "options": ["1"], "view": ["queen"]}}}`,
		`{"to_move": {"A": {"type": "queen", "options": ["1"], "view": ""}}}`,
		`{"winner": "queen"`, `{"draw": "queen"}`, `{"draw": 6, "board": [["queen"]]}`,
	} {
		_, err := readState(answer, info, 0)
		require.Error(t, err, answer)
		assert.NotContains(t, err.Error(), "queen", answer)
	}
}
