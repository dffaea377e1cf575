package journal

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/pairing"
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
		"created": "schema_version league_id display_name game_type game_version game_digest legs scoring tiebreakers token_length suspend_after shutdown_after auth tournament openings time_bank " +
			"registration_grace_sec manager_key configuration",
		"registered":           "agent_id role display_name max_concurrent_matches generation referee_auth version protocol_version game_types public_key relays_signatures awaits_answer",
		"agent_answered":       "agent_id",
		"registration_dropped": "agent_id reason",
		"agent_returned":       "agent_id generation reason referee_auth public_key",
		"agent_confirmed":      "agent_id generation",
		"agent_suspended":      "agent_id reason",
		"agent_failed":         "agent_id match_id attempt acknowledges_all",
		"agent_shutdown":       "agent_id reason",
		"started":              "algorithm players referees keys",
		"round_announced":      "round_id pairings referees repeated_pairs repeated_byes",
		"match_assigned":       "match_id attempt referee_id",
		"match_accepted":       "match_id attempt referee_id draw_commitment",
		"match_declined":       "match_id attempt referee_id error",
		"match_reported": "match_id attempt referee_id " + result +
			" grade score draw signatures moves opening draws transcript_digest",
		"match_forfeited":   "match_id players " + result + " score",
		"match_disputed":    "match_id attempt referee_id " + result,
		"result_denied":     "match_id attempt player_id answered",
		"attempt_lost":      "match_id attempt referee_id cause",
		"round_completed":   "round_id summary",
		"completed":         "champion",
		"tail_lost":         "head",
		"manager_took_over": "term",
		"agent_informed":    "agent_id",
		"configured":        "configuration",
		"decided":           "command by reason agent_id match_id winner start_at annulled",
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

