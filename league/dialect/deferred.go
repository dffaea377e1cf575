package dialect

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Some players reply {"status":"RECEIVED"} to a question and post the answer to
// the referee afterwards. The referee then sees one call that takes until the
// answer is posted. The answer may be posted before the reply has been read.

// A deferral is a question that is on its way, or waits for a posted answer.
type deferral struct {
	endpoint string // of the player
	question question
	asked    request // the request that was sent, in the form of the protocol

	message object        // the message of asked; nil until it is needed
	answer  object        // the first answer that was posted; nil before
	posted  chan struct{} // closed when answer is set
}

// deferrals are the open questions of a referee. Safe for concurrent use.
type deferrals struct {
	mu   sync.Mutex // guards message and answer of those that are open
	open map[*deferral]struct{}
}

// deferrable tells whether a message type is the answer to a question that may be
// answered later.
func deferrable(answer string) bool {
	switch answer {
	case protocol.TypeGameJoinAck, protocol.TypeChooseParityResponse, protocol.TypeGameMoveResponse:
		return true
	}
	return false
}

// begin opens a question; nil for calls that cannot be answered later.
func (d *deferrals) begin(endpoint, method string, body []byte) *deferral {
	q, known := questionOf(method)
	if !known || !deferrable(q.answer) {
		return nil
	}
	asked, ok := cutRequest(body)
	if !ok {
		return nil
	}
	a := &deferral{endpoint: endpoint, question: q, asked: asked, posted: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[*deferral]struct{}{}
	}
	d.open[a] = struct{}{}
	return a
}

// end closes a question: an answer that is posted now comes too late.
func (d *deferrals) end(a *deferral) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, a)
}

// await returns the posted answer as the reply to the question, or the error of
// ctx when that ends first.
func (a *deferral) await(ctx context.Context) (status int, answer []byte, err error) {
	select {
	case <-a.posted:
		return httpOK, a.question.result(a.asked.id, a.question.translate(a.answer)).body, nil
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

// about returns the open questions about a match.
func (d *deferrals) about(matchID string) (asked []*deferral) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for a := range d.open {
		if a.message == nil {
			a.message = objectOf(a.asked.message)
		}
		if matchID != "" && a.message.text("match_id") == matchID {
			asked = append(asked, a)
		}
	}
	return asked
}

// post gives a question its answer, once; false when it has one, or is closed.
func (d *deferrals) post(a *deferral, answer object) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.open[a]; !open || a.answer != nil {
		return false
	}
	a.answer = answer
	close(a.posted)
	return true
}

// opponent is the id of the other player in the match that a question is about.
func (a *deferral) opponent() string {
	for _, from := range []object{a.message, a.message.object("context"), a.message.object("move_request").object("context")} {
		if id := from.text("opponent_id"); id != "" {
			return id
		}
	}
	return ""
}

// The reply by which a player says that its answer comes later, as read makes it
// of all spellings.
const receivedHead = resultHead + `{"status":"RECEIVED"}`

// received is that reply.
func received(id []byte) reply {
	body := append([]byte(receivedHead), idHead...)
	return reply{verdict: deferred, status: httpOK, body: append(append(body, id...), '}')}
}

// defers tells whether a reply says that the answer comes later: by status
// RECEIVED, without the answer itself.
func (q *question) defers(message object) bool {
	return deferrable(q.answer) && message.get(q.essential()) == nil && strings.EqualFold(message.text("status"), "RECEIVED")
}

// isPosted tells whether a request posts an answer to this agent, a referee.
func (o *own) isPosted(q *incoming) bool {
	if !deferrable(strings.ToUpper(q.params.text("message_type"))) {
		return false
	}
	at := o.place()
	return at != nil && at.referee
}

