package conversations

import (
	"bytes"
	"context"
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
			Event     string `json:"event_type"`
			Method    string `json:"method"`
			Sender    string `json:"sender"`
			ErrorCode string `json:"error_code"`
			Defect    string `json:"defect"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields.Event == protocol.EventRequestRefused {
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

// A request that no handler can read is logged too.
func TestUnreadableRequestsAreLogged(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		var book logbook
		w.startManager(2, 1, func(o *league.Options) { o.Log = zerolog.New(&book) })
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"register_player","params":5,"id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","params":{"sender":"a","sender":"b"},"id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","params":`,
			`[]`,
		} {
			w.everybody()[0].mux.Serve(w.life, "", []byte(body))
		}
		lines := book.refusals(t)
		require.Len(t, lines, 5)
		assert.Equal(t, "register_player |  |  | JSON-RPC error -32600: Invalid Request: params must be an object or an array", lines[0])
		assert.Contains(t, lines[1], "register_player |  | E003 | ")
		assert.Equal(t, " |  |  | JSON-RPC error -32700: Parse error", lines[2], "a name twice is no JSON here")
		assert.Equal(t, " |  |  | JSON-RPC error -32700: Parse error", lines[3])
		assert.Contains(t, lines[4], "a batch holds 1 to 100 calls")
	})
}

// refusedQuery is a query with a wrong token in the name of an agent.
func (w *world) refusedQuery(id string) {
	w.t.Helper()
	asked := w.query(id, protocol.QueryStatus)
	asked.AuthToken = "wrong"
	_, err := asked.send()
	require.Error(w.t, err)
}

// Thousands of refused requests do not fill the log, and hide no refusal of another
// sender.
func TestRefusalsInTheLogAreBounded(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		var book logbook
		w.startManager(2, 1, func(o *league.Options) { o.Log = zerolog.New(&book) })
		for range 1000 {
			w.refusedQuery("P01")
		}
		assert.Len(t, book.refusals(t), 20)
		w.refusedQuery("P02")
		assert.Len(t, book.refusals(t), 21)
		assert.Contains(t, book.lines.String(), `"sender":"player:P02","error_code":"E012","error_name":"AUTH_TOKEN_INVALID",`+
			`"defect":"auth_token is not that of a registered agent","omitted_before":980`)
		w.at(second)
		w.refusedQuery("P01")
		assert.Len(t, book.refusals(t), 22)
	})
}

// An address that names another sender in each request hides no refusal of another
// address.
func TestRefusalsInTheLogAreBoundedByAddress(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		var book logbook
		from := "192.0.2.1"
		w.startManager(2, 1, func(o *league.Options) {
			o.Log, o.CallerAddress = zerolog.New(&book), func(context.Context) string { return from }
		})
		for n := range 5000 {
			w.refusedQuery(protocol.PlayerID(n + 1))
		}
		assert.Len(t, book.refusals(t), 200)
		from = "192.0.2.2"
		w.refusedQuery("P01")
		assert.Len(t, book.refusals(t), 201)
		assert.Contains(t, book.lines.String(), `"address":"192.0.2.2"`)
		from = "192.0.2.1"
		w.refusedQuery("P09999")
		assert.Len(t, book.refusals(t), 201, "a busy address is not forgotten")
	})
}
