package player_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
)

// A dealer conducts a match of Kuhn poker with P01, which is PLAYER_A. P02 answers with its first option.
type dealer struct {
	*leaguetest.ScriptedReferee

	game    string // its type
	course  rules.Course
	chance  rules.Chance
	moves   []protocol.PlayerMove
	signs   bool
	entropy [2]string
	// shows changes what P01 is shown in a turn.
	shows func(turn int, view map[string]any)
}

// deal starts a match.
func deal(w *leaguetest.World, p *leaguetest.Agent, signs bool) *dealer {
	d := &dealer{ScriptedReferee: w.ScriptedReferee(p, "R1M1", 1), game: kuhnpoker.Type,
		course: rules.Begin(kuhnpoker.Game{}), signs: signs}
	d.chance.Nonce = leaguetest.SecretOf("nonce", d.MatchID)
	if !signs {
		_, err := d.Invite()
		require.NoError(w.T, err)
	}
	return d
}

// play conducts the match to its end, and returns the answers of P01.
func (d *dealer) play() (answers []*protocol.GameMoveResponse) {
	t := d.World.T
	for first := true; !d.course.Over(); {
		turn, question, moves := d.course.Turn(), d.course.Ask(rules.SideA), [2]string{}
		for _, side := range d.course.ToMove() {
			moves[side] = d.course.Ask(side).Options[0]
		}
		if d.course.Owes(rules.SideA) {
			context := map[string]any{"opponent_id": "P02", "round_id": 1, "turn": turn}
			if question.View != nil {
				context["view"] = question.View
				if d.shows != nil {
					d.shows(turn, question.View.(map[string]any))
				}
			}
			if first {
				context["rules"] = "Kuhn Poker. As usual."
			}
			first = false
			if d.signs {
				d.AskForSignature(started, turn, d.moves...)
				d.Signature.ViewHash = protocol.ViewHash(question.View)
			}
			answer, err := d.Ask(d.game, d.World.Clock.Timestamp(), &protocol.MoveRequest{
				MoveType: question.MoveType, ValidOptions: question.Options, Context: context,
			})
			require.NoError(t, err)
			answers, moves[rules.SideA], d.entropy[0] = append(answers, answer), answer.MoveData.Choice, answer.Entropy
		}
		for _, side := range d.course.ToMove() {
			d.moves = append(d.moves[:len(d.moves):len(d.moves)],
				protocol.PlayerMove{PlayerID: []string{"P01", "P02"}[side], Move: moves[side], Turn: turn})
		}
		d.course = d.course.Play(moves)
		d.chance.EntropyA, _ = protocol.ParseSecret(d.entropy[0])
		d.course = d.course.Settle(d.MatchID, &d.chance)
	}
	return answers
}

// over returns the GAME_OVER.
func (d *dealer) over() *protocol.GameOver {
	q := &protocol.GameOver{
		GameType:   d.game,
		GameResult: league.ResultOf(d.course.Judge(d.chance), [2]string{"P01", "P02"}),
		Draw: &protocol.Draw{Commitment: d.Commitment(), Nonce: protocol.Secret(d.chance.Nonce).Hex(),
			Entropies: league.Both("P01", d.entropy[0], "P02", strings.Repeat("0", 64))},
		Moves: d.moves,
	}
	for _, drawn := range d.course.Draws() {
		q.Draws = append(q.Draws, protocol.Drawn(drawn))
	}
	return q
}

// gambler returns a player of Kuhn poker, which has the game or not.
func gambler(w *leaguetest.World, folder store.Folder, hasGame bool, decide strategy.Strategy) *leaguetest.Agent {
	p := w.NewPlayerIn("P01", folder, func(o *player.Options) {
		o.Strategy = decide
		if hasGame {
			o.Rules = rules.NewRegistry(kuhnpoker.Game{})
		}
	})
	require.NoError(w.T, p.Player.Register(w.Context))
	w.AnnounceStarted(p, 1, protocol.RefereeAuthAccessToken, started)
	return p
}

// seen are the questions to a strategy.
type seen struct{ views []strategy.View }

func (s *seen) gambler(w *leaguetest.World, folder store.Folder, hasGame bool) *leaguetest.Agent {
	nash, err := strategy.New("nash")
	require.NoError(w.T, err)
	return gambler(w, folder, hasGame, deciding(func(v strategy.View) string {
		s.views = append(s.views, v)
		choice, err := nash.Choose(w.Context, v)
		assert.NoError(w.T, err)
		return choice
	}))
}

