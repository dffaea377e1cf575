package conversations

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// marking puts its marks into cells, in their order.
type marking string

func (marking) Name() string { return "marking" }

func (m marking) Choose(_ context.Context, v strategy.View) (string, error) {
	board, _ := v.Context[tictactoe.ContextBoard].(string)
	mark, _ := v.Context[tictactoe.ContextMark].(string)
	n := strings.Count(board, mark)
	if mark == "" || n >= len(m) {
		return "", errors.New("nothing is written down for this")
	}
	return string(m[n]), nil
}

func marks(cells string) trait { return func(a *actor) { a.decide = marking(cells) } }

// moving plays a part when a move is asked for.
func moving(play part) trait { return does(protocol.MakeMove.Name, play) }

// inCell is a move into a cell, whatever the player would do.
func inCell(cell string) part {
	return editing("move_data", protocol.MoveData{MoveType: tictactoe.MoveType, Choice: cell})
}

// boards plays a league of one match of Tic-Tac-Toe, which is kept in the folder
// that it returns.
func (w *world) boards(first, second []trait) (league.MatchRecord, store.Folder) {
	w.t.Helper()
	w.game = tictactoe.Game{}
	folder := folderOf(w.t)
	x := w.tenure(folder, 2, 1)
	w.writer("REF01", folder)
	w.player("P01", first...)
	w.player("P02", second...)
	w.final = x.finish()
	require.NoError(w.t, x.close())
	results := x.manager.Results()
	require.Len(w.t, results, 1)
	w.checkAudited(folder)
	return results[0], folder
}

// asked lists what the players were asked for in order: who, and the board.
func (w *world) asked() (list []string) {
	for _, e := range w.said(protocol.MakeMove.Name) {
		q := read[protocol.GameMoveCall](e.message)
		list = append(list, fmt.Sprintf("%s %v", e.to, q.MoveRequest.Context[tictactoe.ContextBoard]))
	}
	return list
}

func TestAMatchOfManyMoves(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		thinking := after(10*time.Second, honestly)
		record, _ := w.boards(with(marks("012"), moving(thinking)), with(marks("34"), moving(thinking)))

		assert.Equal(t, []string{"p01 .........", "p02 X........", "p01 X..O.....", "p02 XX.O.....", "p01 XX.OO...."}, w.asked())
		assert.Equal(t, []int{0, 10, 20, 30, 40}, seconds(w.said(protocol.MakeMove.Name)), "one after the other")
		for i, e := range w.said(protocol.MakeMove.Name) {
			q := read[protocol.GameMoveCall](e.message)
			assert.Equal(t, e.at+30*time.Second, w.since(q.Deadline), "each move has its own time")
			assert.Equal(t, tictactoe.Type, q.GameType)
			assert.Equal(t, tictactoe.MoveType, q.MoveRequest.MoveType)
			assert.Len(t, q.MoveRequest.ValidOptions, 9-i)
			assert.InDelta(t, i+1, q.MoveRequest.Context[tictactoe.ContextMove], 0)
			assert.Equal(t, "XO"[i%2:i%2+1], q.MoveRequest.Context[tictactoe.ContextMark])
			assert.Equal(t, []string{"P02", "P01"}[i%2], q.MoveRequest.Context["opponent_id"])
			assert.InDelta(t, 1, q.MoveRequest.Context["round_id"], 0)
			r := read[protocol.GameMoveResponse](e.answer)
			assert.Equal(t, w.entropy("R1M1", []string{"P01", "P02"}[i%2]).Hex(), r.Entropy, "with every move")
		}
		assert.Empty(t, w.said(protocol.ChooseParity.Name))
		assert.Empty(t, w.complaints())

		two, four, winner := "2", "4", "P01"
		assert.Equal(t, &protocol.GameResult{
			Status: protocol.StatusWin, WinnerPlayerID: &winner, Choices: protocol.Both("P01", &two, "P02", &four),
			Reason: "P01 has three X in a row: 0, 1, 2",
		}, w.gameOver("p02").GameResult, "the choices are the last moves; no number was drawn")
		assert.Equal(t, league.MatchRecord{
			MatchID: "R1M1", RoundID: 1, PlayerA: "P01", PlayerB: "P02", RefereeID: "REF01",
			Status: protocol.StatusWin, Winner: "P01", ChoiceA: "2", ChoiceB: "4", Reason: "P01 has three X in a row: 0, 1, 2",
		}, record)
		q := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
		assert.Nil(t, q.Result.Details.DrawnNumber)
		require.NotNil(t, q.Draw, "the referee was bound to a nonce all the same")
		assert.Len(t, q.Draw.Entropies, 2)
	})
}

