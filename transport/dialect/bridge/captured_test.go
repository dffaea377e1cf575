package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// captures are the captures of third-party leagues, with their files of matches.
func captures() map[string][]string {
	return map[string][]string{
		"maker-a": {"match1"}, "maker-b": {"match1", "other"}, "maker-c": {"match1"}, "maker-d": {"match1"}, "maker-e": {"match1", "other"},
	}
}

// idsAt are the ids with which the players of a capture registered, by port.
func idsAt(t *testing.T, capture string) map[int]string {
	ids := map[int]string{}
	for _, e := range captured(t, capture, "registration") {
		meta, isPlayer := e.Request["params"].(object)["player_meta"].(object)
		if !isPlayer {
			continue
		}
		var port int
		_, err := fmt.Sscanf(meta["contact_endpoint"].(string), "http://localhost:%d/mcp", &port)
		require.NoError(t, err)
		ids[port] = e.Response["result"].(object)["player_id"].(string)
	}
	return ids
}

// alike checks that our answer has all members of a captured answer: the
// same members, of the same types.
func alike(t *testing.T, captured, ours any, at string) {
	t.Helper()
	want, isObject := captured.(object)
	if !isObject {
		assert.IsType(t, captured, ours, at)
		return
	}
	got, isObject := ours.(object)
	if !assert.True(t, isObject, "%s: %v", at, ours) {
		return
	}
	for name, value := range want {
		if name == "error" && value == nil || name == "choices" || name == "auth_token" {
			continue
		}
		if assert.Contains(t, got, name, at) && (!strings.HasPrefix(name, "winner") || got[name] != nil) { // a draw has no winner
			alike(t, value, got[name], at+"."+name)
		}
	}
}

// Our players answer what third-party referees asked their players as their
// players have answered.
func TestPlayersAnswerCapturedRequestsAsCaptured(t *testing.T) {
	for capture, files := range captures() {
		for _, form := range []string{"as one writes it", "as another writes it"} {
			t.Run(capture+" "+form, func(t *testing.T) {
				w := newWorld(t)
				players := map[int]*agent{}
				for port, id := range idsAt(t, capture) {
					players[port], _ = w.player(fmt.Sprintf("http://localhost:%d/mcp", port), id)
				}
				asked := 0
				for _, e := range captured(t, capture, files...) {
					a := players[e.Port]
					if a == nil {
						continue
					}
					asked++
					body := text(t, e.Request)
					if form == "as one writes it" {
						body = inOrder(t, e.Request)
					}
					answer := ask(t, a, e.Path, body)
					at := capture + " " + e.Request["method"].(string)
					alike(t, e.Response, answer, at)
					assert.Equal(t, e.Request["id"], answer["id"], at)
					assert.NotContains(t, answer, "error", at)
				}
				assert.GreaterOrEqual(t, asked, 4)
			})
		}
	}
}

// inOrder is a request with its members in the order in which most write them,
// and the envelope first, without a space.
func inOrder(t *testing.T, request object) string {
	params := request["params"].(object)
	var first []string
	for _, name := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id"} {
		if v, there := params[name]; there {
			first = append(first, text(t, name)+":"+text(t, v))
			delete(params, name)
		}
	}
	rest := text(t, params)
	rest = rest[1 : len(rest)-1]
	if rest != "" {
		first = append(first, rest)
	}
	return `{"jsonrpc":"2.0","method":` + text(t, request["method"]) + `,"params":{` + strings.Join(first, ",") + `},"id":` + text(t, request["id"]) + `}`
}

// Our referee that a third-party manager tells to begin a match plays it,
// answers as the manager expects, and reports.
func TestRefereeStartsMatchesOfCapturedManagers(t *testing.T) {
	for capture, files := range captures() {
		starts := 0
		for _, e := range captured(t, capture, files...) {
			if e.Port != 8001 && e.Port != 8002 {
				continue
			}
			starts++
			t.Run(capture, func(t *testing.T) {
				w := newWorld(t)
				for port, id := range idsAt(t, capture) {
					w.player(fmt.Sprintf("http://localhost:%d/mcp", port), id)
				}
				reported := make(chan struct{})
				w.onReport = func() { close(reported) }
				a := w.referee(fmt.Sprintf("http://localhost:%d/mcp", e.Port), "REF01", 2)
				answer := ask(t, a, e.Path, text(t, e.Request))
				alike(t, e.Response, answer, capture)
				<-reported
			})
		}
		if capture == "maker-b" || capture == "maker-c" || capture == "maker-e" {
			assert.Positive(t, starts, capture)
		}
	}
}
