package foreign

import (
	"fmt"
	"math/rand/v2"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// A manner is how an agent that nobody has seen talks: a value of each axis.
type manner [7]string

// The axes.
const (
	naming  = iota // what it calls methods, and where it wants the message
	reply          // where its answer is
	echo           // the id of its answer
	moment         // how it writes times
	refusal        // how it refuses what it does not know
	words          // what it calls acceptance and choice
	letters        // how it writes the type of its message; a choice is lower case (002 §6.2), or it is none
)

var axes = [7][]string{
	naming: {
		"as we do", "message type", "type in lower case", "receive_", "parity_choose", "handle_message", "mcp_message", "tools/call", "bare", "by type alone",
		"without additions", "camelCase", "handle_message, payload", "tools/call by type, message",
	},
	reply:   {"result", "result.response", "content text", "params", "top level", "string", "event stream", "data"},
	echo:    {"same", "1", "string"},
	moment:  {"seconds", "microseconds", "offset", "offset and Z", "compact", "none"},
	refusal: {"-32601", "HTTP 400", "HTTP 404", "HTTP 405", "HTTP 422", "HTTP 500", "Unknown method", "result.error", "-32000", "-32603", "HTML"},
	words:   {"accept, parity_choice", "accepted, choice", "accept, choice", "accepted, parity_choice"},
	letters: {"GAME_JOIN_ACK", "game_join_ack", "no type"},
}

func (m manner) String() string { return strings.Join(m[:], "; ") }

// allPairs are manners in which every value of every axis meets every value of
// every other: each begins with two that have not met, and gets of each further
// axis the value that meets most for the first time.
func allPairs() []manner {
	var all []manner
	met := map[[2]string]bool{} // "axis/value" of two axes
	label := func(x, i int) string { return fmt.Sprint(x, "/", axes[x][i]) }
	for x := range axes {
		for y := x + 1; y < len(axes); y++ {
			for i := range axes[x] {
				for j := range axes[y] {
					if met[[2]string{label(x, i), label(y, j)}] {
						continue
					}
					chosen := map[int]int{x: i, y: j}
					for z := range axes {
						if _, fixed := chosen[z]; !fixed {
							chosen[z] = newest(z, len(all), chosen, met, label)
						}
					}
					var m manner
					for z := range axes {
						m[z] = axes[z][chosen[z]]
						for u := z + 1; u < len(axes); u++ {
							met[[2]string{label(z, chosen[z]), label(u, chosen[u])}] = true
						}
					}
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// someMore are manners by chance, always the same, in which more than two values
// meet that have not.
func someMore(n int) []manner {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]manner, n)
	for i := range all {
		for x := range axes {
			all[i][x] = axes[x][random.IntN(len(axes[x]))]
		}
	}
	return all
}

// newest is the value of an axis that meets most of those chosen for the first
// time, counted from the n-th.
func newest(z, n int, chosen map[int]int, met map[[2]string]bool, label func(x, i int) string) int {
	best, most := 0, -1
	for k := range axes[z] {
		i, fresh := (n+k)%len(axes[z]), 0
		for u, j := range chosen {
			pair := [2]string{label(z, i), label(u, j)}
			if z > u {
				pair = [2]string{label(u, j), label(z, i)}
			}
			if !met[pair] {
				fresh++
			}
		}
		if fresh > most {
			best, most = i, fresh
		}
	}
	return best
}

// An unseen player talks in a manner. It is in one match at a time: it refuses
// the next until it was told how the last one ended.
type unseen struct {
	manner

	mu       sync.Mutex
	requests map[string]int // by match: those that had to do with it
	errors   int            // GAME_ERRORs about it
	match    string
	strange  []string // what is no request at all
}

// questions are what a player is asked in a match, by message type.
var questions = []string{protocol.TypeGameInvitation, protocol.TypeChooseParityCall, protocol.TypeGameOver}

// understood finds the message that a request carries, if this is how the player
// wants it.
func (u *unseen) understood(request any) (messageType string, message any) {
	method, params := text(request, "method"), member(request, "params")
	if u.manner[naming] != "bare" {
		if id, whole := member(request, "id").(float64); member(request, "jsonrpc") != "2.0" || !whole || id != float64(int64(id)) {
			return "", nil
		}
	}
	asWeDo := []string{"handle_game_invitation", "choose_parity", "notify_match_result"}
	switch n := slices.Index(asWeDo, method); {
	case n < 0:
	case u.manner[naming] == "without additions" && member(params, "attempt") == nil && member(params, "draw_commitment") == nil && member(params, "draw") == nil:
		return questions[n], params
	case u.manner[naming] == "camelCase" && text(params, "matchId") != "":
		return questions[n], map[string]any{"match_id": text(params, "matchId")}
	}
	names := map[string][]string{
		"as we do":           asWeDo,
		"message type":       questions,
		"type in lower case": {"game_invitation", "choose_parity_call", "game_over"},
		"receive_":           {"receive_game_invitation", "receive_parity_call", "receive_game_over"},
		"parity_choose":      {"handle_game_invitation", "parity_choose", "notify_match_result"},
	}[u.manner[naming]]
	for i, name := range names {
		if name == method {
			return questions[i], params
		}
	}
	byType := func(wanted string, message any) (string, any) {
		if method == wanted {
			return text(message, "message_type"), message
		}
		return "", nil
	}
	switch u.manner[naming] {
	case "handle_message":
		return byType("handle_message", member(params, "message"))
	case "handle_message, payload":
		return byType("handle_message", member(params, "payload"))
	case "mcp_message":
		return byType("mcp_message", params)
	case "tools/call by type, message":
		if message := member(params, "arguments", "message"); method == "tools/call" && text(params, "name") == text(message, "message_type") {
			return text(message, "message_type"), message
		}
	case "by type alone":
		return text(params, "message_type"), params
	case "bare":
		return byType("", request)
	case "tools/call":
		for i, name := range asWeDo {
			if method == "tools/call" && text(params, "name") == name {
				return questions[i], member(params, "arguments")
			}
		}
	}
	return "", nil
}

// ServeHTTP answers a request.
func (u *unseen) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	request := readAll(in)
	whole := written(request)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, q := range append([]string{protocol.TypeGameError}, questions...) {
		if !strings.Contains(whole, `"`+q+`"`) {
			continue
		}
		if q == protocol.TypeGameError {
			u.errors++
			break
		}
		for _, id := range []string{"R1M1", "R2M1"} {
			if strings.Contains(whole, `"`+id+`"`) {
				u.requests[id]++
			}
		}
		break
	}
	if request == nil || in.URL.Path != http.Path {
		u.strange = append(u.strange, in.URL.Path+" "+whole)
	}
	messageType, message := u.understood(request)
	answer := u.answer(messageType, message)
	if answer == nil {
		u.refuse(out, request)
		return
	}
	u.wrap(out, request, messageType, answer)
}

// answer is what the player has to say to a message; nil for what it does not
// know.
func (u *unseen) answer(messageType string, message any) map[string]any {
	id := text(message, "match_id")
	answer := map[string]any{"match_id": id, "player_id": "player_7", "sender": "player:player_7", "protocol": "league.v2"}
	if now := u.now(); now != "" {
		answer["timestamp"] = now
	}
	accept, choice, _ := strings.Cut(u.manner[words], ", ")
	switch messageType {
	case protocol.TypeGameInvitation:
		u.name(answer, "GAME_JOIN_ACK")
		answer[accept] = u.match == "" || u.match == id
		if u.match == "" {
			u.match = id
		}
	case protocol.TypeChooseParityCall:
		u.name(answer, "CHOOSE_PARITY_RESPONSE")
		answer[choice] = "even"
	case protocol.TypeGameOver:
		u.match = ""
		return map[string]any{"status": "acknowledged"}
	default:
		return nil
	}
	return answer
}

// name gives an answer its type.
func (u *unseen) name(answer map[string]any, messageType string) {
	switch u.manner[letters] {
	case "GAME_JOIN_ACK":
		answer["message_type"] = messageType
	case "game_join_ack":
		answer["message_type"] = strings.ToLower(messageType)
	}
}

// now is a time as the player writes it.
func (u *unseen) now() string {
	return map[string]string{
		"seconds": "2026-11-20T17:03:42Z", "microseconds": "2026-11-20T17:03:42.135401Z", "offset": "2026-11-20T17:03:42.135401+00:00",
		"offset and Z": "2026-11-20T17:03:42.135401+00:00Z", "compact": "20261120T170342Z",
	}[u.manner[moment]]
}

func (u *unseen) echoed(request any) any {
	id := member(request, "id")
	switch {
	case u.manner[echo] == "1":
		return 1
	case u.manner[echo] == "string" && id != nil:
		return fmt.Sprint(id)
	}
	return id
}

// refuse says that the player does not know what it was asked.
func (u *unseen) refuse(out nethttp.ResponseWriter, request any) {
	var status int
	switch how := u.manner[refusal]; how {
	case "-32601":
		u.fail(out, request, -32601, "Method not found")
	case "-32000":
		u.fail(out, request, -32000, "Missing required fields")
	case "-32603":
		u.fail(out, request, -32603, "Unknown tool: "+text(request, "method"))
	case "HTML":
		out.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(out, "<html><title>Agent</title>")
	case "Unknown method":
		say(out, nethttp.StatusOK, map[string]any{"error": how})
	case "result.error":
		say(out, nethttp.StatusOK, map[string]any{"jsonrpc": "2.0", "id": u.echoed(request), "result": map[string]any{"error": "Unknown method"}})
	default:
		_, _ = fmt.Sscanf(how, "HTTP %d", &status)
		say(out, status, map[string]any{"detail": "no"})
	}
}

func (u *unseen) fail(out nethttp.ResponseWriter, request any, code int, message string) {
	say(out, nethttp.StatusOK, map[string]any{
		"jsonrpc": "2.0", "id": u.echoed(request), "error": map[string]any{"code": code, "message": message}, "result": nil,
	})
}

// wrap puts an answer where the player puts it.
func (u *unseen) wrap(out nethttp.ResponseWriter, request any, messageType string, answer map[string]any) {
	rpc := map[string]any{"jsonrpc": "2.0", "id": u.echoed(request)}
	switch u.manner[reply] {
	case "result", "event stream":
		rpc["result"] = answer
	case "result.response":
		rpc["result"] = map[string]any{"status": "ok", "response": answer}
	case "content text":
		rpc["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": written(answer)}}, "isError": false}
	case "data":
		rpc["result"] = map[string]any{"status": "success", "data": answer}
	case "params":
		rpc["method"], rpc["params"] = strings.ToLower(messageType)+"_response", answer
	case "top level":
		rpc = answer
	case "string":
		rpc["result"] = written(answer)
	}
	if u.manner[reply] == "event stream" {
		raw, _ := json.Marshal(rpc) // a tree of JSON always encodes
		out.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(out, "event: message\ndata: %s\n\n", raw)
		return
	}
	say(out, nethttp.StatusOK, rpc)
}

// mostTries is how many requests the first match of a player may take at most:
// the tries until its manner is known, and its three questions.
const mostTries = mostForms + 5

// Agents that nobody has seen: whatever the manner of a player is, it plays two
// matches under a referee of ours without losing technically. What it takes to
// find out is bounded, is no failure of the player's, and is done once.
func TestAPlayerOfAnyMannerPlaysWithoutTechnicalLoss(t *testing.T) {
	all := append(allPairs(), someMore(40)...)
	for i, m := range all {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			inAWorld(t, func(w *world) {
				u := &unseen{manner: m, requests: map[string]int{}}
				w.stranger(8107, u)
				boss := w.manager(2, 1, func(o *league.Options) { o.Legs = 2 })
				require.NoError(t, w.referee(refereePort).Register(w.life))
				require.NoError(t, w.player(8101).Register(w.life))
				_, answer := w.post(w.life, at(managerPort), registrationAt(8107))
				require.Equal(t, protocol.StatusAccepted, text(answer, "result", "status"), "%s", written(answer))
				await(w, boss.over)
				require.NoError(t, boss.failed)
				for _, row := range boss.Standings() {
					assert.Equal(t, 2, row.Played)
					assert.Zero(t, row.TechnicalLosses, "%s", row.PlayerID)
				}
				u.mu.Lock()
				defer u.mu.Unlock()
				assert.Zero(t, u.errors, "a try was taken for a failure")
				assert.Empty(t, u.strange)
				assert.LessOrEqual(t, u.requests["R1M1"], mostTries)
				assert.Equal(t, 3, u.requests["R2M1"], "the second match takes an invitation, a question and the result")
			})
		})
	}
}

// registrationAt is a registration in the words of the protocol.
func registrationAt(port int) any {
	return map[string]any{"jsonrpc": "2.0", "method": "register_player", "id": 1, "params": map[string]any{
		"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:somebody", "timestamp": "2026-11-20T17:02:30Z",
		"conversation_id": "conv-somebody", "player_meta": map[string]any{
			"display_name": "Somebody", "version": "1.0.0", "game_types": []any{"even_odd"}, "contact_endpoint": at(port),
		},
	}}
}

// The manners are what they are said to be: each two values meet.
func TestAllPairsOfMannersAreTried(t *testing.T) {
	met := map[string]bool{}
	for _, m := range allPairs() {
		for x := range m {
			for y := x + 1; y < len(m); y++ {
				met[fmt.Sprint(x, m[x], y, m[y])] = true
			}
		}
	}
	wanted := 0
	for x := range axes {
		for y := x + 1; y < len(axes); y++ {
			wanted += len(axes[x]) * len(axes[y])
		}
	}
	assert.Len(t, met, wanted)
	assert.Less(t, len(allPairs()), 200)
}
