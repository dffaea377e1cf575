package web

import (
	"context"
	"net/http"
	"strconv"

	"evenodd/league/record"
)

// The functions build… make the views of the routes.

func buildOverview(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	b.View(func(l *record.League) { view = overviewOf(l, b.memory.of(l), parseRound(r.FormValue("round"))) })
	return view, nil
}

func buildCross(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	from, _ := strconv.Atoi(r.FormValue("from")) // 0 is the first window
	against, _ := strconv.Atoi(r.FormValue("against"))
	b.View(func(l *record.League) {
		view = crossOf(l, b.memory.of(l), parseRound(r.FormValue("round")), from, against)
	})
	return view, nil
}

func buildPlayer(_ context.Context, b *Board, r *http.Request) (view any, err error) {
	var v *player
	b.View(func(l *record.League) { v = playerOf(l, b.memory.of(l), r.PathValue("id"), r.FormValue("against")) })
	if v == nil {
		return nil, errNotFound
	}
	return v, nil
}

func buildAgents(ctx context.Context, b *Board, _ *http.Request) (view any, err error) {
	traces := b.tracer.traces(ctx, b)
	b.View(func(l *record.League) { view = agentsOf(l, b.memory.of(l), traces) })
	return view, nil
}
