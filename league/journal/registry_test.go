package journal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The indexes of agents say the same as a look at all agents, after any registrations,
// answers, moves and drops.
func TestAgentsAreFoundByURLAndName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := journal.NewState()
		apply := func(d journal.Data) bool { return s.Apply(&journal.Event{Seq: s.Events + 1, At: when, Data: d}) == nil }
		require.True(t, apply(&journal.Created{
			SchemaVersion: journal.SchemaVersion, LeagueID: "L", GameType: "even_odd", Legs: 1, Tiebreakers: []string{"points"},
		}))
		roles := map[bool]string{true: protocol.RolePlayer, false: protocol.RoleReferee}
		id := func(player bool) string {
			return fmt.Sprintf("%s%d", roles[player], rapid.IntRange(1, 4).Draw(t, "id"))
		}
		url := rapid.SampledFrom([]string{"http://a:1/mcp", "http://b:1/mcp"})
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			player := rapid.Bool().Draw(t, "player")
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				apply(&journal.AgentRegistered{
					AgentID: id(player), Role: roles[player], DisplayName: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "name"),
					Endpoint: url.Draw(t, "url"), Generation: 1, AwaitsAnswer: rapid.Bool().Draw(t, "silent"),
				})
			case 1:
				apply(&journal.AgentAnswered{AgentID: id(player)})
			case 2:
				apply(&journal.AgentReturned{AgentID: id(player), Endpoint: url.Draw(t, "url"), Generation: 1})
			case 3:
				apply(&journal.RegistrationDropped{AgentID: id(player), Reason: journal.DroppedSilent})
			}
		}
		for player := range roles {
			agents, answered, urls, names := 0, 0, map[string]int{}, map[string]int{}
			for _, a := range s.Agents {
				if a.Player != player {
					continue
				}
				agents++
				urls[a.URL]++
				names[a.DisplayName]++
				if a.Answered {
					answered++
				}
				require.Contains(t, s.AtURL(player, a.URL), a)
				require.Contains(t, s.Named(player, a.DisplayName), a)
			}
			gotAgents, gotAnswered := s.Registered(player)
			require.Equal(t, []int{agents, answered}, []int{gotAgents, gotAnswered})
			for _, u := range []string{"http://a:1/mcp", "http://b:1/mcp"} {
				require.Len(t, s.AtURL(player, protocol.CanonicalURL(u)), urls[protocol.CanonicalURL(u)])
			}
			for _, n := range []string{"A", "B"} {
				require.Len(t, s.Named(player, n), names[n])
			}
		}
	})
}
