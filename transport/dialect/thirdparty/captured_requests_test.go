package thirdparty

import (
	"cmp"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// Our manager and our player answer every captured request with the members, types and wrapping of the captured answer.
// Our referee starts the captured matches in the leagues of third-party managers.
func TestEachCapturedRequestIsAnsweredLikeTheCapturedOne(t *testing.T) {
	for name := range captures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, byPort := captured(t, name), map[int][]*exchange{}
			for _, e := range all {
				byPort[e.Port] = append(byPort[e.Port], e)
			}
			for port, toPort := range byPort {
				inAWorld(t, func(w *world) {
					switch {
					case port == managerPort:
						w.answerAsManager(toPort)
					case port >= 8100:
						w.replay("", all, managerPort)
						p := w.player(port)
						require.NoError(t, p.Register(w.life), "the captured answer to a registration")
						for _, e := range toPort {
							w.resend(e, nil)
						}
					}
				})
			}
		})
	}
}

// resend posts a captured request, with some strings replaced, to our agent, and compares
// the answer with the captured one.
func (w *world) resend(e *exchange, now map[string]string) any {
	w.t.Helper()
	status, answer := w.post(strings.TrimSuffix(at(e.Port), http.Path)+e.Path, replaced(e.Request, now))
	assert.Equal(w.t, e.Status, status, "%s", e)
	assert.Empty(w.t, lacking(replaced(e.Response, now), answer, ""), "%s answered with %s", e, written(answer))
	if id := member(e.Request, "id"); id != nil {
		assert.Equal(w.t, id, member(answer, "id"), "%s: the answer has the id of the request", e)
	}
	return answer
}

// written is a tree of JSON, which always encodes.
func written(tree any) string {
	raw, _ := json.Marshal(tree, json.Deterministic(true))
	return string(raw)
}

// answerAsManager sends our manager the captured registrations, reports and requests for
// the schedule.
func (w *world) answerAsManager(some []*exchange) {
	players, referees := 0, 0
	assigned := map[string]chan *protocol.MatchAssignment{} // by the id that the referee had
	only := ""
	for _, e := range some {
		endpoint := contact(e.Request)
		if endpoint == "" {
			continue
		}
		matches := make(chan *protocol.MatchAssignment, 100)
		if id := text(e.Response, "result", "referee_id"); id != "" {
			referees++
			assigned[id], only = matches, id
		} else {
			players++
		}
		w.thirdPartyAgent(portOf(endpoint), accepting(matches))
	}
	w.manager(players, referees, admitting(some[0].capture, "maker-b")) // of which a caller without a name requests the schedule
	now := map[string]string{}                                          // what was said, and what is said here
	for _, e := range some {
		if strings.Contains(e.method(), "report") {
			by := cmp.Or(strings.TrimPrefix(text(e.Request, "params", "sender"), "referee:"), only)
			meet(now, e.Request, await(w, assigned[by]))
		}
		if n, drawn := member(e.Request, "params", "result", "details", "drawn_number").(float64); drawn && n > 10 {
			_, answer := w.post(at(managerPort), replaced(e.Request, now))
			assert.Equal(w.t, "E002", text(answer, "error", "data", "error_code"), "%s: the number is drawn from 1 to 10", e)
			continue
		}
		answer := w.resend(e, now)
		for _, name := range []string{"player_id", "referee_id", "auth_token"} {
			if was, is := text(e.Response, "result", name), text(answer, "result", name); was != "" && is != "" {
				now[was] = is
				now["referee:"+was] = "referee:" + is
			}
		}
	}
}

// meet replaces the players of a captured report by those of a match of this league.
func meet(now map[string]string, report any, a *protocol.MatchAssignment) {
	score, _ := member(report, "params", "result", "score").(map[string]any)
	ids := slices.Sorted(maps.Keys(score))
	now[ids[0]], now[ids[1]] = a.PlayerA.PlayerID, a.PlayerB.PlayerID
	if id := text(report, "params", "match_id"); id != "" {
		now[id] = a.MatchID
	}
}

// accepting is a referee that accepts every match, and does nothing else.
func accepting(assigned chan<- *protocol.MatchAssignment) nethttp.HandlerFunc {
	return func(out nethttp.ResponseWriter, in *nethttp.Request) {
		var q struct {
			ID     any                       `json:"id"`
			Method string                    `json:"method"`
			Params *protocol.MatchAssignment `json:"params"`
		}
		if json.UnmarshalRead(in.Body, &q) != nil || q.Method != protocol.StartMatch.Name {
			say(out, 200, map[string]any{"jsonrpc": "2.0", "id": q.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
			return
		}
		say(out, 200, map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": map[string]any{
			"message_type": protocol.StartMatch.Result, "status": protocol.StatusAccepted, "match_id": q.Params.MatchID, "attempt": q.Params.Attempt,
		}})
		assigned <- q.Params
	}
}

// admitting makes a league lenient if the agents of a capture, or of some others, send no
// tokens.
func admitting(capture string, others ...string) func(*manager.Options) {
	tokenless := append([]string{"maker-d", "maker-e"}, others...)
	return func(o *manager.Options) {
		o.Auth = map[bool]string{true: protocol.AuthLenient}[slices.Contains(tokenless, capture)]
	}
}
