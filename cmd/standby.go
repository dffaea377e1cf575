package cmd

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenodd/config/userfile"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/journal/journalstream"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/transport"
	"evenodd/transport/http"
)

// A leadership is the part of a process in the choice of the manager that leads a league, whose journal several
// managers share. Nil is that of a manager alone, which always leads.
type leadership struct {
	*managerProcess
	lease   *journalstream.Lease
	journal *sharedJournal
	ended   context.Context //nolint:containedctx // of the process; with a cause when another manager leads
	lose    context.CancelCauseFunc
	keep    func() // ends the renewals
}

// holds tells whether the manager may call and answer agents now.
func (l *leadership) holds() bool { return l == nil || l.lease.Holds() }

// life is a context of the process that ends when another manager leads, too.
func (l *leadership) life(ctx context.Context) context.Context {
	if l == nil {
		return ctx
	}
	return l.ended
}

// lost is the error of a process whose league another manager leads.
func (l *leadership) lost() error {
	if l == nil || !errors.As(context.Cause(l.ended), new(*journalstream.LostError)) {
		return nil
	}
	return context.Cause(l.ended)
}

// ofJournal is the key of the name of the stream among the digests of operatorFiles.
const ofJournal = "stream"

// operatorFiles returns the digests of what the operator gives to each manager, by the names that a standby uses for
// what differs. What is secret is digested with the secret that the managers share.
func (p *managerProcess) operatorFiles(j *sharedJournal) (func() map[string]string, error) {
	digest := func(of any) string {
		text, _ := json.Marshal(of) // values that came from JSON, or strings
		mac := hmac.New(sha256.New, j.master)
		_, _ = mac.Write(text) // never fails
		return hex.EncodeToString(mac.Sum(nil))
	}
	var trusted []byte
	if p.ca != "" {
		var err error
		if trusted, err = userfile.Read(p.ca, maxPEM); err != nil {
			return nil, fmt.Errorf("--tls-ca: %s: %w", p.ca, err)
		}
	}
	fixed := map[string]string{
		"roster": digest(p.admission.listed), "configuration": digestOfParts(p.Created, digest),
		"allowed endpoints": digest(p.calls.list()), "secret file": digest("evenodd"),
	}
	return func() map[string]string {
		now := maps.Clone(fixed)
		var shown [][]byte
		if c := p.address.tls; c != nil {
			pair, _ := c.GetCertificate(nil) // never fails; it may be another one each time
			shown = pair.Certificate
		}
		now["certificates"] = digest([]any{trusted, shown})
		if s := j.stream.Load(); s != nil {
			now[ofJournal] = s.Name()
		}
		return now
	}, nil
}

// digestOfParts has a digest of each member of a value's JSON, so that a standby can name those that differ.
func digestOfParts(of any, digest func(of any) string) string {
	text, _ := json.Marshal(of) // values that came from JSON
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(text, &parts) // it is an object
	nested := parts["configuration"]
	delete(parts, "configuration")
	_ = json.Unmarshal(nested, &parts) // so are these settings; there are none in some tests
	const digits = 16
	return strings.Join(lists.Map(slices.Sorted(maps.Keys(parts)), func(name string) string {
		return name + "=" + digest(parts[name])[:digits]
	}), " ")
}

// processName is the name of this process among the managers of the league: its machine and its port.
func (p *managerProcess) processName() string {
	host, _ := os.Hostname()
	host = cmp.Or(host, "unknown")
	if p.listener == nil {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(p.listener.Addr().(*net.TCPAddr).Port))
}

// awaitLeadership returns when this manager leads the league. Until then it keeps a copy of the journal, shows it in
// browsers, and sends agents elsewhere. It returns nil for a journal in the folder.
func (p *managerProcess) awaitLeadership(ctx context.Context, s streams, j *sharedJournal) (*leadership, error) {
	if j == nil {
		leaderMetrics(p.metrics, (*leadership)(nil).holds)
		return nil, nil //nolint:nilnil // see leadership
	}
	files, err := p.operatorFiles(j)
	if err != nil {
		return nil, err
	}
	cell, err := j.stream.Load().OpenCell(p.LeagueID)
	if err != nil {
		return nil, err
	}
	l := &leadership{managerProcess: p, journal: j, keep: func() {},
		lease: journalstream.NewLease(cell, p.processName(), files, p.log)}
	l.ended, l.lose = context.WithCancelCause(ctx)
	leaderMetrics(p.metrics, l.holds)
	hide, err := l.serveStandby(s)
	if err != nil {
		return nil, err
	}
	defer hide()
	stopFollowing := background(func(ctx context.Context) { l.follow(ctx, s) })
	err = l.lease.Await(ctx, p.standby && !p.newLeague) // a new league needs nothing of the leader before
	stopFollowing()
	switch lost := (*journalstream.LostError)(nil); {
	case ctx.Err() != nil:
		return nil, interrupted("This manager does not lead the league.")
	case errors.As(err, &lost) && p.newLeague:
		return nil, fmt.Errorf("%w: --new-league would replace the league that it runs; stop that manager first", lost)
	case errors.As(err, &lost):
		return nil, fmt.Errorf("%w: start this manager with --standby, so that it waits", lost)
	case err != nil:
		return nil, err
	}
	l.keep = background(func(ctx context.Context) {
		if err := l.lease.Keep(ctx); err != nil {
			l.lose(err)
		}
	})
	leader, _ := l.lease.Leader()
	p.log.Info().Str("manager", leader.Manager).Int("term", leader.Term).Str("event_type", "THIS_MANAGER_LEADS").
		Msg("this manager leads the league")
	p.TakesOver = &journal.ManagerTookOver{Manager: leader.Manager, Term: leader.Term}
	p.Caller = transport.Gated(p.Caller, l.holds)
	return l, nil
}

