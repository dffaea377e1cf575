package journalstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connect starts a server with JetStream, and connects to it.
func connect(t *testing.T) jetstream.JetStream {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(30*time.Second))
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return js
}

func TestBucketIsWrittenOnlyWithItsRevision(t *testing.T) {
	js, ctx := connect(t), t.Context()
	cell, err := OpenCell(ctx, js, "league.1", 1)
	require.NoError(t, err)
	other, err := OpenCell(ctx, js, "league.2", 1) // in the same bucket
	require.NoError(t, err)

	none, revision, err := cell.Read(ctx)
	require.NoError(t, err)
	assert.Zero(t, revision)
	assert.Zero(t, none)
	first := Claim{Manager: "A", Process: "x", Term: 1, Counter: 1, Files: map[string]string{"roster": "ab"}}
	one, err := cell.Write(ctx, first, 0)
	require.NoError(t, err)
	_, err = cell.Write(ctx, first, 0)
	require.ErrorIs(t, err, ErrChanged)
	_, err = other.Write(ctx, first, 0)
	require.NoError(t, err)
	second := first
	second.Counter, second.Given = 2, true
	two, err := cell.Write(ctx, second, one)
	require.NoError(t, err)
	_, err = cell.Write(ctx, first, one)
	require.ErrorIs(t, err, ErrChanged)
	got, revision, err := cell.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, second, got)
	assert.Equal(t, two, revision)

	bucket, err := js.KeyValue(ctx, LeaseBucket)
	require.NoError(t, err)
	require.NoError(t, bucket.Delete(ctx, "league.1"))
	_, revision, err = cell.Read(ctx)
	require.NoError(t, err)
	assert.Zero(t, revision)
	_, err = cell.Write(ctx, first, 0)
	require.NoError(t, err, "a deleted lease begins again")
	_, err = bucket.PutString(ctx, "league.1", "no claim")
	require.NoError(t, err)
	_, _, err = cell.Read(ctx)
	require.ErrorContains(t, err, "is no lease")
}
