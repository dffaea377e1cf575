package thirdparty

import (
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// An entrant is a player of a capture, at its port.
type entrant struct {
	capture string
	port    int
}

// mixed is the league of players of all captures and ours. It has time banks, and so has one of a single capture.
const mixed = "all of them and ours"

// The leagues of captured players: one of each capture, and a mixed one.
func leaguesOfThirdParties(t *testing.T) map[string][]entrant {
	t.Helper()
	leagues := map[string][]entrant{mixed: {
		{"maker-a", 8101}, {"maker-b", 8102}, {"maker-c", 8103}, {"maker-d", 8104}, {"maker-e", 8100}, {"", 8105},
	}}
	for name := range captures {
		for _, e := range captured(t, name) {
			if port := portOf(contact(e.Request)); port >= 8100 {
				leagues[name] = append(leagues[name], entrant{name, port})
			}
		}
	}
	return leagues
}

// A league with our manager and our referee completes with captured players. It has no
// technical losses, and the audit of its files has no findings.
func TestLeagueOfThirdPartyPlayersHasNoTechnicalLosses(t *testing.T) {
	for name, entrants := range leaguesOfThirdParties(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := store.In(t.TempDir())
			inAWorld(t, func(w *world) {
				w.folder = folder
				var banks []func(*manager.Options)
				if name == mixed || name == "maker-d" {
					banks = append(banks, func(o *manager.Options) { o.TimeBank = &protocol.TimeBank{Initial: 5000} })
				}
				w.playThirdParty(entrants, banks...)
			})
			audited(t, folder)
		})
	}
}

// audited checks that the audit of a league has no findings.
func audited(t *testing.T, folder store.Folder) {
	t.Helper()
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(evenodd.Game{})})
	require.NoError(t, err)
	require.Len(t, report.Leagues, 1)
	assert.Empty(t, report.Leagues[0].Findings)
}

func (w *world) playThirdParty(entrants []entrant, change ...func(*manager.Options)) {
	w.t.Helper()
	m := w.manager(len(entrants), 1, change...)
	require.NoError(w.t, w.referee(refereePort).Register(w.life))
	thirdParties := map[string]*replay{} // by id
	for _, s := range entrants {
		if s.capture == "" {
			require.NoError(w.t, w.player(s.port).Register(w.life))
			continue
		}
		r := w.replay(s.capture, captured(w.t, s.capture), s.port)
		thirdParties[w.register(s)] = r
	}
	await(w, m.over)
	require.NoError(w.t, m.failed)
	for _, row := range m.Standings() {
		assert.Equal(w.t, len(entrants)-1, row.Played, "%s", row.PlayerID)
		assert.Zero(w.t, row.TechnicalLosses, "%s of %d", row.PlayerID, row.Played)
	}
	for id, r := range thirdParties {
		// The tries until it is understood come once for each question and notice,
		// not in every match. It may reject four notices of the manager in all forms.
		by, all := r.asked()
		assert.LessOrEqual(w.t, all, 4*mostForms+20+5*(len(entrants)-1), "%s was asked %v", id, by)
		assert.Equal(w.t, len(entrants)-1, by["choose_parity"], "%s was asked %v", id, by)
	}
}

