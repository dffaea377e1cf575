package manager_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
)

// playsProgram makes the league of a world one of a program, which has the positions of a game.
func playsProgram(w *leaguetest.World, game rules.Game) *rulestest.Program {
	p := rulestest.NewProgram("guests", game)
	w.Game, w.Program = p.Rules(), p
	return p
}

// A brokenProgram fails while it is broken, and so long only about whole matches if it is sound before their ends.
type brokenProgram struct {
	manager.Program

	broken atomic.Bool
	asked  atomic.Int64
	digest string // "" for that of the program
	says   func(*rules.State) *rules.State
}

func (p *brokenProgram) Ask(ctx context.Context, history []rules.Entry) (*rules.State, error) {
	p.asked.Add(1)
	if p.broken.Load() {
		return nil, &program.Error{Kind: program.Ended, Detail: "it ended", Last: "KeyError: 'ace of spades'"}
	}
	state, err := p.Program.Ask(ctx, history)
	if p.says != nil && err == nil {
		state = p.says(state)
	}
	return state, err
}

func (p *brokenProgram) Digest() string {
	if p.digest != "" {
		return p.digest
	}
	return p.Program.Digest()
}

func TestLeagueOfAProgram(t *testing.T) {
	for name, game := range map[string]rules.Game{"open": tictactoe.Game{}, "hidden, with draws": kuhnpoker.Game{}} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			p := playsProgram(w, game)
			mine := &brokenProgram{Program: p}
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed, func(o *manager.Options) { o.Program = mine })
			w.RefereeWithFiles("REF01", x.Folder)
			w.Players(2)
			x.Finish()
			require.NoError(t, x.CloseFiles())
			state, _ := w.FoldJournal(x.Folder)
			assert.Equal(t, protocol.GameID{Version: "1", Digest: p.Digest()}, state.Created.GameID)
			r := state.Match(league.MatchID{Round: 1, Number: 1}).Report
			require.NotNil(t, r)
			assert.Equal(t, journal.GradeProven, r.Grade)
			reports := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name,
				"manager").Message)
			assert.EqualValues(t, len(reports.Draws)+1, mine.asked.Load(), "once a draw, and once about the whole match")
			assert.Equal(t, rules.HasDraws(game), len(reports.Draws) > 0)
			assigned := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
			assert.Equal(t, state.Created.GameID, assigned.GameID)
		})
	}
}

// A report of another winner than the program names is rejected, as in any game.
func TestReportThatTheProgramContradictsIsRejected(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		p := playsProgram(w, tictactoe.Game{})
		honest := &brokenProgram{Program: p}
		liar := &brokenProgram{Program: p, says: func(s *rules.State) *rules.State {
			other := *s
			if other.Over {
				other.Winner = map[rules.Side]rules.Side{rules.NoSide: rules.SideA, rules.SideA: rules.SideB,
					rules.SideB: rules.SideA}[s.Winner]
			}
			return &other
		}}
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2, func(o *manager.Options) { o.Program = honest })
		with := func(p referee.Program) func(*referee.Options) {
			return func(o *referee.Options) { o.Programs = map[string]referee.Program{"guests": p} }
		}
		for id, p := range map[string]referee.Program{"REF01": liar, "REF02": honest} {
			require.NoError(t, w.RefereeWith(id, nil, with(p)).Referee.Register(w.Context))
		}
		w.Players(2)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		state, _ := w.FoldJournal(x.Folder)
		m := state.Match(league.MatchID{Round: 1, Number: 1})
		assert.Equal(t, "REF02", m.Report.RefereeID)
		require.Len(t, m.LostAttempts, 1)
		assert.Equal(t, journal.CauseRejected, m.LostAttempts[0].Cause)
		assert.Contains(t, m.LostAttempts[0].Reason, "result.winner: by the rules of guests")
	})
}

