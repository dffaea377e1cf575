package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// joinWordReferee registers a referee that asks no player and reports that the first wins.
func joinWordReferee(t *testing.T, m *manager) {
	t.Helper()
	var token string
	endpoint := serveAgent(t, func(_ context.Context, method string, params object) object {
		if method != "start_match" {
			return object{"status": "ok"}
		}
		a, b := params["player_A"].(object)["player_id"].(string), params["player_B"].(object)["player_id"].(string)
		report := object{
			"protocol": "league.v2", "message_type": "MATCH_RESULT_REPORT", "sender": "referee:REF01", "timestamp": time.Now().UTC().Format(time.RFC3339),
			"conversation_id": "conv-report", "auth_token": token, "league_id": params["league_id"], "round_id": params["round_id"],
			"match_id": params["match_id"], "game_type": "even_odd", "result": object{"winner": a, "score": object{a: 3, b: 0}},
		}
		body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "report_match_result", "params": report})
		assert.NoError(t, err)
		go func() {
			response, err := http.Post(m.url, "application/json", bytes.NewReader(body))
			if assert.NoError(t, err) {
				assert.NoError(t, response.Body.Close())
			}
		}()
		return object{"status": "ACCEPTED", "message_type": "MATCH_ASSIGNMENT_ACK", "match_id": params["match_id"]}
	})
	token = resultOf(t, m.url, example(t, registerReferee, exampleReferee, endpoint))["auth_token"].(string)
}

// The table, the exports, the report, the pages and the audit say which results rest on the word
// of a referee alone.
func TestResultsOnTheWordOfARefereeAreMarked(t *testing.T) {
	t.Parallel()
	data, page := t.TempDir(), filepath.Join(t.TempDir(), "report.html")
	m := startManager(t, "--players", "2", "--legs", "2", "--data", data, "--exit-when-done")
	joinWordReferee(t, m)
	for _, name := range []string{"Alpha", "Beta"} {
		m.join(t, "player", "--name", name, "--data", data)
	}
	const sentence = "2 results rest on the word of referee REF01 alone."
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, m.stdout.String(), sentence)
	assert.Equal(t, 1, strings.Count(m.stderr.String(), "RESULT_STATED"), "one warning for the referee")
	assert.Contains(t, output(t, "league", "standings", "--data", data), sentence)
	assert.Contains(t, output(t, "league", "schedule", "--data", data), "rests on the word of its referee")
	assert.Equal(t, 2, strings.Count(output(t, "league", "export", "--data", data, "--format", "csv"), ",stated\n"))

	text := output(t, "report", data, "--format", "text")
	assert.Contains(t, text, sentence)
	assert.Contains(t, text, "Not rated: 2 results on the word of a referee alone.")
	assert.NotContains(t, text, "No agent failed")
	output(t, "report", data, "-o", page)
	assert.Contains(t, readText(t, page), sentence)
	assert.Equal(t, 2, strings.Count(readText(t, page), `title="It rests on the word of its referee alone."`))
	assert.NotContains(t, readText(t, page), "No agent failed")

	assert.Contains(t, output(t, "audit", data), strings.TrimSuffix(sentence, "."))
	strict := start(t, "audit", "--strict", data)
	assert.Equal(t, 4, strict.awaitExit(t))
	assert.Contains(t, strict.stderr.String(), "evenodd: results that rest on the word of a referee alone: 2")
}
