package cmd_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/dialect"
	"evenodd/league/protocol"
)

// namesIn are the names in the tables below a heading of docs/agents-of-other-makers.md,
// by what stands in the first column.
func namesIn(t *testing.T, heading string) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "agents-of-other-makers.md"))
	require.NoError(t, err)
	_, below, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ := strings.Cut(below, "\n## ")
	names := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+) \\|$").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			names[row[1]] = append(names[row[1]], name[1])
		}
	}
	return names
}

func stranger() *dialect.Dialect {
	return dialect.New(dialect.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()})
}

// Every name that the page says is tried is tried, at somebody who knows none.
func TestThePageOfOtherMakersTellsWhatIsTried(t *testing.T) {
	t.Parallel()
	rows := namesIn(t, "What is tried with others")
	require.Len(t, rows, 10)
	for method, names := range rows {
		tried := map[string]bool{}
		body := `{"jsonrpc":"2.0","method":"` + method + `","params":{"protocol":"league.v2","match_id":"R1M1"},"id":1}`
		_, _, err := stranger().Call(t.Context(), "http://localhost:8101/mcp", "", method, []byte(body),
			func(_ context.Context, _ string, body []byte) (int, []byte, error) {
				var q struct {
					Method string `json:"method"`
				}
				_ = json.Unmarshal(body, &q) // the message alone has none
				tried[q.Method] = true
				return 200, []byte(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`), nil
			})
		require.NoError(t, err)
		for _, name := range append(names, method, "mcp_message", "handle_message", "tools/call", "") {
			assert.True(t, tried[name], "%s by the name %q, of %v", method, name, tried)
		}
	}
}

// Every name that the page says is understood reaches the method of its message.
func TestThePageOfOtherMakersTellsWhatIsUnderstood(t *testing.T) {
	t.Parallel()
	rows := namesIn(t, "What is understood of others")
	require.Len(t, rows, 8)
	for message, names := range rows {
		method, known := protocol.MethodFor([]byte(`{"message_type":"` + message + `"}`))
		require.True(t, known, message)
		for _, name := range append(names, message, strings.ToLower(message), method) {
			var reached []string
			stranger().Serve(t.Context(), netip.Addr{}, "/mcp", []byte(`{"jsonrpc":"2.0","method":"`+name+`","params":{"match_id":"R1M1"},"id":1}`),
				func(_ context.Context, body []byte) []byte {
					var q struct {
						Method string `json:"method"`
					}
					require.NoError(t, json.Unmarshal(body, &q))
					reached = append(reached, q.Method)
					return []byte(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`)
				})
			require.NotEmpty(t, reached, "%s by the name %s", message, name)
			if name != message && name != "parity_choose" && name != "run_match" { // the protocol has these itself
				assert.Equal(t, method, reached[0], "%s by the name %s", message, name)
			}
		}
	}
}
