package player_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player/strategy"
)

// started is the hash of the event that started the leagues of these tests.
var started = strings.Repeat("5", 64)

// signingPlayer starts a player with a folder in a league that signs, and announces a round. The
// questions of the returned referee ask for signatures.
func signingPlayer(w *leaguetest.World, folder store.Folder,
	traits ...leaguetest.Option) (*leaguetest.Agent, *leaguetest.ScriptedReferee) {
	w.T.Helper()
	p := w.PlayerIn("P01", folder, traits...)
	w.AnnounceStarted(p, 1, protocol.RefereeAuthAccessToken, started)
	c := w.ScriptedReferee(p, "R1M1", 1)
	c.AskForSignature(started, 1)
	return p, c
}

func TestDecisionIsSignedOnce(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p, c := signingPlayer(w, folder)
		first, err := c.Choose()
		require.NoError(t, err)
		h := leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Decisions, 1, "the decision is on disk before its answer leaves")
		d := &h.Decisions[0]
		assert.Equal(t, first.ParityChoice, d.Decision.Choice)
		assert.Equal(t, first.Entropy, d.Decision.Entropy)
		assert.Equal(t, first.Signature, d.Decision.Signature)
		own, _ := c.Signature.EntropyCommitments.Get("P01")
		other, _ := c.Signature.EntropyCommitments.Get("P02")
		statement := &protocol.MoveStatement{
			Started: started, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: "P01", DrawCommitment: c.Commitment(),
			EntropyCommitments: [2]string{own, other}, Turn: 1, Move: first.ParityChoice, Entropy: first.Entropy,
		}
		assert.Equal(t, statement, d.Statement("P01"))
		assert.True(t, statement.Verify(p.Player.PublicKey(), first.Signature))

		for range 10 { // a random strategy would pass with a probability of one in a thousand
			again, err := c.Choose()
			require.NoError(t, err)
			assert.Equal(t, []string{first.ParityChoice, first.Entropy, first.Signature}, []string{again.ParityChoice, again.Entropy, again.Signature})
			c.Signature.DrawCommitment = strings.Repeat("d", 64)
			c.Signature.Started = strings.Repeat("e", 64)
		}
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1)
	})
}

// A referee would choose between two signatures on one question.
func TestPlayerNeverSignsASecondAnswer(t *testing.T) {
	for name, provoke := range map[string]func(w *leaguetest.World, p *leaguetest.Agent, c *leaguetest.ScriptedReferee){
		"after GAME_OVER": func(w *leaguetest.World, _ *leaguetest.Agent, c *leaguetest.ScriptedReferee) {
			_, err := c.SendGameOver(8)
			require.NoError(w.T, err)
		},
		"after the round": func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) {
			w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
		},
		"after two rounds": func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) {
			w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
			w.AnnounceStarted(p, 3, protocol.RefereeAuthAccessToken, started)
		},
		"after another referee invited": func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) {
			other := w.ScriptedReferee(p, "R1M1", 1)
			other.Sender, other.Token = "REF02", w.AccessToken("P01", "R1M1", 1, "REF02")
			_, err := other.Invite()
			require.NoError(w.T, err)
		},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			signed := map[string]string{} // by choice
			for n := range 20 {
				folder := store.In(t.TempDir())
				p, c := signingPlayer(w, folder)
				first, err := c.Choose()
				require.NoError(t, err)
				provoke(w, p, c)
				_, _ = c.Invite()
				again, err := c.Choose()
				if err == nil {
					assert.Equal(t, first.Signature, again.Signature, n)
				}
				assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1)
				signed[first.ParityChoice] = first.Signature
				p.Stop()
			}
			assert.Len(t, signed, 2, "the strategy chooses at random")
		})
	}
}

