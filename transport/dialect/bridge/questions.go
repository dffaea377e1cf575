package bridge

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// Some players reply {"status":"RECEIVED"} to a question and post the answer to the referee
// afterwards. The referee then sees one call that takes until the answer is posted. The
// player may post the answer before the referee has read the reply.

// A question is a call of our referee that a player may answer later.
type question struct {
	endpoint string // of the player
	method   *dialect.Method
	call     dialect.Call
	answer   chan protocol.Object // of one element: the first posted answer
}

func (q *question) message() protocol.Object { return protocol.ParseObject(q.call.Message) }

// ask opens the question of a call before it is sent; nil for a call that cannot be answered later.
func (c *call) ask() *question {
	if c.method == nil || !c.method.Deferrable || !c.readable {
		return nil
	}
	q := &question{c.Endpoint, c.method, c.asked, make(chan protocol.Object, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions[q] = true
	return q
}

// close closes a question: an answer that is posted now comes too late.
func (b *Bridge) close(q *question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.questions, q)
}

// await returns the posted answer as the response, or the error of ctx.
func (q *question) await(ctx context.Context) (transport.Posted, error) {
	select {
	case answer := <-q.answer:
		return transport.Posted{Status: dialect.StatusOK, Body: q.method.PostedReply(q.call.ID, answer).Body}, nil
	case <-ctx.Done():
		return transport.Posted{}, ctx.Err()
	}
}

// about returns the open questions about a match.
func (b *Bridge) about(matchID string) (about []*question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.questions {
		if matchID != "" && q.message().Text("match_id") == matchID {
			about = append(about, q)
		}
	}
	return about
}

// answer gives a question its answer, once. It reports false if the question has one, or is
// closed.
func (b *Bridge) answer(q *question, answer protocol.Object) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.questions[q] {
		return false
	}
	b.questions[q] = false
	q.answer <- answer
	return true
}

// servePostedAnswer accepts or rejects an answer that was posted from an address.
func (s *server) servePostedAnswer(ctx context.Context, from netip.Addr, q *dialect.Request) transport.Answer {
	fault := s.acceptAnswer(ctx, from, q)
	matchID, facts := q.Params.Text("match_id"), s.facts("")
	switch {
	case q.ID == nil:
		return transport.Answer{}
	case fault == nil:
		ack := protocol.Object{
			{Name: "status", Value: protocol.Quote("RECEIVED")}, {Name: "match_id", Value: q.Params.Get("match_id")},
		}
		return s.translate(q, transport.Answer{Body: transport.ResultBody(ack.Append(nil), q.ID)}, facts)
	}
	s.warn().Str("match_id", dialect.Short(matchID)).Str("error_code", string(fault.Code)).Str("detail", fault.Detail).
		Stringer("from", from).Str("event_type", "DEFERRED_ANSWER_REFUSED").
		Msg("an answer that was posted later is rejected")
	refusal := dialect.Failure{Code: fault.RPC, ErrorCode: string(fault.Code), Text: fault.Error()}
	return s.translate(q, transport.Answer{Body: refusal.Body(q.ID), Err: fault}, facts)
}

// acceptAnswer gives a posted answer to its question, or returns why not.
func (s *server) acceptAnswer(ctx context.Context, from netip.Addr, q *dialect.Request) *protocol.Error {
	p, answers := q.Params, q.AnswerType()
	matchID, token := p.Text("match_id"), p.Text("auth_token")
	open := s.about(matchID)
	if len(open) == 0 {
		return protocol.Fault(protocol.ErrMatchNotFound, "no question about match %.60q is open", matchID)
	}
	open = slices.DeleteFunc(open, func(q *question) bool { return q.method.Result != answers })
	i := slices.IndexFunc(open, func(q *question) bool {
		shown := q.message().Text("auth_token")
		return shown != "" && shown != protocol.NoToken && protocol.SameToken(token, shown)
	})
	if i < 0 && s.facts(matchID).Match.Lenient {
		open = sentTo(ctx, from, p, open)
		if len(open) == 1 {
			i = 0
		}
	}
	switch {
	case i >= 0 && s.answer(open[i], p):
		return nil
	case i >= 0:
		return protocol.Fault(protocol.ErrNotAuthorized, "the %s in match %s is answered already", answers, matchID)
	case len(open) > 0 && token != "" && token != protocol.NoToken:
		return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the access token of the question").
			Coded(open[0].method.RPCCode(protocol.ErrTokenInvalid))
	}
	return protocol.Fault(protocol.ErrNotAuthorized, "no %s in match %s is open to this caller: "+
		"an answer that is posted later needs the access token of the question", answers, matchID)
}

// sentTo returns the questions that were sent to the host with an address, and not to
// the opponent of the player that answers.
func sentTo(ctx context.Context, from netip.Addr, answer protocol.Object, open []*question) []*question {
	player := cmp.Or(answer.Text("player_id"), protocol.AgentOf(answer.Text("sender")))
	return slices.DeleteFunc(open, func(q *question) bool {
		message := q.message()
		isOpponent := strings.EqualFold(message.Text("opponent_id"), player) ||
			strings.EqualFold(message.Object("context").Text("opponent_id"), player)
		return player != "" && isOpponent || !isAt(ctx, q.endpoint, from)
	})
}

// isAt tells whether an address belongs to the host of an endpoint. The loopback
// addresses and their names are one host.
func isAt(ctx context.Context, endpoint string, from netip.Addr) bool {
	u, err := url.Parse(endpoint)
	if err != nil || !from.IsValid() {
		return false
	}
	switch strings.ToLower(u.Hostname()) {
	case "localhost", "127.0.0.1", "::1":
		return from.IsLoopback()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	addresses, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // an unknown host has none
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		a = a.Unmap().WithZone("")
		return a == from || a.IsLoopback() && from.IsLoopback()
	})
}
