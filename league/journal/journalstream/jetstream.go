package journalstream

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Options say which stream Open opens.
type Options struct {
	LeagueID string
	Fresh    bool          // begin a new stream; older ones of the league stay
	Patience time.Duration // for requests in progress, after the context has ended
	Log      zerolog.Logger
}

// minMajor and minMinor are the oldest version of a server whose streams keep what they have acknowledged.
const minMajor, minMinor = 2, 12

// minPayload is the smallest max_payload of a server in bytes: more than a few events.
const minPayload = 64 << 10

// lineHeader is the header of a message with the number of its first line.
const lineHeader = "Evenodd-Line"

// Open opens the newest stream of a league, or begins its first. It waits until the connection is made. It refuses an
// old server, and a stream with other settings than those that Open gives it; weaker replication is a warning. The
// connection must send nothing later than it was meant (nats.ReconnectBufSize(-1)).
func Open(ctx context.Context, conn *nats.Conn, o Options) (*Stream, error) {
	patient, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(o.Patience, end) })
	if strings.Contains(o.LeagueID, ".") {
		return nil, fmt.Errorf("league id %q: a journal in NATS needs one without dots", o.LeagueID)
	}
	if conn.Opts.ReconnectBufSize != -1 {
		return nil, errors.New("the connection to NATS must not keep messages while it is down")
	}
	js, err := jetstream.New(conn)
	if err == nil {
		err = checkServer(ctx, conn)
	}
	if err != nil {
		return nil, err
	}
	s := &Stream{ctx: patient, payload: int(conn.MaxPayload()), log: o.Log}
	err = s.patiently(func(ctx context.Context) error { return s.open(ctx, conn, js, &o) })
	return s, err
}

func (s *Stream) open(ctx context.Context, conn *nats.Conn, js jetstream.JetStream, o *Options) error {
	number, err := newest(ctx, js, o.LeagueID)
	if err != nil {
		return fmt.Errorf("cannot list the streams of league %s in NATS: %w", o.LeagueID, err)
	}
	if o.Fresh || number == 0 {
		number++
	}
	if s.number == 0 { // else an earlier try may have begun it
		s.number = number
	}
	suffix := strconv.Itoa(s.number)
	s.name = prefix(o.LeagueID) + suffix
	want := config(s.name, subject(o.LeagueID, suffix))
	stream, err := openStream(ctx, conn, js, want)
	if err != nil {
		return fmt.Errorf("cannot open the stream %s in NATS: %w", s.name, err)
	}
	s.messages = &streamMessages{js, stream, want.Subjects[0]}
	has := stream.CachedInfo().Config
	s.js, s.replicas = js, has.Replicas
	if err := check(&want, &has); err != nil {
		return err
	}
	if has.Replicas < 3 {
		s.log.Warn().Str("stream", s.name).Int("replicas", has.Replicas).Str("event_type", "JOURNAL_REPLICAS").Msg(
			"with fewer than 3 replicas the league stops with one server, and with 1 the loss of its disk leaves nothing but " +
				"the copies of the managers")
	}
	return nil
}

// refused tells whether a server has answered with an error that a repeated request does not change.
func refused(err error) bool {
	if e, ok := errors.AsType[jetstream.JetStreamError](err); ok && e.APIError() != nil {
		return e.APIError().Code < 500
	}
	return errors.Is(err, errSettings)
}

func prefix(leagueID string) string { return "evenodd-" + leagueID + "-" }

func subject(leagueID, number string) string { return "evenodd." + leagueID + ".journal." + number }

