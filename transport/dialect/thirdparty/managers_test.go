package thirdparty

import (
	"fmt"
	nethttp "net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/referee"
)

// A thirdPartyLeague has a third-party manager, which replays its capture and starts
// matches in its own way, with our referee and our players.
type thirdPartyLeague struct {
	*world

	capture string
	boss    *replay
	all     []*exchange
	referee *referee.Referee
	players []*player.Player // in the order of the ids
	ids     []string
	ports   []int
	judge   int      // the port of the referee
	reports chan any // as they came
}

// A pairing is a match of a third-party league, between the a-th and the b-th player.
type pairing struct {
	round, n, a, b int
}

// A round-robin.
func pairings() []pairing {
	return []pairing{{1, 1, 0, 1}, {1, 2, 2, 3}, {2, 3, 0, 2}, {2, 4, 1, 3}, {3, 5, 0, 3}, {3, 6, 1, 2}}
}

// Each third-party manager runs a league with our referee and our players. Our referee
// reports each match, with a result that follows from the choices and the number.
func TestThirdPartyManagerRunsALeagueWithOurAgents(t *testing.T) {
	ways := map[string]func(*thirdPartyLeague, []pairing){
		"maker-a": (*thirdPartyLeague).announce,
		"maker-b": (*thirdPartyLeague).runMatches,
		"maker-c": (*thirdPartyLeague).assign,
		"maker-d": (*thirdPartyLeague).announceBriefly,
		"maker-e": (*thirdPartyLeague).assign,
	}
	require.Len(t, ways, len(captures))
	for capture, start := range ways {
		t.Run(capture, func(t *testing.T) {
			t.Parallel()
			inAWorld(t, func(w *world) {
				f := w.thirdPartyLeague(capture)
				all := pairings()
				for round := 1; round <= 3; round++ {
					start(f, slices.DeleteFunc(slices.Clone(all), func(b pairing) bool { return b.round != round }))
				}
				for i, p := range f.players {
					assert.Equal(t, 3, p.Record().Stats.TotalMatches, "%s knows of its matches", f.ids[i])
				}
				assert.Equal(t, len(all), f.referee.Record().Conducted)
				assert.Empty(t, f.reports, "a match was reported twice")
			})
		})
	}
}

// thirdPartyLeague returns a league after all registrations.
func (w *world) thirdPartyLeague(capture string) *thirdPartyLeague {
	w.t.Helper()
	f := &thirdPartyLeague{world: w, capture: capture, all: captured(w.t, capture), reports: make(chan any, 100)}
	f.boss = w.replay(capture, f.all, managerPort, managerPort)
	f.boss.told = func(method string, request any) {
		if strings.Contains(method, "report") {
			f.reports <- request
		}
	}
	for _, e := range f.all {
		port := portOf(contact(e.Request))
		switch {
		case port == 0:
		case port >= 8100:
			f.ports, f.ids = append(f.ports, port), append(f.ids, text(e.Response, "result", "player_id"))
		case f.judge == 0 || port < f.judge:
			f.judge = port
		}
	}
	f.referee = w.referee(f.judge)
	require.NoError(w.t, f.referee.Register(w.life))
	for i, port := range f.ports {
		p := w.player(port)
		require.NoError(w.t, p.Register(w.life))
		require.Equal(w.t, f.ids[i], p.ID())
		f.players = append(f.players, p)
	}
	return f
}

// matchID is the id of a match, as the third-party manager writes it.
func (f *thirdPartyLeague) matchID(b pairing) string {
	switch f.capture {
	case "maker-c":
		return fmt.Sprintf("match_63f3cb%02d", b.n)
	case "maker-e":
		return fmt.Sprintf("M%d", b.n)
	}
	return fmt.Sprintf("R%dM%d", b.round, b.n)
}

// envelope is the envelope of the third-party manager.
func (f *thirdPartyLeague) envelope(messageType string) map[string]any {
	return map[string]any{
		"protocol": "league.v2", "message_type": messageType, "sender": "league_manager",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "conversation_id": "conv-round",
		"league_id": leagueID,
	}
}

// tell calls a method of the referee, which must accept it.
func (f *thirdPartyLeague) tell(method string, params map[string]any) {
	f.t.Helper()
	status, answer := f.post(f.life, at(f.judge), map[string]any{"jsonrpc": "2.0", "method": method, "params": params, "id": 7})
	assert.Equal(f.t, nethttp.StatusOK, status)
	assert.Nil(f.t, member(answer, "error"), "%s answered with %s", method, written(answer))
	assert.NotNil(f.t, member(answer, "result"), "%s answered with %s", method, written(answer))
}

