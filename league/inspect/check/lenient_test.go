package check_test

import (
	"bytes"
	nethttp "net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	conformance "evenodd/league/inspect/check"
)

// These agents keep to the protocol in their own way: JSON over many lines, unknown
// members, times with fractions and +00:00, errors with HTTP status 400, and a connection
// for each call.

var whole = regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z`)

// otherwise changes an answer, and its status.
func otherwise(w nethttp.ResponseWriter, status *int, body []byte) []byte {
	w.Header().Set("Connection", "close")
	if len(bytes.TrimSpace(body)) == 0 {
		return body
	}
	if bytes.Contains(body, []byte(`"error":{"code"`)) && bytes.HasPrefix(body, []byte("{")) {
		*status = nethttp.StatusBadRequest
	}
	body = whole.ReplaceAll(body, []byte("$1.123456+00:00"))
	body = bytes.ReplaceAll(body, []byte(`"message_type"`), []byte(`"x_comment":{"by":["somebody",null]},"message_type"`))
	spread := jsontext.Value(body)
	if spread.Indent(jsontext.WithIndent("  ")) != nil {
		return body
	}
	return append(spread, '\n')
}

func TestPlayerWithUnusualValidJSONConforms(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.bytes = otherwise
		m.first = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ []byte) bool {
			w.Header().Set("Connection", "close")
			return false
		}
		r := examine(n, m)
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Skipped))
		assert.Equal(n, map[string]string{
			"P-HTTP-03": "HTTP status 400", "P-HTTP-07": "every connection ends with its answer",
		}, verdicts(r, conformance.Warn))
		assert.True(n, r.Conforms())
	})
}

func TestManagerWithUnusualValidJSONConforms(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		url, _ := ownManager(n, 4, 1, &tamper{otherwise: true})
		r := n.check(conformance.Options{Role: conformance.Manager, URL: url, Listener: n.open()})
		assert.Empty(n, verdicts(r, conformance.Fail))
		assert.Equal(n, map[string]string{"M-HTTP-03": "HTTP status 400"}, verdicts(r, conformance.Warn))
		assert.True(n, r.Conforms())
	})
}

func TestRefereeWithUnusualValidJSONConforms(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		l := n.open()
		r := n.check(conformance.Options{Role: conformance.Referee, URL: ownReferee(n, l, 4, &tamper{otherwise: true}), Listener: l})
		assert.Empty(n, verdicts(r, conformance.Fail))
		assert.Equal(n, map[string]string{"R-HTTP-03": "HTTP status 400"}, verdicts(r, conformance.Warn))
		assert.True(n, r.Conforms())
	})
}

func TestPlayerThatLimitsTheRateOfCallsConforms(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var calls, refused atomic.Int64
		m.first = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ []byte) bool {
			if calls.Add(1)%10 != 0 {
				return false
			}
			refused.Add(1)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(nethttp.StatusTooManyRequests)
			return true
		}
		r := examine(n, m, func(o *conformance.Options) {
			o.Selection.Only = []string{"P-RPC", "P-MET", "P-INV", "P-CHO", "P-OVR", "P-NOT", "P-LOAD"}
		})
		assert.Empty(n, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
		assert.Positive(n, refused.Load())
	})
}
