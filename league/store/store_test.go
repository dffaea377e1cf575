package store_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

func TestWrittenDocumentIsRead(t *testing.T) {
	dir := store.In(t.TempDir())
	want := &store.History{HistoryHeader: store.HistoryHeader{Header: store.NewHeader(""), PlayerID: "P01", LeagueID: "L"}, Matches: []store.HistoryMatch{{Attempt: 2}}}
	require.NoError(t, store.WriteDerived(dir.Disk, dir.History("P01"), want))
	got, err := store.Read[store.History](dir.Disk, dir.History("P01"))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, fs.FileMode(0o644), mode(t, dir.History("P01")))
}

func TestAddMatchKeepsExistingFile(t *testing.T) {
	path := store.In(t.TempDir()).Match("L", "R1M1")
	require.NoError(t, store.AddMatch(disk.Real{}, path, &store.Match{Header: store.NewHeader(""), MatchID: "R1M1"}))
	require.NoError(t, store.AddMatch(disk.Real{}, path, &store.Match{Header: store.NewHeader(""), MatchID: "other"}))
	got, err := store.Read[store.Match](disk.Real{}, path)
	require.NoError(t, err)
	assert.Equal(t, "R1M1", got.MatchID)
}

func TestUnreadableFileIsRejected(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an empty file", "", "not a whole JSON document"},
		{"half a document", `{"schema_version":"1.0.0","player_id":"P`, "not a whole JSON document"},
		{"two documents", `{"schema_version":"1.0.0"}{}`, "not a whole JSON document"},
		{"a name twice", `{"schema_version":"1.0.0","player_id":"a","player_id":"b"}`, "duplicate"},
		{"no object", `[]`, "not a whole JSON document"},
		{"null", `null`, "schema_version: must be a version"},
		{"no version", `{"player_id":"P01"}`, "schema_version: must be a version"},
		{"a version that is no number", `{"schema_version":"zero"}`, "schema_version: must be a version"},
		{"a newer version", `{"schema_version":"2.3.4"}`, "made by a newer evenodd"},
		{"a member of another type", `{"schema_version":"1.0.0","matches":7}`, "matches"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			_, err := store.Read[store.History](disk.Real{}, path)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path)
		})
	}
	_, err := store.Read[store.History](disk.Real{}, filepath.Join(t.TempDir(), "missing.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	raw := `{"schema_version":"1.9.0","something_new":1}`
	path := filepath.Join(t.TempDir(), "history.json")
	require.NoError(t, os.WriteFile(path, []byte(raw), 0o600))
	_, err = store.Read[store.History](disk.Real{}, path)
	require.NoError(t, err, "a program reads what a later one of the same major version adds to")
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestOnlyTheOwnerCanReadSecrets(t *testing.T) {
	root := t.TempDir()
	dir := store.In(root)
	_, err := dir.Secret("L", true)
	require.ErrorContains(t, err, "is missing")
	first, err := dir.Secret("L", false)
	require.NoError(t, err)
	again, err := dir.Secret("L", true)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	other, err := dir.Secret("M", false)
	require.NoError(t, err)
	assert.NotEqual(t, first, other)

	identity := dir.Identity("player", "Ann")
	require.NoError(t, store.WritePrivate(disk.Real{}, identity, &store.Identity{Header: store.NewHeader(""), AuthToken: "tok"}))
	unlock, err := dir.Lock("L")
	require.NoError(t, err)
	defer func() { require.NoError(t, unlock()) }()
	private := filepath.Join(root, "private")
	assert.Equal(t, fs.FileMode(0o700), mode(t, private))
	entries, err := os.ReadDir(private)
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for _, e := range entries {
		assert.Equal(t, fs.FileMode(0o600), mode(t, filepath.Join(private, e.Name())), e.Name())
	}
}

func TestMissingOrInvalidKeyIsRejected(t *testing.T) {
	good := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"as it is written": {good + "\n", true},
		"without an end":   {good, true},
		"too short":        {good[:62], false},
		"a byte too long":  {good + "ab", false},
		"far too long":     {strings.Repeat(good, 100), false},
		"no digits":        {strings.Repeat("xy", 32), false},
		"an odd number":    {good[:63], false},
		"empty":            {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := store.In(t.TempDir())
			_, err := dir.Secret("L", false)
			require.NoError(t, err)
			path := filepath.Join(dir.Path, "private", "L.key")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			secret, err := dir.Secret("L", true)
			if tt.ok {
				require.NoError(t, err)
				assert.Equal(t, good, hex.EncodeToString(secret[:]))
				return
			}
			require.ErrorContains(t, err, "not a key of 64 hexadecimal digits")
			require.NotContains(t, err.Error(), "abab", "a broken key is a secret still")
		})
	}
}

