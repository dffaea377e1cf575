package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/tictactoe"
)

// The positions of a match follow from its legal moves alone.
func TestPositionsFollowTheLegalMoves(t *testing.T) {
	games := rules.NewRegistry(evenodd.Game{}, connectfour.Game{}, tictactoe.Game{})
	for _, tt := range []struct {
		name, game string
		moves      []string // of P01 and P02 in turn
		words      []string // of the steps after the first position
		mistakes   []string
	}{
		{"no move", "tic_tac_toe", nil, nil, nil},
		{"the words of a move are those of its game", "connect_four", []string{"1", "7"}, []string{"P01 column 1", "P02 column 7"}, nil},
		{"the rest of an illegal move is not known", "tic_tac_toe", []string{"4", "4", "0"}, []string{"P01 cell 4"}, nil},
		{"only the first mistake of a player is marked", "tic_tac_toe", []string{"4", "1", "7", "3", "6", "8"},
			[]string{"P01 cell 4", "P02 cell 1 ?", "P01 cell 7 ?", "P02 cell 3", "P01 cell 6", "P02 cell 8"},
			[]string{"move 2 ? P02 gave away a draw; better: cell 0", "move 3 ? P01 gave away a win; better: cell 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := matchOf()
			doc.GameType = tt.game
			for i, move := range tt.moves {
				doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: []string{"P01", "P02"}[i%2], Move: move})
			}
			c := record.ConversationOf(doc, games)
			var words []string
			for i := range c.Steps {
				if i > 0 {
					words = append(words, c.Steps[i].Words())
					assert.Len(t, c.Steps[i].Changed, 1)
				}
			}
			assert.Equal(t, tt.words, words)
			assert.Equal(t, tt.mistakes, c.Mistakes())
		})
	}
}

// The first position is the one after the opening, whose plies belong to the sides.
func TestPositionsFollowTheOpening(t *testing.T) {
	games := rules.NewRegistry(tictactoe.Game{})
	doc := matchOf()
	doc.GameType, doc.Opening = "tic_tac_toe", []string{"0", "1", "2", "4"}
	doc.Moves = []protocol.PlayerMove{{PlayerID: "P01", Move: "7"}, {PlayerID: "P02", Move: "3"}}
	c := record.ConversationOf(doc, games)
	require.Equal(t, []string{"after the opening: cell 0, cell 1, cell 2, cell 4", "P01 cell 7", "P02 cell 3"}, wordsOf(c))
	assert.Equal(t, [][]string{{"X", "O", "X"}, {"", "O", ""}, {"", "", ""}}, c.Steps[0].Board)
	assert.Empty(t, c.Steps[0].Changed)
	for n, owner := range []rules.Side{rules.SideA, rules.SideB, rules.SideA} {
		cell := c.Steps[2].Cells[0][n]
		assert.Equal(t, owner, cell.Owner)
		assert.False(t, cell.Label || cell.Changed)
	}
	doc.Opening = []string{"0", "0"}
	assert.Empty(t, record.ConversationOf(doc, games).Steps, "the rules do not allow the opening")

	doc = matchOf()
	doc.GameType, doc.Opening = "unknown", []string{"e4", "e5"}
	doc.Moves = []protocol.PlayerMove{{PlayerID: "P01", Move: "d4", Turn: 1}}
	assert.Equal(t, []string{"after the opening: e4, e5", "P01 d4"}, wordsOf(record.ConversationOf(doc, games)))
}

func TestLineThatWinsIsMarked(t *testing.T) {
	for game, tt := range map[string]struct {
		moves string
		line  [][2]int // row and column
		rows  []string
	}{
		"tic_tac_toe":  {"03142", [][2]int{{0, 0}, {0, 1}, {0, 2}}, nil},
		"connect_four": {"1213141", [][2]int{{2, 0}, {3, 0}, {4, 0}, {5, 0}}, []string{"f", "e", "d", "c", "b", "a", ""}},
	} {
		doc := matchOf()
		doc.GameType = game
		for i, move := range tt.moves {
			doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: []string{"P01", "P02"}[i%2], Move: string(move)})
		}
		c := record.ConversationOf(doc, rules.NewRegistry(connectfour.Game{}, tictactoe.Game{}))
		var line [][2]int
		for n, step := range c.Steps {
			assert.Equal(t, tt.rows, step.Rows)
			for i, row := range step.Cells {
				for k := range row {
					if row[k].Line {
						assert.Equal(t, len(tt.moves), n)
						assert.Contains(t, row[k].Class(), "line")
						line = append(line, [2]int{i, k})
					}
				}
			}
		}
		assert.Equal(t, tt.line, line, game)
	}
}

// withDraws is a match of a game with draws, with the moves of P01 and P02 by turns.
func withDraws(game string, turns ...string) *store.Match {
	doc := matchOf()
	doc.GameType = game
	doc.Draw = &protocol.Draw{Nonce: strings.Repeat("0a", 32),
		Entropies: league.Both("P01", strings.Repeat("0b", 32), "P02", strings.Repeat("0c", 32))}
	doc.Moves = []protocol.PlayerMove{{PlayerID: "P01", Move: "ready", Turn: 1}, {PlayerID: "P02", Move: "ready", Turn: 1}}
	for i, turn := range turns {
		player, move, _ := strings.Cut(turn, " ")
		doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: player, Move: move, Turn: i + 2})
	}
	return doc
}

// wordsOf are the words of all steps.
func wordsOf(c *record.Conversation) (words []string) {
	for i := range c.Steps {
		words = append(words, c.Steps[i].Words())
	}
	return words
}

