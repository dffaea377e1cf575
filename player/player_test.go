package player_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

func TestRepeatedQuestionGetsTheSameAnswer(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithRandomSecrets)
		var commitments, choices []string
		for attempt := 1; attempt <= 40; attempt++ {
			c := w.ScriptedReferee(p, "R1M1", attempt)
			for range 3 {
				joined, err := c.Invite()
				require.NoError(t, err)
				chosen, err := c.Choose()
				require.NoError(t, err)
				assert.True(t, *joined.Accept)
				assert.Equal(t, joined.EntropyCommitment, commitmentTo(t, chosen))
				commitments, choices = append(commitments, joined.EntropyCommitment), append(choices, chosen.ParityChoice)
			}
			n := 3 * (attempt - 1)
			assert.Len(t, slices.Compact(slices.Clone(commitments[n:])), 1, "the same within an attempt")
			assert.Len(t, slices.Compact(slices.Clone(choices[n:])), 1)
		}
		slices.Sort(commitments)
		assert.Len(t, slices.Compact(commitments), 40, "new entropy for each attempt")
		slices.Sort(choices)
		assert.Equal(t, []string{"even", "odd"}, slices.Compact(choices), "new choices; 40 equal ones have a probability of one in 500 billion")
	})
}

func TestEachMoveIsAnsweredAnew(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		c := w.ScriptedReferee(w.Player("P01"), "R1M1", 1)
		_, err := c.Move("2000-01-01T00:00:30Z", "rock")
		leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = c.Invite()
		require.NoError(t, err)
		for _, question := range []struct{ deadline, option string }{
			{"2000-01-01T00:00:30Z", "rock"}, {"2000-01-01T00:01:00Z", "paper"}, {"2000-01-01T00:01:30Z", "paper"},
		} {
			for range 2 {
				r, err := c.Move(question.deadline, question.option)
				require.NoError(t, err)
				assert.Equal(t, protocol.MoveData{MoveType: "pick", Choice: question.option}, r.MoveData)
			}
		}
		many := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		first, err := c.Move("2000-01-01T00:02:00Z", many...)
		require.NoError(t, err)
		again, err := c.Move("2000-01-01T00:02:00Z", many...)
		require.NoError(t, err)
		assert.Equal(t, first.MoveData.Choice, again.MoveData.Choice)
	})
}

func TestRepeatedGameOverIsCountedOnce(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithStrategy("even"))
		c := w.ScriptedReferee(p, "R1M1", 1)
		inviteAndAsk(c)
		for _, number := range []int{8, 8, 7} {
			ack, err := c.SendGameOver(number)
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAcknowledged, ack.Status)
			assert.Equal(t, "P01", ack.PlayerID)
			assert.Equal(t, "R1M1", ack.MatchID)
			assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, p.Player.Record().Stats)
		}
		_, err := w.ScriptedReferee(p, "R2M1", 1).SendGameOver(7)
		require.NoError(t, err, "also without a received invitation")
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 2, Wins: 1, Losses: 1}, p.Player.Record().Stats)
	})
}

func TestEarlierAttemptDoesNotReplaceALaterOne(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithRandomSecrets)
		second := w.ScriptedReferee(p, "R1M1", 2)
		joined, err := second.Invite()
		require.NoError(t, err)
		first := w.ScriptedReferee(p, "R1M1", 1) // a referee that seemed unreachable
		_, err = first.Invite()
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		_, err = first.Choose()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		_, err = first.SendGameOver(7)
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		chosen, err := second.Choose()
		require.NoError(t, err)
		assert.Equal(t, joined.EntropyCommitment, commitmentTo(t, chosen))
	})
}

func TestUnregisteredPlayerRefusesCalls(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		c := w.ScriptedReferee(w.NewPlayer("P01"), "R1M1", 1)
		for name, call := range c.AllCalls() {
			err := call()
			if name == "choose" {
				leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 4003)
			} else {
				leaguetest.AssertRefused(t, err, protocol.ErrPlayerNotRegistered, 4002)
			}
		}
	})
}

