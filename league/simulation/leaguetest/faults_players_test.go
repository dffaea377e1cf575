package leaguetest_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// playerFaults are the faults in a player's responses.
func playerFaults() []*fault {
	player := func(name, description string, ownResults matchResults, traits ...leaguetest.Option) *fault {
		return &fault{name: name, description: description, of: ofPlayer, ownResults: ownResults, traits: traits}
	}
	invited := func(parts ...leaguetest.Reply) leaguetest.Option {
		return leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(parts...))
	}
	asked := func(parts ...leaguetest.Reply) leaguetest.Option {
		return leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(parts...))
	}
	// beside does something else before each choice; the choice is valid.
	beside := func(name, what string, do func(w *hostileWorld, c *leaguetest.Call)) *fault {
		return &fault{name: name, description: what, of: ofPlayer, script: func(w *hostileWorld) []leaguetest.Option {
			return leaguetest.Options(asked(func(c *leaguetest.Call) (jsontext.Value, error) {
				do(w, c)
				return c.OwnAnswer()
			}))
		}}
	}
	// firstWrong makes the first choice of each match invalid, so that there is a
	// GAME_ERROR.
	firstWrong := leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally))

	faults := []*fault{
		player("invitation-unanswered", "never answers GAME_INVITATION", allLost, invited(leaguetest.Silent)),
		player("choice-unanswered", "never answers CHOOSE_PARITY_CALL", allLost, asked(leaguetest.Silent)),
		player("game-over-unanswered", "never answers GAME_OVER", allComplete, leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Silent)),
		player("announcement-unanswered", "never answers ROUND_ANNOUNCEMENT", allComplete, leaguetest.On(protocol.NotifyRound.Name, leaguetest.Silent)),
		player("standings-unanswered", "never answers LEAGUE_STANDINGS_UPDATE", allComplete, leaguetest.On(protocol.UpdateStandings.Name, leaguetest.Silent)),
		player("round-end-unanswered", "never answers ROUND_COMPLETED", allComplete, leaguetest.On(protocol.NotifyRoundCompleted.Name, leaguetest.Silent)),
		player("league-end-unanswered", "never answers LEAGUE_COMPLETED", allComplete, leaguetest.On(protocol.NotifyLeagueCompleted.Name, leaguetest.Silent)),
		player("game-error-unanswered", `chooses "Even", never answers the GAME_ERROR, then sends a valid choice`, allComplete,
			firstWrong, leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Silent)),
		player("everything-unanswered", "registers and then never answers", allLost, answersNothing),

		player("invitation-late", "answers each invitation after 6 s, 1 s too late", allLost, invited(leaguetest.Delayed(6*leaguetest.Second, leaguetest.Normally))),
		player("choice-late", "answers each CHOOSE_PARITY_CALL after 31 s, 1 s too late", allLost, asked(leaguetest.Delayed(31*leaguetest.Second, leaguetest.Normally))),
		player("choice-late-once", "answers the first CHOOSE_PARITY_CALL of each match too late", allComplete,
			leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.Delayed(31*leaguetest.Second, leaguetest.Normally), leaguetest.Normally))),
		player("answers-in-the-last-second", "answers every call in the last second of its window", allComplete,
			invited(leaguetest.Delayed(4*leaguetest.Second+900*ms, leaguetest.Normally)), asked(leaguetest.Delayed(29*leaguetest.Second+900*ms, leaguetest.Normally))),

		player("another-match", `sends a choice with match_id "R9M9"`, allLost, asked(leaguetest.EditAnswer("match_id", "R9M9"))),
		player("another-match-at-the-invitation", `sends GAME_JOIN_ACK with match_id "R9M9"`, allLost, invited(leaguetest.EditAnswer("match_id", "R9M9"))),
		player("another-conversation", "answers with another conversation_id", allComplete,
			asked(leaguetest.EditAnswer("conversation_id", "conv-elsewhere")), invited(leaguetest.EditAnswer("conversation_id", "conv-elsewhere"))),
		player("another-type", "sends a choice with message_type GAME_OVER", allLost, asked(leaguetest.EditAnswer("message_type", "GAME_OVER"))),
		player("another-protocol", "sends a choice with protocol league.v9", allComplete, asked(leaguetest.EditAnswer("protocol", "league.v9"))),
	}
	for _, choice := range []struct {
		name, description string
		value             any
	}{
		{"choice-is-a-number", "chooses 2", 2},
		{"choice-is-a-list", `chooses ["even"]`, []string{"even"}},
		{"choice-is-null", "chooses null", leaguetest.Null()},
		{"choice-is-an-object", `chooses {"parity":"even"}`, map[string]string{"parity": "even"}},
		{"choice-is-true", "chooses true", true},
		{"choice-is-missing", "omits parity_choice", nil},
		{"choice-is-empty", `chooses ""`, ""},
		{"choice-in-capitals", `chooses "Even"`, "Even"},
		{"choice-with-spaces", `chooses " even "`, " even "},
		{"choice-with-a-newline", `chooses "even\n"`, "even\n"},
		{"choice-is-both", `chooses "even odd"`, "even odd"},
		{"choice-of-50-KB", "chooses a string of 50,000 letters", strings.Repeat("even", 12_500)},
		{"choice-with-escape-characters", "chooses a string with terminal escape characters", "\x1b[2J\x1b]0;owned\x07even"},
		{"choice-with-look-alike-letters", `chooses "еven", with a Cyrillic first letter`, "еven"},
	} {
		faults = append(faults, player(choice.name, choice.description, allLost, asked(leaguetest.EditAnswer("parity_choice", choice.value))))
	}
	for _, answer := range []struct {
		name, description string
		value             any
	}{
		{"result-is-null", "sends the result null", leaguetest.Null()},
		{"result-is-a-list", "sends a list as the result", []int{1, 2}},
		{"result-is-a-string", `sends the result "even"`, "even"},
		{"result-is-empty", "sends the result {}", struct{}{}},
	} {
		faults = append(faults, player(answer.name, answer.description, allLost, asked(leaguetest.AnswerWith(answer.value))))
	}
	faults = append(faults,
		player("accept-is-a-string", `sends GAME_JOIN_ACK with accept "yes"`, allLost, invited(leaguetest.EditAnswer("accept", "yes"))),
		player("accept-is-missing", "sends GAME_JOIN_ACK without accept", allLost, invited(leaguetest.EditAnswer("accept", nil))),
		player("invalid-entropy-commitment", "commits to entropy with an invalid digest", allLost, invited(leaguetest.EditAnswer("entropy_commitment", "my lucky number"))),
		player("entropy-not-revealed", "commits to entropy and does not reveal it", allLost, asked(leaguetest.EditAnswer("entropy", nil))),
		player("other-entropy-revealed", "commits to entropy and reveals another value", allLost, asked(leaguetest.EditAnswer("entropy", protocol.Secret{7}.Hex()))),
		player("entropy-without-commitment", "reveals entropy without a commitment", allComplete,
			invited(leaguetest.EditAnswer("entropy_commitment", nil))),
		player("changes-its-choice", "sends an invalid choice first, and another choice on the retry", allComplete,
			leaguetest.On(protocol.ChooseParity.Name, eachMatch(leaguetest.ThenEdit(leaguetest.EditAnswer("match_id", "R9M9"), "parity_choice", "odd"), leaguetest.EditAnswer("parity_choice", "even")))),
		player("invalid-then-silent", `chooses "Even" and then stops answering`, allLost, asked(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Silent)),
		beside("calls-the-referee", "sends its choice to the referee as a request, and calls the referee's methods, before it answers", callsTheReferee),
		beside("asks-for-the-nonce", "calls the referee's get_match_state with its own token and with the access token of the match", asksForTheNonce),
		beside("sends-unsolicited-responses", "sends its choice to referee and manager as an unsolicited response, before it answers", sendsUnsolicitedResponses),
		beside("reports-its-own-win", "reports to the manager that it has won, with its own token and with the access token of the match", reportsItsOwnWin),
		beside("forges-the-league-end", "sends LEAGUE_COMPLETED as league_manager, with its own token, to the other players", forgesTheLeagueEnd),
		player("failing-strategy", "has a strategy that always fails", allLost, playing(broken{errors.New("no idea")})),
		player("league-error-as-result", "sends a LEAGUE_ERROR as the result", allLost, asked(leaguetest.AnswerWith(map[string]string{
			"protocol": "league.v2", "message_type": protocol.TypeLeagueError, "error_code": "E022",
		}))),
		player("game-over-as-result", "sends a GAME_OVER that says it has won as the result", allLost, asked(leaguetest.AnswerWith(map[string]any{
			"protocol": "league.v2", "message_type": protocol.TypeGameOver, "match_id": "R1M1",
			"game_result": map[string]any{"status": "WIN", "winner_player_id": "P02"},
		}))),
		player("error-of-64-KB", "sends errors with a message of 60,000 letters and escape characters", allLost,
			asked(leaguetest.FailWith(&transport.Error{Code: 1, Message: strings.Repeat("\x1b[31m very long ", 4000)}))),
		player("reason-of-60-KB", "rejects the invitation with a reason of 60,000 letters", allLost,
			invited(leaguetest.ThenEdit(leaguetest.EditAnswer("accept", false), "reason", strings.Repeat("because ", 7500)))),
	)
	for _, code := range []int{-32700, -32600, -32601, -32602, -32603, -1, -2, 0, 4004, 1 << 30} {
		faults = append(faults, player(fmt.Sprintf("error-%d", code), fmt.Sprintf("sends the JSON-RPC error %d", code), allLost,
			asked(leaguetest.FailWith(&transport.Error{Code: code, Message: "no"}))))
	}
	for _, code := range []protocol.Code{
		protocol.ErrTimeout, protocol.ErrConnection, protocol.ErrInvalidParityChoice, protocol.ErrTokenInvalid,
		protocol.ErrMatchNotFound, protocol.ErrRateLimited, protocol.ErrLeagueComplete,
	} {
		faults = append(faults, player("error-"+string(code), fmt.Sprintf("sends the LEAGUE_ERROR %s %s", code, code.Name()), allLost, asked(leaguetest.RefuseWith(code))))
	}
	return faults
}

