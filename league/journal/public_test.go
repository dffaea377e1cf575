package journal

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// members returns the names of the JSON members of a type.
func members(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			names = append(names, members(f.Type)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

// A new member of an event fails this test until it is listed here, as public, or in
// kinds, as private.
func TestMembersOfPublicEvents(t *testing.T) {
	const result = "status winner_player_id drawn_number number_parity choices reason faults fallbacks"
	public := map[string]string{
		"created": "schema_version league_id display_name game_type legs scoring tiebreakers token_length suspend_after shutdown_after auth tournament " +
			"registration_grace_sec manager_key configuration",
		"registered":           "agent_id role display_name max_concurrent_matches generation referee_auth version protocol_version game_types public_key relays_signatures awaits_answer",
		"agent_answered":       "agent_id",
		"registration_dropped": "agent_id reason",
		"agent_returned":       "agent_id generation reason referee_auth public_key",
		"agent_confirmed":      "agent_id generation",
		"agent_suspended":      "agent_id reason",
		"agent_failed":         "agent_id match_id attempt",
		"agent_shutdown":       "agent_id reason",
		"started":              "algorithm players referees keys",
		"round_announced":      "round_id pairings referees",
		"match_assigned":       "match_id attempt referee_id",
		"match_accepted":       "match_id attempt referee_id draw_commitment",
		"match_declined":       "match_id attempt referee_id",
		"match_reported":       "match_id attempt referee_id " + result + " grade score draw signatures moves transcript_digest",
		"match_forfeited":      "match_id players " + result + " score",
		"match_disputed":       "match_id attempt referee_id " + result,
		"result_denied":        "match_id attempt player_id",
		"attempt_lost":         "match_id attempt referee_id cause",
		"round_completed":      "round_id summary",
		"completed":            "champion",
		"tail_lost":            "head",
		"manager_took_over":    "term",
		"agent_informed":       "agent_id",
		"configured":           "configuration",
		"decided":              "command by reason agent_id match_id winner start_at annulled",
	}
	for _, kind := range kinds {
		all := members(reflect.TypeOf(kind.data).Elem())
		for _, name := range kind.private {
			assert.Contains(t, all, name, kind.name)
		}
		visible := slices.DeleteFunc(all, func(name string) bool { return slices.Contains(kind.private, name) })
		assert.Equal(t, strings.Fields(public[kind.name]), visible, kind.name)
	}
}

func TestPublicEventHasNoPrivateMember(t *testing.T) {
	for _, tt := range []struct {
		name string
		data Data
		want string
	}{
		{"an endpoint", &AgentRegistered{AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "One", Endpoint: "http://one/mcp", Registration: "abc", Generation: 1},
			`{"seq":7,"at":"now","type":"registered","data":{"agent_id":"P01","role":"player","display_name":"One","generation":1}}`},
		{"a reason of another agent", &MatchDeclined{Attempt: league.Attempt{MatchID: league.MatchID{Round: 1, Number: 2}, Number: 3}, RefereeID: "REF01", Reason: "ask http://other/mcp"},
			`{"seq":7,"at":"now","type":"match_declined","data":{"match_id":"R1M2","attempt":3,"referee_id":"REF01"}}`},
		{"nothing private", &AgentAnswered{AgentID: "P01"}, `{"seq":7,"at":"now","type":"agent_answered","data":{"agent_id":"P01"}}`},
	} {
		line, err := Encode(&Event{Seq: 7, At: "now", Prev: Origin, Data: tt.data})
		require.NoError(t, err)
		public, err := Public(line)
		require.NoError(t, err, tt.name)
		assert.JSONEq(t, tt.want, string(public), tt.name)
	}
	for _, line := range []string{"", "[]", `{"type":"other","data":{}}`, `{"type":"created","data":1}`} {
		_, err := Public([]byte(line))
		assert.Error(t, err, line)
	}
}

func TestEachCommandOfTheProtocolHasRules(t *testing.T) {
	assert.Len(t, commands, len(protocol.Commands)+1, "only CommandReopen is none of the protocol")
	for _, c := range protocol.Commands {
		assert.NotNil(t, commands[c.Name].apply, c.Name)
		assert.Equal(t, c.Of, commands[c.Name].of, c.Name)
	}
}
