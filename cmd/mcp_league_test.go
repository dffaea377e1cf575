package cmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/journal"
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
	} {
		want := []string{"league://cup/journal"}
		for _, name := range strings.Fields(tt.want) {
			want = append(want, "league://cup/"+name)
		}
		assert.Equal(t, want, changedResources(leagueURI("cup"), tt.event), "%T", tt.event)
	}
}
