package cmd_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read reads a resource into a value.
func read(t *testing.T, client *sdk.ClientSession, uri string, into any) {
	t.Helper()
	r, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	require.NoError(t, err, uri)
	require.NoError(t, json.Unmarshal([]byte(r.Contents[0].Text), into), uri)
}

// A client that listens is told of the standings, the match and the journal, and reads
// them, with and without a data folder.
func TestListenerIsToldOfALeague(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"data folder": "data", "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, "--players", "2", "--league-id", "cup", "--data", data)
			const league = "league://cup/"
			updates := make(chan string, 1000)
			client := connectWith(t, m.url, m.admin, &sdk.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, q *sdk.ResourceUpdatedNotificationRequest) { updates <- q.Params.URI },
			})
			missing := map[string]bool{league + "standings": true, league + "schedule": true, league + "journal": true, league + "matches/R1M1": true}
			for uri := range missing {
				require.NoError(t, client.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
			}
			_, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: league + "matches/R1M1"})
			require.ErrorContains(t, err, "not found", "it is not recorded yet")

			m.join(t, "referee")
			m.join(t, "player")
			m.join(t, "player")
			for len(missing) > 0 {
				select {
				case uri := <-updates:
					delete(missing, uri)
				case <-m.done:
					require.Fail(t, "the manager ended", "no update of %v", missing)
				}
			}
			var match struct {
				MatchID string `json:"match_id"`
				Status  string
				Choices map[string]*string
			}
			read(t, client, league+"matches/R1M1", &match)
			assert.Equal(t, "R1M1", match.MatchID)
			assert.Len(t, match.Choices, 2)
			var standings struct{ Standings []struct{ Played int } }
			read(t, client, league+"standings", &standings)
			assert.Equal(t, 1, standings.Standings[0].Played)

			var page struct {
				Events []struct {
					Seq  int
					Type string
				}
				Last int
			}
			read(t, client, league+"journal", &page)
			require.NotEmpty(t, page.Events)
			assert.Equal(t, "created", page.Events[0].Type)
			assert.Len(t, page.Events, page.Last)
			read(t, client, league+"journal?from=3", &page)
			assert.Equal(t, 3, page.Events[0].Seq)
		})
	}
}
