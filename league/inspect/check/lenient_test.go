package check_test

import (
	"bytes"
	nethttp "net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"evenodd/league/inspect/check"
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
		assert.Empty(n, verdicts(r, check.Fail, check.Skipped))
		assert.Equal(n, map[string]string{"P-HTTP-03": "HTTP status 400"}, verdicts(r, check.Warn))
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
		r := examine(n, m, func(o *check.Options) {
			o.Selection.Only = []string{"P-RPC", "P-INV", "P-CHO", "P-OVR", "P-NOT", "P-LOAD"}
		})
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
		assert.Positive(n, refused.Load())
	})
}
