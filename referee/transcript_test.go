package referee

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

func transcriptWith(tokens ...string) *transcript {
	begin := time.Date(2025, 1, 15, 10, 30, 0, 123_456_789, time.FixedZone("", 3600))
	return newTranscript(func() time.Time { return begin }, tokens...)
}

// filed returns the document that a transcript makes.
func filed(c *transcript) *store.Match {
	doc := &store.Match{}
	c.moveTo(doc, true)
	return doc
}

func joined(change func(*protocol.GameJoinAck)) *protocol.GameJoinAck {
	ack := &protocol.GameJoinAck{
		Envelope: protocol.Envelope{MessageType: protocol.TypeGameJoinAck, Sender: "player:P01", AuthToken: "secret"},
		MatchID:  "R1M1",
	}
	if change != nil {
		change(ack)
	}
	return ack
}

func TestExchangeIsEncodedWithoutTokens(t *testing.T) {
	fault := protocol.Fault(protocol.ErrMatchIDMismatch, "not this match")
	for _, test := range []struct {
		name    string
		answer  any
		fault   *protocol.Error
		message string
		kind    string
		want    *store.ExchangeError
		omitted string
	}{
		{
			name: "a message with a token", answer: joined(nil), kind: "GAME_JOIN_ACK",
			message: `{"message_type":"GAME_JOIN_ACK","sender":"player:P01","match_id":"R1M1"}`,
		},
		{
			name: "a message with a fault", answer: joined(nil), fault: fault, kind: "GAME_JOIN_ACK",
			message: `{"message_type":"GAME_JOIN_ACK","sender":"player:P01","match_id":"R1M1"}`,
			want:    &store.ExchangeError{ErrorCode: "E015", ErrorName: "MATCH_ID_MISMATCH", Detail: "not this match"},
		},
		{
			name: "no message", fault: protocol.AsError(errors.New("hung up on a token: secret-of-many-letters")),
			want: &store.ExchangeError{ErrorCode: "E009", ErrorName: "CONNECTION_ERROR", Detail: "hung up on a token: ***"},
		},
		{
			name:   "a token in another member",
			answer: joined(func(a *protocol.GameJoinAck) { a.MatchID = "secret-of-many-letters" }), kind: "GAME_JOIN_ACK",
			message: `{"message_type":"GAME_JOIN_ACK","sender":"player:P01","match_id":"***"}`,
		},
		{
			name:    "invalid UTF-8",
			answer:  joined(func(a *protocol.GameJoinAck) { a.MatchID, a.MessageType = "a\xffb", "" }),
			message: `{"sender":"player:P01","match_id":"a` + "\uFFFD" + `b"}`,
		},
		{
			name:   "a message that is too large",
			answer: joined(func(a *protocol.GameJoinAck) { a.MatchID = strings.Repeat("x", store.MaxMessage) }), kind: "GAME_JOIN_ACK",
			want: &store.ExchangeError{ErrorCode: "E023", ErrorName: "MESSAGE_TOO_LARGE", Detail: "the message is omitted because it is too large: 65604 bytes"}, omitted: store.OmittedTooLarge,
		},
		{
			name: "a value without JSON encoding", answer: make(chan int), fault: fault,
			want: &store.ExchangeError{ErrorCode: "E015", ErrorName: "MATCH_ID_MISMATCH", Detail: "not this match; the message has no encoding as JSON and is omitted"}, omitted: store.OmittedUnencoded,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := transcriptWith("secret-of-many-letters", "", protocol.NoToken)
			c.received("P01", entry{Exchange: store.Exchange{Method: "handle_game_invitation", Try: 2}, message: test.answer, fault: test.fault})
			doc := filed(c)
			require.Len(t, doc.Transcript, 1)
			assert.Equal(t, test.message, string(doc.Transcript[0].Message))
			doc.Transcript[0].Message = nil
			assert.Equal(t, store.Exchange{
				At: "2025-01-15T09:30:00.123Z", Direction: store.Received, PlayerID: "P01",
				Method: "handle_game_invitation", MessageType: test.kind, Try: 2, Error: test.want, MessageOmitted: test.omitted,
			}, doc.Transcript[0])
		})
	}
}