func TestKilledPlayerRepeatsItsSignedAnswer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		for range 20 {
			folder := store.In(t.TempDir())
			p, c := signingPlayer(w, folder)
			first, err := c.Choose()
			require.NoError(t, err)
			p.Stop() // without Close

			p = w.PlayerIn("P01", folder)
			c.To = p
			again, err := c.Choose()
			require.NoError(t, err)
			assert.Equal(t, []string{first.ParityChoice, first.Entropy, first.Signature}, []string{again.ParityChoice, again.Entropy, again.Signature})
			other := w.ScriptedReferee(p, "R1M2", 1)
			other.AskForSignature(strings.Repeat("e", 64), 1)
			_, err = other.Choose()
			leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			_, err = c.SendGameOver(8)
			require.NoError(t, err)
			require.NoError(t, p.Player.Close())
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, 1)
			assert.Equal(t, first.ParityChoice, h.Matches[0].MyChoice, "the player's own decision")
			p.Stop()

			p = w.PlayerIn("P01", folder)
			c.To = p
			_, _ = c.Invite()
			_, err = c.Choose()
			leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
			p.Stop()
		}
	})
}

func TestPlayerSignsOnlyWhatItKnows(t *testing.T) {
	other := strings.Repeat("e", 64)
	for name, change := range map[string]func(q *protocol.SignatureRequest){
		"another start":                    func(q *protocol.SignatureRequest) { q.Started = other },
		"no start":                         func(q *protocol.SignatureRequest) { q.Started = "" },
		"another draw commitment":          func(q *protocol.SignatureRequest) { q.DrawCommitment = other },
		"no draw commitment":               func(q *protocol.SignatureRequest) { q.DrawCommitment = "" },
		"another commitment of the player": func(q *protocol.SignatureRequest) { q.EntropyCommitments[0].Value = other },
		"without the player's commitment":  func(q *protocol.SignatureRequest) { q.EntropyCommitments = q.EntropyCommitments[1:] },
		"another role":                     func(q *protocol.SignatureRequest) { q.RoleInMatch = protocol.RolePlayerB },
		"no role":                          func(q *protocol.SignatureRequest) { q.RoleInMatch = "" },
		"no turn":                          func(q *protocol.SignatureRequest) { q.Turn = 0 },
		"a turn beyond the limit":          func(q *protocol.SignatureRequest) { q.Turn = 802 },
		"a move that the player never made": func(q *protocol.SignatureRequest) {
			q.Turn, q.Moves = 2, []protocol.PlayerMove{{PlayerID: "P01", Move: "odd"}}
		},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.ScriptedManager()
			_, c := signingPlayer(w, folder)
			change(&c.Signature)
			_, err := c.Choose()
			leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			assert.NoFileExists(t, store.HistoryLines(folder.History("P01")), "it decides nothing")
			c.AskForSignature(started, 1)
			answer, err := c.Choose()
			require.NoError(t, err)
			assert.NotEmpty(t, answer.Signature)
		})
	}
}

func TestPlayerSignsEachTurn(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p, c := signingPlayer(w, folder)
		var moves []protocol.PlayerMove
		for turn := 1; turn <= 5; turn += 2 {
			c.AskForSignature(started, turn, moves...)
			answer, err := c.Move(w.Clock.Timestamp(), strings.Split("abcdefghi", "")[turn:]...)
			require.NoError(t, err)
			h := leaguetest.ReadHistory(t, folder, "P01")
			d := h.Decisions[len(h.Decisions)-1]
			assert.True(t, d.Statement("P01").Verify(p.Player.PublicKey(), answer.Signature))
			if turn > 1 {
				assert.Equal(t, protocol.MovesHash(nil, moves), d.Decision.MovesHash)
			}
			moves = append(moves[:len(moves):len(moves)], protocol.PlayerMove{PlayerID: "P01", Move: answer.MoveData.Choice}, protocol.PlayerMove{PlayerID: "P02", Move: "x"})
		}
		for _, change := range []func(){
			func() { c.Signature.Moves = moves[2:] },
			func() { c.Signature.Opening = []string{"a", "b"} },
		} {
			c.AskForSignature(started, 7, moves...)
			change()
			_, err := c.Move(w.Clock.Timestamp(), "y", "z")
			leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		}
		require.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 3)
	})
}

