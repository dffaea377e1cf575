package conversations

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// playerFaults are what a player can do wrong with its answers.
func playerFaults() []*fault {
	player := func(name, does string, fate lot, traits ...trait) *fault {
		return &fault{name: name, does: does, of: ofPlayer, fate: fate, traits: traits}
	}
	invited := func(parts ...part) trait { return does(protocol.Invite.Name, inTurn(parts...)) }
	asked := func(parts ...part) trait { return does(protocol.ChooseParity.Name, inTurn(parts...)) }
	// beside does something else before each choice, which is right.
	beside := func(name, what string, do func(w *hostileWorld, c *call)) *fault {
		return &fault{name: name, does: what, of: ofPlayer, script: func(w *hostileWorld) []trait {
			return with(asked(func(c *call) (jsontext.Value, error) {
				do(w, c)
				return c.answer()
			}))
		}}
	}
	// firstWrong makes the first answer of each match wrong, so that there is a
	// GAME_ERROR.
	firstWrong := does(protocol.ChooseParity.Name, eachMatch(editing("parity_choice", "Even"), honestly))

	faults := []*fault{
		player("silent-at-the-invitation", "never answers GAME_INVITATION", loses, invited(silent)),
		player("silent-at-the-choice", "never answers CHOOSE_PARITY_CALL", loses, asked(silent)),
		player("silent-at-the-end", "never answers GAME_OVER", plays, does(protocol.NotifyMatchResult.Name, silent)),
		player("silent-at-the-announcement", "never answers ROUND_ANNOUNCEMENT", plays, does(protocol.NotifyRound.Name, silent)),
		player("silent-at-the-standings", "never answers LEAGUE_STANDINGS_UPDATE", plays, does(protocol.UpdateStandings.Name, silent)),
		player("silent-at-the-round-end", "never answers ROUND_COMPLETED", plays, does(protocol.NotifyRoundCompleted.Name, silent)),
		player("silent-at-the-league-end", "never answers LEAGUE_COMPLETED", plays, does(protocol.NotifyLeagueCompleted.Name, silent)),
		player("silent-at-a-complaint", `chooses "Even", never answers the GAME_ERROR, then chooses rightly`, plays,
			firstWrong, does(protocol.NotifyGameError.Name, silent)),
		player("silent-at-everything", "registers, and never answers again", loses, silentAtEverything),

		player("late-at-the-invitation", "acknowledges each invitation after 6 s, one too late", loses, invited(after(6*second, honestly))),
		player("late-at-the-choice", "answers each question after 31 s, one too late", loses, asked(after(31*second, honestly))),
		player("late-once", "is too late with its first choice in each match", plays,
			does(protocol.ChooseParity.Name, eachMatch(after(31*second, honestly), honestly))),
		player("at-the-last-moment", "answers every question in the last second", plays,
			invited(after(4*second+900*ms, honestly)), asked(after(29*second+900*ms, honestly))),

		player("another-match", `answers with match_id "R9M9"`, loses, asked(editing("match_id", "R9M9"))),
		player("another-match-at-the-invitation", `acknowledges with match_id "R9M9"`, loses, invited(editing("match_id", "R9M9"))),
		player("another-conversation", "answers with another conversation_id", plays,
			asked(editing("conversation_id", "conv-elsewhere")), invited(editing("conversation_id", "conv-elsewhere"))),
		player("another-type", "answers with message_type GAME_OVER", loses, asked(editing("message_type", "GAME_OVER"))),
		player("another-player", "answers with player_id P01, its opponent", plays, asked(editing("player_id", "P01"))),
		player("another-sender", "answers as league_manager", plays, asked(editing("sender", "league_manager"))),
		player("another-protocol", "answers with protocol league.v9", plays, asked(editing("protocol", "league.v9"))),
		player("another-time", "answers with timestamps of the year 1 and of another zone", plays, asked(editing("timestamp", "0001-01-01T00:00:00+05:30"))),
	}
	for _, choice := range []struct {
		name, does string
		value      any
	}{
		{"choice-is-a-number", "chooses 2", 2},
		{"choice-is-a-list", `chooses ["even"]`, []string{"even"}},
		{"choice-is-null", "chooses null", null()},
		{"choice-is-an-object", `chooses {"parity":"even"}`, map[string]string{"parity": "even"}},
		{"choice-is-true", "chooses true", true},
		{"choice-is-missing", "leaves the choice out", nil},
		{"choice-is-empty", `chooses ""`, ""},
		{"choice-in-capitals", `chooses "Even"`, "Even"},
		{"choice-with-spaces", `chooses " even "`, " even "},
		{"choice-with-a-line-end", `chooses "even\n"`, "even\n"},
		{"choice-is-both", `chooses "even odd"`, "even odd"},
		{"choice-of-50-KB", "chooses a word of 50,000 letters", strings.Repeat("even", 12_500)},
		{"choice-steers-the-terminal", "chooses escape characters for the terminal", "\x1b[2J\x1b]0;owned\x07even"},
		{"choice-of-look-alikes", `chooses "еven", whose first letter is Cyrillic`, "еven"},
	} {
		faults = append(faults, player(choice.name, choice.does, loses, asked(editing("parity_choice", choice.value))))
	}
	for _, answer := range []struct {
		name, does string
		value      any
	}{
		{"result-is-null", "answers a result that is null", null()},
		{"result-is-a-list", "answers a result that is a list", []int{1, 2}},
		{"result-is-a-word", `answers the result "even"`, "even"},
		{"result-is-empty", "answers {}", struct{}{}},
	} {
		faults = append(faults, player(answer.name, answer.does, loses, asked(saying(answer.value))))
	}
	faults = append(faults,
		player("refuses-the-invitation", "acknowledges with accept false", loses, invited(editing("accept", false))),
		player("accepts-with-a-word", `acknowledges with accept "yes"`, loses, invited(editing("accept", "yes"))),
		player("accepts-with-a-number", "acknowledges with accept 1", loses, invited(editing("accept", 1))),
		player("does-not-say-whether", "acknowledges without accept", loses, invited(editing("accept", nil))),
		player("promises-nothing-readable", "promises entropy that is no digest", loses, invited(editing("entropy_commitment", "my lucky number"))),
		player("promise-broken", "promises entropy, and reveals none", loses, asked(editing("entropy", nil))),
		player("promise-falsified", "promises entropy, and reveals another", loses, asked(editing("entropy", protocol.Secret{7}.Hex()))),
		player("entropy-without-promise", "promises nothing, and reveals entropy all the same", plays,
			invited(editing("entropy_commitment", nil))),
		player("changes-its-mind", "is wrong first and, asked again, chooses otherwise than in the wrong answer", plays,
			does(protocol.ChooseParity.Name, eachMatch(altogether(editing("match_id", "R9M9"), "parity_choice", "odd"), editing("parity_choice", "even")))),
		player("wrong-then-silent", `chooses "Even", and does not answer any more`, loses, asked(editing("parity_choice", "Even"), silent)),
		beside("asks-the-referee", "sends its choice to the referee as a request, calls all the referee's methods and asks how its match stands, before it answers", asksTheReferee),
		beside("asks-for-the-nonce", "asks the referee for the state of its match with its own token, and with the access token of the match", asksForTheNonce),
		beside("answers-unasked", "sends its choice to referee and manager as a response that nobody asked for, before it answers", answersUnasked),
		beside("reports-for-itself", "reports to the manager that it has won, with its own token and with the access token of the match, before it answers", reportsForItself),
		beside("ends-the-league", "tells the other players, as league_manager with its own token, that the league is over and it has won", endsTheLeague),
		player("a-strategy-that-fails", "has a strategy that always fails", loses, func(a *actor) { a.decide = broken{errors.New("no idea")} }),
		player("league-error-as-result", "answers a result that is a LEAGUE_ERROR", loses, asked(saying(map[string]string{
			"protocol": "league.v2", "message_type": protocol.TypeLeagueError, "error_code": "E022",
		}))),
		player("claims-the-end", "answers a GAME_OVER that says it has won", loses, asked(saying(map[string]any{
			"protocol": "league.v2", "message_type": protocol.TypeGameOver, "match_id": "R1M1",
			"game_result": map[string]any{"status": "WIN", "winner_player_id": "P02"},
		}))),
		player("error-of-64-KB", "answers errors with a message of 60,000 letters and escape characters", loses,
			asked(failing(&transport.Error{Code: 1, Message: strings.Repeat("\x1b[31m very long ", 4000)}))),
		player("reason-of-60-KB", "refuses the invitation with a reason of 60,000 letters", loses,
			invited(altogether(editing("accept", false), "reason", strings.Repeat("because ", 7500)))),
	)
	for _, code := range []int{-32700, -32600, -32601, -32602, -32603, -1, -2, 0, 4004, 1 << 30} {
		faults = append(faults, player(fmt.Sprintf("error-%d", code), fmt.Sprintf("answers the JSON-RPC error %d", code), loses,
			asked(failing(&transport.Error{Code: code, Message: "no"}))))
	}
	for _, code := range []protocol.Code{
		protocol.ErrTimeout, protocol.ErrConnection, protocol.ErrInvalidParityChoice, protocol.ErrTokenInvalid,
		protocol.ErrMatchNotFound, protocol.ErrRateLimited, protocol.ErrLeagueComplete,
	} {
		faults = append(faults, player("error-"+string(code), fmt.Sprintf("answers the LEAGUE_ERROR %s %s", code, code.Name()), loses, asked(refusing(code))))
	}
	return faults
}