// announce starts the matches of a round by its announcement to the referee, with the
// endpoints of the players.
func (f *thirdPartyLeague) announce(round []pairing) {
	params := f.envelope("ROUND_ANNOUNCEMENT")
	params["round_id"], params["matches"] = round[0].round, f.entries(round, true)
	f.tell("notify_round", params)
	f.collect(round)
}

// announceBriefly does so without endpoints: P01 is at port 8101, and so on.
func (f *thirdPartyLeague) announceBriefly(round []pairing) {
	params := f.envelope("ROUND_ANNOUNCEMENT")
	params["round_id"], params["matches"] = round[0].round, f.entries(round, false)
	f.tell("round_announcement", params)
	f.collect(round)
}

func (f *thirdPartyLeague) entries(round []pairing, endpoints bool) []any {
	entries := []any{map[string]any{ // of another referee
		"match_id": "R9M9", "game_type": "even_odd", "player_A_id": f.ids[0], "player_B_id": f.ids[1],
		"referee_endpoint": "http://localhost:8009/mcp",
	}}
	for _, b := range round {
		entry := map[string]any{
			"match_id": f.matchID(b), "game_type": "even_odd", "player_A_id": f.ids[b.a], "player_B_id": f.ids[b.b],
			"referee_endpoint": at(f.judge),
		}
		if endpoints {
			entry["player_A_endpoint"], entry["player_B_endpoint"] = at(f.ports[b.a]), at(f.ports[b.b])
		}
		entries = append(entries, entry)
	}
	return entries
}

// started is the captured request that started a match.
func (f *thirdPartyLeague) started() *exchange {
	i := slices.IndexFunc(f.all, func(e *exchange) bool { return e.Port < 8100 && e.Port != managerPort })
	require.GreaterOrEqual(f.t, i, 0, "no start was captured")
	return f.all[i]
}

// startOf is that request for another match.
func (f *thirdPartyLeague) startOf(e *exchange, b pairing) map[string]any {
	params := e.Request
	if e.Path == "/mcp" {
		params = member(e.Request, "params")
	}
	now := map[string]string{text(params, "match_id"): f.matchID(b)}
	for _, names := range [][]string{{"player1_id", "player_a_id", "player_a"}, {"player2_id", "player_b_id", "player_b"}} {
		i := b.a
		if names[0] == "player2_id" {
			i = b.b
		}
		for _, name := range names {
			if was := text(params, name); was != "" {
				now[was] = f.ids[i]
			}
			for _, suffix := range []string{"_endpoint", "_url"} {
				if was := text(params, strings.TrimSuffix(name, "_id")+suffix); was != "" {
					now[was] = at(f.ports[i])
				}
			}
		}
	}
	other := replaced(params, now).(map[string]any)
	if _, there := other["round_id"]; there {
		other["round_id"] = b.round
	}
	return other
}

// assign starts matches one by one with the method of the capture.
func (f *thirdPartyLeague) assign(round []pairing) {
	e := f.started()
	for _, b := range round {
		f.tell(e.method(), f.startOf(e, b))
		f.collect([]pairing{b})
	}
}

// runMatches starts them with POST /run_match, which answers after the match.
func (f *thirdPartyLeague) runMatches(round []pairing) {
	e := f.started()
	for _, b := range round {
		status, answer := f.post(f.life, strings.TrimSuffix(at(f.judge), "/mcp")+e.Path, f.startOf(e, b))
		require.Equal(f.t, nethttp.StatusOK, status, "%s", written(answer))
		result := f.collect([]pairing{b})[0]
		assert.Equal(f.t, f.matchID(b), text(answer, "match_id"))
		winner := member(result, "winner")
		if winner == "DRAW" {
			winner = nil
		}
		assert.Equal(f.t, winner, member(answer, "winner"), "the answer and the report differ")
		assert.Equal(f.t, member(result, "details", "drawn_number"), member(answer, "result", "drawn_number"))
		assert.Equal(f.t, winner, member(answer, "result", "winner_player_id"))
	}
}

