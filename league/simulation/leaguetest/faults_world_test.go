package leaguetest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/transport"
	"evenodd/transport/http"
)

// hostileWorld is a league over HTTP with one offender: a player, a referee, or an untrusted
// caller. All other agents are honest agents of this program.
type hostileWorld struct {
	*leaguetest.World

	hostile  *hostileNet
	offender *leaguetest.Agent // nil for an untrusted caller
	suspect  string            // the player whose matches may fail; "" without one

	mu    sync.Mutex
	notes []note        // what an untrusted caller observed, in order
	begun time.Duration // when all agents were registered
	took  time.Duration // duration of the league from begun on

	flooding sync.WaitGroup
	waited   time.Duration // how long P04's registration took
}

// honestIDs are the agents whose tokens must not leak.
var honestIDs = []string{"P01", "P03", "P04", "REF01", "REF02"}

// The offending player and the offending referee.
const (
	badPlayer  = "P02"
	badReferee = "REF01"
)

// inAHostileWorld runs a test in a hostile world.
func inAHostileWorld(t *testing.T, run func(w *hostileWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &hostileWorld{World: leaguetest.NewWorld(t, leaguetest.HTTP, zerolog.Nop())}
		w.hostile = &hostileNet{PipeNetwork: w.Network.(*leaguetest.PipeNetwork), over: make(chan struct{}), credential: w.ManagerCredential}
		w.Network = w.hostile
		w.Untrusted = w.Caller("untrusted", 1<<20)
		run(w)
		synctest.Wait()
		w.Close()
	})
}

// join registers the players P01 to P04 and the referees REF01 and REF02: the offender
// first, with its traits. Its wire is broken after the registration.
func (w *hostileWorld) join(f *fault) {
	w.T.Helper()
	w.StartManager(4, 2, f.league...)
	traits := leaguetest.Options(leaguetest.WithStrategy("even"), leaguetest.WithCapacity(1))
	traits = append(traits, f.traits...)
	if f.script != nil {
		traits = append(traits, f.script(w)...)
	}
	if f.of == ofPlayer || f.of == ofWire {
		w.suspect = badPlayer
		if f.wire != nil {
			w.hostile.wires.Store(strings.ToLower(badPlayer), f.wire.ready(w))
		}
		w.offender = w.Player(badPlayer, traits...)
		if f.wire != nil {
			synctest.Wait() // the offender has answered the manager's ping
			f.wire.bad.Store(true)
		}
	}
	if f.of == ofReferee {
		w.offender = w.Referee(badReferee, traits...)
	} else {
		w.Referee(badReferee, leaguetest.WithCapacity(1))
	}
	w.Referee("REF02", leaguetest.WithCapacity(2))
	for i := 1; i <= 4; i++ {
		id := league.PlayerID(i)
		if w.offender != nil && id == w.offender.ID {
			continue
		}
		traits := leaguetest.Options(leaguetest.WithStrategy([]string{"even", "odd"}[i%2]))
		if f.slowly {
			traits = append(traits, leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)))
		}
		if i == 4 && f.last != nil {
			f.last(w)
		}
		wished := w.Now()
		w.Player(id, traits...)
		w.waited = w.Now() - wished
	}
	w.begun = w.Now()
}

// agentAt returns the agent of a host.
func (w *hostileWorld) agentAt(host string) *leaguetest.Agent {
	agents := w.Agents()
	return agents[slices.IndexFunc(agents, func(a *leaguetest.Agent) bool { return a.Host == host })]
}

// observe notes the result of an action of the offender.
func (w *hostileWorld) observe(what, result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.notes, note{what, result}) {
		w.notes = append(w.notes, note{what, result})
	}
}

// note is the result of an action.
type note struct{ what, result string }

// notesAsText returns the notes as text, grouped by result.
func (w *hostileWorld) notesAsText() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for i, n := range w.notes {
		same := func(other note) bool { return other.result == n.result }
		if slices.ContainsFunc(w.notes[:i], same) {
			continue
		}
		var whats []string
		for _, other := range w.notes {
			if same(other) {
				whats = append(whats, other.what)
			}
		}
		lines = append(lines, strings.Join(whats, ", ")+": "+n.result)
	}
	return lines
}

