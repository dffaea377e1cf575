package simulation

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/transport"
)

// refusing accepts assignments and refuses reports.
type refusing struct{ network }

func (refusing) Call(_ context.Context, r transport.Request) (any, *transport.Timing, error) {
	if r.Method == protocol.StartMatch.Name {
		return &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted}, nil, nil
	}
	refusal := protocol.Fault(protocol.ErrInvalidMatchState, "refused")
	refusal.Remote = true
	return nil, nil, refusal
}

// A referee that repeats a refused report does not end the attempt of the referee that has the match.
func TestRepeatedReportEndsNoOtherAttempt(t *testing.T) {
	f := newFaultyNetwork(refusing{}, &faults.Plan{}, 1, 1, nil)
	f.annulled = func(string) int { return 0 }
	call := func(from, to, method string, params any) {
		_, _ = (&faultyCaller{f, from}).call(t.Context(), &call{
			transport.Request{Method: method, Params: params}, to, topicOf(params),
		})
	}
	about := func(attempt int) protocol.Envelope {
		return protocol.Envelope{ConversationID: protocol.ConversationOf(league.Attempt{
			MatchID: league.MatchID{Round: 1, Number: 1}, Number: attempt,
		})}
	}
	assign := func(to string, attempt int) {
		call("manager", to, protocol.StartMatch.Name, &protocol.MatchAssignment{Envelope: about(attempt), Attempt: attempt})
	}
	report := func(from string, attempt int) {
		call(from, "manager", protocol.ReportMatchResult.Name, &protocol.MatchResultReport{Envelope: about(attempt), Attempt: attempt})
	}
	over := func() bool {
		select {
		case <-f.handover("R1M1").finished.happened:
			return true
		default:
			return false
		}
	}
	assign("REF01", 1)
	report("REF01", 1)
	require.True(t, over())
	assign("REF02", 2)
	report("REF01", 1)
	assert.False(t, over(), "REF02 has the match")
	report("REF02", 2)
	assert.True(t, over())
	assign("REF01", 3)
	report("REF01", 1)
	assert.False(t, over(), "of an earlier attempt of the same referee")
}

// unreachable is a network whose agents are stopped.
type unreachable struct{ network }

func (unreachable) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	return nil, nil, &transport.CallError{Kind: transport.Unreachable}
}

// The end of a manager waits for its handlers, and such a handler for its pings.
func TestPingWithoutAnEndFailsWhenAgentsAreStopped(t *testing.T) {
	f := newFaultyNetwork(unreachable{}, &faults.Plan{}, 1, 1, nil)
	f.stopping.Store(true)
	synctest.Test(t, func(t *testing.T) { // it reports a deadlock
		ping := transport.Request{Method: protocol.Ping.Name, Params: &protocol.ToolRequest{}}
		_, _, err := (&faultyCaller{f, "manager"}).Call(context.WithoutCancel(t.Context()), ping)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// The manager begins a round again when decisions of an organiser come first.
func TestRoundThatBeginsAgainIsTheSameRound(t *testing.T) {
	f := newFaultyNetwork(nil, &faults.Plan{}, 1, 3, nil)
	var begun []int
	begin := f.beforeRound(func(round int) { begun = append(begun, round) })
	for _, round := range []int{3, 3, 4} {
		begin(round)
		assert.EqualValues(t, round, f.round.Load())
	}
	assert.Equal(t, []int{3, 3, 4}, begun)
}
