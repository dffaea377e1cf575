package protocol_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The requests of the first form of the protocol, exactly as the code in the documents
// sends them.
const (
	oldReferee = `{"referee_meta":{"display_name":"Referee Alpha","version":"1.0.0","game_types":["even_odd"],
		"contact_endpoint":"http://localhost:8001/mcp","max_concurrent_matches":2}}` // spec 003 §5.4.2
	oldChoice = `{"match_id":"R1M1","player_id":"P01"}` // §5.6.1
	oldPlayer = `{"protocol":"league.v2","message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:Agent Alpha",
		"player_meta":{"name":"Agent Alpha","display_name":"Agent Alpha","contact_endpoint":"http://localhost:8101/mcp"}}` // §5.11.1
	oldQuery = `{"protocol":"league.v2","message_type":"LEAGUE_QUERY","sender":"player:P01","auth_token":"tok-p01",
		"league_id":"league_2025_even_odd","query_type":"GET_STANDINGS"}` // §5.11.2
)

// received is a mux that stores the requests of its handlers.
func received(requests *[]any) *fakeMux {
	mux := newMux()
	storing(mux, &protocol.RegisterReferee, requests)
	storing(mux, &protocol.RegisterPlayer, requests)
	storing(mux, &protocol.Query, requests)
	storing(mux, &protocol.ChooseParity, requests)
	return mux
}

func storing[Q, R any](mux protocol.Mux, m *protocol.Method[Q, R], requests *[]any) {
	m.Handle(mux, protocol.NewStamp("league_manager", stopped()), func(_ context.Context, _ string, q *Q) (*R, error) {
		*requests = append(*requests, q)
		return new(R), nil
	})
}

func TestLegacyRequestIsCompleted(t *testing.T) {
	filled := func(messageType, sender, members string) string {
		return `{"protocol":"league.v2","message_type":"` + messageType + `","sender":"` + sender +
			`","timestamp":"2025-01-15T10:30:00Z","conversation_id":"",` + members + `}`
	}
	for _, test := range []struct{ name, method, params, want string }{
		{"a referee registers", "register_referee", oldReferee, filled("REFEREE_REGISTER_REQUEST", "referee:unknown",
			oldReferee[1:len(oldReferee)-1])},
		{"a referee with the minimum", "register_referee", `{"referee_meta":{"display_name":"R","contact_endpoint":"http://r"}}`,
			filled("REFEREE_REGISTER_REQUEST", "referee:unknown", `"referee_meta":{"display_name":"R","version":"1.0.0",
				"game_types":["even_odd"],"contact_endpoint":"http://r","max_concurrent_matches":1}`)},
		{"a player registers", "register_player", oldPlayer, filled("LEAGUE_REGISTER_REQUEST", "player:Agent Alpha",
			`"player_meta":{"display_name":"Agent Alpha","version":"1.0.0","game_types":["even_odd"],"contact_endpoint":"http://localhost:8101/mcp"}`)},
		{"a player without a name", "register_player", `{"player_meta":{"display_name":"A","version":"3.1.4","game_types":["x"],"contact_endpoint":"e"}}`,
			filled("LEAGUE_REGISTER_REQUEST", "player:unknown",
				`"player_meta":{"display_name":"A","version":"3.1.4","game_types":["x"],"contact_endpoint":"e"}`)},
		{"a player asks", "league_query", oldQuery, filled("LEAGUE_QUERY", "player:P01",
			`"auth_token":"tok-p01","league_id":"league_2025_even_odd","query_type":"GET_STANDINGS"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests []any
			answer, err := received(&requests).ask(t, test.method, []byte(test.params))
			require.NoError(t, err)
			require.Len(t, requests, 1)
			conversation := requests[0].(interface{ Conversation() string }).Conversation()
			assert.True(t, strings.HasPrefix(conversation, "conv-"), "got %q", conversation)
			assert.Equal(t, conversation, answer.(interface{ Conversation() string }).Conversation(), "the reply echoes it")
			got, err := json.Marshal(requests[0])
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(edit(t, got, "conversation_id", `""`)))
		})
	}
}

// TestLegacyRequestNeedsItsOwnFields checks that only the envelope is completed, and only of a request
// without a timestamp and a conversation_id.
func TestLegacyRequestNeedsItsOwnFields(t *testing.T) {
	for _, test := range []struct {
		name, method, params string
		code                 protocol.Code
		fields               []string
	}{
		{"a choice without game and deadline", "choose_parity", oldChoice, "E003", []string{"game_type", "deadline"}},
		{"a player without an endpoint", "register_player", `{"player_meta":{"display_name":"A"}}`, "E003",
			[]string{"player_meta.contact_endpoint"}},
		{"existing members are validated", "register_player", strings.Replace(oldPlayer, "league.v2", "league.v1", 1), "E018", []string{"protocol"}},
		{"null is not absent", "register_player",
			`{"sender":null,"player_meta":{"display_name":"A","contact_endpoint":"e","version":null,"game_types":null}}`, "E003",
			[]string{"sender", "player_meta.version", "player_meta.game_types"}},
		{"a meta that is none", "register_referee", `{"referee_meta":[]}`, "E002", []string{"referee_meta"}},
		{"nothing at all", "register_referee", `{}`, "E003", []string{"referee_meta"}},
		{"a timestamp alone", "league_query", string(edit(t, []byte(oldQuery), "timestamp", `"2025-01-15T10:30:00Z"`)), "E003",
			[]string{"conversation_id"}},
		{"a conversation_id alone", "league_query", string(edit(t, []byte(oldQuery), "conversation_id", `"conv-1"`)), "E003",
			[]string{"timestamp"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests []any
			_, err := received(&requests).ask(t, test.method, []byte(test.params))
			e, l := refusal(t, err)
			assert.Equal(t, test.code, e.Code)
			assert.ElementsMatch(t, test.fields, names(brokenFields(t, l)))
			assert.Empty(t, requests)
		})
	}
}
