package player_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/player"
)

// inviteAndAsk plays a match with a player until its choice, which it returns.
func inviteAndAsk(c *leaguetest.ScriptedReferee) *protocol.ChooseParityResponse {
	c.World.T.Helper()
	_, err := c.Invite()
	require.NoError(c.World.T, err)
	chosen, err := c.Choose()
	require.NoError(c.World.T, err)
	return chosen
}

// playMatch plays a match with a player.
func playMatch(c *leaguetest.ScriptedReferee, number int) {
	c.World.T.Helper()
	inviteAndAsk(c)
	_, err := c.SendGameOver(number)
	require.NoError(c.World.T, err)
}

// completeRound sends ROUND_COMPLETED, maybe changed, with the manager's credential.
func completeRound(w *leaguetest.World, to *leaguetest.Agent, round int, change ...func(*protocol.RoundCompleted)) {
	w.T.Helper()
	q := &protocol.RoundCompleted{
		Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).
			Envelope(protocol.TypeRoundCompleted, "conv-round"),
		LeagueID: leaguetest.LeagueID, RoundID: round, MatchesCompleted: new(1), MatchesPlayed: new(1),
		Summary: &protocol.RoundSummary{TotalMatches: 1, Wins: 1},
	}
	for _, c := range change {
		c(q)
	}
	peer := protocol.Peer{Endpoint: leaguetest.EndpointOf(to.Host), Bearer: w.ManagerCredential(to.ID)}
	_, err := protocol.NotifyRoundCompleted.Call(w.Context, w.Untrusted, peer, q)
	require.NoError(w.T, err)
}

// completeLeague sends LEAGUE_COMPLETED with the manager's credential.
func completeLeague(w *leaguetest.World, to *leaguetest.Agent) {
	w.T.Helper()
	_, err := protocol.NotifyLeagueCompleted.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(to.Host), Bearer: w.ManagerCredential(to.ID)},
		&protocol.LeagueCompleted{
			Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(protocol.TypeLeagueCompleted, "conv-end"),
			LeagueID: leaguetest.LeagueID, TotalRounds: 3, TotalMatches: 3,
			Champion:       league.Champion{PlayerID: "P01", DisplayName: "Agent P01", Points: 9},
			FinalStandings: []protocol.FinalRow{{Rank: 1, PlayerID: "P01", DisplayName: "Agent P01"}},
		})
	require.NoError(w.T, err)
}

func TestPlayerWithUnknownTokenRegistersAsNew(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, leaguetest.InTurn(leaguetest.Normally, leaguetest.RefuseWith(protocol.ErrTokenInvalid), leaguetest.Normally)))
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		playMatch(w.ScriptedReferee(p, "R1M1", 1), 8)
		require.NoError(t, p.Player.Close())
		p.Stop()

		p = w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		calls := w.Calls(protocol.RegisterPlayer.Name)
		require.Len(t, calls, 3)
		assert.Empty(t, leaguetest.Decode[protocol.Envelope](calls[2].Message).AuthToken)
		assert.Zero(t, p.Player.Record().Stats.TotalMatches, "the old history is of another league")
		playMatch(w.ScriptedReferee(p, "R1M1", 1), 7)
		require.NoError(t, p.Player.Close())
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, leaguetest.ReadHistory(t, folder, "P01").Stats)
		aside, err := filepath.Glob(filepath.Join(filepath.Dir(folder.History("P01")), "history-*.json"))
		require.NoError(t, err)
		require.Len(t, aside, 1)
		old, err := store.Read[store.History](disk.Real{}, aside[0])
		require.NoError(t, err)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, old.Stats, "the old history is renamed")
	})
}

