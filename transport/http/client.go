package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"evenodd/transport"
)

// ClientConfig configures a client.
type ClientConfig struct {
	MaxReply int64 // bytes of a response
	// MaxConns is the number of connections to one endpoint, so that a slow one
	// cannot use up those of this process: further calls wait until a connection is
	// free. 0 means 64; negative means no bound.
	MaxConns int
	// Allow says which addresses may be called, against SSRF (server-side request
	// forgery): an untrusted agent names its own endpoint. See NewDialer.
	Allow func(netip.Addr) bool
	Roots *x509.CertPool // trusted certificate authorities; nil: those of the system
	Dial  Dialer         // nil: NewDialer, with Allow
	// Dialect translates calls to third-party forms; nil makes all calls in our own form.
	Dialect Calls
}

// Calls is the client side of a dialect. It is safe for concurrent use.
type Calls interface {
	// Call makes one call. Body is its JSON-RPC request, as
	// transport.EncodeRequest writes it. Every POST carries the bearer credential, so
	// that no log shows it. Post posts any body to any URL of the endpoint's host, as
	// often as needed, one after the other, also after Call has returned. Call returns
	// the HTTP status and the JSON-RPC response of the endpoint in our own form, or the
	// error of a POST.
	Call(ctx context.Context, q *transport.Request, body []byte, post transport.Post) (transport.Posted, error)
}

// A Dialer makes connections.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// A Client calls agents over HTTP. It keeps connections alive, follows no redirects
// and reads no response beyond its limit. It is safe for concurrent use.
type Client struct {
	connections *http.Transport // without http.Client, which copies the headers of each request for redirects
	reached     reachedAddresses
	dialect     Calls
	maxReply    int64
	lastID      atomic.Int64
}

var _ transport.Caller = (*Client)(nil)

const (
	defaultConns     = 64
	maxReplyHeader   = 64 << 10 // bytes; net/http's default of 10 MB costs a second of computing for each call
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second // of TLS
)

// NewClient makes a client.
func NewClient(c ClientConfig) *Client {
	if c.Dial == nil {
		c.Dial = NewDialer(c.Allow)
	}
	client := &Client{maxReply: c.MaxReply, dialect: c.Dialect}
	// Without HTTP/2, whose calls share one connection and fail with it.
	client.connections = &http.Transport{
		DialContext:            client.reached.noted(measuredDial(c.Dial)),
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxConnsPerHost:        max(0, cmp.Or(c.MaxConns, defaultConns)),
		MaxIdleConns:           2048,
		MaxIdleConnsPerHost:    128,
		MaxResponseHeaderBytes: maxReplyHeader,
		// Shorter than the idle timeout of common servers (5 s), so that this
		// side closes first, and no call meets a closed connection.
		IdleConnTimeout:    4 * time.Second,
		DisableCompression: true,
	}
	return client
}

// Reached returns the addresses to which the client has recently connected for a host and port.
func (c *Client) Reached(hostPort string) []netip.Addr { return c.reached.of(hostPort) }

// Close drops the idle connections.
func (c *Client) Close() { c.connections.CloseIdleConnections() }

// Call posts the call and reads the response. The error is a *transport.CallError, one of TLS, or that
// of the context.
func (c *Client) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	body, err := transport.EncodeRequest(q.Method, q.Params, c.lastID.Add(1))
	if err != nil {
		return nil, nil, err
	}
	p := begin(ctx, q.Limit, q.ExtendByQueue, q.Networks)
	defer p.release()
	var r reply
	if c.dialect == nil {
		r, err = c.post(p, &q, q.Endpoint, nil, body)
	} else {
		r, err = c.translated(p, &q, body)
	}
	timing := p.finish() // without the time to decode
	if err != nil {
		return nil, timing, classify(p, q.Endpoint, err)
	}
	timing.Body = r.Arrived
	if r.Status >= 300 {
		return nil, timing, r.refused()
	}
	value, err := transport.DecodeResponse(r.Body, q.Decode)
	return value, timing, r.failed(err)
}

// A reply is the response to a POST.
type reply struct {
	transport.Posted

	header http.Header
	https  bool
	path   string // of the request
}

// translated makes a call in the form that its endpoint understands. The reply is the
// last one, with the status and the bodies that the dialect returns.
func (c *Client) translated(ctx context.Context, q *transport.Request, body []byte) (last reply, err error) {
	post := func(ctx context.Context, to string, header map[string]string, body []byte) (transport.Posted, error) {
		r, err := c.post(ctx, q, to, header, body)
		if err == nil {
			last = r
		}
		return r.Posted, err
	}
	last.Posted, err = c.dialect.Call(ctx, q, body, post)
	if last.Status >= 300 { // not translated, and maybe that of an earlier form
		last.Arrived = last.Body
	}
	return last, err
}

// The values of headers that all calls or all answers have.
var (
	jsonType    = []string{"application/json"}
	answerTypes = []string{"application/json, text/event-stream"}
	noSniffing  = []string{"nosniff"}
)

// post posts a body for a call and reads the response.
func (c *Client) post(ctx context.Context, q *transport.Request, to string, header map[string]string,
	body []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return reply{}, &transport.CallError{Kind: transport.Unreachable, Endpoint: to, Err: err}
	}
	request.Header = http.Header{"Content-Type": jsonType, "Accept": answerTypes} // net/http changes no values
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if q.Bearer != "" {
		request.Header["Authorization"] = []string{"Bearer " + q.Bearer}
	}
	response, err := c.connections.RoundTrip(request) // follows no redirect
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := readAll(response, max(c.maxReply, q.MaxReply))
	if err != nil {
		return reply{}, err
	}
	posted := transport.Posted{
		Status: response.StatusCode, Session: response.Header.Get("Mcp-Session-Id"), Body: answer, Arrived: answer,
	}
	return reply{posted, response.Header, request.URL.Scheme == "https", request.URL.Path}, nil
}

// smallBody is the largest body, in bytes, whose memory is allocated by its declared
// length. Memory for a larger one grows as it arrives.
const smallBody = 32 << 10

// readAll reads a body of at most limit bytes, and only the beginning of one whose
// status is no success, such as an HTML page.
func readAll(response *http.Response, limit int64) ([]byte, error) {
	switch n := response.ContentLength; {
	case response.StatusCode >= 300:
		return io.ReadAll(io.LimitReader(response.Body, min(limit, smallBody)))
	case n > limit:
		err := fmt.Errorf("the answer has %d bytes, more than the %d allowed", n, limit)
		return nil, &transport.CallError{Kind: transport.Unreadable, Status: response.StatusCode, Err: err}
	case n >= 0 && n <= smallBody:
		b := make([]byte, n)
		_, err := io.ReadFull(response.Body, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &transport.CallError{
			Kind: transport.Unreadable, Status: response.StatusCode, Err: fmt.Errorf("the answer has more than the %d bytes allowed", limit),
		}
	}
	return b, err
}
