package simulation

import (
	"context"
	"sync/atomic"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/transport"
)

// A handover is a match that a referee may have.
type handover struct {
	referee  string
	attempt  int
	annulled int   // results of the match before
	reports  event // the referee sends its report, or is dead
	finished event // the manager has the report, or the referee is dead
	reported atomic.Bool
}

// An event happens once. Happen may be called repeatedly, from any goroutine.
type event struct {
	happened <-chan struct{}
	happen   func()
}

func newEvent() event {
	ctx, happen := context.WithCancel(context.Background())
	return event{ctx.Done(), happen}
}

// end is the end of a handover whose referee does not have the match, or is dead.
func (h *handover) end() {
	h.reports.happen()
	h.finished.happen()
}

// assign carries start_match. A lost answer shows only when the match is over: most of
// a match takes no time here, but the manager's patience does.
func (c *faultyCaller) assign(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	if before := c.handover(a.matchID); before != nil {
		if err := await(ctx, before.finished.happened); err != nil {
			return nil, err
		}
		if before.reported.Load() && before.annulled == c.annulled(a.matchID) { // no referee needs to conduct it again
			return nil, context.DeadlineExceeded
		}
	}
	if fate == faults.LostRequest {
		return nil, context.DeadlineExceeded
	}
	h := c.handOver(a)
	if h == nil {
		return nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: a.Endpoint}
	}
	answer, err := c.deliver(ctx, a, fate)
	ack, ok := answer.(*protocol.MatchAssignmentAck)
	switch {
	case err != nil || !ok || ack.Status != protocol.StatusAccepted,
		ack.Attempt > 0 && ack.Attempt < h.attempt: // it only reports the result of that attempt again
		c.takeBack(a.matchID, h)
	case fate.Fails():
		if err := await(ctx, h.reports.happened); err != nil {
			return nil, err
		}
	}
	return received(answer, err, fate)
}

// report carries report_match_result.
func (c *faultyCaller) report(ctx context.Context, a *call) (any, error) {
	fate := c.fate(a)
	h := c.handover(a.matchID)
	if h != nil && (h.referee != c.name || h.attempt != a.attempt) {
		h = nil // the report of an earlier attempt: its answer was lost
	}
	if h != nil {
		h.reports.happen()
	}
	answer, err := c.deliver(ctx, a, fate)
	if e := protocol.AsError(err); h != nil && (err == nil || e != nil && e.Remote) {
		if err == nil {
			h.reported.Store(true)
		}
		h.finished.happen()
	}
	return received(answer, err, fate)
}

// handover is the last handover of a match; nil for none.
func (f *faultyNetwork) handover(matchID string) *handover {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handovers[matchID]
}

// handOver notes that a referee may have a match from now on, by an assignment. It returns nil when the referee is
// dead.
func (f *faultyNetwork) handOver(a *call) *handover {
	h := &handover{
		referee: a.to, attempt: a.attempt, annulled: f.annulled(a.matchID), reports: newEvent(), finished: newEvent(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead[h.referee] {
		return nil
	}
	f.handovers[a.matchID] = h
	return h
}

// takeBack notes that the referee does not have the match.
func (f *faultyNetwork) takeBack(matchID string, h *handover) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handovers[matchID] == h {
		delete(f.handovers, matchID)
	}
	h.end()
}

// diesBefore tells whether a referee dies before it makes a call.
func (c *faultyCaller) diesBefore(a *call) bool {
	if a.matchID == "" || !faults.Active(c.plan.RefereeCrash, c.name, a.round) {
		return false
	}
	reports := a.Method == protocol.ReportMatchResult.Name
	afterInviting := reports || a.Method == protocol.NotifyMatchResult.Name ||
		protocol.AsksForMove(a.Method)
	var dies bool
	switch faults.DeathIn(c.seed, a.matchID) {
	case faults.BeforeInviting:
		dies = true
	case faults.InTheMiddle:
		dies = afterInviting
	default: // also BeforeAccepting, if an earlier process of the league handed it the match
		dies = reports
	}
	if dies {
		c.kill(c.name)
	}
	return dies
}

// kill ends a referee. Nothing waits for it any more.
func (f *faultyNetwork) kill(referee string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead[referee] = true
	for _, h := range f.handovers {
		if h.referee == referee {
			h.end()
		}
	}
}

func (f *faultyNetwork) isDead(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead[name]
}
