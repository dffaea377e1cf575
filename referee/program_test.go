package referee_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
)

// A programMatch is a match of a game that is a program, with a scripted manager.
type programMatch struct {
	*leaguetest.World

	program    *rulestest.Program
	folder     store.Folder
	manager    *leaguetest.Agent
	referee    *leaguetest.Agent
	assignment *protocol.MatchAssignment
}

// A programSetup is that of a match of a program: the game whose positions it has, and traits of the agents.
type programSetup struct {
	game                   rules.Game
	manager, first, second []leaguetest.Option
}

// start starts the agents of the match.
func (s programSetup) start(w *leaguetest.World) *programMatch {
	m := &programMatch{World: w, program: rulestest.NewProgram("program_test", s.game), folder: leaguetest.TempFolder(w.T)}
	w.Game = m.program.Rules()
	m.manager = w.ScriptedManager(s.manager...)
	m.startReferee()
	w.Player("P01", s.first...)
	w.Player("P02", s.second...)
	m.assignment = w.Assignment("R1M1", 1, "REF01")
	m.assignment.GameType = "program_test"
	m.assignment.GameID = protocol.GameID{Version: "1", Digest: m.program.Digest()}
	return m
}

// startReferee starts the referee, also again.
func (m *programMatch) startReferee() {
	m.T.Helper()
	m.referee = m.RefereeWith("REF01", leaguetest.Options(leaguetest.WithRandomSecrets), func(o *referee.Options) {
		o.Programs, o.Folder = map[string]referee.Program{"program_test": m.program}, m.folder
	})
	require.NoError(m.T, m.referee.Referee.Register(m.Context))
}

// assign assigns the match.
func (m *programMatch) assign() *protocol.MatchAssignmentAck {
	m.T.Helper()
	ack, err := m.Assign(m.manager, m.referee, m.assignment)
	require.NoError(m.T, err)
	return ack
}

// transcript asks the referee for the match file, as the manager does.
func (m *programMatch) transcript() (*store.Match, error) {
	q := &protocol.ToolRequest{LeagueID: leaguetest.LeagueID, MatchID: "R1M1", Attempt: 1}
	answer, err := protocol.GetMatchTranscript.Call(m.Context, m.manager.Caller,
		protocol.Peer{Endpoint: leaguetest.EndpointOf("ref01"), Bearer: m.ManagerCredential("REF01")}, q)
	if err != nil {
		return nil, err
	}
	doc := leaguetest.Decode[store.Match](answer.Match)
	return doc, nil
}

// state asks the referee for the state of the match, as the manager does.
func (m *programMatch) state() *protocol.MatchState {
	m.T.Helper()
	q := &protocol.ToolRequest{MatchID: "R1M1"}
	state, err := protocol.GetMatchState.Call(m.Context, m.manager.Caller,
		protocol.Peer{Endpoint: leaguetest.EndpointOf("ref01"), Bearer: m.ManagerCredential("REF01")}, q)
	require.NoError(m.T, err)
	return state
}

func TestProgramOfAGameIsAskedOnceATurn(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := programSetup{game: tictactoe.Game{}}.start(w)
		assert.Equal(t, m.program.Digest(), m.assign().GameDigest)
		w.WaitUntil(leaguetest.Second)
		report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name,
			leaguetest.ManagerHost).Message)
		turns := len(report.Moves)
		assert.Equal(t, turns+1, m.program.Asked(), "before each turn, and at the end")
		assert.Equal(t, turns, report.Moves[turns-1].Turn)
		assert.Empty(t, report.Draws)
		over := w.GameOver("p01")
		assert.Empty(t, over.Moves, "the game hides nothing")

		doc, err := m.transcript()
		require.NoError(t, err)
		assert.Equal(t, m.assignment.GameID, doc.GameID)
		require.Len(t, doc.Boards, turns+1)
		assert.Equal(t, [][]string{{"", "", ""}, {"", "", ""}, {"", "", ""}}, doc.Boards[0].Cells)
		assert.Equal(t, turns+1, doc.Boards[turns].Turn)
		first := leaguetest.Decode[protocol.GameMoveCall](w.Calls(protocol.MakeMove.Name,
			"p01")[0].Message).MoveRequest.Context
		assert.Contains(t, first["rules"], "Program of Tic-Tac-Toe. ")
		assert.EqualValues(t, 1, first["turn"])
		assert.Contains(t, first["view"], tictactoe.ContextBoard)
	})
}

