package bridge

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A call is one call to one endpoint.
type call struct {
	*Bridge
	*transport.Request

	method   *dialect.Method // nil for a tool
	body     []byte
	asked    dialect.Call // body, cut
	readable bool         // body could be cut
	post     transport.Post

	match      *assignedMatch  // nil unless the call assigns a match to a third-party referee
	assignment protocol.Object // of that match
	numbered   bool            // the sender in asked is league_manager:LM01
	obliging   bool            // the agent acknowledges every request
}

func (b *Bridge) newCall(q *transport.Request, body []byte, post transport.Post) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.find(q.Endpoint).numbered {
		body = dialect.AsNumberedManager(q.Method, body)
	}
	c := &call{Bridge: b, Request: q, method: dialect.MethodOf(q.Method), body: body, post: post}
	c.asked, c.readable = dialect.CutCall(body)
	return c
}

// make makes the call in the form that the endpoint understands.
func (c *call) make(ctx context.Context) (reply, error) {
	switch {
	case c.method == nil || !c.readable:
		p, err := c.post(ctx, c.Endpoint, nil, c.body)
		if err == nil && c.Method == protocol.Ping.Name {
			c.pinged(p.Body)
		}
		return reply{Reply: dialect.Reply{Status: p.Status, Body: p.Body}, arrived: p.Body}, err
	case c.method.Name == protocol.StartMatch.Name:
		return c.assignMatch(ctx)
	}
	return c.send(ctx)
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

// send sends the call in the form that was learned, or searches for it. If the reply refuses
// the sender, it sends the call once more with the only sender that some agents accept.
func (c *call) send(ctx context.Context) (r reply, err error) {
	if forms, learned, alone := c.plan(); learned {
		r, err = c.attempt(ctx, forms[0])
	} else {
		r, err = c.search(ctx, forms, alone)
	}
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
		c.assignment = protocol.ParseObject(c.asked.Message)
	}
	r, err = c.attempt(ctx, r.form)
	if err == nil && r.understood() {
		c.learn(r.form, nil)
	}
	return r, err
}

// lateLimit is the longest time of a call in the background.
const lateLimit = 10 * time.Second

// sendLate sends a call, which has returned, once more in the background. B.mu is held.
func (b *Bridge) sendLate(c *call) {
	if b.life.Err() != nil {
		return
	}
	b.late.Go(func() {
		ctx, stop := context.WithTimeout(b.life, lateLimit)
		defer stop()
		_, _ = c.send(ctx) // a broadcast: its failure is in the log of the search
	})
}

// attempt sends the call in one form. A referee that is about to miss the end of ctx has
// accepted the match: it answers when the match is over.
func (c *call) attempt(ctx context.Context, f dialect.Form) (reply, error) {
	limited := ctx
	if end, ok := ctx.Deadline(); ok && c.match != nil {
		const most = 500 * time.Millisecond
		var stop context.CancelFunc
		limited, stop = context.WithDeadline(ctx, end.Add(-min(most, time.Until(end)/10)))
		defer stop()
	}
	var p transport.Posted
	var err error
	unsent := ""
	switch {
	case f.OnServer():
		p, unsent, err = c.callTool(limited, f)
	case f.Tool() != "" && c.lists(f.Tool()):
		unsent = noTool // its schema does not fit, or it is not the only one for the method
	default:
		p, err = c.post(limited, f.URL(c.Endpoint), nil, f.Encode(c.message(f), c.asked.ID))
	}
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return reply{Reply: dialect.Acknowledgement(c.asked.ID, c.match.MatchID, nil), form: f}, nil
	case err != nil:
		return reply{}, err
	case unsent != "":
		failure := dialect.Failure{Present: true, Code: transport.CodeMethodNotFound, Text: unsent}
		r := dialect.Reply{Verdict: dialect.Rejected, Status: dialect.StatusOK, Failure: failure}
		r.Body = failure.Body(c.asked.ID)
		return reply{Reply: r, form: f, unsent: true, excerpt: unsent}, nil
	}
	r := c.read(f, p.Status, p.Body)
	if c.match != nil && r.Verdict == dialect.Understood && c.obliges(p.Body) {
		c.obliging = true
		r.Message.SetText("reason", protocol.AcknowledgesAll)
		r.Body = transport.ResultBody(r.Message.Append(nil), c.asked.ID)
	}
	return r, nil
}

