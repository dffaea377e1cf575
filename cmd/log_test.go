package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// A logLine is a line of a log (spec 003 table 12).
type logLine struct {
	Timestamp      string `json:"timestamp"`
	Level          string `json:"level"`
	AgentID        string `json:"agent_id"`
	MessageType    string `json:"message_type"`
	ConversationID string `json:"conversation_id"`
	Method         string `json:"method"`
	Event          string `json:"event_type"`
	Message        string `json:"message"`

	text string
}

// logLines returns the log lines in a standard error.
func logLines(t *testing.T, stderr string) []logLine {
	t.Helper()
	var lines []logLine
	for text := range strings.Lines(stderr) {
		if !strings.HasPrefix(text, "{") {
			continue // a line for people
		}
		line := logLine{text: text}
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		lines = append(lines, line)
	}
	require.NotEmpty(t, lines)
	return lines
}

var timestampOfLogs = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// check checks the members that every line must have.
func (l *logLine) check(t *testing.T) {
	t.Helper()
	assert.Regexp(t, timestampOfLogs, l.Timestamp, l.text)
	assert.Contains(t, []string{"DEBUG", "INFO", "WARN", "ERROR"}, l.Level, l.text)
	assert.NotEmpty(t, l.AgentID, l.text)
	assert.NotEmpty(t, l.Message, l.text)
	assert.NotEmpty(t, l.Event, l.text)
	switch l.Event {
	case "MESSAGE_SENT", "MESSAGE_RECEIVED", "ANSWER_SENT", "ANSWER_RECEIVED":
		assert.Equal(t, "DEBUG", l.Level, l.text)
		if l.Method == "ping" || l.Method == "get_match_transcript" {
			return // tools ask without a message type (spec 003 §8.11)
		}
		assert.NotEmpty(t, l.MessageType, l.text)
		assert.NotEmpty(t, l.ConversationID, l.text)
	}
}

// A recordingProxy forwards requests to a manager, and records them.
type recordingProxy struct {
	*httptest.Server
	mu       sync.Mutex
	requests []protocol.Envelope
	answers  []protocol.Envelope
	tokens   map[string]string // by the agent that got it
}

