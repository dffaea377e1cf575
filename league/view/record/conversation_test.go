package record_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// received is a response to a question about even and odd.
func received(at string, try int, message string, fault *store.ExchangeError) store.Exchange {
	x := store.Exchange{At: "2026-01-01T12:00:" + at + "Z", Direction: store.Received, PlayerID: "P01", Method: "choose_parity", Try: try, Error: fault}
	if message != "" {
		x.Message, x.MessageType = jsontext.Value(message), protocol.TypeChooseParityResponse
	}
	return x
}

func sent(at, player string, try int) store.Exchange {
	return store.Exchange{
		At: "2026-01-01T12:00:" + at + "Z", Direction: store.Sent, PlayerID: player, Method: "choose_parity", Try: try,
		MessageType: protocol.TypeChooseParityCall, Message: jsontext.Value(`{"message_type":"CHOOSE_PARITY_CALL","deadline":"2026-01-01T12:00:30Z"}`),
	}
}

func matchOf(exchanges ...store.Exchange) *store.Match {
	return &store.Match{
		LeagueID: "cup", RoundID: 1, MatchID: "R1M1", GameType: "even_odd", Attempt: 1, RefereeID: "REF01",
		PlayerA: store.MatchPlayer{PlayerID: "P01"}, PlayerB: store.MatchPlayer{PlayerID: "P02"}, Transcript: exchanges,
	}
}

