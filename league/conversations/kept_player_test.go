package conversations

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

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/transport"
)

// resident puts a player on the network that keeps what it knows in a folder,
// and its chances to itself. It does not register yet.
func (w *world) resident(id string, folder store.Folder, change func(*player.Options), traits ...trait) *actor {
	w.t.Helper()
	w.varies = true
	a := newActor(id, traits)
	decide, err := strategy.New(a.strategy)
	require.NoError(w.t, err)
	o := player.Options{
		Name: a.name, LeagueID: a.league, Games: []string{w.game.Info().Type}, Endpoint: endpointOf(a.host), Folder: folder,
		Manager: endpointOf(theBoss), Strategy: decide, Caller: w.caller(a.host, 1<<20), Clock: w.clock, Log: w.log,
	}
	if a.wantsID {
		o.ID = id
	}
	if change != nil {
		change(&o)
	}
	a.player, err = player.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(w.log)
	a.player.Mount(scripted{mux, a.parts})
	w.open(a, mux)
	return a
}

// lives is resident and its registration.
func (w *world) lives(id string, folder store.Folder, traits ...trait) *actor {
	w.t.Helper()
	a := w.resident(id, folder, nil, traits...)
	require.NoError(w.t, a.player.Register(w.life))
	return a
}

func historyOf(t *testing.T, folder store.Folder, id string) *store.History {
	t.Helper()
	h, err := store.Read[store.History](folder.History(id))
	require.NoError(t, err)
	return h
}

// plays a match of a player from the invitation to its end.
func (c *conductor) plays(number int) {
	c.w.t.Helper()
	_, err := c.invite()
	require.NoError(c.w.t, err)
	_, err = c.choose()
	require.NoError(c.w.t, err)
	_, err = c.over(number)
	require.NoError(c.w.t, err)
}

// completes is ROUND_COMPLETED of a manager with the right credential.
func (w *world) completes(to *actor, round int) {
	w.t.Helper()
	n := 1
	_, err := protocol.NotifyRoundCompleted.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(to.host), Bearer: w.credential(to.id)},
		&protocol.RoundCompleted{
			Envelope: protocol.NewStamp(protocol.ManagerSender, w.clock).Envelope(protocol.TypeRoundCompleted, "conv-round"),
			LeagueID: leagueID, RoundID: round, MatchesCompleted: &n, MatchesPlayed: &n,
			Summary: &protocol.RoundSummary{TotalMatches: 1, Wins: 1},
		})
	require.NoError(w.t, err)
}

// ends is LEAGUE_COMPLETED of a manager with the right credential.
func (w *world) ends(to *actor) {
	w.t.Helper()
	_, err := protocol.NotifyLeagueCompleted.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(to.host), Bearer: w.credential(to.id)},
		&protocol.LeagueCompleted{
			Envelope: protocol.NewStamp(protocol.ManagerSender, w.clock).Envelope(protocol.TypeLeagueCompleted, "conv-end"),
			LeagueID: leagueID, TotalRounds: 3, TotalMatches: 3,
			Champion:       protocol.Champion{PlayerID: "P01", DisplayName: "Agent P01", Points: 9},
			FinalStandings: []protocol.StandingRow{{Rank: 1, PlayerID: "P01", DisplayName: "Agent P01"}},
		})
	require.NoError(w.t, err)
}

func TestAPlayerThatWasRestartedComesBack(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.startManager(0, 1)
		w.referee("REF01")
		w.player("P01")
		first := w.lives("alpha", folder, withoutID, named("Alpha"))
		w.lives("beta", folder, withoutID, named("Beta"))
		require.Equal(t, "P02", first.player.ID())
		first.stop()

		again := w.lives("alpha", folder, withoutID, named("Alpha"))
		assert.Equal(t, "P02", again.player.ID())
		assert.Equal(t, "player:P02", again.player.Stamp().Sender())
		assert.Equal(t, 3, w.manager.Status().Players)
		calls := w.said(protocol.RegisterPlayer.Name)
		new, old := read[protocol.Envelope](calls[len(calls)-3].message), read[protocol.Envelope](calls[len(calls)-1].message)
		assert.Equal(t, []string{"player:alpha", ""}, []string{new.Sender, new.AuthToken})
		assert.Equal(t, []string{"player:P02", w.token("P02")}, []string{old.Sender, old.AuthToken})

		require.NoError(t, again.player.Register(w.life), "and in the middle of its life it may show itself again")
		assert.Equal(t, 3, w.manager.Status().Players)
		w.begin()
		w.finish()
		assert.Equal(t, 2, again.player.Record().Stats.TotalMatches)
	})
}

