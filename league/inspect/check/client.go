package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxShown  = 2 << 10 // bytes shown of a body
)

// A request is a call of the agent under examination, as it is posted.
type request struct {
	method string  // "" for a body that is no call
	asked  members // the message, with the names of the specification; nil for none
	url    string
	header map[string]string // beside the usual one
	body   []byte
}

// request is a request with a message, in the form of the specification. A tool has the name of its
// message type, and no agent has a method for a message without a type.
func (x *exam) request(message object) request {
	params := encoded(message)
	asked := objectOf(params)
	messageType := asked.text("message_type")
	method := cmp.Or(methodOf(messageType).Name, strings.ToLower(messageType), unknownMethod)
	return request{method: method, asked: asked, url: x.URL, body: dialect.CallBody(method, params, x.nextID())}
}

// maxHeld is the number of times that a call is made again to an agent that limits the rate of calls:
// the kit makes more calls than any league.
const maxHeld = 5

// post makes a call, and waits for the answer no longer than the method has time. It always returns a reply,
// also if the agent was given up.
func (x *exam) post(ctx context.Context, q request) *reply {
	for held := 0; ; held++ {
		r := x.exchange(ctx, q)
		seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
		wait := min(time.Duration(max(seconds, 0))*time.Second, otherLimit)
		if r.Status != http.StatusTooManyRequests || err != nil || held == maxHeld || !rest(ctx, wait) {
			x.countSilence(r)
			return r
		}
	}
}

// rest pauses, and tells whether ctx has not ended.
func rest(ctx context.Context, d time.Duration) bool {
	return protocol.SystemClock().Sleep(ctx, d) == nil
}

// exchange is post without retries.
func (x *exam) exchange(ctx context.Context, q request) *reply {
	if reason := x.givenUp(); reason != "" || x.life.Err() != nil {
		return notSent(q, cmp.Or(reason, outOfTime))
	}
	r, patience, started := newReply(q), x.limitOf(q.method), time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if end, ok := ctx.Deadline(); ok { // a search has less time for each form
		patience = end.Sub(started)
	}
	err := x.roundTrip(ctx, r, q)
	r.at, r.took = time.Now(), time.Since(started)
	r.TookMS = r.took.Milliseconds()
	switch {
	case err != nil && x.life.Err() != nil: // the agent had not its whole time
		r.unasked, r.Error = true, outOfTime
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r.Error = unanswered(patience)
		r.hurried = patience < x.timeOf(q.method)-margin
	case r.Status == 0 && (errors.Is(err, io.EOF) || errors.Is(err, transport.ErrConnectionReset)):
		r.Error = protocol.ClosedUnanswered
	case err != nil:
		r.Error, r.closed = err.Error(), errors.Is(err, transport.ErrConnectionRefused)
	case len(r.response) > maxAnswer:
		r.Error = fmt.Sprintf("the answer has more than %d bytes", maxAnswer)
	}
	return r.read()
}

// roundTrip makes a call, and fills in the reply.
func (x *exam) roundTrip(ctx context.Context, r *reply, q request) error {
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, q.url, bytes.NewReader(q.body))
	if err != nil {
		return err
	}
	sent.Header.Set("Content-Type", "application/json")
	// An agent may close a connection between two calls. With this header, which is not
	// sent, the client repeats the next call on a new connection.
	sent.Header["X-Idempotency-Key"] = nil
	for name, value := range q.header {
		sent.Header.Set(name, value)
	}
	response, err := x.client.Do(sent)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	r.Status, r.header = response.StatusCode, response.Header
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	r.response = dialect.FromEvents(body)
	return err
}

// unanswered says that there was no answer in the time that the kit really waited.
func unanswered(waited time.Duration) string {
	return fmt.Sprintf("no answer within %s", waited.Round(10*time.Millisecond))
}

// margin is the part of a time that does not count, because the kit and the dialect need it.
const margin = 600 * time.Millisecond

const outOfTime = "the time of the examination was over"

// nextID returns an id that no call had before.
func (x *exam) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10))
}

// otherLimit is the time that the protocol gives an agent to answer a method without a time of its own
// (docs/protocol.md#timeouts-and-retries).
const otherLimit = 10 * time.Second

// timeOf is the time that the protocol gives an agent to answer a method.
func (x *exam) timeOf(method string) time.Duration {
	return cmp.Or(methodOf(method).Timeout, otherLimit)
}

// limitOf is the time for which the kit waits for the answer to a method: timeOf, or a second if the agent has not
// answered the method before in its time. A referee that conducts matches before it answers has longer.
func (x *exam) limitOf(method string) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	limit := x.timeOf(method)
	switch {
	case method == protocol.StartMatch.Name:
		return max(limit, x.startLimit)
	case x.hung[method]:
		return min(limit, time.Second)
	}
	return limit
}