func TestSimilarNamesHaveDifferentIdentities(t *testing.T) {
	dir := store.In("x")
	seen := map[string]string{}
	for _, name := range []string{"Ann", "ann", "Änn", "Ånn", "../Ann", "Ann ", strings.Repeat("é", 50)} {
		path := dir.Identity("player", name)
		assert.Equal(t, filepath.Join("x", "private"), filepath.Dir(path))
		assert.Empty(t, seen[path], "%q and %q", seen[path], name)
		seen[path] = name
	}
	assert.NotEqual(t, dir.Identity("player", "Ann"), dir.Identity("referee", "Ann"))
}

func TestSecondManagerCannotLockLeague(t *testing.T) {
	dir := store.In(t.TempDir())
	unlock, err := dir.Lock("L")
	require.NoError(t, err)
	_, err = dir.Lock("L")
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	assert.Contains(t, err.Error(), "L.lock")
	other, err := dir.Lock("M")
	require.NoError(t, err, "another league is another matter")
	require.NoError(t, other())
	require.NoError(t, unlock())
	again, err := dir.Lock("L")
	require.NoError(t, err)
	require.NoError(t, again())
}

func TestArchiveMovesAllFilesOfLeague(t *testing.T) {
	root := t.TempDir()
	dir := store.In(root)
	into, err := dir.Archive("L", "2026-01-01T12:00:00Z")
	require.NoError(t, err)
	assert.Empty(t, into, "there was nothing")
	assert.NoDirExists(t, filepath.Join(root, "archive"))

	require.NoError(t, store.WriteDerived(dir.Disk, dir.Standings("L"), &store.Standings{DerivedHeader: store.DerivedHeader{Header: store.NewHeader("")}}))
	require.NoError(t, store.WriteDerived(dir.Disk, dir.Match("L", "R1M1"), &store.Match{Header: store.NewHeader("")}))
	require.NoError(t, store.WriteDerived(dir.Disk, dir.Standings("M"), &store.Standings{DerivedHeader: store.DerivedHeader{Header: store.NewHeader("")}}))
	require.NoError(t, store.WriteDerived(dir.Disk, dir.History("P01"), &store.HistoryHeader{Header: store.NewHeader(""), LeagueID: "L"}))
	require.NoError(t, store.WriteDerived(dir.Disk, dir.History("P02"), &store.HistoryHeader{Header: store.NewHeader(""), LeagueID: "M"}))
	_, err = dir.Secret("L", false)
	require.NoError(t, err)
	into, err = dir.Archive("L", "2026-01-01T12:00:00Z")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(root, "archive", "L-2026-01-01T120000Z"), into)
	old := store.In(into)
	assert.Equal(t, fs.FileMode(0o755), mode(t, into), "anybody may audit it")
	assert.Equal(t, fs.FileMode(0o700), mode(t, filepath.Join(into, "private")))
	for _, moved := range []string{old.Standings("L"), old.Match("L", "R1M1"), old.History("P01"), filepath.Join(into, "private", "L.key")} {
		assert.FileExists(t, moved)
	}
	for _, gone := range []string{dir.Standings("L"), dir.History("P01"), dir.Match("L", "R1M1"), filepath.Join(root, "private", "L.key")} {
		assert.NoFileExists(t, gone)
	}
	assert.FileExists(t, dir.Standings("M"), "other leagues stay")
	assert.FileExists(t, dir.History("P02"), "of another league")

	require.NoError(t, store.WriteDerived(dir.Disk, dir.Standings("L"), &store.Standings{DerivedHeader: store.DerivedHeader{Header: store.NewHeader("")}}))
	_, err = dir.Archive("L", "2026-01-01T12:00:00Z")
	require.ErrorIs(t, err, fs.ErrExist, "an archive is never written over")
	assert.FileExists(t, dir.Standings("L"))
}

func TestRoundsAreWrittenWithAMatchToALine(t *testing.T) {
	winner := "P01"
	rounds := []store.Round{
		{RoundID: 1, Summary: protocol.RoundSummary{TotalMatches: 2, Wins: 2}, Matches: []store.RoundMatch{
			{MatchID: "R1M1", PlayerAID: "P01", WinnerPlayerID: &winner}, {MatchID: "R1M2", PlayerAID: "P03"},
		}},
		{RoundID: 2, Matches: []store.RoundMatch{}},
	}
	for count, lines := range map[int]int{0: 9, 1: 12, 2: 13} {
		path := filepath.Join(t.TempDir(), "league", "rounds.json")
		want := &store.Rounds{DerivedHeader: store.DerivedHeader{Header: store.NewHeader("2026-01-01T00:00:00Z"), LeagueID: "cup"}, TotalRounds: 3, Rounds: rounds[:count]}
		require.NoError(t, store.WriteRounds(disk.Real{}, path, want, count, func(number int) (*store.Round, error) { return &rounds[number-1], nil }))
		got, err := store.Read[store.Rounds](disk.Real{}, path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, lines, strings.Count(string(text), "\n"), string(text))
	}
}