func TestAPlayerThatComesBackRepeatsItsRegistration(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss(does(protocol.RegisterPlayer.Name, inTurn(honestly, failing(errHangUp), honestly)))
		w.lives("P01", folder).stop()
		w.lives("P01", folder)
		calls := w.said(protocol.RegisterPlayer.Name)
		require.Len(t, calls, 3)
		assert.JSONEq(t, string(calls[1].message), string(calls[2].message), "the same request, in the same conversation")
		assert.NotEqual(t, read[protocol.Envelope](calls[0].message).ConversationID, read[protocol.Envelope](calls[1].message).ConversationID)
	})
}

func TestAPlayerWhoseTokenIsUnknownBeginsAnew(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss(does(protocol.RegisterPlayer.Name, inTurn(honestly, refusing(protocol.ErrTokenInvalid), honestly)))
		p := w.lives("P01", folder, choosing("even"))
		w.conducts(p, "R1M1", 1).plays(8)
		require.NoError(t, p.player.Close())
		p.stop()

		p = w.lives("P01", folder, choosing("even"))
		calls := w.said(protocol.RegisterPlayer.Name)
		require.Len(t, calls, 3)
		assert.Empty(t, read[protocol.Envelope](calls[2].message).AuthToken)
		assert.Zero(t, p.player.Record().Stats.TotalMatches, "what it played was in another league")
		w.conducts(p, "R1M1", 1).plays(7)
		require.NoError(t, p.player.Close())
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, historyOf(t, folder, "P01").Stats)
		aside, err := filepath.Glob(filepath.Join(filepath.Dir(folder.History("P01")), "history-*.json"))
		require.NoError(t, err)
		require.Len(t, aside, 1)
		old, err := store.Read[store.History](aside[0])
		require.NoError(t, err)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, old.Stats, "and that is still there")
	})
}

func TestTheHistoryIsWrittenOnceARound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss()
		p := w.lives("P01", folder, choosing("even"))
		unwritten := func() {
			t.Helper()
			_, err := os.Stat(folder.History("P01"))
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		w.announce(p, 1, protocol.RefereeAuthAccessToken)
		w.completes(p, 1)
		require.NoError(t, p.player.Close())
		unwritten() // nothing has happened
		w.conducts(p, "R1M1", 1).plays(8)
		unwritten()
		w.completes(p, 1)
		h := historyOf(t, folder, "P01")
		assert.Equal(t, &store.History{
			SchemaVersion: "1.0.0", LastUpdated: h.LastUpdated, PlayerID: "P01", DisplayName: "Agent P01", LeagueID: leagueID,
			Stats: protocol.PlayerStats{TotalMatches: 1, Wins: 1},
			Matches: []store.HistoryMatch{{
				Attempt: 1, DrawCommitment: w.conducts(p, "R1M1", 1).commitment(), Entropy: h.Matches[0].Entropy,
				PlayedMatch: protocol.PlayedMatch{
					MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8,
				},
			}},
		}, h)
		assert.Len(t, h.Matches[0].Entropy, 64)
		time.Sleep(time.Minute)
		w.announce(p, 2, protocol.RefereeAuthAccessToken)
		assert.Equal(t, h.LastUpdated, historyOf(t, folder, "P01").LastUpdated, "nothing has changed")

		w.conducts(p, "R2M1", 2).plays(7)
		assert.Len(t, historyOf(t, folder, "P01").Matches, 1)
		w.announce(p, 3, protocol.RefereeAuthAccessToken) // ROUND_COMPLETED got lost
		h = historyOf(t, folder, "P01")
		require.Len(t, h.Matches, 2)
		assert.Equal(t, 2, h.Matches[1].Attempt)
		w.conducts(p, "R3M1", 1).plays(8)
		w.ends(p)
		assert.Len(t, historyOf(t, folder, "P01").Matches, 3)
		_, err := w.conducts(p, "R4M1", 1).over(8)
		require.NoError(t, err)
		require.NoError(t, p.player.Close())
		assert.Len(t, historyOf(t, folder, "P01").Matches, 4, "what came late is not lost")

		var files []string
		require.NoError(t, filepath.WalkDir(string(folder), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		}))
		assert.ElementsMatch(t, []string{folder.History("P01"), folder.Identity("player", "Agent P01 at "+endpointOf(theBoss))}, files, "it writes nothing else")
	})
}

