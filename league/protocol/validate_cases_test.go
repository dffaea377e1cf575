package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestGoldensAndSamplesAreValid(t *testing.T) {
	for messageType, messages := range originals(t) {
		t.Run(messageType, func(t *testing.T) {
			for _, v := range messages {
				assert.Empty(t, protocol.Examine(messageType, text(v)), "%s", text(v))
				spaced := strings.ReplaceAll(strings.ReplaceAll(string(text(v)), `":`, `" : `), `,"`, "\r\n\t , \"")
				assert.Empty(t, protocol.Examine(messageType, []byte(" "+spaced+"\n")), spaced)
				escaped := strings.NewReplacer(`"sender"`, `"\u0073ender"`, `"league.v2"`, `"league\u002ev2"`).Replace(string(text(v)))
				assert.Empty(t, protocol.Examine(messageType, []byte(escaped)), escaped)
				if protocol.IsRequest(messageType) {
					assert.True(t, protocol.ValueHolds(messageType, decoded(t, messageType, text(v))), "%s", text(v))
				}
			}
		})
	}
}

// TestExamineSeesDefectsThatDecodingHides names messages with a defect whose decoded
// value is that of a valid message.
func TestExamineSeesDefectsThatDecodingHides(t *testing.T) {
	tests := []struct {
		name, messageType, path string
		value                   tree // nil: the member is gone
	}{
		{"no winner at all", protocol.TypeMatchResultReport, "result.winner", nil},
		{"no next round", protocol.TypeRoundCompleted, "next_round_id", nil},
		{"a row without points", protocol.TypeStandingsUpdate, "standings[0].points", nil},
		{"a row whose points are null", protocol.TypeStandingsUpdate, "standings[0].points", scalar("null")},
		{"a champion without points", protocol.TypeLeagueCompleted, "champion.points", nil},
		{"a null score", protocol.TypeMatchResultReport, "result.score.P02", scalar("null")},
		{"standings without wins", protocol.TypeChooseParityCall, "context.your_standings.wins", nil},
		{"no scoring", protocol.TypeMatchAssignment, "scoring", nil},
		{"scoring without a loss", protocol.TypeMatchAssignment, "scoring.loss_points", nil},
		{"timeouts without one", protocol.TypeMatchAssignment, "timeouts.move_timeout_sec", nil},
		{"an allowed endpoint that is no network", protocol.TypeMatchAssignment, "allowed_endpoints[0]", quoted("10.1.0.0/33")},
		{"an allowed endpoint without length", protocol.TypeMatchAssignment, "allowed_endpoints[0]", quoted("10.1.0.1")},
		{"a retry without its number", protocol.TypeGameError, "retry_info.retry_count", nil},
		{"attempt 0", protocol.TypeGameInvitation, "attempt", scalar("0")},
		{"an empty commitment", protocol.TypeGameInvitation, "draw_commitment", scalar(`""`)},
		{"an empty protocol_version", protocol.TypeLeagueRegisterRequest, "player_meta.protocol_version", scalar(`""`)},
		{"an empty referee_auth", protocol.TypeRoundAnnouncement, "matches[0].referee_auth", scalar(`""`)},
		{"limit 0", protocol.TypeLeagueQuery, "query_params.limit", scalar("0")},
		{"an endless limit", protocol.TypeLeagueQuery, "query_params.limit", scalar("2147483648")},
		{"a negative number drawn", protocol.TypeGameOver, "game_result.drawn_number", scalar("-1")},
		{"entropy that is no digest", protocol.TypeMatchResultReport, "draw.entropies.P01", scalar(`"00"`)},
		{"an endless endpoint", protocol.TypeRoundAnnouncement, "matches[0].referee_endpoint",
			quoted("http://h/" + strings.Repeat("p", 292))},
		{"an endless consequence", protocol.TypeGameError, "consequence", quoted(strings.Repeat("x", 501))},
		{"a retry at no time", protocol.TypeGameError, "retry_info.next_retry_at", scalar(`"soon"`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := edit(t, parse(t, sampleJSON(t, test.messageType)), test.path, test.value)
			decoded(t, test.messageType, text(v))
			broken := protocol.Examine(test.messageType, text(v))
			require.Len(t, broken, 1)
			assert.Equal(t, test.path, broken[0].Field)
		})
	}
}