// A folder that does not exist yet has the space of the folder in which it will be.
func TestFreeSpaceOfAFolder(t *testing.T) {
	dir := t.TempDir()
	free, err := disk.FreeSpace(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT RUN: this system does not report the free space")
	}
	require.NoError(t, err)
	assert.Positive(t, free)
	_, err = disk.FreeSpace(filepath.Join(dir, "league", "logs"))
	require.NoError(t, err)
}

func TestOmittedMessagesAreKnownByTheirCode(t *testing.T) {
	fault := func(detail string) *store.ExchangeError {
		return &store.ExchangeError{ErrorCode: "E023", Detail: detail}
	}
	for name, tt := range map[string]struct {
		exchange store.Exchange
		want     string
	}{
		"a code":                    {store.Exchange{MessageOmitted: store.OmittedTooLarge, Error: fault("")}, store.OmittedTooLarge},
		"no answer":                 {store.Exchange{Error: fault("no answer in time")}, ""},
		"a message that is present": {store.Exchange{Message: []byte(`{}`), MessageOmitted: store.OmittedTooLarge, Error: fault("")}, ""},
		"a message and no error":    {store.Exchange{Message: []byte(`{}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.exchange.Omission()) })
	}
}

func TestUnreadableMembersAreListed(t *testing.T) {
	legacy := &store.ExchangeError{ErrorCode: "E002", Detail: "match_id cannot be read: number"}
	for name, tt := range map[string]struct {
		exchange store.Exchange
		want     bool
	}{
		"listed":        {store.Exchange{UnreadableMembers: []string{"accept", "match_id"}, Error: legacy}, true},
		"not listed":    {store.Exchange{UnreadableMembers: []string{"accept"}, Error: legacy}, false},
		"another error": {store.Exchange{Error: &store.ExchangeError{Detail: "the answer is about match R1M2"}}, false},
		"no error":      {store.Exchange{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.exchange.Unreadable("match_id")) })
	}
}

// writeLog writes a log file of so many lines about an agent.
func writeLog(t *testing.T, path, about string, from, to int) (lines []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	for n := from; n < to; n++ {
		lines = append(lines, fmt.Sprintf(`{"agent_id":%q,"n":%d,"rest":%q}`, about, n, strings.Repeat("x", 1000)))
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return lines
}

// The log of an agent comes in parts: its own files, the oldest first, and then the lines of
// the manager about it.
func TestAgentLogHasAllItsLinesInOrder(t *testing.T) {
	f := store.In(t.TempDir())
	own, manager := filepath.Join(f.AgentLogs(), "P01.log.jsonl"), filepath.Join(f.LeagueLogs("lab"), "league.log.jsonl")
	want := writeLog(t, own+".2", "player:P01", 0, 10)
	want = append(want, writeLog(t, own+".1", "player:P01", 10, 900)...)
	want = append(want, writeLog(t, own, "player:P01", 900, 1000)...)
	writeLog(t, manager+".1", "P010", 0, 900)
	want = append(want, writeLog(t, manager, "P01", 0, 300)...)
	var got []string
	parts := 0
	for offset, last := int64(0), false; !last; parts++ {
		lines, next, err := f.AgentLog("lab", "P01", offset)
		require.NoError(t, err)
		require.True(t, next == 0 || next > offset)
		got = append(got, lines...)
		offset, last = next, next == 0
	}
	assert.Equal(t, want, got)
	assert.Greater(t, parts, 5)
}

func TestAgentLogHidesTokensAndDropsTornLines(t *testing.T) {
	f := store.In(t.TempDir())
	path := filepath.Join(f.AgentLogs(), "P01.log.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{"a":"tok-p01-`+strings.Repeat("x", 43)+`"}`+"\n"+`{"b":`), 0o600))
	lines, next, err := f.AgentLog("lab", "P01", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{`{"a":"***"}`}, lines)
	assert.Zero(t, next)
}

func TestAgentWithoutLogHasNoLines(t *testing.T) {
	lines, next, err := store.In(t.TempDir()).AgentLog("lab", "P01", 0)
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.Zero(t, next)
}