func TestARestartedPlayerGoesOnWithItsHistory(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss()
		p := w.lives("P01", folder, choosing("mirror"))
		for attempt, number := range []int{8, 7} {
			c := w.conducts(p, "R1M1", attempt+1)
			_, err := c.invite()
			require.NoError(t, err)
			_, err = c.over(number)
			require.NoError(t, err)
		}
		_, err := w.conducts(p, "R2M1", 1).over(7)
		require.NoError(t, err)
		before := p.player.Record().Stats
		require.NoError(t, p.player.Close())
		p.stop()

		p = w.lives("P01", folder, choosing("mirror"))
		assert.Equal(t, before, p.player.Record().Stats)
		_, err = w.conducts(p, "R1M1", 2).over(8)
		require.NoError(t, err)
		assert.Equal(t, before, p.player.Record().Stats, "what it has played is not counted again")
		for match := 1; match <= 20; match++ { // by chance all would be so once in a million times
			c := w.conducts(p, protocol.MatchID{Round: 3, Number: match}.String(), 1)
			_, err = c.invite()
			require.NoError(t, err)
			chosen, err := c.choose()
			require.NoError(t, err)
			assert.Equal(t, "odd", chosen.ParityChoice, "it remembers what P02 chose last")
		}
	})
}

func TestAPlayerBeginsWithItsPast(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		past := []store.HistoryMatch{
			{Attempt: 1, PlayedMatch: protocol.PlayedMatch{MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8}},
			{Attempt: 1, PlayedMatch: protocol.PlayedMatch{MatchID: "R2M1", OpponentID: "P03", Result: "TECHNICAL_LOSS"}},
		}
		p := w.resident("P01", "", func(o *player.Options) { o.Past = past })
		require.NoError(t, p.player.Register(w.life))
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 2, Wins: 1, Losses: 1}, p.player.Record().Stats)
		_, err := w.conducts(p, "R1M1", 1).over(7)
		require.NoError(t, err)
		assert.Equal(t, 1, p.player.Record().Stats.Wins)
	})
}

func TestAHistoryThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
	}{
		{"damaged", `{"schema_version": "1.0.0", "matches": [`},
		{"made by a newer program", `{"schema_version": "2.0.0", "player_id": "P01", "league_id": "` + leagueID + `"}`},
		{"of another league", `{"schema_version": "1.0.0", "player_id": "P01", "league_id": "another"}`},
		{"of another player", `{"schema_version": "1.0.0", "player_id": "P02", "league_id": "` + leagueID + `"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := store.Folder(t.TempDir())
				w.boss()
				w.lives("P01", folder).stop()
				path := folder.History("P01")
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
				p := w.lives("P01", folder, choosing("even"))
				w.conducts(p, "R1M1", 1).plays(8)
				require.NoError(t, p.player.Close())
				assert.Len(t, historyOf(t, folder, "P01").Matches, 1)
				aside, err := filepath.Glob(filepath.Join(filepath.Dir(path), "history-*.json"))
				require.NoError(t, err)
				require.Len(t, aside, 1)
				text, err := os.ReadFile(aside[0])
				require.NoError(t, err)
				assert.Equal(t, test.text, string(text))
			})
		})
	}
}

func TestADiskThatFailsChangesNothingElse(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		var log bytes.Buffer
		w.boss()
		p := w.resident("P01", folder, func(o *player.Options) { o.Log = zerolog.New(&log) }, choosing("even"))
		require.NoError(t, p.player.Register(w.life))
		data := filepath.Join(string(folder), "data")
		require.NoError(t, os.WriteFile(data, nil, 0o600)) // where the folder would be
		for round := 1; round <= 3; round++ {
			w.announce(p, round, protocol.RefereeAuthAccessToken)
			w.conducts(p, protocol.MatchID{Round: round, Number: 1}.String(), 1).plays(8)
			w.completes(p, round)
		}
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(log.String(), "the history cannot be written"), "once for one cause")
		require.ErrorContains(t, p.player.Close(), "P01")
		require.NoError(t, os.Remove(data))
		w.announce(p, 4, protocol.RefereeAuthAccessToken)
		assert.Len(t, historyOf(t, folder, "P01").Matches, 3, "and when it no longer fails, all is there")
		require.NoError(t, p.player.Close())
	})
}

func TestAPlayerWhoseIdentityIsDamagedDoesNotBegin(t *testing.T) {
	folder := store.Folder(t.TempDir())
	path := folder.Identity(membership.RolePlayer, "Alpha at ")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	decide, err := strategy.New("even")
	require.NoError(t, err)
	_, err = player.New(player.Options{Name: "Alpha", Folder: folder, Strategy: decide, Clock: protocol.SystemClock()})
	require.ErrorContains(t, err, path)
}

func TestAPlayerJoinsOnlyItsLeagues(t *testing.T) {
	for _, test := range []struct {
		name    string
		leagues []string
		only    string
		joins   bool
	}{
		{"one of them", []string{"another", leagueID}, "", true},
		{"none of them", []string{"another", "a_third"}, "", false},
		{"the only one", []string{"another"}, leagueID, true},
		{"not the only one", []string{leagueID}, "another", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.boss()
				p := w.resident("P01", store.Folder(t.TempDir()), func(o *player.Options) { o.Leagues, o.LeagueID = test.leagues, test.only })
				err := p.player.Register(w.life)
				if test.joins {
					require.NoError(t, err)
					return
				}
				var refused *membership.RefusedError
				require.ErrorAs(t, err, &refused)
				assert.Contains(t, refused.Reason, "another")
				assert.Empty(t, p.player.ID())
			})
		})
	}
}

func TestFinish(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(w *world, p *actor, c *conductor) // after 10 s
		took time.Duration
	}{
		{"the match ends", func(w *world, _ *actor, c *conductor) { _, _ = c.over(8) }, 10 * second},
		{"its end got lost, and the round ends", func(w *world, p *actor, _ *conductor) { w.completes(p, 1) }, 10 * second},
		{"its end got lost, and the next round begins", func(w *world, p *actor, _ *conductor) {
			w.announce(p, 2, protocol.RefereeAuthAccessToken)
		}, 10 * second},
		{"the league ends", func(w *world, p *actor, _ *conductor) { w.ends(p) }, 10 * second},
		{"another match begins before the end of the first", func(w *world, p *actor, c *conductor) {
			_, _ = w.conducts(p, "R1M2", 1).invite()
			_, _ = c.over(8)
			time.Sleep(5 * second)
			_, _ = w.conducts(p, "R1M2", 1).over(8)
		}, 15 * second},
		{"nothing ends", func(*world, *actor, *conductor) {}, 60 * second},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.varies = true
				w.boss()
				p := w.player("P01", choosing("even"))
				began := w.now()
				p.player.Finish(w.life)
				assert.Equal(t, began, w.now(), "it is in no match")
				w.announce(p, 1, protocol.RefereeAuthAccessToken)
				p.player.Finish(w.life)
				c := w.conducts(p, "R1M1", 1)
				_, err := c.invite()
				require.NoError(t, err)
				w.later(began+10*second, func() { test.end(w, p, c) })
				ctx, cancel := context.WithTimeout(w.life, 60*second)
				defer cancel()
				p.player.Finish(ctx)
				assert.Equal(t, test.took, w.now()-began)
			})
		})
	}
}

// Messages of the manager and results may come at the same time: the last write
// has everything.
func TestTheHistoryIsCompleteHoweverMuchHappensAtOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.boss()
		p := w.lives("P01", folder, choosing("even"))
		const matches = 40
		var playing sync.WaitGroup
		for n := 1; n <= matches; n++ {
			playing.Go(func() {
				_, err := w.conducts(p, protocol.MatchID{Round: n, Number: 1}.String(), 1).over(8)
				assert.NoError(t, err)
				w.completes(p, n)
				assert.NotNil(t, historyOf(t, folder, "P01"))
			})
		}
		playing.Wait()
		h := historyOf(t, folder, "P01")
		assert.Len(t, h.Matches, matches, "without Close: the last round wrote it")
		assert.Equal(t, matches, h.Stats.TotalMatches)
	})
}

// Players of two leagues may have the same id in one folder: neither writes over
// what the other knows, and each finds its own again.
func TestTwoLeaguesInOneFolder(t *testing.T) {
	folder := store.Folder(t.TempDir())
	other := &store.History{
		SchemaVersion: store.SchemaVersion, LastUpdated: "2000-01-01T00:00:00Z", PlayerID: "P01", DisplayName: "Somebody", LeagueID: "another",
	}
	told(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.lives("P01", folder, choosing("even"))
		w.announce(p, 1, protocol.RefereeAuthAccessToken)
		w.conducts(p, "R1M1", 1).plays(8)
		require.NoError(t, store.Write(folder.History("P01"), other))
		w.completes(p, 1)
		assert.Equal(t, "another", historyOf(t, folder, "P01").LeagueID)
		own, err := store.Read[store.History](filepath.Join(filepath.Dir(folder.History("P01")), "history."+leagueID+".json"))
		require.NoError(t, err)
		assert.Len(t, own.Matches, 1)
		require.NoError(t, p.player.Close())
		p.stop()
		again := w.lives("P01", folder, choosing("even"))
		assert.Equal(t, 1, again.player.Record().Stats.TotalMatches, "it goes on")
	})
}
