package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/lists"
	"evenodd/player/strategy/person"
)

// onPaper is a game at the terminal whose output the function returns.
func onPaper() (*terminalGame, func() string) {
	paper := &bytes.Buffer{}
	t := &terminalGame{streams: streams{out: paper, err: paper}, person: person.New(person.Options{})}
	return t, func() string {
		defer paper.Reset()
		return paper.String()
	}
}

// manyOptions are the cells of a board of 15 columns.
func manyOptions(n int) (options []person.Option) {
	for i := range n {
		cell := fmt.Sprintf("%c%d", 'a'+i%15, i/15+1)
		options = append(options, person.Option{Move: cell, Words: cell})
	}
	return options
}

// Many moves are listed only for a person that asks for them, also after a mistake.
func TestManyMovesAreListedOnlyOnRequest(t *testing.T) {
	game, printed := onPaper()
	s := &person.State{Question: &person.Question{Number: 1, Deadline: time.Now().Add(time.Minute),
		Options: manyOptions(225)}}
	game.ask(s.Question)
	assert.Regexp(t, `^Your turn, 1m0s left: 225 moves, such as a1, b1, c1 \(\? lists all\)\n$`, printed())
	game.answer(s, "z99")
	assert.Contains(t, printed(), `"z99" is not a move`)
	game.answer(s, "?")
	assert.Contains(t, printed(),
		strings.Join(lists.Map(s.Question.Options, func(o person.Option) string { return o.Move }), ", "))
	for _, line := range []string{"q", "help"} {
		game.answer(s, line)
		said := printed()
		assert.Contains(t, said, "Ctrl-C leaves the game")
		assert.Less(t, len(said), 150)
	}
	s.Question.Options = manyOptions(40)
	game.ask(s.Question)
	assert.Contains(t, printed(), ", j3\n")
}

func TestLastMoveOnABoardIsMarked(t *testing.T) {
	game, printed := onPaper()
	game.board([][]person.Cell{{{Text: "X"}, {Text: "O", New: true}, {}}})
	assert.Equal(t, "  X*O ·\n", printed())
}
