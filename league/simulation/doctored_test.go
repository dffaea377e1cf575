package simulation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/store"
)

// A manager that is killed at the end of a knockout leaves the largest possible number of
// rounds in rounds.json.
func TestAuditAcceptsRoundsOfAKnockoutBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(4)
		o.Legs, o.Tournament = 1, &journal.Tournament{Algorithm: pairing.Knockout}
		folder := t.TempDir()
		l := playStored(t, o, folder)
		path := store.Folder(folder).Rounds(o.LeagueID)
		text, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		events, err := os.ReadFile(filepath.Clean(store.Folder(folder).Journal(o.LeagueID)))
		require.NoError(t, err)
		before, _, _ := bytes.Cut(events, []byte(`,"type":"completed"`))
		prev := before[bytes.LastIndex(before, []byte(`"prev":"`))+len(`"prev":"`):]
		text = regexp.MustCompile(`("journal_head": )"[0-9a-f]{64}"`).ReplaceAll(text, []byte(`$1"`+string(prev[:64])+`"`))
		for _, tt := range []struct {
			total    int
			findings int
		}{{8, 0}, {l.result.Rounds + 1, 1}, {0, 1}} {
			edited := strings.Replace(string(text), fmt.Sprintf(`"total_rounds": %d`, l.result.Rounds), fmt.Sprintf(`"total_rounds": %d`, tt.total), 1)
			require.NotEqual(t, string(text), edited)
			require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
			report, err := audit.Run(store.Folder(folder), audit.Options{Games: o.Games})
			require.NoError(t, err)
			assert.Len(t, report.Leagues[0].Findings, tt.findings, "total_rounds %d", tt.total)
		}
	})
}

// The command that plays a league again names all its options.
func TestSwarmLeagueIsReproducible(t *testing.T) {
	o := swarmOptions(7)
	assert.Equal(t, o.Faults, swarmOptions(7).Faults)
	text := again(o)
	assert.Contains(t, text, "-run TestSwarm -seed 7\n")
	assert.Contains(t, text, "evenodd simulate --game even_odd --seed 7 ")
	assert.Contains(t, text, "--faults "+o.Faults)
	first := run(t, o)
	second := run(t, swarmOptions(7))
	assert.Equal(t, withoutReferees(first), withoutReferees(second))
}