func startRecordingProxy(t *testing.T, manager string) *recordingProxy {
	t.Helper()
	target, err := url.Parse(manager)
	require.NoError(t, err)
	w := &recordingProxy{tokens: map[string]string{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		ModifyResponse: w.recordResponse,
		ErrorLog:       log.New(io.Discard, "", 0), // errors of callers that have closed the connection
	}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has given up
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct {
			Params protocol.Envelope `json:"params"`
		}
		if json.Unmarshal(body, &call) == nil {
			w.mu.Lock()
			w.requests = append(w.requests, call.Params)
			w.mu.Unlock()
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *recordingProxy) recordResponse(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Result struct {
			protocol.Envelope
			PlayerID  string `json:"player_id"`
			RefereeID string `json:"referee_id"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, answer.Result.Envelope)
	if token := answer.Result.AuthToken; token != "" {
		w.tokens[answer.Result.PlayerID+answer.Result.RefereeID] = token
	}
	return nil
}

// issuedSecrets returns the issued tokens, and all secrets derived from them.
func (w *recordingProxy) issuedSecrets(leagueID string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]string{}
	for id, token := range w.tokens {
		key := protocol.KeyOf(token)
		all["auth_token of "+id] = token
		all["secret part of the auth_token of "+id] = strings.SplitN(token, "-", 3)[2]
		all["manager's credential towards "+id] = key.ManagerCredential(leagueID)
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				for referee := 1; referee <= 2; referee++ {
					match, referee := protocol.MatchID{Round: round, Number: number}.String(), protocol.RefereeID(referee)
					all["access token of "+referee+" towards "+id+" in "+match] = key.AccessToken(leagueID, match, 1, referee)
				}
			}
		}
	}
	return all
}

func TestLogsOfAWholeLeague(t *testing.T) {
	t.Parallel()
	const leagueID = "league_of_logs"
	debug := []string{"--log-level", "debug"}
	m := startManager(t, append(debug, "--players", "4", "--referees", "2", "--exit-when-done", "--league-id", leagueID)...)
	wire := startRecordingProxy(t, m.url)
	listening := &manager{process: m.process, url: wire.URL + "/mcp"}
	processes := map[string]*process{
		"REF01": listening.join(t, "referee", append(debug, "--id", "REF01")...),
		"REF02": listening.join(t, "referee", append(debug, "--id", "REF02")...),
	}
	for i, strategy := range []string{"random", "contrarian", "mirror", "frequency"} {
		id := protocol.PlayerID(i + 1)
		processes[id] = listening.join(t, "player", append(debug, "--id", id, "--strategy", strategy)...)
	}
	processes["manager"] = m.process
	logs := map[string][]logLine{}
	for name, p := range processes {
		require.Zero(t, p.awaitExit(t), "%s: %s", name, p.stderr.String())
		logs[name] = logLines(t, p.stderr.String())
	}

	t.Run("every line has the fields of the specification", func(t *testing.T) {
		own := map[string]string{"manager": "league_manager"}
		for name, lines := range logs {
			for i := range lines {
				lines[i].check(t)
			}
			want := own[name]
			switch {
			case strings.HasPrefix(name, "REF"):
				want = "referee:" + name
			case want == "":
				want = "player:" + name
			}
			assert.Equal(t, want, lines[len(lines)-1].AgentID)
		}
	})

	t.Run("every message is logged where it is sent and where it is received", func(t *testing.T) {
		all := slices.Concat(slices.Collect(maps.Values(logs))...)
		// The manager may acknowledge the last reports after their referees have
		// received the end of the league and exited.
		const late = "MATCH_RESULT_ACK"
		count := func(lines []logLine, event string) map[string]int {
			n := map[string]int{}
			for _, l := range lines {
				if l.Event == event && l.MessageType != late {
					n[l.MessageType+" in "+l.ConversationID]++
				}
			}
			return n
		}
		assert.Equal(t, count(all, "MESSAGE_SENT"), count(all, "MESSAGE_RECEIVED"))
		assert.Equal(t, count(all, "ANSWER_SENT"), count(all, "ANSWER_RECEIVED"))
		passed := func(envelopes []protocol.Envelope) map[string]int {
			n := map[string]int{}
			for _, e := range envelopes {
				if e.MessageType == late {
					continue
				}
				n[e.MessageType+" in "+e.ConversationID]++
			}
			return n
		}
		assert.Equal(t, passed(wire.requests), count(logs["manager"], "MESSAGE_RECEIVED"))
		assert.Equal(t, passed(wire.answers), count(logs["manager"], "ANSWER_SENT"))
		types := map[string]int{}
		for _, l := range all {
			if l.Event == "MESSAGE_SENT" {
				types[l.MessageType]++
			}
		}
		want := map[string]int{
			"REFEREE_REGISTER_REQUEST": 2, "LEAGUE_REGISTER_REQUEST": 4,
			"ROUND_ANNOUNCEMENT": 3 * 4, "MATCH_ASSIGNMENT": 6, "GAME_INVITATION": 12, "CHOOSE_PARITY_CALL": 12,
			"GAME_OVER": 12, "MATCH_RESULT_REPORT": 6, "LEAGUE_STANDINGS_UPDATE": 3 * 4,
			"ROUND_COMPLETED": 3 * 6, "LEAGUE_COMPLETED": 6,
		}
		for messageType, n := range want {
			assert.Equal(t, n, types[messageType], messageType)
		}
	})

	t.Run("no token is in any log", func(t *testing.T) {
		worths := wire.issuedSecrets(leagueID)
		require.Len(t, wire.tokens, 6)
		worths["admin token"] = m.admin
		for name, lines := range logs {
			for _, l := range lines {
				for what, worth := range worths {
					if strings.Contains(l.text, worth) {
						assert.Fail(t, fmt.Sprintf("the log of %s has the %s", name, what), l.text)
					}
				}
			}
		}
		for name, p := range processes {
			told := strings.Count(p.stderr.String()+p.stdout.String(), m.admin)
			if name == "manager" {
				told-- // for the operator
			}
			assert.Zero(t, told, "the admin token is told once, by the manager; %s", name)
		}
	})
}
