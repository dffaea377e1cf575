package leaguetest_test

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
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// marking is a strategy that fills the given cells in order.
type marking string

func (marking) Name() string { return "marking" }

func (m marking) Choose(_ context.Context, v strategy.View) (string, error) {
	board, _ := v.Context[tictactoe.ContextBoard].(string)
	mark, _ := v.Context[tictactoe.ContextMark].(string)
	n := strings.Count(board, mark)
	if mark == "" || n >= len(m) {
		return "", errors.New("no cell is left")
	}
	return string(m[n]), nil
}

func marks(cells string) leaguetest.Option { return playing(marking(cells)) }

func playing(s strategy.Strategy) leaguetest.Option {
	return func(a *leaguetest.Agent) { a.Decide = s }
}

// moving scripts the replies to make_move.
func moving(play leaguetest.Reply) leaguetest.Option {
	return leaguetest.On(protocol.MakeMove.Name, play)
}

// inCell replaces the choice of the player's move.
func inCell(cell string) leaguetest.Reply {
	return leaguetest.EditAnswer("move_data", protocol.MoveData{MoveType: tictactoe.MoveType, Choice: cell})
}

func playTicTacToe(w *leaguetest.World, first, second []leaguetest.Option) (record.Match, store.Folder) {
	w.T.Helper()
	return playGame(w, tictactoe.Game{}, first, second)
}

// playGame plays a league of one match of a game and returns its folder.
func playGame(w *leaguetest.World, game rules.Game, first, second []leaguetest.Option) (
	record.Match, store.Folder,
) {
	w.T.Helper()
	w.Game = game
	folder := leaguetest.TempFolder(w.T)
	x := w.StartManagerIn(folder, 2, 1)
	w.RefereeWithFiles("REF01", folder)
	w.Player("P01", first...)
	w.Player("P02", second...)
	x.Finish()
	require.NoError(w.T, x.CloseFiles())
	results := leaguetest.Results(x.Manager)
	require.Len(w.T, results, 1)
	w.CheckAudited(folder)
	return results[0], folder
}

// askedFor lists player and board of each make_move call in order.
func askedFor(w *leaguetest.World) (list []string) {
	for _, e := range w.Calls(protocol.MakeMove.Name) {
		q := leaguetest.Decode[protocol.GameMoveCall](e.Message)
		list = append(list, fmt.Sprintf("%s %v", e.To, q.MoveRequest.Context[tictactoe.ContextBoard]))
	}
	return list
}

func TestMatchOfManyMovesHasAWinner(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		thinking := leaguetest.Delayed(10*time.Second, leaguetest.Normally)
		played, _ := playTicTacToe(w, leaguetest.Options(marks("012"), moving(thinking)), leaguetest.Options(marks("34"), moving(thinking)))

		assert.Equal(t, []string{"p01 .........", "p02 X........", "p01 X..O.....", "p02 XX.O.....", "p01 XX.OO...."}, askedFor(w))
		assert.Equal(t, []int{0, 10, 20, 30, 40}, leaguetest.Seconds(w.Calls(protocol.MakeMove.Name)), "the players move in turn")
		for i, e := range w.Calls(protocol.MakeMove.Name) {
			q := leaguetest.Decode[protocol.GameMoveCall](e.Message)
			assert.Equal(t, e.At+30*time.Second, w.SinceStart(q.Deadline), "each move has its own deadline")
			assert.Equal(t, tictactoe.Type, q.GameType)
			assert.Equal(t, tictactoe.MoveType, q.MoveRequest.MoveType)
			assert.Len(t, q.MoveRequest.ValidOptions, 9-i)
			assert.InDelta(t, i+1, q.MoveRequest.Context[tictactoe.ContextMove], 0)
			assert.Equal(t, "XO"[i%2:i%2+1], q.MoveRequest.Context[tictactoe.ContextMark])
			assert.Equal(t, []string{"P02", "P01"}[i%2], q.MoveRequest.Context["opponent_id"])
			assert.InDelta(t, 1, q.MoveRequest.Context["round_id"], 0)
			r := leaguetest.Decode[protocol.GameMoveResponse](e.Answer)
			assert.Equal(t, w.Entropy("R1M1", []string{"P01", "P02"}[i%2]).Hex(), r.Entropy, "each response has the entropy")
		}
		assert.Empty(t, w.Calls(protocol.ChooseParity.Name))
		assert.Empty(t, w.GameErrors())

		two, four, winner := "2", "4", "P01"
		assert.Equal(t, &league.Result{
			Status: league.StatusWin, WinnerPlayerID: &winner, Choices: league.Both("P01", &two, "P02", &four),
			Reason: "P01 has three X in a row: 0, 1, 2",
		}, w.GameOver("p02").GameResult, "the choices are the last moves; there is no number")
		assert.NotZero(t, w.Manager.State().Match(league.MatchID{Round: 1, Number: 1}).Moves, "a number of the moves")
		assert.Equal(t, *w.GameOver("p02").GameResult, played.Result)
		assert.Equal(t, []string{"R1M1", "P01", "P02", "REF01", journal.GradeRecomputed},
			[]string{played.MatchID, played.PlayerAID, played.PlayerBID, played.RefereeID, played.Grade})
		q := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
		assert.Nil(t, q.Result.DrawnNumber)
		require.NotNil(t, q.Draw, "the referee commits to a nonce in every game")
		assert.Len(t, q.Draw.Entropies, 2)
	})
}

