package leaguetest_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
	"evenodd/transport"
)

// playerFaults are what a player can do wrong with its answers.
func playerFaults() []*fault {
	player := func(name, does string, fate lot, traits ...leaguetest.Option) *fault {
		return &fault{name: name, does: does, of: ofPlayer, fate: fate, traits: traits}
	}
	invited := func(parts ...leaguetest.Reply) leaguetest.Option {
		return leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(parts...))
	}
	asked := func(parts ...leaguetest.Reply) leaguetest.Option {
		return leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(parts...))
	}
	// beside does something else before each choice, which is right.
	beside := func(name, what string, do func(w *hostileWorld, c *leaguetest.Call)) *fault {
		return &fault{name: name, does: what, of: ofPlayer, script: func(w *hostileWorld) []leaguetest.Option {
			return leaguetest.Options(asked(func(c *leaguetest.Call) (jsontext.Value, error) {
				do(w, c)
				return c.OwnAnswer()
			}))
		}}
	}
	// firstWrong makes the first answer of each match wrong, so that there is a
	// GAME_ERROR.
	firstWrong := leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally))

	faults := []*fault{
		player("silent-at-the-invitation", "never answers GAME_INVITATION", loses, invited(leaguetest.Silent)),
		player("silent-at-the-choice", "never answers CHOOSE_PARITY_CALL", loses, asked(leaguetest.Silent)),
		player("silent-at-the-end", "never answers GAME_OVER", plays, leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Silent)),
		player("silent-at-the-announcement", "never answers ROUND_ANNOUNCEMENT", plays, leaguetest.On(protocol.NotifyRound.Name, leaguetest.Silent)),
		player("silent-at-the-standings", "never answers LEAGUE_STANDINGS_UPDATE", plays, leaguetest.On(protocol.UpdateStandings.Name, leaguetest.Silent)),
		player("silent-at-the-round-end", "never answers ROUND_COMPLETED", plays, leaguetest.On(protocol.NotifyRoundCompleted.Name, leaguetest.Silent)),
		player("silent-at-the-league-end", "never answers LEAGUE_COMPLETED", plays, leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.Silent)),
		player("silent-at-a-complaint", `chooses "Even", never answers the GAME_ERROR, then chooses rightly`, plays,
			firstWrong, leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Silent)),
		player("silent-at-everything", "registers, and never answers again", loses, silentAtEverything),

		player("late-at-the-invitation", "acknowledges each invitation after 6 s, one too late", loses, invited(leaguetest.Delayed(6*leaguetest.Second, leaguetest.Normally))),
		player("late-at-the-choice", "answers each question after 31 s, one too late", loses, asked(leaguetest.Delayed(31*leaguetest.Second, leaguetest.Normally))),
		player("late-once", "is too late with its first choice in each match", plays,
			leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.Delayed(31*leaguetest.Second, leaguetest.Normally), leaguetest.Normally))),
		player("at-the-last-moment", "answers every question in the last second", plays,
			invited(leaguetest.Delayed(4*leaguetest.Second+900*ms, leaguetest.Normally)), asked(leaguetest.Delayed(29*leaguetest.Second+900*ms, leaguetest.Normally))),

		player("another-match", `answers with match_id "R9M9"`, loses, asked(leaguetest.EditAnswer("match_id", "R9M9"))),
		player("another-match-at-the-invitation", `acknowledges with match_id "R9M9"`, loses, invited(leaguetest.EditAnswer("match_id", "R9M9"))),
		player("another-conversation", "answers with another conversation_id", plays,
			asked(leaguetest.EditAnswer("conversation_id", "conv-elsewhere")), invited(leaguetest.EditAnswer("conversation_id", "conv-elsewhere"))),
		player("another-type", "answers with message_type GAME_OVER", loses, asked(leaguetest.EditAnswer("message_type", "GAME_OVER"))),
		player("another-player", "answers with player_id P01, its opponent", plays, asked(leaguetest.EditAnswer("player_id", "P01"))),
		player("another-sender", "answers as league_manager", plays, asked(leaguetest.EditAnswer("sender", "league_manager"))),
		player("another-protocol", "answers with protocol league.v9", plays, asked(leaguetest.EditAnswer("protocol", "league.v9"))),
		player("another-time", "answers with timestamps of the year 1 and of another zone", plays, asked(leaguetest.EditAnswer("timestamp", "0001-01-01T00:00:00+05:30"))),
	}
	for _, choice := range []struct {
		name, does string
		value      any
	}{
		{"choice-is-a-number", "chooses 2", 2},
		{"choice-is-a-list", `chooses ["even"]`, []string{"even"}},
		{"choice-is-null", "chooses null", leaguetest.Null()},
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
		faults = append(faults, player(choice.name, choice.does, loses, asked(leaguetest.EditAnswer("parity_choice", choice.value))))
	}
	for _, answer := range []struct {
		name, does string
		value      any
	}{
		{"result-is-null", "answers a result that is null", leaguetest.Null()},
		{"result-is-a-list", "answers a result that is a list", []int{1, 2}},
		{"result-is-a-word", `answers the result "even"`, "even"},
		{"result-is-empty", "answers {}", struct{}{}},
	} {
		faults = append(faults, player(answer.name, answer.does, loses, asked(leaguetest.AnswerWith(answer.value))))
	}
	faults = append(faults,
		player("refuses-the-invitation", "acknowledges with accept false", loses, invited(leaguetest.EditAnswer("accept", false))),
		player("accepts-with-a-word", `acknowledges with accept "yes"`, loses, invited(leaguetest.EditAnswer("accept", "yes"))),
		player("accepts-with-a-number", "acknowledges with accept 1", loses, invited(leaguetest.EditAnswer("accept", 1))),
		player("does-not-say-whether", "acknowledges without accept", loses, invited(leaguetest.EditAnswer("accept", nil))),
		player("promises-nothing-readable", "promises entropy that is no digest", loses, invited(leaguetest.EditAnswer("entropy_commitment", "my lucky number"))),
		player("promise-broken", "promises entropy, and reveals none", loses, asked(leaguetest.EditAnswer("entropy", nil))),
		player("promise-falsified", "promises entropy, and reveals another", loses, asked(leaguetest.EditAnswer("entropy", protocol.Secret{7}.Hex()))),
		player("entropy-without-promise", "promises nothing, and reveals entropy all the same", plays,
			invited(leaguetest.EditAnswer("entropy_commitment", nil))),
		player("changes-its-mind", "is wrong first and, asked again, chooses otherwise than in the wrong answer", plays,
			leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.ThenEdit(leaguetest.EditAnswer("match_id", "R9M9"), "parity_choice", "odd"), leaguetest.EditAnswer("parity_choice", "even")))),
		player("wrong-then-silent", `chooses "Even", and does not answer any more`, loses, asked(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Silent)),
		beside("asks-the-referee", "sends its choice to the referee as a request, calls all the referee's methods and asks how its match stands, before it answers", asksTheReferee),
		beside("asks-for-the-nonce", "asks the referee for the state of its match with its own token, and with the access token of the match", asksForTheNonce),
		beside("answers-unasked", "sends its choice to referee and manager as a response that nobody asked for, before it answers", answersUnasked),
		beside("reports-for-itself", "reports to the manager that it has won, with its own token and with the access token of the match, before it answers", reportsForItself),
		beside("ends-the-league", "tells the other players, as league_manager with its own token, that the league is over and it has won", endsTheLeague),
		player("a-strategy-that-fails", "has a strategy that always fails", loses, func(a *leaguetest.Agent) { a.Decide = broken{errors.New("no idea")} }),
		player("league-error-as-result", "answers a result that is a LEAGUE_ERROR", loses, asked(leaguetest.AnswerWith(map[string]string{
			"protocol": "league.v2", "message_type": protocol.TypeLeagueError, "error_code": "E022",
		}))),
		player("claims-the-end", "answers a GAME_OVER that says it has won", loses, asked(leaguetest.AnswerWith(map[string]any{
			"protocol": "league.v2", "message_type": protocol.TypeGameOver, "match_id": "R1M1",
			"game_result": map[string]any{"status": "WIN", "winner_player_id": "P02"},
		}))),
		player("error-of-64-KB", "answers errors with a message of 60,000 letters and escape characters", loses,
			asked(leaguetest.FailWith(&transport.Error{Code: 1, Message: strings.Repeat("\x1b[31m very long ", 4000)}))),
		player("reason-of-60-KB", "refuses the invitation with a reason of 60,000 letters", loses,
			invited(leaguetest.ThenEdit(leaguetest.EditAnswer("accept", false), "reason", strings.Repeat("because ", 7500)))),
	)
	for _, code := range []int{-32700, -32600, -32601, -32602, -32603, -1, -2, 0, 4004, 1 << 30} {
		faults = append(faults, player(fmt.Sprintf("error-%d", code), fmt.Sprintf("answers the JSON-RPC error %d", code), loses,
			asked(leaguetest.FailWith(&transport.Error{Code: code, Message: "no"}))))
	}
	for _, code := range []protocol.Code{
		protocol.ErrTimeout, protocol.ErrConnection, protocol.ErrInvalidParityChoice, protocol.ErrTokenInvalid,
		protocol.ErrMatchNotFound, protocol.ErrRateLimited, protocol.ErrLeagueComplete,
	} {
		faults = append(faults, player("error-"+string(code), fmt.Sprintf("answers the LEAGUE_ERROR %s %s", code, code.Name()), loses, asked(leaguetest.RefuseWith(code))))
	}
	return faults
}

