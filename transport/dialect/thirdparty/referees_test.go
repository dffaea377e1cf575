package thirdparty

import (
	"cmp"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/transport/http"
)

// A way is a way to start a match at a third-party referee.
type way struct {
	method  string // or a path
	tool    string // the name of a tool, where the method is tools/call
	a, b    string // what the ids of the players are called
	url     string // and what follows for their endpoints
	late    bool   // it answers when the match is over
	acks    bool   // it acknowledges whatever it is asked
	static  bool   // it knows where players are: P01 at 8101, and so on
	capture string // of its requests to players, and of its reports
}

// The known ways to start matches.
func waysToStart() map[string]way {
	return map[string]way{
		"assign_match":                 {method: "assign_match", a: "player1_id", b: "player2_id", url: "_endpoint", capture: "maker-c"},
		"START_MATCH":                  {method: "START_MATCH", a: "player_A_id", b: "player_B_id", url: "_endpoint", capture: "maker-a"},
		"run_match":                    {method: "run_match", a: "player_a_id", b: "player_b_id", url: "_endpoint", late: true, capture: "maker-d"},
		"start_match_command":          {method: "start_match_command", a: "player_a", b: "player_b", url: "_url", capture: "maker-e"},
		"start_match_command, late":    {method: "start_match_command", a: "player_a", b: "player_b", url: "_url", late: true, capture: "maker-e"},
		"tools/call start_match":       {method: "tools/call", tool: "start_match", a: "player_A_id", b: "player_B_id", url: "_endpoint", late: true, capture: "maker-b"},
		"ROUND_ANNOUNCEMENT":           {method: "notify_round", a: "player_A_id", b: "player_B_id", url: "_endpoint", capture: "maker-d"},
		"ROUND_ANNOUNCEMENT by type":   {method: "ROUND_ANNOUNCEMENT", a: "player_A_id", b: "player_B_id", static: true, capture: "maker-a"},
		"POST /run_match":              {method: "/run_match", a: "player_a_id", b: "player_b_id", url: "_endpoint", late: true, capture: "maker-b"},
		"POST /run_match, at once":     {method: "/run_match", a: "player_a_id", b: "player_b_id", url: "_endpoint", capture: "maker-b"},
		"any, but assign_match":        {method: "assign_match", a: "player1_id", b: "player2_id", url: "_endpoint", acks: true, capture: "maker-c"},
		"any, but ROUND_ANNOUNCEMENT":  {method: "notify_round", a: "player_A_id", b: "player_B_id", url: "_endpoint", acks: true, capture: "maker-d"},
		"any, but start_match_command": {method: "start_match_command", a: "player_a", b: "player_b", url: "_url", acks: true, capture: "maker-e"},
	}
}

// Each kind of third-party referee conducts a league of our manager and our players without technical losses. Some
// kinds also share a league with our referee. The audit of the files has no findings.
func TestLeagueCompletesWithAThirdPartyReferee(t *testing.T) {
	shared := []string{"assign_match", "start_match_command", "ROUND_ANNOUNCEMENT", "POST /run_match"}
	for name, how := range waysToStart() {
		for referees := 1; referees <= 2; referees++ {
			if referees == 2 && !slices.Contains(shared, name) {
				continue
			}
			t.Run(fmt.Sprint(name, " of ", referees), func(t *testing.T) {
				t.Parallel()
				folder := store.In(t.TempDir())
				defer audited(t, folder)
				inAWorld(t, func(w *world) {
					w.folder = folder
					w.conduct(how, referees)
				})
			})
		}
	}
}

// conduct plays a league with a third-party referee. If referees is 2, our referee takes part, too.
func (w *world) conduct(how way, referees int) {
	w.t.Helper()
	players := 2 + 2*referees
	m := w.manager(players, referees, admitting(how.capture))
	theirs, ours := w.thirdPartyReferee(how), w.referee(8005)
	if referees == 2 {
		require.NoError(w.t, ours.Register(w.life))
	}
	for i := range players {
		require.NoError(w.t, w.player(8101+i).Register(w.life))
	}
	await(w, m.over)
	require.NoError(w.t, m.failed)
	synctest.Wait() // for all answers
	for _, row := range m.Standings() {
		assert.Equal(w.t, players-1, row.Played, "%s", row.PlayerID)
		assert.Zero(w.t, row.TechnicalLosses, "%s", row.PlayerID)
		if referees == 1 {
			assert.Equal(w.t, theirs.points[row.PlayerID], row.Points, "%s: the reports count", row.PlayerID)
		}
	}
	for id, reported := range theirs.done {
		assert.True(w.t, reported, "%s was not taken", id)
	}
	assert.NotEmpty(w.t, theirs.done)
	assert.Equal(w.t, players*(players-1)/2, len(theirs.done)+ours.Record().Conducted)
	assert.Equal(w.t, referees == 2, ours.Record().Conducted > 0)
}

