package faults_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/simulation/faults"
)

func TestFaultsOfDisksHaveTheGivenProbabilities(t *testing.T) {
	chances := faults.AllDiskFaults(0.1)
	chances[faults.ReadError], chances[faults.Kill] = 0, 1
	const n = 10_000
	counts := map[faults.DiskFault]int{}
	for at := range int64(n) {
		f := chances.At(7, faults.Place{Path: "data/journal.jsonl", From: 512 * at, To: 512*at + 512})
		for kind := range faults.DiskFault(len(chances)) {
			if f.Has(kind) {
				counts[kind]++
			}
		}
	}
	for kind, chance := range chances {
		want, kind := chance*n, faults.DiskFault(kind)
		assert.InDelta(t, want, counts[kind], 4*math.Sqrt(want*(1-chance)), kind.String())
	}
}

func TestFaultOfADiskFollowsFromItsPlace(t *testing.T) {
	chances := faults.AllDiskFaults(0.5)
	place := faults.Place{Path: "a", From: 512, To: 1024}
	// Computed by another program: a seed gives the same faults in every version.
	assert.Equal(t, faults.DiskFaults(0b1110100), chances.At(7, place))
	assert.Zero(t, (&faults.DiskChances{}).At(7, place))
	different := 0
	for _, other := range []faults.Place{{Path: "b", From: 512, To: 1024}, {Path: "a", From: 0, To: 1024}, {Path: "a", From: 512, To: 1536}} {
		if chances.At(7, other) != chances.At(7, place) {
			different++
		}
	}
	assert.Positive(t, different)
}
