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
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
	"evenodd/transport/dialect/bridge"
)

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxShown  = 2 << 10 // bytes shown of a body
)

// A variation changes how a call is made.
type variation struct {
	change func(request members) []byte // nil result: the form of the agent has no such request
	method string                       // of HTTP; "" for POST
	header http.Header
	unseen bool // the answer shows only what the caller judges
	once   bool // the call is not retried, and may have no answer
}

// post sends a body as it is, and waits for the answer no longer than patience. It always
// returns a reply, also if the agent was given up. It retries when an agent that limits
// the rate of calls allows it.
func (x *exam) post(ctx context.Context, url string, body []byte, patience time.Duration, v variation) *reply {
	for attempt := 1; ; attempt++ {
		r := x.exchange(ctx, url, body, patience, v)
		if v.once {
			return r
		}
		x.countSilence(r)
		if !x.putOff(ctx, r, attempt) {
			return r
		}
	}
}

// The limits of retries for an agent that limits the rate of calls: the kit makes more
// calls than any league.
const (
	maxHeld = 5                // times that one call is made again
	maxHold = 30 * time.Second // that all calls wait together
)

// putOff waits as long as a rate limit asks for, and tells whether to retry the call.
func (x *exam) putOff(ctx context.Context, r *reply, attempt int) bool {
	limited := r.fault != nil && (r.fault.code == 22 || r.fault.catalogued() == string(protocol.ErrRateLimited))
	after := r.header.Get("Retry-After")
	if r.Status != http.StatusTooManyRequests && (r.Status != http.StatusServiceUnavailable || after == "") && !limited {
		return false
	}
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 {
		seconds = 1
	}
	wait := min(time.Duration(min(seconds, 60))*time.Second, otherLimit)
	x.mu.Lock()
	x.held += wait
	enough := x.held > maxHold
	x.mu.Unlock()
	return !enough && attempt <= maxHeld && rest(ctx, wait)
}

// rest pauses, and tells whether ctx has not ended.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// exchange is post without retries.
func (x *exam) exchange(ctx context.Context, url string, body []byte, patience time.Duration, v variation) *reply {
	if reason := x.givenUp(); reason != "" || x.life.Err() != nil {
		return notSent(url, body, cmp.Or(reason, outOfTime))
	}
	r := &reply{Exchange: Exchange{To: url, request: body}}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	err := x.roundTrip(ctx, r, v)
	r.at, r.took = time.Now(), time.Since(started)
	r.TookMS, r.response = r.took.Milliseconds(), r.body
	switch {
	case err != nil && x.life.Err() != nil: // the agent had not its whole time
		r.unasked, r.Error = true, outOfTime
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r.Error = fmt.Sprintf("no answer within %s", patience)
	case r.Status == 0 && (errors.Is(err, io.EOF) || errors.Is(err, transport.ErrConnectionReset)):
		r.Error = protocol.ClosedUnanswered
	case err != nil:
		r.Error, r.closed = err.Error(), errors.Is(err, transport.ErrConnectionRefused)
	case len(r.body) > maxAnswer:
		r.Error = fmt.Sprintf("the answer has more than %d bytes", maxAnswer)
	}
	return r.read()
}

// roundTrip makes a call, and fills in the reply.
func (x *exam) roundTrip(ctx context.Context, r *reply, v variation) error {
	var reused atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused.Store(c.Reused) }})
	q, err := http.NewRequestWithContext(ctx, cmp.Or(v.method, http.MethodPost), r.To, bytes.NewReader(r.request))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	// An agent may close a connection between two calls. With this header, which is not
	// sent, the client repeats the next call on a new connection.
	q.Header["X-Idempotency-Key"] = nil
	maps.Copy(q.Header, v.header)
	response, err := x.options.client.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	r.Status, r.header, r.reused = response.StatusCode, response.Header, reused.Load()
	r.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	r.body = dialect.FromEvents(r.body)
	return err
}

const outOfTime = "the time of the examination was over"

// encode returns a call with this id; nil makes it a notification.
func (x *exam) encode(id jsontext.Value, method string, params any) []byte {
	return dialect.CallBody(method, protocol.ParseObject(encoded(params)).Append(nil), id)
}

// nextID returns an id that no call had before.
func (x *exam) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10))
}

// The time that the protocol gives an agent to answer (003 §2.7).
const (
	inviteLimit = 5 * time.Second
	chooseLimit = 30 * time.Second
	overLimit   = 5 * time.Second
	otherLimit  = 10 * time.Second
)

// limitOf is the time that the protocol gives an agent to answer a method.
func limitOf(method string) time.Duration {
	return cmp.Or(map[string]time.Duration{
		protocol.Invite.Name: inviteLimit, protocol.ChooseParity.Name: chooseLimit, protocol.MakeMove.Name: chooseLimit, protocol.NotifyMatchResult.Name: overLimit,
	}[method], otherLimit)
}

// ask calls a method as a league does: in the form of the specification and, if the agent
// rejects that, in the other forms that a league knows. The speaker remembers the form that
// the agent understands.
func (x *exam) ask(ctx context.Context, speaker *bridge.Bridge, method string, params any) *reply {
	id := x.nextID()
	r := x.search(ctx, speaker, method, x.encode(id, method, params), x.patience(limitOf(method)))
	x.inspect(r, id)
	return r
}

