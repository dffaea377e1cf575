package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// The events of a journal are a minute apart.
func TestDroppedRegistrationsAreAudited(t *testing.T) {
	registered := &journal.AgentRegistered{
		AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "One", Endpoint: "http://one/mcp", Generation: 1, AwaitsAnswer: true,
	}
	begun := events{&journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"}, RegistrationGrace: 90,
	}, registered}
	minute := &journal.AgentConfirmed{AgentID: "P01", Generation: 1}
	answered := &journal.AgentAnswered{AgentID: "P01"}
	drop := func(reason string) *journal.RegistrationDropped {
		return &journal.RegistrationDropped{AgentID: "P01", Reason: reason}
	}
	for _, test := range []struct {
		name   string
		events events
		want   string // the detail of the only finding; "" for none
	}{
		{"after the grace period", begun.and(minute, drop(journal.DroppedSilent)), ""},
		{"before it", begun.and(drop(journal.DroppedSilent)), "the registration of P01 was dropped after 1m0s; the league gives it 1m30s to answer"},
		{"at once, for its endpoint", begun.and(drop(journal.DroppedForbidden)), ""},
		{"although it had answered", begun.and(answered, drop(journal.DroppedSilent)), "the registration of P01 is dropped, but it has answered"},
		{"and its id granted again", begun.and(minute, drop(journal.DroppedSilent), registered), "agent P01 is registered under the id of a dropped registration"},
		{"an answer is recorded twice", begun.and(answered, answered), "P01 has answered before"},
		{"an agent takes part that has not answered", begun.and(
			&journal.AgentRegistered{AgentID: "P02", Role: protocol.RolePlayer, DisplayName: "Two", Endpoint: "http://two/mcp", Generation: 1},
			&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "R", Endpoint: "http://r/mcp", Generation: 1},
			&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}},
		), "P01 takes part, but has not answered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			findings := test.events.written(t).audit().Findings
			if test.want == "" {
				assert.Empty(t, findings)
				return
			}
			if assert.Len(t, findings, 1) {
				assert.Contains(t, findings[0].Detail, test.want)
				assert.Contains(t, []string{audit.RuleRegistration, audit.RuleSchedule}, findings[0].Rule)
			}
		})
	}
}
