package bridge

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// A call is one call to one endpoint.
type call struct {
	*Bridge

	endpoint, bearer string
	peer             *peer           // what was known of the endpoint before; nil for nothing
	method           *dialect.Method // nil for a tool
	body             []byte
	asked            dialect.Call // body, cut
	readable         bool         // body could be cut
	post             postFunc

	match      *assignedMatch  // nil unless the call assigns a match to a third-party referee
	assignment protocol.Object // of that match

	numbered bool     // the sender in asked is league_manager:LM01
	tokens   [][]byte // of the call; nil until they are needed
}

func (b *Bridge) newCall(endpoint, bearer, method string, body []byte, post postFunc) call {
	c := call{Bridge: b, endpoint: endpoint, bearer: bearer, peer: b.find(endpoint), method: dialect.MethodOf(method), post: post}
	if c.peer != nil && c.peer.numbered.Load() {
		body = dialect.AsNumberedManager(method, body)
	}
	c.body = body
	c.asked, c.readable = dialect.CutCall(body)
	return c
}

// make makes the call in the form that the endpoint understands. It does not change c,
// and a call in the form of the specification allocates nothing.
func (c *call) make(ctx context.Context) (reply, error) {
	switch {
	case c.method == nil || !c.readable:
		return c.postBody(ctx)
	case c.method.Name == protocol.StartMatch.Name:
		assigning := *c
		return assigning.assignMatch(ctx)
	case c.peer != nil && c.peer.specForm.Load()>>c.method.Index&1 == 1:
		r, err := c.postBody(ctx)
		if err != nil || r.Status == httpOK && c.method.IsPlain(r.Body) {
			return r, err
		}
		reading := *c
		return reading.read(dialect.SpecForm(c.method.Name), r.Status, r.Body), nil
	}
	sending := *c
	return sending.send(ctx)
}

// postBody posts the body unchanged.
func (c *call) postBody(ctx context.Context) (reply, error) {
	p, err := c.post(ctx, c.endpoint, nil, c.body)
	return reply{Reply: dialect.Reply{Status: p.Status, Body: p.Body}, arrived: p.Body}, err
}

// A reply is the reply to one form.
type reply struct {
	dialect.Reply
	form    dialect.Form
	first   bool   // form is the likeliest one, or the start of a match in it failed
	unsent  bool   // the agent was not called in form
	arrived []byte // the response before it was translated; nil for none
	excerpt string // of the response, for the log; only in a rejection
}

// understood tells whether the agent understood the form.
func (r *reply) understood() bool {
	return r.Verdict == dialect.Understood || r.Verdict == dialect.Deferred
}

// send finds the form of the call. If the reply refuses the sender, it sends the call once
// more with the only sender that some agents accept.
func (c *call) send(ctx context.Context) (reply, error) {
	r, err := c.sendInForms(ctx)
	if err != nil || !c.asked.RefusesSender(r.Reply) {
		return r, err
	}
	if c.method.Registers {
		numbered, ok := c.asked.AsNumberedApplicant()
		if !ok {
			return r, nil
		}
		c.asked = numbered
	} else {
		c.asked.Message, c.numbered = dialect.AsNumberedManager(c.method.Name, c.asked.Message), true
		if c.match != nil {
			c.assignment = protocol.ParseObject(c.asked.Message)
		}
	}
	r, _, err = c.attempt(ctx, r.form, time.Time{})
	if err == nil && r.understood() {
		c.learn(r.form)
	}
	return r, err
}

// sendInForms sends the call in the form that was learned, and in no other. Without one, it
// searches.
func (c *call) sendInForms(ctx context.Context) (reply, error) {
	if f, learned := c.learnedForm(); learned {
		r, _, err := c.attempt(ctx, f, time.Time{})
		return r, err
	}
	return c.search(ctx)
}

// attempt sends the call in one form. Until, if it is not zero, is the deadline: late tells
// that there was no response by then.
func (c *call) attempt(ctx context.Context, f dialect.Form, until time.Time) (r reply, late bool, err error) {
	limited, stop := ctx, func() {}
	switch {
	case c.match != nil:
		limited, stop = shortened(ctx)
	case !until.IsZero():
		limited, stop = context.WithDeadline(ctx, until)
	}
	defer stop()
	p, sent, err := c.postForm(limited, f)
	late = err != nil && limited.Err() != nil && ctx.Err() == nil
	switch {
	case late && c.match != nil: // it answers when the match is over
		return reply{Reply: dialect.Acknowledgement(c.asked.ID, c.match.MatchID, nil), form: f}, false, nil
	case late:
		return reply{Reply: dialect.Reply{Verdict: dialect.Rejected}}, true, nil
	case err != nil:
		return reply{}, false, err
	case !sent:
		return c.noTool(f), false, nil
	case p.Status == httpOK && f == dialect.SpecForm(c.method.Name) && c.method.IsPlain(p.Body):
		return reply{Reply: dialect.Reply{Status: p.Status, Body: p.Body}, form: f, arrived: p.Body}, false, nil
	}
	return c.read(f, p.Status, p.Body), false, nil
}

// postForm posts the call in one form. Sent is false if the agent cannot be called in it.
func (c *call) postForm(ctx context.Context, f dialect.Form) (p posted, sent bool, err error) {
	if f.OnServer() {
		return c.callTool(ctx, f)
	}
	p, err = c.post(ctx, f.URL(c.endpoint), nil, f.Encode(c.message(f), c.asked.ID))
	return p, true, err
}

// shortened ends a context a little earlier, so that there is time to return a result.
func shortened(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	const most = 500 * time.Millisecond
	return context.WithDeadline(ctx, end.Add(-min(most, time.Until(end)/10)))
}

// message is the message of the call in a form.
func (c *call) message(f dialect.Form) jsontext.Value {
	switch {
	case f.Nested:
		return dialect.Nest(c.asked.Message, c.league())
	case c.match == nil:
		return c.asked.Message
	case f.Announces:
		return dialect.AsAnnouncement(c.assignment, c.endpoint).Append(nil)
	}
	return dialect.ForThirdParty(c.assignment).Append(nil)
}

// read translates a response. A rejection has no token of the call.
func (c *call) read(f dialect.Form, status int, response []byte) reply {
	r := reply{form: f, arrived: response}
	response = dialect.FromEvents(response)
	if c.match != nil {
		r.Reply = dialect.ReadStart(c.asked.ID, c.match.MatchID, status, response)
	} else {
		r.Reply = c.method.ReadReply(c.asked.ID, status, response)
	}
	if r.Verdict != dialect.Understood {
		if c.tokens == nil {
			c.tokens = tokensIn(c.asked.Message, c.bearer)
		}
		r.excerpt = excerpt(withoutTokens(response, c.tokens))
		r.Body = withoutTokens(r.Body, c.tokens)
	}
	return r
}