// A referee could show another opening before the first move of the player, and report the right one.
func TestFirstMoveIsSignedWithItsOpening(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p, c := signingPlayer(w, folder)
		c.AskForSignature(started, 1)
		c.Signature.Opening = []string{"a", "b"}
		answer, err := c.Move(w.Clock.Timestamp(), "x", "y")
		require.NoError(t, err)
		signed := leaguetest.ReadHistory(t, folder, "P01").Decisions[0].Statement("P01")
		for opening, want := range map[string]bool{"a b": true, "b a": false, "": false} {
			if signed.MovesHash = ""; opening != "" {
				signed.MovesHash = protocol.MovesHash(strings.Fields(opening), nil)
			}
			assert.Equal(t, want, signed.Verify(p.Player.PublicKey(), answer.Signature), "opening %q", opening)
		}
	})
}

func TestResultThatContradictsTheDecisionIsAnError(t *testing.T) {
	even, odd, p01, p02 := "even", "odd", "P01", "P02"
	for _, test := range []struct {
		name     string
		over     bool    // the referee tells the true result, and the manager publishes another one
		winner   *string // by the manager
		reported string  // the choice in the history that the player did not make
	}{
		{"in GAME_OVER", false, &p01, odd},
		{"in the manager's results", true, &p01, odd},
		{"in the manager's winner", true, &p02, ""},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, log := store.In(t.TempDir()), w.CaptureLog()
			w.ScriptedManager()
			p, c := signingPlayer(w, folder, leaguetest.WithStrategy("even"))
			_, err := c.Choose()
			require.NoError(t, err)
			c.Flipped = !test.over
			_, err = c.SendGameOver(8)
			require.NoError(t, err)
			result := protocol.RoundResult{
				MatchID: "R1M1", Attempt: 1, Status: league.StatusWin, Winner: test.winner, DrawnNumber: new(8),
				Choices: league.Both("P01", &even, "P02", &odd),
			}
			if test.over {
				assert.NotContains(t, log.Text(), "DECISION_CONTRADICTED")
			}
			if test.over && test.reported != "" {
				result.Choices = league.Both("P01", &odd, "P02", &odd)
			}
			completeRound(w, p, 1, func(q *protocol.RoundCompleted) { q.Results = []protocol.RoundResult{result} })
			assert.Regexp(t, `"level":"error".*"DECISION_CONTRADICTED"`, log.Text())
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, 1)
			assert.Equal(t, []string{"even", test.reported}, []string{h.Matches[0].MyChoice, h.Matches[0].ReportedChoice})
			assert.NotEmpty(t, h.Matches[0].DrawCommitment)
		})
	}
}

// The audit compares my_choice with the journal, in every league and after every restart, so
// it must be the choice that counts unless the player knows better.
func TestChoiceInHistoryIsTheOneThatCounts(t *testing.T) {
	for _, test := range []struct {
		name                    string
		asked, restart, flipped bool
		failed                  bool
		mine, reported          string
	}{
		{name: "decided", asked: true, mine: "even"},
		{name: "decided otherwise", asked: true, flipped: true, mine: "even", reported: "odd"},
		{name: "never asked", flipped: true, reported: "odd"},
		{name: "decided without a signature before a restart", asked: true, restart: true, mine: "even"},
		{name: "decided in time, by the referee too late", asked: true, failed: true},
		{name: "too late before a restart", asked: true, restart: true, failed: true},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.ScriptedManager()
			p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
			c := w.ScriptedReferee(p, "R1M1", 1)
			c.Flipped, c.Failed = test.flipped, test.failed
			_, err := c.Invite()
			require.NoError(t, err)
			if test.asked {
				_, err = c.Choose()
				require.NoError(t, err)
			}
			if test.restart {
				p.Stop()
				p = w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
				c.To = p
			}
			_, err = c.SendGameOver(8)
			require.NoError(t, err)
			require.NoError(t, p.Player.Close())
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, 1)
			assert.Equal(t, []string{test.mine, test.reported}, []string{h.Matches[0].MyChoice, h.Matches[0].ReportedChoice})
		})
	}
}

// deciding is a strategy that decides as its function does.
type deciding func(v strategy.View) string

