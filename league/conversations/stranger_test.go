package conversations

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// assertNoSecret holds every answer a stranger got against all that is secret.
func (w *world) assertNoSecret(ids ...string) {
	w.t.Helper()
	for _, e := range w.record.all(func(e *exchange) bool { return e.from == "stranger" }) {
		told := string(e.answer)
		if failure := e.failure(); failure != nil {
			told += failure.Error() + fmt.Sprint(failure.Context)
		}
		for _, id := range ids {
			assert.NotContains(w.t, told, w.token(id), e.method)
			assert.NotContains(w.t, told, w.credential(id), e.method)
			for attempt := 1; attempt <= 2; attempt++ {
				assert.NotContains(w.t, told, w.access(id, "R1M1", attempt, "REF01"), e.method)
			}
		}
	}
}

func TestAPlayerRefusesWhoCannotBeTheReferee(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world, c *conductor)
		code   protocol.Code
	}{
		{"no token", func(_ *world, c *conductor) { c.token = "" }, protocol.ErrTokenMissing},
		{"any token", func(_ *world, c *conductor) { c.token = "tok-ref01-abc" }, protocol.ErrTokenInvalid},
		{"the word none", func(_ *world, c *conductor) { c.token = protocol.NoToken }, protocol.ErrTokenInvalid},
		{"the token of another match", func(w *world, c *conductor) { c.token = w.access("P01", "R2M1", 1, "REF01") }, protocol.ErrTokenInvalid},
		{"the token of another attempt", func(w *world, c *conductor) { c.token = w.access("P01", "R1M1", 2, "REF01") }, protocol.ErrTokenInvalid},
		{"the token for another player", func(w *world, c *conductor) { c.token = w.access("P02", "R1M1", 1, "REF01") }, protocol.ErrTokenInvalid},
		{"the token of another referee", func(w *world, c *conductor) { c.token = w.access("P01", "R1M1", 1, "REF02") }, protocol.ErrTokenInvalid},
		{"another referee with its token", func(_ *world, c *conductor) { c.sender = "REF02" }, protocol.ErrTokenInvalid},
		{"the player's own token", func(w *world, c *conductor) { c.token = w.token("P01") }, protocol.ErrTokenInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.boss()
				p := w.player("P01")
				w.announce(p, 1, protocol.RefereeAuthAccessToken)
				for _, invited := range []bool{false, true} {
					c := w.conducts(p, "R1M1", 1)
					if invited { // by the real one
						_, err := c.invite()
						require.NoError(t, err)
					}
					if test.name == "another referee with its token" && invited {
						continue // the token alone says who it is from now on
					}
					test.change(w, c)
					for name, call := range c.everything() {
						err := call()
						if name == "choose" && !invited {
							assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
						} else {
							assertRefused(t, err, test.code, 4001)
						}
					}
				}
				assert.Zero(t, p.player.Record().Stats.TotalMatches)
				answers := w.record.all(func(e *exchange) bool { return e.from == "stranger" && e.err != nil })
				require.NotEmpty(t, answers)
				for _, e := range answers {
					for _, id := range []string{"P01", "P02"} {
						assert.NotContains(t, fmt.Sprint(e.failure(), e.failure().Context), w.token(id))
						assert.NotContains(t, fmt.Sprint(e.failure(), e.failure().Context), w.access(id, "R1M1", 1, "REF01"))
					}
				}
			})
		})
	}
}

func TestARefereeThatIsAnnouncedWithoutAToken(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", choosing("even"))
		w.announce(p, 1, protocol.RefereeAuthNone)
		c := w.conducts(p, "R1M1", 1)
		c.token = "tok-ref01-its-own"
		joined, err := c.invite()
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, joined.AuthToken)

		other := w.conducts(p, "R1M1", 1)
		other.sender, other.token = "REF02", ""
		_, err = other.choose()
		assertRefused(t, err, protocol.ErrTokenMissing, 4001)

		c.token = ""
		chosen, err := c.choose()
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, chosen.AuthToken)
		_, err = c.complain()
		require.NoError(t, err)
		ack, err := c.over(8)
		require.NoError(t, err)
		assert.Equal(t, protocol.NoToken, ack.AuthToken)
		assert.Equal(t, 1, p.player.Record().Stats.Wins)

		c.matchID = "R1M2"
		_, err = c.invite()
		assertRefused(t, err, protocol.ErrTokenMissing, 4001)
		w.assertNoSecret("P01", "P02")
	})
}