func TestHistoryIsWrittenWhenAMatchEnds(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		unwritten := func() {
			t.Helper()
			_, err := os.Stat(folder.History("P01"))
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		completeRound(w, p, 1)
		require.NoError(t, p.Player.Close())
		unwritten() // the history is empty
		playMatch(w.ScriptedReferee(p, "R1M1", 1), 8)
		assert.Len(t, derived(t, folder).Matches, 1)
		h := leaguetest.ReadHistory(t, folder, "P01")
		assert.Equal(t, &store.History{
			HistoryHeader: store.HistoryHeader{
				Header: store.NewHeader(h.LastUpdated), PlayerID: "P01", DisplayName: "Agent P01", LeagueID: leaguetest.LeagueID,
			},
			Stats: protocol.PlayerStats{TotalMatches: 1, Wins: 1},
			Matches: []store.HistoryMatch{{
				Attempt: 1, DrawCommitment: w.ScriptedReferee(p, "R1M1", 1).Commitment(), Entropy: h.Matches[0].Entropy,
				PlayedMatch: protocol.PlayedMatch{
					MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8,
				},
			}},
		}, h)
		assert.Len(t, h.Matches[0].Entropy, 64)
		_, err := w.ScriptedReferee(p, "R1M1", 1).SendGameOver(8)
		require.NoError(t, err)
		assert.Equal(t, 2, bytes.Count(readFile(t, store.HistoryLines(folder.History("P01"))), []byte("\n")), "a repeated result is not written again")
		completeRound(w, p, 1)
		time.Sleep(time.Minute)
		w.Announce(p, 2, protocol.RefereeAuthAccessToken)
		assert.Equal(t, h, leaguetest.ReadHistory(t, folder, "P01"), "nothing has changed")

		playMatch(w.ScriptedReferee(p, "R2M1", 2), 7)
		w.Announce(p, 3, protocol.RefereeAuthAccessToken) // ROUND_COMPLETED was lost
		h = leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Matches, 2)
		assert.Equal(t, 2, h.Matches[1].Attempt)
		playMatch(w.ScriptedReferee(p, "R3M1", 1), 8)
		completeLeague(w, p)
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 3)
		_, err = w.ScriptedReferee(p, "R4M1", 1).SendGameOver(8)
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 4, "a late result is written")

		var files []string
		require.NoError(t, filepath.WalkDir(folder.Path, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		}))
		path := folder.History("P01")
		assert.ElementsMatch(t, []string{path, store.HistoryLines(path), folder.Identity("player", "Agent P01 at "+leaguetest.EndpointOf(leaguetest.ManagerHost))}, files, "it writes no other files")
	})
}

func TestRestartedPlayerContinuesItsHistory(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("mirror"))
		for attempt, number := range []int{8, 7} {
			c := w.ScriptedReferee(p, "R1M1", attempt+1)
			_, err := c.Invite()
			require.NoError(t, err)
			_, err = c.SendGameOver(number)
			require.NoError(t, err)
		}
		_, err := w.ScriptedReferee(p, "R2M1", 1).SendGameOver(7)
		require.NoError(t, err)
		before := p.Player.Record().Stats
		require.NoError(t, p.Player.Close())
		p.Stop()

		p = w.PlayerIn("P01", folder, leaguetest.WithStrategy("mirror"))
		assert.Equal(t, before, p.Player.Record().Stats)
		_, err = w.ScriptedReferee(p, "R1M1", 2).SendGameOver(8)
		require.NoError(t, err)
		assert.Equal(t, before, p.Player.Record().Stats, "a result counts once")
		for match := 1; match <= 20; match++ { // a random strategy would pass with a probability of one in a million
			c := w.ScriptedReferee(p, league.MatchID{Round: 3, Number: match}.String(), 1)
			assert.Equal(t, "odd", inviteAndAsk(c).ParityChoice, "it remembers P02's last choice")
		}
	})
}

func TestPlayerStartsWithTheGivenHistory(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		past := []store.HistoryMatch{
			{Attempt: 1, PlayedMatch: protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8}},
			{Attempt: 1, PlayedMatch: protocol.PlayedMatch{MatchID: "R2M1", OpponentID: "P03", Result: "TECHNICAL_LOSS"}},
		}
		p := w.NewPlayerIn("P01", store.Folder{}, func(o *player.Options) { o.Past = past })
		require.NoError(t, p.Player.Register(w.Context))
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 2, Wins: 1, Losses: 1}, p.Player.Record().Stats)
		_, err := w.ScriptedReferee(p, "R1M1", 1).SendGameOver(7)
		require.NoError(t, err)
		assert.Equal(t, 1, p.Player.Record().Stats.Wins)
	})
}

func TestUnusableHistoryIsRenamed(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"damaged": func(path string) error {
			return os.WriteFile(path, []byte(`{"schema_version": "1.0.0", "matches": [`), 0o600)
		},
		"of another league": func(path string) error {
			return store.AppendHistory(disk.Real{}, path, &store.HistoryHeader{Header: store.NewHeader(""), PlayerID: "P01", LeagueID: "another"}, nil, new(int64))
		},
		"of another player": func(path string) error {
			return store.AppendHistory(disk.Real{}, path, &store.HistoryHeader{Header: store.NewHeader(""), PlayerID: "P02", LeagueID: leaguetest.LeagueID}, nil, new(int64))
		},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder := store.In(t.TempDir())
			w.ScriptedManager()
			w.PlayerIn("P01", folder).Stop()
			path := folder.History("P01")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, write(store.HistoryLines(path)))
			text := readFile(t, store.HistoryLines(path))
			p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
			playMatch(w.ScriptedReferee(p, "R1M1", 1), 8)
			require.NoError(t, p.Player.Close())
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 1)
			aside, err := filepath.Glob(filepath.Join(filepath.Dir(path), "history-*.jsonl"))
			require.NoError(t, err)
			require.Len(t, aside, 1)
			assert.Equal(t, string(text), string(readFile(t, aside[0])))
		})
	}
}

