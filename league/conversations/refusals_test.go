package conversations

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A logbook collects log lines.
type logbook struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

// refusals are the lines about refused requests: method, sender, code, defect.
func (l *logbook) refusals(t *testing.T) (list []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.lines.String()) {
		var fields struct {
			Level     string `json:"level"`
			Message   string `json:"message"`
			Method    string `json:"method"`
			Sender    string `json:"sender"`
			ErrorCode string `json:"error_code"`
			Defect    string `json:"defect"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields.Message == "request refused" {
			assert.Equal(t, "warn", fields.Level)
			list = append(list, strings.Join([]string{fields.Method, fields.Sender, fields.ErrorCode, fields.Defect}, " | "))
		}
	}
	return list
}

// The log has one line for every refused registration, report and query.
func TestRefusedRequestsAreLogged(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		var book logbook
		w.startManager(2, 1, func(o *league.Options) { o.Log = zerolog.New(&book) })
		w.referee("REF01", w.idle())
		w.player("P01")
		synctest.Wait() // they have answered the manager's pings
		q := w.application("Agent")
		q.PlayerMeta.DisplayName = "Agent P01"
		_, err := w.apply(q)
		require.NoError(t, err)
		q = w.application("Beta")
		q.ConversationID = ""
		_, err = w.apply(q)
		require.Error(t, err)
		w.player("P02")
		w.at(second)
		_, err = w.report(w.contradictory("REF01"))
		require.Error(t, err)
		asked := w.query("P01", "GET_WEATHER")
		_, err = asked.send()
		require.NoError(t, err)
		asked.AuthToken = "tok-p01-forged-0123456789012345678901234567890"
		_, err = asked.send()
		require.Error(t, err)
		_, err = w.report(w.wins("REF01"))
		require.NoError(t, err)
		w.finish()
		assert.Equal(t, []string{
			`register_player | player:agent | E024 | display_name "Agent P01" is taken: choose another`,
			"register_player | player:beta | E003 | conversation_id: required",
			"report_match_result | referee:REF01 | E002 | result.winner: by the rules of even_odd it is P01",
			`league_query | player:P01 | E016 | query_type "GET_WEATHER": one of GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH, GET_PLAYER_STATS, GET_STATUS`,
			"league_query | player:P01 | E012 | auth_token is not that of a registered agent",
		}, book.refusals(t))
		assert.NotContains(t, book.lines.String(), "forged")
	})
}

// Thousands of refused requests do not fill the log.
func TestRefusalsInTheLogAreBounded(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		var book logbook
		w.startManager(2, 1, func(o *league.Options) { o.Log = zerolog.New(&book) })
		w.player("P01")
		for range 1000 {
			asked := w.query("P01", protocol.QueryStatus)
			asked.AuthToken = "wrong"
			_, err := asked.send()
			require.Error(t, err)
		}
		assert.Len(t, book.refusals(t), 100)
		w.at(second)
		asked := w.query("P01", protocol.QueryStatus)
		asked.AuthToken = "wrong"
		_, err := asked.send()
		require.Error(t, err)
		assert.Contains(t, book.lines.String(), `"omitted_before":900`)
	})
}
