package leaguetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/simulation/leaguetest"
)

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
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
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
		select {
		case <-p.Player.Done():
			t.Error("the player ended")
		default:
		}
	})
}