func TestDiskErrorDoesNotStopThePlayer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := store.In(t.TempDir()), w.CaptureLog()
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		data := filepath.Join(folder.Path, "data")
		require.NoError(t, os.WriteFile(data, nil, 0o600)) // in place of the folder
		for round := 1; round <= 3; round++ {
			w.Announce(p, round, protocol.RefereeAuthAccessToken)
			playMatch(w.ScriptedReferee(p, league.MatchID{Round: round, Number: 1}.String(), 1), 8)
			completeRound(w, p, round)
		}
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(log.Text(), "cannot write the history file"), "one log line for one cause")
		require.ErrorContains(t, p.Player.Close(), "P01")
		require.NoError(t, os.Remove(data))
		w.Announce(p, 4, protocol.RefereeAuthAccessToken)
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 3, "the history is written when the error is gone")
		require.NoError(t, p.Player.Close())
	})
}

func TestFinishWaitsForTheCurrentMatches(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(w *leaguetest.World, p *leaguetest.Agent, c *leaguetest.ScriptedReferee) // after 10 s
		took time.Duration
	}{
		{"the match ends", func(w *leaguetest.World, _ *leaguetest.Agent, c *leaguetest.ScriptedReferee) {
			_, _ = c.SendGameOver(8)
		}, 10 * leaguetest.Second},
		{"GAME_OVER is lost and the round ends", func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) { completeRound(w, p, 1) }, 10 * leaguetest.Second},
		{"GAME_OVER is lost and the next round begins", func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) {
			w.Announce(p, 2, protocol.RefereeAuthAccessToken)
		}, 10 * leaguetest.Second},
		{"the league ends", func(w *leaguetest.World, p *leaguetest.Agent, _ *leaguetest.ScriptedReferee) { completeLeague(w, p) }, 10 * leaguetest.Second},
		{"another match begins before the first one ends", func(w *leaguetest.World, p *leaguetest.Agent, c *leaguetest.ScriptedReferee) {
			_, _ = w.ScriptedReferee(p, "R1M2", 1).Invite()
			_, _ = c.SendGameOver(8)
			time.Sleep(5 * leaguetest.Second)
			_, _ = w.ScriptedReferee(p, "R1M2", 1).SendGameOver(8)
		}, 15 * leaguetest.Second},
		{"nothing ends", func(*leaguetest.World, *leaguetest.Agent, *leaguetest.ScriptedReferee) {}, 60 * leaguetest.Second},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.Varies = true
			w.ScriptedManager()
			p := w.Player("P01", leaguetest.WithStrategy("even"))
			began := w.Now()
			p.Player.Finish(w.Context)
			assert.Equal(t, began, w.Now(), "it plays no match")
			w.Announce(p, 1, protocol.RefereeAuthAccessToken)
			p.Player.Finish(w.Context)
			c := w.ScriptedReferee(p, "R1M1", 1)
			_, err := c.Invite()
			require.NoError(t, err)
			w.RunAt(began+10*leaguetest.Second, func() { test.end(w, p, c) })
			ctx, cancel := context.WithTimeout(w.Context, 60*leaguetest.Second)
			defer cancel()
			p.Player.Finish(ctx)
			assert.Equal(t, test.took, w.Now()-began)
		})
	}
}

// Messages of the manager and results may arrive concurrently: the last write has all
// results.
func TestConcurrentMessagesLeaveACompleteHistory(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		const matches = 40
		var playing sync.WaitGroup
		for n := 1; n <= matches; n++ {
			playing.Go(func() {
				_, err := w.ScriptedReferee(p, league.MatchID{Round: n, Number: 1}.String(), 1).SendGameOver(8)
				assert.NoError(t, err)
				completeRound(w, p, n)
				assert.NotNil(t, leaguetest.ReadHistory(t, folder, "P01"))
			})
		}
		playing.Wait()
		h := leaguetest.ReadHistory(t, folder, "P01")
		assert.Len(t, h.Matches, matches, "the last round wrote them, without Close")
		assert.Equal(t, matches, h.Stats.TotalMatches)
	})
}

