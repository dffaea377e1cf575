package cmd_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
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

var timestampOfLogs = words.Pattern(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// check checks the members that every line must have.
func (l *logLine) check(t *testing.T) {
	t.Helper()
	assert.Regexp(t, timestampOfLogs(), l.Timestamp, l.text)
	assert.Contains(t, []string{"DEBUG", "INFO", "WARN", "ERROR"}, l.Level, l.text)
	assert.NotEmpty(t, l.AgentID, l.text)
	assert.NotEmpty(t, l.Message, l.text)
	assert.NotEmpty(t, l.Event, l.text)
	switch l.Event {
	case "MESSAGE_SENT", "MESSAGE_RECEIVED":
		assert.Equal(t, "DEBUG", l.Level, l.text)
		if l.Method == "ping" || l.Method == "get_match_transcript" {
			return // tools ask without a message type (spec 003 §8.11)
		}
		assert.NotEmpty(t, l.MessageType, l.text)
		assert.NotEmpty(t, l.ConversationID, l.text)
	}
}

// Each process of a league logs every message, where it is sent and where it is received, in the form of the
// specification. None has the admin token.
func TestLogsOfAWholeLeague(t *testing.T) {
	t.Parallel()
	debug := []string{"--log-level", "debug"}
	m := startManager(t, append(debug, "--players", "4", "--referees", "2", "--exit-when-done")...)
	processes := map[string]*process{"league_manager": m.process}
	for id, role := range map[string]string{"REF01": "referee", "REF02": "referee", "P01": "player", "P02": "player", "P03": "player", "P04": "player"} {
		processes[role+":"+id] = m.join(t, role, append(debug, "--id", id)...)
	}
	sent, received, types, token := map[string]int{}, map[string]int{}, map[string]int{}, m.admin(t)
	for name, p := range processes {
		require.Zero(t, p.awaitExit(t), "%s: %s", name, p.stderr.String())
		lines := logLines(t, p.stderr.String())
		assert.Equal(t, name, lines[len(lines)-1].AgentID)
		assert.NotContains(t, p.stderr.String()+p.stdout.String(), token)
		for i := range lines {
			l := &lines[i]
			l.check(t)
			message := l.MessageType + " in " + l.ConversationID
			switch {
			case l.MessageType == "MATCH_RESULT_ACK", l.ConversationID == "conv-watch": // the end of the league may cut them off
			case l.Event == "MESSAGE_SENT":
				types[l.MessageType]++
				sent[message]++
			case l.Event == "MESSAGE_RECEIVED":
				received[message]++
			}
		}
	}
	// a broadcast is one line of its sender, without the acknowledgements
	broadcasts := map[string]int{"ROUND_ANNOUNCEMENT": 3, "LEAGUE_STANDINGS_UPDATE": 3, "ROUND_COMPLETED": 3, "LEAGUE_COMPLETED": 1}
	ofBroadcast := func(message string, _ int) bool {
		name, _, _ := strings.Cut(message, " ")
		_, one := broadcasts[strings.TrimSuffix(name, "_ACK")]
		return one || name == "STANDINGS_UPDATE_ACK"
	}
	maps.DeleteFunc(sent, ofBroadcast)
	maps.DeleteFunc(received, ofBroadcast)
	assert.Equal(t, sent, received)
	for messageType, n := range broadcasts {
		assert.Equal(t, n, types[messageType], messageType)
	}
	for messageType, n := range map[string]int{
		"REFEREE_REGISTER_REQUEST": 2, "LEAGUE_REGISTER_REQUEST": 4,
		"MATCH_ASSIGNMENT": 6, "GAME_INVITATION": 12, "CHOOSE_PARITY_CALL": 12,
		"GAME_JOIN_ACK": 12, "GAME_OVER": 12, "MATCH_RESULT_REPORT": 6,
	} {
		assert.Equal(t, n, types[messageType], messageType)
	}
}

// At the usual level the file of a player shows its matches, and its screen does not.
func TestLogOfAPlayerShowsItsMatches(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--referees", "1", "--exit-when-done")
	m.join(t, "referee")
	folder := t.TempDir()
	p := m.join(t, "player", "--id", "P01", "--data", folder)
	m.join(t, "player", "--id", "P02")
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	assert.NotContains(t, p.stderr.String(), "MESSAGE_RECEIVED")
	raw, err := os.ReadFile(filepath.Join(folder, "logs", "agents", "P01.log.jsonl"))
	require.NoError(t, err)
	text := string(raw)
	at := 0
	for _, next := range []string{
		`"MESSAGE_RECEIVED","message":"received","message_type":"GAME_INVITATION"`, `"message_type":"GAME_JOIN_ACK"`, `"recipient":"referee:REF01"`,
		`"message_type":"CHOOSE_PARITY_CALL"`, `"message_type":"CHOOSE_PARITY_RESPONSE"`, `"message_type":"GAME_OVER"`, `"message_type":"LEAGUE_COMPLETED"`,
	} {
		found := strings.Index(text[at:], next)
		require.GreaterOrEqual(t, found, 0, "%s in\n%s", next, text)
		at += found
	}
	assert.NotContains(t, text, "tok-")
}
