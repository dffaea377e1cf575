package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crashLeague is the league that processes play if a test names none.
const crashLeague = "league_2025_even_odd"

// The process with the agents of a league is killed at a random moment of each round. The supervisor starts it again
// before anybody loses technically, and each match has one result.
func TestLeagueWhoseProcessIsKilledIsComplete(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		format       string
		legs, rounds int
		matches      string
	}{
		{"round-robin", 1, 3, "6"},
		{"round-robin", 4, 12, "24"},
		{"swiss", 1, 2, "4"},
		{"knockout", 1, 2, `\d+`}, // a draw is played again
	} {
		t.Run(fmt.Sprint(tt.format, tt.legs), func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				longTest(t)
			}
			dir := t.TempDir()
			p := startUp(t, dir, fourPlayers, "--tournament", tt.format, "--legs", fmt.Sprint(tt.legs), "--pace", "1s", "--strict", "--new-league")
			killed := min(tt.rounds-1, 4) // the supervisor gives up a process that dies more often in a minute
			for round := 1; round <= killed; round++ {
				p.await(t, fmt.Sprintf(`"round_id":%d,.*"event_type":"ROUND_ANNOUNCEMENT_SENT"`, round))
				require.NoError(t, p.killChild(t, round, 20*time.Millisecond)) // a match takes a few milliseconds
			}
			require.Zero(t, p.awaitExit(t))
			assert.Equal(t, killed, strings.Count(p.stderr.String(), "\nThe process of the league has ended: signal: killed; it starts again in "))
			assert.NotContains(t, p.stderr.String(), "The old league is in", "a restarted manager resumes its league")
			assert.Regexp(t, championPattern("Alice|Bot-1|Bot-2|Zoé"), p.stdout.String())
			audited := "audited " + tt.matches + " matches of league " + crashLeague + ": no findings"
			assert.Regexp(t, audited, mustRun(t, "audit", filepath.Join(dir, "SHARED")))
		})
	}
}

// killChild kills the child of evenodd up that was started as the run-th one, after a random time. It returns an error
// if the child has ended.
func (p *process) killChild(t *testing.T, run int, within time.Duration) error {
	t.Helper()
	child, err := os.FindProcess(p.awaitChild(t, run))
	require.NoError(t, err)
	<-time.After(rand.N(within))
	return child.Kill()
}

// The process is killed at any moment, also before the manager listens, and while agents register.
func TestLeagueWhoseProcessIsKilledAtAnyMomentIsComplete(t *testing.T) {
	t.Parallel()
	leagues := 2
	if testAll() {
		leagues = 20
	}
	for i := range leagues {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startUp(t, dir, fourPlayers, "--legs", "4", "--pace", "200ms", "--strict", "--new-league")
			for run := 1; run <= 4 && p.killChild(t, run, time.Second) == nil; run++ {
			}
			require.Zero(t, p.awaitExit(t))
			checkTable(t, p.stdout.String(), 12)
			assert.Contains(t, mustRun(t, "audit", filepath.Join(dir, "SHARED")), "audited 24 matches of league "+crashLeague+": no findings")
		})
	}
}

// An agent that panics in a handler or in any goroutine begins again, and the others go on. If it does not end, because
// it has left a lock, the process begins again. Each match has one result, and nobody loses technically.
func TestAgentThatPanicsBeginsAgain(t *testing.T) {
	t.Parallel()
	looks := []int{1, 7, 40, 120}
	if testAll() {
		for n := 2; n < 110; n += 3 {
			looks = append(looks, n)
		}
	}
	for _, agent := range []string{"manager", "Referee-1", "Alice"} {
		for _, nth := range looks {
			t.Run(fmt.Sprint(agent, nth), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(dir, "class.yaml"), []byte(fourPlayers), 0o600))
				p := launch(t, dir, []string{fmt.Sprintf("%s=%s %d planted", plantVariable, agent, nth)}, "evenodd",
					"up", "--entrants", "class.yaml", "--port", "0", "--legs", "4", "--strict", "--new-league")
				require.Zero(t, p.awaitExit(t), p.stderr.String())
				p.panics = true
				require.FileExists(t, filepath.Join(dir, "planted"), "the agent has not looked so often")
				text := p.stderr.String()
				assert.Equal(t, 1, strings.Count(text, "starts again"), text)
				assert.Regexp(t, `(?m)^(`+agent+`.* has ended: panic: planted; it starts again in 500ms|`+
					`The process of the league has ended: exit status 1: `+agent+`.* does not end after a panic: planted; it starts again in 500ms)$`, text)
				assert.Contains(t, text, `"event_type":"AGENT_PANICKED"`)
				assert.Contains(t, text, "up_internal_test.go", "the stack tells where")
				checkTable(t, p.stdout.String(), 12)
				assert.Contains(t, mustRun(t, "audit", filepath.Join(dir, "SHARED")), "audited 24 matches of league "+crashLeague+": no findings")
			})
		}
	}
}

// An agent that panics six times in a minute stays down, and so does a process that is killed so often.
func TestUpGivesUpWhatEndsTooOften(t *testing.T) {
	longTest(t)
	t.Parallel()
	t.Run("agent", func(t *testing.T) {
		t.Parallel()
		dir := folderOf(t, map[string]string{"class.yaml": fourPlayers})
		p := launch(t, dir, []string{plantVariable + "=Alice 1 -"}, "evenodd", "up", "--entrants", "class.yaml", "--port", "0")
		p.panics = true
		assert.Equal(t, 1, p.awaitExit(t))
		assert.Contains(t, p.stderr.String(), "\nAlice (player) has ended: panic: planted; it is not started again, because it ended 6 times in a minute\n")
		assert.Contains(t, p.stderr.String(), "\nevenodd: the league cannot start without Alice: panic: planted\n")
	})
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		p := startUp(t, t.TempDir(), fourPlayers, "--pace", "1h")
		for run := 1; run <= 6; run++ {
			require.NoError(t, p.killChild(t, run, time.Millisecond))
		}
		assert.Equal(t, 1, p.awaitExit(t))
		assert.Contains(t, p.stderr.String(), "\nevenodd: the process of the league ended 6 times in a minute: signal: killed. Run the same command again to resume; the league is in ")
	})
}

// A simulation that is killed and resumed many times prints the same bytes as an
// uninterrupted one.
func TestKilledSimulationResumesWithTheSameOutput(t *testing.T) {
	longTest(t)
	t.Parallel()
	league := []string{"simulate", "--players", "40", "--seed", "7", "--strategies", "random,contrarian,mirror,frequency", "--format", "json"}
	want := mustRun(t, league...)
	data := t.TempDir()
	resume := []string{"simulate", "--data", data, "--resume", "--format", "json"}
	args := append(slices.Clone(league), "--data", data)
	for range 6 {
		p := startProcess(t, append(args, "--log-level", "info", "--pace", "250ms")...) // time to kill it, also on a busy machine
		p.await(t, `(?s)(result recorded.*?){40}`)
		p.kill(t)
		args = slices.Clone(resume)
	}
	assert.Equal(t, hashOf(want), hashOf(mustRun(t, resume...)))

	p := start(t, append(slices.Clone(league), "--data", data)...)
	assert.Equal(t, 2, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), "--resume continues it, --new-league starts another")
	assert.Equal(t, hashOf(want), hashOf(mustRun(t, resume...)), "a league that is over is shown")
	p = start(t, "manager", "--data", data, "--port", "0")
	assert.Equal(t, 2, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), "a simulated league continues with simulate")
}
