package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/cmd/metrics"
	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/transport/http"
)

// watchPage begins the line with the URL of a page.
const watchPage = "Watch the league in a browser: "

// A leaguePage is the page of a league.
type leaguePage struct {
	mounts []http.Mount
	quota  *http.Quota           // nil without a page
	board  *page.Board           // nil without a page
	finish func(context.Context) // waits until the pages that are open have the end of the league
	end    func()                // ends its work, when the server has stopped
}

// newLeaguePage makes the page of a source.
func newLeaguePage(source page.Source, o page.Options) (*leaguePage, error) {
	board := page.NewBoard(source)
	if len(o.Games.Types()) == 0 {
		o.Games = games()
	}
	pages, err := page.New(board, o)
	if err != nil {
		board.Close()
		return nil, err
	}
	quota := pageQuota()
	end := func() {
		board.Close()
		if o.Season != nil {
			o.Season.Close()
		}
	}
	return &leaguePage{pageMounts(pages.Routes(), quota), quota, board, pages.Finish, end}, nil
}

// pageQuota is the quota of pages: room for a class behind one address. The calls of agents have limits of their own.
func pageQuota() *http.Quota {
	return http.NewQuota(http.Limits{Calls: 128, CallsPerAddress: 64, Rate: 50, Burst: 1000},
		http.StreamLimits{Streams: 512, StreamsPerAddress: 256, Write: 5 * time.Second})
}

// pageMounts are the mounts of pages.
func pageMounts(routes []page.Route, quota *http.Quota) []http.Mount {
	return lists.Map(routes, func(r page.Route) http.Mount {
		return http.Mount{Pattern: r.Pattern, Handler: r.Handler, Quota: quota, Stream: r.Stream}
	})
}

// leaguePage makes the page of the league, which shows nothing with --page=false.
func (p *managerProcess) leaguePage(source page.Source, o page.Options) (*leaguePage, error) {
	if !p.page {
		return &leaguePage{finish: func(context.Context) {}, end: func() {}}, nil
	}
	o.Log, o.Base, o.Games, o.Listed = p.log, string(p.basePath), p.userGame.games(), p.Roster.Names(true)
	o.Zone = time.Local
	if p.data != "" {
		o.Season = page.NewSeason(store.In(p.data), p.LeagueID)
	}
	return newLeaguePage(source, o)
}

// joining tells how others join the league of a manager with these URLs for other computers; nil without a page.
func (p *managerProcess) joining(urls []string) *page.Joining {
	if !p.page {
		return nil
	}
	at := p.address.shownURL(p.listener, urls)
	return &page.Joining{Manager: at, Page: pageOf(at, p.basePath), Local: loopback(p.address.host),
		Proxies: p.address.allowed, Base: string(p.basePath), Coded: p.Roster != nil}
}

// measure adds the metrics of the page.
func (p *leaguePage) measure(m *metrics.Set) {
	if p.quota != nil {
		m.Gauge("evenodd_page_streams", "Pages that are open in browsers and get updates.", nil,
			func(emit metrics.Emit) { emit(float64(p.quota.Streams())) })
	}
}

// status tells how far the league is that the page shows; zero before the page has read it.
func (p *leaguePage) status() (status manager.Status) {
	p.board.View(func(l *record.League) {
		if l.Created != nil {
			status = (&decide.View{State: l.State}).Status()
		}
	})
	return status
}

// A basePath is the value of --base-path.
type basePath string

var _ pflag.Value = (*basePath)(nil)

// basePathFlag defines the path of the pages.
func basePathFlag(f *pflag.FlagSet, p *basePath) {
	f.Var(p, "base-path", "`path` of the pages, such as /league, if a reverse proxy passes it unchanged (docs/operators.md)")
}

// Set implements pflag.Value.
func (p *basePath) Set(given string) error {
	path := strings.TrimSuffix(given, "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if path != "" && !regexp.MustCompile(`^(/[A-Za-z0-9_-]+)+$`).MatchString(path) ||
		slices.Contains([]string{"mcp", "healthz", "livez", "readyz", "metrics"}, first) {
		return errors.New("must be a path of letters, digits, - and _, such as /league, and not /mcp, /healthz, /livez, " +
			"/readyz or /metrics")
	}
	*p = basePath(path)
	return nil
}

// String implements pflag.Value.
func (p *basePath) String() string { return string(*p) }

// Type implements pflag.Value.
func (*basePath) Type() string { return "path" }

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

// Stopped implements page.Source.
func (s *managerSource) Stopped() bool { return false }

// Transcript implements page.Source.
func (s *managerSource) Transcript(ctx context.Context, at league.Attempt) (*store.Match, error) {
	found, err := s.manager.ViewTranscript(ctx, at)
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrMatchNotFound {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return found, err
}

// pageOf is the URL of the page of the agent with a URL.
func pageOf(agent string, base basePath) string {
	return strings.TrimSuffix(agent, http.Path) + string(base) + "/"
}

// servePage serves the page of a source at an address, apart from its manager, until stop, and returns its URL for
// browsers.
func servePage(listener net.Listener, a *address, source page.Source, season *page.Season, base basePath,
	log zerolog.Logger) (url string, stop func(), err error) {
	shown, err := newLeaguePage(source, page.Options{Log: log, Base: string(base), Season: season, Zone: time.Local})
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	m := metrics.New()
	shown.measure(m)
	leagueMetrics(m, shown.status)
	server := http.NewServer(nil, http.Config{Hosts: a.names(listener), TrustedProxies: a.trusted,
		Mounts: slices.Concat(shown.mounts, probes(m, nil))})
	stopServer := server.ServeUntil(listener, shutdownPatience)
	return pageOf(a.localURL(listener), base), func() {
		stopServer()
		shown.end()
	}, nil
}

// startPage serves the page of --serve, until stop. A page needs files: without --data the league
// has a folder that stop removes.
func (o *simulateOptions) startPage(ctx context.Context, s streams) (stop func(), err error) {
	if o.serveAt == "" {
		return func() {}, nil
	}
	folder, remove := o.data, func() {}
	if folder == "" {
		if o.folder, err = os.MkdirTemp("", "evenodd-"); err != nil {
			return nil, fmt.Errorf("cannot store the league for its page: %w", err)
		}
		folder = o.folder
		remove = func() { _ = os.RemoveAll(folder) } // the system clears its temporary folder too
	}
	var stopPage func()
	from := page.NewFolder(store.In(folder), o.LeagueID)
	at := &address{}
	listener, err := at.listenOn(ctx, "serve", o.serveAt)
	if err == nil {
		o.page, stopPage, err = servePage(listener, at, from, nil, "", o.Log)
	}
	if err != nil {
		remove()
		return nil, err
	}
	s.note("%s%s", watchPage, o.page)
	return func() {
		stopPage()
		remove()
	}, nil
}
