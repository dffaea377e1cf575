package manager_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const leagueID = "league_of_tests"

// options returns the options of a league without callers.
func options(files *manager.Files) manager.Options {
	return manager.Options{
		Created: leaguetest.Rules(leagueID, evenodd.Type, 2, 1), Games: rules.NewRegistry(evenodd.Game{}), Files: files, Clock: protocol.SystemClock(),
	}
}

// folderWithLeague returns a data folder with a league in which one player has registered.
func folderWithLeague(t *testing.T) store.Folder {
	t.Helper()
	folder := store.In(t.TempDir())
	files, archived, err := manager.OpenFiles(folder, leagueID, false, nil)
	require.NoError(t, err)
	assert.Empty(t, archived)
	_, err = manager.New(options(files))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	j, state, _, err := journalfile.Open(folder.Disk, folder.Journal(leagueID), nil, "")
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
	files, _, err := manager.OpenFiles(folder, leagueID, false, nil)
	if err == nil {
		err = files.Close()
	}
	return err
}

func keyOf(folder store.Folder) string {
	return filepath.Join(folder.Path, "private", leagueID+".key")
}

// rewrite changes the content of a file.
func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := change(string(text))
	require.NotEqual(t, string(text), changed)
	if filepath.Base(path) == "journal.jsonl" {
		changed = string(leaguetest.Resealed([]byte(changed)))
	}
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
}

// A lock file looks like the remains of a crash, so that operators remove it. That admits no second manager.
func TestOpenFilesFailsWhileTheLeagueIsLocked(t *testing.T) {
	for name, removed := range map[string]bool{"with its lock file": false, "with a removed lock file": true} {
		t.Run(name, func(t *testing.T) {
			folder := folderWithLeague(t)
			first, _, err := manager.OpenFiles(folder, leagueID, false, nil)
			require.NoError(t, err)
			lock := filepath.Join(folder.Path, "private", leagueID+".lock")
			for _, fresh := range []bool{false, true} {
				want := lock
				if removed {
					require.NoError(t, os.Remove(lock))
					want = folder.Journal(leagueID)
				}
				_, archived, err := manager.OpenFiles(folder, leagueID, fresh, nil)
				var locked *store.LockedError
				require.ErrorAs(t, err, &locked)
				assert.Equal(t, want, locked.Path)
				assert.Empty(t, archived)
				assert.FileExists(t, folder.Journal(leagueID), "the journal is not moved")
			}
			require.NoError(t, openAndClose(folder, "another_league"), "another league is not locked")
			require.NoError(t, first.Close())
			require.NoError(t, openAndClose(folder, leagueID))
		})
	}
}

func TestOpenFilesRejectsDamagedFiles(t *testing.T) {
	for _, test := range []struct {
		name  string
		harm  func(t *testing.T, folder store.Folder)
		texts []string
	}{
		{"the key is missing", func(t *testing.T, folder store.Folder) {
			require.NoError(t, os.Remove(keyOf(folder)))
		}, []string{leagueID + ".key", "is missing", "restore it", "--new-league"}},
		{"the journal was changed", func(t *testing.T, folder store.Folder) {
			rewrite(t, folder.Journal(leagueID), func(s string) string { return strings.Replace(s, `"legs":1`, `"legs":2`, 1) })
		}, []string{"journal.jsonl line 2", "does not follow the line before", "Restore a copy of the file", "--new-league"}},
		{"a block of the journal is lost that was on disk", func(t *testing.T, folder store.Folder) {
			text, err := os.ReadFile(folder.Journal(leagueID))
			require.NoError(t, err)
			lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
			known := &store.Standings{DerivedHeader: store.DerivedHeader{
				Header: store.NewHeader(""), LeagueID: leagueID, JournalHead: journal.Hash(lines[len(lines)-1]),
			}}
			require.NoError(t, store.WriteDerived(folder.Disk, folder.Standings(leagueID), known))
			copy(text[len(lines[0])+10:], make([]byte, 20))
			require.NoError(t, os.WriteFile(folder.Journal(leagueID), text, 0o600))
		}, []string{"journal.jsonl line 2", "it has zeros", "Restore a copy of the file"}},
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

			files, archived, err := manager.OpenFiles(folder, leagueID, true, nil)
			require.NoError(t, err, "a new league can still begin")
			assert.DirExists(t, archived)
			assert.Nil(t, files.State.Created)
			require.NoError(t, files.Close())
		})
	}
}