// A thirdPartyReferee conducts matches that are started in its way. Its questions and
// reports are those of its capture, and it reads the answers where the captured agent did.
type thirdPartyReferee struct {
	*world

	way
	all   []*exchange
	id    string // as it was registered here
	token string

	mu     sync.Mutex
	done   map[string]bool // whether a match that was played was reported
	points map[string]int
}

// thirdPartyReferee registers one.
func (w *world) thirdPartyReferee(how way) *thirdPartyReferee {
	w.t.Helper()
	r := &thirdPartyReferee{world: w, way: how, all: captured(w.t, how.capture), done: map[string]bool{}, points: map[string]int{}}
	w.thirdPartyAgent(refereePort, r)
	e := r.find("register_referee")
	_, answer := w.post(at(managerPort), replaced(e.Request, map[string]string{contact(e.Request): at(refereePort)}))
	require.Equal(w.t, protocol.StatusAccepted, text(answer, "result", "status"), "%s", written(answer))
	r.id, r.token = text(answer, "result", "referee_id"), text(answer, "result", "auth_token")
	return r
}

// find is the first exchange with one of some methods.
func (r *thirdPartyReferee) find(methods ...string) *exchange {
	return r.all[slices.IndexFunc(r.all, func(e *exchange) bool { return slices.Contains(methods, e.method()) })]
}

// A task is a match that was started.
type task struct {
	id, a, b, atA, atB string
	round              float64
}

// ServeHTTP starts matches.
func (r *thirdPartyReferee) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	request := readAll(in)
	method, params := text(request, "method"), member(request, "params")
	if in.URL.Path != http.Path {
		method, params = in.URL.Path, request
	}
	if r.tool != "" {
		params = member(params, "arguments")
	}
	var tasks []task
	if method == r.method && (r.tool == "" || text(request, "params", "name") == r.tool) {
		tasks = r.tasks(params)
	}
	if len(tasks) == 0 {
		r.elsewise(out, method, request)
		return
	}
	for _, x := range tasks {
		if r.late {
			r.play(x)
		} else {
			r.running.Go(func() { r.play(x) })
		}
	}
	r.say(out, request, map[string]any{"status": "accepted", "match_id": tasks[0].id})
}

// elsewise answers a request that starts no match.
func (r *thirdPartyReferee) elsewise(out nethttp.ResponseWriter, method string, request any) {
	switch {
	case r.acks:
		r.say(out, request, map[string]any{"status": "ok"})
	case strings.HasPrefix(method, "/"):
		say(out, nethttp.StatusNotFound, map[string]any{"detail": "Not Found"})
	default:
		code := -32601
		if method == r.method {
			code = -32602
		}
		say(out, nethttp.StatusOK, map[string]any{"jsonrpc": "2.0", "id": member(request, "id"), "error": map[string]any{"code": code, "message": "no"}})
	}
}

func (r *thirdPartyReferee) say(out nethttp.ResponseWriter, request any, result map[string]any) {
	if strings.HasPrefix(r.method, "/") {
		say(out, nethttp.StatusOK, result)
		return
	}
	if r.tool != "" {
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": written(result)}}}
	}
	say(out, nethttp.StatusOK, map[string]any{"jsonrpc": "2.0", "id": member(request, "id"), "result": result})
}

// tasks are the matches that a request starts: of an announcement, those of this referee.
func (r *thirdPartyReferee) tasks(params any) []task {
	entries, announced := member(params, "matches").([]any)
	if !announced {
		entries = []any{params}
	}
	var tasks []task
	for _, e := range entries {
		if announced && text(e, "referee_endpoint") != at(refereePort) {
			continue
		}
		url := func(name string) string { return text(e, strings.TrimSuffix(name, "_id")+r.url) }
		round, _ := cmp.Or(member(e, "round_id"), member(params, "round_id")).(float64)
		x := task{id: text(e, "match_id"), a: text(e, r.a), b: text(e, r.b), atA: url(r.a), atB: url(r.b), round: round}
		if r.static {
			x.atA, x.atB = at(8100+int(x.a[2]-'0')), at(8100+int(x.b[2]-'0'))
		}
		r.mu.Lock()
		_, known := r.done[x.id]
		if x.id != "" && x.a != "" && x.b != "" && x.atA != "" && x.atB != "" && !known {
			r.done[x.id] = false
			tasks = append(tasks, x)
		}
		r.mu.Unlock()
	}
	return tasks
}

