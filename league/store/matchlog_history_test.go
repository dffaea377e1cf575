package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
)

// TestRandomHistoriesOfAMatchLog has a referee play attempts on disks with faults, with checkpoints, and crashes at any
// moment. A result that was durable is in the log afterwards, or in the file of its attempt, and no other one is; or
// the opening refuses, or names the damaged line.
func TestRandomHistoriesOfAMatchLog(t *testing.T) {
	const seeds = 300
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		h := &matchLogHistory{t: t, r: rand.New(rand.NewPCG(seed, 2)), seed: seed, plays: map[string]int{},
			durable: map[string]string{}, seen: seen}
		o := memdisk.Options{Seed: seed, Chances: faults.AllDiskFaults(0.03), MaxCrashes: 3}
		if seed%3 == 0 {
			o.Chances[faults.FlippedBit] = 0.3
		}
		h.disk = memdisk.New(o)
		for range 8 {
			h.live()
		}
		for kind, n := range h.disk.Injected() {
			seen[kind] += n
		}
	}
	for _, what := range []string{
		"failed sync", "full disk", "read error", "flipped bit", "power cut", "torn write", "lost write", "undone name",
		"durable result", "checkpoint", "result in a file alone", "played again",
	} {
		assert.Positive(t, seen[what], what)
	}
}

// A matchLogHistory is that of the log of one referee.
type matchLogHistory struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	disk    *memdisk.Disk
	plays   map[string]int    // by match: how often its attempt was played
	durable map[string]string // by match: the result that other agents may know
	seen    map[string]int
}

// live is the life of one process of the referee.
func (h *matchLogHistory) live() {
	p, failed := h.disk.Process(), h.disk.Injected()[faults.FailedSync.String()]
	folder := Folder{p, "data-folder"}
	log, found, _, err := OpenMatchLog(folder, "cup", "REF01")
	if err == nil && len(found.Damage) > 0 {
		p.Kill() // or it would copy the damaged line to a new log
		_ = log.Close()
		err = found.Damage[0]
	}
	if err == nil {
		if err = h.check(folder, found); err == nil {
			h.play(log, found)
		}
		switch h.r.IntN(4) {
		case 0:
			_ = log.Close()
		case 1:
			p.Kill()
		default:
			h.disk.PowerCut()
		}
		_ = log.Close() // ends its goroutine
	}
	p.Kill()
	if err != nil {
		flipped := h.disk.RestoreFlippedBits() > 0
		require.True(h.t, flipped || isDiskError(err), "seed %d: %v", h.seed, err)
	}
	if h.disk.Injected()[faults.FailedSync.String()] > failed {
		h.disk.PowerCut() // the machine restarts, as the errors say
	}
}

// check compares what is read with what was written. An error is one of the disk.
func (h *matchLogHistory) check(folder Folder, found *LoggedMatches) error {
	for _, m := range found.Matches {
		if m.Result == nil {
			continue
		}
		if known := h.durable[m.MatchID]; known != "" {
			require.Equal(h.t, known, m.Result.Reason, "seed %d: %s", h.seed, m.MatchID)
		}
		require.True(h.t, strings.HasPrefix(m.Result.Reason, m.MatchID+" "), "seed %d: %s", h.seed, m.Result.Reason)
		h.durable[m.MatchID] = m.Result.Reason // what was read is durable
	}
	for matchID, reason := range h.durable {
		if found.Find(matchID, 1) != nil {
			require.NotNil(h.t, found.Find(matchID, 1).Result, "seed %d: %s", h.seed, matchID)
			continue
		}
		h.seen["result in a file alone"]++
		doc, err := folder.LoadAttempt("cup", matchID, 1)
		switch {
		case err != nil:
			return err
		case doc.Result == nil || doc.Result.Reason != reason:
			return fmt.Errorf("the file of %s has not the result %q", matchID, reason)
		}
	}
	return nil
}

// play plays attempts, until the disk fails.
func (h *matchLogHistory) play(log *MatchLog, found *LoggedMatches) {
	for range h.r.IntN(12) {
		matchID := fmt.Sprintf("R1M%d", 1+h.r.IntN(5))
		known := found.Find(matchID, 1)
		switch reason := h.durable[matchID]; {
		case h.r.IntN(6) == 0:
			if log.Checkpoint() == nil {
				h.seen["checkpoint"]++
			}
		case reason != "" && (known == nil || known.Lifecycle.State == protocol.StateAcknowledged): // it is over
		case reason != "" && h.r.IntN(2) == 0:
			m := played(matchID, 1, protocol.StateAcknowledged)
			if m.Result.Reason = reason; log.Write(m) == nil {
				known.Lifecycle.State = protocol.StateAcknowledged
			}
		case reason != "":
		default:
			if known == nil {
				if h.plays[matchID]++; h.plays[matchID] > 1 {
					h.seen["played again"]++
				}
			}
			m := played(matchID, 1, protocol.StateFinished)
			m.Result.Reason = fmt.Sprintf("%s %d", matchID, h.plays[matchID])
			begun := *m
			begun.Result, begun.Lifecycle.State, begun.Transcript = nil, protocol.StateCollectingChoices, m.Transcript[:1]
			if h.r.IntN(2) == 0 && log.Append(&begun, false) != nil || log.Append(m, true) != nil {
				return // the referee plays no more
			}
			h.seen["durable result"]++
			h.durable[matchID] = m.Result.Reason
			if found.index == nil {
				found.index = map[string]*LoggedMatch{}
			}
			found.index[logKey(matchID, 1)] = &LoggedMatch{Match: m}
		}
	}
}

// isDiskError tells whether an error is that of a fault or of the end of the process.
func isDiskError(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, memdisk.ErrKilled)
}
