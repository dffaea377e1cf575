package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/cmd/metrics"
	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/league/store/disk"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
	"evenodd/transport/nats"
)

// Sizes of messages in bytes, and the time that calls get to end when
// their server stops.
const (
	maxRequest       = 10 << 10 // request that a manager or referee accepts from any caller
	maxLarge         = 64 << 10 // request with a valid bearer credential, in a league of a large game
	maxReply         = 64 << 10 // response that a manager or referee reads
	maxFromManager   = 1 << 20  // message that an agent accepts from its manager
	shutdownPatience = 5 * time.Second
)

// A node is the network side of a process: the client for calls to agents, the
// translation of third-party forms, and the server. Every command gets them here.
type node struct {
	caller  transport.Caller // holds notices back from failing agents
	client  *http.Client
	conn    *nats.Conn   // nil without NATS
	onNATS  *nats.Client // of conn
	dialect *bridge.Bridge
	metrics *metrics.Set
	log     zerolog.Logger
}

// nodeOptions configure a node.
type nodeOptions struct {
	maxReply int64                 // bytes
	ca       string                // file of authorities to trust besides those of the system; "" for none
	allow    func(netip.Addr) bool // prevents SSRF; nil allows all addresses
	dialect  bridge.Options        // without clock and log
	nats     natsUser              // the zero value for none
	log      zerolog.Logger
}

func newNode(o nodeOptions) (*node, error) {
	o.dialect.Clock, o.dialect.Log = protocol.SystemClock(), o.log
	n := &node{dialect: bridge.New(o.dialect), metrics: metrics.New(), log: o.log}
	trusted, err := roots("tls-ca", o.ca)
	if err != nil {
		return nil, err
	}
	n.client = http.NewClient(http.ClientConfig{MaxReply: o.maxReply, Roots: trusted, Allow: o.allow, Dialect: n.dialect})
	by := &carriers{http: n.client}
	if o.nats.natsOptions != nil && o.nats.on() {
		slow := n.metrics.Count("evenodd_nats_slow_total", "Times that this process lost messages because it was too slow.")
		if n.conn, err = o.nats.connect(&o, slow); err != nil {
			return nil, err
		}
		n.metrics.Gauge("evenodd_nats_connected", "1 while the connection to a NATS server is up.", nil,
			metrics.Flag(n.conn.IsConnected))
		if n.onNATS, err = nats.NewClient(n.conn, o.nats.name, o.nats.allow, o.maxReply); err != nil {
			return nil, err
		}
		by.nats = n.onNATS
	}
	breaker := transport.NewBreaker(by, essential, o.log)
	n.metrics.Gauge("evenodd_breakers", "Endpoints whose last call failed; the breaker holds calls to open ones back.",
		[]string{"state"}, func(emit metrics.Emit) {
			failing, open := breaker.Failing()
			emit(float64(open), "open")
			emit(float64(failing-open), "failing")
		})
	n.caller = n.metrics.Caller(breaker)
	return n, nil
}

// close ends the calls and the connections.
func (n *node) close() {
	n.dialect.Close()
	n.client.Close()
	if n.conn != nil {
		n.onNATS.Close()
		n.conn.Close()
	}
}

// serve answers calls in the background: on l, unless it is nil, and at a subject of NATS, if the process uses that.
// stamp identifies the agent in errors. The returned function lets running calls end, then stops both.
func (n *node) serve(a *address, l net.Listener, subject string, mux *transport.Mux, stamp func() *protocol.Stamp,
	c http.Config) (stop func(), err error) {
	if c.TooLarge == nil {
		c.TooLarge = func(_ context.Context, limit int64) error { return protocol.TooLarge(stamp(), limit) }
	}
	tooLarge := c.TooLarge
	c.TooLarge = func(ctx context.Context, limit int64) error { return n.refused(tooLarge(ctx, limit)) }
	c.RateLimited = func(wait time.Duration) error { return n.refused(protocol.TooFast(stamp(), wait)) }
	mux.OnAnswered(n.answered)
	var stops []func()
	if n.conn != nil {
		end, err := nats.Serve(n.conn, subject, mux, nats.Config{MaxBody: c.MaxBody, MaxBearerBody: c.MaxBearerBody,
			Identify: c.Identify, TooLarge: c.TooLarge, RateLimited: c.RateLimited, Log: n.log})
		if err != nil {
			return nil, err
		}
		stops = append(stops, func() { end(shutdownPatience) })
	}
	if l != nil {
		c.Hosts, c.TrustedProxies, c.TLS, c.Dialect = a.names(l), a.trusted, a.tls, n.dialect
		stops = append(stops, http.NewServer(mux, c).ServeUntil(l, shutdownPatience))
	}
	return func() {
		var stopping sync.WaitGroup
		for _, end := range stops {
			stopping.Go(end)
		}
		stopping.Wait()
	}, nil
}

// refused counts a request that the server refuses before a handler, and returns its error.
func (n *node) refused(err error) error {
	n.metrics.Refused(err)
	return err
}