// newManager makes the manager of the league. The leader before may append events until the takeover is recorded: then
// this one reads them, and tries again.
func (p *managerProcess) newManager(s streams) (m *manager.Manager, err error) {
	for {
		if m, err = manager.New(p.Options); p.lead == nil || !errors.Is(err, journalfile.ErrLost) || !p.lead.holds() {
			return m, err
		}
		_ = p.Files.Close() // says the same
		if err := p.openFiles(s, false); err != nil {
			return nil, err
		}
	}
}

// end gives the league up, so that a standby takes over at once. The journal is closed.
func (l *leadership) end() {
	if l == nil {
		return
	}
	l.keep()
	l.lose(nil)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	if err := l.lease.Release(ctx); err != nil {
		l.log.Warn().Err(err).Str("event_type", "LEASE_NOT_GIVEN_UP").
			Msg("the lease of the league is not given up: a standby waits until it is over")
	}
}

// The pauses between two looks at a stream.
const (
	followPause = 300 * time.Millisecond
	followRetry = 3 * time.Second // after an error
)

// follow keeps the copy of the journal in the data folder up to date, until ctx ends.
func (l *leadership) follow(ctx context.Context, s streams) {
	for ctx.Err() == nil {
		err := l.followOne(ctx, s)
		if err != nil && ctx.Err() == nil {
			l.log.Warn().Err(err).Str("event_type", "JOURNAL_NOT_COPIED").Msg("this standby has no copy of the journal")
		}
		_ = l.Clock.Sleep(ctx, followRetry) // fails only when ctx has ended
	}
}

// followOne follows one stream. It returns nil when the leader writes to another one.
func (l *leadership) followOne(ctx context.Context, s streams) (err error) {
	files, err := openFiles(s, l.data, l.LeagueID, false, l.journal.shared())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	for err == nil && l.Clock.Sleep(ctx, followPause) == nil {
		if _, differ := l.lease.Leader(); slices.Contains(differ, ofJournal) {
			return l.journal.reopen(false)
		}
		_, err = files.CatchUp()
	}
	return err
}

// A lentListener is the listener of a server that ends before another one takes the listener. Connections that come
// meanwhile wait.
type lentListener struct{ *net.TCPListener }

// Close makes Accept return.
func (l lentListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// standbyPatience is how long the last requests to a standby may take when it leads.
const standbyPatience = 200 * time.Millisecond

// serveStandby serves the pages of the copy, and answers agents with 503, until stop.
func (l *leadership) serveStandby(s streams) (stop func(), err error) {
	listener, ok := l.listener.(*net.TCPListener)
	if !ok {
		return func() {}, nil
	}
	mux := transport.NewMux(l.log)
	mux.Gate(func() bool { return false })
	shown, err := l.leaguePage(page.NewFolder(store.In(l.data), l.LeagueID), page.Options{})
	if err != nil {
		return nil, err
	}
	end := http.NewServer(mux, http.Config{
		MaxBody: maxRequest, Hosts: l.address.names(listener), TLS: l.address.tls, Dialect: l.dialect,
		Mounts: slices.Concat(shown.mounts, probes(l.metrics, l.health), []http.Mount{http.Ready(mux.Open)}),
	}).ServeUntil(lentListener{listener}, standbyPatience)
	if l.standby {
		s.note("This manager stands by for league %s, at %s", l.LeagueID, l.address.localURL(listener))
	}
	return func() {
		end()
		shown.end()
		_ = listener.SetDeadline(time.Time{}) // an error comes again from Accept
	}, nil
}

// health is the response to GET /healthz of a manager that does not lead.
func (l *leadership) health() any {
	leader, differ := l.lease.Leader()
	h := l.disk.health(map[string]any{"status": "ok", "role": protocol.ManagerSender, "display_name": l.name,
		"league_id": l.LeagueID, "state": "STANDBY", "leader": leader.Manager, "term": leader.Term})
	if len(differ) > 0 {
		h["status"], h["differs"] = "warning", differ
	}
	return h
}