// What beginners' agents answer, and what the replay says of it.
func TestConversationShowsWhatWasAnswered(t *testing.T) {
	wrongChoice := &store.ExchangeError{ErrorCode: "E004", ErrorName: "INVALID_PARITY_CHOICE", Detail: `choice must be "even" or "odd"`}
	unreadable := &store.ExchangeError{ErrorCode: "E009", ErrorName: "CONNECTION_ERROR", Detail: "the answer is not JSON"}
	for _, tt := range []struct {
		name            string
		message, answer string
		fault           *store.ExchangeError
		says, trouble   string
	}{
		{"a legal choice", `{"parity_choice":"even"}`, "", nil, "CHOOSE_PARITY_RESPONSE: even", ""},
		{"a fallback", `{"parity_choice":"even","fallback":true}`, "", nil, "CHOOSE_PARITY_RESPONSE: even (a fallback)", ""},
		{"a capital letter", `{"parity_choice":"Even"}`, `{"jsonrpc":"2.0","result":{"parity_choice":"Even"}}`, wrongChoice,
			`CHOOSE_PARITY_RESPONSE: "Even"`, record.TroubleWrong},
		{"a misspelled member", `{"timestamp":"x"}`, `{"jsonrpc":"2.0","id":3,"result":{"choise":"even"}}`, wrongChoice,
			`answered {"choise":"even"}`, record.TroubleWrong},
		{"a number", `{"timestamp":"x"}`, `{"jsonrpc": "2.0", "result": {"parity_choice": 4}}`, wrongChoice, `answered {"parity_choice":4}`, record.TroubleWrong},
		{"prose", `{}`, `{"jsonrpc":"2.0","id":3,"result":"I choose even"}`, wrongChoice, `answered "I choose even"`, record.TroubleWrong},
		{"a list", `{}`, `{"jsonrpc":"2.0","id":3,"result":["even"]}`, wrongChoice, `answered ["even"]`, record.TroubleWrong},
		{"null", `{}`, `{"jsonrpc":"2.0","id":3,"result":null}`, wrongChoice, `answered null`, record.TroubleWrong},
		{"an error", "", `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"KeyError: 'history'"}}`,
			&store.ExchangeError{ErrorCode: "E002"}, `answered {"code":-32000,"message":"KeyError: 'history'"}`, record.TroubleWrong},
		{"a page of HTML", "", "<html>\n<h1>500</h1></html>", unreadable, `answered <html>\n<h1>500</h1></html>`, record.TroubleWrong},
		{"no JSON", "", "even", unreadable, "answered even", record.TroubleWrong},
		{"half of a long answer", "", `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 300), unreadable,
			`answered {"jsonrpc":"2.0","result":"` + strings.Repeat("x", 133) + "…", record.TroubleWrong},
		{"a token", `{}`, `{"jsonrpc":"2.0","result":"tok-p01-abcdefghijklmnopqrstuvwxyz"}`, wrongChoice, `answered "***"`, record.TroubleWrong},
		{"a terminal sequence", `{"parity_choice":"\u001b[2Jeven"}`, "", wrongChoice, `CHOOSE_PARITY_RESPONSE: "\x1b[2Jeven"`, record.TroubleWrong},
		{"nothing", "", "", &store.ExchangeError{ErrorCode: "E001"}, "(no answer)", record.TroubleNoAnswer},
		{"a broken connection", "", "", &store.ExchangeError{ErrorCode: "E009"}, "(no answer)", record.TroubleUnreachable},
		{"busy", "", "", &store.ExchangeError{ErrorCode: "E022"}, "(asks to wait)", record.TroubleWait},
		{"too large", "", "", &store.ExchangeError{ErrorCode: "E023", Detail: "the message is too large to be kept"}, "(an answer that is too large for the file)", record.TroubleWrong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := received("01.000", 1, tt.message, tt.fault)
			x.Answer = tt.answer
			if tt.name == "too large" {
				x.MessageOmitted = store.OmittedTooLarge
			}
			c := record.ConversationOf(matchOf(x), rules.Registry{})
			require.Len(t, c.Lines, 1)
			assert.Equal(t, tt.says, c.Lines[0].Says)
			assert.Equal(t, tt.trouble, c.Lines[0].Trouble)
			_, err := json.Marshal(c)
			assert.NoError(t, err)
		})
	}
}

// An empty message of no type says so; it is not shown as an empty line.
func TestEmptyMessageWithoutTypeIsNamed(t *testing.T) {
	x := received("01.000", 1, `{}`, &store.ExchangeError{ErrorCode: "E004"})
	x.MessageType = ""
	assert.Equal(t, "an empty message, or one that the referee cannot read", record.ConversationOf(matchOf(x), rules.Registry{}).Lines[0].Says)
}

// A transcript has the messages of both players and of several tries in the order in which they
// were added. The conversation has the tries of each question in order.
func TestTriesAreInTheirOrder(t *testing.T) {
	late := &store.ExchangeError{ErrorCode: "E001"}
	c := record.ConversationOf(matchOf(
		sent("00.000", "P01", 1), sent("00.000", "P02", 1),
		sent("05.000", "P01", 2),
		received("05.000", 1, "", late), // recorded after the second question
		received("06.000", 2, `{"parity_choice":"even"}`, nil),
		store.Exchange{At: "2026-01-01T12:00:01.000Z", Direction: store.Received, PlayerID: "P02", Method: "choose_parity", Try: 1, Message: jsontext.Value(`{"parity_choice":"odd"}`)},
		sent("07.000", "P01", 1), // another turn
	), rules.Registry{})
	type one struct {
		from       string
		try, tries int
	}
	var got []one
	for _, u := range c.Lines {
		got = append(got, one{u.From + ">" + u.To, u.Try, u.Tries})
	}
	assert.Equal(t, []one{
		{"REF01>P01", 1, 2}, {"REF01>P02", 1, 0}, {"P02>REF01", 1, 0},
		{"P01>REF01", 1, 2}, {"REF01>P01", 2, 2}, {"P01>REF01", 2, 2},
		{"REF01>P01", 1, 0},
	}, got)
	assert.InDelta(t, 4.0, *c.Lines[3].Waited, 0.0001)
}

func TestVoidTryHasItsReason(t *testing.T) {
	x := received("05.000", 1, "", &store.ExchangeError{ErrorCode: "E001"})
	x.Void = "the referee stalled for 3s when the time to answer ended"
	u := record.ConversationOf(matchOf(x), rules.Registry{}).Lines[0]
	assert.Equal(t, record.TroubleVoid, u.Trouble)
	assert.Equal(t, x.Void, u.Void)
}

func TestLinesWithInvalidTimesKeepTheirOrder(t *testing.T) {
	first, second := sent("05.000", "P01", 1), received("01.000", 1, `{"parity_choice":"even"}`, nil)
	first.At = "yesterday"
	c := record.ConversationOf(matchOf(first, second), rules.Registry{})
	assert.Equal(t, []string{"REF01", "P01"}, []string{c.Lines[0].From, c.Lines[1].From})
	assert.Nil(t, c.Lines[1].Waited)
}

func TestManagerIsPartOfTheConversation(t *testing.T) {
	doc := matchOf(sent("00.500", "P01", 1))
	for at, state := range []string{protocol.StateAssigned, protocol.StateWaitingForPlayers, protocol.StateFinished, protocol.StateAcknowledged} {
		doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: state, At: "2026-01-01T12:00:0" + string(rune('0'+at)) + ".000Z"})
	}
	var got []string
	for _, u := range record.ConversationOf(doc, rules.Registry{}).Lines {
		got = append(got, u.From+">"+u.To+" "+u.MessageType)
	}
	assert.Equal(t, []string{
		"manager>REF01 MATCH_ASSIGNMENT", "REF01>P01 CHOOSE_PARITY_CALL", "REF01>manager MATCH_RESULT_REPORT", "manager>REF01 MATCH_RESULT_ACK",
	}, got)
}

