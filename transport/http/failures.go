package http

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/transport"
)

// A StatusError is a response with an HTTP status that is no success.
type StatusError struct {
	Status int
	After  time.Duration // Retry-After; 0 for none
	TLS    bool          // the server needs HTTPS, and was called without
	Said   string        // the reason in a JSON body, shortened and without control characters; "" for none
	NoPath bool          // the server has nothing at this path: HTTP 404 or 405, and a body without a reason
}

// Vacant tells whether there is no agent at the path. Some agents answer HTTP 404 or 405
// to an unknown method, and give the reason in a JSON body.
func (e *StatusError) Vacant() bool { return e.NoPath }

// Error names the status, and the probable cause.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	switch {
	case e.TLS:
		return text + ": the server needs HTTPS: call it by https://"
	case e.Status == http.StatusNotFound:
		return text + ": agents are called at " + Path
	case e.Status >= 300 && e.Status < 400:
		return text + ": a redirect, which is not followed; call the agent at its own URL"
	case e.Status == http.StatusMisdirectedRequest:
		return text + ": the agent does not have this host name; its operator can allow it by --allowed-host"
	case e.After > 0:
		return text + ": try again after " + e.After.String()
	case e.Said != "":
		return text + ": " + e.Said
	}
	return text
}

// HTTPStatus is the status.
func (e *StatusError) HTTPStatus() int { return e.Status }

// RetryAfter is how long the server asks to wait; 0 when it does not.
func (e *StatusError) RetryAfter() time.Duration { return e.After }

// refused is the JSON-RPC error in a refusal, if it has one. An error from a gateway is
// not the agent's error.
func (r reply) refused() error {
	after := r.retryAfter()
	gateway := r.Status >= http.StatusBadGateway && r.Status <= http.StatusGatewayTimeout
	var members map[string]jsontext.Value
	if json.Unmarshal(r.Body, &members) != nil {
		members = nil
	}
	text := reasonIn(members)
	noPath := (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed) &&
		(len(members) == 0 || strings.EqualFold(text, http.StatusText(r.Status)))
	if e := members["error"]; !gateway && !noPath && e != nil && e.Kind() != 'n' {
		_, err := transport.DecodeResponse(r.Body, func([]byte) (any, error) { return struct{}{}, nil })
		if e, ok := errors.AsType[*transport.Error](err); ok {
			e.After, e.Status = after, r.Status
			return e
		}
	}
	// The bodies of net/http ("an HTTPS server") and nginx ("HTTPS port").
	needsTLS := r.Status == http.StatusBadRequest && !r.https && bytes.Contains(r.Body, []byte("HTTP request")) &&
		bytes.Contains(r.Body, []byte("HTTPS"))
	return &StatusError{r.Status, after, needsTLS, text, noPath}
}

// longestReason is how many bytes of a reason an error shows.
const longestReason = 200

// reasonIn is the reason in the body of a refusal, by one of the usual members.
func reasonIn(body map[string]jsontext.Value) string {
	for _, name := range []string{"detail", "message", "error", "reason"} {
		v := body[name]
		var text string
		if v == nil || v.Kind() == 'n' {
			continue
		}
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, text)
		return strings.ToValidUTF8(text[:min(len(text), longestReason)], "")
	}
	return ""
}

// maxRetryAfter is the longest wait that a server may ask for.
const maxRetryAfter = 10 * time.Minute

// retryAfter is how long a busy server asks to wait; the header has seconds or a date
// (RFC 9110 §10.2.3).
func (r reply) retryAfter() time.Duration {
	header := r.header.Get("Retry-After")
	if r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
		return 0
	}
	var after time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		after = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		after = time.Until(date)
	}
	return min(max(0, after), maxRetryAfter)
}

// failed is the error of decoding the response, with the HTTP status. An error that the
// other side did not send becomes a transport.UnreadableError.
func (r reply) failed(err error) error {
	if err == nil {
		return nil
	}
	if answered, ok := errors.AsType[*transport.Error](err); ok {
		answered.Status = r.Status
	}
	if _, ok := errors.AsType[transport.RPCError](err); ok {
		return err
	}
	if json.Unmarshal(r.Body, new(any)) == nil {
		return &transport.UnreadableError{Status: r.Status, Err: err} // it is JSON, so the decoder names the problem
	}
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if kind != "" && !strings.Contains(kind, "json") {
		return &transport.UnreadableError{Status: r.Status, Err: fmt.Errorf("the answer is %s, not JSON: %w", kind, err)}
	}
	return &transport.UnreadableError{Status: r.Status, Err: fmt.Errorf("the answer is not JSON: %w", err)}
}

// classify distinguishes the end of ctx, an endpoint where nobody listens, and a local
// failure from other failures. p is finished.
func classify(p *progress, endpoint string, err error) error {
	if p.Err() != nil {
		return p.Err()
	}
	if unreachable, ok := errors.AsType[*transport.UnreachableError](err); ok { // not a URL
		return unreachable
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(record.RecordHeader[:]) == "HTTP/" {
		return http.ErrSchemeMismatch
	}
	if forbidden, ok := errors.AsType[*transport.ForbiddenError](err); ok {
		return &transport.ForbiddenError{Endpoint: endpoint, Address: forbidden.Address}
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	if ok && dns.IsNotFound || errors.Is(err, transport.ErrConnectionRefused) {
		return &transport.UnreachableError{Endpoint: endpoint, Err: err}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w; --tls-ca names one to trust", err)
	}
	connected, answered := p.reached()
	if transport.Exhausted(err) {
		return &transport.LocalError{Err: err}
	}
	if _, ok := errors.AsType[*transport.UnreadableError](err); !ok && connected {
		// By the bytes that came, because net/http names a closed connection by one of many
		// errors: EOF, reset, broken pipe, closed idle connection.
		return &transport.BrokenError{Err: err, Closed: !answered}
	}
	return err
}
