package conformance

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/league/dialect/bridge"
	"evenodd/league/protocol"
)

// encode returns a call with this id; nil makes it a notification.
func (x *exam) encode(id jsontext.Value, method string, params any) []byte {
	message := encoded(params)
	b := make([]byte, 0, len(message)+len(method)+64)
	b = append(append(append(b, `{"jsonrpc":"2.0","method":"`...), method...), `","params":`...)
	b = append(b, message...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	return append(b, '}')
}

// nextID returns an id that no call had before.
func (x *exam) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10))
}

// ask calls a method as a league does: in the form of the specification and, if the agent
// rejects that, in the other forms that a league knows. The speaker remembers the form that
// the agent understands.
func (x *exam) ask(ctx context.Context, speaker *bridge.Bridge, method string, params any, limit time.Duration) *reply {
	id := x.nextID()
	r := x.search(ctx, speaker, method, x.encode(id, method, params), x.patience(limit))
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
	status, translated, err := speaker.Call(ctx, x.options.URL, "", method, body, func(ctx context.Context, url string, body []byte) (int, []byte, error) {
		r := read(x.post(ctx, url, body, nil, limit))
		r.url, r.sent = url, body
		attempts = append(attempts, r)
		if r.Error != "" {
			return r.Status, nil, errors.New(r.Error)
		}
		return r.Status, r.body, nil
	})
	if len(attempts) == 0 { // the dialect had no time to call
		return read(&answer{Exchange: Exchange{To: x.options.URL, request: body, Error: outOfTime, unasked: true}})
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
	if status, _ := last.result.text("status"); substance(method) != "" || status == protocol.StatusAcknowledged {
		x.understood.Store(true)
	}
	if form := formOf(last); len(attempts) > 1 || form != method {
		last.form = form
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

// A variation changes a call that is sent once.
type variation struct {
	change func(request members) []byte // nil result: the form of the agent has no such request
	header http.Header
	unseen bool // the answer shows only what the caller judges
	once   bool // the call is not retried, and may have no answer
}

// send calls a method once, in the form that the agent has understood before from this
// speaker.
func (x *exam) send(ctx context.Context, speaker *bridge.Bridge, method string, params any, limit time.Duration, v variation) *reply {
	url, body := x.inForm(ctx, speaker, method, params)
	if v.change != nil {
		if body = v.change(objectOf(body)); body == nil {
			return read(&answer{Exchange: Exchange{To: url, Error: "the agent takes messages without JSON-RPC", unasked: true}})
		}
	}
	post := x.post
	if v.once {
		post = func(ctx context.Context, url string, body []byte, header http.Header, patience time.Duration) *answer {
			return x.exchange(ctx, http.MethodPost, url, body, header, patience)
		}
	}
	r := read(post(ctx, url, body, v.header, x.patience(limit)))
	x.interpret(ctx, r, method)
	if request := objectOf(body); !v.unseen {
		id := request["id"]
		if request["jsonrpc"] == nil {
			id = nil
		}
		x.inspect(r, id)
	}
	return r
}

// sendBody posts a call of a method as it is, with this id; nil is that of a notification.
func (x *exam) sendBody(ctx context.Context, method string, id jsontext.Value, body []byte) *reply {
	r := read(x.post(ctx, x.options.URL, body, nil, x.patience(otherLimit)))
	if id != nil {
		x.interpret(ctx, r, method)
	}
	x.inspect(r, id)
	return r
}

// inForm returns a request in the form that the agent has understood before from this
// speaker, and the URL for it.
func (x *exam) inForm(ctx context.Context, speaker *bridge.Bridge, method string, params any) (url string, form []byte) {
	body := x.encode(x.nextID(), method, params)
	_, _, _ = speaker.Call(ctx, x.options.URL, "", method, body, func(_ context.Context, to string, body []byte) (int, []byte, error) {
		if form == nil {
			url, form = to, body
		}
		return 0, nil, errNotPosted
	})
	if form == nil {
		return x.options.URL, body
	}
	return url, form
}

var errNotPosted = errors.New("not posted")

// interpret translates the answer to a call that was posted as it is, as a league does.
func (x *exam) interpret(ctx context.Context, r *reply, method string) {
	if !hasMessages(method) || r.Error != "" {
		return
	}
	once := bridge.New(bridge.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	request := x.encode(jsontext.Value("1"), method, map[string]any{})
	status, body, err := once.Call(ctx, r.To, "", method, request, func(context.Context, string, []byte) (int, []byte, error) {
		return r.Status, r.body, nil
	})
	if err == nil {
		r.translate(method, status, objectOf(body))
	}
}

// isAnswer tells whether a result has the member that the method asks for. Any result
// acknowledges a notice.
func isAnswer(method string, result members) bool {
	member := substance(method)
	return member == "" || result[member] != nil && result[member].Kind() != 'n'
}

// substance is the member that an answer to a method must have; "" for none.
func substance(method string) string {
	return map[string]string{
		protocol.Invite.Name: "accept", protocol.ChooseParity.Name: "parity_choice", protocol.MakeMove.Name: "move_data",
		protocol.RegisterPlayer.Name: "status", protocol.RegisterReferee.Name: "status",
	}[method]
}

// formOf names the form of a request that was posted.
func formOf(r *reply) string {
	q := objectOf(r.sent)
	method, _ := q.text("method")
	params := objectOf(q["params"])
	if method == "" {
		method = "the message without JSON-RPC"
	}
	if method == "tools/call" {
		name, _ := params.text("name")
		method += " " + name
		params = objectOf(params["arguments"])
	}
	if names := params.names(); len(names) == 1 && params[names[0]].Kind() == '{' {
		method += " with the message in " + names[0]
	}
	if r.url != r.To && r.url != "" {
		method += " at " + r.url
	}
	return method
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
	var missing []string
	for _, name := range r.result.names() {
		if there[name] == nil {
			missing = append(missing, name)
		}
	}
	return when(len(missing) > 0, "result has no %s: the league supplies it, or takes it from other members (%s)", strings.Join(missing, ", "), listed(there))
}

// names are the names of the members, in order.
func (m members) names() []string { return slices.Sorted(maps.Keys(m)) }

// listed shows the names of some members.
func listed(m members) string {
	const most = 12
	names := m.names()
	text := quoted(strings.Join(names[:min(len(names), most)], ", "))
	if len(names) == 0 {
		return "none"
	}
	return text[1:len(text)-1] + when(len(names) > most, ", …")
}
