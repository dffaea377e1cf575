package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// The pairings of an announcement follow from the results before it.
func TestAnnouncedPairingsAreRecomputed(t *testing.T) {
	t.Parallel()
	begun := events{&journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
		Tournament: &journal.Tournament{Algorithm: pairing.Knockout, Seeding: []string{"P02"}},
	}}
	for _, id := range []string{"REF01", "P01", "P02", "P03", "P04"} {
		role := protocol.RolePlayer
		if id == "REF01" {
			role = protocol.RoleReferee
		}
		begun = begun.and(&journal.AgentRegistered{AgentID: id, Role: role, DisplayName: id, Endpoint: "http://" + id + "/mcp", Generation: 1})
	}
	begun = begun.and(&journal.Started{Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01"}})
	announced := func(pairings ...[2]string) *journal.RoundAnnounced {
		return &journal.RoundAnnounced{RoundID: 1, Pairings: pairings, Referees: []string{"REF01", "REF01"}[:len(pairings)]}
	}
	for _, tt := range []struct {
		name  string
		round *journal.RoundAnnounced
		want  string // in the finding; "" for none
	}{
		{"as the seeding says", announced([2]string{"P02", "P04"}, [2]string{"P01", "P03"}), ""},
		{"other opponents", announced([2]string{"P02", "P03"}, [2]string{"P01", "P04"}), "match 1 of round 1 is P02 against P03; by the results before it is P02 against P04"},
		{"swapped sides", announced([2]string{"P02", "P04"}, [2]string{"P03", "P01"}), "match 2 of round 1 is P03 against P01; by the results before it is P01 against P03"},
		{"a missing match", announced([2]string{"P02", "P04"}), "match 2 of round 1 is not played; by the results before it is P01 against P03"},
	} {
		findings := begun.and(tt.round).written(t).audit().Findings
		if tt.want == "" {
			assert.Empty(t, listed(findings), tt.name)
			continue
		}
		require.Len(t, findings, 1, "%s: %s", tt.name, listed(findings))
		assert.Equal(t, []any{audit.RuleSchedule, len(begun) + 1, tt.want}, []any{findings[0].Rule, findings[0].Line, findings[0].Detail}, tt.name)
	}
}