func (d deciding) Name() string { return "deciding" }

func (d deciding) Choose(_ context.Context, v strategy.View) (string, error) { return d(v), nil }

// The player has forgotten its decisions when the round is over, so it may have signed
// another answer to the question while its strategy decided.
func TestDecisionThatOutlastsItsRoundIsNotSigned(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, asked, decide := store.In(t.TempDir()), make(chan struct{}), make(chan struct{})
		w.ScriptedManager()
		p, c := signingPlayer(w, folder, func(a *leaguetest.Agent) {
			a.Decide = deciding(func(strategy.View) string {
				close(asked)
				<-decide
				return "even"
			})
		})
		answered := make(chan error)
		go func() {
			_, err := c.Choose()
			answered <- err
		}()
		<-asked
		w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
		close(decide)
		leaguetest.AssertRefused(t, <-answered, protocol.ErrInvalidMatchState, 4005)
		assert.NoFileExists(t, store.HistoryLines(folder.History("P01")))
	})
}

// A rematch is one of a round that is over. The player knows nothing else of it if the announcement gets lost.
func TestRematchWithoutItsAnnouncementIsPlayed(t *testing.T) {
	for name, change := range map[string]struct {
		restart, remove bool // before the rematch: the player is restarted; its history is removed
		matches         int  // that it plays before the rematch
		refused         bool
	}{
		"at once":                    {},
		"after many other matches":   {matches: 20},
		"after a restart":            {restart: true},
		"after the loss of the file": {restart: true, remove: true, refused: true},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			folder := store.In(t.TempDir())
			p, c := signingPlayer(w, folder)
			choice := func() string {
				answer, err := c.Choose()
				require.NoError(t, err)
				return answer.Signature
			}
			restart := func(strategy string) {
				p.Stop()
				p = w.PlayerIn("P01", folder, leaguetest.WithStrategy(strategy))
				c.To = p
			}
			choice()
			_, err := c.SendGameOver(8)
			require.NoError(t, err)
			for n := range change.matches {
				_, err = w.ScriptedReferee(p, league.MatchID{Round: 1, Number: n + 2}.String(), 1).Invite()
				require.NoError(t, err)
			}
			if change.remove {
				require.NoError(t, os.Remove(store.HistoryLines(folder.History("P01"))))
			}
			w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
			c = w.ScriptedReferee(p, "R1M1", 2)
			c.AskForSignature(started, 1)
			if change.restart {
				restart("even")
				w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
			}
			_, err = c.Invite()
			require.NoError(t, err)
			if change.refused {
				_, err = c.Choose()
				leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
				return
			}
			first := choice()
			w.AnnounceStarted(p, 3, protocol.RefereeAuthAccessToken, started)
			_, err = c.Invite()
			require.NoError(t, err)
			assert.Equal(t, first, choice(), "in a later round")
			restart("odd")
			w.AnnounceStarted(p, 4, protocol.RefereeAuthAccessToken, started)
			assert.Equal(t, first, choice(), "after a restart")
		})
	}
}

// An untrusted referee cannot make a player remember decisions without a limit: it signs none in the rounds of which it
// forgets some.
func TestForgottenDecisionsAreNotMadeAgain(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p, _ := signingPlayer(w, store.In(t.TempDir()))
		ask := func(number int) error {
			c := w.ScriptedReferee(p, league.MatchID{Round: 1, Number: number}.String(), 1)
			c.AskForSignature(started, 1)
			_, err := c.Invite()
			require.NoError(t, err)
			_, err = c.Choose()
			return err
		}
		const most = 1000
		for n := range most {
			require.NoError(t, ask(n+1))
			if n == most/2 {
				w.AnnounceStarted(p, 2, protocol.RefereeAuthAccessToken, started)
				w.AnnounceStarted(p, 3, protocol.RefereeAuthAccessToken, started) // it leaves these matches
			}
		}
		require.NoError(t, ask(most+1))
		w.AnnounceStarted(p, 4, protocol.RefereeAuthAccessToken, started)
		leaguetest.AssertRefused(t, ask(1), protocol.ErrInvalidMatchState, 4005)
	})
}

