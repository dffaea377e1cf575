package dialect

import "context"

// own is what is known of the agent that a dialect translates for.
type own struct {
	options Options
}

func newOwn(o Options) *own { return &own{options: o} }

// called learns from a call that this agent has made and its answer, both in the
// form of the protocol: its place in a league, and the results it reports.
func (o *own) called(_ context.Context, _ string, _, _ []byte) {}

// serve answers what others sent, in the form in which they sent it.
func (o *own) serve(ctx context.Context, path string, body []byte, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte) {
	if path != home {
		return 404, nil
	}
	return 200, serve(ctx, body)
}
