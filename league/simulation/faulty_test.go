package simulation_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
)

// heavy has many faults of every kind.
const heavy = "drop=0.4,delay=0.3,duplicate=0.3,garbage=0.15,crash=P03@R2-R4,crash=P07,hang=P05@R3,deny=P06@R2-R3,deny=P06@R5," +
	"referee-crash=REF01@R2,referee-crash=REF03@R4"

func faultyOptions(players int) simulation.Options {
	o := options(players)
	o.Referees, o.Faults = 3, heavy
	return o
}

// withoutReferees returns an outcome without the referees of matches: they depend on the free slots.
func withoutReferees(r *simulation.Result) *outcome {
	o := outcomeOf(r)
	for i := range o.matches {
		o.matches[i].RefereeID, o.matches[i].Attempt = "", 0
	}
	return o
}

func TestSameSeedGivesTheSameFaults(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			var first *outcome
			for _, transport := range []string{simulation.Memory, simulation.Wire} {
				for _, concurrency := range []int{1, 3, 64} {
					o := faultyOptions(11)
					o.Seed, o.Transport, o.Concurrency = seed, transport, concurrency
					r := withoutReferees(run(t, o))
					if first == nil {
						first = r
					}
					require.Equal(t, first, r, "%s, %d matches at once", transport, concurrency)
				}
			}
			o := faultyOptions(11)
			o.Seed, o.Faults = seed, o.Faults+",crash=P01@R1-R2"
			other := withoutReferees(run(t, o))
			for i, m := range first.matches {
				if m.PlayerAID != "P01" || m.RoundID > 1 {
					continue
				}
				assert.NotEqual(t, m, other.matches[i], "other faults")
			}
		})
	}
}

func TestEveryKindOfFaultOccurs(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	o := faultyOptions(20)
	o.Injected = func(i simulation.Injection) {
		mu.Lock()
		defer mu.Unlock()
		seen[i.Fault]++
		_, ok := league.ParseMatchID(i.MatchID)
		assert.True(t, ok, i.MatchID)
	}
	run(t, o)
	for _, kind := range []string{"request lost", "answer lost", "late", "garbled", "doubled", "crash", "hang", "deny"} {
		assert.Positive(t, seen[kind], kind)
	}
	assert.Len(t, seen, 8)
}

func TestLeagueStartsDespiteLostMessages(t *testing.T) {
	for _, all := range []string{"drop=1", "garbage=1", "delay=1,drop=0.9,garbage=0.9", "duplicate=1"} {
		t.Run(all, func(t *testing.T) {
			o := options(5)
			o.Faults = all
			r := run(t, o)
			assert.Len(t, matchesOf(r), 10)
			for _, m := range matchesOf(r) {
				switch {
				case all != "drop=1" && all != "garbage=1":
				case m.RefereeID == "": // a player is suspended, and the other was not asked
					assert.NotEmpty(t, losers(m), m.MatchID)
				default:
					assert.Equal(t, []string{m.PlayerAID, m.PlayerBID}, losers(m), m.MatchID)
				}
				if all == "duplicate=1" {
					assert.Empty(t, losers(m), m.MatchID)
				}
			}
		})
	}
}

// A stall of the process has no effect on the result.
func TestLeagueWithFaultsHasNoTimeouts(t *testing.T) {
	o := faultyOptions(9)
	usual := run(t, o)
	const nothing = 1e-6 // s
	o.Timeouts = protocol.Timeouts{GameJoinAck: nothing, Move: nothing, GameOver: nothing, Generic: nothing}
	o.RetryPolicy, o.LongestMatch = protocol.DefaultRetryPolicy(), 3600
	o.SuspendAfter, o.ShutdownAfter = journal.DefaultSuspendAfter, journal.DefaultShutdownAfter
	assert.Equal(t, withoutReferees(usual), withoutReferees(run(t, o)))
}

// An interrupted league resumes with its faults and ends with the same result.
func TestLeagueWithFaultsResumes(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		for _, after := range []int{1, 9, 20, 35} {
			t.Run(fmt.Sprintf("seed %d, after %d results", seed, after), func(t *testing.T) {
				t.Parallel()
				first := faultyOptions(9)
				first.Seed = seed
				whole := withoutReferees(run(t, first))
				folder := interrupted(t, first, after)
				o := simulation.Options{Transport: simulation.Wire}
				o.LeagueID, o.Games, o.Log, o.Files = first.LeagueID, first.Games, first.Log, openFiles(t, folder, first.LeagueID)
				o.Players, o.Referees = 9, 3
				again := withoutReferees(run(t, o))
				require.NoError(t, o.Files.Close())
				for i := range again.matches {
					again.matches[i].Grade = whole.matches[i].Grade // only a league with files signs
				}
				assert.Equal(t, heavy, again.faults)
				assert.Equal(t, whole, again)
			})
		}
	}
}

// interrupted plays a league until so many results are recorded, and returns its folder.
func interrupted(t *testing.T, o simulation.Options, results int) store.Folder {
	t.Helper()
	folder := store.In(t.TempDir())
	o.Files = openFiles(t, folder, o.LeagueID)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(recorded, _ int) {
		if recorded == results {
			cancel()
		}
	}
	_, err := simulation.Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, o.Files.Close())
	return folder
}

func openFiles(t *testing.T, folder store.Folder, leagueID string) *manager.Files {
	t.Helper()
	files, _, err := manager.OpenFiles(folder, leagueID, false, nil)
	require.NoError(t, err)
	return files
}