// answered counts a request. Only requests over HTTP have an address.
func (n *node) answered(ctx context.Context, method string, result any, err error, took time.Duration) {
	carrier := "nats"
	if http.CallerAddress(ctx).IsValid() {
		carrier = "http"
	}
	n.metrics.Answered(carrier, method, result, err, took)
}

var (
	_ protocol.Caller = transport.Caller(nil) // neither package imports the other
	_ http.Calls      = (*bridge.Bridge)(nil)
	_ http.Requests   = (*bridge.Bridge)(nil)
)

// essential tells whether a method is part of a match or of the membership in a
// league. The breaker never holds back such calls: every attempt counts, and some
// agents accept no match before they know how the last one ended. An agent can ask
// for the contents of the other notices.
func essential(method string) bool {
	return !slices.Contains([]string{
		protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyGameError.Name,
	}, method)
}

// tlsCAFlag defines the flag of the commands that call agents.
func tlsCAFlag(f *pflag.FlagSet, ca *string) {
	f.StringVar(ca, "tls-ca", "", "PEM `file` of certificate authorities to trust besides those of the system")
}

// maxPEM is the largest size of a file of certificates or keys in bytes.
const maxPEM = 16 << 20

// roots returns the trusted authorities: those of the system and those in a file, which is the value of a
// flag. nil means those of the system.
func roots(flag, ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil //nolint:nilnil // nil means the system's
	}
	bundle, err := userfile.Read(ca, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", flag, ca, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--%s: %s contains no certificate in PEM format", flag, ca)
	}
	return pool, nil
}

// A keyPair is a certificate and its key, each in a file.
type keyPair struct{ cert, key string }

// tlsConfig reads the files; it returns nil without files.
func (k keyPair) tlsConfig() (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil //nolint:nilnil // plain HTTP
	case k.cert == "" || k.key == "":
		return nil, usage("--tls-cert and --tls-key must be given together")
	}
	first, err := k.read()
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", k.cert, k.key, err)
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&first)
	// A certificate may be replaced during a league. While the files cannot be used, perhaps because only
	// one of them has been replaced, the last pair stays.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair, err := k.read(); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}}, nil
}

func (k *keyPair) read() (pair tls.Certificate, err error) {
	var pem [2][]byte
	for i, path := range []string{k.cert, k.key} {
		if pem[i], err = userfile.Read(path, maxPEM); err != nil {
			return pair, fmt.Errorf("%s: %w", path, err)
		}
	}
	return tls.X509KeyPair(pem[0], pem[1])
}

// diskInterval is the time between two looks at the free space.
const diskInterval = 2 * time.Second

// A diskWatch warns when the file system of a data folder has little space left, so that
// the operator can act before the journal cannot be written. It is safe for concurrent use.
type diskWatch struct {
	folder string // "" for none
	low    uint64 // bytes below which the space is low; 0: never
	free   func(folder string) (uint64, error)
}

// diskHealth is the member disk of /healthz, which is there while the space is low.
type diskHealth struct {
	FreeMB     uint64 `json:"free_mb"`
	LowSpaceMB uint64 `json:"low_space_mb"` // the setting
	Low        bool   `json:"low"`
}

// watchDisk logs a warning when the space is low, once, until stop is called.
func watchDisk(folder string, lowMB int, log zerolog.Logger) (w *diskWatch, stop func()) {
	w = &diskWatch{folder: folder, low: uint64(max(0, lowMB)) * megabyte, free: disk.FreeSpace}
	return w, background(func(ctx context.Context) { w.warn(ctx, log) })
}

// background starts work, whose context ends with stop. stop waits for the end of work.
func background(work func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { work(ctx) })
	return func() {
		cancel()
		working.Wait()
	}
}

func (w *diskWatch) warn(ctx context.Context, log zerolog.Logger) {
	for clock := protocol.SystemClock(); ; {
		if d := w.look(); d.Low {
			log.Warn().Str("folder", w.folder).Uint64("free_mb", d.FreeMB).Uint64("low_space_mb", d.LowSpaceMB).
				Str("event_type", "DISK_SPACE_LOW").
				Msg("the disk of the data folder is almost full: free some space, or this agent stops when it cannot write")
			return
		}
		if clock.Sleep(ctx, diskInterval) != nil {
			return
		}
	}
}

// look tells how much space is left. Unknown space is not low: writing fails with a clear error.
func (w *diskWatch) look() diskHealth {
	if w.folder == "" {
		return diskHealth{}
	}
	free, err := w.free(w.folder)
	return diskHealth{FreeMB: free / megabyte, LowSpaceMB: w.low / megabyte, Low: err == nil && free < w.low}
}

// health adds the state of the disk to the health of an agent.
func (w *diskWatch) health(of map[string]any) map[string]any {
	if d := w.look(); d.Low {
		of["status"], of["disk"] = "warning", d
	}
	return of
}