func TestPlayerStateFollowsTheSpecification(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.NewPlayer("P01", leaguetest.WithStrategy("even"))
		ping := func() string {
			pong, err := protocol.Ping.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01")}, &protocol.ToolRequest{})
			require.NoError(t, err)
			return pong.State
		}
		state := func() string {
			s, err := playerState(w, w.Token("P01"), "")
			require.NoError(t, err)
			assert.Equal(t, s.State, ping())
			return s.State
		}
		assert.Equal(t, "UNREGISTERED", ping())
		require.NoError(t, p.Player.Register(w.Context))
		assert.Equal(t, "REGISTERED", state())
		for round := 1; round <= 2; round++ {
			w.Announce(p, round, protocol.RefereeAuthAccessToken)
			assert.Equal(t, "WAITING_FOR_ROUND", state())
			c := w.ScriptedReferee(p, fmt.Sprintf("R%dM1", round), 1)
			_, err := c.Invite()
			require.NoError(t, err)
			assert.Equal(t, "IN_MATCH", state())
			_, err = c.Choose()
			require.NoError(t, err)
			assert.Equal(t, "WAITING_FOR_RESULT", state())
			_, err = c.Invite()
			require.NoError(t, err, "the reply was lost")
			_, err = c.SendGameOver(8)
			require.NoError(t, err)
			assert.Equal(t, "WAITING_FOR_ROUND", state())
		}
	})
}

func TestMatchWithoutGameOverEndsWithTheNextRound(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01")
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		c := w.ScriptedReferee(p, "R1M1", 1)
		inviteAndAsk(c)
		w.Announce(p, 2, protocol.RefereeAuthAccessToken)
		assert.Equal(t, "WAITING_FOR_ROUND", p.Player.Record().State)
		w.Announce(p, 3, protocol.RefereeAuthAccessToken)
		_, err := c.Choose()
		leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = c.SendGameOver(8)
		require.NoError(t, err, "a late result counts")
		assert.Equal(t, 1, p.Player.Record().Stats.TotalMatches)
	})
}

func TestGetPlayerStateNeedsTheOwnersToken(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithStrategy("even"))
		c := w.ScriptedReferee(p, "R1M1", 1)
		chosen := inviteAndAsk(c)
		_, err := playerState(w, "", "")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = playerState(w, c.Token, "")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)
		_, err = playerState(w, w.Token("P02"), w.ManagerCredential("P02"))
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

		s, err := playerState(w, "", w.ManagerCredential("P01"))
		require.NoError(t, err)
		assert.Empty(t, s.Matches, "the match is not over")
		assert.NotContains(t, string(leaguetest.Encode(s)), chosen.Entropy)
		_, err = c.SendGameOver(8)
		require.NoError(t, err)
		s, err = playerState(w, w.Token("P01"), "")
		require.NoError(t, err)
		assert.Equal(t, []protocol.PlayedMatch{{
			MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8,
		}}, s.Matches)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, s.Stats)
		assert.Equal(t, []string{"P01", "even"}, []string{s.PlayerID, s.Strategy})
	})
}

// A referee with a valid token but without a commitment could choose its nonce after it
// knows the player's entropy.
func TestPlayerGivesNoEntropyToARefereeWithoutCommitment(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Varies = true
		w.StartManager(4, 1) // it does not start
		p := w.Player("P01")
		bound := w.ScriptedReferee(p, "R1M1", 1)
		ack, err := bound.Invite()
		require.NoError(t, err)
		assert.NotEmpty(t, ack.EntropyCommitment)
		answer, err := bound.Choose()
		require.NoError(t, err)
		assert.Equal(t, ack.EntropyCommitment, commitmentTo(t, answer))

		free := w.ScriptedReferee(p, "R2M1", 1)
		free.NoCommitment = true
		ack, err = free.Invite()
		require.NoError(t, err)
		assert.Empty(t, ack.EntropyCommitment)
		answer, err = free.Choose()
		require.NoError(t, err)
		assert.Empty(t, answer.Entropy)
		assert.NotEmpty(t, answer.ParityChoice, "it still sends a choice")
	})
}

// commitmentTo returns the commitment of P01 to the entropy that it sends in R1M1.
func commitmentTo(t *testing.T, chosen *protocol.ChooseParityResponse) string {
	t.Helper()
	entropy, ok := protocol.ParseSecret(chosen.Entropy)
	require.True(t, ok, chosen.Entropy)
	return protocol.EntropyCommitment("R1M1", "P01", entropy)
}