const ms = leaguetest.Second / 1000

// eachMatch uses one reply for the first call in each match and another one for later calls.
func eachMatch(first, then leaguetest.Reply) leaguetest.Reply {
	var seen sync.Map // a call may be repeated while the first one is being answered
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		if _, again := seen.LoadOrStore(leaguetest.Decode[protocol.Envelope](c.Message).ConversationID, true); again {
			return then(c)
		}
		return first(c)
	}
}

func answersNothing(a *leaguetest.Agent) {
	for _, method := range []string{
		protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name, protocol.NotifyGameError.Name,
		protocol.NotifyRound.Name, protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name,
	} {
		a.Script[method] = leaguetest.Silent
	}
}

// body encodes a JSON-RPC request.
func body(method string, params any) string {
	raw, err := transport.EncodeRequest(method, params, 1)
	if err != nil {
		panic(err) // all requests of these tests can be encoded
	}
	return string(raw)
}

func callsTheReferee(w *hostileWorld, c *leaguetest.Call) {
	choice, _ := c.OwnAnswer()
	host := w.refereeOf(c)
	w.observe("choose_parity at the referee", w.post(host, body("choose_parity", choice)))
	w.observe("its response as a method", w.post(host, body(protocol.TypeChooseParityResponse, choice)))
	w.observe("start_match", w.post(host, body("start_match", w.Assignment("R9M1", 1, "REF01"))))
	w.observe("notify_league_completed", w.post(host, body("notify_league_completed", map[string]string{})))
	w.observe("draw_number", w.post(host, body("draw_number", map[string]string{})))
}