const ms = second / 1000

// eachMatch plays a part for the first question in each match, and another for
// those that follow.
func eachMatch(first, then part) part {
	var seen sync.Map // a question may be repeated while it is being answered
	return func(c *call) (jsontext.Value, error) {
		if _, again := seen.LoadOrStore(read[protocol.Envelope](c.message).ConversationID, true); again {
			return then(c)
		}
		return first(c)
	}
}

// altogether changes one more member of what a part answers.
func altogether(play part, member string, value any) part {
	return func(c *call) (jsontext.Value, error) {
		answer, err := play(c)
		if err != nil {
			return nil, err
		}
		return edited(answer, member, value), nil
	}
}

func silentAtEverything(a *actor) {
	for _, method := range []string{
		protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name, protocol.NotifyGameError.Name,
		protocol.NotifyRound.Name, protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name,
	} {
		a.parts[method] = silent
	}
}

// body is a request of JSON-RPC.
func body(method string, params any) string {
	raw, err := transport.EncodeRequest(method, params, 1)
	if err != nil {
		panic(err) // what the tests send can be written
	}
	return string(raw)
}

func asksTheReferee(w *hostileWorld, c *call) {
	choice, _ := c.answer()
	host := w.refereeOf(c)
	w.saw("choose_parity at the referee", w.post(host, body("choose_parity", choice)))
	w.saw("its response as a method", w.post(host, body(protocol.TypeChooseParityResponse, choice)))
	w.saw("start_match", w.post(host, body("start_match", w.assignment("R9M1", 1, "REF01"))))
	w.saw("notify_league_completed", w.post(host, body("notify_league_completed", map[string]string{})))
	w.saw("draw_number", w.post(host, body("draw_number", map[string]string{})))
}