// playerState asks P01 for its state.
func playerState(w *leaguetest.World, token, bearer string) (*protocol.PlayerState, error) {
	q := &protocol.ToolRequest{}
	q.AuthToken = token
	peer := protocol.Peer{Endpoint: leaguetest.EndpointOf("p01"), Bearer: bearer}
	return protocol.GetPlayerState.Call(w.Context, w.Untrusted, peer, q)
}

// A player tells its manager whether a question of an attempt reached it. It tells no other
// caller, and not what it cannot know since it was restarted or flooded.
func TestPlayerTellsItsManagerWhetherItWasAsked(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder)
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		asked := func(matchID string, attempt int, bearer string) *bool {
			t.Helper()
			pong, err := protocol.Ping.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01"), Bearer: bearer},
				&protocol.ToolRequest{MatchID: matchID, Attempt: attempt})
			require.NoError(t, err)
			return pong.Asked
		}
		yes, no, manager := true, false, w.ManagerCredential("P01")
		assert.Equal(t, &no, asked("R1M1", 1, manager))
		_, err := w.ScriptedReferee(p, "R1M1", 1).Invite()
		require.NoError(t, err)
		assert.Equal(t, &yes, asked("R1M1", 1, manager))
		assert.Equal(t, &no, asked("R1M1", 2, manager))
		assert.Nil(t, asked("", 0, manager), "a ping without a match")
		for _, bearer := range []string{"", w.Token("P01"), w.ManagerCredential("P02")} {
			assert.Nil(t, asked("R1M1", 1, bearer))
		}
		require.NoError(t, p.Player.Close())
		p.Stop()
		p = w.PlayerIn("P01", folder)
		assert.Nil(t, asked("R1M1", 1, manager), "it may have been asked before its restart")
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		assert.Nil(t, asked("R1M1", 1, manager), "the manager was restarted too, and announces the round again")
		w.Announce(p, 2, protocol.RefereeAuthAccessToken)
		assert.Equal(t, &no, asked("R2M1", 1, manager))

		w.Announce(p, 3, protocol.RefereeAuthNone)
		assert.Equal(t, &no, asked("R3M1", 1, manager))
		thirdParty := w.ScriptedReferee(p, "R3M1", 1)
		thirdParty.Token = ""
		_, err = thirdParty.Choose()
		require.Error(t, err)
		assert.Equal(t, &yes, asked("R3M1", 1, manager), "a question without an invitation")

		w.Announce(p, 4, protocol.RefereeAuthNone)
		for attempt := range 20 {
			thirdParty = w.ScriptedReferee(p, "R4M1", attempt+1)
			thirdParty.Token = ""
			_, _ = thirdParty.Invite() // accepted or not
		}
		assert.Nil(t, asked("R4M1", 1, manager), "forgotten")
		w.Announce(p, 5, protocol.RefereeAuthNone)
		assert.Equal(t, &no, asked("R5M1", 1, manager))
	})
}

// A killed player returns while its manager is away, so the result of its match arrives before
// its registration ends. The player does not know its id then.
func TestResultDuringTheRegistrationCountsForThePlayer(t *testing.T) {
	for _, test := range []struct {
		name   string
		number int
		signs  bool
		result string
	}{
		{"won", 8, false, "WIN"}, {"won with a signed decision", 8, true, "WIN"},
		{"lost", 7, false, "LOSS"}, {"lost with a signed decision", 7, true, "LOSS"},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, leaguetest.InTurn(leaguetest.Normally, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally)))
			p, c := signingPlayer(w, folder, leaguetest.WithStrategy("even"))
			c.Signature.Sign = test.signs
			_, err := c.Choose()
			require.NoError(t, err)
			p.Stop() // without Close

			log := w.CaptureLog()
			p = w.NewPlayerIn("P01", folder, nil, leaguetest.WithStrategy("even"))
			c.To = p
			told := make(chan error, 1)
			w.RunAt(w.Now()+leaguetest.Second, func() { // between the two requests of the registration
				assert.Empty(t, p.Player.ID())
				ack, err := c.SendGameOver(test.number)
				if err == nil {
					assert.Equal(t, "P01", ack.PlayerID)
				}
				told <- err
			})
			require.NoError(t, p.Player.Register(w.Context))
			require.NoError(t, <-told)
			require.NoError(t, p.Player.Close())
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, 1)
			assert.Equal(t, protocol.PlayedMatch{
				MatchID: "R1M1", OpponentID: "P02", Result: test.result, MyChoice: "even", OpponentChoice: "odd", DrawnNumber: test.number,
			}, h.Matches[0].PlayedMatch)
			assert.NotContains(t, log.Text(), "DECISION_CONTRADICTED")
		})
	}
}

