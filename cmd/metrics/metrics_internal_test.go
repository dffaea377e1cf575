package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

func TestEachKindOfFailedCallHasAnOutcome(t *testing.T) {
	outcomes := map[transport.Kind]string{
		transport.Unknown:     "broken",
		transport.Failed:      "refused",
		transport.Refused:     "broken",
		transport.Unreadable:  "broken",
		transport.Closed:      "broken",
		transport.Broken:      "broken",
		transport.Unreachable: "unreachable",
		transport.Local:       "local",
		transport.Forbidden:   "forbidden",
		transport.Held:        "held",
		transport.Timeout:     "timeout",
		transport.Canceled:    "canceled",
	}
	page, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	_, listed, found := strings.Cut(string(page), "The outcome of a call is ")
	require.True(t, found)
	listed, _, _ = strings.Cut(listed, ".")
	for kind, outcome := range outcomes {
		assert.Contains(t, listed, "`"+outcome+"`", "docs/operators.md")
		assert.Equal(t, outcome, outcomeOf(&transport.CallError{Kind: kind}), "kind %d", kind)
	}
	assert.Equal(t, "ok", outcomeOf(nil))
	source, err := os.ReadFile("../../transport/callerror.go")
	require.NoError(t, err)
	kinds := regexp.MustCompile(`(?m)^\t[A-Z]\w+ +(Kind = iota )?// `).FindAll(source, -1)
	assert.Greater(t, len(kinds), 10)
	assert.Len(t, outcomes, len(kinds), "each kind of transport has an outcome above")
}
