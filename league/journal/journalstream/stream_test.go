package journalstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// startDurable starts a server that syncs each message. Port -1 is a free one.
func startDurable(t testing.TB, port int, folder string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true, JetStream: true, StoreDir: folder, SyncAlways: true,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(30*time.Second))
	return s
}

func connect(t testing.TB, s *server.Server) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL(), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// durable starts such a server, and returns a function that connects to it.
func durable(t testing.TB) (connection func() *nats.Conn) {
	t.Helper()
	s := startDurable(t, -1, t.TempDir())
	return func() *nats.Conn { return connect(t, s) }
}

// open opens a stream.
func open(t testing.TB, conn *nats.Conn, leagueID string, fresh bool) *Stream {
	t.Helper()
	s, err := Open(t.Context(), conn, Options{LeagueID: leagueID, Fresh: fresh, Log: zerolog.Nop()})
	require.NoError(t, err)
	return s
}

// copyOf opens the copy of a stream in a folder.
func copyOf(t testing.TB, folder string, s journalfile.Stream) *journalfile.File {
	t.Helper()
	f, _, _, err := journalfile.OpenCopy(disk.Real{}, filepath.Join(folder, "journal.jsonl"), s, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// created is the first event.
var created journal.Data = &journal.Created{
	SchemaVersion: journal.SchemaVersion, LeagueID: "L", GameType: "even_odd", Legs: 1,
}

// write appends events until the journal has a number, and waits until they are durable.
func write(t testing.TB, f *journalfile.File, until int) error {
	t.Helper()
	n, _ := f.Last()
	for n++; n <= until; n++ {
		e := created
		if n > 1 {
			e = &journal.TailLost{Head: fmt.Sprint("event ", n)} // changes nothing
		}
		if err := f.Append("2026-01-01T00:00:00.000Z", e); err != nil {
			return err
		}
	}
	return f.Sync(until)
}

func text(t testing.TB, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "journal.jsonl"))
	require.NoError(t, err)
	return string(text)
}

// stored are the lines of a stream, and the number of its messages.
func stored(t testing.TB, s *Stream) (lines string, messages int) {
	t.Helper()
	last, err := s.messages.last(t.Context())
	require.NoError(t, err)
	for i := range last {
		m, err := s.messages.get(t.Context(), i+1)
		require.NoError(t, err)
		lines += string(m.lines)
	}
	return lines, last
}

// A faulty stream has faults between the manager and the server.
type faulty struct {
	messages

	mu    sync.Mutex
	fault func(publish func() error) error // of the next publication; nil for none
}

func (f *faulty) publish(ctx context.Context, m *message, behind int) error {
	f.mu.Lock()
	fault := f.fault
	f.fault = nil
	f.mu.Unlock()
	send := func() error { return f.messages.publish(ctx, m, behind) }
	if fault == nil {
		return send()
	}
	return fault(send)
}

func TestLinesQueuedDuringAPublicationAreTheNextMessage(t *testing.T) {
	s := open(t, durable(t)(), "L", false)
	folder, gate, begun := t.TempDir(), make(chan struct{}), make(chan struct{})
	s.messages = &faulty{messages: s.messages, fault: func(publish func() error) error {
		close(begun)
		<-gate
		return publish()
	}}
	f := copyOf(t, folder, s)
	require.NoError(t, f.Append("2026-01-01T00:00:00.000Z", created))
	<-begun
	go close(gate)
	require.NoError(t, write(t, f, 100))
	assert.Equal(t, 100, strings.Count(text(t, folder), "\n"))
	lines, messages := stored(t, s)
	assert.Equal(t, text(t, folder), lines)
	assert.Less(t, messages, 50, "groups")

	again := copyOf(t, t.TempDir(), open(t, durable(t)(), "L", false))
	n, _ := again.Last()
	assert.Zero(t, n, "another server")
}