func TestPlayerTokenGrantsNothingBeyondTheOwnPlayer(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartReporting()
		token := w.Token("P02")
		for name, test := range map[string]struct {
			code protocol.Code
			call func() error
		}{
			"report a match": {protocol.ErrRefereeNotRegistered, func() error {
				q := w.WinReport("REF01")
				q.AuthToken, q.Sender = token, "player:P02"
				_, err := w.Report(q)
				return err
			}},
			"report it as its referee": {protocol.ErrNotAuthorized, func() error {
				q := w.WinReport("REF01")
				q.AuthToken = token
				_, err := w.Report(q)
				return err
			}},
			"register as a referee": {protocol.ErrNotAuthorized, func() error {
				q := w.RefereeApplication("Whistle")
				q.AuthToken = token
				_, err := w.ApplyReferee(q)
				return err
			}},
			"query as another": {protocol.ErrNotAuthorized, func() error {
				q := w.Query("P01", protocol.QueryStandings)
				q.AuthToken = token
				_, err := q.Send()
				return err
			}},
			"start the league": {protocol.ErrTokenInvalid, func() error {
				q := &protocol.ToolRequest{}
				q.AuthToken = token
				_, err := protocol.StartLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
				return err
			}},
			"see a match at its referee": {protocol.ErrTokenInvalid, func() error {
				q := &protocol.ToolRequest{MatchID: "R1M1"}
				q.AuthToken = token
				to := protocol.Peer{Endpoint: leaguetest.EndpointOf("ref01")}
				_, err := protocol.GetMatchState.Call(w.Context, w.Untrusted, to, q)
				return err
			}},
			"see another player's state": {protocol.ErrTokenInvalid, func() error {
				_, err := playerState(w, token, "")
				return err
			}},
			"end the league at a referee": {protocol.ErrTokenInvalid, func() error {
				referee := w.Agents()[1]
				require.Equal(t, "ref01", referee.Host)
				return w.ManagerCalls(referee, w.ManagerCredential("P02"))["notify_league_completed"]()
			}},
		} {
			err := test.call()
			e := protocol.AsError(err)
			if assert.NotNil(t, e, name) {
				assert.Equal(t, test.code, e.Code, "%s: %v", name, e)
			}
		}

		victim := w.Agents()[3]
		require.Equal(t, "p01", victim.Host)
		for _, shown := range []string{token, w.AccessToken("P02", "R1M1", 1, "REF01"), w.AccessToken("P02", "R1M1", 1, "P02")} {
			c := w.ScriptedReferee(victim, "R1M1", 1)
			c.Token = shown
			for name, call := range c.AllCalls() {
				if err := protocol.AsError(call()); assert.NotNil(t, err, name) && name != "choose" {
					leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 4001)
				}
			}
		}
		for name, call := range w.ManagerCalls(victim, w.ManagerCredential("P02")) {
			leaguetest.AssertRefused(t, call(), protocol.ErrTokenInvalid, 3001)
			assert.False(t, leaguetest.IsClosed(victim.Player.Done()), name)
		}

		back := w.Application("Agent P01")
		back.AuthToken, back.Sender, back.PlayerMeta.ContactEndpoint = token, "player:P01", leaguetest.EndpointOf("p02")
		r, err := w.Apply(back)
		require.NoError(t, err)
		assert.Equal(t, "P02", *r.PlayerID, "the token determines the id")
		w.PingOnly("elsewhere")
		back.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("elsewhere")
		r, err = w.Apply(back)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode, "it answers at its registered endpoint")
		assert.Zero(t, w.Manager.Status().Recorded)
		w.AssertNoTokenLeaked("P01", "REF01", "REF02")
	})
}
