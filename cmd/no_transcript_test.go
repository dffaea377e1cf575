package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A referee that reports a winner and nothing else keeps no transcript: the match file is the manager's. The pages
// of the manager and of the folder say so, and replay has no empty sentence.
func TestMatchWithoutTranscriptHasWholeSentences(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	m := startManager(t, "--players", "2", "--legs", "2", "--data", data)
	for _, name := range []string{"Alpha", "Beta"} {
		resultOf(t, m.url, example(t, registerPlayer, examplePlayer, startAnswering(t, anything), "Agent Alpha", "Agent "+name, "player:alpha", "player:"+name))
	}
	assigned := make(chan struct{}, 2)
	referee := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, anything)
		if strings.Contains(string(body), `"method":"start_match"`) {
			assigned <- struct{}{}
		}
	}))
	defer referee.Close()
	token := resultOf(t, m.url, example(t, registerReferee, exampleReferee, referee.URL+"/mcp"))["auth_token"].(string)
	report := func(round int, details string) {
		<-assigned
		resultOf(t, m.url, fmt.Sprintf(`{"jsonrpc":"2.0","method":"report_match_result","params":{"protocol":"league.v2","message_type":"MATCH_RESULT_REPORT",`+
			`"sender":"referee:REF01","timestamp":"%[1]s","conversation_id":"conv-r%[2]dm1-a1","auth_token":"%[3]s",`+
			`"league_id":"league_2025_even_odd","round_id":%[2]d,"match_id":"R%[2]dM1","game_type":"even_odd",`+
			`"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":%[4]s}},"id":1}`, time.Now().UTC().Format(time.RFC3339), round, token, details))
		m.await(t, fmt.Sprintf(`"match_id":"R%dM1","status":"\w+","event_type":"RESULT_RECORDED"`, round))
	}
	report(1, `{"drawn_number":0,"choices":{}}`)
	report(2, `{"status":"TECHNICAL_LOSS"}`)
	m.await(t, `"event_type":"THE_LEAGUE_IS_OVER"`)
	pageOf := func(t *testing.T, base string) string {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"matches/R1M1", http.NoBody)
		require.NoError(t, err)
		r, err := http.DefaultClient.Do(q)
		require.NoError(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(text)
	}
	const kept = "<p>Its referee kept no transcript of this attempt.</p>"
	assert.Contains(t, pageOf(t, strings.TrimSuffix(m.url, "mcp")), kept)

	text := output(t, "replay", "R1M1", "--data", data)
	assert.Contains(t, text, "\nThe referee kept or delivered no transcript: the manager wrote this file from its report.\n")
	assert.NotRegexp(t, `\. ?\.`, text)
	assert.Contains(t, text, "Result: WIN, P01 wins. ")
	assert.Contains(t, output(t, "report", data, "-o", "-", "--format", "markdown"), "What was wrong: its referee did not say why")
	s := start(t, "serve", data, "--listen", "localhost:"+freePort(t))
	assert.Contains(t, pageOf(t, s.await(t, `at (http://\S+/) until`)[1]), kept)
}