func TestAMatchThatFillsTheBoard(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record, _ := w.boards(with(marks("34278")), with(marks("6051")))
		assert.Equal(t, protocol.StatusDraw, record.Status)
		assert.Empty(t, record.Winner)
		assert.Equal(t, []string{"8", "1"}, []string{record.ChoiceA, record.ChoiceB})
		assert.Len(t, w.asked(), 9)
		for _, row := range w.final.FinalStandings {
			assert.Equal(t, 1, row.Points)
		}
	})
}

func TestAnIllegalMoveCanBeMended(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record, _ := w.boards(with(marks("012")), with(marks("34"), moving(inTurn(after(10*time.Second, inCell("0")), honestly))))
		assert.Equal(t, "P01", record.Winner)
		assert.Equal(t, []string{"p01 .........", "p02 X........", "p02 X........", "p01 X..O.....", "p02 XX.O.....", "p01 XX.OO...."}, w.asked())
		assert.Equal(t, []complaint{again(10*time.Second, protocol.ErrIllegalMove, 1, protocol.TypeGameMoveResponse, 20*time.Second)}, w.complaints())
		told := read[protocol.GameError](w.only(protocol.NotifyGameError.Name, "p02").message)
		assert.Equal(t, "0", told.Context["invalid_choice"])
		assert.Equal(t, []any{"1", "2", "3", "4", "5", "6", "7", "8"}, told.Context["valid_choices"])
		assert.Contains(t, told.Context["detail"], "cell 0 is taken")
	})
}

// What is odd about an answer, and does not touch the move, changes nothing, for
// the audit neither.
func TestAMoveCountsAlthoughItsEnvelopeIsOdd(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record, _ := w.boards(with(marks("012"), moving(editing("sender", 7))), with(marks("34"), moving(editing("timestamp", null()))))
		assert.Equal(t, "P01", record.Winner)
		assert.Empty(t, w.complaints())
	})
}

func TestAMoveThatCannotBeReadIsIllegal(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		number := editing("move_data", map[string]any{"move_type": tictactoe.MoveType, "choice": 3})
		record, _ := w.boards(with(marks("012")), with(marks("34"), moving(inTurn(number, honestly))))
		assert.Equal(t, "P01", record.Winner)
		assert.Equal(t, []complaint{again(0, protocol.ErrIllegalMove, 1, protocol.TypeGameMoveResponse, 30*time.Second)}, w.complaints())
		told := read[protocol.GameError](w.only(protocol.NotifyGameError.Name, "p02").message)
		assert.Contains(t, told.Context["detail"], "move_data must be an object with the choice as a string")
	})
}

// A match whose players take all their time is not given to another referee.
func TestAMatchMayTakeTheTimeOfAllItsTurns(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		slowly := moving(inTurn(after(31*time.Second, honestly), after(29*time.Second, honestly), after(31*time.Second, honestly), after(29*time.Second, honestly)))
		record, _ := w.boards(with(marks("34278"), slowly), with(marks("6051"), slowly))
		assert.Equal(t, protocol.StatusDraw, record.Status)
		assert.Greater(t, w.said(protocol.NotifyMatchResult.Name)[0].at, 300*time.Second, "longer than one turn may take")
		assert.Len(t, w.said(protocol.StartMatch.Name), 1)
	})
}

func TestIllegalMovesLoseInTheEnd(t *testing.T) {
	for name, cell := range map[string]string{"a cell that is taken": "0", "no cell": "nine"} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				record, _ := w.boards(with(marks("012")), with(marks("34"), moving(nTimes(1, honestly, inCell(cell)))))
				assert.Equal(t, protocol.StatusTechnicalLoss, record.Status)
				assert.Equal(t, "P01", record.Winner)
				assert.Equal(t, []string{"1", "3"}, []string{record.ChoiceA, record.ChoiceB}, "the last legal moves")
				assert.Equal(t, "P02 sent no valid GAME_MOVE_RESPONSE (E010) - P01 wins by default", record.Reason)
				assert.Equal(t, fourAtOnce(protocol.ErrIllegalMove, protocol.TypeGameMoveResponse, 30*time.Second), w.complaints())
			})
		})
	}
}

func TestSilenceInTheMiddleOfAMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record, _ := w.boards(with(marks("012"), moving(nTimes(1, honestly, silent))), with(marks("34")))
		assert.Equal(t, protocol.StatusTechnicalLoss, record.Status)
		assert.Equal(t, "P02", record.Winner)
		assert.Equal(t, []string{"0", "3"}, []string{record.ChoiceA, record.ChoiceB})
		assert.Equal(t, "P01 did not send GAME_MOVE_RESPONSE in time - P02 wins by default", record.Reason)
		assert.Equal(t, []int{0, 0, 0, 32, 64, 96}, seconds(w.said(protocol.MakeMove.Name)), "four times, 2 s apart")
		assert.Equal(t, 126*time.Second, w.said(protocol.NotifyMatchResult.Name)[0].at)
	})
}

func TestAMoveAskedForAgainIsTheSameMove(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		late := after(31*time.Second, honestly)
		w.boards(with(moving(inTurn(late, honestly, late, honestly))), nil)
		said := w.said(protocol.MakeMove.Name, "p01")
		for i, e := range said {
			if e.answer == nil {
				q, next := read[protocol.GameMoveCall](e.message), read[protocol.GameMoveCall](said[i+1].message)
				assert.Equal(t, q.MoveRequest, next.MoveRequest)
			}
		}
		assert.Len(t, w.complaints(), 2)
	})
}

// A player that dies in the middle decides what it had decided before, and goes
// on.
func TestAMatchOfManyMovesGoesOnWithAPlayerThatCrashes(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.game = tictactoe.Game{}
		folder, files := folderOf(t), folderOf(t)
		x := w.tenure(files, 2, 1)
		w.writer("REF01", files)
		seeded := func(o *player.Options) {
			o.Random = func(_, decision string) *rand.Rand { return keyed(w.seed, "choice", decision, "P01") }
		}
		var crashed, restarted *actor
		var unheard *protocol.GameMoveResponse
		crashed = w.resident("P01", folder, seeded, moving(inTurn(honestly, func(c *call) (jsontext.Value, error) {
			answer, err := c.answer()
			if err != nil {
				return nil, err
			}
			unheard = read[protocol.GameMoveResponse](answer)
			w.running.Go(func() {
				crashed.stop()
				time.Sleep(time.Second)
				restarted = w.resident("P01", folder, seeded)
				assert.NoError(t, restarted.player.Register(w.life))
			})
			return nil, errHangUp
		})))
		require.NoError(t, crashed.player.Register(w.life))
		w.player("P02")
		x.finish()
		require.NoError(t, x.close())
		require.NotNil(t, restarted)
		assert.NotEqual(t, protocol.StatusTechnicalLoss, x.manager.Results()[0].Status)
		said := w.said(protocol.MakeMove.Name, "p01")
		assert.Equal(t, unheard.MoveData, read[protocol.GameMoveResponse](said[2].answer).MoveData, "the question again, the same move")
		require.NoError(t, restarted.player.Close())
		assert.Len(t, historyOf(t, folder, "P01").Matches, 1)
		w.checkAudited(files)
	})
}

// A match in which every move is mended at the last chance has its place in a
// transcript.
func TestTheLongestConversationIsKeptWhole(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		stubborn := func(c *call) (jsontext.Value, error) {
			if c.n%4 != 0 {
				return inCell("9")(c)
			}
			return honestly(c)
		}
		record, folder := w.boards(with(marks("34278"), moving(stubborn)), with(marks("6051"), moving(stubborn)))
		assert.Equal(t, protocol.StatusDraw, record.Status)
		doc, err := store.Read[store.Match](folder.Match(leagueID, "R1M1"))
		require.NoError(t, err)
		assert.Zero(t, doc.Omitted)
		assert.Len(t, doc.Transcript, 4+9*(4*2+3*2)+4)
	})
}

