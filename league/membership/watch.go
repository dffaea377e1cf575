package membership

import (
	"context"
	"time"

	"evenodd/league/protocol"
)

// How often a manager is asked, and how long it may take to answer.
const (
	watchFirst = 5 * time.Second // the first time, if it proves itself
	watchEvery = 15 * time.Second
	watchLimit = 5 * time.Second
)

// A Watch asks the manager from time to time whether it is there. A manager that
// proves itself is asked by GET_STATUS with the agent's token, and so tells too
// whether it still knows the agent; any other is pinged.
type Watch struct {
	Clock   *protocol.Clock
	Caller  protocol.Caller
	Manager string // endpoint
	Stamp   *protocol.Stamp
	Member  func() *Membership // the present one; never nil

	// Away is called when the manager stops or resumes answering: with the reason, or
	// with the error that it answers, if any.
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
		if err := w.heed(ctx, failure); err != nil {
			return err
		}
		wait = watchEvery
	}
	return nil //nolint:nilerr // Sleep fails only when ctx has ended
}

// heed handles the result of one request.
func (w *Watch) heed(ctx context.Context, failure error) error {
	if gone := !protocol.Answered(failure); gone != w.away {
		w.away = gone
		w.Away(gone, failure)
	}
	if !w.Member().Strict() || !unknown(failure) {
		return nil
	}
	if err := w.Unknown(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// ask makes one call to the manager.
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
