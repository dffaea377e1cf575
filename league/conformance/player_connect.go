package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// connect looks at HTTP.
func (x *trial) connect(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	url, body := x.inForm(ctx, x.dialect, protocol.Invite.Name, x.encode(x.nextID(), protocol.Invite.Name, x.invitation(g)))
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	r := read(x.post(ctx, url, body, header, x.patience(inviteLimit)))
	understoodBy(ctx, protocol.Invite.Name, x.encode(jsontext.Value("1"), protocol.Invite.Name, map[string]any{}), r)
	x.after(again, "P-HTTP-05", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)

	got := x.exchange(ctx, http.MethodGet, x.options.URL, nil, nil, x.patience(otherLimit))
	got.Request = "GET without a body"
	x.judge("P-HTTP-06", firstOf(got.Error, when(got.Status != http.StatusMethodNotAllowed && got.Status != http.StatusNotImplemented, "GET is answered with HTTP status %d", got.Status)), &got.Exchange)

	x.over(ctx, g)
	x.mu.Lock()
	reused := x.reused
	x.mu.Unlock()
	x.judge("P-HTTP-07", when(!reused, "every connection ends with its answer"), &r.Exchange)
	if x.wants("P-HTTP-10") {
		x.dawdle(ctx)
	}
}

// dawdle sends half a request, and looks whether others are answered while the
// other half is missing.
func (x *trial) dawdle(ctx context.Context) {
	u, err := url.Parse(x.options.URL)
	if err != nil || u.Scheme != "http" {
		x.skip("P-HTTP-10", "only examined over plain HTTP")
		return
	}
	if x.givenUp() != "" {
		return
	}
	dialing, cancel := context.WithTimeout(ctx, x.patience(otherLimit))
	defer cancel()
	conn, err := x.options.Dial(dialing, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		x.fail("P-HTTP-10", err.Error())
		return
	}
	defer func() { _ = conn.Close() }()
	const half = `{"jsonrpc": "2.0", "meth`
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n", u.RequestURI(), u.Host)
	if _, err := conn.Write([]byte(head)); err != nil {
		x.fail("P-HTTP-10", err.Error())
		return
	}
	// A server that knows Expect says when it begins to read; others say nothing.
	_ = conn.SetDeadline(time.Now().Add(hesitation))
	_, _ = conn.Read(make([]byte, 512))
	_ = conn.SetDeadline(time.Now().Add(hesitation))
	if _, err := conn.Write([]byte(half)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // it reads when it likes
		x.fail("P-HTTP-10", err.Error())
		return
	}
	x.options.Client.CloseIdleConnections() // the others come on connections of their own
	for range 3 {                           // the first may come before the agent has read the half request
		g := x.newMatch()
		url, body := x.inForm(ctx, x.dialect, protocol.Invite.Name, x.encode(x.nextID(), protocol.Invite.Name, x.invitation(g)))
		r := read(x.exchange(ctx, http.MethodPost, url, body, nil, x.patience(inviteLimit)))
		x.judge("P-HTTP-10", when(r.Error != "", "while one connection had sent half a request, another: %s", r.Error), &r.Exchange)
		if r.Error != "" {
			break
		}
		x.endOnce(ctx, x.ending(g))
	}
}

// judgeRegistration judges how the player registered, and the form of its calls.
func (x *trial) judgeRegistration() {
	if x.stage == nil {
		x.skipRegistration("no manager was there to register with")
		return
	}
	mine, others := x.desk.applications(x.stage)
	switch {
	case len(mine) > 0:
		x.judgeApplication(mine[0])
		x.judge("P-REG-09", when(len(mine) > 1, "it was ACCEPTED, and registered %d times", len(mine)), mine[0].exchange(), mine[len(mine)-1].exchange())
	case len(others) > 0:
		x.judgeApplication(others[0])
		x.fail("P-REG-08", fmt.Sprintf("contact_endpoint is %s, but %s is examined", quoted(endpointOf(others[0].params)), x.options.URL), others[0].exchange())
		x.skip("P-REG-09", "it registered with another contact_endpoint, and was REJECTED", others[0].exchange())
	default:
		x.skipRegistration(fmt.Sprintf("it did not register with the manager of this examination within %s", x.options.Wait))
	}
	x.judgeForms(x.stage)
}

func (x *trial) skipRegistration(why string) {
	for _, q := range playerRegisters() {
		x.skip(q.ID, why)
	}
	x.skip("P-FRM-03", why)
}

// judgeForms judges the form of the calls of the agent under examination.
func (x *client) judgeForms(s *stage) {
	for _, c := range s.told(func(c *call) bool { return c.kind != "" && !c.searching }) {
		x.because(formDefect(), x.as("FRM-03"), c.form, c.exchange())
	}
}

// judgeApplication judges a LEAGUE_REGISTER_REQUEST: its form and its envelope as the
// player wrote them, and the rest as a league reads it.
func (x *trial) judgeApplication(c *call) {
	shown := c.exchange()
	d := defect{}
	if c.form != "" {
		d = formDefect()
	}
	x.because(d, "P-REG-01", firstOf(jsonRPCProblem(c.came), when(c.came["params"].Kind() != '{', "params is %s", jsonKind(c.came["params"]))), shown)
	method, _ := c.came.text("method")
	x.because(d, "P-REG-02", when(method != protocol.RegisterPlayer.Name, "method is %s", quoted(method)), shown)
	var missing []string
	for _, name := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id"} {
		if c.said[name] == nil {
			missing = append(missing, name)
		}
	}
	x.judge("P-REG-03", when(len(missing) > 0, "missing: %s", strings.Join(missing, ", ")), shown)
	broken := x.judges.broken(c.kind, c.params)
	of := func(name string) string {
		return fieldsProblem(broken, func(field string) bool { return within(field, "player_meta."+name) })
	}
	x.judge("P-REG-04", fieldsProblem(broken, func(field string) bool { return !strings.HasPrefix(field, "player_meta.") }), shown)
	x.judge("P-REG-05", of("display_name"), shown)
	x.judge("P-REG-06", of("version"), shown)
	x.judge("P-REG-07", firstOf(of("game_types"), x.gamesProblem(metaOf(c.params))), shown)
	x.judge("P-REG-08", firstOf(of("contact_endpoint"), when(!protocol.ValidURL(endpointOf(c.params)), "contact_endpoint is %s", valueOf(metaOf(c.params), "contact_endpoint"))), shown)
}

func jsonRPCProblem(object members) string {
	switch {
	case object["jsonrpc"] == nil:
		return `"jsonrpc": "2.0" is missing`
	case object["id"] == nil:
		return "id is missing"
	}
	return firstOf(object.has("jsonrpc", "2.0"), object.filled("method"))
}

// gamesProblem says that the game of the league is not among those of an agent. An agent
// that names none plays even_odd.
func (l *lab) gamesProblem(meta members) string {
	games := meta["game_types"]
	if games == nil && l.evenOdd() {
		return ""
	}
	var types []string
	if games.Kind() != '[' || json.Unmarshal(games, &types) != nil {
		return "game_types is " + valueOf(meta, "game_types") + ", not an array of strings"
	}
	return when(!slices.Contains(types, l.game), "game_types has no %s: %s", l.game, valueOf(meta, "game_types"))
}
