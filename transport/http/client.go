package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/transport"
)

// A Client calls agents over HTTP. It keeps connections alive, follows no
// redirects and reads no answer beyond its limit. Safe for concurrent use.
type Client struct {
	http     *http.Client
	maxReply int64
	lastID   atomic.Int64
}

var _ transport.Caller = (*Client)(nil)

// A Dialer makes connections; nil means the network's own.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// NewClient makes a client that reads answers of at most maxReply bytes.
func NewClient(maxReply int64, dial Dialer) *Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &Client{
		maxReply: maxReply,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:         dial,
				MaxIdleConns:        2048,
				MaxIdleConnsPerHost: 128,
				// Shorter than a server's idle timeout, so that it is this
				// side that closes, and no call meets a closed connection.
				IdleConnTimeout:    30 * time.Second,
				DisableCompression: true,
				// Without a limit it is 10 MB, also of endless HTTP 100s, which
				// cost a second of computing for every call.
				MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call posts the call and reads the answer.
func (c *Client) Call(ctx context.Context, endpoint, bearer, method string, params any, decode func([]byte) (any, error)) (any, error) {
	body, err := transport.EncodeRequest(method, params, c.lastID.Add(1))
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &transport.UnreachableError{Endpoint: endpoint, Err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, classify(ctx, endpoint, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := readAll(response, c.maxReply)
	if err != nil {
		return nil, classify(ctx, endpoint, err)
	}
	if response.StatusCode >= 300 {
		return nil, refused(response.StatusCode, answer)
	}
	return transport.DecodeResponse(answer, decode)
}

// readAll reads a body of at most limit bytes.
func readAll(response *http.Response, limit int64) ([]byte, error) {
	if response.ContentLength > limit {
		return nil, fmt.Errorf("the answer has %d bytes, more than the %d allowed", response.ContentLength, limit)
	}
	if n := response.ContentLength; n >= 0 {
		b := make([]byte, n)
		_, err := io.ReadFull(response.Body, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("the answer has more than the %d bytes allowed", limit)
	}
	return b, err
}

// A StatusError is an answer with an HTTP status that is no success.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string {
	if e.Status == http.StatusNotFound {
		return "HTTP 404 Not Found: agents are called at " + Path
	}
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// refused is the JSON-RPC error in a refusal, if it holds one.
func refused(status int, body []byte) error {
	var holds struct {
		Error any `json:"error"`
	}
	if status < 500 && json.Unmarshal(body, &holds) == nil && holds.Error != nil {
		var e *transport.Error
		_, err := transport.DecodeResponse(body, func([]byte) (any, error) { return struct{}{}, nil })
		if errors.As(err, &e) {
			return e
		}
	}
	return &StatusError{status}
}

// classify tells the end of ctx and an endpoint where nobody listens from
// other failures.
func classify(ctx context.Context, endpoint string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var call *url.Error
	if errors.As(err, &call) {
		err = call.Err // the endpoint is named anyway
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound || errors.Is(err, syscall.ECONNREFUSED) {
		return &transport.UnreachableError{Endpoint: endpoint, Err: err}
	}
	return err
}