// post sends a body to an agent by plain HTTP and describes the response.
func (w *hostileWorld) post(host, body string) string {
	ctx, stop := context.WithTimeout(w.Context, 20*leaguetest.Second)
	defer stop()
	client := &nethttp.Client{
		Transport:     &nethttp.Transport{DialContext: w.hostile.dial, DisableKeepAlives: true},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}
	url := leaguetest.EndpointOf(host)
	q, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, url, strings.NewReader(body))
	require.NoError(w.T, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := client.Do(q)
	switch {
	case ctx.Err() != nil:
		return "no response in 20 s"
	case err != nil:
		return "the connection was closed"
	}
	defer r.Body.Close()
	raw, _ := io.ReadAll(r.Body)
	for _, id := range honestIDs {
		assert.NotContains(w.T, string(raw), w.Token(id))
		assert.NotContains(w.T, string(raw), w.ManagerCredential(id))
	}
	return "HTTP " + strconv.Itoa(r.StatusCode) + rpcOf(raw)
}

// rpcOf describes a JSON-RPC body.
func rpcOf(raw []byte) string {
	var batch []jsontext.Value
	if json.Unmarshal(raw, &batch) == nil && len(batch) > 0 {
		return ", " + strconv.Itoa(len(batch)) + " responses"
	}
	_, err := transport.DecodeResponse(raw, func(raw []byte) (any, error) { return raw, nil })
	var answered *transport.Error
	switch {
	case len(raw) == 0:
		return ", empty body"
	case err == nil:
		return ", a result"
	case errors.As(err, &answered):
		return ", " + answerOf(err)
	}
	return ""
}

// answerOf describes the result of a call.
func answerOf(err error) string {
	e := protocol.AsError(err)
	switch {
	case e == nil && err == nil:
		return "a result"
	case e == nil:
		return "cancelled"
	case e.Code == protocol.ErrTimeout && !e.Remote:
		return "no response in time"
	case e.Code == protocol.ErrConnection && !e.Remote:
		return "no response"
	case e.Code == "":
		return "error " + strconv.Itoa(e.RPC)
	}
	return "error " + strconv.Itoa(e.RPC) + " (" + string(e.Code) + ")"
}

// hostileNet is HTTP over pipes with the limits of the real program. Some hosts have their
// own wire.
type hostileNet struct {
	*leaguetest.PipeNetwork

	wires      sync.Map // *wire by host
	credential func(id string) string
	over       chan struct{}
}

func (n *hostileNet) Caller(maxReply int64) protocol.Caller {
	return n.CallerThrough(n.dial, maxReply)
}

// wire returns the wire of a host, or nil.
func (n *hostileNet) wire(host string) *wire {
	x, _ := n.wires.Load(host)
	own, _ := x.(*wire)
	return own
}

func (n *hostileNet) Close() {
	close(n.over)
	n.PipeNetwork.Close()
}

// errReset is what a client reads from a connection that was reset.
var errReset = &net.OpError{Op: "read", Net: "pipe", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// resetting is a connection that ends with a reset instead of EOF.
type resetting struct{ net.Conn }

func (c resetting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = errReset
	}
	return n, err
}

func (n *hostileNet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := strings.Cut(address, ":")
	x := n.wire(host)
	if !x.broken() {
		return n.Dial(ctx, network, address)
	}
	switch x.connect {
	case refusesConnections:
		return n.Dial(ctx, network, "nobody:1")
	case neverAccepts:
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-n.over:
			return nil, net.ErrClosed
		}
	case resets:
		c, err := n.Dial(ctx, network, address)
		return resetting{c}, err
	}
	return n.Dial(ctx, network, address)
}