// A match may take the time limits of all its turns without being reassigned.
func TestMatchMayTakeTheTimeOfAllItsTurns(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		slowly := moving(leaguetest.InTurn(leaguetest.Delayed(31*time.Second, leaguetest.Normally), leaguetest.Delayed(29*time.Second, leaguetest.Normally), leaguetest.Delayed(31*time.Second, leaguetest.Normally), leaguetest.Delayed(29*time.Second, leaguetest.Normally)))
		played, _ := playTicTacToe(w, leaguetest.Options(marks("34278"), slowly), leaguetest.Options(marks("6051"), slowly))
		assert.Equal(t, league.StatusDraw, played.Status)
		assert.Greater(t, w.Calls(protocol.NotifyMatchResult.Name)[0].At, 300*time.Second, "longer than a single turn")
		assert.Len(t, w.Calls(protocol.StartMatch.Name), 1)
	})
}

func TestRepeatedIllegalMovesLose(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		played, _ := playTicTacToe(w, leaguetest.Options(marks("012")), leaguetest.Options(marks("34"), moving(leaguetest.FirstN(1, leaguetest.Normally, inCell("0")))))
		assert.Equal(t, league.StatusTechnicalLoss, played.Status)
		assert.Equal(t, "P01", played.Winner())
		assert.Equal(t, [2]string{"1", "3"}, played.LastMoves(), "the last legal moves")
		assert.Equal(t, "P02 sent no valid GAME_MOVE_RESPONSE (E010) - P01 wins by default", played.Reason)
		assert.Equal(t, leaguetest.FourErrorsAtOnce(protocol.ErrIllegalMove, protocol.TypeGameMoveResponse, 30*time.Second), w.GameErrors())
	})
}

// A restarted player repeats its last move and continues the match.
func TestMatchOfManyMovesContinuesAfterAPlayerCrash(t *testing.T) {
	for _, game := range []rules.Game{tictactoe.Game{}, kuhnpoker.Game{}} {
		leaguetest.RunOnWire(t, game.Info().Type, func(t *testing.T, w *leaguetest.World) { continueAfterACrash(t, w, game) })
	}
}

