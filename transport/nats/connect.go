// Package nats carries calls through NATS servers: each agent answers at a subject, and none needs
// a port that others reach. Endpoints are nats:// and the subject.
//
// The package must not depend on the protocol: it knows no message. It trusts neither the names of
// callers, which only the users of a server guarantee, nor the subjects of replies.
package nats

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
)

// A Conn is a connection to NATS, for packages that do not import the library.
type Conn = nats.Conn

// Options say how a process connects to NATS.
type Options struct {
	URLs  []string       // of servers of one cluster, such as nats://192.0.2.7:4222 or tls://nats.example.org
	Creds []byte         // the seed of an NKey, or a credentials file with JWT and seed; nil for none
	Roots *x509.CertPool // trusted authorities: the connection then uses TLS; nil: those of the system
	// Name is that of the user: one token. Replies arrive below InboxOf(Name), the only inbox
	// that the user may subscribe to.
	Name string
	Slow func() // called, from any goroutine, when messages were dropped because this process is too slow; may be nil
	Log  zerolog.Logger
}

// Times of a connection. A server that does not answer is noticed before the shortest limit of a call
// (5 s): otherwise its silence would be that of the agent called.
const (
	firstPause   = 100 * time.Millisecond // before the servers are tried again; it doubles
	longestPause = time.Second
	pingInterval = time.Second
	maxPings     = 2 // without an answer
)

// InboxOf is the prefix of the subjects at which a user gets replies.
func InboxOf(name string) string { return "_INBOX_" + name }

// Connect connects to the first server that answers. If none does, the connection is made later; it
// tries for ever, and so it does after it breaks. Nothing is kept for a broken connection: a message
// is sent now or never. An error means that waiting does not help: a server refuses the user, or its
// certificate is not trusted.
func Connect(o Options) (*nats.Conn, error) {
	user, err := userOption(o.Creds)
	if err != nil {
		return nil, err
	}
	options := nats.Options{
		Servers: o.URLs, Name: o.Name, InboxPrefix: InboxOf(o.Name), ReconnectBufSize: -1, Timeout: 2 * time.Second,
		AllowReconnect: true, MaxReconnect: -1, IgnoreAuthErrorAbort: true, CustomReconnectDelayCB: pause,
		PingInterval: pingInterval, MaxPingsOut: maxPings, SubChanLen: nats.DefaultMaxChanLen,
	}
	if o.Roots != nil {
		options.Secure, options.TLSConfig = true, &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	if err := user(&options); err != nil {
		return nil, err
	}
	logEvents(&options, o.Slow, o.Log)
	conn, err := options.Connect()
	if err == nil || refused(err) {
		return conn, err
	}
	o.Log.Warn().Err(err).Str("event_type", "NATS_SERVER_AWAITED").Msg("no NATS server answers yet; waiting for one")
	options.RetryOnFailedConnect = true
	return options.Connect()
}

// pause is the time before the servers are tried again. It differs between agents, so that they do not all come at
// once.
func pause(attempts int) time.Duration {
	d := min(firstPause<<min(max(attempts-1, 0), 8), longestPause)
	return d + rand.N(d/4) //nolint:gosec // not a secret
}

var errSeed = errors.New("neither the seed of an NKey, which begins with SU, nor a credentials file of NATS")

// userOption authenticates by credentials.
func userOption(creds []byte) (nats.Option, error) {
	switch {
	case len(creds) == 0:
		return func(*nats.Options) error { return nil }, nil
	case bytes.Contains(creds, []byte("BEGIN NATS USER JWT")):
		return nats.UserCredentialBytes(creds), nil
	}
	pair, err := nkeys.ParseDecoratedUserNKey(creds)
	if err != nil {
		return nil, errSeed
	}
	public, err := pair.PublicKey()
	return nats.Nkey(public, pair.Sign), err
}

// refused tells whether a server answered, and will refuse this user again.
func refused(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrSecureConnWanted)
}

// logEvents logs what happens to a connection, and calls slow when messages were dropped.
func logEvents(o *nats.Options, slow func(), log zerolog.Logger) {
	o.DisconnectedErrCB = func(c *nats.Conn, err error) {
		if !c.IsClosed() {
			log.Warn().Err(err).Str("event_type", "NATS_DISCONNECTED").
				Msg("the connection to the NATS server is down; calls fail until it is back")
		}
	}
	connected := func(c *nats.Conn) {
		log.Info().Str("server", c.ConnectedUrlRedacted()).Str("event_type", "NATS_CONNECTED").Msg("connected to a NATS server")
	}
	o.ConnectedCB, o.ReconnectedCB = connected, connected
	o.AsyncErrorCB = func(_ *nats.Conn, s *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrSlowConsumer) && slow != nil {
			slow()
		}
		line := log.Warn().Err(err) //nolint:zerologlint // sent below
		if s != nil {
			dropped, _ := s.Dropped() // an error means that it has ended
			line = line.Str("subject", s.Subject).Int("dropped", dropped)
		}
		line.Str("event_type", "NATS_ERROR").Msg("the NATS server refused something, or this agent is too slow for its messages")
	}
}

// NewKey makes the key of a user: its seed, which is secret.
func NewKey() (seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

// PublicKey is the public key of a seed, by which a server knows the user. The text may have more lines.
func PublicKey(seed []byte) (string, error) {
	pair, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil {
		return "", errSeed
	}
	return pair.PublicKey()
}
