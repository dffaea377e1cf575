package manager_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// refusalsIn returns method, sender, code and defect of each logged refusal.
func refusalsIn(t *testing.T, log *leaguetest.LogBuffer) (list []string) {
	t.Helper()
	for line := range strings.Lines(log.Text()) {
		var fields struct {
			Level     string `json:"level"`
			Event     string `json:"event_type"`
			Method    string `json:"method"`
			Sender    string `json:"sender"`
			ErrorCode string `json:"error_code"`
			Defect    string `json:"defect"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields.Event == "REQUEST_REFUSED" {
			assert.Equal(t, "warn", fields.Level)
			list = append(list, strings.Join([]string{fields.Method, fields.Sender, fields.ErrorCode, fields.Defect}, " | "))
		}
	}
	return list
}

// The log has one line for each refused registration, report and query.
func TestRefusedRequestsAreLogged(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		w.StartManager(2, 1, func(o *manager.Options) { o.Log = zerolog.New(&log) })
		w.Referee("REF01", w.OnlyAccepting())
		w.Player("P01")
		synctest.Wait() // the agents have answered the manager's pings
		q := w.Application("Agent")
		q.PlayerMeta.DisplayName = "Agent P01"
		mustApply(w, q)
		q = w.Application("Beta")
		q.ConversationID = ""
		_, err := w.Apply(q)
		require.Error(t, err)
		w.Player("P02")
		w.WaitUntil(leaguetest.Second)
		_, err = w.Report(w.ContradictoryReport("REF01"))
		require.Error(t, err)
		asked := w.Query("P01", "GET_WEATHER")
		_, err = asked.Send()
		require.NoError(t, err)
		asked.AuthToken = "tok-p01-forged-0123456789012345678901234567890"
		_, err = asked.Send()
		require.Error(t, err)
		mustReport(w, w.WinReport("REF01"))
		w.Finish()
		assert.Equal(t, []string{
			`register_player | player:agent | E024 | display_name "Agent P01" is taken: choose another`,
			"register_player | player:beta | E003 | conversation_id: required",
			"report_match_result | referee:REF01 | E002 | result.winner: by the rules of even_odd it is P01",
			`league_query | player:P01 | E016 | query_type "GET_WEATHER": one of GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH, GET_PLAYER_STATS, GET_STATUS`,
			"league_query | player:P01 | E012 | auth_token is not that of a registered agent",
		}, refusalsIn(t, &log))
		assert.NotContains(t, log.Text(), "forged")
	})
}

// A request that no handler can read is also logged.
func TestUnreadableRequestsAreLogged(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		w.StartManager(2, 1, func(o *manager.Options) { o.Log = zerolog.New(&log) })
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"register_player","params":5,"id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","params":{"sender":"a","sender":"b"},"id":1}`,
			`{"jsonrpc":"2.0","method":"register_player","params":`,
			`[]`,
		} {
			w.Agents()[0].Mux.Serve(w.Context, "", []byte(body))
		}
		lines := refusalsIn(t, &log)
		require.Len(t, lines, 5)
		assert.Equal(t, "register_player |  |  | JSON-RPC error -32600: Invalid Request: params must be an object or an array", lines[0])
		assert.Contains(t, lines[1], "register_player |  | E003 | ")
		assert.Equal(t, " |  |  | JSON-RPC error -32700: Parse error", lines[2], "a duplicate member name is invalid JSON")
		assert.Equal(t, " |  |  | JSON-RPC error -32700: Parse error", lines[3])
		assert.Contains(t, lines[4], "a batch holds 1 to 100 calls")
	})
}

// refusedQuery sends a query with a wrong token in the name of an agent.
func refusedQuery(w *leaguetest.World, id string) {
	w.T.Helper()
	asked := w.Query(id, protocol.QueryStatus)
	asked.AuthToken = "wrong"
	_, err := asked.Send()
	require.Error(w.T, err)
}

// omissionsIn returns the summaries in the log.
func omissionsIn(t *testing.T, log *leaguetest.LogBuffer) (list []string) {
	t.Helper()
	for line := range strings.Lines(log.Text()) {
		if strings.Contains(line, `"event_type":"`+"REFUSED_REQUESTS_OMITTED"+`"`) {
			list = append(list, line)
		}
	}
	return list
}

// Thousands of refused requests of one sender neither fill the log nor hide the refusals of
// others. A summary counts them, also if no other request follows.
func TestRefusedRequestsAreCountedAndSummarized(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		w.StartManager(2, 1, func(o *manager.Options) { o.Log = zerolog.New(&log) })
		for range 1000 {
			refusedQuery(w, "P01")
		}
		assert.Len(t, refusalsIn(t, &log), 5)
		refusedQuery(w, "P02")
		assert.Len(t, refusalsIn(t, &log), 6)
		assert.Contains(t, log.Text(), `"sender":"player:P02","error_code":"E012","error_name":"AUTH_TOKEN_INVALID",`+
			`"defect":"auth_token is not that of a registered agent","omitted_before":995`)
		assert.Empty(t, omissionsIn(t, &log))
		w.WaitUntil(2 * time.Minute)
		summaries := omissionsIn(t, &log)
		require.Len(t, summaries, 1)
		assert.Contains(t, summaries[0], `"level":"warn","omitted":995,"codes":{"E012":995}`)
		refusedQuery(w, "P01")
		assert.Len(t, refusalsIn(t, &log), 7)
	})
}

// The last summary is in the log when the manager has stopped.
func TestSummaryOfRefusalsIsLoggedWhenTheManagerStops(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.Log = zerolog.New(&log) })
		for range 6 {
			refusedQuery(w, "P01")
		}
		x.Cancel()
		<-x.Done
		assert.Len(t, omissionsIn(t, &log), 1)
	})
}

// An address that changes the sender in each request does not hide refusals of other
// addresses, and hundreds of addresses do not fill the log.
func TestRefusalsInTheLogAreBoundedByAddress(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		from := "192.0.2.1"
		w.StartManager(2, 1, func(o *manager.Options) {
			o.Log, o.CallerAddress = zerolog.New(&log), func(context.Context) string { return from }
		})
		for n := range 500 {
			refusedQuery(w, league.PlayerID(n+1))
		}
		assert.Len(t, refusalsIn(t, &log), 20)
		from = "192.0.2.2"
		refusedQuery(w, "P01")
		assert.Len(t, refusalsIn(t, &log), 21)
		assert.Contains(t, log.Text(), `"address":"192.0.2.2"`)
		from = "192.0.2.1"
		refusedQuery(w, "P09999")
		assert.Len(t, refusalsIn(t, &log), 21, "the log keeps the counter of a busy address")
		for n := range 500 {
			from = fmt.Sprintf("2001:db8::%x", n)
			refusedQuery(w, "P01")
		}
		assert.Len(t, refusalsIn(t, &log), 200)
		w.WaitUntil(2 * time.Minute)
		require.Len(t, omissionsIn(t, &log), 1)
		assert.Contains(t, omissionsIn(t, &log)[0], `"omitted":802,"codes":{"E012":802}`)
	})
}
