package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// The transcript has the detail of an error, and the journal only the reason of the result: both tell the same cause.
func TestCauseOfAFailureIsThatOfTheWire(t *testing.T) {
	for _, c := range []struct{ name, code, detail, answer, reason, want string }{
		{"dead", "E009", "nobody listens at (an address): (an address) connect: connection refused", "",
			"could not be reached for GAME_JOIN_ACK (connection refused)", "was not running (connection refused)"},
		{"dead in memory", "E009", "nobody listens at memory://P03/mcp", "", "", "was not running (connection refused)"},
		{"unknown host", "E009", "nobody listens at (an address): lookup x: no such host", "", "",
			"could not be reached (unknown host name)"},
		{"no route", "E009", "dial tcp 192.0.2.1:80: connect: no route to host", "", "could not be reached for GAME_JOIN_ACK",
			"could not be reached"},
		{"closed", "E009", protocol.ClosedUnanswered, "", "accepted the connection, but sent no readable GAME_JOIN_ACK",
			"closed the connection without an answer"},
		{"status", "E009", "HTTP 500 Internal Server Error", "<html>", "answered CHOOSE_PARITY_CALL with HTTP 500",
			"answered with HTTP 500"},
		{"prose", "E009", "the answer is not JSON: jsontext: invalid character", "I choose even!",
			"answered CHOOSE_PARITY_CALL with HTTP 200 and no readable message", "sent an answer that is no JSON-RPC"},
		{"JSON of something else", "E009", "neither a result nor an error", "{}", "", "sent an answer that is no JSON-RPC"},
		{"crashed program", "E002", "answered with an error: JSON-RPC error -32603: bot.py: exit status 1", "",
			"answered CHOOSE_PARITY_CALL with JSON-RPC error -32603", "failed with an internal error"},
		{"unknown method", "E002", "answered with an error: JSON-RPC error -32601: Method not found", "",
			"answered CHOOSE_PARITY_CALL with JSON-RPC error -32601", "answered with JSON-RPC error -32601"},
		{"wrong type", "E002", "parity_choice must be a string", "", "sent no valid CHOOSE_PARITY_RESPONSE (E002)",
			"sent an answer with a wrong type"},
		{"late", "E001", "no answer in time", "", "did not send CHOOSE_PARITY_RESPONSE in time", "did not answer in time"},
		{"another code", "E005", "", "", "", "failed (E005 PLAYER_NOT_REGISTERED)"},
		{"no code of the catalogue", "no code", "", "", "", "failed"},
	} {
		cause := record.CauseOf(c.code, c.detail, c.answer)
		assert.Equal(t, c.want, cause.Words, c.name)
		r := &league.Result{Faults: league.PerPlayer[string]{{Name: "P04", Value: c.code}, {Name: "P09", Value: "E001"}}}
		r.Reason = "P04 " + c.reason + ", P09 did not send CHOOSE_PARITY_RESPONSE in time - both lose"
		if c.reason != "" {
			assert.Equal(t, cause, record.CauseIn(r, "P04"), c.name)
		}
		assert.Equal(t, "did not answer in time", record.CauseIn(r, "P09").Words)
	}
	assert.Empty(t, record.CauseIn(&league.Result{}, "P04").Words)
}

// A try that fails as the one before tells nothing new.
func TestTriesThatFailedForTheSameCauseAreRepeats(t *testing.T) {
	doc := &store.Match{RefereeID: "REF01", PlayerA: store.MatchPlayer{PlayerID: "P04"}}
	add := func(method string, try int, code, detail string) {
		doc.Transcript = append(doc.Transcript, store.Exchange{Direction: store.Sent, PlayerID: "P04", Method: method, Try: try},
			store.Exchange{Direction: store.Received, PlayerID: "P04", Method: method, Try: try,
				Error: &store.ExchangeError{ErrorCode: code, Detail: detail}})
	}
	const choose, gameError = "choose_parity", "notify_game_error"
	for try, detail := range []string{protocol.ClosedUnanswered, "connection refused", "connection refused", "connection refused"} {
		add(choose, try+1, "E009", detail)
		add(gameError, try+1, "E009", "connection refused")
	}
	add("notify_match_result", 1, "E002", "GAME_OVER is unknown")
	c := record.ConversationOf(doc, rules.Registry{})
	assert.Len(t, c.Lines, 18)
	assert.Zero(t, c.Repeated(7))
	assert.Equal(t, 8, c.Repeated(8), "two tries with their notices, without GAME_OVER")
	assert.Equal(t, "2 more tries of P04: was not running (connection refused)", c.Repeats(8, 8))

	causes := record.CausesOf(doc, "P04")
	assert.Equal(t, "3 × was not running (connection refused); 1 × closed the connection without an answer",
		record.CountedInWords(causes), "a notice decides no match")
	assert.Empty(t, record.CausesOf(doc, "P09"))
	assert.Empty(t, record.OwnWords(doc, "P04"))
	add(choose, 5, "E002", "answered with an error: JSON-RPC error -32603: bot.py: exit status 1")
	assert.Equal(t, "bot.py: exit status 1", record.OwnWords(doc, "P04"))
}
