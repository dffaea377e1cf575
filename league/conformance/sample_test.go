package conformance_test

import (
	"bufio"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
)

// sample runs the sample player of the specification, and returns its URL.
func sample(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sampleplayer")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../testdata/sampleplayer").CombinedOutput()
	require.NoError(t, err, string(out))
	run := exec.CommandContext(t.Context(), program, "-port", "0")
	said, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it was killed
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(line, "running on ")) + "/mcp"
}

// The sample player of the specification plays in a league: its replies are not wrapped
// as JSON-RPC, its times have no zone, and it keeps nothing in mind.
func TestSamplePlayerGetsAUsefulReport(t *testing.T) {
	r, err := conformance.Check(t.Context(), conformance.Options{Role: conformance.Player, URL: sample(t)})
	require.NoError(t, err)
	assert.True(t, r.Conforms())
	assert.Empty(t, verdicts(r, conformance.Fail))

	warned, skips := verdicts(r, conformance.Warn), verdicts(r, conformance.Skipped)
	for _, id := range []string{"P-CHO-05", "P-LOAD-02"} { // it chooses by chance each time
		delete(warned, id)
		delete(skips, id)
	}
	for id, detail := range map[string]string{
		"P-RPC-01": `jsonrpc is missing, not "2.0"`,
		"P-RPC-02": "the answer has neither result nor error",
		"P-RPC-05": "error is a string",
		"P-RPC-06": "the id of the request, 1, is missing in the answer",
		"P-RPC-07": `the id of the request, "req-007", is missing in the answer`,
		"P-RPC-08": "the id of the request, 0, is missing in the answer",
		"P-RPC-10": "a notification of handle_game_invitation is answered with a body",
		"P-RPC-11": `answered with the error "Unknown method", not -32601`,
		"P-RPC-12": "half an object: answered with HTTP status 422 and neither result nor error",
		"P-RPC-13": `{"method": "ping", "id": 1, "params": {}}: answered with the error "Unknown method", not -32600`,
		"P-REQ-01": "answered without an error",
		"P-REQ-03": `params ["R1M1", "P01"]: answered with HTTP status 422 and neither result nor error, not with an error object`,
	} {
		assert.Equal(t, detail, warned[id], id)
	}
	assert.Equal(t, []string{
		"P-CHO-07", "P-CHO-08", "P-ENV-01", "P-ENV-03", "P-ENV-04", "P-ENV-06", "P-ENV-07", "P-ERR-01", "P-FRM-02", "P-HTTP-03", "P-INV-05",
		"P-MET-02", "P-MET-03", "P-MET-04", "P-NOT-01", "P-NOT-02", "P-NOT-03", "P-OVR-02",
		"P-REQ-01", "P-REQ-02", "P-REQ-03", "P-REQ-04", "P-REQ-05", "P-REQ-06",
		"P-RPC-01", "P-RPC-02", "P-RPC-05", "P-RPC-06", "P-RPC-07", "P-RPC-08", "P-RPC-09", "P-RPC-10", "P-RPC-11", "P-RPC-12", "P-RPC-13", "P-RPC-14", "P-UNI-03",
	}, slices.Sorted(maps.Keys(warned)))
	assert.Equal(t, []string{
		"P-CHO-09", "P-ENV-05", "P-FRM-03", "P-NOT-04", "P-OVR-03",
		"P-REG-01", "P-REG-02", "P-REG-03", "P-REG-04", "P-REG-05", "P-REG-06", "P-REG-07", "P-REG-08", "P-REG-09", "P-RPC-04", "P-UNI-02",
	}, slices.Sorted(maps.Keys(skips)))

	wrap := finding(t, r, "P-RPC-02")
	assert.Contains(t, wrap.Hint, `Put the message into "result"`)
	assert.Contains(t, wrap.Exchanges[0].Request, "GAME_INVITATION")
	assert.Contains(t, finding(t, r, "P-INV-05").Hint, "datetime.now().isoformat() is local time")
	assert.Contains(t, finding(t, r, "P-INV-05").Exchanges[0].Response, `"arrival_timestamp"`)
}

func finding(t *testing.T, r *conformance.Report, id string) conformance.Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f conformance.Finding) bool { return f.ID == id })
	require.GreaterOrEqual(t, i, 0, id)
	return r.Findings[i]
}
