package leaguetest_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// leagueOf plays a round of a league with so many players, whose names are long.
func leagueOf(w *leaguetest.World, players int) *protocol.LeagueCompleted {
	w.StartManager(players, 1, func(o *manager.Options) {
		o.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 1}
	})
	w.Referee("REF01", leaguetest.WithCapacity(10))
	for n := range players {
		w.Player(league.PlayerID(n+1), leaguetest.WithName(fmt.Sprintf("%s %d", strings.Repeat("€", 46), n)))
	}
	return w.Finish()
}

// Broadcasts have the first 100 rows of the table, queries all of them.
func TestBroadcastsOfALargeLeagueHaveTheFirstRows(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		const players = 250
		final := leagueOf(w, players)
		assert.Equal(t, []int{100, players}, []int{len(final.FinalStandings), final.TotalPlayers})
		updates := w.Calls(protocol.UpdateStandings.Name)
		assert.Len(t, updates, players)
		for _, e := range updates {
			update := leaguetest.Decode[protocol.StandingsUpdate](e.Message)
			assert.Equal(t, []int{100, players}, []int{len(update.Standings), update.TotalPlayers})
		}
		ids := map[string]bool{}
		for len(ids) < players {
			q := w.Query("P01", protocol.QueryStandings)
			q.QueryParams.Offset = len(ids)
			r, err := q.Send()
			require.NoError(t, err)
			assert.Equal(t, []int{min(100, players-len(ids)), players}, []int{len(r.Standings), r.TotalPlayers})
			for _, row := range r.Standings {
				require.NotContains(t, ids, row.PlayerID)
				ids[row.PlayerID] = true
			}
		}
	})
}

// Docs/protocol.md names the messages that exceed 10 KB, in the leagues that make them largest.
func TestProtocolPageNamesTheLargeMessages(t *testing.T) {
	page, err := os.ReadFile("../../../docs/protocol.md")
	require.NoError(t, err)
	sentence := regexp.MustCompile(`(?s)these messages may exceed 10 KB: (.*?)\.`).FindStringSubmatch(string(page))
	require.NotNil(t, sentence)
	var mu sync.Mutex
	largest := map[string]int{} // bytes, by message type
	t.Cleanup(func() {
		var large []string
		for messageType, size := range largest {
			if size > 10<<10 {
				large = append(large, messageType)
			}
		}
		assert.ElementsMatch(t, regexp.MustCompile("[A-Z_]{5,}").FindAllString(sentence[1], -1), large, "%v", largest)
	})
	for _, players := range []int{protocol.MaxAnnounced, 250} {
		leaguetest.RunInMemory(t, fmt.Sprint(players), func(t *testing.T, w *leaguetest.World) {
			leagueOf(w, players)
			_, err := w.Query("P01", protocol.QueryStandings).Send()
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			for _, e := range w.Recorder.All(func(*leaguetest.Exchange) bool { return true }) {
				// Endpoints on other machines are longer than those of these tests.
				e.Message = bytes.ReplaceAll(e.Message, []byte("http://ref01"), []byte("http://referee-one.league.example.org:8001"))
				largest[e.Type()] = max(largest[e.Type()], len(e.Message))
				if e.Err == nil {
					answer := leaguetest.Decode[protocol.Envelope](e.Answer).MessageType
					largest[answer] = max(largest[answer], len(e.Answer))
				}
			}
		})
	}
}
