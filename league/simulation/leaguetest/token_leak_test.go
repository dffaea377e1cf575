package leaguetest_test

import (
	"bufio"
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

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
