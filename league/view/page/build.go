package page

import (
	"context"
	"net/http"
	"strconv"

	"evenodd/league/view/record"
)

// The functions build… make the views of the routes.

// roundOf is the round that a request asks for. The last position of the scrubber is live,
// whatever rounds have ended since the page was made.
func roundOf(r *http.Request) int {
	if r.FormValue("live") != "" {
		return live
	}
	return parseRound(r.FormValue("round"))
}

func buildOverview(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	b.View(func(l *record.League) { view = overviewOf(l, roundOf(r)) })
	return view, nil
}

func buildCross(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	from, _ := strconv.Atoi(r.FormValue("from")) // 0 is the first window
	against, _ := strconv.Atoi(r.FormValue("against"))
	b.View(func(l *record.League) { view = crossOf(l, roundOf(r), from, against) })
	return view, nil
}

func buildPlayer(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	var v *player
	b.View(func(l *record.League) { v = playerOf(l, r.PathValue("id"), r.FormValue("against")) })
	if v == nil {
		return nil, errNotFound
	}
	v.Rating = b.statistics().rating(v.ID)
	return v, nil
}

func buildAgents(ctx context.Context, b *Board, _ *http.Request) (view any, err error) {
	found, unread := b.health(ctx)
	b.View(func(l *record.League) { view = agentsOf(l, found, unread) })
	return view, nil
}