// search is ask for a request in the form of the specification. The reply has the
// message with the names of the specification, and the bytes in the form that the agent
// understood; if it understood none, it is the answer that tells most about the reason.
func (x *exam) search(ctx context.Context, speaker *bridge.Bridge, method string, body []byte, limit time.Duration) *reply {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var attempts []*reply
	status, translated, _, err := speaker.Call(ctx, x.options.URL, "", method, body, func(ctx context.Context, url string, header map[string]string, body []byte) (posted, error) {
		r := x.post(ctx, url, body, limit, variation{header: headerOf(header)})
		attempts = append(attempts, r)
		if r.Error != "" {
			return posted{Status: r.Status}, errors.New(r.Error)
		}
		return posted{Status: r.Status, Session: r.header.Get("Mcp-Session-Id"), Body: r.body}, nil
	})
	if len(attempts) == 0 { // the dialect had no time to call
		return notSent(x.options.URL, body, outOfTime)
	}
	last := attempts[len(attempts)-1]
	object := objectOf(translated)
	switch {
	case err != nil:
		return last
	case !last.translate(method, status, object):
		r := mostInformative(attempts)
		if f := faultOf(object); f != nil && status == http.StatusOK && r == last {
			r.fault, r.result = f, nil
			r.defect = diagnose(r)
		}
		return r
	}
	if methodOf(method).Essential != "" || last.result.text("status") == protocol.StatusAcknowledged {
		x.understood.Store(true)
	}
	if form, sent := formOf(objectOf(last.request)); len(attempts) > 1 || form != method {
		last.form = form + when(form == method, "%s", otherMembers(sent, objectOf(objectOf(body)["params"])))
	}
	f := &fact{reply: last, problem: when(last.form != "", "it understands %s only as: %s", method, last.form), defect: calledFormDefect(last.form)}
	if attempts[0] != last {
		f.earlier = attempts[0]
	}
	x.record("understood call", f)
	f = &fact{reply: last, problem: replyForm(last)}
	if last.bare {
		f.defect = wrappingDefect
	}
	x.record("form of reply", f)
	return last
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
func (r *reply) translate(method string, status int, object members) bool {
	result := objectOf(object["result"])
	if status != http.StatusOK || result == nil || !isAnswer(method, result) {
		return false
	}
	r.result, r.fault = result, nil
	r.defect = diagnose(r)
	return true
}

// mostInformative returns the reply that tells most about why a call was not understood.
func mostInformative(attempts []*reply) *reply {
	best := attempts[0]
	for _, r := range attempts[1:] {
		if r.defect.rank > best.defect.rank && r.defect.key != "" {
			best = r
		}
	}
	return best
}

// A breach is a member of a message because of which the agent must refuse it.
type breach struct {
	fact    string
	code    protocol.Code // "" for any
	numbers []int         // of JSON-RPC, instead of the code
	member  string        // of the message, or of the player_meta or referee_meta in it
	value   any           // nil: the member is missing
}

// in puts the breach into a message, or into its player_meta or referee_meta.
func (b *breach) in(message, meta map[string]any) map[string]any {
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
	return "with " + shown(encoded(map[string]any{b.member: b.value}))
}

// send calls a method once, in the form that the agent has understood before from this
// speaker.
func (x *exam) send(ctx context.Context, speaker *bridge.Bridge, method string, params any, v variation) *reply {
	url, header, body := x.inForm(ctx, speaker, method, params)
	if header != nil {
		maps.Copy(header, v.header)
		v.header = header
	}
	if v.change != nil {
		if body = v.change(objectOf(body)); body == nil {
			return notSent(url, nil, "the agent takes messages without JSON-RPC")
		}
	}
	return x.deliver(ctx, url, method, body, v)
}

// sendBody posts a request as it is. The method is "" for a body that is no call.
func (x *exam) sendBody(ctx context.Context, method string, body []byte) *reply {
	return x.deliver(ctx, x.options.URL, method, body, variation{})
}

// deliver posts a call of a method, and reads and inspects the answer.
func (x *exam) deliver(ctx context.Context, url, method string, body []byte, v variation) *reply {
	r := x.post(ctx, url, body, x.patience(limitOf(method)), v)
	r.interpret(method)
	var id jsontext.Value
	if request := objectOf(body); method != "" && request["jsonrpc"] != nil {
		id = request["id"]
	}
	if !v.unseen {
		x.inspect(r, id)
	}
	return r
}

// sendCall is sendBody of a call in the form of the specification.
func (x *exam) sendCall(ctx context.Context, method string, params any) *reply {
	return x.sendBody(ctx, method, x.encode(x.nextID(), method, params))
}

// inForm returns a request in the form that the agent has understood before from this
// speaker, and the URL for it.
func (x *exam) inForm(ctx context.Context, speaker *bridge.Bridge, method string, params any) (url string, header http.Header, form []byte) {
	body := x.encode(x.nextID(), method, params)
	_, _, _, _ = speaker.Call(ctx, x.options.URL, "", method, body, func(_ context.Context, to string, further map[string]string, body []byte) (posted, error) {
		if form == nil {
			url, header, form = to, headerOf(further), body
		}
		return posted{}, errNotPosted
	})
	if form == nil {
		return x.options.URL, nil, body
	}
	return url, header, form
}

// posted is the response to a POST, as the bridge reads it.
type posted = struct {
	Status  int
	Session string
	Body    []byte
}

// headerOf returns the further headers of a POST of the bridge; nil for none.
func headerOf(further map[string]string) http.Header {
	var header http.Header
	for name, value := range further {
		if header == nil {
			header = http.Header{}
		}
		header.Set(name, value)
	}
	return header
}

var errNotPosted = errors.New("not posted")

// interpret translates the answer to a call that was posted as it is, as a league does.
func (r *reply) interpret(method string) {
	if m := dialect.MethodOf(method); m != nil && r.Error == "" {
		read := m.ReadReply(jsontext.Value("1"), r.Status, r.body)
		r.translate(method, read.Status, objectOf(read.Body))
	}
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
	return when(len(missing) > 0, "result has no %s: the league supplies it, or takes it from other members (%s)", strings.Join(missing, ", "), listed(there))
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
