package foreign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An asking is how a referee that nobody has seen talks to players: a value of each
// axis.
type asking [5]string

// The axes of referees.
const (
	called   = iota // what it calls methods, and where it puts the message
	saidWhen        // how it writes times
	numbered        // its request ids
	envelope        // how much of an envelope it sends
	identity        // who it says it is, and its players
)

var askings = [5][]string{
	called: {
		"as we do", "message type", "type in lower case", "receive_", "parity_choose", "handle_message", "mcp_message", "tools/call", "bare",
	},
	saidWhen: axes[moment],
	numbered: {"number", "always 1", "string", "uuid"},
	envelope: {"whole", "no conversation", "the type alone", "none"},
	identity: {"REF01", "ref_b4a7cebf", "Referee One", "nobody"},
}

// possible tells whether there may be such a referee: one that says what it asks,
// and that keeps to the protocol where it speaks its language. What lacks a part of
// the envelope there is a broken request (E003), and no dialect; to leave all of it
// out is one (003 §5.6.1).
func (a asking) possible() bool {
	switch a[called] {
	case "mcp_message", "handle_message", "bare":
		return a[envelope] != "none"
	case "as we do", "message type", "parity_choose":
		bare := a[envelope] == "none" || a[envelope] == "the type alone"
		return bare || a[envelope] == "whole" && a[saidWhen] != "none" && a[identity] != "nobody"
	}
	return true
}

// allAskings are possible askings in which every value of every axis meets every
// value of every other that it can meet.
func allAskings() []asking {
	met := map[string]bool{}
	var all []asking
	total := 1
	for _, axis := range askings {
		total *= len(axis)
	}
	for n := range total {
		var a asking
		rest := n * 7 % total // the number of values is no multiple of seven
		for x := range askings {
			a[x] = askings[x][rest%len(askings[x])]
			rest /= len(askings[x])
		}
		if !a.possible() {
			continue
		}
		fresh := false
		for x := range a {
			for y := x + 1; y < len(a); y++ {
				pair := fmt.Sprint(x, a[x], y, a[y])
				fresh = fresh || !met[pair]
				met[pair] = true
			}
		}
		if fresh {
			all = append(all, a)
		}
	}
	return all
}

// A referee that nobody has seen, of whatever manner, plays two matches with a
// player of ours: it is answered in the form in which it asked, and its ids come
// back.
func TestARefereeOfAnyMannerPlaysWithOurPlayer(t *testing.T) {
	all := allAskings()
	require.Greater(t, len(all), 40)
	for _, a := range all {
		t.Run(strings.Join(a[:], "; "), func(t *testing.T) {
			t.Parallel()
			inAWorld(t, func(w *world) {
				everything := captured(t, "maker-a")
				w.replay("maker-a", everything, managerPort, managerPort)
				p := w.player(8101)
				require.NoError(t, p.Register(w.life))
				for n := 1; n <= 2; n++ {
					a.play(w, fmt.Sprintf("R%dM1", n), n)
				}
				record := p.Record()
				assert.Equal(t, 2, record.Stats.TotalMatches)
				assert.Equal(t, 2, record.Stats.Draws)
			})
		})
	}
}

// play is a match: an invitation, a question, and the result.
func (a asking) play(w *world, match string, round int) {
	w.t.Helper()
	joined := a.ask(w, 0, match, map[string]any{
		"league_id": leagueID, "round_id": round, "game_type": "even_odd", "role_in_match": "PLAYER_A", "opponent_id": "P04",
	})
	assert.Equal(w.t, true, member(joined, "accept"), "%s", written(joined))
	chosen := a.ask(w, 1, match, map[string]any{
		"player_id": "P01", "game_type": "even_odd", "deadline": a.now(),
		"context": map[string]any{"opponent_id": "P04", "round_id": round, "your_standings": map[string]any{}},
	})
	choice := text(chosen, "parity_choice")
	assert.Contains(w.t, []string{"even", "odd"}, choice, "%s", written(chosen))
	a.ask(w, 2, match, map[string]any{"game_type": "even_odd", "game_result": map[string]any{
		"status": "DRAW", "winner_player_id": nil, "drawn_number": 7, "number_parity": "odd", "reason": "a draw",
		"choices": map[string]any{"P01": choice, "P04": choice},
	}})
}

// now is a time as the referee writes it.
func (a asking) now() any {
	if now := (&unseen{manner: manner{moment: a[saidWhen]}}).now(); now != "" {
		return now
	}
	return nil
}

// names are what the methods are called, in the order of questions.
func (a asking) names() []string {
	names := map[string][]string{
		"message type":       questions,
		"type in lower case": {"game_invitation", "choose_parity_call", "game_over"},
		"receive_":           {"receive_game_invitation", "receive_parity_call", "receive_game_over"},
		"parity_choose":      {"handle_game_invitation", "parity_choose", "notify_match_result"},
		"handle_message":     {"handle_message", "handle_message", "handle_message"},
		"mcp_message":        {"mcp_message", "mcp_message", "mcp_message"},
	}[a[called]]
	if names == nil {
		return []string{"handle_game_invitation", "choose_parity", "notify_match_result"}
	}
	return names
}

// message is the message of a question.
func (a asking) message(question int, match string, more map[string]any) map[string]any {
	message := map[string]any{"match_id": match}
	for name, value := range more {
		if value != nil {
			message[name] = value
		}
	}
	whole := a[envelope] == "whole"
	if a[envelope] != "none" {
		message["message_type"] = questions[question]
	}
	if whole || a[envelope] == "no conversation" {
		message["protocol"] = "league.v2"
		if now := a.now(); now != nil {
			message["timestamp"] = now
		}
		switch a[identity] {
		case "nobody":
		default:
			message["sender"], message["auth_token"] = "referee:"+a[identity], "tok-of-"+a[identity]
		}
	}
	if whole {
		message["conversation_id"] = "conv-" + match
	}
	return message
}

// ask asks a question, and returns the message of the answer, from where this
// referee looks for it.
func (a asking) ask(w *world, question int, match string, more map[string]any) any {
	w.t.Helper()
	message := a.message(question, match, more)
	request := map[string]any{"jsonrpc": "2.0", "method": a.names()[question], "params": message, "id": a.id(question)}
	switch a[called] {
	case "handle_message":
		request["params"] = map[string]any{"message": message}
	case "tools/call":
		request["method"], request["params"] = "tools/call", map[string]any{"name": a.names()[question], "arguments": message}
	case "bare":
		request = message
	}
	status, answer := w.post(w.life, at(8101), request)
	assert.Equal(w.t, 200, status)
	assert.Nil(w.t, member(answer, "error"), "%s", written(answer))
	if a[called] == "bare" {
		assert.Nil(w.t, member(answer, "jsonrpc"), "%s", written(answer))
		return answer
	}
	assert.Equal(w.t, written(request["id"]), written(member(answer, "id")))
	result := member(answer, "result")
	require.NotNil(w.t, result, "%s", written(answer))
	if a[called] == "tools/call" {
		var inner any
		list, _ := member(result, "content").([]any)
		require.Len(w.t, list, 1, "%s", written(answer))
		require.NoError(w.t, json.Unmarshal([]byte(text(list[0], "text")), &inner))
		return inner
	}
	return result
}

func (a asking) id(question int) any {
	switch a[numbered] {
	case "always 1":
		return 1
	case "string":
		return fmt.Sprint(question)
	case "uuid":
		return fmt.Sprintf("8fc61bb1-ebd1-48a1-84e2-%012d", question)
	}
	return 1001 + question
}
