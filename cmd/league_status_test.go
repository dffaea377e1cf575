package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/view/record"
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

func TestAgentWithAnotherKeyIsShown(t *testing.T) {
	r := newLeagueRecord()
	r.Created, r.Started = &journal.Created{}, &journal.Started{}
	r.Agents["P01"] = &journal.Agent{AgentRegistered: journal.AgentRegistered{AgentID: "P01"}, Player: true, Answered: true, KeyChanged: 57}
	r.Agents["P02"] = &journal.Agent{AgentRegistered: journal.AgentRegistered{AgentID: "P02"}, Player: true, Answered: true}
	r.Agents["P03"] = &journal.Agent{
		AgentRegistered: journal.AgentRegistered{AgentID: "P03"}, Player: true, Answered: true, KeyChanged: 58,
		Withdrawn: &journal.Made{Decision: journal.Decision{By: "Ann"}},
	}
	shown := r.status().Agents
	require.Len(t, shown, 2)
	assert.Contains(t, shown[1].Reason, "; has had another key since event 58")
	assert.Equal(t, []string{"P01", "ACTIVE", "has had another key since event 57"}, []string{shown[0].AgentID, shown[0].State, shown[0].Reason})
	assert.Equal(t, "P01 has had another key since event 57", matchRemark(&record.Match{KeyMarks: []string{"P01 " + shown[0].Reason}}))
}
