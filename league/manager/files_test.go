package manager_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const leagueID = "league_of_tests"

// options returns the options of a league without callers.
func options(files *league.Files) league.Options {
	return league.Options{
		LeagueID: leagueID, GameType: evenodd.Type, Games: rules.NewRegistry(evenodd.Game{}), Players: 2, Referees: 1,
		Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(), Files: files, Clock: protocol.SystemClock(),
	}
}

// folderWithLeague returns a data folder with a league in which one player has registered.
func folderWithLeague(t *testing.T) store.Folder {
	t.Helper()
	folder := store.Folder(t.TempDir())
	files, archived, err := league.OpenFiles(folder, leagueID, false, time.Now)
	require.NoError(t, err)
	assert.Empty(t, archived)
	_, err = league.New(options(files))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	j, state, _, err := journalfile.Open(folder.Journal(leagueID), nil)
	require.NoError(t, err)
	require.NotNil(t, state.Created)
	require.NoError(t, j.Append("2026-01-01T00:00:00.000Z", &journal.AgentRegistered{
		AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "Alpha", Endpoint: "http://localhost:8101/mcp", Generation: 1,
	}))
	require.NoError(t, j.Close())
	return folder
}

// openAndClose opens the files of a league and closes them.
func openAndClose(folder store.Folder, leagueID string) error {
	files, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
	if err == nil {
		err = files.Close()
	}
	return err
}

func keyOf(folder store.Folder) string {
	return filepath.Join(string(folder), "private", leagueID+".key")
}

// rewrite changes the content of a file.
func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := change(string(text))
	require.NotEqual(t, string(text), changed)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
}

func TestOpenFilesFailsWhileTheLeagueIsLocked(t *testing.T) {
	folder := folderWithLeague(t)
	first, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
	require.NoError(t, err)
	for _, fresh := range []bool{false, true} {
		_, _, err = league.OpenFiles(folder, leagueID, fresh, time.Now)
		var locked *store.LockedError
		require.ErrorAs(t, err, &locked)
		assert.Contains(t, locked.Path, leagueID)
		assert.FileExists(t, folder.Journal(leagueID), "the journal is not moved")
	}
	require.NoError(t, openAndClose(folder, "another_league"), "another league is not locked")
	require.NoError(t, first.Close())
	require.NoError(t, openAndClose(folder, leagueID))
}

// A lock file looks like the remains of a crash, so that operators remove it.
func TestRemovedLockFileAdmitsNoSecondManager(t *testing.T) {
	folder := folderWithLeague(t)
	first, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
	require.NoError(t, err)
	for _, fresh := range []bool{false, true} {
		require.NoError(t, os.Remove(filepath.Join(string(folder), "private", leagueID+".lock")))
		_, archived, err := league.OpenFiles(folder, leagueID, fresh, time.Now)
		var locked *store.LockedError
		require.ErrorAs(t, err, &locked)
		assert.Equal(t, folder.Journal(leagueID), locked.Path)
		assert.Empty(t, archived)
		assert.FileExists(t, folder.Journal(leagueID), "the journal is not moved")
	}
	require.NoError(t, first.Close())
	require.NoError(t, openAndClose(folder, leagueID))
}

