package simulation_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// scripted returns a strategy that runs a shell script.
func scripted(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bot.sh")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	return "exec:sh " + file
}

// A bot that fails in the second round loses that match, whatever the failure, and
// plays all other matches.
func TestBotWithAFailureLosesThatMatch(t *testing.T) {
	for _, tt := range []struct {
		name, wrong, logged string
		patience            time.Duration
	}{
		{"hangs", "sleep 1000", "did not answer in time", 2 * time.Second},
		{"dies", "echo oh no >&2; exit 1", `the last line on standard error was \"oh no\"`, time.Minute},
		{"prints nonsense", "echo banana; continue", "which is not a legal choice", time.Minute},
		{"prints without end", "exec cat /dev/zero", "a line of more than 64 KB", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bot := scripted(t, `while read -r q; do case "$q" in *'"round_id":2'*) `+tt.wrong+`;; esac; echo even; done`)
			log := &leaguetest.LogBuffer{}
			o := options(4)
			o.Strategies, o.Log = []string{bot, "even", "odd", "even"}, zerolog.New(log)
			o.Tools.Programs.Environ, o.Tools.Programs.Env = os.Environ(), []string{"GORACE"}
			o.Tools.Timeout = tt.patience
			o.Timeouts, o.RetryPolicy = protocol.DefaultTimeouts(), protocol.RetryPolicy{MaxRetries: 1}
			if tt.name == "hangs" {
				o.Timeouts.Move = 5 // the program that replaces it has what is left of this time
			}
			o.SuspendAfter, o.ShutdownAfter = journal.DefaultSuspendAfter, journal.DefaultShutdownAfter
			var result *simulation.Result
			noLeak(t, func() { result = run(t, o) })
			require.Len(t, matchesOf(result), 6)
			lost := 0
			for _, m := range matchesOf(result) {
				if m.RoundID != 2 || m.PlayerAID != "P01" && m.PlayerBID != "P01" {
					assert.NotEqual(t, league.StatusTechnicalLoss, m.Status, m.MatchID)
					continue
				}
				lost++
				assert.Equal(t, league.StatusTechnicalLoss, m.Status)
				assert.NotEqual(t, "P01", m.Winner())
				assert.Contains(t, m.Reason, "P01 answered CHOOSE_PARITY_CALL with JSON-RPC error -32603")
			}
			assert.Equal(t, 1, lost)
			assert.Contains(t, log.Text(), tt.logged)
		})
	}
}

// If bots decide by the question alone, the same seed gives the same league on every
// carrier.
func TestSameSeedGivesTheSameLeagueOfBots(t *testing.T) {
	bot := scripted(t, `while read -r q; do
		seed=${q#*'"seed":'}; seed=${seed%%,*}
		if [ $((seed % 2)) = 0 ]; then echo even; else echo '{"choice":"odd"}'; fi; done`)
	o := options(5)
	o.Strategies = []string{bot, "mirror", bot}
	want := run(t, o)
	assert.Zero(t, want.Players[0].TechnicalLosses)
	chosen := map[string]bool{}
	for _, m := range matchesOf(want) {
		chosen[m.LastMoves()[0]], chosen[m.LastMoves()[1]] = true, true
	}
	assert.Equal(t, map[string]bool{"even": true, "odd": true}, chosen)
	for _, transport := range transports {
		o.Transport, o.Concurrency = transport, 1
		assert.Equal(t, withoutReferees(want), withoutReferees(run(t, o)), transport)
	}
}

// A resumed league runs a program only if the options name it again, because the folder
// may come from another machine.
func TestResumedFolderRunsNoProgram(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	bot := scripted(t, `: > '`+ran+`'; while read -r q; do echo even; done`)
	folder := store.In(t.TempDir())
	play := func(strategies ...string) error {
		o := options(3)
		o.Strategies = strategies
		o.Files = openFiles(t, folder, o.LeagueID)
		defer func() { require.NoError(t, o.Files.Close()) }()
		_, err := simulation.Run(t.Context(), o)
		return err
	}
	require.NoError(t, play("random", bot))
	require.FileExists(t, ran)
	require.NoError(t, os.Remove(ran))
	require.ErrorContains(t, play("random"), "was played by programs: name \""+bot+"\" with --strategies as well")
	assert.NoFileExists(t, ran)
	require.NoError(t, play("random", bot))
	assert.FileExists(t, ran)
}
