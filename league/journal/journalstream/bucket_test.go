package journalstream

import (
	"context"
	"testing"

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
	require.ErrorContains(t, err, "is no lease")
}