// asked is a match with one question to P01 and the exchange that followed.
func asked(method, message string, change func(x *store.Exchange)) *store.Match {
	answer := store.Exchange{
		At: "2026-11-22T10:00:00.250Z", Direction: store.Received, PlayerID: "P01", Method: method, Try: 1, Message: []byte(message),
	}
	change(&answer)
	return &store.Match{MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", ConversationID: "conv-r1m1", Transcript: []store.Exchange{
		{At: "2026-11-22T10:00:00.000Z", Direction: store.Sent, PlayerID: "P01", Method: method, Try: 1}, answer,
	}}
}

const goodReply = `{"protocol":"league.v2","message_type":"GAME_JOIN_ACK","sender":"player:P01","timestamp":"2026-11-22T10:00:00Z","conversation_id":"conv-r1m1","match_id":"R1M1","player_id":"P01","arrival_timestamp":"2026-11-22T10:00:00Z","accept":true}`

func TestHealthJudgesAnswersAsTheRefereeDid(t *testing.T) {
	invite := protocol.Invite.Name
	failed := func(x *store.Exchange) {
		x.Error = &store.ExchangeError{ErrorCode: "E001", Detail: "no answer in time"}
		x.Message = nil
	}
	for _, tt := range []struct {
		name, message string
		change        func(x *store.Exchange)
		blamed        string // "" for no fault
		code, warning string
		timed         bool
	}{
		{"a good answer", goodReply, func(*store.Exchange) {}, "", "", "", true},
		{"no connection", "", func(x *store.Exchange) { failed(x); x.Error.ErrorCode = "E009" }, "P01", "E009", "", false},
		{"a request to wait", "", func(x *store.Exchange) { failed(x); x.Error.ErrorCode = "E022" }, "P01", "E022", "", false},
		{"an answer with an error", "", func(x *store.Exchange) { failed(x); x.Error.ErrorCode = "E002" }, "P01", "E002", "", true},
		{"a refusal", `{"accept":false}`, func(*store.Exchange) {}, "P01", "", "", true},
		{"an incomplete envelope", `{"accept":true}`, func(*store.Exchange) {}, "", "", "protocol: required (and 7 more)", true},
		{"a member that cannot be read", `{"accept":true,"player_id":7}`, func(x *store.Exchange) {
			x.UnreadableMembers = []string{"player_id"}
			x.Error = &store.ExchangeError{ErrorCode: "E002", Detail: "player_id cannot be read: 7"}
		}, "", "", "player_id cannot be read: 7", true},
		{"a try that is void", "", func(x *store.Exchange) { failed(x); x.Void = "the referee stalled" }, "REF01", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := record.NewHealth()
			faults := h.Add(asked(invite, tt.message, tt.change))
			p := h.Player("P01")
			if tt.blamed == "" {
				assert.Empty(t, faults)
			} else if assert.Len(t, faults, 1) {
				assert.Equal(t, tt.blamed, faults[0].AgentID)
				assert.Equal(t, tt.code, faults[0].Code)
				assert.Equal(t, tt.blamed == "REF01", faults[0].Local)
			}
			if tt.warning == "" {
				assert.Empty(t, p.Deviations())
			} else {
				assert.Equal(t, []record.Deviation{{Problem: tt.warning, Count: 1}}, p.Deviations())
			}
			if tt.timed {
				assert.Equal(t, []record.Latency{{Method: invite, Answers: 1, P50: 250, P90: 250, P99: 250, Longest: 250, Deadline: 5}}, p.Latency(protocol.DefaultTimeouts()))
			} else {
				assert.Empty(t, p.Latency(protocol.DefaultTimeouts()))
			}
		})
	}
}

