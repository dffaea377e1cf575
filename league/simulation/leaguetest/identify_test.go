package leaguetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/simulation/leaguetest"
)

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