// decoded is a message in its Go type.
func decoded(t require.TestingT, messageType string, raw []byte) any {
	q := newMessage[messageType]()
	require.NoError(t, json.Unmarshal(raw, q))
	return q
}

// edit is the tree with another value at a path; nil takes the member away.
func edit(t require.TestingT, v tree, path string, value tree) tree {
	for _, p := range places(v) {
		if name, _ := at(v, p); name == path {
			if value == nil {
				return without(v, p)
			}
			return with(v, p, value)
		}
	}
	require.Fail(t, "no such place", path)
	return nil
}

// TestNullStandsForAbsence: an optional member that is null counts as absent,
// a required one as missing (E003).
func TestNullStandsForAbsence(t *testing.T) {
	null := scalar("null")
	for _, messageType := range protocol.MessageTypes() {
		t.Run(messageType, func(t *testing.T) {
			sample := parse(t, sampleJSON(t, messageType))
			for _, p := range places(sample) {
				path, _ := at(sample, p)
				_, parent := at(sample, p[:len(p)-1])
				if _, element := parent.(array); element {
					continue // an element is not absent
				}
				absent := protocol.Examine(messageType, text(without(sample, p)))
				nulled := protocol.Examine(messageType, text(with(sample, p, null)))
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

// valueCheckAgrees expects the check of a decoded value to accept exactly the values
// whose encoding is valid.
func (s *suspect) valueCheckAgrees(t require.TestingT) {
	if s.unreadable != nil {
		return
	}
	again, err := json.Marshal(s.decoded)
	require.NoError(t, err)
	broken := protocol.Examine(s.messageType, again)
	require.Equal(t, len(broken) == 0, protocol.ValueHolds(s.messageType, s.decoded), "%s\n%v", again, broken)
}

// tooLarge is a number beyond any float. Inside an object without a fixed shape
// it breaks no rule of a field, and cannot be read: the one exception.
const tooLarge = "1e400"

// Examine explains every message that cannot be decoded.
func (s *suspect) isBrokenWhenItCannotBeRead(t require.TestingT) {
	if s.unreadable != nil && len(s.broken) == 0 {
		require.Contains(t, string(s.raw), tooLarge, "%s cannot be read: %v", s.raw, s.unreadable)
	}
}

// Behind all shortcuts, a method lets in exactly the requests in which Examine
// finds nothing. The end of a league and a report need only their envelope.
func (s *suspect) isAdmittedUnlessBroken(t require.TestingT, mux *fakeMux) {
	if o, ok := s.tree.(object); ok && o.get("timestamp") == nil && o.get("conversation_id") == nil {
		return // the old dialect is filled in
	}
	broken := slices.Clone(s.broken)
	if s.messageType == protocol.TypeLeagueCompleted || s.messageType == protocol.TypeMatchResultReport {
		broken = slices.DeleteFunc(broken, func(f protocol.FieldError) bool {
			return !slices.Contains([]string{"params", "protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"}, f.Field)
		})
	}
	_, err := mux.ask(t, s.messageType, s.raw)
	if err == nil && len(broken) > 0 {
		require.Fail(t, "admitted", "%s\n%v", s.raw, broken)
	}
	if err != nil && len(broken) == 0 {
		require.Contains(t, string(s.raw), tooLarge, "refused: %s\n%v", s.raw, err)
	}
}

func TestValidURL(t *testing.T) {
	tests := []struct {
		url     string
		allowed bool
	}{
		{"http://localhost:8101/mcp", true},
		{"https://agents.example-league.org/players/p_01", true},
		{"nats://10.0.0.1", true},
		{"memory://P01", true},
		{"http://[::1]:8101/mcp", true},
		{"http://user:pw@host/mcp?x=1#y", true},
		{"", false},
		{"localhost:8101", false},
		{"http://", false},
		{"http:///mcp", false},
		{"://host/mcp", false},
		{"1http://host", false},
		{"ht tp://host/", false},
		{"h_t://host/", false},
		{"HTTP://host/", true},
		{"svn+ssh://host/", true},
		{"http://host:port/", false},
		{"http://user@/mcp", false},
		{"http://::1/", false},
		{"http://[::1%25eth0]/", false},
		{"mailto:someone@example.org", false},
		{"http://a b/", false},
		{"http://host/%zz", false},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			assert.Equal(t, test.allowed, protocol.ValidURL(test.url))
		})
	}
}
