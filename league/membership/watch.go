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

// A Watch checks periodically whether the manager answers. It sends GET_STATUS with the
// agent's token to a manager that proves itself, which shows also whether the manager
// still knows the agent. It pings any other manager.
type Watch struct {
	Clock   *protocol.Clock
	Caller  protocol.Caller
	Manager string // endpoint
	Stamp   *protocol.Stamp
	Member  func() *Membership // the current one; never nil

	// Away is called when the manager stops or resumes answering: with the reason, or
	// with the error that the manager returns, if any.
	Away func(away bool, err error)
	// Unknown registers the agent again, because the manager does not know its
	// token any more (E012). Its error ends the watch.
	Unknown func(ctx context.Context) error

	away bool
}

// Run watches until ctx ends, and returns nil, or the error of Unknown.
func (w *Watch) Run(ctx context.Context) error {
	wait := watchEvery
	if w.Member().Strict() {
		wait = watchFirst
	}
	for w.Clock.Sleep(ctx, wait) == nil {
		failure := w.ask(ctx)
		if ctx.Err() != nil {
			break
		}
		if err := w.handle(ctx, failure); err != nil {
			return err
		}
		wait = watchEvery
	}
	return nil //nolint:nilerr // Sleep fails only when ctx has ended
}

// handle processes the result of one request.
func (w *Watch) handle(ctx context.Context, failure error) error {
	if away := !protocol.Answered(failure); away != w.away {
		w.away = away
		w.Away(away, failure)
	}
	if !w.Member().Strict() || !unknown(failure) {
		return nil
	}
	if err := w.Unknown(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// ask sends one request to the manager.
func (w *Watch) ask(ctx context.Context) error {
	peer, m := protocol.Peer{Endpoint: w.Manager}, w.Member()
	if !m.Strict() {
		_, _, err := protocol.Ping.CallWithin(ctx, w.Caller, peer, &protocol.ToolRequest{}, watchLimit)
		return err
	}
	q := &protocol.LeagueQuery{
		Envelope: w.Stamp.Envelope(protocol.TypeLeagueQuery, "conv-watch"),
		LeagueID: m.LeagueID, QueryType: protocol.QueryStatus,
	}
	q.AuthToken = m.Token
	_, _, err := protocol.Query.CallWithin(ctx, w.Caller, peer, q, watchLimit)
	return err
}