func TestOpenFilesRejectsDamagedFiles(t *testing.T) {
	newer := func(s string) string { return strings.Replace(s, `"1.0.0"`, `"2.0.0"`, 1) }
	for _, test := range []struct {
		name  string
		harm  func(t *testing.T, folder store.Folder)
		texts []string
	}{
		{"the key is missing", func(t *testing.T, folder store.Folder) {
			require.NoError(t, os.Remove(keyOf(folder)))
		}, []string{leagueID + ".key", "is missing", "restore it", "--new-league"}},
		{"the key is damaged", func(t *testing.T, folder store.Folder) {
			rewrite(t, keyOf(folder), func(s string) string { return s[:40] })
		}, []string{leagueID + ".key", "64 hexadecimal digits", "restore it"}},
		{"the key is no key", func(t *testing.T, folder store.Folder) {
			rewrite(t, keyOf(folder), func(s string) string { return strings.Repeat("x", 64) })
		}, []string{leagueID + ".key", "64 hexadecimal digits"}},
		{"the journal is of a newer program", func(t *testing.T, folder store.Folder) {
			rewrite(t, folder.Journal(leagueID), newer)
		}, []string{"journal.jsonl line 1", "2.0.0", "newer"}},
		{"an event is of a newer program", func(t *testing.T, folder store.Folder) {
			rewrite(t, folder.Journal(leagueID), func(s string) string { return strings.Replace(s, `"type":"registered"`, `"type":"enlisted"`, 1) })
		}, []string{"journal.jsonl line 2", "enlisted", "newer"}},
		{"the journal was changed", func(t *testing.T, folder store.Folder) {
			rewrite(t, folder.Journal(leagueID), func(s string) string { return strings.Replace(s, `"legs":1`, `"legs":2`, 1) })
		}, []string{"journal.jsonl line 2", "does not follow the line before"}},
		{"the journal starts in the middle", func(t *testing.T, folder store.Folder) {
			rewrite(t, folder.Journal(leagueID), func(s string) string { return s[strings.Index(s, "\n")+1:] })
		}, []string{"journal.jsonl line 1", "event 2 stands where event 1 belongs"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := folderWithLeague(t)
			test.harm(t, folder)
			before, err := os.ReadFile(folder.Journal(leagueID))
			require.NoError(t, err)
			for range 2 { // twice: the error leaves no lock behind
				err := openAndClose(folder, leagueID)
				require.Error(t, err)
				for _, what := range test.texts {
					assert.Contains(t, err.Error(), what)
				}
			}
			after, err := os.ReadFile(folder.Journal(leagueID))
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after))

			files, archived, err := league.OpenFiles(folder, leagueID, true, time.Now)
			require.NoError(t, err, "a new league can still begin")
			assert.DirExists(t, archived)
			assert.Nil(t, files.State.Created)
			require.NoError(t, files.Close())
		})
	}
}

func TestJournalOfAnotherLeagueIsRejected(t *testing.T) {
	another := func(t *testing.T, change func(*league.Options)) (*league.Files, league.Options) {
		t.Helper()
		folder := store.Folder(t.TempDir())
		files, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
		require.NoError(t, err)
		o := options(files)
		change(&o)
		_, err = league.New(o)
		require.NoError(t, err)
		require.NoError(t, files.Close())
		files, _, err = league.OpenFiles(folder, leagueID, false, time.Now)
		require.NoError(t, err)
		t.Cleanup(func() { _ = files.Close() })
		return files, options(files)
	}
	simulated := func(o *league.Options) { o.Simulation = &journal.Simulation{Seed: 7, Players: 2, Referees: 1} }
	t.Run("of another league", func(t *testing.T) {
		_, o := another(t, func(o *league.Options) { o.LeagueID = "another_league" })
		_, err := league.New(o)
		require.ErrorContains(t, err, "the journal is that of league another_league, not of "+leagueID)
	})
	t.Run("of a simulation", func(t *testing.T) {
		_, o := another(t, simulated)
		_, err := league.New(o)
		require.ErrorContains(t, err, "a simulated league continues with simulate")
	})
	t.Run("a real league, for a simulation", func(t *testing.T) {
		_, o := another(t, func(*league.Options) {})
		simulated(&o)
		_, err := league.New(o)
		require.ErrorContains(t, err, "a simulated league continues with simulate")
	})
	t.Run("of an unknown game", func(t *testing.T) {
		files, o := another(t, func(*league.Options) {})
		o.Games = rules.NewRegistry()
		_, err := league.New(o)
		require.ErrorContains(t, err, evenodd.Type)
		assert.Equal(t, 1, files.State.Events, "nothing is written")
	})
}

func TestIncompleteLastLineIsCutOff(t *testing.T) {
	folder := folderWithLeague(t)
	rewrite(t, folder.Journal(leagueID), func(s string) string { return s[:len(s)-10] })
	torn, err := os.ReadFile(folder.Journal(leagueID))
	require.NoError(t, err)
	files, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
	require.NoError(t, err)
	require.NotNil(t, files.Torn)
	end := bytes.IndexByte(torn, '\n') + 1
	assert.Equal(t, appendfile.Torn{Path: folder.Journal(leagueID), Line: 2, Bytes: len(torn) - end}, *files.Torn)
	assert.Empty(t, files.State.Agents)
	require.NoError(t, files.Close())
	whole, err := os.ReadFile(folder.Journal(leagueID))
	require.NoError(t, err)
	assert.Equal(t, string(torn[:end]), string(whole))
	require.NoError(t, openAndClose(folder, leagueID))
}
