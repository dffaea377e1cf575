package membership

import (
	"context"
	"time"

	"evenodd/league/protocol"
)

// The intervals between requests to the manager, and the time limit of each.
const (
	watchFirst = 5 * time.Second // before the first request, if the manager proves itself
	watchEvery = 15 * time.Second
	watchLimit = 5 * time.Second
)

// Watch checks periodically whether the manager answers. It sends GET_STATUS with the
// agent's token to a manager that proves itself, which shows also whether the manager
// still knows the agent. It pings any other manager.
//
// Watch calls changed when the manager stops or resumes answering: with the reason, or
// with the error that the manager returns, if any. It calls register when the manager
// does not know the agent's token any more (E012). It returns the error of register, or
// nil when ctx ends.
func (a *Agent) Watch(ctx context.Context, changed func(away bool, err error), register func(context.Context) error) error {
	wait, wasAway := watchEvery, false
	if a.Membership().Strict() {
		wait = watchFirst
	}
	for a.options.Clock.Sleep(ctx, wait) == nil {
		failure := a.askManager(ctx)
		if ctx.Err() != nil {
			break
		}
		if away := !protocol.Answered(failure); away != wasAway {
			wasAway = away
			changed(away, failure)
		}
		if a.Membership().Strict() && unknown(failure) {
			if err := register(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		wait = watchEvery
	}
	return nil //nolint:nilerr // Sleep fails only when ctx has ended
}

// askManager sends one request to the manager.
func (a *Agent) askManager(ctx context.Context) error {
	o, m := a.options, a.Membership()
	peer := protocol.Peer{Endpoint: o.Manager}
	if !m.Strict() {
		_, _, err := protocol.Ping.CallWithin(ctx, o.Caller, peer, &protocol.ToolRequest{}, watchLimit)
		return err
	}
	q := &protocol.LeagueQuery{
		Envelope: a.stamp.Envelope(protocol.TypeLeagueQuery, "conv-watch"),
		LeagueID: m.LeagueID, QueryType: protocol.QueryStatus,
	}
	q.AuthToken = m.Token
	_, _, err := protocol.Query.CallWithin(ctx, o.Caller, peer, q, watchLimit)
	return err
}
