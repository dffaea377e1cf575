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

	"github.com/go-json-experiment/json"

	"evenodd/transport"
)

// A StatusError is an answer with an HTTP status that is no success.
type StatusError struct {
	Status int
	After  time.Duration // Retry-After; 0 for none
	TLS    bool          // the other side speaks HTTPS, and was called without
}

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
	}
	return text
}

// RetryAfter is how long the other side asks to wait; 0 when it does not.
func (e *StatusError) RetryAfter() time.Duration { return e.After }

// HTTPStatus is the status of the answer.
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

// refused returns the error of an answer whose status is no success: the
// JSON-RPC error in its body if there is one, else a StatusError.
func (r reply) refused() error {
	after := r.retryAfter()
	var holds struct {
		Error any `json:"error"`
	}
	if r.status < 500 && json.Unmarshal(r.body, &holds) == nil && holds.Error != nil {
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
	return &StatusError{r.status, after, spoken}
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

// unreadable makes an UnreadableError of err, the reason why the body could not
// be decoded. Nil and an error that the other side answered stay as they are.
func (r reply) unreadable(err error) error {
	var answered interface {
		RPCError() (code int, message string, data any)
	}
	if err == nil || errors.As(err, &answered) {
		return err
	}
	if json.Unmarshal(r.body, new(any)) == nil {
		return &UnreadableError{r.status, err}
	}
	said := r.header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(said); kind != "" && !strings.Contains(kind, "json") {
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
