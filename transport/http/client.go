package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"evenodd/transport"
)

// ClientConfig is what a client allows itself and others.
type ClientConfig struct {
	MaxReply int64 // bytes of an answer
	// MaxConns is how many connections there may be to one endpoint, so that
	// one that is slow cannot take all that this process may have: further
	// calls wait until one is free. 0 means 64; negative means no bound.
	MaxConns int
	// Allow judges the address that is really connected to, when the name has
	// been resolved: a name server that answers differently the second time
	// gains nothing. Nil means every address.
	Allow func(netip.Addr) bool
	Roots *x509.CertPool // whose certificates are believed; nil: those that the system believes
	Dial  Dialer         // nil: the network's own; any other asks Allow itself
	// Dialect puts calls as their endpoints understand them; nil calls all in
	// the form of the protocol.
	Dialect Calls
}

// Calls is the side of a dialect that calls. Safe for concurrent use.
type Calls interface {
	// Call makes one call: body is the JSON-RPC request of the method, as
	// transport.EncodeRequest writes it. Bearer is the credential that every POST
	// carries, so that no log shows it. Post makes one POST of any body to any
	// URL of the endpoint's host, as often as it takes, one after the other; its error is that of a POST
	// which got no answer. What is returned takes the place of an answer of the
	// endpoint: an HTTP status with a JSON-RPC response, or such an error.
	Call(ctx context.Context, endpoint, bearer, method string, body []byte, post Post) (status int, answer []byte, err error)
}

// Post makes one POST, and returns what came of it.
type Post = func(ctx context.Context, url string, body []byte) (status int, answer []byte, err error)

// A Dialer makes connections.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// A Client calls agents over HTTP. It keeps connections alive, follows no
// redirects and reads no answer beyond its limit. Safe for concurrent use.
type Client struct {
	http     *http.Client
	dialect  Calls
	maxReply int64
	lastID   atomic.Int64
}

var _ transport.Caller = (*Client)(nil)

const (
	usualConns      = 64
	maxReplyHeader  = 64 << 10 // else it is 10 MB, also of endless HTTP 100s: a second of computing for each call
	dialPatience    = 10 * time.Second
	secretsPatience = 10 * time.Second // for a TLS handshake
)

// NewClient makes a client.
func NewClient(c ClientConfig) *Client {
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: dialPatience, KeepAlive: 30 * time.Second, ControlContext: guard(c.Allow)}).DialContext
	}
	if c.MaxConns == 0 {
		c.MaxConns = usualConns
	}
	return &Client{
		maxReply: c.MaxReply,
		dialect:  c.Dialect,
		http: &http.Client{
			// Without HTTP/2: its calls would share one connection, and with it
			// what happens to that.
			Transport: &http.Transport{
				DialContext:            measuredDial(c.Dial),
				TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    secretsPatience,
				MaxConnsPerHost:        max(0, c.MaxConns),
				MaxIdleConns:           2048,
				MaxIdleConnsPerHost:    128,
				MaxResponseHeaderBytes: maxReplyHeader,
				// Shorter than a server's idle timeout, which many have at 5 s, so
				// that it is this side that closes, and no call meets a closed
				// connection.
				IdleConnTimeout:    4 * time.Second,
				DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// guard asks allow before a connection is made.
func guard(allow func(netip.Addr) bool) func(context.Context, string, string, syscall.RawConn) error {
	if allow == nil {
		return nil
	}
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		// An IPv4 address in the clothes of an IPv6 one is the same host.
		if host := to.Addr().Unmap().WithZone(""); !allow(host) {
			return &transport.ForbiddenError{Address: host}
		}
		return nil
	}
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call posts the call and reads the response.
func (c *Client) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	body, err := transport.EncodeRequest(q.Method, q.Params, c.lastID.Add(1))
	if err != nil {
		return nil, nil, err
	}
	p := begin(ctx, q.Limit, q.ExtendByQueue)
	defer p.release()
	var r reply
	if c.dialect == nil {
		r, err = c.post(p, q.Endpoint, q.Bearer, body)
	} else {
		r, err = c.interpreted(p, q.Endpoint, q.Bearer, q.Method, body)
	}
	timing := p.finish() // without the time to decode
	if err != nil {
		return nil, timing, classify(p, q.Endpoint, err)
	}
	if r.status >= 300 {
		return nil, timing, r.refused()
	}
	value, err := transport.DecodeResponse(r.body, q.Decode)
	return value, timing, r.failed(err)
}

// A reply is what came of a POST.
type reply struct {
	status  int
	header  http.Header
	secured bool // it was asked for over HTTPS
	body    []byte
}

// interpreted makes a call in the form that its endpoint understands. The reply is
// the last that came, with the status and the body that the dialect gives it.
func (c *Client) interpreted(ctx context.Context, endpoint, bearer, method string, body []byte) (last reply, err error) {
	last.status, last.body, err = c.dialect.Call(ctx, endpoint, bearer, method, body, func(ctx context.Context, to string, body []byte) (int, []byte, error) {
		r, err := c.post(ctx, to, bearer, body)
		if err == nil {
			last = r
		}
		return r.status, r.body, err
	})
	return last, err
}

// post posts a body and reads the answer.
func (c *Client) post(ctx context.Context, to, bearer string, body []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return reply{}, &transport.UnreachableError{Endpoint: to, Err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := readAll(response, c.maxReply)
	if err != nil {
		return reply{}, err
	}
	return reply{response.StatusCode, response.Header, request.URL.Scheme == "https", answer}, nil
}

// smallBody is how many bytes are made room for because somebody says that he
// will send them. What is larger gets its room as it arrives.
const smallBody = 32 << 10

// readAll reads a body of at most limit bytes. Of what comes with a status that is no
// success, such as a page for people, the beginning is enough.
func readAll(response *http.Response, limit int64) ([]byte, error) {
	switch n := response.ContentLength; {
	case response.StatusCode >= 300:
		return io.ReadAll(io.LimitReader(response.Body, min(limit, smallBody)))
	case n > limit:
		return nil, &UnreadableError{response.StatusCode, fmt.Errorf("the answer has %s bytes, more than the %d allowed", strconv.FormatInt(n, 10), limit)}
	case n >= 0 && n <= smallBody:
		b := make([]byte, n)
		_, err := io.ReadFull(response.Body, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &UnreadableError{response.StatusCode, fmt.Errorf("the answer has more than the %d bytes allowed", limit)}
	}
	return b, err
}
