package audit

import (
	"time"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
)

// A timeSum adds up what the call attempts at the questions to a player took from its time bank.
type timeSum struct {
	said, passed time.Duration // by the debits, and between the exchanges
	calls        int
}

// off tells whether debits differ from the time that passed by more than a file may be imprecise: a tenth of a second,
// as for all timings, a thousandth, because the clock of a machine may be adjusted meanwhile, and a millisecond for
// each call, because all times are cut to milliseconds. The sums of a match must agree as well: else a referee could
// give a player a little time with each call, or take it.
func (s *timeSum) off() bool {
	tolerance := timingTolerance + s.passed/1000 + time.Duration(s.calls)*time.Millisecond
	return (s.said - s.passed).Abs() > tolerance
}

// checkUsed compares what a call attempt took from the time bank of a player with the times of its exchanges. The
// attempt goes on by what the file says.
func (t *transcriptCheck) checkUsed(e *exchange, a *conduct.Attempt) {
	s := e.side
	switch timed := t.conduct.Timed() && e.Void == ""; {
	case !timed && e.Used == nil:
		return
	case !timed:
		t.find(e, "/time_used", "the call to %s is said to have taken time from its time bank, but costs none", s.id)
		return
	case e.Used == nil:
		t.find(e, "", "the file does not say what the call to %s took from its time bank", s.id)
		return
	}
	a.Used = e.Used
	said := time.Duration(e.Used.Debit) * time.Millisecond
	at := t.at.Add(-time.Duration(e.Used.ClockSet) * time.Millisecond)
	one := timeSum{said, min(t.conduct.Spent(s.side, at, e.Timing), t.conduct.Bank(s.side)), 1}
	s.time = timeSum{s.time.said + one.said, s.time.passed + one.passed, s.time.calls + 1}
	switch {
	case e.Used.ClockSet < 0:
		s.time = timeSum{}
		t.find(e, "/time_used/clock_set_ms",
			"the clock is said to have been set by %d ms during the call to %s: the times of a match are never set back",
			e.Used.ClockSet, s.id)
	case t.wentBack:
	case e.Used.Debit < 0 || one.off(): // as a duration it can overflow
		s.time = timeSum{}
		t.find(e, "/time_used/debit_ms", "the call to %s is said to have taken %v from its time bank, but took %v", s.id,
			said, one.passed)
	case s.time.off():
		t.find(e, "/time_used/debit_ms",
			"the calls to %s up to this one are said to have taken %v from its time bank, but took %v", s.id, s.time.said,
			s.time.passed)
		s.time = timeSum{}
	case e.Used.ClockSet > 0:
		t.note(RuleTime, t.location(SeverityNote, e.at+"/time_used/clock_set_ms", s.id),
			"the clock was set forward by %v during the call to %s, or the machine of the referee slept, as the referee says",
			time.Duration(e.Used.ClockSet)*time.Millisecond, s.id)
	}
}

// checkLeft compares what is left in the time bank of a player after an attempt with the sum of its debits and
// increments, and makes the file count.
func (t *transcriptCheck) checkLeft(e *exchange, worth *conduct.Worth) {
	if e.Void != "" || e.Used == nil || !t.conduct.Timed() {
		return
	}
	left := int(t.conduct.Bank(e.side.side).Milliseconds()) - e.Used.Debit
	ended := worth.Verdict == conduct.Lost && worth.Fault != nil && worth.Fault.Code == protocol.ErrTimeout
	if left <= 0 && !ended {
		t.find(e, "/time_used/debit_ms", "%s has used up its time here, but %s goes on", e.side.id, t.match.id)
	}
	if worth.Verdict == conduct.Counts {
		left += t.state.Created.TimeBank.Increment
	}
	if e.Used.Left != left {
		t.find(e, "/time_used/left_ms", "%s is said to have %d ms left; by the debits and increments it has %d ms", e.side.id,
			e.Used.Left, left)
	}
	worth.Used = e.Used
}

// timeLeft is the time that a question shows, if it is right but for what a file is imprecise by after a pause that the
// player asked for; else the right one. It is more if the clock was set forward in the pause, which the answer then
// says, but never more than the bank.
func (t *transcriptCheck) timeLeft(e *exchange, want, got int) int {
	bank := int(t.conduct.Bank(e.side.side).Milliseconds())
	if more := got - want; -2 <= more && (more <= 2 || got <= bank && more <= t.mostSet(e, bank)) {
		return got
	}
	return want
}

// mostSet returns by how many milliseconds the clock can have been set forward before a question, by its answer and the
// tolerance of times. A void answer, or none, does not say that it was not.
func (t *transcriptCheck) mostSet(e *exchange, bank int) int {
	end := t.later[e.index].asked
	if end == 0 {
		end = len(t.doc.Transcript)
	}
	for _, x := range t.doc.Transcript[e.index+1 : end] {
		if x.PlayerID == e.PlayerID && x.Method == e.Method && x.Used != nil && x.Void == "" {
			return x.Used.ClockSet + int(timingTolerance.Milliseconds()) + bank/1000
		}
	}
	return bank
}
