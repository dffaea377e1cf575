package journalstream

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBucketIsWrittenOnlyWithItsRevision(t *testing.T) {
	conn, ctx := durable(t)(), t.Context()
	cell, err := open(t, conn, "L1", false).OpenCell("L1")
	require.NoError(t, err)
	other, err := open(t, conn, "L2", false).OpenCell("L2") // in the same bucket
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

	ended, end := context.WithCancel(ctx)
	end()
	_, _, err = cell.Read(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, err = cell.Write(ended, first, two)
	require.ErrorIs(t, err, context.Canceled)
	_, revision, err = cell.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, two, revision, "nothing is written after the end")

	js, err := conn.JetStream()
	require.NoError(t, err)
	bucket, err := js.KeyValue(LeaseBucket) // as an operator uses it
	require.NoError(t, err)
	require.NoError(t, bucket.Delete("L1"))
	_, revision, err = cell.Read(ctx)
	require.NoError(t, err)
	assert.Zero(t, revision)
	_, err = cell.Write(ctx, first, 0)
	require.NoError(t, err, "a deleted lease begins again")
	_, err = bucket.PutString("L1", "no claim")
	require.NoError(t, err)
	_, _, err = cell.Read(ctx)
	require.ErrorContains(t, err, "the key L1 of the bucket evenodd is no lease")
	_, err = bucket.PutString("L1", "")
	require.NoError(t, err)
	_, _, err = cell.Read(ctx)
	require.ErrorContains(t, err, "is no lease")
}

func TestBucketOfAnOperator(t *testing.T) {
	for name, tt := range map[string]struct {
		config  nats.KeyValueConfig
		problem string // "" for none
	}{
		"as usual": {nats.KeyValueConfig{Description: "mine"}, ""},
		"memory": {nats.KeyValueConfig{Storage: nats.MemoryStorage},
			"storage is memory and must be file. Correct them"},
		"with a time to live": {nats.KeyValueConfig{TTL: time.Hour},
			"max_age is 3600000000000 and must be the default"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := durable(t)()
			js, err := conn.JetStream()
			require.NoError(t, err)
			tt.config.Bucket = LeaseBucket
			_, err = js.CreateKeyValue(&tt.config)
			require.NoError(t, err)
			_, err = open(t, conn, "L", false).OpenCell("L")
			if tt.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.problem)
		})
	}
}

// A bucket with fewer replicas than the journal would end the league with one server.
func TestBucketHasTheReplicasOfTheJournal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := Open(ctx, durable(t)(), Options{LeagueID: "L", Log: zerolog.Nop()})
	require.NoError(t, err)
	s.replicas = 3 // of which there is one server
	_, err = s.OpenCell("L")
	require.ErrorContains(t, err, "replicas > 1 not supported")
}