func TestUnknownOutcomeIsResolved(t *testing.T) {
	connection := durable(t)
	lost := errors.New("no answer")
	for name, tt := range map[string]struct {
		fault   func(t *testing.T, league string, publish func() error) error
		problem error
	}{
		"stored, and the answer is lost": {
			func(_ *testing.T, _ string, publish func() error) error { return errors.Join(publish(), lost) }, nil,
		},
		"not stored": {func(*testing.T, string, func() error) error { return lost }, nil},
		"another manager was first": {
			func(t *testing.T, league string, publish func() error) error {
				other := copyOf(t, t.TempDir(), open(t, connection(), league, false))
				theirs := &journal.TailLost{Head: "event 3 of the other"}
				require.NoError(t, other.Append("2026-01-01T00:00:00.000Z", theirs))
				require.NoError(t, write(t, other, 4))
				return publish()
			}, journalfile.ErrLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			league, folder := strings.ReplaceAll(strings.Split(name, ",")[0], " ", "-"), t.TempDir()
			s := open(t, connection(), league, false)
			faults := &faulty{messages: s.messages}
			s.messages = faults
			f := copyOf(t, folder, s)
			require.NoError(t, write(t, f, 2))
			faults.mu.Lock()
			faults.fault = func(publish func() error) error { return tt.fault(t, league, publish) }
			faults.mu.Unlock()
			require.ErrorIs(t, write(t, f, 3), tt.problem)
			if tt.problem != nil {
				require.ErrorIs(t, f.Failed(), tt.problem)
				assert.Equal(t, 2, strings.Count(text(t, folder), "\n"), "what was not acknowledged is not in the copy")
			} else {
				require.NoError(t, write(t, f, 4))
			}
			lines, messages := stored(t, s)
			if tt.problem == nil {
				assert.Equal(t, text(t, folder), lines)
			}
			assert.Equal(t, 4, strings.Count(lines, "\n"))
			assert.LessOrEqual(t, messages, 4, "nothing is stored twice")
		})
	}
}

func TestCopyFollowsAndIsReplacedWhenItIsNoBeginning(t *testing.T) {
	connection := durable(t)
	folder, other := t.TempDir(), t.TempDir()
	f := copyOf(t, folder, open(t, connection(), "L", false))
	standby := copyOf(t, other, open(t, connection(), "L", false))
	for _, until := range []int{1, 5, 300} {
		require.NoError(t, write(t, f, until))
		_, err := standby.CatchUp()
		require.NoError(t, err)
		assert.Equal(t, text(t, folder), text(t, other))
	}
	added, err := standby.CatchUp()
	require.NoError(t, err)
	assert.Zero(t, added)
	require.NoError(t, standby.Close())

	lines := strings.SplitAfter(text(t, folder), "\n")
	damaged := strings.Replace(lines[6], "event", "Event", 1)
	for name, tt := range map[string]struct {
		text     string
		diverged bool
	}{
		"nothing":           {"", false},
		"the beginning":     {strings.Join(lines[:7], ""), false},
		"a torn line":       {strings.Join(lines[:7], "") + lines[7][:10], false},
		"all":               {strings.Join(lines, ""), false},
		"a damaged line":    {strings.Join(lines[:6], "") + damaged + lines[7], true},
		"another last line": {strings.Join(lines[:6], "") + string(appendfile.Seal([]byte(strings.TrimSpace(damaged)))) + "\n", true},
		"more than it should": {strings.Join(lines, "") + string(appendfile.Seal([]byte(`{"seq":301,"at":"2026-01-01T00:00:00.000Z","prev":"`+
			journal.Hash([]byte(strings.TrimSpace(lines[299])))+`","type":"tail_lost","data":{"head":"x"}}`))) + "\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			f, state, _, err := journalfile.OpenCopy(disk.Real{}, path, open(t, connection(), "L", false), nil)
			if tt.diverged {
				require.ErrorIs(t, err, journalfile.ErrDiverged)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, 300, state.Events)
			require.NoError(t, f.Close())
			assert.Equal(t, text(t, folder), text(t, filepath.Dir(path)))
		})
	}
	fresh := open(t, connection(), "L", true)
	assert.Equal(t, "evenodd-L-2", fresh.Name())
	assert.Equal(t, fresh.Name(), open(t, connection(), "L", false).Name(), "the newest one")
}

func TestStreamThatCouldLoseLinesIsRefused(t *testing.T) {
	conn := durable(t)()
	for name, tt := range map[string]struct {
		change map[string]any
		names  string
	}{
		"memory": {map[string]any{"storage": "memory"}, "storage is memory and must be file"},
		"discard-old": {map[string]any{"discard": "old", "max_msgs": 1000000},
			"discard is old and must be new; max_msgs is 1000000 and must be -1"},
		"deletes": {map[string]any{"deny_delete": false, "deny_purge": false},
			"deny_delete is the default and must be true; deny_purge"},
		"async":        {map[string]any{"persist_mode": "async"}, "persist_mode is async and must be the default"},
		"more-subject": {map[string]any{"subjects": []string{"evenodd.journal", "evenodd.more"}}, "subjects"},
		"as-it-must":   {map[string]any{"description": "mine", "allow_direct": true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(prefix(name)+"1", "a journal", subject(name, "1"))
			s["deny_purge"] = true
			maps.Copy(s, tt.change)
			require.NoError(t, request(t.Context(), conn, "CREATE."+prefix(name)+"1", s, &struct{}{}))
			_, err := Open(t.Context(), conn, Options{LeagueID: name, Log: zerolog.Nop()})
			if tt.names == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.names)
		})
	}
	for version, old := range map[string]bool{"2.9.10": true, "2.11.9": true, "2.12.0": false, "2.15.3-beta": false, "3.0": false, "": true} {
		assert.Equal(t, old, older(version), version)
	}
}

