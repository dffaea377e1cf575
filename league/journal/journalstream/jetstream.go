package journalstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
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
	js, err := conn.JetStream(nats.MaxWait(answerLimit))
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

func (s *Stream) open(ctx context.Context, conn *nats.Conn, js nats.JetStreamContext, o *Options) error {
	number, err := newest(ctx, conn, o.LeagueID)
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
	topic := subject(o.LeagueID, suffix)
	want := settings(s.name, "evenodd: the journal of a league", topic)
	want["deny_purge"] = true
	has, err := openStream(ctx, conn, s.name, want)
	if err != nil {
		return fmt.Errorf("cannot open the stream %s in NATS: %w", s.name, err)
	}
	s.conn, s.js, s.messages = conn, js, &streamMessages{js, s.name, topic}
	if err := check(s.name, want, has); err != nil {
		return fmt.Errorf("%w, or begin a new league with --new-league", err)
	}
	replicas, _ := has["num_replicas"].(float64)
	if s.replicas = int(replicas); s.replicas < 3 {
		s.log.Warn().Str("stream", s.name).Int("replicas", s.replicas).Str("event_type", "JOURNAL_REPLICAS").Msg(
			"with fewer than 3 replicas the league stops with one server, and with 1 the loss of its disk leaves nothing but " +
				"the copies of the managers")
	}
	return nil
}

// refused tells whether a server has answered with an error that a repeated request does not change.
func refused(err error) bool {
	if e, ok := errors.AsType[nats.JetStreamError](err); ok && e.APIError() != nil {
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

// request sends a request to the API of JetStream, for what the library does not tell: why a list fails, and settings
// that it does not know.
func request(ctx context.Context, conn *nats.Conn, name string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	reply, err := conn.RequestWithContext(ctx, "$JS.API.STREAM."+name, body)
	if err != nil {
		return err
	}
	var failure struct{ Error *nats.APIError }
	if err := json.Unmarshal(reply.Data, &failure); err != nil {
		return err
	}
	if failure.Error != nil {
		return failure.Error
	}
	return json.Unmarshal(reply.Data, answer)
}

// newest is the number of the newest stream of a league; 0 for none.
func newest(ctx context.Context, conn *nats.Conn, leagueID string) (number int, err error) {
	for seen := 0; ; {
		var page struct {
			Total   int
			Streams []string
		}
		err := request(ctx, conn, "NAMES", map[string]any{"subject": subject(leagueID, "*"), "offset": seen}, &page)
		if err != nil {
			return 0, err
		}
		for _, name := range page.Streams {
			if rest, ok := strings.CutPrefix(name, prefix(leagueID)); ok {
				n, _ := strconv.Atoi(rest) // 0 for another name
				number = max(number, n)
			}
		}
		if seen += len(page.Streams); seen >= page.Total || len(page.Streams) == 0 {
			return number, nil
		}
	}
}

// settings are those of a stream with which nothing that it has acknowledged is removed or changed.
func settings(name, about, subject string) map[string]any {
	return map[string]any{
		"name": name, "description": about, "subjects": []string{subject},
		"storage": "file", "retention": "limits", "discard": "new", "deny_delete": true,
		"max_msgs": -1, "max_bytes": -1, "max_msgs_per_subject": -1, "max_msg_size": -1, "max_consumers": -1,
	}
}

var errSettings = errors.New("what is stored could be lost by the settings of the stream")

// free are the settings of a stream that an operator may choose: they change nothing that is acknowledged.
func free() []string {
	return []string{
		"description", "num_replicas", "placement", "compression", "metadata", "duplicate_window", "max_consumers",
		"consumer_limits", "allow_atomic", "allow_batched", "allow_direct",
	}
}

// check returns an error that names the settings in which a stream differs from those that it needs. A setting that
// this program does not know must have its default.
func check(name string, want, has map[string]any) error {
	names := maps.Clone(want)
	maps.Copy(names, has)
	var differ []string
	for _, setting := range slices.Sorted(maps.Keys(names)) {
		if is, must := inText(has[setting]), inText(want[setting]); is != must && !slices.Contains(free(), setting) {
			differ = append(differ, setting+" is "+is+" and must be "+must)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return fmt.Errorf("%w %s: %s. Correct them", errSettings, name, strings.Join(differ, "; "))
}

// inText is the value of a setting, which a server may leave out when it is the default.
func inText(value any) string {
	if value == nil || reflect.ValueOf(value).IsZero() {
		return "the default"
	}
	if n, ok := value.(float64); ok { // a number of JSON
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// openStream opens a stream, or creates it: with three replicas if the servers are a cluster that has three and want
// does not say it. It returns the settings of the stream.
func openStream(ctx context.Context, conn *nats.Conn, name string, want map[string]any) (map[string]any, error) {
	var info struct{ Config map[string]any }
	err := request(ctx, conn, "INFO."+name, nil, &info)
	if !errors.Is(err, nats.ErrStreamNotFound) {
		return info.Config, err
	}
	_, chosen := want["num_replicas"]
	if !chosen {
		want["num_replicas"] = 1
	}
	if !chosen && conn.ConnectedClusterName() != "" {
		want["num_replicas"] = 3
	}
	err = request(ctx, conn, "CREATE."+name, want, &info)
	if err != nil && !chosen && ctx.Err() == nil { // too few servers
		want["num_replicas"] = 1
		err = request(ctx, conn, "CREATE."+name, want, &info)
	}
	if errors.Is(err, nats.ErrStreamNameAlreadyInUse) { // another manager has created it
		err = request(ctx, conn, "INFO."+name, nil, &info)
	}
	return info.Config, err
}

// streamMessages are the messages of a stream in JetStream. Sequences are positive.
type streamMessages struct {
	js            nats.JetStreamContext
	name, subject string
}

func (s *streamMessages) publish(ctx context.Context, m *message, behind int) error {
	msg := &nats.Msg{Subject: s.subject, Header: nats.Header{lineHeader: {strconv.Itoa(m.first)}}, Data: m.lines}
	_, err := s.js.PublishMsg(msg, nats.Context(ctx), nats.ExpectLastSequence(uint64(max(behind, 0))),
		nats.ExpectStream(s.name), nats.RetryAttempts(0))
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
	found, err := s.js.GetMsg(s.name, uint64(max(sequence, 0)), nats.Context(ctx))
	switch {
	case errors.Is(err, nats.ErrMsgNotFound):
		return nil, errNoMessage
	case err != nil:
		return nil, inWords(err)
	}
	first, _ := strconv.Atoi(found.Header.Get(lineHeader)) // 0 for another program's
	return &message{first, found.Data}, nil
}

func (s *streamMessages) last(ctx context.Context) (int, error) {
	info, err := s.js.StreamInfo(s.name, nats.Context(ctx))
	if err != nil {
		return 0, inWords(err)
	}
	state := &info.State
	if state.Msgs != state.LastSeq {
		return 0, fmt.Errorf("%w: %d of %d are there", errShorter, state.Msgs, state.LastSeq)
	}
	return int(state.LastSeq), nil //nolint:gosec // no stream is so long
}
