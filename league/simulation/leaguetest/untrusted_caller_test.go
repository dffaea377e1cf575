package leaguetest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestPlayerRejectsCallersWithoutTheAccessToken(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, c *leaguetest.ScriptedReferee)
		code   protocol.Code
	}{
		{"no token", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = "" }, protocol.ErrTokenMissing},
		{"any token", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = "tok-ref01-abc" }, protocol.ErrTokenInvalid},
		{"the word none", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = protocol.NoToken }, protocol.ErrTokenInvalid},
		{"the token of another match", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P01", "R2M1", 1, "REF01")
		}, protocol.ErrTokenInvalid},
		{"the token of another attempt", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P01", "R1M1", 2, "REF01")
		}, protocol.ErrTokenInvalid},
		{"the token for another player", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P02", "R1M1", 1, "REF01")
		}, protocol.ErrTokenInvalid},
		{"the token of another referee", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P01", "R1M1", 1, "REF02")
		}, protocol.ErrTokenInvalid},
		{"another referee with its token", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Sender = "REF02" }, protocol.ErrTokenInvalid},
		{"the player's own token", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = w.Token("P01") }, protocol.ErrTokenInvalid},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			p := w.Player("P01")
			w.Announce(p, 1, protocol.RefereeAuthAccessToken)
			for _, invited := range []bool{false, true} {
				c := w.ScriptedReferee(p, "R1M1", 1)
				if invited { // by the authenticated referee
					_, err := c.Invite()
					require.NoError(t, err)
				}
				if test.name == "another referee with its token" && invited {
					continue // after the invitation the token alone identifies the referee
				}
				test.change(w, c)
				for name, call := range c.AllCalls() {
					err := call()
					if name == "choose" && !invited {
						leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 4003)
					} else {
						leaguetest.AssertRefused(t, err, test.code, 4001)
					}
				}
			}
			assert.Zero(t, p.Player.Record().Stats.TotalMatches)
			answers := w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.From == "untrusted" && e.Err != nil })
			require.NotEmpty(t, answers)
			for _, e := range answers {
				for _, id := range []string{"P01", "P02"} {
					assert.NotContains(t, fmt.Sprint(e.ProtocolError(), e.ProtocolError().Context), w.Token(id))
					assert.NotContains(t, fmt.Sprint(e.ProtocolError(), e.ProtocolError().Context), w.AccessToken(id, "R1M1", 1, "REF01"))
				}
			}
		})
	}
}

func TestRefereeAnnouncedWithoutTokenIsAccepted(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithStrategy("even"))
		w.Announce(p, 1, protocol.RefereeAuthNone)
		c := w.ScriptedReferee(p, "R1M1", 1)
		c.Token = "tok-ref01-its-own"
		joined, err := c.Invite()
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, joined.AuthToken)

		other := w.ScriptedReferee(p, "R1M1", 1)
		other.Sender, other.Token = "REF02", ""
		_, err = other.Choose()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 4001)

		c.Token = ""
		chosen, err := c.Choose()
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, chosen.AuthToken)
		_, err = c.SendError()
		require.NoError(t, err)
		ack, err := c.SendGameOver(8)
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, ack.AuthToken)
		assert.Equal(t, 1, p.Player.Record().Stats.Wins)

		c.MatchID = "R1M2"
		_, err = c.Invite()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 4001)
		w.AssertNoTokenLeaked("P01", "P02")
	})
}

func TestPlayerAcceptsAThirdPartyManager(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, leaguetest.EditAnswer("manager_auth", nil)))
		p := w.Player("P01")
		c := w.ScriptedReferee(p, "R1M1", 1)
		c.Token = "tok-ref01-its-own"
		for name, call := range w.ManagerCalls(p, "") {
			require.NoError(t, call(), name)
		}
		joined, err := c.Invite()
		require.NoError(t, err)
		chosen, err := c.Choose()
		require.NoError(t, err)
		ack, err := c.SendGameOver(8)
		require.NoError(t, err)
		assert.Equal(t, []string{"none", "none", "none"}, []string{joined.AuthToken, chosen.AuthToken, ack.AuthToken})
		w.AssertNoTokenLeaked("P01")
	})
}

