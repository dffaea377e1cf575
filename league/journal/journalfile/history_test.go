package journalfile_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
)

// TestRandomHistories appends events on disks with faults, with crashes at any moment. Each event whose sync succeeded is
// there afterwards, as it was appended, or the opening refuses and names the damaged line.
func TestRandomHistories(t *testing.T) {
	const seeds = 150
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		for kind, n := range randomHistory(t, seed, seen) {
			seen[kind] += n
		}
	}
	for _, what := range []string{
		"failed sync", "full disk", "read error", "flipped bit", "power cut", "torn write", "lost write", "durable", "damage",
	} {
		assert.Positive(t, seen[what], what)
	}
}

func randomHistory(t *testing.T, seed uint64, seen map[string]int) map[string]int {
	t.Helper()
	const path = "folder/journal.jsonl"
	r := rand.New(rand.NewPCG(seed, 4))
	o := memdisk.Options{Seed: seed, Chances: faults.AllDiskFaults(0.04), MaxCrashes: 3}
	if seed%3 == 0 {
		o.Chances[faults.FlippedBit] = 0.3
	}
	d := memdisk.New(o)
	var durable []string // the hashes of the events
	for range 8 {
		p, failed := d.Process(), d.Injected()[faults.FailedSync.String()]
		var heads []string
		known := "" // the last durable one, which the manager has in standings.json
		if len(durable) > 0 {
			known = durable[len(durable)-1]
		}
		visit := func(_ *journal.Event, hash string) { heads = append(heads, hash) }
		f, state, _, err := journalfile.Open(p, path, visit, known)
		if err != nil {
			p.Kill()
			damage, damaged := errors.AsType[*journalfile.DamageError](err)
			switch flipped := d.RestoreFlippedBits() > 0; {
			case damaged:
				seen["damage"]++
				require.True(t, flipped, "seed %d: %v", seed, err)
				require.Positive(t, damage.Line, "seed %d", seed)
			default:
				require.True(t, errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, memdisk.ErrKilled),
					"seed %d: %v", seed, err)
			}
			d.PowerCut() // the machine restarts
			continue
		}
		require.GreaterOrEqual(t, len(heads), len(durable), "seed %d: an event is lost", seed)
		require.True(t, slices.Equal(durable, heads[:len(durable)]), "seed %d: an event is another one", seed)
		require.Len(t, heads, state.Events)
		durable = heads
		for range r.IntN(12) {
			event := events()[0]
			if n, _ := f.Last(); n > 0 {
				id := fmt.Sprintf("P%02d", n)
				event = &journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, Generation: 1,
					Endpoint: "http://" + id, DisplayName: fmt.Sprint(id, r.IntN(100), strings.Repeat("x", r.IntN(600)))}
			}
			if f.Append(when, event) != nil {
				break // the manager ends
			}
			number, head := f.Last()
			heads = append(heads[:number-1:number-1], head)
			if r.IntN(2) == 0 && f.Sync(number) == nil {
				seen["durable"]++
				durable = heads
			}
		}
		switch r.IntN(4) {
		case 0:
			if f.Close() == nil {
				durable = heads
			}
		case 1:
			p.Kill()
		default:
			d.PowerCut()
		}
		_ = f.Close() // ends its goroutine
		p.Kill()
		if d.Injected()[faults.FailedSync.String()] > failed {
			d.PowerCut() // the machine restarts: see appendfile
		}
	}
	return d.Injected()
}