// A referee that asks for one move in several ways at the same time gets one signed answer.
func TestQuestionsAtTheSameTimeGetOneSignedAnswer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		const questions = 8
		folder, decided := store.In(t.TempDir()), 0
		w.ScriptedManager()
		_, c := signingPlayer(w, folder, func(a *leaguetest.Agent) {
			a.Decide = deciding(func(strategy.View) string { // one at a time
				for range 10_000 { // meanwhile the other questions arrive
					runtime.Gosched()
				}
				decided++
				return strconv.Itoa(decided)
			})
		})
		answers := make(chan *protocol.GameMoveResponse, questions)
		for i := range questions {
			go func() {
				options := append(strings.Split("12345678", ""), "of question "+strconv.Itoa(i))
				answer, err := c.Move(w.Clock.Timestamp(), options...)
				assert.NoError(t, err)
				answers <- answer
			}()
		}
		first := <-answers
		for range questions - 1 {
			again := <-answers
			assert.Equal(t, first.MoveData.Choice+first.Signature, again.MoveData.Choice+again.Signature)
		}
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1)
	})
}

func TestSignedHeadsAreStored(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := store.In(t.TempDir()), w.CaptureLog()
		key := protocol.NewSigningKey(leaguetest.SecretOf("heads"))
		w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, leaguetest.EditAnswer("manager_key", key.Public())))
		p := w.PlayerIn("P01", folder)
		tell := func(round int, head, signature string) {
			completeRound(w, p, round, func(q *protocol.RoundCompleted) {
				q.JournalHead, q.JournalHeadSignature = head, signature
			})
		}
		first, second := strings.Repeat("1", 64), strings.Repeat("2", 64)
		tell(1, first, key.SignHead(leaguetest.LeagueID, first))
		tell(1, first, key.SignHead(leaguetest.LeagueID, first))
		assert.NotContains(t, log.Text(), "HEAD_SIGNATURE_INVALID")
		tell(2, second, key.SignHead(leaguetest.LeagueID, first))
		tell(2, second, "")
		assert.Equal(t, 2, strings.Count(log.Text(), "HEAD_SIGNATURE_INVALID"))
		h := leaguetest.ReadHistory(t, folder, "P01")
		assert.Equal(t, []store.HistoryHead{{Line: 2, Head: store.SignedHead{
			Round: 1, JournalHead: first, JournalHeadSignature: key.SignHead(leaguetest.LeagueID, first), ManagerKey: key.Public(),
		}}}, h.Heads)
	})
}

func TestAnswerLeavesIfTheDecisionCannotBeWritten(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := store.In(t.TempDir()), w.CaptureLog()
		w.ScriptedManager()
		p, c := signingPlayer(w, folder)
		require.NoError(t, os.MkdirAll(filepath.Dir(folder.Players()), 0o755))
		require.NoError(t, os.WriteFile(folder.Players(), nil, 0o600)) // no folder can be made
		answer, err := c.Choose()
		require.NoError(t, err)
		assert.NotEmpty(t, answer.Signature)
		assert.Contains(t, log.Text(), "DECISION_NOT_STORED")
		require.NoError(t, os.Remove(folder.Players()))
		require.NoError(t, p.Player.Close())
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1, "it is written later")
	})
}

// The answer to a repeated question says the same, and the history keeps it for a restart.
func TestFallbackIsPartOfTheDecision(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p, c := signingPlayer(w, folder, func(a *leaguetest.Agent) {
			a.Decide = deciding(func(v strategy.View) string {
				v.FellBack() // as if its model never chose
				return v.Options[0]
			})
		})
		for range 2 {
			r, err := c.Choose()
			require.NoError(t, err)
			assert.True(t, r.Fallback)
		}
		h := leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Decisions, 1)
		assert.True(t, h.Decisions[0].Decision.Fallback)
		assert.True(t, h.Decisions[0].Statement("P01").Verify(p.Player.PublicKey(), h.Decisions[0].Decision.Signature), "the signature does not cover it")
	})
}