// An answer that came too late took at least the time that the referee waited for it.
func TestLateAnswerHasATime(t *testing.T) {
	h := record.NewHealth()
	late := func(x *store.Exchange) {
		x.Message, x.Error, x.At = nil, &store.ExchangeError{ErrorCode: "E001"}, "2026-11-22T10:00:30.000Z"
	}
	for n := range 100 {
		change := func(*store.Exchange) {}
		if n >= 92 {
			change = late
		}
		h.Add(asked(protocol.ChooseParity.Name, goodReply, change))
	}
	list := h.Player("P01").Latency(protocol.DefaultTimeouts())
	want := record.Latency{Method: "choose_parity", Answers: 100, P50: 250, P90: 250, P99: 30000, Longest: 30000, Deadline: 30, Late: 8,
		LateFrom: 30000}
	assert.Equal(t, []record.Latency{want}, list)
	assert.Equal(t, []string{"250 ms", "> 30 s", "250", "> 30000"}, []string{want.Words(want.P90), want.Words(want.P99),
		want.Number(want.P90), want.Number(want.P99)})

	c := record.ConversationOf(asked(protocol.ChooseParity.Name, "", late), rules.Registry{})
	assert.Nil(t, c.Lines[0].Took, "a question")
	assert.InDelta(t, 30, *c.Lines[1].Took, 0)
	c = record.ConversationOf(asked(protocol.ChooseParity.Name, "", func(x *store.Exchange) {
		late(x)
		x.Timing = &protocol.Timing{Queued: time.Second, Waiting: 12 * time.Second}
	}), rules.Registry{})
	assert.InDelta(t, 12, *c.Lines[1].Took, 0, "as the carrier measured it")
}

// The time that a question waited at the referee is not the player's.
func TestLatencyLeavesOutTheQueueOfTheReferee(t *testing.T) {
	h := record.NewHealth()
	for ms := 1; ms <= 100; ms++ {
		h.Add(asked(protocol.ChooseParity.Name, goodReply, func(x *store.Exchange) {
			x.Timing = &protocol.Timing{Queued: time.Hour, Waiting: time.Duration(ms) * time.Millisecond}
		}))
	}
	assert.Equal(t, []record.Latency{{Method: "choose_parity", Answers: 100, P50: 50, P90: 90, P99: 99, Longest: 100, Deadline: 30}},
		h.Player("P01").Latency(protocol.DefaultTimeouts()))
	assert.Equal(t, 100, h.Attempts)
}