// checkServer waits for the connection and checks its server.
func checkServer(ctx context.Context, conn *nats.Conn) error {
	for !conn.IsConnected() {
		select {
		case <-time.After(firstPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	version := conn.ConnectedServerVersion()
	switch {
	case older(version):
		return fmt.Errorf("the NATS server has version %s: a journal needs %d.%d or newer", version, minMajor,
			minMinor)
	case conn.MaxPayload() < minPayload:
		return fmt.Errorf("the NATS server has max_payload %d: a journal needs %d or more", conn.MaxPayload(), minPayload)
	}
	return nil
}

// older tells whether a version, such as 2.9.10, is too old.
func older(version string) bool {
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // 0 for another text
	return major < minMajor || major == minMajor && minor < minMinor
}

// newest is the number of the newest stream of a league; 0 for none.
func newest(ctx context.Context, js jetstream.JetStream, leagueID string) (number int, err error) {
	names := js.StreamNames(ctx, jetstream.WithStreamListSubject(subject(leagueID, "*")))
	for name := range names.Name() {
		if rest, ok := strings.CutPrefix(name, prefix(leagueID)); ok {
			n, _ := strconv.Atoi(rest) // 0 for another name
			number = max(number, n)
		}
	}
	return number, names.Err()
}

// config is the configuration of a stream, with which nothing that it has acknowledged is removed or changed.
func config(name, subject string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Description: "evenodd: the journal of a league", Subjects: []string{subject},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, MaxConsumers: -1,
		DenyDelete: true, DenyPurge: true, PersistMode: jetstream.DefaultPersistMode,
	}
}

var errSettings = errors.New("the journal could lose lines by the settings of its stream")

// free are the settings of a stream that an operator may choose: they change nothing that is acknowledged.
func free() []string {
	return []string{
		"Description", "Replicas", "Placement", "Compression", "Metadata", "Duplicates", "MaxConsumers", "ConsumerLimits",
		"AllowAtomicPublish", "AllowBatchPublish", "AllowDirect",
	}
}

// check returns an error that names the settings in which a stream differs from what a journal needs.
func check(want, has *jetstream.StreamConfig) error {
	var differ []string
	w, h := reflect.ValueOf(want).Elem(), reflect.ValueOf(has).Elem()
	for i := range w.NumField() {
		field := w.Type().Field(i)
		if !slices.Contains(free(), field.Name) && !reflect.DeepEqual(w.Field(i).Interface(), h.Field(i).Interface()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			differ = append(differ, fmt.Sprintf("%s is %v and must be %v", name, h.Field(i), w.Field(i)))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return fmt.Errorf("%w of %s: %s. Correct them, or begin a new league with --new-league", errSettings, want.Name,
		strings.Join(differ, "; "))
}

// openStream opens a stream, or creates it: with three replicas if the servers are a cluster that has three.
func openStream(ctx context.Context, conn *nats.Conn, js jetstream.JetStream, c jetstream.StreamConfig) (
	stream jetstream.Stream, err error) {
	stream, err = js.Stream(ctx, c.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	if c.Replicas = 1; conn.ConnectedClusterName() != "" {
		c.Replicas = 3
	}
	stream, err = js.CreateStream(ctx, c)
	if err != nil && c.Replicas > 1 && ctx.Err() == nil { // too few servers
		c.Replicas = 1
		stream, err = js.CreateStream(ctx, c)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another manager has created it
		stream, err = js.Stream(ctx, c.Name)
	}
	return stream, err
}

// streamMessages are the messages of a stream in JetStream. Sequences are positive.
type streamMessages struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	subject string
}

func (s *streamMessages) publish(ctx context.Context, m *message, behind int) error {
	msg := &nats.Msg{Subject: s.subject, Header: nats.Header{lineHeader: {strconv.Itoa(m.first)}}, Data: m.lines}
	_, err := s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequence(uint64(max(behind, 0))),
		jetstream.WithExpectStream(s.stream.CachedInfo().Config.Name), jetstream.WithRetryAttempts(0))
	return inWords(err)
}

// inWords returns an error in other words: the library names the buffer that is not used.
func inWords(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return errors.New("there is no connection to a NATS server")
	}
	return err
}

func (s *streamMessages) get(ctx context.Context, sequence int) (*message, error) {
	found, err := s.stream.GetMsg(ctx, uint64(max(sequence, 0)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, errNoMessage
	case err != nil:
		return nil, inWords(err)
	}
	first, _ := strconv.Atoi(found.Header.Get(lineHeader)) // 0 for another program's
	return &message{first, found.Data}, nil
}

func (s *streamMessages) last(ctx context.Context) (int, error) {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return 0, inWords(err)
	}
	state := &info.State
	if state.Msgs != state.LastSeq {
		return 0, fmt.Errorf("%w: %d of %d are there", errShorter, state.Msgs, state.LastSeq)
	}
	return int(state.LastSeq), nil //nolint:gosec // no stream is so long
}
