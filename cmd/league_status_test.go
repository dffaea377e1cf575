package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/journal"
)

// A roster that lists no referee admits any, and the league waits for the usual number.
func TestStatusOfRosterWithoutRefereesExpectsReferees(t *testing.T) {
	for listed, want := range map[journal.Roster]journal.Roster{
		{Players: 20}:              {Players: 20, Referees: 1},
		{Players: 20, Referees: 3}: {Players: 20, Referees: 3},
	} {
		r := newLeagueRecord()
		r.Created = &journal.Created{}
		r.Configuration = &journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}, Roster: &listed}
		assert.Equal(t, &want, r.status().Expected)
	}
}