func continueAfterACrash(t *testing.T, w *leaguetest.World, game rules.Game) {
	w.Game = game
	files := leaguetest.TempFolder(t)
	x := w.StartManagerIn(files, 2, 1)
	w.RefereeWithFiles("REF01", files)
	seeded := func(o *player.Options) {
		o.Random = func(_, decision string) *rand.Rand { return leaguetest.KeyedRandom(w.Seed, "choice", decision, "P01") }
	}
	var crashed, restarted *leaguetest.Agent
	var unheard *protocol.GameMoveResponse
	crashed = w.NewPlayerIn("P01", files, seeded, moving(leaguetest.InTurn(leaguetest.Normally, func(c *leaguetest.Call) (jsontext.Value, error) {
		answer, err := c.OwnAnswer()
		if err != nil {
			return nil, err
		}
		unheard = leaguetest.Decode[protocol.GameMoveResponse](answer)
		w.Background.Go(func() {
			crashed.Stop()
			time.Sleep(time.Second)
			restarted = w.NewPlayerIn("P01", files, seeded)
			assert.NoError(t, restarted.Player.Register(w.Context))
		})
		return nil, leaguetest.ErrHangUp
	})))
	require.NoError(t, crashed.Player.Register(w.Context))
	w.Player("P02")
	x.Finish()
	require.NoError(t, x.CloseFiles())
	require.NotNil(t, restarted)
	assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(x.Manager)[0].Status)
	moves := w.Calls(protocol.MakeMove.Name, "p01")
	assert.Equal(t, unheard.MoveData, leaguetest.Decode[protocol.GameMoveResponse](moves[2].Answer).MoveData, "the repeated call gets the same move")
	require.NoError(t, restarted.Player.Close())
	assert.Len(t, leaguetest.ReadHistory(t, files, "P01").Matches, 1)
	w.CheckAudited(files)
}

// The transcript limit allows a match in which every move needs all retries.
func TestLongestTranscriptIsComplete(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		stubborn := func(c *leaguetest.Call) (jsontext.Value, error) {
			if c.N%4 != 0 {
				return inCell("9")(c)
			}
			return leaguetest.Normally(c)
		}
		played, folder := playTicTacToe(w, leaguetest.Options(marks("34278"), moving(stubborn)), leaguetest.Options(marks("6051"), moving(stubborn)))
		assert.Equal(t, league.StatusDraw, played.Status)
		doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
		require.NoError(t, err)
		assert.Zero(t, doc.Omitted)
		assert.Len(t, doc.Transcript, 4+9*(4*2+3*2)+4)
	})
}

// manyHands is Rock Paper Scissors until a player wins, at most five times: a game of
// several turns with concurrent moves.
type manyHands struct{ rockpaperscissors.Game }

func (manyHands) Info() rules.Info {
	info := rockpaperscissors.Game{}.Info()
	info.Type, info.MaxMoves = "many_hands", 5
	return info
}

func (manyHands) MaxTurns() int { return 5 }

func (g manyHands) Start() rules.Position { return showing{g.Game.Start(), 1} }

// showing is a position of manyHands with its number.
type showing struct {
	rules.Position
	number int
}

func (p showing) Ask(side rules.Side) rules.Question {
	q := p.Position.Ask(side)
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

// hands is a strategy that plays the given hands in order.
type hands []string

func (hands) Name() string { return "hands" }

func (h hands) Choose(_ context.Context, v strategy.View) (string, error) {
	n, err := strconv.Atoi(fmt.Sprint(v.Context["number"]))
	return h[n-1], err
}

func TestPlayersMoveConcurrentlyInEachTurn(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		first := leaguetest.Options(playing(hands{"rock", "rock", "paper"}),
			moving(leaguetest.Delayed(2*time.Second, leaguetest.Normally)))
		second := leaguetest.Options(playing(hands{"rock", "rock", "scissors"}),
			moving(leaguetest.InTurn(leaguetest.Normally, leaguetest.Silent, leaguetest.Normally)))
		played, _ := playGame(w, manyHands{}, first, second)
		assert.Equal(t, "P02 chose scissors, P01 chose paper", played.Reason)
		assert.Equal(t, [2]string{"paper", "scissors"}, played.LastMoves())
		assert.Equal(t, []int{0, 2, 34}, leaguetest.Seconds(w.Calls(protocol.MakeMove.Name, "p01")))
		assert.Equal(t, []int{0, 2, 34, 34}, leaguetest.Seconds(w.Calls(protocol.MakeMove.Name, "p02")), "a late player delays the turn")
	})
}
