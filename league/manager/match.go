package manager

import (
	"sync/atomic"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A match is one match of the current round. The ledger's lock guards the fields below
// done.
type match struct {
	id        protocol.MatchID
	a, b      *agent
	announced *agent      // the referee
	absent    []string    // players that forfeit it
	done      atomic.Bool // its result is on disk

	fact     *journal.Match // in the state
	handover handover
	rejected map[int]rejection // by attempt; nil before the first
	news     chan<- struct{}   // wakes the conductor; nil before there is one
	pings    *pings            // of the players; nil before the first
}

// attempt identifies an attempt at the match.
func (x *match) attempt(number int) protocol.Attempt {
	return protocol.Attempt{MatchID: x.id, Number: number}
}

// over tells whether the result is on disk.
func (x *match) over() bool { return x.done.Load() }

// wake makes the conductor look at the match again. The caller holds the ledger's lock, or
// is the conductor.
func (x *match) wake() {
	select {
	case x.news <- struct{}{}:
	default: // it looks anyway, or nothing conducts the match
	}
}

// The bounds of rejected reports of one attempt: after so many reports, or so long
// after the last one, the referee has lost the attempt.
const (
	maxRejectedReports = 3
	betterReportWait   = 10 * time.Second
)

// A rejection is the last rejected report of an attempt.
type rejection struct {
	report *journal.MatchReported // as far as it could be read
	reason string
	count  int       // rejected reports of the attempt
	at     time.Time // when it was rejected
}

// reject keeps a rejected report, and tells whether the referee has sent too many.
func (x *match) reject(r *journal.MatchReported, reason string) (tooMany bool) {
	n := x.rejected[r.Number].count + 1
	if x.rejected == nil {
		x.rejected = map[int]rejection{}
	}
	x.rejected[r.Number] = rejection{r, reason, n, time.Now()}
	x.wake()
	return n >= maxRejectedReports
}

// pings are the pings of both players of a match. The report of a double technical loss causes
// them: its referee may never have asked the players.
type pings struct {
	judged chan struct{} // closed when the report that caused them has been judged
	result decide.Pings
}

// pinged is the state of the players' pings; x is nil for a match that this manager has
// not resumed.
func (x *match) pinged() decide.Pings {
	switch {
	case x == nil:
		return decide.NotRunning
	case x.pings == nil:
		return decide.NotPinged
	}
	return x.pings.result
}
