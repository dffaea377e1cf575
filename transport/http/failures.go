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

// statusText names a status that is no success, and the probable cause.
func (r reply) statusText(after time.Duration, reason string) string {
	text := fmt.Sprintf("HTTP %d %s", r.Status, http.StatusText(r.Status))
	switch {
	case r.Status == http.StatusBadRequest && !r.https && bytes.Contains(r.Body, []byte("HTTP request")) &&
		bytes.Contains(r.Body, []byte("HTTPS")): // the bodies of net/http ("an HTTPS server") and nginx ("HTTPS port")
		return text + ": the server needs HTTPS: call it by https://"
	case r.Status == http.StatusNotFound && !isPath(r.path):
		return text + ": agents are called at " + Path
	case r.Status >= 300 && r.Status < 400:
		return text + ": a redirect, which is not followed; call the agent at its own URL"
	case r.Status == http.StatusMisdirectedRequest:
		return text + ": the agent does not have this host name; its operator can allow it by --allowed-host"
	case after > 0:
		return text + ": try again after " + after.String()
	case reason != "":
		return text + ": " + reason
	}
	return text
}

// refused is the error of a response whose status is no success: with the JSON-RPC error in it, if it has one. An
// error from a gateway is not the agent's error. Some agents answer HTTP 404 or 405 to an unknown method, and give the
// reason in a JSON body; without a reason there is no agent at the path.
func (r reply) refused() error {
	after := r.retryAfter()
	gateway := r.Status >= http.StatusBadGateway && r.Status <= http.StatusGatewayTimeout
	var members map[string]jsontext.Value
	if json.Unmarshal(r.Body, &members) != nil {
		members = nil
	}
	text := reasonIn(members)
	vacant := (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed) &&
		(len(members) == 0 || strings.EqualFold(text, http.StatusText(r.Status)))
	if e := members["error"]; !gateway && !vacant && e != nil && e.Kind() != 'n' {
		_, err := transport.DecodeResponse(r.Body, func([]byte) (any, error) { return struct{}{}, nil })
		if e, ok := errors.AsType[*transport.Error](err); ok {
			return &transport.CallError{Kind: transport.Failed, Status: r.Status, After: after, Err: e}
		}
	}
	return &transport.CallError{Kind: transport.Refused, Status: r.Status, After: after, Vacant: vacant,
		Foreign: foreign(r.Status), Err: errors.New(r.statusText(after, text))}
}

// foreign tells whether a status without a JSON-RPC response is that of another program than an agent, or of another
// address. 5xx comes from a gateway whose agent is down, except for methods that a server does not know, such as POST.
func foreign(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return status >= 300 && status < 500
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

// retryAfter is how long a busy server asks to wait; the header has seconds or a date (RFC 9110 §10.2.3), which is one
// of the server's clock, as the date of the response is.
func (r reply) retryAfter() time.Duration {
	header := r.header.Get("Retry-After")
	if r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
		return 0
	}
	var after time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		after = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		now, err := http.ParseTime(r.header.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		after = date.Sub(now)
	}
	return min(max(0, after), maxRetryAfter)
}

// failed is the error of decoding the response, with the HTTP status. An error that the other side did not send is
// transport.Unreadable.
func (r reply) failed(err error) error {
	if err == nil {
		return nil
	}
	failed := &transport.CallError{Kind: transport.Unreadable, Status: r.Status, Err: err}
	if _, ok := errors.AsType[transport.RPCError](err); ok {
		failed.Kind, failed.Foreign = transport.Failed, errors.Is(err, transport.ErrNoResponse)
		return failed
	}
	if json.Unmarshal(r.Body, new(any)) == nil {
		return failed // it is JSON, so the decoder names the problem
	}
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if kind != "" && !strings.Contains(kind, "json") {
		failed.Err = fmt.Errorf("the answer is %s, not JSON: %w", kind, err)
		return failed
	}
	failed.Err = fmt.Errorf("the answer is not JSON: %w", err)
	return failed
}

// isNotHTTP tells whether a server speaks another protocol. net/http has no type for it. The beginning of a status line
// may be that of an agent that was killed.
func isNotHTTP(err error) bool {
	_, line, found := strings.Cut(err.Error(), `malformed HTTP response "`)
	return found && !strings.HasPrefix(line, "HTTP/")
}

// classify distinguishes the end of ctx, an endpoint where nobody listens, and a local
// failure from other failures. p is finished.
func classify(p *progress, endpoint string, err error) error {
	if p.Err() != nil {
		return p.Err()
	}
	failed, ok := errors.AsType[*transport.CallError](err)
	switch {
	case ok && failed.Kind == transport.Unreachable: // not a URL
		return failed
	case ok && failed.Kind == transport.Forbidden:
		return &transport.CallError{Kind: transport.Forbidden, Endpoint: endpoint, Address: failed.Address}
	case ok && failed.Kind == transport.Unreadable:
		return err
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if string(record.RecordHeader[:]) == "HTTP/" {
			err = http.ErrSchemeMismatch
		}
		return &transport.CallError{Foreign: true, Err: err}
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	if ok && dns.IsNotFound || errors.Is(err, transport.ErrConnectionRefused) {
		return &transport.CallError{Kind: transport.Unreachable, Endpoint: endpoint, Err: err}
	}
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
			err = fmt.Errorf("%w; --tls-ca names one to trust", err)
		}
		return &transport.CallError{Foreign: true, Err: err}
	}
	switch connected, answered := p.reached(); {
	case transport.Exhausted(err):
		return &transport.CallError{Kind: transport.Local, Err: err}
	// By the bytes that came, because net/http names a closed connection by one of many errors: EOF, reset, broken pipe,
	// closed idle connection.
	case connected && answered:
		return &transport.CallError{Kind: transport.Broken, Foreign: isNotHTTP(err), Err: err}
	case connected:
		return &transport.CallError{Kind: transport.Closed, Err: err}
	}
	return err
}
