package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crashLeague is the league that processes play if a test names none.
const crashLeague = "league_2025_even_odd"

// Each process of a league is killed, at a random moment of a round. The supervisor restarts it before
// the referee's retries are over, so that each match has one result and nobody loses technically.
func TestLeagueWithKilledProcessesIsComplete(t *testing.T) {
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
			killed := p.killInRounds(t, tt.rounds-1)
			require.Zero(t, p.awaitExit(t), "killed %v", killed)
			for _, name := range killed {
				assert.Contains(t, p.stderr.String(), "\n"+name+" has ended: signal: killed; it starts again in 500ms\n")
			}
			assert.NotContains(t, p.stderr.String(), "The old league is in", "a restarted manager resumes its league")
			assert.Regexp(t, championPattern("Alice|Bot-1|Bot-2|Zoé"), p.stdout.String())
			audited := "audited " + tt.matches + " matches of league " + crashLeague + ": no findings"
			assert.Regexp(t, audited, mustRun(t, "audit", filepath.Join(dir, "SHARED")))
		})
	}
}

// killInRounds kills each agent of evenodd up once in the rounds up to the last, and the manager at most
// once in each. A match takes a few milliseconds after the announcement of its round; so do most kills.
func (p *process) killInRounds(t *testing.T, last int) (killed []string) {
	t.Helper()
	agents := []string{"Referee-1 (referee)", "Referee-2 (referee)", "Alice (player)", "Bot-1 (player)", "Bot-2 (player)", "Zoé (player)"}
	rand.Shuffle(len(agents), func(i, j int) { agents[i], agents[j] = agents[j], agents[i] })
	for round := 1; round <= last; round++ {
		p.await(t, fmt.Sprintf(`"round_id":%d,.*"event_type":"ROUND_ANNOUNCEMENT_SENT"`, round))
		victims := agents[(round-1)*len(agents)/last : round*len(agents)/last]
		if round <= 4 { // the supervisor gives up a process that dies five times in a minute
			victims = append([]string{"manager"}, victims...)
		}
		for _, name := range victims {
			runs := 1
			if name == "manager" {
				runs = round
			}
			victim, err := os.FindProcess(p.awaitPID(t, name, runs))
			require.NoError(t, err)
			<-time.After(rand.N(20 * time.Millisecond))
			require.NoError(t, victim.Kill())
			killed = append(killed, name)
		}
	}
	return killed
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