func asksForTheNonce(w *hostileWorld, c *call) {
	q := read[protocol.ChooseParityCall](c.message)
	for _, by := range []struct{ what, token string }{{"", w.token(badPlayer)}, {" with the access token", q.AuthToken}} {
		w.saw("get_match_state"+by.what, w.post(w.refereeOf(c), body("get_match_state", map[string]string{"match_id": q.MatchID, "auth_token": by.token})))
	}
}

func answersUnasked(w *hostileWorld, c *call) {
	choice, _ := c.answer()
	response := `{"jsonrpc":"2.0","result":` + string(choice) + `,"id":1}`
	w.saw("a response at the referee", w.post(w.refereeOf(c), response))
	w.saw("a response at the manager", w.post(theBoss, response))
}

func reportsForItself(w *hostileWorld, c *call) {
	match := read[protocol.ChooseParityCall](c.message)
	winner := badPlayer
	for _, by := range []struct{ sender, token, what string }{
		{protocol.PlayerSender(badPlayer), w.token(badPlayer), "as itself"},
		{protocol.RefereeSender("REF01"), w.token(badPlayer), "as the referee"},
		{protocol.RefereeSender("REF01"), match.AuthToken, "with the access token"},
	} {
		q := w.verdict("REF01", match.MatchID, &winner, badPlayer, match.Context.OpponentID, 3, 0)
		q.Sender, q.AuthToken = by.sender, by.token
		_, err := w.report(q)
		w.saw("report_match_result "+by.what, answerOf(err))
	}
}

func endsTheLeague(w *hostileWorld, _ *call) {
	for _, bearer := range []struct{ what, credential string }{
		{"without a credential", ""}, {"with its own token", w.token(badPlayer)}, {"with its own credential", w.credential(badPlayer)},
	} {
		for _, a := range w.everybody() {
			if a.player != nil && a != w.offender {
				w.saw("notify_league_completed "+bearer.what, answerOf(w.manages(a, bearer.credential)["notify_league_completed"]()))
			}
		}
	}
}

// refereeOf is the host of the referee that put a question.
func (w *hostileWorld) refereeOf(c *call) string {
	return strings.ToLower(protocol.AgentOf(read[protocol.Envelope](c.message).Sender))
}