// timed keeps the time that an answer took, or that there was none.
func (x *exam) timed(r *reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.timedOut() && !r.hurried && !x.concurrent.Load() {
		x.hung[r.method] = true
	} else if r.Error == "" {
		x.times[r.method] = append(x.times[r.method], r.took)
	}
}

// ask sends a message as a league does: in the form of the specification and, if the agent under
// examination rejects that, in the other forms that a league knows. The dialect remembers the form that
// it understands. The reply has the message with the names of the specification, and the bytes in the form
// that was understood; if none was, it is the answer that tells most about the reason.
func (a *fakeAgent) ask(message object) *reply {
	x := a.exam
	q := x.request(message)
	r, again := a.askOnce(q)
	for n := 1; again && n < maxSearches && x.life.Err() == nil; n++ {
		r, again = a.askOnce(q)
	}
	if again && r.timedOut() { // its requests together needed more than the time of the call
		r.Error, r.hurried = unanswered(x.limitOf(q.method)), false
	}
	return x.inspect(r)
}

// maxSearches is the number of calls in which the kit searches for the form that an agent understands, as many
// as a referee makes: an agent that is slow to answer a form needs several.
const maxSearches = 4

// askOnce is ask in the time of one call. Again tells that the dialect had not the time for all forms.
func (a *fakeAgent) askOnce(q request) (r *reply, again bool) {
	x, limit, started := a.exam, a.exam.limitOf(q.method), time.Now()
	ctx, cancel := context.WithTimeout(x.life, limit)
	defer cancel()
	var attempts []*reply
	answer, err := a.dialect.Call(ctx, &transport.Request{Endpoint: q.url, Method: q.method}, q.body,
		func(ctx context.Context, url string, header map[string]string, body []byte) (transport.Posted, error) {
			r := x.post(ctx, request{q.method, q.asked, url, header, body})
			attempts = append(attempts, r)
			switch {
			case r.timedOut(): // the dialect gives the form more time in the next call
				return transport.Posted{Status: r.Status}, fmt.Errorf("%s: %w", r.Error, context.DeadlineExceeded)
			case r.Error != "":
				return transport.Posted{Status: r.Status}, errors.New(r.Error)
			}
			return transport.Posted{Status: r.Status, Session: r.header.Get("Mcp-Session-Id"), Body: r.response}, nil
		})
	if len(attempts) == 0 { // the dialect had no time to call
		return notSent(q, outOfTime), false
	}
	r = attempts[len(attempts)-1]
	object := objectOf(answer.Body)
	switch {
	case err != nil:
		return r, r.hurried && len(attempts) > 1
	case r.translate(answer.Status, object):
		x.recordForm(r, len(attempts) > 1)
		return r, false
	default:
		again = len(attempts) > 1 && time.Since(started) >= limit/2 && q.method != protocol.StartMatch.Name
		for _, attempt := range attempts {
			if bytes.Equal(attempt.response, answer.Arrived) {
				r = attempt
			}
		}
		if f := failureOf(object); f != nil && answer.Status == http.StatusOK {
			r.failure, r.result = f, nil
		}
	}
	return r, again
}

// recordForm records the form of a call that the agent has understood, and of the reply. Searched tells that
// it did not understand that of the specification.
func (x *exam) recordForm(r *reply, searched bool) {
	if methodOf(r.method).Essential != "" || r.result.text("status") == protocol.StatusAcknowledged {
		x.understood.Store(true)
	}
	if form, sent := formOf(objectOf(r.request)); searched || form != r.method {
		r.form = form + when(form == r.method, "%s", otherMembers(sent, r.asked))
	}
	if r.method == protocol.StartMatch.Name { // a referee may acknowledge what it does not know: see recordStart
		return
	}
	x.recordUnderstood(r)
}

// recordUnderstood records the form in which the agent has understood a call, and that of its reply.
func (x *exam) recordUnderstood(r *reply) {
	x.record("understood call", &fact{reply: r, defect: "It understands calls only in another form than the specification's: " + r.form + ".",
		problem: when(r.form != "", "it understands %s only as: %s", r.method, r.form)})
	if r.Error == "" {
		x.record("form of reply", &fact{reply: r, problem: replyForm(r), defect: when(r.bare, wrappingDefect)})
	}
}

// otherMembers names what an agent understood in a message and did not in the message as it was asked.
func otherMembers(understood, asked members) string {
	if sender := understood.text("sender"); sender != asked.text("sender") {
		return " with the sender " + quoted(sender)
	}
	maps.DeleteFunc(understood, func(name string, v jsontext.Value) bool { return sameJSON(v, asked[name]) })
	return " with other members: " + listed(understood)
}