func TestFullTranscriptStillHasTheEnd(t *testing.T) {
	c := transcriptWith()
	for range store.MaxExchanges {
		c.sent("P01", protocol.Invite.Name, 1, joined(nil), time.Time{})
	}
	for range 2 { // both players
		c.sent("P01", protocol.NotifyMatchResult.Name, 1, joined(nil), time.Time{})
		c.received("P01", entry{Exchange: store.Exchange{Method: protocol.NotifyMatchResult.Name, Try: 1}, message: joined(nil)})
	}
	doc := filed(c)
	assert.Len(t, doc.Transcript, store.MaxExchanges)
	assert.Equal(t, store.ReservedExchanges, doc.Omitted)
	for _, x := range doc.Transcript[store.MaxExchanges-4:] {
		assert.Equal(t, protocol.NotifyMatchResult.Name, x.Method, "GAME_OVER is never omitted")
	}
}

func TestTranscriptIsMovedOnce(t *testing.T) {
	c := transcriptWith()
	assert.False(t, c.started())
	c.sent("P01", protocol.Invite.Name, 1, joined(nil), time.Time{})
	assert.True(t, c.started())
	doc := &store.Match{}
	c.moveTo(doc, false)
	c.enter(protocol.StateFinished)
	c.sent("P02", protocol.Invite.Name, 1, joined(nil), time.Time{})
	c.moveTo(doc, true)
	c.sent("P02", protocol.Invite.Name, 2, joined(nil), time.Time{})
	c.moveTo(doc, true)
	assert.Len(t, doc.Transcript, 2)
	assert.Len(t, doc.Lifecycle.States, 2)
	c.received("P01", entry{Exchange: store.Exchange{Method: protocol.Invite.Name, Try: 1}})
	assert.Empty(t, filed(c).Transcript, "an exchange cancelled by a stop is not recorded")
}

func TestNilTranscriptCollectsNothing(t *testing.T) {
	var c *transcript
	c.enter(protocol.StateFinished)
	assert.False(t, c.started())
	assert.Equal(t, &store.Match{}, filed(c))
}

// The transcript of a failed match shows what the player answered, whatever it was.
func TestTranscriptHasTheAnswerAsItArrived(t *testing.T) {
	fault := protocol.Fault(protocol.ErrInvalidParityChoice, "choice must be even or odd")
	for _, tt := range []struct {
		name, body, want string
		fault            *protocol.Error
	}{
		{"prose", `I choose even`, `I choose even`, fault},
		{"a page", `<html><h1>500</h1></html>`, `<html><h1>500</h1></html>`, fault},
		{"a member with another name", `{"result":{"choise":"even"}}`, `{"result":{"choise":"even"}}`, fault},
		{"a token", `{"auth_token":"secret-of-many-letters"}`, `{"auth_token":"***"}`, fault},
		{"a token in escape sequences", `{"x":"\u0073ecret-of-many-letters"}`, `{"x":"***"}`, fault},
		{"a token that looks like one of another league", `tok-p01-abcdefghijklmnopqrstuvwxyz`, `***`, fault},
		{"bytes that are no text", "even\xff", "even\uFFFD", fault},
		{"a long text", strings.Repeat("x", 10_000), strings.Repeat("x", store.MaxAnswer) + "…", fault},
		{"no error", `{"result":{}}`, "", nil},
		{"nothing", "", "", fault},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := transcriptWith("secret-of-many-letters")
			timing := &protocol.Timing{Body: []byte(tt.body)}
			c.received("P01", entry{Exchange: store.Exchange{Timing: timing}, message: joined(nil), fault: tt.fault})
			assert.Equal(t, tt.want, filed(c).Transcript[0].Answer)
			assert.Nil(t, timing.Body, "the transcript does not keep the rest")
		})
	}
}
