package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

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
		{"no answer", "", failed, "P01", "E001", "", false},
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