// eachKind is a league that has an event of each kind, with all of its private members, and loses an
// attempt by each cause.
func eachKind() []Data {
	at := func(match, number int) league.Attempt {
		return league.Attempt{MatchID: league.MatchID{Round: 1, Number: match}, Number: number}
	}
	agent := func(role, id string, awaits bool) Data {
		return &AgentRegistered{AgentID: id, Role: role, DisplayName: id, Endpoint: "http://" + id, Registration: "abc", AwaitsAnswer: awaits}
	}
	win := MatchReported{Attempt: at(1, 3), RefereeID: "REF02", Score: league.Both("P01", 3, "P04", 0), Grade: GradeStated,
		Result: league.Result{Status: league.StatusWin, WinnerPlayerID: new("P01"), Choices: league.Both("P01", new("odd"), "P04", nil)}}
	both := MatchReported{Attempt: at(1, 1), RefereeID: "REF01", Score: league.Both("P01", 0, "P04", 0),
		Result: league.Result{Status: league.StatusTechnicalLoss, Choices: league.Both("P01", new("odd"), "P04", nil)}}
	return []Data{
		&Created{SchemaVersion: SchemaVersion, LeagueID: "L", GameType: "even_odd", Legs: 1, Scoring: league.MatchPoints{Win: 3, Draw: 1},
			Tiebreakers: []string{"points"}, SecretNonce: "n", Simulation: &Simulation{Seed: 1}, Tournament: &Tournament{Algorithm: pairing.Knockout}},
		agent(protocol.RoleReferee, "REF01", false), agent(protocol.RoleReferee, "REF02", false), agent(protocol.RoleReferee, "REF03", false),
		agent(protocol.RolePlayer, "P01", true), agent(protocol.RolePlayer, "P02", false), agent(protocol.RolePlayer, "P03", false),
		agent(protocol.RolePlayer, "P04", false), agent(protocol.RolePlayer, "P05", true),
		&AgentAnswered{AgentID: "P01"}, &AgentConfirmed{AgentID: "P01"}, &RegistrationDropped{AgentID: "P05", Reason: DroppedSilent},
		&AgentSuspended{AgentID: "P01", Reason: "so"}, &AgentReturned{AgentID: "P01", Endpoint: "http://new", Generation: 2},
		&ManagerTookOver{Manager: "second", Term: 1}, &TailLost{Head: "abc"}, &Configured{Configuration: &Configuration{Pace: 1}},
		&Started{Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01", "REF02", "REF03"},
			Config: map[string]string{"system.json": "00"}},
		&RoundAnnounced{RoundID: 1, Referees: []string{"REF01", "REF02"}, Pairings: [][2]string{{"P01", "P04"}, {"P02", "P03"}}},
		&AgentShutdown{AgentID: "P02", Reason: "so"},
		&MatchAssigned{at(1, 1), "REF01"}, &MatchAccepted{Attempt: at(1, 1), RefereeID: "REF01"},
		&AttemptLost{Attempt: at(1, 1), RefereeID: "REF01", Cause: CauseBothAnswer, Reason: "so", Report: &both},
		&MatchAssigned{at(1, 2), "REF03"}, &AttemptLost{Attempt: at(1, 2), RefereeID: "REF03", Cause: CauseNoToken, Reason: "so"},
		&AgentFailed{AgentID: "REF03", Attempt: at(1, 2), Reason: "so"},
		&MatchAssigned{at(1, 3), "REF02"}, &MatchDeclined{Attempt: at(1, 3), RefereeID: "REF02", Reason: "so"},
		&MatchAccepted{Attempt: at(1, 3), RefereeID: "REF02"},
		&AttemptLost{Attempt: at(1, 3), RefereeID: "REF02", Cause: CauseRejected, Reason: "so"}, &win,
		&MatchDisputed{Attempt: at(1, 3), RefereeID: "REF02", Result: both.Result}, &ResultDenied{Attempt: at(1, 3), PlayerID: "P04"},
		&MatchForfeited{MatchID: at(2, 0).MatchID, Players: []string{"P02"}, Score: league.Both("P02", 0, "P03", 3),
			Result: league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P03")}},
		&Decided{Command: protocol.CommandPause, Decision: Decision{By: "A"}}, &Decided{Command: protocol.CommandResume, Decision: Decision{By: "A"}},
		&RoundCompleted{RoundID: 1, Summary: protocol.RoundSummary{TotalMatches: 2, Wins: 1, TechnicalLosses: 1}},
		&RoundAnnounced{RoundID: 2, Referees: []string{"REF01"}, Pairings: [][2]string{{"P01", "P03"}}},
		&MatchAssigned{Attempt: league.Attempt{MatchID: league.MatchID{Round: 2, Number: 1}, Number: 1}, RefereeID: "REF01"},
		&MatchReported{Attempt: league.Attempt{MatchID: league.MatchID{Round: 2, Number: 1}, Number: 1}, RefereeID: "REF01",
			Score:  league.Both("P01", 3, "P03", 0),
			Result: league.Result{Status: league.StatusWin, WinnerPlayerID: new("P01")}},
		&RoundCompleted{RoundID: 2, Summary: protocol.RoundSummary{TotalMatches: 1, Wins: 1}},
		&LeagueCompleted{Champion: league.Champion{PlayerID: "P01", DisplayName: "P01", Points: 6}}, &AgentInformed{AgentID: "P01"},
	}
}

// Pages, and the readers of a manager, fold the public form. A new kind fails this test until eachKind
// has an example of it.
func TestPublicFormOfEachKindFolds(t *testing.T) {
	whole, public := NewState(), NewState()
	private := map[string]bool{} // members that had a value
	for i, data := range eachKind() {
		e := &Event{Seq: i + 1, At: "2026-01-01T00:00:00.000Z", Prev: Origin, Data: data}
		line, err := Encode(e)
		require.NoError(t, err)
		require.NoError(t, whole.Apply(e), "event %d, %s", i+1, Kind(data))
		text, err := Public(line)
		require.NoError(t, err)
		shown, err := Decode(text)
		require.NoError(t, err)
		require.NoError(t, public.Apply(shown), "the public form of event %d, %s", i+1, Kind(data))
		private[Kind(data)] = true
		for _, name := range kindOf(data).private {
			private[Kind(data)+"."+name] = private[Kind(data)+"."+name] || strings.Contains(string(line), `"`+name+`":`)
		}
	}
	for _, kind := range kinds {
		assert.True(t, private[kind.name], "eachKind has no %s", kind.name)
		for _, name := range kind.private {
			assert.True(t, private[kind.name+"."+name], "no %s in eachKind has a %s", kind.name, name)
		}
	}
	assert.Equal(t, whole.Standings(), public.Standings())
	assert.Equal(t, whole.RoundRecords(), public.RoundRecords())
}

func TestEachCommandOfTheProtocolHasRules(t *testing.T) {
	assert.Len(t, commands, len(protocol.Commands)+1, "only CommandReopen is none of the protocol")
	for _, c := range protocol.Commands {
		assert.NotNil(t, commands[c.Name].apply, c.Name)
		assert.Equal(t, c.Of, commands[c.Name].of, c.Name)
	}
}
