package manager

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// handOver gets a match played: it hands the match to referees, one after the other, until it has a result. The first
// accepted result counts. It returns when the result is on disk, or the manager stops: when starting ends, the match
// is not handed out any more; when running ends, it waits for nothing more.
func (m *Manager) handOver(starting, running context.Context, h *handover) {
	for m.chooseReferee(starting, running, h) {
		h.latest = time.Now().Add(m.longestMatch())
		m.giveTime(h, 0)
		result := m.conductedBy(starting, running, h)
		<-h.referee.slots
		if result == matchOver {
			break
		}
		if failure := result.failure(h.id.String()); failure != "" {
			m.failed(h, result, failure)
		}
		h.dismiss(result)
		if result == offerDeclined || result == offerNotSent {
			if starting.Err() != nil || m.pause(starting, h) != nil {
				break
			}
		}
	}
	m.askPlayers(running, h.match)
}

// conductedBy offers the match to its referee until that has conducted it, or does not.
func (m *Manager) conductedBy(starting, running context.Context, h *handover) outcome {
	result := m.offerMatch(running, h)
	for result == offerAccepted || h.mayHold && (result == offerUnanswered || result == offerNotSent) {
		result = m.awaitReport(running, h, result == offerAccepted)
		if result != refereeBack {
			continue
		}
		if !m.awaitProgram(starting, h) {
			return matchOver
		}
		m.giveTime(h, 0) // it may begin the attempt again: it may have forgotten the match, or has a result
		h.fresh = false
		result = m.offerMatch(running, h)
	}
	return result
}

// A handover is a match that is handed to referees.
type handover struct {
	*match
	referee  *agent // nil while none is chosen
	told     bool   // the players were told of another referee than the announced one
	failed   failedReferees
	offers   int       // the referees that gave the match back
	restarts int       // how often referees began an attempt again
	fresh    bool      // the next offer needs a new attempt, because the last one was given up
	obliging bool      // the referee acknowledges every request: it may not know how a match starts
	mayHold  bool      // the referee may hold the attempt from an earlier offer
	latest   time.Time // the referee must have reported before
	end      time.Time // the same, but earlier as long as the turn of a game with views stays the same
	turn     int       // the latest that the referee has told of, of a game with views

	glances *time.Timer // of awaitReport; nil before the first

	returned <-chan struct{} // closed when the referee registers again after the last offer
}

// dismiss takes the match from its referee after an offer or an attempt without a result.
func (h *handover) dismiss(result outcome) {
	failed := result.failure("") != ""
	lost := result == reportDoubted || result == offerDiscarded
	h.fresh = failed || result == offerRestarted || lost
	if failed || lost {
		h.failed.add(h.referee)
	}
	h.offers++
	if result == offerRestarted {
		h.restarts++
	}
	if result != offerRestarted || h.restarts > 1 { // once may be a crash
		h.referee = nil
	}
}

// about adds the match and its referee to a log line.
func (h *handover) about(line *zerolog.Event) {
	line.Stringer("match_id", h.id).Str("referee_id", h.referee.id)
}

// An outcome is what an offer of a match, or the wait for its report, has led to.
type outcome int

const (
	matchOver       outcome = iota // the match has a result, or the manager stops
	offerAccepted                  // the referee plays the attempt
	offerDeclined                  // the referee does not play the match now
	offerNotSent                   // the manager could not make the call (local fault)
	offerUnanswered                // nothing answers at the referee's endpoint
	offerRestarted                 // the referee began the attempt again, with another draw commitment
	refereeGone                    // nothing answers at the endpoint any more
	refereeBack                    // the referee registered again
	reportLate                     // the longest time for a match is over
	reportRejected                 // the referee has lost the attempt by its reports
	reportDoubted                  // the same, but that is no failure of the referee
	offerDiscarded                 // the referee has declined an attempt to which it had invited players
)

// failure describes the failure of a referee, for its record; "" for an outcome that is
// none.
func (o outcome) failure(matchID string) string {
	switch o {
	case offerUnanswered, refereeGone:
		return "it could not be reached for match " + matchID
	case reportLate:
		return "it did not report match " + matchID + " in time"
	case reportRejected:
		return "its report of match " + matchID + " was rejected"
	}
	return ""
}

// failedReferees are the referees that have failed with a match. A referee that registers
// again has not failed any more.
type failedReferees map[*agent]<-chan struct{}

func (f *failedReferees) add(referee *agent) {
	if *f == nil {
		*f = failedReferees{}
	}
	(*f)[referee] = *referee.returned.Load()
}

func (f failedReferees) has(referee *agent) bool {
	since, failed := f[referee]
	return failed && since == *referee.returned.Load()
}

// A match is one match of the current round, or a rematch. The manager's lock guards what follows recorded.
type match struct {
	id        league.MatchID
	name      string // the id as messages have it
	a, b      *agent
	announced *agent        // the referee
	absent    []string      // players that forfeit it
	done      atomic.Bool   // its result is on disk
	news      chan struct{} // wakes the hand-over: the match is over, or a report was rejected

	recorded *journal.Match    // in the state
	opening  []string          // nil before it is drawn, and for a match that begins as its game does
	offered  int               // the attempt of the last offer
	asking   bool              // the answer to that offer is not recorded
	answered chan struct{}     // closed when it is; nil if nothing waits for it
	rejected map[int]rejection // the last rejected report of each attempt; nil for none
	// the attempt of which a report without a token was refused, which anyone may have sent; 0 for none
	tokenless int
	pings     *pings // of the players; nil before the first
	// when the program of the game last failed at the match; zero if it did not since the league was last resumed
	stuckAt time.Time

	offer    protocol.Spare[offer]
	recordal protocol.Spare[protocol.Ack]
}

// An offer is the assignment of a match to a referee, with the points of both players.
type offer struct {
	protocol.MatchAssignment
	points [2]int
}

// attempt identifies an attempt at the match.
func (x *match) attempt(number int) league.Attempt {
	return league.Attempt{MatchID: x.id, Number: number}
}

// over tells whether the result is on disk.
func (x *match) over() bool { return x.done.Load() }

// wake makes the hand-over look at the match again.
func (x *match) wake() { signal(x.news) }

// signal wakes the goroutine that reads from a channel with room for one element. If the channel is
// full, that goroutine has yet to look.
func signal(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
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
	verdict decide.Judgement
	count   int       // rejected reports of the attempt
	at      time.Time // when it was rejected
}

// pings are the pings of both players of a match. The report of a double technical loss causes
// them: its referee may never have asked the players.
type pings struct {
	judged chan struct{} // closed when the report that caused them has been judged
	result decide.Pings
}