func TestManagerCallsNeedTheCredential(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p, r := w.Player("P01"), w.Referee("REF01")
		for name, call := range w.ManagerCalls(p, "") {
			leaguetest.AssertRefused(t, call(), protocol.ErrTokenMissing, 3001)
			leaguetest.AssertRefused(t, w.ManagerCalls(p, w.ManagerCredential("P02"))[name](), protocol.ErrTokenInvalid, 3001)
			leaguetest.AssertRefused(t, w.ManagerCalls(p, w.Token("P01"))[name](), protocol.ErrTokenInvalid, 3001)
		}
		for _, name := range []string{"notify_round_completed", "notify_league_completed"} {
			leaguetest.AssertRefused(t, w.ManagerCalls(r, "")[name](), protocol.ErrTokenMissing, 3001)
			leaguetest.AssertRefused(t, w.ManagerCalls(r, w.ManagerCredential("P01"))[name](), protocol.ErrTokenInvalid, 3001)
		}
		assert.False(t, leaguetest.IsClosed(p.Player.Done()))
		assert.False(t, leaguetest.IsClosed(r.Referee.Done()))
		assert.Equal(t, "REGISTERED", p.Player.Record().State)

		for name, call := range w.ManagerCalls(p, w.ManagerCredential("P01")) {
			require.NoError(t, call(), name)
		}
		assert.True(t, leaguetest.IsClosed(p.Player.Done()))
		assert.Equal(t, "P01", p.Player.Record().Champion.PlayerID)
		assert.Equal(t, []int{1, 3}, []int{p.Player.Record().Rank, p.Player.Record().Points})
		require.NoError(t, w.ManagerCalls(r, w.ManagerCredential("REF01"))["notify_league_completed"]())
		assert.True(t, leaguetest.IsClosed(r.Referee.Done()))
		require.NoError(t, w.ManagerCalls(p, w.ManagerCredential("P01"))["notify_league_completed"](), "the notification is idempotent")
		w.AssertNoTokenLeaked("P01", "P02", "REF01")
	})
}

func TestUnregisteredAgentRejectsManagerCalls(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		p := w.NewPlayer("P01")
		for _, call := range w.ManagerCalls(p, w.ManagerCredential("P01")) {
			leaguetest.AssertRefused(t, call(), protocol.ErrInvalidMatchState, 4005)
		}
		assert.False(t, leaguetest.IsClosed(p.Player.Done()))
	})
}