// The ready turn asks for the entropy only. Strategies, moves and the history are without it, but the decision is
// signed.
func TestReadyTurnIsNoneOfTheStrategy(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		s := &seen{}
		p := s.gambler(w, folder, true)
		d := deal(w, p, true)
		answers := d.play()
		require.Equal(t, "ready", answers[0].MoveData.Choice)
		assert.NotEmpty(t, answers[0].Entropy)
		require.Len(t, s.views, len(answers)-1)
		for _, v := range s.views {
			assert.Equal(t, "act", v.MoveType)
			assert.Equal(t, "Kuhn Poker. As usual.", v.Rules)
			for _, m := range v.Moves {
				assert.NotEqual(t, "ready", m.Move)
			}
		}
		for i, e := range s.views[len(s.views)-1].Earlier {
			assert.Equal(t, s.views[i].Options, e.Options)
		}
		_, err := d.SendResult(d.over())
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		h := leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Decisions, len(answers))
		for i, made := range h.Decisions {
			assert.True(t, made.Statement("P01").Verify(p.Player.PublicKey(), answers[i].Signature), "decision %d", i)
			assert.NotEmpty(t, made.Decision.ViewHash)
		}
		assert.Equal(t, protocol.ViewHash(nil), h.Decisions[0].Decision.ViewHash)
		assert.Equal(t, answers[len(answers)-1].MoveData.Choice, h.Matches[0].MyChoice)
		assert.Empty(t, h.Matches[0].ReportedChoice)
		assert.Empty(t, h.Differences)
	})
}

// A player whose opponent does not answer in turn 2 has moved nowhere.
func TestReadyIsNoChoiceOfAMatchThatEndsThere(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := store.In(t.TempDir()), w.CaptureLog()
		w.ScriptedManager()
		p := (&seen{}).gambler(w, folder, true)
		d := deal(w, p, true)
		d.AskForSignature(started, 1)
		d.Signature.ViewHash = protocol.ViewHash(nil)
		_, err := d.Ask(kuhnpoker.Type, w.Clock.Timestamp(), &protocol.MoveRequest{MoveType: rules.Ready,
			ValidOptions: []string{rules.Ready}})
		require.NoError(t, err)
		winner := "P01"
		_, err = d.SendResult(&protocol.GameOver{GameType: kuhnpoker.Type, GameResult: &league.Result{
			Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Choices: league.Both[*string]("P01", nil, "P02", nil),
		}})
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		assert.Empty(t, leaguetest.ReadHistory(t, folder, "P01").Matches[0].MyChoice)
		assert.NotContains(t, log.Text(), "CONTRADICTED")
	})
}

func TestPlayerSignsNoViewThatItWasNotShown(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := (&seen{}).gambler(w, store.In(t.TempDir()), false)
		d := deal(w, p, false)
		d.AskForSignature(started, 1)
		d.Signature.ViewHash = protocol.ViewHash(map[string]any{"card": "K"})
		_, err := d.Ask(kuhnpoker.Type, w.Clock.Timestamp(), &protocol.MoveRequest{MoveType: "act",
			ValidOptions: []string{"check", "bet"}, Context: map[string]any{"view": map[string]any{"card": "Q"}}})
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
	})
}

func TestPlayerThatHasTheGameFindsWhatTheRefereeShowedWrongly(t *testing.T) {
	for name, test := range map[string]struct {
		shows  func(turn int, view map[string]any)
		over   func(q *protocol.GameOver)
		member string // "" if nothing is found
	}{
		"nothing": {},
		"another card": {
			shows: func(_ int, view map[string]any) {
				view["card"] = map[any]string{"J": "Q", "Q": "K", "K": "J"}[view["card"]]
			},
			member: "view",
		},
		"another draw": {over: func(q *protocol.GameOver) { q.Draws[3].Number = (q.Draws[3].Number + 1) % 6 },
			member: "draws"},
		"a draw too few": {over: func(q *protocol.GameOver) { q.Draws = q.Draws[:5] }, member: "draws"},
		"no nonce":       {over: func(q *protocol.GameOver) { q.Draw = nil }, member: "draw"},
		"another nonce":  {over: func(q *protocol.GameOver) { q.Draw.Nonce = strings.Repeat("1", 64) }, member: "draws"},
		"another move of the player": {
			over: func(q *protocol.GameOver) {
				for i := range q.Moves {
					if m := &q.Moves[i]; m.PlayerID == "P01" && m.Turn > 1 {
						m.Move = map[string]string{"check": "bet", "bet": "check", "call": "fold", "fold": "call"}[m.Move]
						break
					}
				}
			},
			member: "moves",
		},
		"a move that is not legal": {over: func(q *protocol.GameOver) { q.Moves[len(q.Moves)-1].Move = "raise" },
			member: "moves"},
		"no moves after turn 1": {over: func(q *protocol.GameOver) { q.Moves = q.Moves[:2] }, member: "moves"},
		"a move after the end": {
			over: func(q *protocol.GameOver) {
				q.Moves = append(q.Moves, protocol.PlayerMove{PlayerID: "P01", Move: "bet", Turn: 70})
			},
			member: "moves",
		},
	} {
		for _, signs := range []bool{true, false} {
			leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
				folder, log := store.In(t.TempDir()), w.CaptureLog()
				w.ScriptedManager()
				p := (&seen{}).gambler(w, folder, true)
				d := deal(w, p, signs)
				d.shows = test.shows
				d.play()
				q := d.over()
				if test.over != nil {
					q.Moves = append([]protocol.PlayerMove{}, q.Moves...)
					test.over(q)
				}
				_, err := d.SendResult(q)
				require.NoError(t, err)
				require.NoError(t, p.Player.Close())
				h := leaguetest.ReadHistory(t, folder, "P01")
				if test.member == "" {
					assert.NotContains(t, log.Text(), "VIEW_CONTRADICTED")
					assert.Empty(t, h.Differences)
					return
				}
				assert.Regexp(t, `"level":"error".*"sender":"referee:REF01".*"VIEW_CONTRADICTED"`, log.Text())
				require.Len(t, h.Differences, 1)
				found := h.Differences[0]
				assert.Equal(t, []any{"R1M1", 1, test.member}, []any{found.MatchID, found.Attempt, found.Difference.Member})
				assert.NotEqual(t, found.Difference.Shown, found.Difference.Computed)
			})
		}
	}
}

