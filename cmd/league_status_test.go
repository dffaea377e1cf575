package cmd

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/view/record"
)

// REF01 relays signatures, REF02 does not. Status lists a referee whose results two players deny only if the manager
// treats it as the last choice.
func TestStatusListsDeniedRefereesAsTheManagerChooses(t *testing.T) {
	for name, tt := range map[string]struct{ denied, want []string }{
		"the other proves nothing": {[]string{"REF01"}, nil},
		"it proves nothing":        {[]string{"REF02"}, []string{"REF02"}},
		"both":                     {[]string{"REF01", "REF02"}, []string{"REF01", "REF02"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLeagueRecord()
			r.Created, r.Started = &journal.Created{ManagerKey: "key"}, &journal.Started{Referees: []string{"REF01", "REF02"}}
			for _, id := range r.Started.Referees {
				a := &journal.Agent{AgentRegistered: journal.AgentRegistered{AgentID: id, RelaysSignatures: id == "REF01"}, Answered: true}
				if slices.Contains(tt.denied, id) {
					a.DeniedBy = []string{"P01", "P02"}
				}
				r.Agents[id] = a
			}
			assert.Equal(t, tt.want, lists.Map(r.status().Agents, func(a record.AgentStatus) string { return a.AgentID }))
		})
	}
}