func TestHiddenGameIsSecretUntilItIsRecorded(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := programSetup{game: kuhnpoker.Game{}, manager: leaguetest.Options(leaguetest.On(protocol.ReportMatchResult.Name,
			leaguetest.FirstN(1, leaguetest.RefuseWith(protocol.ErrMatchNotFound), leaguetest.Normally)))}.start(w)
		m.assign()
		w.WaitUntil(leaguetest.Second) // the manager has refused the report
		_, err := m.transcript()
		require.ErrorContains(t, err, "game program_test hides something: the file of attempt 1")
		state := m.state()
		assert.Equal(t, protocol.StateFinished, state.State)
		assert.Nil(t, state.Draw)
		assert.Nil(t, state.GameResult)
		running, err := m.referee.Referee.Running(w.Token("REF01"))
		require.NoError(t, err)
		assert.Empty(t, running)
		progress, err := m.referee.Referee.Progress(w.Token("REF01"), "R1M1")
		require.NoError(t, err)
		assert.Equal(t, []string{"P01", "P02"}, progress.Chosen)
		assert.False(t, progress.Reported)

		report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name,
			leaguetest.ManagerHost).Message)
		assert.Len(t, report.Draws, kuhnpoker.Hands)
		chance := rules.Chance{}
		for text, secret := range map[string]*[32]byte{report.Draw.Nonce: &chance.Nonce,
			entropyOf(report.Draw, "P01"): &chance.EntropyA,
			entropyOf(report.Draw, "P02"): &chance.EntropyB} {
			parsed, ok := protocol.ParseSecret(text)
			require.True(t, ok)
			*secret = parsed
		}
		for i, d := range report.Draws {
			assert.Equal(t, chance.Draw("R1M1", i+1, d.Of), d.Number, "draw %d", i+1)
		}
		for _, host := range []string{"p01", "p02"} {
			over := w.GameOver(host)
			assert.Equal(t, report.Moves, over.Moves)
			assert.Equal(t, report.Draws, over.Draws)
		}
		m.assign() // now it takes it
		w.WaitUntil(2 * leaguetest.Second)
		assert.NotNil(t, m.state().Draw)
		doc, err := m.transcript()
		require.NoError(t, err)
		assert.Equal(t, report.Draws, doc.Draws)
		assert.Empty(t, doc.Boards)
	})
}

func entropyOf(d *protocol.Draw, id string) string {
	entropy, _ := d.Entropies.Get(id)
	return entropy
}

// A program that fails, or contradicts itself, costs no player the match: the attempt begins again, with the same
// draws.
func TestFailureOfAProgramCostsNoPlayer(t *testing.T) {
	broken := &program.Error{Kind: program.TimedOut, Detail: "did not answer within 10s", Last: "a card",
		Printed: "a card"}
	for _, test := range []struct {
		name   string
		change func(asked int, state *rules.State) (*rules.State, error)
		says   string
	}{
		{"it fails", func(int, *rules.State) (*rules.State, error) { return nil, broken }, broken.Detail},
		{"it refuses what it allowed", func(asked int, _ *rules.State) (*rules.State, error) {
			return &rules.State{Illegal: &rules.Illegal{Index: asked - 5, Reason: "no"}}, nil
		}, "to which it led"},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			m := programSetup{game: kuhnpoker.Game{}}.start(w)
			const sound = 5 // answers
			m.program.Change = func(_ []rules.Entry, state *rules.State) (*rules.State, error) {
				if asked := m.program.Asked(); asked > sound {
					return test.change(asked, state)
				}
				return state, nil
			}
			first := m.assign()
			assert.Empty(t, first.Reason)
			w.WaitUntil(leaguetest.Second)
			assert.Empty(t, w.Calls(protocol.ReportMatchResult.Name))
			assert.Empty(t, w.Calls(protocol.NotifyMatchResult.Name))
			assert.Empty(t, w.GameErrors())
			assert.Len(t, w.Calls(protocol.RegisterReferee.Name), 2, "so the manager assigns the match again")
			_, err := m.transcript()
			require.ErrorContains(t, err, "no file of attempt 1", "the same cards are dealt again")
			asked := len(w.Calls(protocol.MakeMove.Name))

			m.program.Change = nil
			again := m.assign()
			assert.Contains(t, again.Reason, test.says)
			assert.NotContains(t, again.Reason, "a card", "the manager learns no line of a program")
			assert.Equal(t, first.DrawCommitment, again.DrawCommitment)
			w.WaitUntil(2 * leaguetest.Second)
			w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
			m.asksAgain(asked)
		})
	}
}

// asksAgain checks that the questions after the first n are these again, with the same cards. Both players may be asked
// at the same time, in any order.
func (m *programMatch) asksAgain(n int) {
	m.T.Helper()
	asked := m.Calls(protocol.MakeMove.Name)
	require.Greater(m.T, len(asked), 2*n)
	questions := func(calls []leaguetest.Exchange) map[string][]protocol.MoveRequest {
		of := map[string][]protocol.MoveRequest{}
		for i := range calls {
			q := leaguetest.Decode[protocol.GameMoveCall](calls[i].Message).MoveRequest
			of[calls[i].To] = append(of[calls[i].To], q)
		}
		return of
	}
	first, all := questions(asked[:n]), questions(asked[n:])
	require.Len(m.T, first, 2)
	for to, some := range first {
		require.GreaterOrEqual(m.T, len(all[to]), len(some), "questions to %s", to)
		assert.Equal(m.T, some, all[to][:len(some)], "questions to %s", to)
	}
}