const ms = leaguetest.Second / 1000

// eachMatch plays a part for the first question in each match, and another for
// those that follow.
func eachMatch(first, then leaguetest.Reply) leaguetest.Reply {
	var seen sync.Map // a question may be repeated while it is being answered
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		if _, again := seen.LoadOrStore(leaguetest.Decode[protocol.Envelope](c.Message).ConversationID, true); again {
			return then(c)
		}
		return first(c)
	}
}

func silentAtEverything(a *leaguetest.Agent) {
	for _, method := range []string{
		protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name, protocol.NotifyGameError.Name,
		protocol.NotifyRound.Name, protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name,
	} {
		a.Script[method] = leaguetest.Silent
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

func asksTheReferee(w *hostileWorld, c *leaguetest.Call) {
	choice, _ := c.OwnAnswer()
	host := w.refereeOf(c)
	w.saw("choose_parity at the referee", w.post(host, body("choose_parity", choice)))
	w.saw("its response as a method", w.post(host, body(protocol.TypeChooseParityResponse, choice)))
	w.saw("start_match", w.post(host, body("start_match", w.Assignment("R9M1", 1, "REF01"))))
	w.saw("notify_league_completed", w.post(host, body("notify_league_completed", map[string]string{})))
	w.saw("draw_number", w.post(host, body("draw_number", map[string]string{})))
}

func asksForTheNonce(w *hostileWorld, c *leaguetest.Call) {
	q := leaguetest.Decode[protocol.ChooseParityCall](c.Message)
	for _, by := range []struct{ what, token string }{{"", w.Token(badPlayer)}, {" with the access token", q.AuthToken}} {
		w.saw("get_match_state"+by.what, w.post(w.refereeOf(c), body("get_match_state", map[string]string{"match_id": q.MatchID, "auth_token": by.token})))
	}
}

func answersUnasked(w *hostileWorld, c *leaguetest.Call) {
	choice, _ := c.OwnAnswer()
	response := `{"jsonrpc":"2.0","result":` + string(choice) + `,"id":1}`
	w.saw("a response at the referee", w.post(w.refereeOf(c), response))
	w.saw("a response at the manager", w.post(leaguetest.ManagerHost, response))
}

func reportsForItself(w *hostileWorld, c *leaguetest.Call) {
	match := leaguetest.Decode[protocol.ChooseParityCall](c.Message)
	winner := badPlayer
	for _, by := range []struct{ sender, token, what string }{
		{protocol.PlayerSender(badPlayer), w.Token(badPlayer), "as itself"},
		{protocol.RefereeSender("REF01"), w.Token(badPlayer), "as the referee"},
		{protocol.RefereeSender("REF01"), match.AuthToken, "with the access token"},
	} {
		q := w.ReportOf("REF01", match.MatchID, &winner, badPlayer, match.Context.OpponentID, 3, 0)
		q.Sender, q.AuthToken = by.sender, by.token
		_, err := w.Report(q)
		w.saw("report_match_result "+by.what, answerOf(err))
	}
}

func endsTheLeague(w *hostileWorld, _ *leaguetest.Call) {
	for _, bearer := range []struct{ what, credential string }{
		{"without a credential", ""}, {"with its own token", w.Token(badPlayer)}, {"with its own credential", w.ManagerCredential(badPlayer)},
	} {
		for _, a := range w.Agents() {
			if a.Player != nil && a != w.offender {
				w.saw("notify_league_completed "+bearer.what, answerOf(w.ManagerCalls(a, bearer.credential)["notify_league_completed"]()))
			}
		}
	}
}

// refereeOf is the host of the referee that put a question.
func (w *hostileWorld) refereeOf(c *leaguetest.Call) string {
	return strings.ToLower(protocol.AgentOf(leaguetest.Decode[protocol.Envelope](c.Message).Sender))
}
