package cmd_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A simulation that is killed and resumed many times prints the same bytes as an
// uninterrupted one.
func TestKilledSimulationResumesWithTheSameOutput(t *testing.T) {
	longTest(t)
	t.Parallel()
	league := []string{"simulate", "--players", "40", "--seed", "7", "--strategies", "random,contrarian,mirror,frequency", "--format", "json"}
	want := output(t, league...)
	data := t.TempDir()
	resume := []string{"simulate", "--data", data, "--resume", "--format", "json"}
	args := append(slices.Clone(league), "--data", data)
	for range 6 {
		p := start(t, append(args, "--log-level", "info", "--pace", "250ms")...) // time to kill it, also on a busy machine
		p.await(t, `(?s)(result recorded.*?){40}`)
		require.NoError(t, p.cmd.Process.Kill())
		require.Equal(t, -1, p.awaitExit(t), "it was killed before its end")
		args = slices.Clone(resume)
	}
	assert.Equal(t, hashOf(want), hashOf(output(t, resume...)))

	p := start(t, append(slices.Clone(league), "--data", data)...)
	assert.Equal(t, 2, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), "--resume continues it, --new-league starts another")
	assert.Equal(t, hashOf(want), hashOf(output(t, resume...)), "a league that is over is shown")
	p = start(t, "manager", "--data", data, "--port", "0")
	assert.Equal(t, 2, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), "a simulated league continues with simulate")
}
