package conduct

import (
	"fmt"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// Version names the rules of this package in match files. A changed rule is a new version, and so is a new member of a
// question. An audit judges a file by the version that the file names: the rules of earlier versions stay here, behind
// Match.Version, and Knows names all versions. One that the program does not know is a finding. Today there is only the
// first one, "": games with views (rules.HasViews) have members of their own in questions, but no file of an earlier
// program has such a game.
const Version = ""

// Knows tells whether the program has the rules of a version.
func Knows(version string) bool { return version == Version }

// An Attempt is how one call attempt at a question ended.
type Attempt struct {
	Reply  *Reply           // nil for none
	Fault  *protocol.Error  // why there is none; nil with a reply
	At     time.Time        // when the reply was read, or the call failed, by the clock of the league
	Timing *protocol.Timing // where the time went; nil if that is not known
	// what it took from the time bank, as a match file says; nil: Judge measures it
	Used *protocol.TimeUsed

	// What only the process of the referee knows.
	Judged  time.Duration // how long the program of the game took to judge the answer: the window lasts so much longer
	Local   bool          // the call failed at the referee's side, and never reached the player
	Overdue time.Duration // how long after the end of the window the call returned, by the clock of the machine
	AtEnd   time.Duration // the longest stall of the process in the last margin (protocol.Margin) of the window
	AtStart time.Duration // the longest one in the first margin after the request was sent
}

// A Verdict is what a call attempt was worth.
type Verdict int

// The verdicts.
const (
	Counts Verdict = iota // the answer counts
	Again                 // a failure; the side is asked again
	Wait                  // no failure: the player asks the referee to wait, and is asked again
	Void                  // no failure: the fault was the referee's own, and the side is asked again
	Lost                  // the side has lost technically
)

// A Worth is what a call attempt was worth, and why.
type Worth struct {
	Verdict Verdict
	Fault   *protocol.Error // why the attempt does not count; nil if it does, and for a refused invitation
	Loss    string          // of Lost: why, after the id of the player
	Void    string          // of Void: why, a sentence for people
	Stalled time.Duration   // of Void: how long the process of the referee stalled; 0 if that is not the reason
	Pause   time.Duration   // of Wait, and of a Lost after the player asked to wait for too long: how long to wait now
	Voids   int             // of Void: how many attempts at the question are void, with this one
	GivenUp bool            // of Void: the attempt at the match is given up
	// what the attempt takes from the time bank; nil if it is void, and for a question without one
	Used *protocol.TimeUsed

	reply  *Reply
	timing *protocol.Timing
	until  time.Time     // the end of the window
	judged time.Duration // of the attempt
	waited time.Duration // of Wait: what counts of the pause
	at     time.Time     // of the attempt
}

// localVoid is why an attempt is void that failed at the referee's side.
const localVoid = "the call failed at the referee's side"

// maxVoid is how many attempts at one question may be void before the referee gives up the attempt at the match.
const maxVoid = 10

// Judge says what a call attempt at the question to a side was worth. It changes nothing: see Take.
//
// After a timeout (E001) or a broken connection (E009) the side is asked again after a pause, with a new window, up to
// max_retries times (spec 003 §2.9.4). After a wrong answer it is asked again at once, as long as retries and the
// window last (002 §6.2.4); from then on the window stays the same, whatever else fails in it. GAME_ERROR tells the
// player of each failure, and the next question waits until it is delivered, at most one second. An answer that asks
// the referee to wait (E022) and a void attempt are no failures: see waits and void.
func (m *Match) Judge(of rules.Side, a *Attempt) Worth {
	s := &m.sides[of]
	q := s.question
	q.queue(a.Timing)
	w := Worth{reply: a.Reply, timing: a.Timing, until: q.until(), judged: a.Judged, at: a.At, Fault: answered(a.Fault)}
	after, late := q.deadline.Late(a.At)
	if a.Reply != nil {
		if late { // do not judge it: the attempt is void
			w.Fault = protocol.Fault(protocol.ErrTimeout, "the referee read the answer too late")
		} else {
			w.Fault = m.judgeReply(s, of, a.Reply)
		}
	}
	if w.Fault != nil && m.void(of, &w, a, late, after) {
		w.Verdict, w.Voids, w.GivenUp = Void, q.voids+1, q.voids+1 >= maxVoid
		return w
	}
	if m.Timed() {
		w.Used = m.use(of, m.debit(of, a, w.Fault), w.Fault == nil, m.clockSet(of, a.At))
	}
	switch {
	case w.Fault == nil && a.Reply != nil && m.state == protocol.StateWaitingForPlayers && !*a.Reply.Accept:
		w.Verdict, w.Loss = Lost, "refused the invitation"
	case w.Fault == nil:
	case w.Used != nil && w.Used.Left <= 0:
		w.Verdict, w.Loss = Lost, protocol.UsedUpTime+" of "+m.assignment.TimeBank.String()
		w.Fault = protocol.Fault(protocol.ErrTimeout, "%s", w.Loss)
	case w.Fault.Code == protocol.ErrRateLimited && m.waits(of, &w, &q, a.At):
		w.Verdict = Wait
	case m.again(w.Fault.Code, &q, a.At):
		w.Verdict = Again
	default:
		w.Verdict, w.Loss = Lost, m.lossReason(w.Fault)
	}
	return w
}

// queue adds the time that a question was queued at the referee, which does not count for the player.
func (q *question) queue(timing *protocol.Timing) {
	if timing != nil {
		q.queued += timing.Queued
		q.full = q.full.Add(timing.Queued)
	}
	q.deadline.Queue(timing)
}

// answered returns the error of a call as the referee judges it. A timeout, a broken connection and a request to wait
// stay as they are. Any other error is an answer of the player: a wrong one (E002), with the JSON-RPC code that it has.
func answered(e *protocol.Error) *protocol.Error {
	switch {
	case e == nil,
		!e.Remote && (e.Code == protocol.ErrTimeout || e.Code == protocol.ErrConnection),
		e.Remote && e.Code == protocol.ErrRateLimited:
		return e
	}
	wrong := protocol.Fault(protocol.ErrInvalidFieldType, "answered with an error: %v", e).Coded(e.RPC).Because(e)
	wrong.Remote = e.Remote
	return wrong
}

// void tells whether a failed call attempt counts for nothing, because the fault was local. It is void if
//
//   - the call failed at the referee's side and never reached the player: no file descriptors, no ports; or
//   - the referee read a response too late (protocol.Deadline has the rule). Such a response is an answer, right or
//     wrong, or a broken connection; or
//   - no answer came in time (E001), and the question was queued at the referee for longer than the margin before it
//     was sent. The player then had its whole window, but the deadline in the message was earlier than its end; or
//   - no answer came in time, and the process of the referee stalled for longer than the margin when the window ended,
//     or when the request was sent.
//
// An answer counts if the referee read it before the end of the window. A process that stalls reads an answer when it
// goes on. If it goes on a margin or more before the end, it has time to read what arrived; if it stalls only after the
// end, nothing more could count. So a stall matters if it reaches into the last margin of the window. It also matters
// if it reaches into the first margin after the referee began to write the request, because the player may have got the
// request only after the stall. A stall in between does not matter.
//
// Nobody can tell how much of the player's time such a stall took: the player gets the benefit of the doubt, and the
// whole stall counts. Two measurements show a stall: the stall monitor, and this call, which should return at the
// deadline, by the monotonic clock and by the wall clock, which goes on while a machine sleeps. A connection that
// breaks before the deadline is the player's failure, whatever happened at the referee's side.
func (m *Match) void(of rules.Side, w *Worth, a *Attempt, late bool, after time.Duration) bool {
	switch {
	case a.Local:
		w.Void = localVoid
	case late && (a.Reply != nil || w.Fault.Code != protocol.ErrTimeout):
		w.Void = fmt.Sprintf("the referee read the response %v after the deadline", after)
	case w.Fault.Code == protocol.ErrTimeout:
		margin := protocol.Margin(m.Window(of))
		stalled, when := max(a.Overdue, a.At.Round(0).Sub(w.until.Round(0)), a.AtEnd), "the time to answer ended"
		if stalled <= margin {
			stalled, when = a.AtStart, "the question was sent"
		}
		switch {
		case stalled > margin:
			w.Stalled = stalled
			w.Void = fmt.Sprintf("the referee stalled for %v when %s", stalled.Round(time.Millisecond), when)
		case a.Timing != nil && a.Timing.Queued > margin:
			w.Void = fmt.Sprintf("the question was queued for %v at the referee before it was sent",
				a.Timing.Queued.Round(time.Millisecond))
		}
	}
	return w.Void != ""
}

// waits says how long the referee waits for a player that asks it to (E022, which includes HTTP 429): as long as it
// asks and at least 250 ms, a quarter of a second more each time up to 1 s, but not beyond the end of the window, at
// which the player has lost. So the number of such answers in a window is bounded, even if the clock does not advance.
func (m *Match) waits(of rules.Side, w *Worth, q *question, now time.Time) bool {
	const step = 250 * time.Millisecond
	left := min(w.until.Sub(now), m.Window(of)+q.queued-q.waited)
	w.waited = max(w.Fault.RetryAfter(), min(time.Duration(q.waits+1)*step, time.Second))
	w.Pause = max(min(w.waited, left), 0)
	return w.waited < left
}

// pauses tells whether the referee pauses after a failure, before it asks again.
func pauses(code protocol.Code) bool {
	return code == protocol.ErrTimeout || code == protocol.ErrConnection
}

// again tells whether a side is asked again after a failure. It can correct a wrong answer before the window ends: at
// once, or after the pause that follows a broken connection.
func (m *Match) again(code protocol.Code, q *question, now time.Time) bool {
	policy := m.assignment.RetryPolicy
	if code == protocol.ErrConnection {
		now = now.Add(policy.Pause(q.retries + 1))
	}
	correctable := code != protocol.ErrTimeout && now.Before(q.until())
	return code != protocol.ErrRateLimited && q.retries < policy.MaxRetries && (!q.wrong && pauses(code) || correctable)
}

// Take makes a call attempt count as Judge said that it does.
func (m *Match) Take(of rules.Side, w Worth) {
	s := &m.sides[of]
	q := &s.question
	q.queue(w.timing)
	if q.since = (time.Time{}); w.Verdict == Wait {
		q.since = w.at
	}
	if w.Used != nil {
		s.bank = milliseconds(w.Used.Left)
	}
	switch w.Verdict {
	case Counts:
		s.owes = false
		m.count(of, w.reply)
	case Again:
		policy := m.assignment.RetryPolicy
		q.retries++
		q.failure, q.delivery = new(w), gameErrorDelay
		if pauses(w.Fault.Code) {
			q.pause = policy.Pause(q.retries)
			q.delivery -= q.pause
		} else {
			q.wrong = true
		}
		q.open = q.wrong
		if w.judged > 0 {
			q.end, q.full = q.end.Add(w.judged), q.full.Add(w.judged)
			q.stamp = m.format(q.end)
		}
	case Wait:
		q.waits++
		q.waited += w.waited
		q.wait = w.Pause
	case Void:
		q.voids++
		m.givenUp = m.givenUp || w.GivenUp
		q.open = false
		if w.Void == localVoid {
			q.pause = m.assignment.RetryPolicy.Pause(1) // the next call would fail in the same way
		}
	case Lost:
		s.owes, s.lost = false, w.Loss
		if w.Fault == nil {
			m.count(of, w.reply)
			return
		}
		s.fault, q.wait, q.failure = w.Fault.Code, w.Pause, new(w)
		if !pauses(w.Fault.Code) { // the player answers
			q.delivery = gameErrorDelay
		}
	}
}

// count makes an answer count.
func (m *Match) count(of rules.Side, r *Reply) {
	s := &m.sides[of]
	if m.state == protocol.StateWaitingForPlayers {
		s.entropyCommitment, s.committer = r.EntropyCommitment, s.player.PlayerID
		if s.player.AccessToken == "" && r.PlayerID != "" {
			s.committer = r.PlayerID
		}
		return
	}
	if !m.ready || m.turn > 1 {
		s.move = r.Choice
	}
	if m.signs(s) {
		s.signature = protocol.MoveSignature{Turn: m.turn, Signature: r.Signature, ViewHash: s.viewHash}
	}
	course, err := m.course.Move(of, r.Choice)
	m.course, m.strayed = course, m.strayed || err != nil
	if s.entropyCommitment != "" {
		s.entropy = r.Entropy
	}
	if r.Fallback {
		s.fallbacks++
	}
	m.settle()
}

// lossReason says why a player lost. If it answered with an error, the reason has the HTTP status and the JSON-RPC
// code, and no text of the player.
func (m *Match) lossReason(fault *protocol.Error) string {
	answered := "answered " + m.method().Request + " with "
	status := protocol.HTTPStatus(fault)
	succeeded, limited := status/100 == 2, fault.Code == protocol.ErrRateLimited
	switch {
	case limited && status != 0 && !succeeded: // the code may be that of this side's codec
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Remote && fault.RPC != 0 && status != 0 && !succeeded: // 0 is no code
		answered += fmt.Sprintf("HTTP %d, JSON-RPC error %d", status, fault.RPC)
	case fault.Remote && fault.RPC != 0:
		answered += fmt.Sprintf("JSON-RPC error %d", fault.RPC)
	case succeeded:
		return fmt.Sprintf("%sHTTP %d and no readable message", answered, status)
	case status != 0:
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Code == protocol.ErrTimeout:
		return "did not send " + m.method().Result + " in time"
	case fault.Code == protocol.ErrConnection && protocol.Accepted(fault):
		return "accepted the connection, but sent no readable " + m.method().Result
	case protocol.ConnectionRefused(fault):
		return "could not be reached for " + m.method().Result + " (connection refused)"
	case fault.Code == protocol.ErrConnection:
		return "could not be reached for " + m.method().Result
	default:
		return fmt.Sprintf("sent no valid %s (%s)", m.method().Result, fault.Code)
	}
	if !limited {
		return answered
	}
	if after := fault.RetryAfter().Round(time.Second); after > 0 {
		return fmt.Sprintf("%s (rate limited, asked to wait %v)", answered, after)
	}
	return answered + " (rate limited)"
}