// A referee that is restarted in a match deals the same cards in the same attempt.
func TestRestartedRefereeDealsTheSameCards(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		const turns = 6
		hangs := leaguetest.On(protocol.MakeMove.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
			if c.N == turns {
				return leaguetest.Silent(c)
			}
			return leaguetest.Normally(c)
		})
		w.Varies = true
		m := programSetup{game: kuhnpoker.Game{}, first: leaguetest.Options(hangs)}.start(w)
		before := m.assign()
		w.WaitUntil(leaguetest.Second)
		m.referee.StopReferee()
		w.WaitUntil(2 * leaguetest.Second)
		assert.Empty(t, leaguetest.MatchFiles(t, m.folder), "the cards are still secret")
		asked := len(w.Calls(protocol.MakeMove.Name))

		m.startReferee()
		again := m.assign()
		assert.Equal(t, before.DrawCommitment, again.DrawCommitment)
		w.WaitUntil(10 * leaguetest.Second)
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
		m.asksAgain(asked)
	})
}

// saying is a strategy that says its characters in order.
type saying string

func (saying) Name() string { return "saying" }

func (s saying) Choose(_ context.Context, v strategy.View) (string, error) {
	return string(s[len(v.Earlier)]), nil
}

// GAME_OVER does not overtake the GAME_ERROR before it, from which a player learns why it has lost.
func TestGameOverFollowsTheLastGameError(t *testing.T) {
	for _, test := range []struct {
		name  string
		takes time.Duration // the delivery
		wait  time.Duration // of GAME_OVER for it
	}{
		{"it arrives late", leaguetest.Second / 2, leaguetest.Second / 2},
		{"it hangs", 5 * leaguetest.Second, leaguetest.Second},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			wrong := leaguetest.EditAnswer("parity_choice", "neither")
			w.Duel(nil, []leaguetest.Option{leaguetest.On(protocol.ChooseParity.Name, wrong),
				leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Delayed(test.takes, leaguetest.Normally))})
			told := w.Calls(protocol.NotifyGameError.Name, "p02")
			last := told[len(told)-1]
			over := w.OnlyCall(protocol.NotifyMatchResult.Name, "p02")
			assert.Equal(t, last.At+test.wait, over.At)
		})
	}
}

func TestProgramJudgesFreeText(t *testing.T) {
	slow := 8 * leaguetest.Second
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		rude := leaguetest.EditAnswer("move_data", protocol.MoveData{MoveType: tictactoe.MoveType, Choice: "nine"})
		says := func(words string, more ...leaguetest.Option) []leaguetest.Option {
			return append(more, func(a *leaguetest.Agent) { a.Decide = saying(words) })
		}
		m := programSetup{game: tictactoe.Game{}, first: says("012", leaguetest.On(protocol.MakeMove.Name,
			leaguetest.FirstN(1, rude, leaguetest.Normally))), second: says("345")}.start(w)
		m.program.Change = func(_ []rules.Entry, state *rules.State) (*rules.State, error) {
			if state.Illegal != nil {
				time.Sleep(slow) // of the virtual clock
			}
			for _, q := range state.ToMove {
				if q != nil {
					q.Options, q.Text = nil, 5
				}
			}
			return state, nil
		}
		m.assignment.RetryPolicy.MaxRetries = 1
		m.assign()
		w.WaitUntil(leaguetest.Second * 30)
		errs := w.GameErrors()
		require.Len(t, errs, 1)
		assert.Equal(t, protocol.ErrIllegalMove, errs[0].Code)
		assert.Equal(t, slow, errs[0].At, "the program took so long")
		assert.Equal(t, 30*leaguetest.Second, errs[0].Remaining, "and the player has its whole time")
		report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name,
			leaguetest.ManagerHost).Message)
		assert.Equal(t, league.StatusWin, report.Result.Status)
	})
}

func TestRefereeRefusesAnotherProgram(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := programSetup{game: tictactoe.Game{}}.start(w)
		m.assignment.Digest = protocol.Secret{9}.Hex()
		ack := m.assign()
		assert.Equal(t, protocol.StatusRejected, ack.Status)
		assert.Equal(t, m.program.Digest(), ack.GameDigest)
		assert.Equal(t, `game program_test is not the same program here: version "1" with digest abababababab, in the `+
			`assignment version "1" with digest 090000000000`, ack.Reason)
		assert.Empty(t, w.Calls(protocol.Invite.Name))
	})
	_, err := referee.New(referee.Options{Options: membership.Options{Clock: protocol.SystemClock()}, MaxConcurrent: 1,
		Games: rules.NewRegistry(rulestest.NewProgram("program_test", tictactoe.Game{}).Rules())})
	require.ErrorContains(t, err, "game program_test is a program, which the referee needs to run")
}

// A referee that stops gives no attempt up: another process goes on.
func TestStoppingRefereeBlamesNoProgram(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		m := programSetup{game: tictactoe.Game{}}.start(w)
		m.program.Change = func([]rules.Entry, *rules.State) (*rules.State, error) {
			go m.referee.Referee.Close()
			time.Sleep(leaguetest.Second) // of the virtual clock
			return nil, context.Canceled
		}
		m.assign()
		w.WaitUntil(5 * leaguetest.Second)
		assert.NotContains(t, log.Text(), "GAME_PROGRAM_FAILED")
		assert.Len(t, w.Calls(protocol.RegisterReferee.Name), 1)
	})
}