// Listen serves a host as the program does.
func (n *hostileNet) Listen(host string, mux *transport.Mux, scripted bool) func() {
	if x := n.wire(host); x != nil {
		return x.listen(n.PipeNetwork, host, mux)
	}
	if scripted {
		return n.PipeNetwork.Listen(host, mux, true)
	}
	sender := protocol.PlayerSender("P00")
	limits := http.Config{MaxBody: 10 << 10, Hosts: []string{host}}
	switch {
	case host == leaguetest.ManagerHost:
		sender = protocol.ManagerSender
	case strings.HasPrefix(host, "ref"):
		sender, limits.MaxBearerBody = protocol.RefereeSender("REF00"), 1<<20
		limits.Identify = func(bearer string, _ []byte) (caller string) {
			if protocol.SameToken(bearer, n.credential(strings.ToUpper(host))) {
				caller = leaguetest.ManagerHost
			}
			return caller
		}
	default:
		limits.MaxBody = 1 << 20
	}
	limits.TooLarge = func(_ context.Context, limit int64) error {
		return protocol.TooLarge(protocol.NewStamp(sender, protocol.SystemClock()), limit)
	}
	limits.RateLimited = func(wait time.Duration) error {
		return protocol.TooFast(protocol.NewStamp(sender, protocol.SystemClock()), wait)
	}
	return n.Serve(host, http.NewServer(mux, limits))
}

// connecting is how a wire handles connections.
type connecting int

const (
	accepts connecting = iota
	refusesConnections
	neverAccepts
	resets // accepted connections end with a reset
)

// wire is the raw HTTP of an offender with an honest agent. It is valid until the offender
// is registered.
type wire struct {
	connect connecting
	greet   func(c net.Conn) // gets a connection before anything is read; may be nil
	replies map[string]reply // by method; "" for all others; without an entry: honest
	round   int              // the round in which it breaks; 0: immediately
	bad     atomic.Bool
	world   *hostileWorld
	endless atomic.Int64 // bytes read of endless responses
}

func (x *wire) ready(w *hostileWorld) *wire {
	x.world = w
	return x
}

// broken reports whether the wire is broken now.
func (x *wire) broken() bool {
	return x != nil && x.bad.Load() &&
		(x.round == 0 || len(x.world.Calls(protocol.NotifyRound.Name, strings.ToLower(badPlayer))) >= x.round)
}

// A reply answers a request on its connection instead of an honest server. When it returns,
// the connection is closed.
type reply func(c *rawCall)

// rawCall is a request that was read from a connection.
type rawCall struct {
	wire   *wire
	conn   net.Conn
	honest []byte
}

func (x *wire) listen(p *leaguetest.PipeNetwork, host string, mux *transport.Mux) func() {
	l := p.Network.Listen(host + ":8000")
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				x.serve(c, mux)
				_ = c.Close()
			})
		}
	})
	return sync.OnceFunc(func() {
		_ = l.Close()
		cancel()
		serving.Wait()
	})
}

// serve reads requests from a connection and answers each.
func (x *wire) serve(c net.Conn, mux *transport.Mux) {
	if x.greet != nil && x.broken() {
		x.greet(c)
		return
	}
	in := bufio.NewReader(c)
	for {
		q, err := nethttp.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		var asked struct {
			Method string `json:"method"`
		}
		_ = json.Unmarshal(body, &asked)
		bearer, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
		honest := mux.Serve(context.Background(), bearer, body).Body
		if play := x.reply(asked.Method); play != nil {
			play(&rawCall{x, c, honest})
			return
		}
		if _, err := c.Write(plainHTTP("", honest)); err != nil {
			return
		}
	}
}

// reply returns the reply to a method, nil for that of an honest server.
func (x *wire) reply(method string) reply {
	if !x.broken() {
		return nil
	}
	if play, ok := x.replies[method]; ok {
		return play
	}
	return x.replies[""]
}

