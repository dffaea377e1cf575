package cmd

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/mcp"
)

func TestEventsChangeResources(t *testing.T) {
	first := league.MatchID{Round: 1, Number: 1}
	for _, tt := range []struct {
		event journal.Data
		want  string // beside the journal
	}{
		{&journal.Created{}, ""},
		{&journal.AgentRegistered{}, "standings"},
		{&journal.RegistrationDropped{}, "standings"},
		{&journal.AgentConfirmed{}, ""},
		{&journal.Started{}, "standings schedule"},
		{&journal.RoundAnnounced{}, "standings schedule"},
		{&journal.MatchAssigned{}, "schedule"},
		{&journal.MatchDeclined{}, "schedule"},
		{&journal.AgentFailed{}, "schedule"},
		{&journal.AgentReturned{}, "schedule"},
		{&journal.MatchAccepted{}, ""},
		{&journal.MatchReported{Attempt: league.Attempt{MatchID: first}}, "standings schedule matches/R1M1"},
		{&journal.MatchForfeited{MatchID: first}, "standings schedule matches/R1M1"},
		{&journal.MatchDisputed{Attempt: league.Attempt{MatchID: first}}, "matches/R1M1"},
		{&journal.RoundCompleted{}, "schedule"},
		{&journal.LeagueCompleted{}, ""},
		{&journal.Decided{Command: protocol.CommandPause}, ""},
		{&journal.Decided{Command: protocol.CommandReadmit, AgentID: "P01"}, "standings schedule"},
		{&journal.Decided{Command: protocol.CommandWithdraw, AgentID: "P01"}, "standings schedule"},
		{&journal.Decided{Command: protocol.CommandRematch, MatchID: first}, "schedule matches/R1M1"},
		{&journal.Decided{Command: journal.CommandReopen, MatchID: first}, "standings schedule matches/R1M1"},
	} {
		want := []string{"league://cup/journal"}
		for _, name := range strings.Fields(tt.want) {
			want = append(want, "league://cup/"+name)
		}
		assert.Equal(t, want, changedResources(leagueURI("cup"), tt.event), "%T", tt.event)
	}
}

const refereeToken = "tok-ref01-0123456789012345678901"

// matchAgents are the manager and the players of one referee. P01 chooses when choose is
// closed.
type matchAgents struct {
	stamp  *protocol.Stamp
	choose chan struct{}
}

func (a *matchAgents) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	yes, id := true, strings.ToUpper(strings.TrimPrefix(r.Endpoint, "http://"))
	switch q := r.Params.(type) {
	case *protocol.RefereeRegisterRequest:
		granted := &protocol.RefereeRegisterResponse{Envelope: a.stamp.Envelope(protocol.RegisterReferee.Result, q.ConversationID)}
		granted.AuthToken, granted.Status, granted.LeagueID, granted.ManagerAuth = refereeToken, protocol.StatusAccepted, "cup", protocol.ManagerAuthBearer
		referee := "REF01"
		granted.RefereeID = &referee
		return granted, nil, nil
	case *protocol.GameInvitation:
		e := protocol.NewStamp(protocol.PlayerSender(id), protocol.SystemClock()).Envelope(protocol.TypeGameJoinAck, q.ConversationID)
		return &protocol.GameJoinAck{Envelope: e, MatchID: q.MatchID, PlayerID: id, ArrivalTimestamp: e.Timestamp, Accept: &yes}, nil, nil
	case *protocol.ChooseParityCall:
		choice := "odd"
		if id == "P01" {
			<-a.choose
			choice = "even"
		}
		e := protocol.NewStamp(protocol.PlayerSender(id), protocol.SystemClock()).Envelope(protocol.TypeChooseParityResponse, q.ConversationID)
		return &protocol.ChooseParityResponse{Envelope: e, MatchID: q.MatchID, PlayerID: id, ParityChoice: choice}, nil, nil
	}
	return &protocol.Ack{Status: protocol.StatusAccepted}, nil, nil
}

