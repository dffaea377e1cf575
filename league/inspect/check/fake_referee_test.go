package check_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/inspect/check"
)

// A fakeReferee is a referee of few lines that keeps to the documents. It shares no code with the referee of this
// program. Its members make it unusual, but not wrong.
type fakeReferee struct {
	n            *network
	url, manager string

	announced bool          // it starts matches by the announcement of a round alone
	obliging  bool          // it acknowledges every call that it does not know
	inHandler bool          // it answers the start of a match when the match is over
	alone     bool          // it serves one call at a time
	thinks    time.Duration // before each of its calls
	begins    time.Duration // before it begins a match

	serving chan struct{}
	dead    chan struct{} // closed when the test ends
	playing sync.WaitGroup
	mu      sync.Mutex
	token   string
	numbers int
}

// checkFakeReferee examines a fakeReferee, which registers by itself.
func checkFakeReferee(n *network, r *fakeReferee, only ...string) *check.Report {
	n.Helper()
	l, own := n.open(), n.open()
	r.serving, r.dead = make(chan struct{}, 1), make(chan struct{})
	r.n, r.url, r.manager = n, urlOf(own), urlOf(l)
	n.serveAt(own, r)
	n.Cleanup(func() { close(r.dead) })
	registered := make(chan struct{})
	go func() {
		defer close(registered)
		meta := object{"display_name": "Fake", "version": "1.0.0", "game_types": []string{"even_odd"}, "contact_endpoint": r.url,
			"max_concurrent_matches": 2}
		answer := r.call(r.manager, "register_referee", r.message("REFEREE_REGISTER_REQUEST", object{"referee_meta": meta}))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.token, _ = answer["auth_token"].(string)
	}()
	report := n.check(check.Options{
		Role: check.Referee, URL: r.url, Listener: l, Wait: time.Minute, Selection: check.Selection{Only: only},
	})
	<-registered
	r.playing.Wait()
	return report
}

func (r *fakeReferee) message(messageType string, with object) object {
	with["protocol"], with["message_type"], with["sender"], with["conversation_id"] = "league.v2", messageType, "referee:REF01", "c1"
	with["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05Z")
	return with
}

// call returns the result of a call; nil if there is none.
func (r *fakeReferee) call(url, method string, params object) object {
	select {
	case <-time.After(r.thinks):
	case <-r.dead:
		return nil
	}
	body := marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	client := r.n.client()
	client.Timeout = 2 * time.Second
	answer, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	var response object
	_ = json.Unmarshal(text, &response)
	return inner(response, "result")
}

func (r *fakeReferee) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if r.alone {
		select { // no mutex: virtual time stands still while one is awaited
		case r.serving <- struct{}{}:
			defer func() { <-r.serving }()
		case <-r.dead:
			return
		}
	}
	var asked object
	body, _ := io.ReadAll(q.Body)
	_ = json.Unmarshal(body, &asked)
	method, _ := asked["method"].(string)
	params, response := inner(asked, "params"), object{"jsonrpc": "2.0", "id": asked["id"]}
	match, starts := params, method == "start_match" && !r.announced
	if r.announced && method == "notify_round" {
		if all, _ := params["matches"].([]any); len(all) == 1 {
			match, _ = all[0].(object)
			starts = match["player_A_endpoint"] != nil
			match["league_id"], match["round_id"] = params["league_id"], params["round_id"]
		}
	}
	switch {
	case starts && r.inHandler:
		r.play(match)
	case starts:
		r.playing.Go(func() { r.play(match) })
	}
	switch {
	case starts, strings.HasPrefix(method, "notify_"):
		response["result"] = r.message("MATCH_ASSIGNMENT_ACK", object{"status": "ACCEPTED", "match_id": match["match_id"], "attempt": 1})
	case r.obliging:
		response["result"] = object{"status": "ok"}
	default:
		response["error"] = object{"code": -32601, "message": "Method not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(marshal(response))
}

// play conducts a match in which the players choose at once and well, or one does not take part.
func (r *fakeReferee) play(m object) {
	select {
	case <-time.After(r.begins):
	case <-r.dead:
		return
	}
	ids, urls := [2]string{}, map[string]string{}
	for i, side := range []string{"player_A", "player_B"} {
		id, url := inner(m, side)["player_id"], inner(m, side)["endpoint"]
		if r.announced {
			id, url = m[side+"_id"], m[side+"_endpoint"]
		}
		ids[i], _ = id.(string)
		urls[ids[i]], _ = url.(string)
	}
	send := func(id, method, messageType string, with object) object {
		with["match_id"], with["game_type"], with["player_id"] = m["match_id"], "even_odd", id
		with["league_id"], with["round_id"] = m["league_id"], m["round_id"]
		return r.call(urls[id], method, r.message(messageType, with))
	}
	choices, failed := object{}, ""
	for i, id := range ids {
		role := []string{"PLAYER_A", "PLAYER_B"}[i]
		if send(id, "handle_game_invitation", "GAME_INVITATION", object{"role_in_match": role, "opponent_id": ids[1-i]})["accept"] != true {
			failed = id
		}
	}
	for i, id := range ids {
		if failed != "" {
			break
		}
		for try := 0; try < 4 && choices[id] == nil; try++ {
			answer := send(id, "choose_parity", "CHOOSE_PARITY_CALL", object{"deadline": "2099-01-01T00:00:00Z",
				"context": object{"opponent_id": ids[1-i], "round_id": 1, "your_standings": object{"wins": 0, "losses": 0, "draws": 0}}})
			choice := answer["parity_choice"]
			if (choice == "even" || choice == "odd") && answer["match_id"] == m["match_id"] {
				choices[id] = choice
			}
		}
		if choices[id] == nil {
			failed = id
		}
	}
	result := object{"status": "WIN", "winner_player_id": nil, "drawn_number": nil, "number_parity": nil, "choices": choices, "reason": "as drawn"}
	details := object{"choices": choices, "drawn_number": nil}
	if failed == "" {
		r.mu.Lock()
		r.numbers++
		number := 1 + r.numbers%10
		r.mu.Unlock()
		parity := []string{"even", "odd"}[number%2]
		result["drawn_number"], result["number_parity"], details["drawn_number"] = number, parity, number
		if choices[ids[0]] != choices[ids[1]] {
			failed = ids[0]
			if choices[ids[0]] == parity {
				failed = ids[1]
			}
		} else {
			result["status"] = "DRAW"
		}
	} else {
		result["status"], result["choices"], details["choices"] = "TECHNICAL_LOSS", object{ids[0]: nil, ids[1]: nil}, object{}
	}
	score := object{ids[0]: 1, ids[1]: 1}
	if failed != "" {
		winner := ids[0]
		if failed == winner {
			winner = ids[1]
		}
		result["winner_player_id"] = winner
		score = object{winner: 3, failed: 0}
	}
	for _, id := range ids {
		send(id, "notify_match_result", "GAME_OVER", object{"game_result": result})
	}
	r.mu.Lock()
	token := r.token
	r.mu.Unlock()
	r.call(r.manager, "report_match_result", r.message("MATCH_RESULT_REPORT", object{"auth_token": token, "league_id": m["league_id"],
		"round_id": m["round_id"], "match_id": m["match_id"], "game_type": "even_odd",
		"result": object{"winner": result["winner_player_id"], "score": score, "details": details}}))
}
