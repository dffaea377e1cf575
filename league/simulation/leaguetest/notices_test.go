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

// A player that does not answer a notification does not delay those to other agents. The
// next announcement to it waits, and the round waits at most 10 s for that.
func TestHangingPlayerDoesNotDelayOtherNotifications(t *testing.T) {
	for _, method := range []string{protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name} {
		leaguetest.RunOnWire(t, method, func(t *testing.T, w *leaguetest.World) {
			playTwo(w, func(o *manager.Options) { o.Legs = 2 }, leaguetest.On(method, leaguetest.Silent))
			assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.StartMatch.Name)))
			for _, host := range []string{"p01", "ref01"} {
				assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, host)))
				assert.Equal(t, []int{10}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, host)))
			}
			assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.UpdateStandings.Name, "p01")))
			assert.Equal(t, []int{0, 0}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
			assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p02")), "an outdated notification is not sent")
			assert.Equal(t, []int{20}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p02")), "every agent gets LEAGUE_COMPLETED")
			assert.Len(t, leaguetest.Results(w.Manager), 2)
		})
	}
}

func TestLeagueCompletedIsRetried(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts leaguetest.Reply
		at    []int
		over  int // when the manager's Run returns
	}{
		{"the agent closes connections", leaguetest.FailWith(leaguetest.ErrHangUp), []int{0, 2, 6, 14}, 25},
		{"the agent hangs", leaguetest.Silent, []int{0, 12}, 25},
		{"the agent closes two connections", leaguetest.FirstN(2, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally), []int{0, 2, 6}, 6},
		{"the agent answers with an error", leaguetest.RefuseWith(protocol.ErrTokenInvalid), []int{0, 2, 6}, 6},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.NotifyLeagueCompleted.Name, test.parts)))
			assert.Equal(t, test.over, int(w.Now()/leaguetest.Second))
			assert.Equal(t, test.at, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p02")))
			assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p01")))
			assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "ref01")))
		})
	}
}

// LEAGUE_COMPLETED ends an agent whatever its tables hold, if it comes from the manager and its envelope is valid.
func TestLeagueCompletedWithOddTablesEndsAgents(t *testing.T) {
	const champion, row = `"champion":{"player_id":"P02","display_name":"Beta","points":3}`, `{"rank":1,"player_id":"P01","points":3}`
	const envelope = `"protocol":"league.v2","message_type":"LEAGUE_COMPLETED","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c"`
	const league = `"league_id":"league_2025","total_rounds":1,"total_matches":1`
	for name, tables := range map[string]string{
		"no tables":           league,
		"empty standings":     league + `,"final_standings":[],` + champion,
		"null tables":         league + `,"final_standings":null,"champion":null`,
		"standings in a text": league + `,"final_standings":"P02",` + champion,
		"standings by player": league + `,"final_standings":{"P02":3},` + champion,
		"odd rows":            league + `,"final_standings":[` + row + `,7,{"rank":"first"},null],` + champion,
		"odd champion":        league + `,"final_standings":[` + row + `],"champion":"P02"`,
		"no rounds":           `"total_rounds":0,"journal_head":5`,
	} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			p, r := w.Player("P01"), w.Referee("REF01")
			for _, a := range []*leaguetest.Agent{p, r} {
				call := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notify_league_completed","params":{%s,%s},"id":1}`, envelope, tables)
				refused := a.Mux.Serve(w.Context, "a guess", []byte(call))
				assert.Contains(t, string(refused.Body), `"error_code":"E012"`)
				answer := a.Mux.Serve(w.Context, w.ManagerCredential(a.ID), []byte(call))
				assert.Contains(t, string(answer.Body), `"status":"ACKNOWLEDGED"`)
			}
			<-p.Player.Done()
			<-r.Referee.Done()
		})
	}
}

// An end of the league whose envelope is not valid ends nobody.
func TestLeagueCompletedWithoutEnvelopeEndsNobody(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01")
		for _, params := range []string{`[]`, `{"timestamp":"2026-11-20T17:02:32Z"}`, `{"protocol":"league.v1","message_type":"LEAGUE_COMPLETED"}`} {
			answer := p.Mux.Serve(w.Context, w.ManagerCredential(p.ID), []byte(`{"jsonrpc":"2.0","method":"notify_league_completed","params":`+params+`,"id":1}`))
			assert.Contains(t, string(answer.Body), `"error"`)
		}
		assert.False(t, leaguetest.IsClosed(p.Player.Done()))
	})
}

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