func TestJournalOfAnotherLeagueIsRejected(t *testing.T) {
	unchanged := func(*manager.Options) {}
	simulated := func(o *manager.Options) { o.Simulation = &journal.Simulation{Seed: 7, Players: 2, Referees: 1} }
	for _, test := range []struct {
		name          string
		before, again func(*manager.Options)
		want          string
	}{
		{"of another league", func(o *manager.Options) { o.LeagueID = "another_league" }, unchanged,
			"the journal is that of league another_league, not of " + leagueID},
		{"of a simulation", simulated, unchanged, "a simulated league continues with simulate"},
		{"a real league, for a simulation", unchanged, simulated, "a simulated league continues with simulate"},
		{"of an unknown game", unchanged, func(o *manager.Options) { o.Games = rules.NewRegistry() }, evenodd.Type},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := store.In(t.TempDir())
			for _, run := range []func(*manager.Options){test.before, test.again} {
				files, _, err := manager.OpenFiles(folder, leagueID, false, nil)
				require.NoError(t, err)
				o := options(files)
				run(&o)
				if _, err = manager.New(o); files.State.Events > 1 || err != nil {
					require.ErrorContains(t, err, test.want)
				}
				assert.Equal(t, 1, files.State.Events, "a refused manager writes nothing")
				require.NoError(t, files.Close())
			}
		})
	}
}

// standings.json contains a result within 200 ms.
func TestStandingsAreWrittenAfterEveryResult(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
		results := func() int {
			s, err := store.Read[store.Standings](x.Folder.Disk, x.Folder.Standings(leaguetest.LeagueID))
			require.NoError(t, err)
			return s.Version
		}
		w.Referee("REF01", leaguetest.WithCapacity(2), w.OnlyAccepting())
		w.Players(4)
		for round := 1; round <= 3; round++ {
			for number := 1; number <= 2; number++ {
				w.WaitUntil(w.Now() + leaguetest.Second)
				id := league.MatchID{Round: round, Number: number}.String()
				players := pairOf(w, id)
				mustReport(w, w.ReportOf("REF01", id, nil, players[0], players[1], 1, 1))
				w.WaitUntil(w.Now() + 200*time.Millisecond)
				assert.Equal(t, 2*(round-1)+number, results())
			}
		}
		finish(x)
	})
}

// agents.json lists the registered agents with endpoint and state.
func TestRegisteredAgentsAreListedInAFile(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 3, 1, func(o *manager.Options) { o.MaxPlayers = 3 })
		w.Referee("REF01", leaguetest.WithCapacity(2))
		w.Player("P02")
		mustApply(w, w.Application("Silent"))
		w.WaitUntil(leaguetest.Second)
		agents := func() *store.Agents {
			doc, err := store.Read[store.Agents](x.Folder.Disk, x.Folder.Agents(leaguetest.LeagueID))
			require.NoError(t, err)
			return doc
		}
		began := "2000-01-01T00:00:00.000Z"
		assert.Equal(t, []store.Agent{{
			RefereeID: "REF01", DisplayName: "Agent REF01", Endpoint: "http://ref01:8000/mcp", Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{"even_odd"}, MaxConcurrent: 2, RegisteredAt: began, Answered: true, State: "REGISTERED",
		}}, agents().Referees)
		player := store.Agent{
			PlayerID: "P02", DisplayName: "Agent P02", Endpoint: "http://p02:8000/mcp", Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{"even_odd"}, RegisteredAt: began, Answered: true, State: "REGISTERED",
		}
		silent := player
		silent.PlayerID, silent.DisplayName, silent.Endpoint, silent.Answered = "P01", "Silent", "http://silent:8000/mcp", false
		assert.Equal(t, []store.Agent{silent, player}, agents().Players)
		raw, err := os.ReadFile(x.Folder.Agents(leaguetest.LeagueID))
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "tok-")

		w.PingOnly("silent")
		w.Player("P03", leaguetest.WithDelays(leaguetest.Second, leaguetest.Second, 0))
		w.WaitUntil(3600 * time.Millisecond) // the sixth ping was answered at 3.15 s
		for _, a := range agents().Players {
			assert.Equal(t, "ACTIVE", a.State, a.PlayerID)
		}
		x.Finish()
		assert.Equal(t, "SHUTDOWN", agents().Players[1].State)
	})
}

