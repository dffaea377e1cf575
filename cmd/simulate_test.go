package cmd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// run calls the program in this process.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cmd.Execute(ctx, "test", args, &out, &err)
	return code, out.String(), err.String()
}

// hashOf returns a hash of an output.
func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestSameSeedGivesTheSameBytes(t *testing.T) {
	players, matches, repetitions := "16", 16*15/2, 1
	if testAll() {
		players, matches, repetitions = "50", 50*49/2, 2
	}
	var first string
	for _, transport := range []string{"memory", "wire", "http"} {
		for _, concurrency := range []string{"1", "64"} {
			for repetition := range repetitions {
				name := fmt.Sprintf("%s, %s at once, repetition %d", transport, concurrency, repetition)
				code, stdout, stderr := run(t.Context(), "simulate", "--players", players, "--seed", "7", "--format", "json",
					"--quiet", "--transport", transport, "--concurrency", concurrency)
				require.Zero(t, code, "%s: %s", name, stderr)
				assert.Empty(t, stderr, name)
				if first == "" {
					first = stdout
					assert.Equal(t, matches, strings.Count(first, `"match_id"`))
				}
				require.Equal(t, hashOf(first), hashOf(stdout), "%s: another league", name)
			}
		}
	}
}

func TestInterruptedSimulationSaysHowToRunItAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		seed string // told in the end; "" for a new one
	}{
		{"with a seed", []string{"--seed", "7", "--log-level", "info"}, "7"},
		{"with a new seed", nil, ""},
		{"over HTTP", []string{"--transport", "http", "--players", "300", "--seed", "8", "--log-level", "info"}, "8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"simulate", "--players", "10000"}, tt.args...)...)
			if tt.seed == "" {
				tt.seed = p.await(t, `^Seed: (\d+)\n`)[1]
			} else {
				p.await(t, `"event_type":"REGISTERED"`)
			}
			p.interrupt(t)
			assert.Equal(t, 130, p.awaitExit(t))
			assert.Empty(t, p.stdout.String(), "half a league is no result")
			assert.True(t, strings.HasSuffix(p.stderr.String(),
				"evenodd: interrupted. Run it again with --seed "+tt.seed+" for the same league.\n"), p.stderr.String())
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		code, stdout, stderr := run(ctx, "simulate", "--seed", "7", "--quiet")
		assert.Equal(t, 130, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "evenodd: interrupted. Run it again with --seed 7 for the same league.\n", stderr)
	})
}

// A fullDisk fails every write.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	for _, args := range [][]string{
		{"simulate", "--seed", "7", "--quiet", "--format", "table"},
		{"simulate", "--seed", "7", "--quiet", "--format", "json"},
		{"config"},
		{"schema"},
		{"schema", "--methods"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, 1, cmd.Execute(t.Context(), "test", args, fullDisk{}, &stderr))
			assert.Contains(t, stderr.String(), errFull.Error())
		})
	}
}

func TestLogsOfASimulationGoToStandardErrorAlone(t *testing.T) {
	t.Parallel()
	p := start(t, "simulate", "--players", "3", "--seed", "7", "--log-level", "debug", "--format", "csv")
	require.Zero(t, p.awaitExit(t))
	assert.NotContains(t, p.stdout.String(), "{")
	agents := map[string]bool{}
	for _, line := range logLines(t, p.stderr.String()) {
		line.check(t)
		agents[line.AgentID] = true
	}
	for _, agent := range []string{"league_manager", "referee:REF01", "player:P01", "player:P03"} {
		assert.True(t, agents[agent], agent)
	}
}