// plainHTTP returns a valid response with extra header lines, each with CRLF.
func plainHTTP(extra string, body []byte) []byte {
	return append([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n"+extra+"\r\n"), body...)
}

// hangs waits until the caller closes the connection.
func hangs(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// writes returns a reply of raw bytes, after which the connection is closed.
func writes(raw string) reply {
	return func(c *rawCall) { _, _ = io.WriteString(c.conn, raw) }
}

// answers returns a reply with a valid head and the given body.
func answers(body string) reply {
	return func(c *rawCall) { _, _ = c.conn.Write(plainHTTP("Connection: close\r\n", []byte(body))) }
}

// status returns a reply with an HTTP status, extra header lines and an HTML page.
func status(line, extra string) reply {
	const page = "<html><body>not here</body></html>"
	return writes("HTTP/1.1 " + line + "\r\n" + extra + "Content-Type: text/html\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(page)) + "\r\n\r\n" + page)
}

// spoils returns a reply that changes the honest body.
func spoils(change func(honest string) string) reply {
	return func(c *rawCall) { answers(change(string(c.honest)))(c) }
}

// replaces returns a reply that replaces a text in the honest body.
func replaces(old, with string) reply {
	return spoils(func(honest string) string { return strings.Replace(honest, old, with, 1) })
}

// endlessly returns a reply that writes a piece again and again while the caller reads.
// pause is the time between two pieces; 0 is as fast as possible.
func endlessly(head, piece string, pause time.Duration) reply {
	return func(c *rawCall) {
		_, err := io.WriteString(c.conn, head)
		for err == nil {
			time.Sleep(pause)
			var n int
			n, err = io.WriteString(c.conn, piece)
			c.wire.endless.Add(int64(n))
		}
	}
}

// assertUnharmed asserts that the league is complete, that every match without the offender
// has a result, and that no honest player lost technically.
func (w *hostileWorld) assertUnharmed() {
	w.T.Helper()
	require.NotNil(w.T, w.Final, "the league is complete")
	n := len(w.Manager.Standings())
	assert.GreaterOrEqual(w.T, n, 4)
	assert.Len(w.T, leaguetest.Results(w.Manager), n*(n-1)/2)
	own, others := w.matches()
	for _, r := range others {
		assert.Contains(w.T, []string{league.StatusWin, league.StatusDraw}, r.Status, "%s: %s", r.MatchID, r.Reason)
	}
	for _, r := range own {
		if r.Status == league.StatusTechnicalLoss {
			assert.NotEqual(w.T, w.suspect, r.Winner(), "%s: %s", r.MatchID, r.Reason)
			assert.NotEmpty(w.T, r.Winner(), "%s: %s", r.MatchID, r.Reason)
		}
	}
	for _, row := range w.Manager.Standings() {
		if row.PlayerID != w.suspect {
			assert.Zero(w.T, row.TechnicalLosses, "%s has lost technically", row.PlayerID)
		}
	}
}

// assertInformed asserts that all honest players know that the league is over. If all referees
// are honest, their own totals equal the standings.
func (w *hostileWorld) assertInformed() {
	w.T.Helper()
	honest := true
	for _, r := range leaguetest.Results(w.Manager) {
		honest = honest && (w.offender == nil || r.RefereeID != w.offender.ID)
	}
	rows := map[string]protocol.StandingRow{}
	for _, row := range w.Final.Rows() {
		rows[row.PlayerID] = row
	}
	for _, a := range w.Agents() {
		if a.Player == nil || a.Player.ID() == w.suspect {
			continue
		}
		assert.True(w.T, leaguetest.IsClosed(a.Player.Done()), "%s knows that the league is over", a.ID)
		if row, stats := rows[a.Player.ID()], a.Player.Record().Stats; honest {
			assert.Equal(w.T, []int{row.Played, row.Wins, row.Losses, row.Draws},
				[]int{stats.TotalMatches, stats.Wins, stats.Losses, stats.Draws}, "totals of %s", a.ID)
		}
	}
}

// matches returns the results with the suspect, and all others.
func (w *hostileWorld) matches() (own, others []record.Match) {
	for _, r := range leaguetest.Results(w.Manager) {
		if r.PlayerAID == w.suspect || r.PlayerBID == w.suspect {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others
}