// takePosted takes an answer that was posted from an address, and acknowledges
// or refuses it.
func (o *own) takePosted(ctx context.Context, from netip.Addr, q *incoming) []byte {
	fault := o.accept(ctx, from, q)
	if q.id == nil {
		return nil
	}
	if fault == nil {
		return o.adorn(q, respond(q.id, object{{"status", quoted("RECEIVED")}, {"match_id", q.params.get("match_id")}}.appendTo(nil)))
	}
	o.options.Log.Warn().Str("match_id", short(q.params.text("match_id"))).Str("error_code", string(fault.Code)).Str("detail", fault.Detail).
		Stringer("from", from).Str("event_type", protocol.EventDeferredAnswerRefused).Msg("an answer that was posted later is refused")
	message := encoded(protocol.LeagueError{
		Envelope: protocol.Envelope{
			Protocol: protocol.Name, MessageType: protocol.TypeLeagueError, Sender: protocol.RefereeSender(o.place().agentID),
			Timestamp: o.options.Clock.Timestamp(), ConversationID: q.params.text("conversation_id"),
		},
		ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(), ErrorDescription: fault.Code.Name(),
		OriginalMessageType: strings.ToUpper(q.params.text("message_type")), Context: map[string]any{"detail": fault.Detail},
	})
	failure := object{{"code", encoded(fault.RPC)}, {"message", quoted(fault.Code.Name())}, {"data", message}}
	return o.adorn(q, object{{"jsonrpc", jsontext.Value(`"2.0"`)}, {"error", failure.appendTo(nil)}, {"id", q.id}}.appendTo(nil))
}

// accept gives an answer to the question that it belongs to, or says why not.
func (o *own) accept(ctx context.Context, from netip.Addr, q *incoming) *protocol.Error {
	const tokenRefused = 4001 // as the protocol numbers E012 in a match
	p := q.params
	matchID, answers, token := p.text("match_id"), strings.ToUpper(p.text("message_type")), p.text("auth_token")
	asked := o.deferred.about(matchID)
	if len(asked) == 0 {
		return protocol.Fault(protocol.ErrMatchNotFound, "no question about match %.60q is open", matchID)
	}
	asked = slices.DeleteFunc(asked, func(a *deferral) bool { return a.question.answer != answers })
	i := slices.IndexFunc(asked, func(a *deferral) bool {
		shown := a.message.text("auth_token")
		return shown != "" && shown != protocol.NoToken && protocol.SameToken(token, shown)
	})
	if i < 0 && o.match(matchID).lenient {
		asked = o.askedAt(ctx, from, p, asked)
		if len(asked) == 1 {
			i = 0
		}
	}
	switch {
	case i >= 0 && o.deferred.post(asked[i], p):
		return nil
	case i >= 0:
		return protocol.Fault(protocol.ErrNotAuthorized, "the %s in match %s is answered already", answers, matchID)
	case len(asked) > 0 && token != "" && token != protocol.NoToken:
		return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the access token of the question").Coded(tokenRefused)
	}
	return protocol.Fault(protocol.ErrNotAuthorized, "no %s in match %s is open to this caller: an answer that is posted later needs the access token of the question", answers, matchID)
}

// askedAt keeps of some questions those that went to the host with an address, and
// not to the opponent of the one who answers.
func (o *own) askedAt(ctx context.Context, from netip.Addr, answer object, asked []*deferral) []*deferral {
	said := answer.text("player_id")
	if said == "" {
		said = protocol.AgentOf(answer.text("sender"))
	}
	return slices.DeleteFunc(asked, func(a *deferral) bool {
		return said != "" && strings.EqualFold(a.opponent(), said) || !isAt(ctx, a.endpoint, from)
	})
}

// isAt tells whether an address is one of the host of an endpoint. The loopback
// addresses and their names are one host.
func isAt(ctx context.Context, endpoint string, from netip.Addr) bool {
	u, err := url.Parse(endpoint)
	if err != nil || !from.IsValid() {
		return false
	}
	if hostOf(u) == "localhost" {
		return from.IsLoopback()
	}
	addresses := []netip.Addr{}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		addresses = append(addresses, a)
	} else {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		addresses, _ = net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // a host that is not known has none
	}
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		a = a.Unmap().WithZone("")
		return a == from || a.IsLoopback() && from.IsLoopback()
	})
}

// assigned learns from a request and its answer, both in the form of the
// protocol, that a match of a lenient league was taken.
func (o *own) assigned(body, answer []byte) {
	if !bytes.Contains(body, []byte(`"auth":"`+protocol.AuthLenient+`"`)) || !bytes.Contains(answer, []byte(`"status":"`+protocol.StatusAccepted+`"`)) {
		return
	}
	asked, ok := cutRequest(body)
	message := objectOf(asked.message)
	if id := message.text("match_id"); ok && id != "" && asked.method == protocol.StartMatch.Name && message.text("auth") == protocol.AuthLenient {
		o.learn(id, func(a *acquaintance) { a.lenient = true })
	}
}
