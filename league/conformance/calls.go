package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/league/dialect/bridge"
	"evenodd/league/protocol"
)

// A client calls the agent under examination as a league would, and judges what holds
// of every answer. The requirements of the roles differ in their first letter; those of
// a player have some other numbers.
type client struct {
	*lab

	letter string // P, R or M
	ids    atomic.Int64
}

// playerIDs are the requirements of a player that have other numbers than those of
// managers and referees.
func playerIDs(id string) string {
	switch id {
	case "HTTP-05":
		return "HTTP-08"
	case "RPC-02":
		return "RPC-03"
	case "RPC-03":
		return "RPC-05"
	case "RPC-04":
		return "RPC-06"
	case "RPC-05":
		return "RPC-07"
	case "RPC-06":
		return "RPC-09"
	case "RPC-07":
		return "RPC-10"
	case "RPC-08":
		return "RPC-11"
	case "RPC-09":
		return "RPC-12"
	case "RPC-10":
		return "RPC-13"
	case "RPC-11":
		return "RPC-14"
	case "RPC-12":
		return "RPC-16"
	case "RPC-13":
		return "STA-01"
	}
	return id
}

// as is a requirement's id for the role under examination.
func (x *client) as(id string) string {
	if x.letter == "P" {
		id = playerIDs(id)
	}
	return x.letter + "-" + id
}

// encode is a call with this id; nil makes a notification of it.
func (x *client) encode(id jsontext.Value, method string, params any) []byte {
	message := encoded(params)
	b := make([]byte, 0, len(message)+len(method)+64)
	b = append(append(append(b, `{"jsonrpc":"2.0","method":"`...), method...), `","params":`...)
	b = append(b, message...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	return append(b, '}')
}

// nextID is an id that no call had before.
func (x *client) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10))
}

// ask calls a method as a league would, and judges what holds of every answer.
func (x *client) ask(ctx context.Context, method string, params any) *reply {
	return x.askAs(ctx, x.dialect, method, params, otherLimit)
}

// askAs is ask by one of the kit's agents, which knows the form that the agent under
// examination understands, for a method that has so much time to answer.
func (x *client) askAs(ctx context.Context, speaker *bridge.Bridge, method string, params any, limit time.Duration) *reply {
	id := x.nextID()
	r := x.call(ctx, speaker, method, x.encode(id, method, params), x.patience(limit))
	x.inspect(r, id)
	return r
}

// call calls a method in the form of the specification and, where the agent rejects
// that, in the other forms that a league knows. The body is a request in the form of the
// specification. The reply has the message by the names of the specification, and
// the bytes of the form that the agent understood; where it understood none, of
// the answer that tells most about the reason.
func (x *client) call(ctx context.Context, speaker *bridge.Bridge, method string, body []byte, limit time.Duration) *reply {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var tries []*reply
	var last *answer
	status, answered, err := speaker.Call(ctx, x.options.URL, "", method, body, func(ctx context.Context, url string, body []byte) (int, []byte, error) {
		last = x.post(ctx, url, body, nil, limit)
		r := read(last)
		r.url, r.sent = url, body
		tries = append(tries, r)
		if last.Error != "" {
			return last.Status, nil, errors.New(last.Error)
		}
		return last.Status, last.body, nil
	})
	if len(tries) == 0 { // the dialect had no time to call
		return read(&answer{Exchange: Exchange{To: x.options.URL, request: body, Error: outOfTime, unasked: true}})
	}
	if err != nil {
		return tries[len(tries)-1]
	}
	return x.translated(method, tries, status, answered)
}

// translated is the reply to a call that was tried in several forms, with the message as
// the dialect has translated it.
func (x *client) translated(method string, tries []*reply, status int, body []byte) *reply {
	object := objectOf(body)
	result := objectOf(object["result"])
	if status != 200 || result == nil || !isAnswer(method, result) {
		r := mostTelling(tries)
		if f := faultOf(object); f != nil && status == 200 && r == tries[len(tries)-1] {
			r.fault, r.result = f, nil
			r.defect = diagnose(r)
		}
		return r
	}
	r := tries[len(tries)-1]
	r.result, r.fault = result, nil
	r.defect = diagnose(r)
	if status, _ := result.text("status"); substance(method) != "" || status == protocol.StatusAcknowledged {
		x.understand()
	}
	first := tries[0]
	if own := len(tries) == 1 && formOf(r) == method; !own {
		r.form = formOf(r)
	}
	if len(tries) > 1 || r.form != "" {
		x.because(calledFormDefect(r.form), x.as("FRM-01"), fmt.Sprintf("it understands %s only as: %s", method, cmp.Or(r.form, method)), &first.Exchange, &r.Exchange)
	} else {
		x.pass(x.as("FRM-01"))
	}
	d := defect{}
	if r.bare {
		d = wrappingDefect()
	}
	x.because(d, x.as("FRM-02"), replyForm(r), &r.Exchange)
	return r
}

// mostTelling is the reply that tells most about why a call was not understood, the
// first of equals.
func mostTelling(tries []*reply) *reply {
	best := tries[0]
	for _, r := range tries[1:] {
		if r.defect.rank > best.defect.rank && r.defect.key != "" {
			best = r
		}
	}
	return best
}

// isAnswer tells whether a result has what was asked for. A notice is acknowledged by
// any result.
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
func (m members) names() []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

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

// sendIn calls a method once, in the form that the agent has understood before from this
// speaker. Change, if it is not nil, changes the request; where it returns nil, the
// request cannot be made in that form.
func (x *client) sendIn(ctx context.Context, speaker *bridge.Bridge, method string, params any, limit time.Duration, change func(request members) []byte) *reply {
	url, body := x.inForm(ctx, speaker, method, x.encode(x.nextID(), method, params))
	if change != nil {
		if body = change(objectOf(body)); body == nil {
			return read(&answer{Exchange: Exchange{To: url, Error: "the agent takes messages without JSON-RPC", unasked: true}})
		}
	}
	request := objectOf(body)
	id := request["id"]
	if request["jsonrpc"] == nil {
		id = nil
	}
	return x.sendTo(ctx, url, method, id, body, limit)
}

// inForm is a request as the agent understands it, and where it is posted: in the form
// that it has understood before from this speaker. The body is a request in the form of
// the specification.
func (x *client) inForm(ctx context.Context, speaker *bridge.Bridge, method string, body []byte) (url string, form []byte) {
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

// understoodBy is the message of an answer to a call that was posted as it is, translated
// as a league would.
func understoodBy(ctx context.Context, method string, request []byte, r *reply) {
	if r.Error != "" {
		return
	}
	once := bridge.New(bridge.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	status, body, err := once.Call(ctx, r.To, "", method, request, func(context.Context, string, []byte) (int, []byte, error) {
		return r.Status, r.body, nil
	})
	if err != nil || status != 200 {
		return
	}
	if result := objectOf(objectOf(body)["result"]); result != nil && isAnswer(method, result) {
		r.result, r.fault = result, nil
		r.defect = diagnose(r)
	}
}