// collect takes one report of each match, and returns their results.
func (f *thirdPartyLeague) collect(round []pairing) []any {
	f.t.Helper()
	reports := map[string]any{}
	for range round {
		report := await(f.world, f.reports)
		reports[text(report, "params", "match_id")] = report
	}
	results := make([]any, 0, len(round))
	for _, b := range round {
		report := reports[f.matchID(b)]
		require.NotNil(f.t, report, "no report of %s, but %s", f.matchID(b), written(reports))
		result := member(report, "params", "result")
		f.sane(result, f.ids[b.a], f.ids[b.b])
		results = append(results, result)
	}
	return results
}

// sane checks that the winner follows from the choices and the number, and the points from
// the winner.
func (f *thirdPartyLeague) sane(result any, a, b string) {
	f.t.Helper()
	number, _ := member(result, "details", "drawn_number").(float64)
	assert.True(f.t, number >= 1 && number <= 10, "drawn was %v in %s", number, written(result))
	parity := []string{"even", "odd"}[int(number)%2]
	choices := map[string]string{}
	for _, id := range []string{a, b} {
		choices[id] = text(result, "details", "choices", id)
		assert.Contains(f.t, []string{"even", "odd"}, choices[id], "%s of %s", id, written(result))
	}
	score := map[string]any{a: 1.0, b: 1.0}
	var winner any
	for id, other := range map[string]string{a: b, b: a} {
		if choices[id] == parity && choices[other] != parity {
			winner, score = id, map[string]any{id: 3.0, other: 0.0}
		}
	}
	if winner == nil {
		assert.Contains(f.t, []any{nil, "DRAW"}, member(result, "winner"), "%s", written(result))
	} else {
		assert.Equal(f.t, winner, member(result, "winner"), "%s", written(result))
	}
	assert.Equal(f.t, score, member(result, "score"), "%s", written(result))
}

// A manager may start the next match inside the referee's report, and acknowledge the
// report afterwards.
func TestManagerMayStartTheNextMatchInsideAReport(t *testing.T) {
	for _, capture := range []string{"maker-c", "maker-e"} {
		t.Run(capture, func(t *testing.T) {
			inAWorld(t, func(w *world) {
				f := w.thirdPartyLeague(capture)
				queue := pairings()
				var mu sync.Mutex
				next := func() (b pairing, more bool) {
					mu.Lock()
					defer mu.Unlock()
					if len(queue) == 0 {
						return pairing{}, false
					}
					b, queue = queue[0], queue[1:]
					return b, true
				}
				e := f.started()
				f.boss.first = func(method string) {
					if !strings.Contains(method, "report") {
						return
					}
					if b, more := next(); more {
						f.tell(e.method(), f.startOf(e, b))
					}
				}
				b, _ := next()
				f.tell(e.method(), f.startOf(e, b))
				f.collect(pairings())
				for i, p := range f.players {
					assert.Equal(t, 3, p.Record().Stats.TotalMatches, "%s", f.ids[i])
				}
			})
		})
	}
}

// Managers with static files accept only senders with a number, which follows from the
// port.
func TestManagerGetsTheFormOfSenderThatItRequires(t *testing.T) {
	form := regexp.MustCompile(`^(player:P0[1-4]|referee:REF0[12])$`)
	refusals := map[string]func(id any) any{
		"an error": func(id any) any {
			return map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32602, "message": "Invalid sender format"}}
		},
		"an error of its own": func(id any) any {
			return map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32000, "message": "unknown sender"}}
		},
		"rejected": func(id any) any {
			return map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{
				"status": "REJECTED", "player_id": nil, "reason": "invalid sender",
			}}
		},
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			inAWorld(t, func(w *world) {
				boss := &replay{w: w, capture: "maker-d", port: managerPort, answers: map[string][]*exchange{}, given: map[string]int{}}
				for _, e := range captured(t, "maker-d") {
					if e.Port == managerPort {
						boss.answers[e.method()] = append(boss.answers[e.method()], e)
					}
				}
				w.thirdPartyAgent(managerPort, nethttp.HandlerFunc(func(out nethttp.ResponseWriter, in *nethttp.Request) {
					request := readAll(in)
					if contact(request) != "" && !form.MatchString(text(request, "params", "sender")) {
						say(out, nethttp.StatusOK, refusal(member(request, "id")))
						return
					}
					boss.serve(out, in, request)
				}))
				p := w.player(8103)
				require.NoError(t, p.Register(w.life))
				assert.Equal(t, "P03", p.ID())
				r := w.referee(8002)
				require.NoError(t, r.Register(w.life))
				assert.Equal(t, "REF02", r.ID())
				assert.LessOrEqual(t, boss.asked(protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name), 4)
			})
		})
	}
}
