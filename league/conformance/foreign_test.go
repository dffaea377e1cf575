package conformance_test

import (
	"bytes"
	nethttp "net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
)

// What others do otherwise and not wrong: JSON over many lines, members that
// nobody knows, times with fractions and +00:00, errors by HTTP 400, and a
// connection for each call.

var whole = regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z`)

// otherwise changes an answer so, and its status.
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

func TestPlayersThatAreOtherAndRight(t *testing.T) {
	m := newModel(t)
	m.bytes = otherwise
	m.first = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ []byte) bool {
		w.Header().Set("Connection", "close")
		return false
	}
	r := examine(t, m)
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Skipped))
	assert.Equal(t, map[string]string{
		"P-HTTP-03": "HTTP status 400", "P-HTTP-07": "every connection ends with its answer",
	}, verdicts(r, conformance.Warn))
	assert.True(t, r.Conforms())
}

func TestManagersThatAreOtherAndRight(t *testing.T) {
	t.Parallel()
	url, _ := ourManager(t, 4, 1, &tamper{otherwise: true})
	r, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Manager, URL: url, Listener: openPort(t)})
	require.NoError(t, err)
	assert.Empty(t, verdicts(r, conformance.Fail))
	assert.Equal(t, map[string]string{"M-HTTP-03": "HTTP status 400"}, verdicts(r, conformance.Warn))
	assert.True(t, r.Conforms())
}

func TestRefereesThatAreOtherAndRight(t *testing.T) {
	t.Parallel()
	l := openPort(t)
	r, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Referee, URL: ourReferee(t, l, 4, &tamper{otherwise: true}), Listener: l})
	require.NoError(t, err)
	assert.Empty(t, verdicts(r, conformance.Fail))
	assert.Equal(t, map[string]string{"R-HTTP-03": "HTTP status 400"}, verdicts(r, conformance.Warn))
	assert.True(t, r.Conforms())
}

// An agent that bounds its calls is not asked more than it wants.
func TestPlayersThatBoundTheirCalls(t *testing.T) {
	m := newModel(t)
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
	r := examine(t, m, func(o *conformance.Options) {
		o.Selection.Only = []string{"P-RPC", "P-MET", "P-INV", "P-CHO", "P-OVR", "P-NOT", "P-LOAD"}
	})
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
	assert.Positive(t, refused.Load())
}