func TestAWholeLeagueOfManyMoves(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.game = tictactoe.Game{}
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1, func(o *league.Options) { o.Legs = 2 })
		w.writer("REF01", folder)
		for n, name := range []string{"perfect", "random", "perfect", "contrarian"} {
			w.player(protocol.PlayerID(n+1), choosing(name))
		}
		x.finish()
		require.NoError(t, x.close())
		w.checkAudited(folder)
		seats := map[[2]string]int{}
		for _, m := range x.manager.Results() {
			seats[[2]string{m.PlayerA, m.PlayerB}]++
			if m.Status == protocol.StatusWin {
				assert.Contains(t, []string{"P02", "P04"}, loserOf(m), m.MatchID)
			}
		}
		assert.Len(t, seats, 12, "each pair meets in both seats")
	})
}

func loserOf(m league.MatchRecord) string {
	if m.Winner == m.PlayerA {
		return m.PlayerB
	}
	return m.PlayerA
}

// manyHands is Rock Paper Scissors until somebody wins, at most five times: a game
// of many turns in which both move at once.
type manyHands struct{ rockpaperscissors.Game }

func (manyHands) Info() rules.Info {
	info := rockpaperscissors.Game{}.Info()
	info.Type, info.MaxMoves, info.MaxTurns = "many_hands", 5, 5
	return info
}

func (g manyHands) Start() rules.Position { return showing{g.Game.Start(), 1} }

// showing is a position of it: one match within the match.
type showing struct {
	rules.Position
	number int
}

func (p showing) Ask(seat rules.Side) rules.Question {
	q := p.Position.Ask(seat)
	q.Context = map[string]any{"number": p.number}
	return q
}

func (p showing) Play(moves [2]string) rules.Position {
	next := p.Position.Play(moves)
	if p.number == 5 || next.Judge(rules.Chance{}).Winner != rules.NoSide {
		return next
	}
	return showing{rockpaperscissors.Game{}.Start(), p.number + 1}
}

// hands shows one hand after the other.
type hands []string

func (hands) Name() string { return "hands" }

func (h hands) Choose(_ context.Context, v strategy.View) (string, error) {
	n, err := strconv.Atoi(fmt.Sprint(v.Context["number"]))
	return h[n-1], err
}

func TestAMatchOfManyTurnsInWhichBothMove(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.game = manyHands{}
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.writer("REF01", folder)
		w.player("P01", func(a *actor) { a.decide = hands{"rock", "rock", "paper"} }, moving(after(2*time.Second, honestly)))
		w.player("P02", func(a *actor) { a.decide = hands{"rock", "rock", "scissors"} }, moving(inTurn(honestly, silent, honestly)))
		x.finish()
		require.NoError(t, x.close())
		w.checkAudited(folder)
		record := x.manager.Results()[0]
		assert.Equal(t, "P02 chose scissors, P01 chose paper", record.Reason)
		assert.Equal(t, []string{"paper", "scissors"}, []string{record.ChoiceA, record.ChoiceB})
		assert.Equal(t, []int{0, 2, 34}, seconds(w.said(protocol.MakeMove.Name, "p01")))
		assert.Equal(t, []int{0, 2, 34, 34}, seconds(w.said(protocol.MakeMove.Name, "p02")), "one that is late has the other wait")
	})
}

// A third game needs nothing that the others have not.
func TestAMatchOfHandsShownAtOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.game = rockpaperscissors.Game{}
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.writer("REF01", folder)
		w.player("P01", moving(after(4*time.Second, editing("move_data", protocol.MoveData{Choice: "paper"}))))
		w.player("P02", moving(after(3*time.Second, editing("move_data", protocol.MoveData{Choice: "rock"}))))
		x.finish()
		require.NoError(t, x.close())
		w.checkAudited(folder)
		record := x.manager.Results()[0]
		assert.Equal(t, "P01 chose paper, P02 chose rock", record.Reason)
		assert.Equal(t, "P01", record.Winner)
		assert.Zero(t, record.Number)
		assert.Equal(t, []int{0, 0}, seconds(w.said(protocol.MakeMove.Name)), "both at the same time")
	})
}
