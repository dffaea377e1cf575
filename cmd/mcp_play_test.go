package cmd_test

import (
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A desktop host plays a league by the tools of 'evenodd mcp --play', and reads the result after
// the manager has gone.
func TestDesktopHostPlaysALeague(t *testing.T) {
	t.Parallel()
	const legs = 2
	m := startManager(t, "--players", "2", "--legs", "2", "--exit-when-done")
	data := t.TempDir()
	d := startDesktop(t, nil, "--manager", m.url, "--data", data, "--play", "--name", "Assistant", "--port", "0", "--fallback", "even")
	m.join(t, "referee")
	m.join(t, "player")
	list, err := d.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		schema := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		for _, name := range []string{"url", "endpoint", "manager", "data", "file", "path", "command"} {
			assert.NotContains(t, schema, name, tool.Name)
		}
	}
	var result struct {
		Over                       bool
		PlayerID, Record, Champion string
	}
	use(t.Context(), t, d.ClientSession, "read_result", map[string]int{"timeout_sec": 0}, &result)
	assert.False(t, result.Over)
	for range legs {
		var waiting pendingChoices
		for len(waiting.Pending) == 0 {
			use(t.Context(), t, d.ClientSession, "wait_for_choice", map[string]int{"timeout_sec": 20}, &waiting)
		}
		var status struct{ Status string }
		use(t.Context(), t, d.ClientSession, "answer_choice", map[string]string{"choice_id": waiting.Pending[0].ChoiceID, "choice": "odd"}, &status)
	}
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	use(t.Context(), t, d.ClientSession, "read_result", map[string]int{"timeout_sec": 50}, &result)
	assert.True(t, result.Over)
	assert.Regexp(t, `^P0[12]: 2 played, .* of 2 with \d points?$`, result.Record)
	assert.Contains(t, result.Champion, "hampion")
	var waiting struct{ Over bool }
	use(t.Context(), t, d.ClientSession, "wait_for_choice", map[string]int{"timeout_sec": 50}, &waiting)
	assert.True(t, waiting.Over, "it does not wait after the end")
	require.NoError(t, d.Close())
	assert.Zero(t, d.cmd.ProcessState.ExitCode())
	assert.NotContains(t, d.stderr.String(), "token")
	kept, err := os.ReadDir(data)
	require.NoError(t, err)
	assert.NotEmpty(t, kept, "its identity and history")
}

// A host learns why its player does not play.
func TestDesktopHostReadsWhyItsPlayerDoesNotPlay(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--league-id", "cup")
	d := startDesktop(t, nil, "--manager", m.url, "--play", "--league-id", "other", "--port", "0")
	assert.Contains(t, d.mustFail(t, "read_result", map[string]int{"timeout_sec": 50}), "cup")
	var waiting struct{ Over bool }
	use(t.Context(), t, d.ClientSession, "wait_for_choice", map[string]int{"timeout_sec": 50}, &waiting)
	assert.True(t, waiting.Over)
	r, err := d.CallTool(t.Context(), &sdk.CallToolParams{Name: "answer_choice", Arguments: map[string]string{"choice_id": "x", "choice": "odd"}})
	require.NoError(t, err)
	assert.True(t, r.IsError)
}
