package manager_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/simulation/leaguetest"
)

// The journal is public and has 128 bits of an HMAC over the conversation of each
// registration. An applicant chooses the conversation, and an operator may call a league
// "registration": then the input of that HMAC equals the input of P01's token.
func TestJournalHoldsNoPartOfAToken(t *testing.T) {
	for _, leagueID := range []string{"registration", "evenodd-registration-v2", "evenodd-token-v2"} {
		t.Run(leagueID, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 0, 1, func(o *league.Options) { o.LeagueID = leagueID })
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				q.ConversationID = "P01/1"
				accepted, err := w.Apply(q)
				require.NoError(t, err)
				_, secret, _ := strings.Cut(strings.TrimPrefix(accepted.AuthToken, "tok-"), "-")
				token, err := base64.RawURLEncoding.DecodeString(secret)
				require.NoError(t, err)
				x.Kill()
				state, _ := w.FoldJournal(folder)
				published, err := hex.DecodeString(state.Agents["P01"].Registration)
				require.NoError(t, err)
				require.Len(t, published, 16)
				assert.NotEqual(t, published, token[:16])
			})
		})
	}
}