// startMatch runs a referee with the match R1M1, of which P02 has chosen.
func startMatch(t *testing.T) (r *referee.Referee, mux *transport.Mux, secret protocol.Secret, agents *matchAgents) {
	t.Helper()
	clock := protocol.SystemClock()
	secret, agents = protocol.Secret{1, 2, 3}, &matchAgents{protocol.NewStamp(protocol.ManagerSender, clock), make(chan struct{})}
	r, err := referee.New(referee.Options{
		Options: membership.Options{
			Name: "Referee", ID: "REF01", Endpoint: "http://ref01", Manager: "http://manager", Caller: agents, Clock: clock, Log: zerolog.Nop(),
		},
		MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
		Nonce: func(string) protocol.Secret { return secret },
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	require.NoError(t, r.Register(t.Context()))
	mux = transport.NewMux(zerolog.Nop())
	r.Mount(mux)
	_, err = mux.Dispatch(t.Context(), ofManager(), protocol.StartMatch.Name, &protocol.MatchAssignment{
		Envelope: agents.stamp.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation("R1M1", 1)),
		LeagueID: "cup", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: evenodd.Type,
		PlayerA:  protocol.AssignedPlayer{PlayerID: "P01", Endpoint: "http://p01", DisplayName: "One"},
		PlayerB:  protocol.AssignedPlayer{PlayerID: "P02", Endpoint: "http://p02", DisplayName: "Two"},
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: league.MatchPoints{Win: 3, Draw: 1},
	})
	require.NoError(t, err)
	synctest.Wait()
	return r, mux, secret, agents
}

// ofManager is the credential of the referee's manager.
func ofManager() string { return protocol.KeyOf(refereeToken).ManagerCredential("cup") }

// The steps of a match that the specification calls tools of a referee show their state to its
// manager, and a resource shows the match to the referee: no choice, number or nonce before the match is over.
func TestToolsOfTheStepsOfAMatchShowItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, mux, secret, agents := startMatch(t)
		tools := map[string]mcp.Tool{}
		for _, tool := range refereeMCP(mux, "Referee", "1", r).Tools {
			tools[tool.Name] = tool
		}
		call := func(bearer, tool, arguments string) (string, error) {
			require.True(t, tools[tool].ReadOnly, tool)
			result, err := tools[tool].Call(t.Context(), bearer, []byte(arguments))
			text, _ := json.Marshal(result)
			return string(text), err
		}
		show := func(tool string) string {
			text, err := call(ofManager(), tool, `{"match_id":"R1M1"}`)
			require.NoError(t, err)
			return text
		}
		commitment := protocol.DrawCommitment("cup", "R1M1", 1, "REF01", secret)
		resources := refereeMCP(mux, "Referee", "1", r).Resources
		list, resource := resources[0], resources[1]
		require.Equal(t, []string{"referee://matches", "match://{match_id}"}, []string{list.URI, resource.URI})
		read := func(bearer, id string) (string, error) {
			state, err := resource.Read(t.Context(), bearer, "match://"+id)
			text, _ := json.Marshal(state)
			return string(text), err
		}
		whole, err := read(refereeToken, "R1M1")
		require.NoError(t, err)
		assert.NotRegexp(t, `"even"|"odd"|"choices"|"draw"|`+hex.EncodeToString(secret[:]), whole)
		all, err := list.Read(t.Context(), refereeToken, list.URI)
		require.NoError(t, err)
		text, err := json.Marshal(all)
		require.NoError(t, err)
		assert.JSONEq(t, `{"matches":[{"match_id":"R1M1","state":"COLLECTING_CHOICES","attempt":1,"player_A_id":"P01","player_B_id":"P02"}]}`, string(text))
		for _, tt := range []struct{ bearer, id, want string }{{"", "R1M1", "E011"}, {"tok-p01-wrong", "R1M1", "E012"}, {refereeToken, "R9M9", mcp.ErrNotFound.Error()}} {
			_, err := read(tt.bearer, tt.id)
			require.ErrorContains(t, err, tt.want)
		}
		_, err = list.Read(t.Context(), "tok-p01-wrong", list.URI)
		require.ErrorContains(t, err, "E012")

		const running = `"match_id":"R1M1","state":"COLLECTING_CHOICES","attempt":1`
		assert.JSONEq(t, `{`+running+`,"chosen":["P02"]}`, show("collect_choices"))
		assert.JSONEq(t, `{`+running+`,"draw_commitment":"`+commitment+`"}`, show("draw_number"))
		assert.JSONEq(t, `{`+running+`,"reported":false}`, show("finalize_match"))
		assert.JSONEq(t, `{"status":"ACCEPTED","referee_id":"REF01","league_id":"cup","manager":"http://manager","display_name":"Referee",
			"version":"1.0.0","protocol_version":"2.1.0","game_types":["even_odd"],"contact_endpoint":"http://ref01","max_concurrent_matches":1,
			"public_key":"`+r.PublicKey()+`","relays_signatures":true,"features":["openings","time_bank"]}`, show("register_to_league"), "no token")

		close(agents.choose)
		synctest.Wait()
		const finished = `"match_id":"R1M1","state":"FINISHED","attempt":1`
		assert.JSONEq(t, `{`+finished+`,"chosen":["P01","P02"],"choices":{"P01":"even","P02":"odd"}}`, show("collect_choices"))
		draw := show("draw_number")
		assert.Contains(t, draw, hex.EncodeToString(secret[:]))
		assert.Regexp(t, `"drawn_number":\d+,"number_parity":"(even|odd)"`, draw)
		result := show("finalize_match")
		assert.Contains(t, result, `"game_result":{"status":"WIN"`)
		assert.Contains(t, result, `"reported":true`)
		whole, err = read(refereeToken, "R1M1")
		require.NoError(t, err)
		assert.Contains(t, whole, hex.EncodeToString(secret[:]))

		for tool := range map[string]bool{"collect_choices": true, "draw_number": true, "finalize_match": true, "register_to_league": true} {
			_, err := call("", tool, `{"match_id":"R1M1"}`)
			require.ErrorContains(t, err, "E011", tool)
			_, err = call("tok-p01-wrong", tool, `{"match_id":"R1M1"}`)
			require.ErrorContains(t, err, "E012", tool)
			_, err = call(refereeToken, tool, `{"match_id":"R1M1"}`)
			require.NoError(t, err, "%s: its own token opens it", tool)
		}
		_, err = call(ofManager(), "finalize_match", `{"match_id":"R9M9"}`)
		require.ErrorContains(t, err, "E006")
		_, err = call(ofManager(), "finalize_match", `{"match_id":7}`)
		require.ErrorContains(t, err, "E002")
	})
}