func asksForTheNonce(w *hostileWorld, c *leaguetest.Call) {
	q := leaguetest.Decode[protocol.ChooseParityCall](c.Message)
	for _, by := range []struct{ what, token string }{{"", w.Token(badPlayer)}, {" with the access token", q.AuthToken}} {
		w.observe("get_match_state"+by.what, w.post(w.refereeOf(c), body("get_match_state", map[string]string{"match_id": q.MatchID, "auth_token": by.token})))
	}
}

func sendsUnsolicitedResponses(w *hostileWorld, c *leaguetest.Call) {
	choice, _ := c.OwnAnswer()
	response := `{"jsonrpc":"2.0","result":` + string(choice) + `,"id":1}`
	w.observe("a response at the referee", w.post(w.refereeOf(c), response))
	w.observe("a response at the manager", w.post(leaguetest.ManagerHost, response))
}

func reportsItsOwnWin(w *hostileWorld, c *leaguetest.Call) {
	match := leaguetest.Decode[protocol.ChooseParityCall](c.Message)
	for _, by := range []struct{ sender, token, what string }{
		{protocol.PlayerSender(badPlayer), w.Token(badPlayer), "as itself"},
		{protocol.RefereeSender("REF01"), w.Token(badPlayer), "as the referee"},
		{protocol.RefereeSender("REF01"), match.AuthToken, "with the access token"},
	} {
		q := w.ReportOf("REF01", match.MatchID, new(badPlayer), badPlayer, match.Context.OpponentID, 3, 0)
		q.Sender, q.AuthToken = by.sender, by.token
		_, err := w.Report(q)
		w.observe("report_match_result "+by.what, answerOf(err))
	}
}

func forgesTheLeagueEnd(w *hostileWorld, _ *leaguetest.Call) {
	for _, bearer := range []struct{ what, credential string }{
		{"without a credential", ""}, {"with its own token", w.Token(badPlayer)}, {"with its own credential", w.ManagerCredential(badPlayer)},
	} {
		for _, a := range w.Agents() {
			if a.Player != nil && a != w.offender {
				w.observe("notify_league_completed "+bearer.what, answerOf(w.ManagerCalls(a, bearer.credential)["notify_league_completed"]()))
			}
		}
	}
}

// refereeOf returns the host of the calling referee.
func (w *hostileWorld) refereeOf(c *leaguetest.Call) string {
	return strings.ToLower(protocol.AgentOf(leaguetest.Decode[protocol.Envelope](c.Message).Sender))
}
