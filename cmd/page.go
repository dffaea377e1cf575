package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	web "evenodd/league/view/page"
	"evenodd/league/view/record"
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

// A leaguePage is the page of one league in this process.
type leaguePage struct {
	board *web.Board
	pages *web.Pages
}

func newLeaguePage(source web.Source, log zerolog.Logger) (*leaguePage, error) {
	board := web.NewBoard(source)
	pages, err := web.New(board, web.Options{Log: log, Games: games()})
	if err != nil {
		board.Close()
		return nil, err
	}
	return &leaguePage{board, pages}, nil
}

// mounts are the handlers of the page.
func (p *leaguePage) mounts() []http.Mount {
	quota := pageQuota()
	return protocol.Each(p.pages.Routes(), func(r web.Route) http.Mount {
		return http.Mount{Pattern: r.Pattern, Handler: r.Handler, Quota: quota, Stream: r.Stream}
	})
}

// close ends the work of the page, when its server has stopped.
func (p *leaguePage) close() {
	p.pages.Close()
	p.board.Close()
}

// A managerSource is the source of a league whose manager runs in this process.
type managerSource struct {
	manager  *league.Manager
	leagueID string
	events   *league.Subscription // nil before it is needed
}

var _ web.Source = (*managerSource)(nil)

// Events implements web.Source.
func (s *managerSource) Events(_ context.Context, from int) ([]*journal.Event, error) {
	if s.events == nil || s.events.Position() != from {
		var err error
		if s.events, err = s.manager.Subscribe(from); err != nil {
			return nil, err
		}
	}
	events, err := s.events.Read()
	return events, s.again(err)
}

// Wait implements web.Source.
func (s *managerSource) Wait(ctx context.Context, _ int) error {
	if s.events == nil {
		return nil
	}
	return s.again(s.events.Wait(ctx))
}

// again subscribes again with the next call, if the subscription was too slow.
func (s *managerSource) again(err error) error {
	if errors.Is(err, league.ErrSlow) {
		s.events = nil
		return nil
	}
	return err
}

// Transcript implements web.Source.
func (s *managerSource) Transcript(ctx context.Context, at protocol.Attempt, refereeID string) (*store.Match, error) {
	found, err := s.manager.ViewTranscript(ctx, at)
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrMatchNotFound {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, err
	}
	return record.ReadTranscript(s.leagueID, refereeID, found.Records)
}

// A pageServer serves the page of a league in a data folder, apart from its manager.
type pageServer struct {
	address
	listener net.Listener
}

// listenForPage opens the address of a page: HOST:PORT, or :PORT for all addresses of this
// machine.
func listenForPage(ctx context.Context, flag, at string, allowed []string) (*pageServer, error) {
	host, port, err := net.SplitHostPort(at)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return nil, usage("--%s %q: must be a host and a port, such as localhost:8080, or a port such as :8080 to let other machines connect", flag, at)
	}
	p := &pageServer{address: address{host: host, local: true, allowed: allowed}}
	p.listener, err = listenAt(ctx, at)
	if errors.Is(err, errTaken) {
		err = taken(ctx, at, at, "choose another address with --"+flag)
	}
	return p, err
}

// url is the URL of the page in a browser.
func (p *pageServer) url() string { return pageURL(&p.address, p.listener) }

// elsewhere says how other machines reach the page; "" if they do not.
func (p *pageServer) elsewhere() string {
	if !p.listener.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		return ""
	}
	name, err := os.Hostname()
	if err != nil {
		name = "ADDRESS-OF-THIS-MACHINE"
	}
	return fmt.Sprintf(" (other machines: http://%s:%d/, or by the address of this machine)", name, p.listener.Addr().(*net.TCPAddr).Port)
}

// pageURL is the URL of the page of a server for browsers on this machine.
func pageURL(a *address, l net.Listener) string {
	return strings.TrimSuffix(a.localURL(l), http.Path) + "/"
}

// serve serves the page until stop.
func (p *pageServer) serve(source web.Source, log zerolog.Logger) (stop func(), err error) {
	page, err := newLeaguePage(source, log)
	if err != nil {
		return nil, err
	}
	server := http.NewServer(nil, http.Config{Hosts: p.names(p.listener), Mounts: append(page.mounts(), http.Health(nil))})
	stopServer := serveUntil(server, p.listener)
	return func() {
		stopServer()
		page.close()
	}, nil
}
