package protocol_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The examples of the documents and the samples are valid. White space and escapes make no difference.
func TestExamplesAndSamplesAreValid(t *testing.T) {
	for messageType, messages := range originals(t) {
		for _, raw := range messages {
			assert.Empty(t, protocol.Examine(messageType, raw), "%s", raw)
			assert.NoError(t, accepts(t, compiled(t, messageType), raw), "by its schema")
			spaced := strings.ReplaceAll(strings.ReplaceAll(string(raw), `":`, `" : `), `,"`, "\r\n\t , \"")
			assert.Empty(t, protocol.Examine(messageType, []byte(" "+spaced+"\n")), spaced)
			escaped := strings.NewReplacer(`"sender"`, `"\u0073ender"`, `"league.v2"`, `"league\u002ev2"`).Replace(string(raw))
			assert.Empty(t, protocol.Examine(messageType, []byte(escaped)), escaped)
		}
	}
}

// TestExamineSeesDefectsThatDecodingHides names messages with a defect whose decoded
// value is that of a valid message.
func TestExamineSeesDefectsThatDecodingHides(t *testing.T) {
	for _, test := range []struct {
		name, messageType, path string
		value                   string // "": the member is gone
	}{
		{"no winner at all", protocol.TypeMatchResultReport, "result.winner", ""},
		{"no next round", protocol.TypeRoundCompleted, "next_round_id", ""},
		{"a row without points", protocol.TypeStandingsUpdate, "standings[0].points", ""},
		{"a row whose points are null", protocol.TypeStandingsUpdate, "standings[0].points", "null"},
		{"a champion without points", protocol.TypeLeagueCompleted, "champion.points", ""},
		{"a null score", protocol.TypeMatchResultReport, "result.score.P02", "null"},
		{"standings without wins", protocol.TypeChooseParityCall, "context.your_standings.wins", ""},
		{"no scoring", protocol.TypeMatchAssignment, "scoring", ""},
		{"scoring without a loss", protocol.TypeMatchAssignment, "scoring.loss_points", ""},
		{"timeouts without one", protocol.TypeMatchAssignment, "timeouts.move_timeout_sec", ""},
		{"an allowed endpoint that is no network", protocol.TypeMatchAssignment, "allowed_endpoints[0]", quoted("10.1.0.0/33")},
		{"an allowed endpoint without length", protocol.TypeMatchAssignment, "allowed_endpoints[0]", quoted("10.1.0.1")},
		{"a retry without its number", protocol.TypeGameError, "retry_info.retry_count", ""},
		{"attempt 0", protocol.TypeGameInvitation, "attempt", "0"},
		{"an empty commitment", protocol.TypeGameInvitation, "draw_commitment", `""`},
		{"an empty protocol_version", protocol.TypeLeagueRegisterRequest, "player_meta.protocol_version", `""`},
		{"an empty referee_auth", protocol.TypeRoundAnnouncement, "matches[0].referee_auth", `""`},
		{"limit 0", protocol.TypeLeagueQuery, "query_params.limit", "0"},
		{"an endless limit", protocol.TypeLeagueQuery, "query_params.limit", "2147483648"},
		{"a negative number drawn", protocol.TypeGameOver, "game_result.drawn_number", "-1"},
		{"entropy that is no digest", protocol.TypeMatchResultReport, "draw.entropies.P01", `"00"`},
		{"an endless endpoint", protocol.TypeRoundAnnouncement, "matches[0].referee_endpoint",
			quoted("http://h/" + strings.Repeat("p", 292))},
		{"an endless consequence", protocol.TypeGameError, "consequence", quoted(strings.Repeat("x", 501))},
		{"a retry at no time", protocol.TypeGameError, "retry_info.next_retry_at", `"soon"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := edit(t, sampleJSON(t, test.messageType), test.path, test.value)
			require.NoError(t, json.Unmarshal(raw, newMessage(test.messageType)))
			broken := protocol.Examine(test.messageType, raw)
			require.Len(t, broken, 1)
			assert.Equal(t, test.path, broken[0].Field)
		})
	}
}

// TestNullStandsForAbsence: an optional member that is null counts as absent,
// a required one as missing (E003).
func TestNullStandsForAbsence(t *testing.T) {
	for _, messageType := range protocol.MessageTypes() {
		t.Run(messageType, func(t *testing.T) {
			sample := sampleJSON(t, messageType)
			for _, path := range places("", decode(t, sample)) {
				if strings.HasSuffix(path, "]") {
					continue // an element is not absent
				}
				absent := protocol.Examine(messageType, edit(t, sample, path, ""))
				nulled := protocol.Examine(messageType, edit(t, sample, path, "null"))
				switch {
				case len(absent) == 0 && len(nulled) > 0:
					assert.Contains(t, path, ".P0", "only a player's entry may be absent and not null")
				case len(absent) > 0:
					assert.Equal(t, []string{path, "required"}, []string{absent[0].Field, absent[0].Rule})
					for _, n := range nulled { // a null id or winner is none
						assert.Equal(t, []string{path, "required, not null"}, []string{n.Field, n.Rule})
					}
				}
			}
		})
	}
}

func TestValidURL(t *testing.T) {
	for _, url := range []string{
		"http://localhost:8101/mcp", "https://agents.example-league.org/players/p_01", "nats://10.0.0.1",
		"memory://P01", "http://[::1]:8101/mcp", "http://user:pw@host/mcp?x=1#y", "HTTP://host/", "svn+ssh://host/",
	} {
		assert.True(t, protocol.ValidURL(url), url)
	}
	for _, url := range []string{
		"", "localhost:8101", "http://", "http:///mcp", "://host/mcp", "1http://host", "ht tp://host/", "h_t://host/",
		"http://host:port/", "http://user@/mcp", "http://::1/", "http://[::1%25eth0]/", "mailto:someone@example.org",
		"http://a b/", "http://host/%zz",
	} {
		assert.False(t, protocol.ValidURL(url), url)
	}
}