// Two leagues may give the same id to players in one folder. Each has its own history file.
func TestPlayersOfTwoLeaguesShareAFolder(t *testing.T) {
	folder := store.In(t.TempDir())
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		other := &store.HistoryHeader{Header: store.NewHeader(""), PlayerID: "P01", DisplayName: "Somebody", LeagueID: "another"}
		usual := store.HistoryLines(folder.History("P01"))
		require.NoError(t, store.AppendHistory(disk.Real{}, usual, other, nil, new(int64)))
		before := readFile(t, usual)
		playMatch(w.ScriptedReferee(p, "R1M1", 1), 8)
		completeRound(w, p, 1)
		require.NoError(t, p.Player.Close())
		assert.Equal(t, string(before), string(readFile(t, usual)))
		path := filepath.Join(filepath.Dir(folder.History("P01")), "history."+leaguetest.LeagueID+".json")
		own, _, _, err := store.ReadHistoryLines(disk.Real{}, store.HistoryLines(path))
		require.NoError(t, err)
		assert.Len(t, own.Matches, 1)
		derived, err := store.Read[store.History](disk.Real{}, path)
		require.NoError(t, err)
		assert.Equal(t, own.Matches, derived.Matches)
		p.Stop()
		again := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		assert.Equal(t, 1, again.Player.Record().Stats.TotalMatches, "the history continues")
	})
}

// playRounds plays a match in each of some rounds, completes the rounds, and stops the player
// with or without Close.
func playRounds(w *leaguetest.World, folder store.Folder, from, to int, closes bool) {
	w.T.Helper()
	p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
	for round := from; round <= to; round++ {
		w.Announce(p, round, protocol.RefereeAuthAccessToken)
		playMatch(w.ScriptedReferee(p, league.MatchID{Round: round, Number: 1}.String(), 1), 8)
		completeRound(w, p, round)
	}
	if closes {
		require.NoError(w.T, p.Player.Close())
	}
	p.Stop()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// derived reads history.json.
func derived(t *testing.T, folder store.Folder) *store.History {
	t.Helper()
	doc, err := store.Read[store.History](folder.Disk, folder.History("P01"))
	require.NoError(t, err)
	return doc
}

// A power cut may leave any part of history.jsonl, and any of the states of history.json.
func TestHistoryContinuesAfterACutAtAnyByte(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		path := folder.History("P01")
		lines := store.HistoryLines(path)
		w.ScriptedManager()
		playRounds(w, folder, 1, 3, true)
		whole, document := readFile(t, lines), readFile(t, path)
		for n := range len(whole) + 1 {
			if !leaguetest.All() && n%7 > 0 && n < len(whole)-2 {
				continue
			}
			require.NoError(t, os.WriteFile(lines, whole[:n], 0o600))
			require.NoError(t, os.Remove(path))
			left := max(0, bytes.Count(whole[:n], []byte("\n"))-1)
			switch n % 4 {
			case 0:
				require.NoError(t, os.WriteFile(path, document, 0o600))
			case 1:
				require.NoError(t, os.WriteFile(path, document[:min(n, len(document))], 0o600))
			case 2:
				require.NoError(t, os.WriteFile(path, nil, 0o600))
			}
			playRounds(w, folder, 4, 4, true)
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, left+1, "cut after %d bytes", n)
			assert.Equal(t, "R4M1", h.Matches[left].MatchID)
			d := derived(t, folder)
			h.LastUpdated = d.LastUpdated
			assert.Equal(t, h, d)
		}
	})
}

func TestHistoryDocumentIsWrittenAfterEachMatchAndLaterFromTimeToTime(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		play := func(round, want int) {
			t.Helper()
			playMatch(w.ScriptedReferee(p, league.MatchID{Round: round, Number: 1}.String(), 1), 8)
			if round <= 100 {
				assert.Len(t, derived(t, folder).Matches, round, "before the end of the round")
			}
			completeRound(w, p, round)
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, round)
			assert.Len(t, derived(t, folder).Matches, want)
		}
		for round := range 100 {
			play(round+1, round+1)
		}
		play(101, 100)
		play(102, 100)
		time.Sleep(21 * time.Second)
		play(103, 103)
		play(104, 103)
		completeLeague(w, p)
		assert.Len(t, derived(t, folder).Matches, 104)
		require.NoError(t, p.Player.Close())
	})
}