// A player without the game keeps the hashes for an audit.
func TestPlayerWithoutTheGameKeepsTheHashesOfItsViews(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		s := &seen{}
		p := s.gambler(w, folder, false)
		d := deal(w, p, false)
		d.play()
		_, err := d.SendResult(d.over())
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		h := leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Decisions, len(s.views))
		for i, v := range s.views {
			made := h.Decisions[i].Decision
			assert.Equal(t, protocol.ViewHash(v.Shown()), made.ViewHash)
			assert.Equal(t, v.Context["turn"], made.Turn)
			assert.Empty(t, made.Signature)
		}
	})
}

// After a restart the signed decisions say what the player was shown.
func TestRestartedPlayerChecksWhatItWasShownBefore(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := store.In(t.TempDir()), w.CaptureLog()
		w.ScriptedManager()
		p := (&seen{}).gambler(w, folder, true)
		d := deal(w, p, true)
		d.shows = func(turn int, view map[string]any) {
			if turn < 6 {
				view["chips"] = 99
			}
		}
		d.play()
		p.Stop() // without Close
		p = (&seen{}).gambler(w, folder, true)
		d.To = p
		_, err := d.Invite()
		require.NoError(t, err)
		_, err = d.SendResult(d.over())
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		assert.Contains(t, log.Text(), "VIEW_CONTRADICTED")
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Differences, 1)
	})
}

// The program of the game says the same as the rules of this one.
func TestPlayerWithTheProgramOfTheGameChecksWhatItWasShown(t *testing.T) {
	for name, test := range map[string]struct {
		shows  func(turn int, view map[string]any)
		change func(history []rules.Entry, state *rules.State) (*rules.State, error)
		event  string // "" for none
	}{
		"an honest referee": {},
		"a wrong card":      {shows: func(_ int, view map[string]any) { view["card"] = "A" }, event: "VIEW_CONTRADICTED"},
		"a program that fails": {
			change: func([]rules.Entry, *rules.State) (*rules.State, error) { return nil, errors.New("it hangs") },
			event:  "VIEWS_NOT_CHECKED",
		},
	} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			folder, log := store.In(t.TempDir()), w.CaptureLog()
			w.ScriptedManager()
			program := rulestest.NewProgram("cards", kuhnpoker.Game{})
			program.Change = test.change
			p := w.NewPlayerIn("P01", folder, func(o *player.Options) {
				o.Rules = rules.NewRegistry(program.Rules())
				o.Programs = map[string]player.Asker{"cards": program}
			})
			require.NoError(t, p.Player.Register(w.Context))
			w.AnnounceStarted(p, 1, protocol.RefereeAuthAccessToken, started)
			d := deal(w, p, true)
			d.game, d.shows = "cards", test.shows
			d.play()
			_, err := d.SendResult(d.over())
			require.NoError(t, err)
			require.NoError(t, p.Player.Close())
			assert.Positive(t, program.Asked())
			for _, event := range []string{"VIEW_CONTRADICTED", "VIEWS_NOT_CHECKED"} {
				assert.Equal(t, event == test.event, strings.Contains(log.Text(), event), event)
			}
			assert.Equal(t, test.event == "VIEW_CONTRADICTED", len(leaguetest.ReadHistory(t, folder, "P01").Differences) == 1)
		})
	}
}
