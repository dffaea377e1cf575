package faults

import (
	"encoding/binary"

	"evenodd/league"
)

// A DiskFault is a kind of fault of a disk.
type DiskFault int

// The faults of disks. Each happens once at a place.
const (
	FailedSync DiskFault = iota // a sync fails, and the data is lost although the next sync succeeds
	SlowSync                    // a sync takes up to ten seconds
	FullDisk                    // a write finds no space
	ReadError                   // a read fails
	FlippedBit                  // a bit is another one after a power cut
	PowerCut                    // the power is cut during a sync
	Kill                        // the process is killed during a sync
	diskFaults                  // how many there are
)

// String names the fault.
func (f DiskFault) String() string {
	return [...]string{
		"failed sync", "slow sync", "full disk", "read error", "flipped bit", "power cut", "kill",
	}[f]
}

// DiskChances are the probabilities, 0 to 1, that a place of a disk has a fault, by its kind.
type DiskChances [diskFaults]float64

// AllDiskFaults are the same probability for each kind.
func AllDiskFaults(probability float64) (c DiskChances) {
	for kind := range c {
		c[kind] = probability
	}
	return c
}

// A Place is the key of a fault of a disk: a range of bytes in a file. It has nothing of the time or the order of the
// calls that write, read or sync the bytes.
type Place struct {
	Path     string
	From, To int64
}

// DiskFaults are the faults of a place.
type DiskFaults uint8

// Has tells whether the faults have a kind.
func (f DiskFaults) Has(kind DiskFault) bool { return f&(1<<kind) != 0 }

// At decides the faults of a place.
func (c *DiskChances) At(seed uint64, p Place) (f DiskFaults) {
	if *c == (DiskChances{}) {
		return 0
	}
	//nolint:gosec // never negative
	sum := Digest("evenodd-disk-v1/", []uint64{seed, uint64(p.From), uint64(p.To)}, p.Path)
	for kind, chance := range c {
		if float64(binary.BigEndian.Uint32(sum[4*kind:])) < chance*(1<<32) {
			f |= 1 << kind
		}
	}
	return f
}

// A Moment is one at which a machine can crash: before a call about a match, or after its answer.
type Moment int

// The moments.
const (
	BeforeStart Moment = iota
	AfterStart         // the referee has accepted the match
	BeforeInvitation
	AfterInvitation
	BeforeResult // the player hears it
	AfterResult
	BeforeReport
	AfterReport // the manager has recorded the result
	moments
)

// A Crash is one of the machine on which all agents of a league run.
type Crash struct {
	Match  league.MatchID
	Moment Moment
	Kill   bool // of the process; else a power cut
}

// MostCrashes is how many crashes a league has at most.
const MostCrashes = 3

// CrashesOf decides the crashes of a league with a number of rounds and of matches in a round: none to MostCrashes. One
// at a match that is not played does not happen.
func CrashesOf(seed uint64, rounds, matches int) (crashes []Crash) {
	for i := range uint64(MostCrashes) {
		at := draws(seed, "machine", "", "", "", "", i)
		if at[0] < 0.5 {
			continue
		}
		moment := int(at[3] * float64(2*moments))
		crashes = append(crashes, Crash{
			Match:  league.MatchID{Round: 1 + int(at[1]*float64(rounds)), Number: 1 + int(at[2]*float64(matches))},
			Moment: Moment(moment / 2), Kill: moment%2 == 0,
		})
	}
	return crashes
}