// Draws follow from nonce and entropies, and the ready turn is no step.
func TestPositionsHaveTheDraws(t *testing.T) {
	games := rules.NewRegistry(kuhnpoker.Game{}, pig.Game{})
	c := record.ConversationOf(withDraws("pig", "P01 roll", "P01 hold", "P02 roll"), games)
	require.Equal(t, []string{"before the first move", "P01 roll, die: 3", "P01 hold", "P02 roll, die: 1"}, wordsOf(c))
	assert.Equal(t, [][2]int{{2, 1}}, c.Steps[1].Changed)
	assert.Equal(t, rules.NoSide, c.Steps[1].Cells[2][1].Owner, "nobody has made the roll")
	assert.Equal(t, []int{0, 1, 2, 3}, []int{c.Steps[0].Number, c.Steps[1].Number, c.Steps[2].Number, c.Steps[3].Number})

	c = record.ConversationOf(withDraws("kuhn_poker", "P01 bet", "P02 call", "P02 bet"), games)
	require.Equal(t, []string{"before the first move, deal: Q to A, J to B", "P01 bet", "P02 call, deal: J to A, Q to B",
		"P02 bet"}, wordsOf(c))
	assert.Equal(t, [][]string{{"A", "J", "1", "+2"}, {"B", "Q", "1", "-2"}}, c.Steps[2].Board)
	assert.True(t, c.Steps[2].Cells[0][0].Label)

	doc := withDraws("kuhn_poker", "P01 bet")
	doc.Draw = nil
	assert.Empty(t, record.ConversationOf(doc, games).Steps, "without the nonce nobody knows the cards")
}

// A match of a program's game is shown from its file, without the program.
func TestMatchOfAProgramIsShownFromItsFile(t *testing.T) {
	three := func(cell string) [][]string {
		return [][]string{{" ", "a", "b", "c"}, {"1", ".", cell, "."}, {"2", ".", ".", "."}}
	}
	doc := withDraws("words", "P01 b1", "P02 Good morning.")
	doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: "P01", Move: "c2", Turn: 4, Secret: true},
		protocol.PlayerMove{PlayerID: "P02", Move: "c1", Turn: 4, Secret: true})
	doc.Draws = []protocol.Drawn{{Turn: 2, Of: 6, Number: 3}, {Turn: 3, Of: 2, Number: 1}}
	doc.Boards = []store.Board{{Turn: 2, Cells: three(".")}, {Turn: 3, Cells: three("X")},
		{Turn: 5, Cells: [][]string{{"of another size"}}}}
	c := record.ConversationOf(doc, rules.Registry{})
	require.Equal(t, []string{"before the first move, draw (0 to 5): 3", "P01 b1, draw (0 to 1): 1",
		"P02 says “Good morning.”", "P01 c2, P02 c1"}, wordsOf(c))
	assert.Equal(t, three("."), c.Steps[0].Board)
	for _, step := range c.Steps[1:] {
		assert.Equal(t, three("X"), step.Board, "a missing board is that of the turn before")
	}
	assert.Equal(t, [][2]int{{1, 2}}, c.Steps[1].Changed)
	assert.Empty(t, c.Steps[2].Changed)
	assert.Equal(t, rules.SideA, c.Steps[3].Cells[1][2].Owner)
	assert.True(t, c.Steps[0].Cells[0][1].Label)
	assert.False(t, c.Steps[0].Cells[2][1].Label, "an empty cell is none")
	require.Len(t, c.Draw.Draws, 2)

	doc.Boards = []store.Board{{Turn: 2, Cells: [][]string{{"a", "b"}, {"c"}}}}
	assert.Nil(t, record.ConversationOf(doc, rules.Registry{}).Steps[0].Board,
		"a board that is not rectangular is not shown")
	for i := range doc.Moves {
		doc.Moves[i].Turn = 0
	}
	assert.Empty(t, record.ConversationOf(doc, rules.Registry{}).Steps, "moves without turns are those of another program")
}

// A draw that does not follow from nonce and entropies is marked.
func TestDrawsAreComputedAgain(t *testing.T) {
	doc := withDraws("words", "P01 b1")
	nonce, _ := protocol.ParseSecret(doc.Draw.Nonce)
	a, _ := doc.Draw.Entropies.Get("P01")
	b, _ := doc.Draw.Entropies.Get("P02")
	chance := rules.Chance{Nonce: nonce}
	chance.EntropyA, _ = protocol.ParseSecret(a)
	chance.EntropyB, _ = protocol.ParseSecret(b)
	first, second := chance.Draw("R1M1", 1, 6), chance.Draw("R1M1", 2, 52)
	doc.Draws = []protocol.Drawn{{Turn: 2, Of: 6, Number: first}, {Turn: 2, Of: 52, Number: (second + 1) % 52},
		{Turn: 3, Of: 1, Number: 0}}
	found := record.ConversationOf(doc, rules.Registry{}).Draw.Draws
	require.Len(t, found, 3)
	assert.Equal(t, []bool{true, false, false}, []bool{found[0].Holds, found[1].Holds, found[2].Holds})
}

// A hand of dice is one list, not a sentence for each.
func TestDrawsInARowAreOneList(t *testing.T) {
	draw := func(of, number int) record.MadeDraw {
		return record.MadeDraw{Of: of, Number: number, Words: fmt.Sprintf("draw (0 to %d): %d", of-1, number)}
	}
	ace := record.MadeDraw{Of: 6, Number: 0, Words: "an ace"}
	step := record.Step{Draws: []record.MadeDraw{draw(6, 4), draw(6, 2), draw(6, 1), draw(2, 1), ace, ace, draw(6, 5)}}
	assert.Equal(t, "before the first move, draws (0 to 5): 4, 2, 1, draw (0 to 1): 1, an ace, an ace, draw (0 to 5): 5",
		step.Words())
}