// matchTime is the length of a match whose start is answered afterwards. The caller does
// not wait so long.
const matchTime = 20 * time.Second

// play plays a match and reports it.
func (r *thirdPartyReferee) play(x task) {
	for _, entrant := range [][2]string{{x.atA, x.b}, {x.atB, x.a}} {
		e := r.find("handle_game_invitation", "game_invitation")
		answer := r.ask(e, entrant[0], x, map[string]string{cmp.Or(text(e.Request, "params", "opponent_id"), text(e.Request, "params", "opponent")): entrant[1]})
		assert.Equal(r.t, true, found(e.Response, answer, "accept"), "%s", written(answer))
	}
	choices := map[string]string{}
	for _, entrant := range [][3]string{{x.atA, x.a, x.b}, {x.atB, x.b, x.a}} {
		e := r.find("choose_parity")
		answer := r.ask(e, entrant[0], x, map[string]string{
			text(e.Request, "params", "player_id"): entrant[1], text(e.Request, "params", "context", "opponent_id"): entrant[2],
		})
		choices[entrant[1]], _ = cmp.Or(found(e.Response, answer, "parity_choice"), found(e.Response, answer, "choice")).(string)
		assert.Contains(r.t, []string{"even", "odd"}, choices[entrant[1]], "%s", written(answer))
	}
	if r.late {
		time.Sleep(matchTime)
	}
	r.report(x, outcomeOf(x, choices, len(x.id)+int(x.id[len(x.id)-1]-'0')%3))
}

// report tells the manager how a match ended.
func (r *thirdPartyReferee) report(x task, o result) {
	e := r.find("report_match_result", "match_result_report")
	params, _ := replaced(member(e.Request, "params"), r.now(e, x)).(map[string]any)
	if _, there := params["round_id"]; there {
		params["round_id"] = x.round
	}
	params["result"] = o.reported(r.capture)
	answer := r.send(at(managerPort), e, params)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[x.id] = assert.NotNil(r.t, member(answer, "result"), "%s", written(answer)) && assert.Nil(r.t, member(answer, "error"))
	for id, n := range o.score {
		r.points[id] += n
	}
}

// now maps the strings of the captured match to those of this match.
func (r *thirdPartyReferee) now(e *exchange, x task) map[string]string {
	return map[string]string{
		text(e.Request, "params", "match_id"): x.id, text(e.Request, "params", "sender"): "referee:" + r.id,
		text(e.Request, "params", "auth_token"): r.token, text(e.Request, "params", "conversation_id"): "conv-of-" + x.id,
	}
}

// ask sends a player a captured question.
func (r *thirdPartyReferee) ask(e *exchange, endpoint string, x task, more map[string]string) any {
	now := r.now(e, x)
	maps.Copy(now, more)
	delete(now, "")
	params, _ := replaced(member(e.Request, "params"), now).(map[string]any)
	if _, there := params["round_id"]; there {
		params["round_id"] = x.round
	}
	return r.send(endpoint, e, params)
}

func (r *thirdPartyReferee) send(endpoint string, e *exchange, params map[string]any) any {
	_, answer := r.post(endpoint, map[string]any{"jsonrpc": "2.0", "method": e.method(), "params": params, "id": 7})
	return answer
}

// found is a member of an answer, at its position in the captured answer.
func found(of, answer any, name string) any {
	for _, at := range []string{"result", "params"} {
		if member(of, at, name) != nil {
			return member(answer, at, name)
		}
	}
	return nil
}

// A result is how a match of a third-party referee ended.
type result struct {
	choices map[string]string
	number  int
	winner  any // nil for a draw
	score   map[string]int
}

func outcomeOf(x task, choices map[string]string, number int) result {
	o := result{choices: choices, number: number, score: map[string]int{x.a: 1, x.b: 1}}
	right := []string{"even", "odd"}[number%2]
	for id, other := range map[string]string{x.a: x.b, x.b: x.a} {
		if choices[id] == right && choices[other] != right {
			o.winner, o.score = id, map[string]int{id: 3, other: 0}
		}
	}
	return o
}

// reported is the result in a report of the capture.
func (o *result) reported(capture string) map[string]any {
	switch {
	case capture == "maker-d" && o.winner == nil:
		zero := map[string]int{}
		for id := range o.score {
			zero[id] = 0
		}
		return map[string]any{"winner": nil, "score": zero, "details": map[string]any{"drawn_number": 0, "choices": map[string]any{}}}
	case capture == "maker-e":
		return map[string]any{"winner": cmp.Or(o.winner, any("DRAW")), "score": o.choices}
	}
	return map[string]any{"winner": o.winner, "score": o.score, "details": map[string]any{"drawn_number": o.number, "choices": o.choices}}
}