// The program fails where the manager or a referee asks it: no agent pays, the third failure pauses the league, and
// when the program is mended and the league resumed, the match goes on.
func TestFailingProgramPausesTheLeague(t *testing.T) {
	for what, at := range map[string]string{"a report": "the manager", "an opening": "the manager", "a turn": "REF01"} {
		leaguetest.RunInMemory(t, what, func(t *testing.T, w *leaguetest.World) {
			failing := &brokenProgram{Program: playsProgram(w, tictactoe.Game{})}
			log := w.CaptureLog()
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) {
				if at == "the manager" {
					o.Program = failing
				}
				if what == "an opening" {
					o.Legs, o.Openings = 2, 2
				}
			})
			failing.broken.Store(true)
			r := w.RefereeWith("REF01", nil, func(o *referee.Options) {
				o.Folder = x.Folder
				if at == "REF01" {
					o.Programs = map[string]referee.Program{"guests": failing}
				}
			})
			require.NoError(t, r.Referee.Register(w.Context))
			w.Players(2)
			w.WaitUntil(5 * time.Minute)
			assert.True(t, w.Manager.Status().Paused)
			assert.Contains(t, log.Text(), `"event_type":"GAME_PROGRAM_FAILED"`)
			before := failing.asked.Load()
			w.WaitUntil(2 * time.Hour) // far longer than a match may take
			if at == "REF01" {
				assert.Equal(t, before, failing.asked.Load(), "a paused league does not begin the match again")
			}
			failing.broken.Store(false)
			w.Organise(protocol.CommandResume)
			x.Finish()
			require.NoError(t, x.CloseFiles())

			state, _ := w.FoldJournal(x.Folder)
			m := state.Match(league.MatchID{Round: 1, Number: 1})
			require.NotNil(t, m.Report)
			assert.NotEqual(t, league.StatusTechnicalLoss, m.Report.Status)
			assert.Equal(t, 1, m.Report.Number, "it is the first attempt")
			assert.Empty(t, m.LostAttempts)
			assert.Zero(t, state.Agents["REF01"].Failures)
			pauses := 0
			visitJournal(w, x.Folder, func(e *journal.Event, _ string) {
				if d, ok := e.Data.(*journal.Decided); ok && d.Command == protocol.CommandPause {
					pauses++
					assert.Equal(t, journal.ByManager, d.By)
					assert.Contains(t, d.Reason,
						"the program of the game guests failed 3 times, the last time at "+at+", match R1M1: ")
					assert.Contains(t, d.Reason, "it ended")
					assert.NotContains(t, d.Reason, "ace of spades", "agents and pages learn no line of a program")
				}
			})
			assert.Equal(t, 1, pauses)
		})
	}
}

func TestRefereeWithAnotherProgramIsNotUsed(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		p := playsProgram(w, tictactoe.Game{})
		log := w.CaptureLog()
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
		other := &brokenProgram{Program: p, digest: strings.Repeat("cd", 32)}
		r := w.RefereeWith("REF01", nil,
			func(o *referee.Options) { o.Programs = map[string]referee.Program{"guests": other} })
		require.NoError(t, r.Referee.Register(w.Context))
		w.Referee("REF02")
		w.Players(2)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		state, _ := w.FoldJournal(x.Folder)
		assert.Equal(t, "REF02", state.Match(league.MatchID{Round: 1, Number: 1}).Report.RefereeID)
		assert.Zero(t, other.asked.Load())
		assert.Contains(t, log.Text(), `"reason":"it has another program of the game guests: digest cdcdcdcd`)
		assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name, "ref01"))
	})
}

func TestLeagueResumesOnlyWithItsProgram(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		p := playsProgram(w, tictactoe.Game{})
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1)
		x.Kill()
		needs := `league ` + leaguetest.LeagueID + ` plays guests, version 1, which is a program with the digest ` +
			p.Digest() +
			`: name that program with --game`
		usual := rules.NewRegistry(tictactoe.Game{})
		for name, tt := range map[string]struct {
			change func(*manager.Options)
			want   string
		}{
			"no program": {func(o *manager.Options) { o.Program, o.Games, o.GameType = nil, usual, tictactoe.Type }, needs},
			"another one": {func(o *manager.Options) {
				o.Program = &brokenProgram{Program: p, digest: strings.Repeat("cd", 32)}
			},
				needs + "; the one named has the digest cdcdcdcd"},
		} {
			y, o := w.OpenManager(leaguetest.CrashPoint{}, x.Folder, 0, 1, tt.change)
			_, err := manager.New(o)
			assert.ErrorContains(t, err, tt.want, name)
			require.NoError(t, y.CloseFiles())
		}
		again := w.StartManagerIn(x.Folder, 0, 1)
		assert.True(t, again.Manager.Resumed())
		again.Kill()
	})
}

