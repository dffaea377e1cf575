package protocol_test

import (
	"context"
	"strings"
	"testing"
	"time"

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
	stamp := protocol.NewStamp("league_manager", stopped())
	protocol.RegisterReferee.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
		*requests = append(*requests, q)
		return &protocol.RefereeRegisterResponse{}, nil
	})
	protocol.RegisterPlayer.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
		*requests = append(*requests, q)
		return &protocol.LeagueRegisterResponse{}, nil
	})
	protocol.Query.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
		*requests = append(*requests, q)
		return &protocol.LeagueQueryResponse{}, nil
	})
	protocol.ChooseParity.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
		*requests = append(*requests, q)
		return &protocol.ChooseParityResponse{}, nil
	})
	return mux
}

func TestLegacyRequestIsCompleted(t *testing.T) {
	filled := func(messageType, sender string) protocol.Envelope {
		return protocol.Envelope{Protocol: "league.v2", MessageType: messageType, Sender: sender, Timestamp: "2025-01-15T10:30:00Z"}
	}
	query := filled(protocol.TypeLeagueQuery, "player:P01")
	query.AuthToken = "tok-p01"
	tests := []struct {
		name, method, params string
		want                 any
		nameless             bool
	}{
		{"a referee registers", "register_referee", oldReferee, &protocol.RefereeRegisterRequest{
			Envelope: filled(protocol.TypeRefereeRegisterRequest, "referee:unknown"),
			RefereeMeta: protocol.RefereeMeta{DisplayName: "Referee Alpha", Version: "1.0.0", GameTypes: []string{"even_odd"},
				ContactEndpoint: "http://localhost:8001/mcp", MaxConcurrentMatches: 2}}, true},
		{"a referee with the minimum", "register_referee", `{"referee_meta":{"display_name":"R","contact_endpoint":"http://r"}}`,
			&protocol.RefereeRegisterRequest{
				Envelope: filled(protocol.TypeRefereeRegisterRequest, "referee:unknown"),
				RefereeMeta: protocol.RefereeMeta{DisplayName: "R", Version: "1.0.0", GameTypes: []string{"even_odd"},
					ContactEndpoint: "http://r", MaxConcurrentMatches: 1}}, true},
		{"a player registers", "register_player", oldPlayer, &protocol.LeagueRegisterRequest{
			Envelope: filled(protocol.TypeLeagueRegisterRequest, "player:Agent Alpha"),
			PlayerMeta: protocol.PlayerMeta{DisplayName: "Agent Alpha", Version: "1.0.0", GameTypes: []string{"even_odd"},
				ContactEndpoint: "http://localhost:8101/mcp"}}, false},
		{"a player without a name", "register_player", `{"player_meta":{"display_name":"A","version":"3.1.4","game_types":["x"],"contact_endpoint":"e"}}`,
			&protocol.LeagueRegisterRequest{
				Envelope: filled(protocol.TypeLeagueRegisterRequest, "player:unknown"),
				PlayerMeta: protocol.PlayerMeta{DisplayName: "A", Version: "3.1.4", GameTypes: []string{"x"},
					ContactEndpoint: "e"}}, true},
		{"a player asks", "league_query", oldQuery, &protocol.LeagueQuery{
			Envelope: query, LeagueID: "league_2025_even_odd", QueryType: "GET_STANDINGS"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var requests []any
			answer, err := received(&requests).ask(t, test.method, []byte(test.params))
			require.NoError(t, err)
			require.Len(t, requests, 1)
			envelope := envelopeOf(requests[0])
			assert.True(t, strings.HasPrefix(envelope.ConversationID, "conv-"), "got %q", envelope.ConversationID)
			assert.Equal(t, test.nameless, envelope.NamelessSender())
			assert.Equal(t, envelope.ConversationID, envelopeOf(answer).ConversationID, "the reply echoes what was filled in")
			envelope.ConversationID = ""
			assert.Equal(t, test.want, requests[0])
		})
	}
}

// envelopeOf returns the envelope of a message, which a test may change.
func envelopeOf(message any) *protocol.Envelope {
	switch m := message.(type) {
	case *protocol.RefereeRegisterRequest:
		return &m.Envelope
	case *protocol.LeagueRegisterRequest:
		return &m.Envelope
	case *protocol.LeagueQuery:
		return &m.Envelope
	case *protocol.RefereeRegisterResponse:
		return &m.Envelope
	case *protocol.LeagueRegisterResponse:
		return &m.Envelope
	case *protocol.LeagueQueryResponse:
		return &m.Envelope
	}
	panic("no such message here")
}

// TestLegacyRequestNeedsItsOwnFields checks that only the envelope is completed.
func TestLegacyRequestNeedsItsOwnFields(t *testing.T) {
	tests := []struct {
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
	}
	for _, test := range tests {
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

// TestRequestWithOneOfTwoEnvelopeFieldsIsNotLegacy: a request with a timestamp or a
// conversation_id is in the present form, and must have both.
func TestRequestWithOneOfTwoEnvelopeFieldsIsNotLegacy(t *testing.T) {
	old := []struct{ name, method, params string }{
		{"referee", "register_referee", oldReferee},
		{"player", "register_player", oldPlayer},
		{"query", "league_query", oldQuery},
	}
	given := []struct {
		name, value, missing string
	}{
		{"timestamp", `"2025-01-15T10:30:00Z"`, "conversation_id"},
		{"conversation_id", `"conv-1"`, "timestamp"},
	}
	for _, o := range old {
		for _, g := range given {
			t.Run(o.name+" with "+g.name+" alone", func(t *testing.T) {
				var requests []any
				v := parse(t, []byte(o.params)).(object).set(g.name, scalar(g.value))
				_, err := received(&requests).ask(t, o.method, text(v))
				e, l := refusal(t, err)
				assert.Equal(t, protocol.ErrMissingField, e.Code)
				assert.Contains(t, names(brokenFields(t, l)), g.missing)
				assert.Empty(t, requests)
			})
		}
	}
}

func TestLegacyRequestsGetDifferentConversations(t *testing.T) {
	moment := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	clock := protocol.NewClock(func() time.Time { moment = moment.Add(time.Microsecond); return moment }, nil)
	mux := newMux()
	var seen []string
	protocol.RegisterReferee.Handle(mux, protocol.NewStamp("league_manager", clock),
		func(_ context.Context, _ string, q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
			seen = append(seen, q.ConversationID)
			return &protocol.RefereeRegisterResponse{}, nil
		})
	for range 2 {
		_, err := mux.ask(t, "register_referee", []byte(oldReferee))
		require.NoError(t, err)
	}
	require.Len(t, seen, 2)
	assert.NotEqual(t, seen[0], seen[1])
}
