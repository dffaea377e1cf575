package conversations

import (
	"bufio"
	"bytes"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// A logBook is a buffer for many writers.
type logBook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// A league of all that can go wrong, logged to the last detail, names no token.
func TestNoTokenIsEverLogged(t *testing.T) {
	for _, kind := range []string{byValue, byWire, byHTTP} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out logBook
				w := newWorld(t, kind, zerolog.New(&out).Level(zerolog.DebugLevel))
				w.troubledLeague()
				w.close()
				require.NotZero(t, out.Len())
				for what, secret := range w.secrets() {
					require.NotEmpty(t, secret)
					assert.NotContains(t, out.String(), secret, what)
				}
				checkLines(t, out.Bytes())
			})
		})
	}
}

// troubledLeague has a referee that is gone, a player that fails in every way,
// and strangers with wrong tokens.
func (w *world) troubledLeague() {
	w.startManager(4, 2)
	w.referee("REF01", does(protocol.StartMatch.Name, failing(errHangUp)))
	w.referee("REF02")
	w.player("P01")
	w.player("P02", does(protocol.ChooseParity.Name, inTurn(silent, editing("parity_choice", "Even"), editing("entropy", "00"), honestly)))
	w.player("P03", does(protocol.Invite.Name, inTurn(failing(errHangUp), refusing(protocol.ErrTokenInvalid), honestly)),
		does(protocol.NotifyMatchResult.Name, refusing(protocol.ErrTokenMissing)))
	p := w.player("P04", does(protocol.UpdateStandings.Name, failing(errGarbage)))
	w.finish()

	query := w.query("P01", protocol.QueryStandings)
	query.Sender = "player:P02"
	_, err := query.send()
	require.Error(w.t, err)
	query.AuthToken = w.token("P01") + "x"
	_, err = query.send()
	require.Error(w.t, err)
	_, err = w.report(w.wins("REF01"))
	require.Error(w.t, err)
	c := w.conducts(p, "R1M1", 1)
	c.sender = "REF09"
	for _, call := range c.everything() {
		require.Error(w.t, call())
	}
	for _, call := range w.manages(p, w.credential("P01")) {
		require.Error(w.t, call())
	}
	again := w.application("Agent P04")
	again.AuthToken = w.token("P04")
	_, err = w.apply(again)
	require.NoError(w.t, err)
}

// secrets are all tokens of a league of four players and two referees.
func (w *world) secrets() map[string]string {
	secrets := map[string]string{"the admin token": w.manager.AdminToken()}
	referees := []string{"REF01", "REF02"}
	for _, id := range append([]string{"P01", "P02", "P03", "P04"}, referees...) {
		secrets["the token of "+id] = w.token(id)
		secrets["the credential for "+id] = w.credential(id)
	}
	for _, r := range w.manager.Results() {
		for _, id := range []string{r.PlayerA, r.PlayerB} {
			for attempt := 1; attempt <= 2; attempt++ {
				for _, referee := range referees {
					secrets["access to "+id+" in "+r.MatchID+" for "+referee] = w.access(id, r.MatchID, attempt, referee)
				}
			}
		}
	}
	return secrets
}

// checkLines wants a conversation in the line of every message.
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