// translate sets the result of a reply to the one in the object, which the dialect has
// translated; false if that does not answer the method.
func (r *reply) translate(status int, object members) bool {
	result := objectOf(object["result"])
	if status != http.StatusOK || result == nil || !isAnswer(r.method, result) {
		return false
	}
	r.result, r.failure = result, nil
	return true
}

// A breach is a member of a message because of which the agent must refuse it.
type breach struct {
	fact   string
	member string        // of the message, or of the player_meta or referee_meta in it
	value  any           // nil: the member is missing
	code   protocol.Code // of the refusal; "" for any
}

// breachesOfTime are timestamps that are not UTC.
func breachesOfTime(fact string) []breach {
	return []breach{
		{fact, "timestamp", "2025-01-15T10:30:00+02:00", protocol.ErrInvalidTimestamp},
		{fact, "timestamp", "2025-01-15T10:30:00", protocol.ErrInvalidTimestamp},
	}
}

// in puts the breach into a message, or into its player_meta or referee_meta.
func (b *breach) in(message, meta object) object {
	in := message
	if meta[b.member] != nil {
		in = meta
	}
	if in[b.member] = b.value; b.value == nil {
		delete(in, b.member)
	}
	return message
}

// about says how a message is wrong.
func (b *breach) about() string {
	if b.value == nil {
		return "without " + b.member
	}
	return "with " + string(encoded(object{b.member: b.value}))
}

// send sends a message once, in the form that the agent under examination has understood before from this
// one, and with changes.
func (a *fakeAgent) send(message object, changes ...func(request members)) *reply {
	q := a.inForm(message)
	for _, change := range changes {
		request := objectOf(q.body)
		change(request)
		q.body = encoded(request)
	}
	return a.exam.deliver(q)
}

// sendBroken sends copies of a message, each with a breach.
func (a *fakeAgent) sendBroken(message object, breaches ...breach) {
	for _, b := range breaches {
		r := a.send(b.in(maps.Clone(message), nil))
		about := fmt.Sprint(message["message_type"], " ", b.about())
		a.exam.record(b.fact, &fact{about: about, reply: r, code: b.code})
	}
}

// sendBody posts a request as it is. The method is "" for a body that is no call.
func (x *exam) sendBody(method string, body []byte) *reply {
	return x.deliver(request{method: method, url: x.URL, body: body})
}

// deliver makes a call, translates the answer as a league does, and inspects it.
func (x *exam) deliver(q request) *reply {
	r := x.post(x.life, q)
	if m := dialect.MethodOf(q.method); m != nil && r.Error == "" {
		read := m.ReadReply(jsontext.Value("1"), r.Status, r.response)
		r.translate(read.Status, objectOf(read.Body))
	}
	return x.inspect(r)
}

// inForm returns a request in the form that the agent under examination has understood before from this one.
func (a *fakeAgent) inForm(message object) request {
	q, formed := a.exam.request(message), false
	_, _ = a.dialect.Call(a.exam.life, &transport.Request{Endpoint: q.url, Method: q.method}, q.body,
		func(_ context.Context, url string, header map[string]string, body []byte) (transport.Posted, error) {
			if !formed {
				q.url, q.header, q.body, formed = url, header, body, true
			}
			return transport.Posted{}, errors.New("not posted")
		})
	return q
}

// isAnswer tells whether a result has the member that the method asks for. Any result
// acknowledges a notice.
func isAnswer(method string, result members) bool {
	member := methodOf(method).Essential
	return member == "" || result[member] != nil && result[member].Kind() != 'n'
}

// replyForm says how the form of a reply differs from that of the specification; "" for
// not at all.
func replyForm(r *reply) string {
	there := objectOf(r.object["result"])
	switch {
	case r.object == nil:
		return "the answer is no JSON object"
	case r.object["result"].Kind() == '"':
		return "the result is a string, not an object"
	case there == nil:
		return "the message is not in result; the members of the answer are " + listed(r.object)
	}
	missing := slices.DeleteFunc(r.result.names(), func(name string) bool { return there[name] != nil })
	return when(len(missing) > 0, "result has no %s: the league supplies it, or takes it from other members (%s)",
		strings.Join(missing, ", "), listed(there))
}

// names are the names of the members, in order.
func (m members) names() []string { return slices.Sorted(maps.Keys(m)) }

// listed shows the names of some members.
func listed(m members) string {
	const most = 12
	names := m.names()
	text := plain(strings.Join(names[:min(len(names), most)], ", "))
	return cmp.Or(text, "none") + when(len(names) > most, ", …")
}
