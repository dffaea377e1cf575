package browsertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// rewritten is the address of the page of a match of a program's game, whose file has moves and boards of a size.
func rewritten(t *testing.T, size int, cell func(row, column, turn int) string, moves ...string) string {
	t.Helper()
	folder := played(t)
	dir, id := store.In(folder), leagueOf(t, folder)
	doc, err := dir.LoadMatch(id, "R1M1")
	require.NoError(t, err)
	doc.GameType, doc.Transcript, doc.Moves, doc.Digested = "program", nil, nil, 0
	players := []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}
	for i := range len(moves) + 1 {
		var board [][]string
		for row := range size {
			board = append(board, nil)
			for column := range size {
				board[row] = append(board[row], cell(row, column, i+1))
			}
		}
		doc.Boards = append(doc.Boards, store.Board{Turn: i + 1, Cells: board})
		if i < len(moves) {
			doc.Moves = append(doc.Moves, protocol.PlayerMove{PlayerID: players[i%2], Move: moves[i], Turn: i + 1})
		}
	}
	require.NoError(t, store.WriteMatch(dir.Disk, dir.Match(id, "R1M1"), doc))
	return serve(t, folder) + "/matches/R1M1"
}

// A board with up to 20 columns fits a phone of 360 pixels; a larger one scrolls in its frame, and the page never does.
func TestBoardsOfAnySizeFitAPhone(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	small := look{width: 360, height: 780, scale: 2}
	for _, size := range []int{7, 10, 15, 20, 40} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			p := open(t, rewritten(t, size, func(row, column, turn int) string {
				if (row+column)%5 < turn {
					return []string{"X", "O", "."}[(row+2*column)%3]
				}
				return "."
			}, "a1", "b2", "c3"), small)
			assert.LessOrEqual(t, get[int64](p, `document.documentElement.scrollWidth`), small.width)
			fits := get[bool](p, `(() => { const frame = document.querySelector('.position:not([hidden]) .scroll');
				return frame.scrollWidth <= frame.clientWidth; })()`)
			assert.Equal(t, size <= 20, fits, "the board is as wide as its frame")
			width := get[float64](p, `document.querySelector('.position:not([hidden]) td').getBoundingClientRect().width`)
			assert.GreaterOrEqual(t, width, 12.0, "a cell is large enough for its mark")
			p.screenshot(fmt.Sprintf("board %d", size))
		})
	}
}

// Free text is text: nothing in it is markup, and it is shown whole.
func TestFreeTextIsShownAsSpeech(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	said := []string{hostileName + " says hello", hebrewName + " אומרת שלום", "No, I do not think so."}
	p := open(t, rewritten(t, 0, nil, said...), desktop)
	assert.Equal(t, said, get[[]string](p, `[...document.querySelectorAll('#board .moves q')].map(e => e.textContent)`))
	assert.Zero(t, get[int](p, `document.querySelectorAll('img').length`), "a text is no markup")
	p.screenshot("speech")
	p.do(phone.action())
	assert.LessOrEqual(t, get[int64](p, `document.documentElement.scrollWidth`), phone.width, "it scrolls sideways")
	p.assertClean()
}

// The page of a match with draws has the cards or dice of each position, and computes the draws again.
func TestMatchWithDrawsShowsThem(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	for game, words := range map[string]string{"kuhn_poker": "deal: ", "pig": "die: "} {
		t.Run(game, func(t *testing.T) {
			t.Parallel()
			p := open(t, serve(t, played(t, "--game", game))+"/matches/R1M1?move=1", desktop)
			assert.Contains(t,
				get[string](p, `document.querySelector('.position').textContent`)+
					get[string](p, `document.querySelector('#board .moves').textContent`), words)
			assert.NotContains(t, get[string](p, `document.getElementById('board').textContent`), "ready",
				"the ready turn is no move")
			assert.Contains(t, get[string](p, `[...document.querySelectorAll('#draw .verdict.holds')].at(-1).textContent`),
				"follow from them")
			assert.Zero(t, get[int](p, `document.querySelectorAll('#draw .draws .error').length`))
			p.do(phone.action())
			assert.LessOrEqual(t, get[int64](p, `document.documentElement.scrollWidth`), phone.width, "it scrolls sideways")
			p.assertClean()
		})
	}
}

// The board of a program's game is in the match file: its page needs no program.
func TestMatchOfAProgramShowsItsBoard(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: Hex, because there is no python3 here")
	}
	hex, err := filepath.Abs("../../../testdata/games/hex.py")
	require.NoError(t, err)
	p := open(t, serve(t, played(t, "--game", "exec:python3 "+hex))+"/matches/R1M1?move=3", desktop)
	p.await(`document.querySelectorAll('.position:not([hidden]) td').length == 49`)
	assert.Equal(t, 1, get[int](p, `document.querySelectorAll('.position:not([hidden]) td.new').length`))
	assert.Equal(t, 3, get[int](p, `document.querySelectorAll('.position:not([hidden]) td:is(.a, .b)').length`))
	assert.Contains(t, get[string](p, `document.body.textContent`), "Round 1, Hex.")
	p.screenshot("hex")
	p.assertClean()
}