func TestMessagesOfOtherProgramsAreRefused(t *testing.T) {
	conn := durable(t)()
	f := copyOf(t, t.TempDir(), open(t, conn, "L", false))
	require.NoError(t, write(t, f, 3))
	require.NoError(t, conn.Publish(subject("L", "1"), []byte("a request")))
	require.NoError(t, conn.Flush())
	_, _, _, err := journalfile.OpenCopy(disk.Real{}, filepath.Join(t.TempDir(), "journal.jsonl"), open(t, conn, "L", false), nil)
	require.ErrorContains(t, err, "other programs write to the stream")
}

// The longest line arrives although the server answers with it in base64.
func TestLongestLine(t *testing.T) {
	conn := durable(t)()
	s := open(t, conn, "L", false)
	longest, _ := s.Limits()
	line := append(bytes.Repeat([]byte("x"), longest-1), '\n')
	require.NoError(t, s.Append(1, line))
	var read []byte
	require.NoError(t, open(t, conn, "L", false).Read(1, func(_ int, text []byte) error {
		read = append(append(read, text...), '\n')
		return nil
	}))
	assert.Equal(t, line, read)
	f := copyOf(t, t.TempDir(), open(t, conn, "M", false))
	event := &journal.TailLost{Head: strings.Repeat("x", longest)}
	var long *journalfile.TooLongError
	require.ErrorAs(t, f.Check(event), &long)
	assert.Equal(t, longest, long.Most)
	event.Head = event.Head[300:]
	require.NoError(t, f.Check(event))
}

func TestManagerEndsWhileNATSIsSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	conn := durable(t)()
	s, err := Open(ctx, conn, Options{LeagueID: "L", Log: zerolog.Nop()})
	require.NoError(t, err)
	f := copyOf(t, t.TempDir(), s)
	require.NoError(t, write(t, f, 1))
	conn.Close()
	go cancel()
	require.ErrorContains(t, write(t, f, 2), "no answer from NATS before the end of this process")
	require.ErrorContains(t, f.Close(), "event")
}

func TestJournalWaitsForAServerThatRestarts(t *testing.T) {
	data, folder := t.TempDir(), t.TempDir()
	server := startDurable(t, -1, data)
	conn := connect(t, server)
	s := open(t, conn, "L", false)
	f := copyOf(t, folder, s)
	require.NoError(t, write(t, f, 10))
	port := server.Addr().(*net.TCPAddr).Port
	server.Shutdown()
	server.WaitForShutdown()
	written := make(chan error, 1)
	go func() { written <- write(t, f, 30) }()
	require.Eventually(t, func() bool { return !conn.IsConnected() }, 30*time.Second, time.Millisecond)
	select {
	case err := <-written:
		t.Fatalf("durable without a server: %v", err)
	default:
	}
	startDurable(t, port, data)
	require.NoError(t, <-written)
	lines, _ := stored(t, s)
	assert.Equal(t, text(t, folder), lines)
	assert.Equal(t, 30, strings.Count(lines, "\n"))
}

// Servers without sync_interval: always may lose acknowledged messages in a power cut.
func TestManagerEndsWhenItsStreamHasLostItsEnd(t *testing.T) {
	conn, folder := durable(t)(), t.TempDir()
	s := open(t, conn, "L", false)
	f := copyOf(t, folder, s)
	require.NoError(t, write(t, f, 3))
	require.NoError(t, s.js.DeleteStream(s.Name()))
	_, err := openStream(t.Context(), conn, s.Name(), settings(s.Name(), "a journal", subject("L", "1")))
	require.NoError(t, err)
	err = write(t, f, 4)
	require.ErrorIs(t, err, errShorter)
	require.ErrorContains(t, err, "evenodd-L-1 ends with message 0, and this manager knows")
	assert.Equal(t, 3, strings.Count(text(t, folder), "\n"), "the copy has all that was acknowledged")
}