// A third-party referee writes no match file here, so the manager writes it with the report.
func TestMatchFileOfAThirdPartyRefereeIsWrittenWithItsReport(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x := thirdPartyLeague(w)
		mustReport(w, w.WinReport("REF01"))
		doc, err := store.Read[store.Match](x.Folder.Disk, x.Folder.Match(leaguetest.LeagueID, "R1M1"))
		require.NoError(t, err)
		assert.Equal(t, store.WrittenByManager, doc.WrittenBy)
		assert.Equal(t, "P01", *doc.Result.WinnerPlayerID)
	})
}

// A referee with another data folder delivers its transcripts after each round, and the
// manager's folder is then complete.
func TestRefereeElsewhereDeliversItsTranscripts(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 2)
		w.RefereeWithFiles("REF01", files)
		w.RefereeWithFiles("REF02", folder)
		w.Players(4)
		for _, m := range finish(x).Matches() {
			id := m.Report.MatchID.String()
			doc, err := folder.LoadMatch(leaguetest.LeagueID, id)
			require.NoError(t, err)
			assert.Len(t, doc.Transcript, 12)
			if m.Report.RefereeID == "REF01" {
				own, err := files.LoadMatch(leaguetest.LeagueID, id)
				require.NoError(t, err)
				assert.Equal(t, own, doc)
			}
		}
		for _, e := range w.Calls(protocol.GetMatchTranscript.Name) {
			assert.Equal(t, "ref01", e.To, "a referee that shares the folder is not asked")
		}
	})
}

// The manager hides what looks like a token in a delivered record. A player that has such a
// name must not make the record differ from its digest in the journal.
func TestNameLikeATokenDoesNotChangeADelivery(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		name := "tok-p01-" + strings.Repeat("x", 40)
		p := w.NewPlayerIn("P01", leaguetest.TempFolder(t), func(o *player.Options) { o.Name = name })
		require.NoError(t, p.Player.Register(w.Context))
		w.Player("P02")
		for _, m := range finish(x).Matches() {
			assert.NotEmpty(t, m.Report.TranscriptDigest)
			doc, err := x.Folder.LoadMatch(leaguetest.LeagueID, m.Report.MatchID.String())
			require.NoError(t, err)
			assert.Contains(t, []string{doc.PlayerA.DisplayName, doc.PlayerB.DisplayName}, protocol.HiddenToken)
		}
	})
}

// A manager that was restarted asks for the transcripts that it does not have.
func TestNextManagerAsksForMissingTranscripts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartMortalManager(leaguetest.CrashPoint{Event: 30, When: leaguetest.AfterTelling}, folder, 4, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(4)
		<-x.Died
		x.RestoreDisk()
		path := folder.Match(leaguetest.LeagueID, "R1M1")
		if raw, err := os.ReadFile(path); err == nil { // the manager may have crashed before the first delivery
			require.NoError(t, os.WriteFile(path, raw[:len(raw)-100], 0o600))
		}
		x = w.StartManagerIn(folder, 4, 1)
		for _, m := range finish(x).Matches() {
			doc, err := folder.LoadMatch(leaguetest.LeagueID, m.Report.MatchID.String())
			require.NoError(t, err)
			assert.Len(t, doc.Transcript, 12, m.Report.MatchID)
		}
	})
}

// A referee that delivers nothing, too much or something else harms nobody.
func TestBadDeliveryIsRefused(t *testing.T) {
	edit := func(change func(text string) string) leaguetest.Reply {
		return func(c *leaguetest.Call) (jsontext.Value, error) {
			answer, err := c.OwnAnswer()
			return jsontext.Value(change(string(answer))), err
		}
	}
	for _, test := range []struct {
		name  string
		reply leaguetest.Reply
		took  time.Duration
	}{
		{"no answer", leaguetest.Silent, 30 * time.Second},
		{"an error", leaguetest.RefuseWith(protocol.ErrMatchNotFound), time.Second},
		{"no file", leaguetest.EditAnswer("match", nil), time.Second},
		{"another match", edit(func(text string) string { return strings.ReplaceAll(text, `"match_id":"R`, `"match_id":"R9`) }), time.Second},
		{"another attempt", edit(func(text string) string { return strings.ReplaceAll(text, `"attempt":1`, `"attempt":2`) }), time.Second},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
			w.RefereeWithFiles("REF01", leaguetest.TempFolder(t), leaguetest.On(protocol.GetMatchTranscript.Name, test.reply))
			w.Players(4)
			finish(x)
			assert.Less(t, w.Now(), test.took)
			doc, err := x.Folder.LoadMatch(leaguetest.LeagueID, "R1M1")
			require.NoError(t, err)
			assert.Equal(t, store.WrittenByManager, doc.WrittenBy)
		})
	}
}
