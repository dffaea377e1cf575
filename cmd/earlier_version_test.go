package cmd_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// savedFolder copies a data folder that an earlier version of evenodd wrote.
// Git keeps no file modes, so the copy makes the private files private again.
func savedFolder(t *testing.T, name string) store.Folder {
	t.Helper()
	from := filepath.Join("..", "testdata", "leagues", name)
	to := filepath.Join(t.TempDir(), name)
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		private := strings.HasPrefix(below, "private")
		switch {
		case d.IsDir() && private:
			return os.Mkdir(target, 0o700)
		case d.IsDir():
			return os.Mkdir(target, 0o755)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, raw, 0o600)
	}))
	return store.Folder(to)
}

func TestFinishedLeagueOfAnEarlierVersionIsAudited(t *testing.T) {
	t.Parallel()
	data := savedFolder(t, "finished")
	assert.Contains(t, output(t, "audit", string(data)), "audited 6 matches of league league_2025_even_odd: no findings")
	m := start(t, "manager", "--port", "0", "--data", string(data), "--exit-when-done")
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, m.stdout.String(), "\nChampion: ")
}

func TestFormatsOfAnEarlierVersionAreAudited(t *testing.T) {
	t.Parallel()
	for name, matches := range map[string]string{"swiss": "6", "knockout": "7"} {
		assert.Contains(t, output(t, "audit", string(savedFolder(t, name))), "audited "+matches+" matches of league league_2025_even_odd: no findings")
	}
}

// The journal of half_played ends in round 2: one match has a result, the other
// is accepted by its referee. The manager and all agents were killed there.
func TestHalfPlayedLeagueOfAnEarlierVersionIsResumed(t *testing.T) {
	t.Parallel()
	data := savedFolder(t, "half_played")
	assert.Contains(t, output(t, "audit", string(data)), "no findings")
	before := readText(t, data.Journal(crashLeague))

	m := start(t, "manager", "--port", "0", "--data", string(data), "--exit-when-done")
	url := m.await(t, `League \S+ at (http://\S+/mcp) resumes: round 2 of 3, 3 of 6 matches recorded`)[1]
	for _, name := range []string{"Referee 27301", "Referee 27302", "Player 27311", "Player 27312", "Player 27313", "Player 27314"} {
		role, _, _ := strings.Cut(strings.ToLower(name), " ")
		agent := start(t, role, "--port", "0", "--name", name, "--data", string(data), "--league-id", crashLeague, "--manager", url)
		defer func() { assert.Zero(t, agent.awaitExit(t), agent.stderr.String()) }()
	}
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, m.stdout.String(), "\nChampion: ")
	assert.True(t, strings.HasPrefix(readText(t, data.Journal(crashLeague)), before), "what was written stays")
	assert.Contains(t, output(t, "audit", string(data)), "audited 6 matches of league league_2025_even_odd: no findings")
}

// The simulated league of power_cut ends in round 2, with results files. After a power cut
// one of two results is only in its referee's file, the end of a line and the derived files
// are missing or incomplete.
func TestLeagueOfAnEarlierVersionIsResumedAfterAPowerCut(t *testing.T) {
	t.Parallel()
	data := savedFolder(t, "power_cut")
	assert.Contains(t, output(t, "audit", string(data)), "no findings, 4 notes; unfinished: 3 of 6 matches")
	before := readText(t, data.Journal(crashLeague))
	assert.Contains(t, output(t, "simulate", "--resume", "--data", string(data), "--quiet"), "\nChampion: shared by Player 03 (P03) and Player 04 (P04) with 7 points")
	assert.True(t, strings.HasPrefix(readText(t, data.Journal(crashLeague)), before), "what was written stays")
	assert.Contains(t, output(t, "audit", string(data)), "audited 6 matches of league league_2025_even_odd: no findings")
	for _, id := range []string{"R1M2", "R2M1"} {
		doc, err := data.LoadMatch(crashLeague, id)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(doc.Transcript), 8)
	}
}
