package manager

// A handover is the state machine by which one match is handed to referees, one after
// the other, until it has a result:
//
//	state      event                                   next state
//	choosing   a referee is chosen                     offering
//
//	offering   the referee accepts                     awaiting
//	           no answer, but it may hold the match    awaiting
//	           any other answer, or none               choosing
//	awaiting   the referee registers again             offering
//	           it fails                                choosing
//	any        there is a result, or no time left      finished
//
// The conductor of the match moves it. The ledger's lock guards attempt, unanswered and
// answered, which reports read.
type handover struct {
	state      handoverState
	attempt    int           // of the last offer
	mayHold    bool          // the referee may hold that attempt from an earlier offer
	fresh      bool          // the next offer needs a new attempt, because the last one was given up
	restarts   int           // how often referees began an attempt again
	unanswered bool          // the answer to the offer is not recorded
	answered   chan struct{} // closed when it is; nil while no report waits for it
}

type handoverState int

const (
	choosing handoverState = iota // no referee has the match
	offering                      // a referee has been chosen, and gets start_match
	awaiting                      // a referee holds the match, or may hold it
	finished
)

type handoverEvent int

const (
	matchOver       handoverEvent = iota // the match has a result, or the manager stops
	refereeChosen                        // a referee has a free slot for the match
	offerAccepted                        // the referee plays the attempt
	offerDeclined                        // the referee does not play the match now
	offerNotSent                         // the manager could not make the call (local fault)
	offerUnanswered                      // nothing answers at the referee's endpoint
	offerRestarted                       // the referee began the attempt again, with another draw commitment
	refereeGone                          // nothing answers at the endpoint any more
	refereeBack                          // the referee registered again: it may have forgotten the match, or has a result
	reportLate                           // the longest time for a match is over
	reportRejected                       // the referee has lost the attempt by its reports
	reportDoubted                        // the same, but that is no failure of the referee
)

// failure describes the failure of a referee, for its record; "" for an event that is
// none.
func (e handoverEvent) failure(matchID string) string {
	switch e {
	case offerUnanswered, refereeGone:
		return "it could not be reached for match " + matchID
	case reportLate:
		return "it did not report match " + matchID + " in time"
	case reportRejected:
		return "its report of match " + matchID + " was rejected"
	}
	return ""
}

// on moves the machine. It returns whether the event is a failure of the referee.
func (h *handover) on(e handoverEvent) (failed bool) {
	if e == offerAccepted || h.mayHold && (e == offerUnanswered || e == offerNotSent) && h.state == offering {
		h.state = awaiting
		return false
	}
	failed = e.failure("") != ""
	if e != refereeChosen {
		h.fresh = failed || e == offerRestarted || e == reportDoubted
	}
	switch e {
	case matchOver:
		h.state = finished
	case refereeChosen, refereeBack:
		h.state = offering
	case offerRestarted:
		h.restarts++
		fallthrough
	default:
		h.state = choosing
	}
	return failed
}

// open begins an offer: from now on the referee may know the attempt, although its
// answer is not recorded.
func (h *handover) open(attempt int, mayHold bool) {
	h.attempt, h.mayHold, h.unanswered = attempt, mayHold, true
}

// close ends an offer: the answer to it is recorded.
func (h *handover) close() {
	if h.answered != nil {
		close(h.answered)
	}
	h.answered, h.unanswered = nil, false
}

// delays returns a channel that is closed when a report may be taken; nil if it may be
// taken at once. The journal holds the referee's draw commitment before its result, so
// that a report which arrives before the answer to the offer must wait. A report of an
// earlier attempt does not wait, because it makes the open offer unnecessary.
func (h *handover) delays(attempt int) <-chan struct{} {
	if !h.unanswered || attempt > 0 && attempt < h.attempt {
		return nil
	}
	if h.answered == nil {
		h.answered = make(chan struct{})
	}
	return h.answered
}

// failures are the referees that have failed with a match. A referee that registers
// again has not failed any more.
type failures map[*agent]<-chan struct{}

func (f *failures) add(referee *agent) {
	if *f == nil {
		*f = failures{}
	}
	(*f)[referee] = *referee.returned.Load()
}

func (f failures) has(referee *agent) bool {
	since, failed := f[referee]
	return failed && since == *referee.returned.Load()
}