// The limits of a carrier count a call for the caller that a valid credential names.
func TestCallersAreIdentifiedByValidCredentials(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		r, p := w.Referee("REF01").Referee, w.Player("P01").Player
		body := func(sender, match, conversation, token string) []byte {
			return fmt.Appendf(nil, `{"sender":%q,"match_id":%q,"conversation_id":%q,"auth_token":%q}`, sender, match, conversation, token)
		}
		access := w.AccessToken("P01", "R1M1", 2, "REF01")
		for _, tt := range []struct {
			name     string
			identify func(bearer string, body []byte) string
			bearer   string
			body     []byte
			want     string
		}{
			{"a player: the manager", p.Identify, w.ManagerCredential("P01"), nil, "manager"},
			{"a player: the manager of another agent", p.Identify, w.ManagerCredential("REF01"), nil, ""},
			{"a player: its owner", p.Identify, w.Token("P01"), nil, "owner"},
			{"a player: the referee of a match", p.Identify, "", body("referee:REF01", "R1M1", "conv-r1m1-a2", access), "REF01"},
			{"a player: the referee, in another attempt", p.Identify, "", body("referee:REF01", "R1M1", "conv-r1m1-a1", access), ""},
			{"a player: the referee, in another match", p.Identify, "", body("referee:REF01", "R1M2", "conv-r1m2-a2", access), ""},
			{"a player: another referee", p.Identify, "", body("referee:REF02", "R1M1", "conv-r1m1-a2", access), ""},
			{"a player: no token", p.Identify, "", body("referee:REF01", "R1M1", "conv-r1m1-a2", ""), ""},
			{"a referee: the manager", r.Identify, w.ManagerCredential("REF01"), nil, "manager"},
			{"a referee: its owner", r.Identify, "", body("", "", "", w.Token("REF01")), "owner"},
			{"a referee: a player", r.Identify, w.Token("P01"), body("player:P01", "R1M1", "", w.Token("P01")), ""},
			{"a manager: an agent", w.Manager.Identify, "", body("player:P01", "", "", w.Token("P01")), "P01"},
			{"a manager: an agent with a bearer credential", w.Manager.Identify, w.Token("REF01"), nil, "REF01"},
			{"a manager: the organiser", w.Manager.Identify, "", body("", "", "", w.Manager.AdminToken()), "organiser"},
			{"a manager: a forged token", w.Manager.Identify, "tok-p01-forged", body("player:P01", "", "", "tok-p01-forged"), ""},
			{"a manager: nothing", w.Manager.Identify, "", nil, ""},
		} {
			assert.Equal(t, tt.want, tt.identify(tt.bearer, tt.body), tt.name)
		}
	})
}

// The debug log of a league with many faults has no tokens.
func TestLogHasNoTokens(t *testing.T) {
	for _, kind := range []string{leaguetest.Memory, leaguetest.Wire, leaguetest.HTTP} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out leaguetest.LogBuffer
				w := leaguetest.NewWorld(t, kind, zerolog.New(&out).Level(zerolog.DebugLevel))
				troubledLeague(w)
				w.Close()
				require.NotZero(t, out.Len())
				for what, secret := range w.AllTokens() {
					require.NotEmpty(t, secret)
					assert.NotContains(t, out.String(), secret, what)
				}
				checkLines(t, out.Bytes())
			})
		})
	}
}

// troubledLeague has an unreachable referee, a failing player, and untrusted callers with
// wrong tokens.
func troubledLeague(w *leaguetest.World) {
	w.StartManager(4, 2)
	w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
	w.Referee("REF02")
	w.Player("P01")
	w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.EditAnswer("entropy", "00"), leaguetest.Normally)))
	w.Player("P03", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.RefuseWith(protocol.ErrTokenInvalid), leaguetest.Normally)),
		leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.RefuseWith(protocol.ErrTokenMissing)))
	p := w.Player("P04", leaguetest.On(protocol.UpdateStandings.Name, leaguetest.FailWith(leaguetest.ErrGarbage)))
	w.Finish()

	query := w.Query("P01", protocol.QueryStandings)
	query.Sender = "player:P02"
	_, err := query.Send()
	require.Error(w.T, err)
	query.AuthToken = w.Token("P01") + "x"
	_, err = query.Send()
	require.Error(w.T, err)
	_, err = w.Report(w.WinReport("REF01"))
	require.Error(w.T, err)
	c := w.ScriptedReferee(p, "R1M1", 1)
	c.Sender = "REF09"
	for _, call := range c.AllCalls() {
		require.Error(w.T, call())
	}
	for _, call := range w.ManagerCalls(p, w.ManagerCredential("P01")) {
		require.Error(w.T, call())
	}
	again := w.Application("Agent P04")
	again.AuthToken = w.Token("P04")
	_, err = w.Apply(again)
	require.NoError(w.T, err)
}

// checkLines checks that each logged message has a conversation.
func checkLines(t *testing.T, out []byte) {
	t.Helper()
	messages := 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := struct {
			Type         string `json:"message_type"`
			Conversation string `json:"conversation_id"`
		}{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		if line.Type != "" {
			messages++
			assert.NotEmpty(t, line.Conversation, lines.Text())
		}
	}
	require.NoError(t, lines.Err())
	assert.Greater(t, messages, 200)
}