// obliges tells whether the agent has answered a ping as it has answered the start of a match. Then it may acknowledge
// every request, and the answer does not show that it understood this one.
func (c *call) obliges(answer []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pong := c.find(c.Endpoint).pong
	return pong != "" && pong == bare(answer)
}

// pinged remembers the answer to a ping that does not say that it is one.
func (c *call) pinged(answer []byte) {
	pong := bare(answer)
	const longest = 1 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	if pong != "" && len(pong) <= longest || c.find(c.Endpoint).pong != "" {
		c.remember(c.Endpoint).pong = pong
	}
}

// bare is an answer without its id, if it says nothing about the request; else "".
func bare(answer []byte) string {
	o := protocol.ParseObject(answer)
	if o == nil || o.Get("error") != nil || bytes.Contains(answer, []byte(`"message_type"`)) ||
		bytes.Contains(answer, []byte(`"match_id"`)) {
		return ""
	}
	o.Drop("id")
	o.Drop("jsonrpc")
	return string(o.Append(nil))
}

// message is the message of the call in a form.
func (c *call) message(f dialect.Form) jsontext.Value {
	switch {
	case f.Nested:
		return dialect.Nest(c.asked.Message, c.facts("").League)
	case f.Flat:
		return c.method.Flatten(c.asked.Message)
	case c.match == nil:
		return c.asked.Message
	case f.Announces:
		return dialect.AsAnnouncement(c.assignment, c.Endpoint).Append(nil)
	}
	return dialect.ForThirdParty(c.assignment).Append(nil)
}

// read translates a response. A rejection has no token of the call.
func (c *call) read(f dialect.Form, status int, response []byte) reply {
	r := reply{form: f, arrived: response}
	response = dialect.FromEvents(response)
	switch {
	case c.match != nil:
		r.Reply = dialect.ReadStart(c.asked.ID, c.match.MatchID, status, response)
	case c.method.Name == protocol.StartMatch.Name:
		r.Reply = dialect.ReadStart(c.asked.ID, "", status, response)
	default:
		r.Reply = c.method.ReadReply(c.asked.ID, status, response)
	}
	if r.Verdict != dialect.Understood {
		tokens := c.tokens()
		r.excerpt = excerpt(withoutTokens(response, tokens))
		r.Body = withoutTokens(r.Body, tokens)
	}
	return r
}

// maxExcerpt is the largest part of a response in the log, in bytes.
const maxExcerpt = 200

// excerpt is the beginning of a response as a quoted text without control characters.
func excerpt(body []byte) string {
	return strconv.QuoteToASCII(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), ""))
}

// secretMember matches a member of our messages that holds a secret of at least 5 bytes. A
// shorter text, such as "none", protects nothing.
var secretMember = words.Pattern(`"(?:[a-z_]*token|registration_code)":"([^"]{5,})"`)

// tokens returns the secrets of a call: the credential beside its message, and those in it.
func (c *call) tokens() (tokens [][]byte) {
	for _, found := range secretMember().FindAllSubmatch(c.asked.Message, -1) {
		tokens = append(tokens, found[1])
	}
	if c.Bearer != "" {
		tokens = append(tokens, []byte(c.Bearer))
	}
	return tokens
}

// shortestEcho is the length of the longest beginning of a token that does not give it away.
const shortestEcho = 8

// withoutTokens replaces tokens, and truncated tokens, with ***.
func withoutTokens(text []byte, tokens [][]byte) []byte {
	for _, token := range tokens {
		for end := len(token); end >= min(len(token), shortestEcho); end-- {
			text = bytes.ReplaceAll(text, token[:end], []byte("***"))
		}
	}
	return protocol.HideTokens(text)
}