func TestALeagueOfAnotherMaker(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss(does(protocol.RegisterPlayer.Name, editing("manager_auth", nil)))
		p := w.player("P01")
		c := w.conducts(p, "R1M1", 1)
		c.token = "tok-ref01-its-own"
		for name, call := range w.manages(p, "") {
			require.NoError(t, call(), name)
		}
		joined, err := c.invite()
		require.NoError(t, err)
		chosen, err := c.choose()
		require.NoError(t, err)
		ack, err := c.over(8)
		require.NoError(t, err)
		assert.Equal(t, []string{"none", "none", "none"}, []string{joined.AuthToken, chosen.AuthToken, ack.AuthToken})
		w.assertNoSecret("P01")
	})
}

// manages is all that a manager can say to a player, the end of the league at
// last.
func (w *world) manages(to *actor, bearer string) map[string]func() error {
	peer := protocol.Peer{Endpoint: endpointOf(to.host), Bearer: bearer}
	envelope := func(messageType string) protocol.Envelope {
		return protocol.NewStamp(protocol.ManagerSender, w.clock).Envelope(messageType, "conv-manager")
	}
	rows := []protocol.StandingRow{{Rank: 1, PlayerID: "P01", DisplayName: "Agent P01", Played: 1, Wins: 1, Points: 3}}
	call := func(do func(ctx context.Context) error) func() error { return func() error { return do(w.life) } }
	return map[string]func() error{
		"notify_round": call(func(ctx context.Context) error {
			_, err := protocol.NotifyRound.Call(ctx, w.stranger, peer, &protocol.RoundAnnouncement{
				Envelope: envelope(protocol.TypeRoundAnnouncement), LeagueID: leagueID, RoundID: 1,
				Matches: []protocol.AnnouncedMatch{{
					MatchID: "R1M1", GameType: "even_odd", PlayerAID: "P01", PlayerBID: "P02", RefereeEndpoint: endpointOf("ref01"),
				}},
			})
			return err
		}),
		"update_standings": call(func(ctx context.Context) error {
			_, err := protocol.UpdateStandings.Call(ctx, w.stranger, peer, &protocol.StandingsUpdate{
				Envelope: envelope(protocol.TypeStandingsUpdate), LeagueID: leagueID, RoundID: 1, Standings: rows,
			})
			return err
		}),
		"notify_round_completed": call(func(ctx context.Context) error {
			_, err := protocol.NotifyRoundCompleted.Call(ctx, w.stranger, peer, &protocol.RoundCompleted{
				Envelope: envelope(protocol.TypeRoundCompleted), LeagueID: leagueID, RoundID: 1,
			})
			return err
		}),
		"notify_league_completed": call(func(ctx context.Context) error {
			_, err := protocol.NotifyLeagueCompleted.Call(ctx, w.stranger, peer, &protocol.LeagueCompleted{
				Envelope: envelope(protocol.TypeLeagueCompleted), LeagueID: leagueID, TotalRounds: 1, TotalMatches: 1,
				Champion: protocol.Champion{PlayerID: "P01", DisplayName: "Agent P01", Points: 3}, FinalStandings: rows,
			})
			return err
		}),
	}
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestAStrangerIsNotTheManager(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p, r := w.player("P01"), w.referee("REF01")
		for name, call := range w.manages(p, "") {
			assertRefused(t, call(), protocol.ErrTokenMissing, 3001)
			assertRefused(t, w.manages(p, w.credential("P02"))[name](), protocol.ErrTokenInvalid, 3001)
			assertRefused(t, w.manages(p, w.token("P01"))[name](), protocol.ErrTokenInvalid, 3001)
		}
		for _, name := range []string{"notify_round_completed", "notify_league_completed"} {
			assertRefused(t, w.manages(r, "")[name](), protocol.ErrTokenMissing, 3001)
			assertRefused(t, w.manages(r, w.credential("P01"))[name](), protocol.ErrTokenInvalid, 3001)
		}
		assert.False(t, ended(p.player.Done()))
		assert.False(t, ended(r.referee.Done()))
		assert.Equal(t, "REGISTERED", p.player.Record().State)

		for name, call := range w.manages(p, w.credential("P01")) {
			require.NoError(t, call(), name)
		}
		assert.True(t, ended(p.player.Done()))
		assert.Equal(t, "P01", p.player.Record().Champion.PlayerID)
		assert.Equal(t, []int{1, 3}, []int{p.player.Record().Rank, p.player.Record().Points})
		require.NoError(t, w.manages(r, w.credential("REF01"))["notify_league_completed"]())
		assert.True(t, ended(r.referee.Done()))
		require.NoError(t, w.manages(p, w.credential("P01"))["notify_league_completed"](), "told twice it is over once")
		w.assertNoSecret("P01", "P02", "REF01")
	})
}

func TestAnAgentThatIsNotRegisteredListensToNoManager(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		p := w.newPlayer("P01")
		for _, call := range w.manages(p, w.credential("P01")) {
			assertRefused(t, call(), protocol.ErrInvalidMatchState, 4005)
		}
		assert.False(t, ended(p.player.Done()))
	})
}