// register sends the captured registration of a player, and returns the assigned id.
func (w *world) register(s entrant) string {
	w.t.Helper()
	all := captured(w.t, s.capture)
	e := all[slices.IndexFunc(all, func(e *exchange) bool { return portOf(contact(e.Request)) == s.port })]
	_, answer := w.post(at(managerPort), e.Request)
	require.Equal(w.t, protocol.StatusAccepted, text(answer, "result", "status"), "%s: %s", e, written(answer))
	return text(answer, "result", "player_id")
}

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
	for capture, start := range map[string]func(*thirdPartyLeague, []pairing){
		"maker-a": (*thirdPartyLeague).announce,
		"maker-b": (*thirdPartyLeague).runMatches,
		"maker-c": (*thirdPartyLeague).assign,
		"maker-d": (*thirdPartyLeague).announce,
		"maker-e": (*thirdPartyLeague).assign,
	} {
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
	f.boss = w.replay(capture, f.all, managerPort)
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

// tell calls a method of the referee, which must accept it.
func (f *thirdPartyLeague) tell(method string, params map[string]any) {
	f.t.Helper()
	status, answer := f.post(at(f.judge), map[string]any{"jsonrpc": "2.0", "method": method, "params": params, "id": 7})
	assert.Equal(f.t, nethttp.StatusOK, status)
	assert.Nil(f.t, member(answer, "error"), "%s answered with %s", method, written(answer))
	assert.NotNil(f.t, member(answer, "result"), "%s answered with %s", method, written(answer))
}

// announce starts the matches of a round by its announcement to the referee. That of maker-d has no endpoints of
// players: P01 is at port 8101, and so on.
func (f *thirdPartyLeague) announce(round []pairing) {
	method, entries := "notify_round", []any{map[string]any{ // of another referee
		"match_id": "R9M9", "game_type": "even_odd", "player_A_id": f.ids[0], "player_B_id": f.ids[1], "referee_endpoint": "http://localhost:8009/mcp",
	}}
	for _, b := range round {
		entry := map[string]any{
			"match_id": f.matchID(b), "game_type": "even_odd", "player_A_id": f.ids[b.a], "player_B_id": f.ids[b.b], "referee_endpoint": at(f.judge),
		}
		if f.capture == "maker-d" {
			method = "round_announcement"
		} else {
			entry["player_A_endpoint"], entry["player_B_endpoint"] = at(f.ports[b.a]), at(f.ports[b.b])
		}
		entries = append(entries, entry)
	}
	f.tell(method, map[string]any{
		"protocol": "league.v2", "message_type": "ROUND_ANNOUNCEMENT", "sender": "league_manager", "conversation_id": "conv-round",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "league_id": leagueID, "round_id": round[0].round, "matches": entries,
	})
	f.collect(round)
}

// started is the captured request that started a match.
func (f *thirdPartyLeague) started() *exchange {
	return f.all[slices.IndexFunc(f.all, func(e *exchange) bool { return e.Port < 8100 && e.Port != managerPort })]
}

// startOf is that request for another match.
func (f *thirdPartyLeague) startOf(e *exchange, b pairing) map[string]any {
	params := e.Request
	if e.Path == "/mcp" {
		params = member(e.Request, "params")
	}
	now := map[string]string{text(params, "match_id"): f.matchID(b)}
	for side, player := range []int{b.a, b.b} {
		for _, name := range []string{[]string{"player1", "player2"}[side], []string{"player_a", "player_b"}[side]} {
			now[text(params, name)], now[text(params, name+"_id")] = f.ids[player], f.ids[player]
			now[text(params, name+"_endpoint")], now[text(params, name+"_url")] = at(f.ports[player]), at(f.ports[player])
		}
	}
	delete(now, "") // of members that the request does not have
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
		status, answer := f.post(strings.TrimSuffix(at(f.judge), "/mcp")+e.Path, f.startOf(e, b))
		require.Equal(f.t, nethttp.StatusOK, status, "%s", written(answer))
		f.collect([]pairing{b})
		assert.Equal(f.t, f.matchID(b), text(answer, "match_id"))
		assert.Contains(f.t, answer, "winner")
		assert.NotNil(f.t, member(answer, "result", "drawn_number"))
	}
}

// collect takes one report of each match, whose winner follows from the choices and the number, and its points from
// the winner.
func (f *thirdPartyLeague) collect(round []pairing) {
	f.t.Helper()
	reports := map[string]any{}
	for range round {
		report := await(f.world, f.reports)
		reports[text(report, "params", "match_id")] = report
	}
	for _, b := range round {
		report := reports[f.matchID(b)]
		require.NotNil(f.t, report, "no report of %s, but %s", f.matchID(b), written(reports))
		reported, choices := member(report, "params", "result"), map[string]string{}
		for _, id := range []string{f.ids[b.a], f.ids[b.b]} {
			choices[id] = text(reported, "details", "choices", id)
			assert.Contains(f.t, []string{"even", "odd"}, choices[id], "%s of %s", id, written(reported))
		}
		number, _ := member(reported, "details", "drawn_number").(float64)
		assert.True(f.t, number >= 1 && number <= 10, "drawn was %v in %s", number, written(reported))
		want := outcomeOf(task{a: f.ids[b.a], b: f.ids[b.b]}, choices, int(number))
		if winner := member(reported, "winner"); winner != "DRAW" || want.winner != nil {
			assert.Equal(f.t, want.winner, winner, "%s", written(reported))
		}
		assert.JSONEq(f.t, written(want.score), written(member(reported, "score")))
	}
}
