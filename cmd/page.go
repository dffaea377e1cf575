package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/transport/http"
)

// pageQuota has the limits of the pages of a league: room for a class behind one address.
// The calls of agents have limits of their own.
func pageQuota() *http.Quota {
	return http.NewQuota(
		http.Limits{Calls: 128, CallsPerAddress: 64, Rate: 50, Burst: 1000},
		http.StreamLimits{Streams: 512, StreamsPerAddress: 256, Write: 5 * time.Second},
	)
}

// watchPage begins the line with the URL of a page. evenodd up recognises it.
const watchPage = "Watch the league in a browser: "

// pageMounts are the handlers of the page of a league. The returned function ends its work, when the server
// has stopped.
func pageMounts(source page.Source, log zerolog.Logger) (mounts []http.Mount, end func(), err error) {
	board := page.NewBoard(source)
	pages, err := page.New(board, page.Options{Log: log, Games: games()})
	if err != nil {
		board.Close()
		return nil, nil, err
	}
	quota := pageQuota()
	return protocol.Each(pages.Routes(), func(r page.Route) http.Mount {
		return http.Mount{Pattern: r.Pattern, Handler: r.Handler, Quota: quota, Stream: r.Stream}
	}), board.Close, nil
}

// A managerSource is the source of a league whose manager runs in this process.
type managerSource struct{ manager *manager.Manager }

var _ page.Source = (*managerSource)(nil)

// Events implements page.Source.
func (s *managerSource) Events(_ context.Context, from int) ([]*journal.Event, error) {
	events, _, _, err := s.manager.Events(from)
	return events, err
}

// Wait implements page.Source.
func (s *managerSource) Wait(ctx context.Context, from int) error {
	_, _, more, err := s.manager.Events(from)
	if err != nil || more == nil {
		return err
	}
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Transcript implements page.Source.
func (s *managerSource) Transcript(ctx context.Context, at league.Attempt) (*store.Match, error) {
	found, err := s.manager.ViewTranscript(ctx, at)
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrMatchNotFound {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return found, err
}

// pageURL is the URL of the page of a server for browsers on this machine.
func pageURL(a *address, l net.Listener) string {
	return strings.TrimSuffix(a.localURL(l), http.Path) + "/"
}

// servePage serves the page of a source, apart from its manager, until stop. It listens at an address,
// the value of a flag, and returns its URL for browsers.
func servePage(ctx context.Context, flag, at string, allowed []string, source page.Source,
	log zerolog.Logger) (url string, stop func(), err error) {
	a := &address{allowed: allowed}
	listener, err := a.listenOn(ctx, flag, at)
	if err != nil {
		return "", nil, err
	}
	mounts, end, err := pageMounts(source, log)
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	server := http.NewServer(nil, http.Config{Hosts: a.names(listener), Mounts: append(mounts, http.Health(nil))})
	stopServer := server.ServeUntil(listener, shutdownPatience)
	return pageURL(a, listener), func() {
		stopServer()
		end()
	}, nil
}
