package referee_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

const otherToken = "uLdPMl1ABGYeNG6r40vp7imDtxaeXLuYWTcV5wfGvOQ"

// What the deviations of a reply cost is tested in league/conduct. Here a strict referee compares a reply with the
// question that it asked, tells the player, and accepts the correct one.
func TestStrictReplyMustAnswerTheQuestion(t *testing.T) {
	for _, d := range []struct {
		member, value string
		want          protocol.Code
	}{
		{"sender", "player:P01", protocol.ErrInvalidFieldType},
		{"player_id", "P01", protocol.ErrInvalidFieldType},
		{"conversation_id", "conv-other", protocol.ErrInvalidFieldType},
		{"timestamp", "now", protocol.ErrInvalidTimestamp},
		{"auth_token", otherToken, protocol.ErrTokenInvalid},
	} {
		for replies, want := range map[string][]protocol.Code{"by_meaning": nil, protocol.RepliesStrict: {d.want}} {
			leaguetest.RunOnWire(t, replies+" "+d.member, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(2, 1, func(o *manager.Options) { o.Replies = replies })
				w.Referee("REF01")
				w.Player("P01")
				w.Player("P02", leaguetest.On(protocol.ChooseParity.Name,
					leaguetest.InTurn(leaguetest.EditAnswer(d.member, d.value), leaguetest.Normally)))
				w.Finish()
				assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(w.Manager)[0].Status)
				var got []protocol.Code
				for _, e := range w.GameErrors() {
					got = append(got, e.Code)
				}
				assert.Equal(t, want, got)
			})
		}
	}
}

// A third-party manager gives no access tokens: its questions have none, and strict replies need none.
func TestStrictRepliesNeedNoTokenWithoutAccessTokens(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		m := w.ScriptedManager()
		r := w.Referee("REF01")
		for _, id := range []string{"P01", "P02"} {
			p := w.Player(id, leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("auth_token", nil)),
				leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("auth_token", nil)))
			w.Announce(p, 1, protocol.RefereeAuthNone)
		}
		q := w.Assignment("R1M1", 1, "REF01")
		q.Replies, q.PlayerA.AccessToken, q.PlayerB.AccessToken = protocol.RepliesStrict, "", ""
		_, err := w.Assign(m, r, q)
		require.NoError(t, err)
		w.WaitUntil(leaguetest.Second)
		assert.Empty(t, w.GameErrors())
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
	})
}
