package conformance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
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
	body := x.request("handle_game_invitation", x.invitation(g))
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	r := read(x.post(ctx, x.options.URL, body, header, x.patience(inviteLimit)))
	x.after(again, "P-HTTP-05", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)

	got := x.exchange(ctx, http.MethodGet, x.options.URL, nil, nil, x.patience(otherLimit))
	got.Request = "GET without a body"
	refused := got.Status == http.StatusMethodNotAllowed || got.Status == http.StatusNotImplemented
	x.judge("P-HTTP-06", firstOf(got.Error, when(!refused, "GET is answered with HTTP status %d", got.Status)), &got.Exchange)

	x.over(ctx, g)
	x.mu.Lock()
	reused := x.reused
	x.mu.Unlock()
	x.judge("P-HTTP-07", when(!reused, "every connection ends with its answer"), &r.Exchange)
	x.dawdle(ctx)
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
	conn, err := (&net.Dialer{Timeout: x.patience(otherLimit)}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
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
	// Whoever knows Expect says when it begins to read; others say nothing.
	_ = conn.SetReadDeadline(time.Now().Add(hesitation))
	_, _ = conn.Read(make([]byte, 512))
	if _, err := conn.Write([]byte(half)); err != nil {
		x.fail("P-HTTP-10", err.Error())
		return
	}
	x.options.Client.CloseIdleConnections() // the others come on connections of their own
	for range 3 {                           // the first may come before the half request was looked at, where nothing was said
		g := x.newMatch()
		body := x.request("handle_game_invitation", x.invitation(g))
		r := read(x.exchange(ctx, http.MethodPost, x.options.URL, body, nil, x.patience(inviteLimit)))
		x.judge("P-HTTP-10", when(r.Error != "", "while one connection had sent half a request, another: %s", r.Error), &r.Exchange)
		if r.Error != "" {
			break
		}
		x.askOver(ctx, x.ending(g))
	}
}

// judgeRegistration judges how the player registered.
func (x *trial) judgeRegistration() {
	if x.registry == nil {
		x.skipRegistration("no manager was there to register with")
		return
	}
	_, mine, others := x.registry.registrations()
	switch {
	case len(mine) > 0:
		x.judgeApplication(&mine[0])
		x.judge("P-REG-09", when(len(mine) > 1, "it was ACCEPTED, and registered %d times", len(mine)), &mine[0].Exchange, &mine[len(mine)-1].Exchange)
	case len(others) > 0:
		x.judgeApplication(&others[0])
		x.fail("P-REG-08", fmt.Sprintf("contact_endpoint is %s, but %s is examined", quoted(others[0].endpoint), x.options.URL), &others[0].Exchange)
		x.skip("P-REG-09", "it registered with another contact_endpoint, and was REJECTED", &others[0].Exchange)
	default:
		x.skipRegistration(fmt.Sprintf("it did not register with the manager of this examination within %s", x.options.Wait))
	}
}

func (x *trial) skipRegistration(why string) {
	for _, q := range playerRegisters() {
		x.skip(q.ID, why)
	}
}

// judgeApplication judges a LEAGUE_REGISTER_REQUEST.
func (x *trial) judgeApplication(a *application) {
	shown := &a.Exchange
	method, _ := a.object.text("method")
	x.judge("P-REG-01", firstOf(
		jsonRPCProblem(a.object), when(a.object["params"].Kind() != '{', "params is %s", kindOf(a.object["params"]))), shown)
	x.judge("P-REG-02", when(method != protocol.RegisterPlayer.Name, "method is %s", quoted(method)), shown)
	m := a.params
	var missing, wrong []string
	check := func(name string, right bool) {
		switch value, _ := m.text(name); {
		case m[name] == nil:
			missing = append(missing, name)
		case value == "" || !right:
			wrong = append(wrong, name+" is "+valueOf(m, name))
		}
	}
	text := func(name string) string { s, _ := m.text(name); return s }
	check("protocol", text("protocol") == protocol.Name)
	check("message_type", text("message_type") == protocol.TypeLeagueRegisterRequest)
	check("sender", strings.HasPrefix(text("sender"), "player:"))
	check("timestamp", protocol.ValidTimestamp(text("timestamp")))
	check("conversation_id", true)
	x.judge("P-REG-03", when(len(missing) > 0, "missing: %s", strings.Join(missing, ", ")), shown)
	x.judge("P-REG-04", strings.Join(wrong, ", "), shown)
	x.judgeMeta(a)
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

// judgeMeta judges what a player says of itself.
func (x *trial) judgeMeta(a *application) {
	shown := &a.Exchange
	name, _ := a.meta.text("display_name")
	x.judge("P-REG-05", when(len([]rune(name)) == 0 || len([]rune(name)) > 50, "display_name is %s", valueOf(a.meta, "display_name")), shown)
	version, _ := a.meta.text("version")
	x.judge("P-REG-06", when(!validVersion(version), "version is %s", valueOf(a.meta, "version")), shown)
	x.judge("P-REG-07", gamesProblem(a.meta["game_types"]), shown)
	x.judge("P-REG-08", when(!protocol.ValidURL(a.endpoint), "contact_endpoint is %s", valueOf(a.meta, "contact_endpoint")), shown)
}

func gamesProblem(games jsontext.Value) string {
	var types []string
	if games.Kind() != '[' || json.Unmarshal(games, &types) != nil {
		return "game_types is " + quoted(string(games)) + ", not an array of strings"
	}
	return when(!slices.Contains(types, "even_odd"), "game_types has no even_odd: %s", quoted(string(games)))
}

// semantic is MAJOR.MINOR.PATCH, and perhaps more.
var semantic = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]+)?$`)

func validVersion(s string) bool { return semantic.MatchString(s) }
