package http

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/transport"
)

// A StatusError is an answer with an HTTP status that is no success.
type StatusError struct {
	Status int
	After  time.Duration // Retry-After; 0 for none
	TLS    bool          // the other side speaks HTTPS, and was called without
	Said   string        // what a JSON body says, shortened and without control characters; "" for nothing
	NoPath bool          // the server has nothing at this path: HTTP 404 or 405 and a body that says no more
}

// Vacant tells whether there is no agent at the path. Some agents answer HTTP 404 or 405
// to a method that they do not know: their JSON body says so in their own words.
func (e *StatusError) Vacant() bool { return e.NoPath }

// Error names the status, and what may be wrong.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	switch {
	case e.TLS:
		return text + ": HTTPS is spoken there: call it by https://"
	case e.Status == http.StatusNotFound:
		return text + ": agents are called at " + Path
	case e.Status >= 300 && e.Status < 400:
		return text + ": a redirect, and none is followed; call the agent where it is"
	case e.Status == http.StatusMisdirectedRequest:
		return text + ": the agent does not go by this name; its operator can allow it by --allowed-host"
	case e.After > 0:
		return text + ": to be tried again after " + e.After.String()
	case e.Said != "":
		return text + ": " + e.Said
	}
	return text
}

// HTTPStatus is the status.
func (e *StatusError) HTTPStatus() int { return e.Status }

// An UnreadableError is an answer with a status of success whose body is not a
// JSON-RPC response, or is too large.
type UnreadableError struct {
	Status int
	Err    error
}

// Error says what is wrong with the body.
func (e *UnreadableError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the body.
func (e *UnreadableError) Unwrap() error { return e.Err }

// HTTPStatus is the status of the answer.
func (e *UnreadableError) HTTPStatus() int { return e.Status }

// RetryAfter is how long the other side asks to wait; 0 when it does not.
func (e *StatusError) RetryAfter() time.Duration { return e.After }

// refused is the JSON-RPC error in a refusal, if it holds one. What a gateway sends in
// place of the agent is not the agent's error.
func (r reply) refused() error {
	after := r.retryAfter()
	gateway := r.status >= http.StatusBadGateway && r.status <= http.StatusGatewayTimeout
	var holds map[string]jsontext.Value
	if json.Unmarshal(r.body, &holds) != nil {
		holds = nil
	}
	text := said(holds)
	noPath := (r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed) &&
		(len(holds) == 0 || strings.EqualFold(text, http.StatusText(r.status)))
	if e := holds["error"]; !gateway && !noPath && e != nil && e.Kind() != 'n' {
		var e *transport.Error
		_, err := transport.DecodeResponse(r.body, func([]byte) (any, error) { return struct{}{}, nil })
		if errors.As(err, &e) {
			e.After, e.Status = after, r.status
			return e
		}
	}
	// So say net/http ("an HTTPS server") and nginx ("HTTPS port").
	spoken := r.status == http.StatusBadRequest && !r.secured && bytes.Contains(r.body, []byte("HTTP request")) &&
		bytes.Contains(r.body, []byte("HTTPS"))
	return &StatusError{r.status, after, spoken, text, noPath}
}

// longestSaid is how many bytes of what a body says an error shows.
const longestSaid = 200

// said is what the body of a refusal tells, by one of the usual members.
func said(body map[string]jsontext.Value) string {
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
		return strings.ToValidUTF8(text[:min(len(text), longestSaid)], "")
	}
	return ""
}

// maxRetryAfter is as long as anybody may ask to wait: a league ends some time.
const maxRetryAfter = 10 * time.Minute

// retryAfter is how long a busy server asks to wait, in seconds or until a date
// (RFC 9110 §10.2.3).
func (r reply) retryAfter() time.Duration {
	said := r.header.Get("Retry-After")
	if r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return 0
	}
	var after time.Duration
	if seconds, err := strconv.Atoi(said); err == nil {
		after = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(said); err == nil {
		after = time.Until(date)
	}
	return min(max(0, after), maxRetryAfter)
}

// failed is err, of decoding the response, with the HTTP status. An error that is not
// the other side's own becomes an UnreadableError.
func (r reply) failed(err error) error {
	var answered *transport.Error
	var foreign interface {
		RPCError() (code int, message string, data any)
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		answered.Status = r.status
		return err
	case errors.As(err, &foreign):
		return err
	}
	if json.Unmarshal(r.body, new(any)) == nil {
		return &UnreadableError{r.status, err} // the decoder knows better
	}
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if kind != "" && !strings.Contains(kind, "json") {
		return &UnreadableError{r.status, fmt.Errorf("the answer is %s, no JSON: %w", kind, err)}
	}
	return &UnreadableError{r.status, fmt.Errorf("the answer is no JSON: %w", err)}
}

// classify tells the end of ctx, an endpoint where nobody listens and what is
// missing at this side from other failures.
func classify(ctx context.Context, endpoint string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var nowhere *transport.UnreachableError
	if errors.As(err, &nowhere) { // a URL that is none
		return nowhere
	}
	var call *url.Error
	if errors.As(err, &call) {
		err = call.Err // the endpoint is named anyway
	}
	var forbidden *transport.ForbiddenError
	var dns *net.DNSError
	var stranger x509.UnknownAuthorityError
	switch {
	case errors.As(err, &forbidden):
		return &transport.ForbiddenError{Endpoint: endpoint, Address: forbidden.Address}
	case errors.As(err, &dns) && dns.IsNotFound, errors.Is(err, syscall.ECONNREFUSED):
		return &transport.UnreachableError{Endpoint: endpoint, Err: err}
	case errors.As(err, &stranger):
		return fmt.Errorf("%w; --tls-ca names one that is to be believed", err)
	case isLocal(err):
		return &transport.LocalError{Err: err}
	}
	return err
}

// isLocal tells whether it is this side that has run out of something.
func isLocal(err error) bool {
	for _, missing := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}