func TestGamesThatALeagueCannotHave(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		for name, tt := range map[string]struct {
			change func(*manager.Options)
			want   string
		}{
			"a program that nobody runs": {func(o *manager.Options) { o.Program = nil },
				"game guests is a program, which the manager needs to run"},
			"draws in plain messages": {func(o *manager.Options) { o.Members = protocol.MembersPlain },
				"members: plain and the game guests exclude each other"},
		} {
			playsProgram(w, kuhnpoker.Game{})
			_, o := w.OpenManager(leaguetest.CrashPoint{}, leaguetest.TempFolder(t), 0, 1, tt.change)
			_, err := manager.New(o)
			assert.ErrorContains(t, err, tt.want, name)
		}
	})
}

func TestLeagueOfALargeGameAdmitsOnlyAgentsThatTakeLargeMessages(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		playsProgram(w, longGame{})
		w.StartManager(0, 1)
		w.PingOnly("small")
		q := w.Application("Small")
		q.PlayerMeta.GameTypes = []string{w.Game.Info().Type}
		rejected := mustApply(w, q)
		assert.Equal(t, string(protocol.ErrUnsupportedGame), rejected.ErrorCode)
		assert.Equal(t, "messages of guests can have 64 KB: register with \"large_messages\": true in player_meta if the agent takes them",
			*rejected.Reason)
		q.PlayerMeta.LargeMessages, q.ConversationID = true, "conv-again"
		assert.Equal(t, protocol.StatusAccepted, mustApply(w, q).Status)

		w.PingOnly("little")
		r := w.RefereeApplication("Little")
		r.RefereeMeta.GameTypes = []string{w.Game.Info().Type}
		assert.Contains(t, *mustApplyReferee(w, r).Reason, "in referee_meta")
		w.Referee("REF01") // declares large_messages
		w.Player("P02")
	})
}

// A referee that accepts a match of many turns and does not go on loses it after the longest time of one question. One
// whose turns advance has more, also when it begins the attempt again.
func TestMatchIsTakenFromARefereeWhoseTurnDoesNotAdvance(t *testing.T) {
	for name, tt := range map[string]struct{ advances, restarts, taken bool }{
		"it does not": {false, false, true}, "it does": {true, false, false},
		"it does, and begins again": {true, true, false},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			playsProgram(w, kuhnpoker.Game{})
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
			var began atomic.Int64
			r := w.Referee("REF01",
				leaguetest.On(protocol.StartMatch.Name, leaguetest.ThenEdit(w.AcceptMatch, "game_digest", w.Program.Digest())),
				leaguetest.On(protocol.GetMatchState.Name, func(*leaguetest.Call) (jsontext.Value, error) {
					turn := 1
					if tt.advances {
						turn += int((w.Now() - time.Duration(began.Load())) / time.Minute)
					}
					return leaguetest.Encode(protocol.MatchState{MatchID: "R1M1", State: protocol.StateCollectingChoices, Attempt: 1,
						Turn: turn, PlayerAID: "P01", PlayerBID: "P02"}), nil
				}))
			w.Players(2)
			w.WaitUntil(20 * time.Minute)
			if tt.restarts {
				began.Store(int64(w.Now()))
				require.NoError(t, r.Referee.Register(w.Context))
			}
			w.WaitUntil(38 * time.Minute)
			offers := w.Calls(protocol.StartMatch.Name)
			last := leaguetest.Decode[protocol.MatchAssignment](offers[len(offers)-1].Message)
			assert.Equal(t, tt.taken, last.Attempt > 1)
			assert.Equal(t, tt.restarts, len(offers) > 1 && last.Attempt == 1)
			x.Kill()
		})
	}
}

// The organiser sees no card before the match is recorded.
func TestTranscriptOfAHiddenGameIsSecretUntilItIsRecorded(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		failing := &brokenProgram{Program: playsProgram(w, kuhnpoker.Game{})}
		failing.broken.Store(true)
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.Program = failing })
		w.RefereeWithFiles("REF01", x.Folder)
		w.Players(2)
		w.WaitUntil(time.Minute)
		transcript := func() error {
			q := &protocol.ToolRequest{LeagueID: leaguetest.LeagueID, MatchID: "R1M1"}
			q.AuthToken = protocol.AdminToken(protocol.ManagerKeysOf(w.Secret).Admin, leaguetest.LeagueID)
			_, err := protocol.GetMatchTranscript.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			return err
		}
		assert.ErrorContains(t, transcript(), "is shown when the match is recorded")
		failing.broken.Store(false)
		w.Organise(protocol.CommandResume)
		x.Finish()
		assert.NoError(t, transcript())
	})
}
