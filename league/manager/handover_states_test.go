package manager

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHandoverTransitions(t *testing.T) {
	for _, test := range []struct {
		name   string
		before handover
		event  handoverEvent
		after  handoverState
		fresh  bool // the next offer needs a new attempt
		failed bool // the referee has failed
	}{
		{"a chosen referee gets an offer", handover{}, refereeChosen, offering, false, false},
		{"an attempt that was given up stays given up", handover{fresh: true}, refereeChosen, offering, true, false},
		{"an accepted offer is awaited", handover{state: offering}, offerAccepted, awaiting, false, false},
		{"a declined offer goes to another referee", handover{state: offering}, offerDeclined, choosing, false, false},
		{"a call that the manager could not make is no failure", handover{state: offering}, offerNotSent, choosing, false, false},
		{"a referee that never heard of the match fails", handover{state: offering}, offerUnanswered, choosing, true, true},
		{"a referee that may hold the match is awaited", handover{state: offering, mayHold: true}, offerUnanswered, awaiting, false, false},
		{"so it is after a call that could not be made", handover{state: offering, mayHold: true}, offerNotSent, awaiting, false, false},
		{"a restarted attempt is offered as a new one", handover{state: offering}, offerRestarted, choosing, true, false},
		{"a referee that returns gets the same attempt", handover{state: awaiting, fresh: true}, refereeBack, offering, false, false},
		{"a referee that is gone fails", handover{state: awaiting}, refereeGone, choosing, true, true},
		{"a referee without a report in time fails", handover{state: awaiting}, reportLate, choosing, true, true},
		{"a referee with rejected reports fails", handover{state: awaiting}, reportRejected, choosing, true, true},
		{"a gone referee fails although it may hold the match", handover{state: awaiting, mayHold: true}, refereeGone, choosing, true, true},
		{"a result ends the choice", handover{}, matchOver, finished, false, false},
		{"a result ends the offer", handover{state: offering}, matchOver, finished, false, false},
		{"a result ends the wait", handover{state: awaiting}, matchOver, finished, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := test.before
			assert.Equal(t, test.failed, h.on(test.event))
			assert.Equal(t, test.after, h.state)
			assert.Equal(t, test.fresh, h.fresh)
			if test.failed {
				assert.Contains(t, test.event.failure("R1M1"), "match R1M1")
			}
		})
	}
}

func TestReportWaitsOnlyWhileAnOfferIsOpen(t *testing.T) {
	var h handover
	assert.Nil(t, h.delays(1), "before the first offer")
	h.open(2, false)
	answered := h.delays(2)
	assert.NotNil(t, answered, "a report of the offered attempt")
	assert.NotNil(t, h.delays(0), "a report that names no attempt")
	assert.Nil(t, h.delays(1), "a report of an earlier attempt")
	h.close()
	assert.Nil(t, h.delays(2), "after the answer")
	select {
	case <-answered:
	default:
		t.Error("the report still waits")
	}
}
