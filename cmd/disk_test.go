package cmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// An agent warns once when the disk is almost full, and shows the state in its health.
func TestLowDiskSpaceIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var free atomic.Uint64
		var unsupported atomic.Bool
		free.Store(500 * megabyte)
		w := &diskWatch{folder: "data", low: 100 * megabyte, log: zerolog.New(&log), free: func(string) (uint64, error) {
			if unsupported.Load() {
				return 0, errors.ErrUnsupported
			}
			return free.Load(), nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.run(ctx)
		}()
		warnings := func() int { return strings.Count(log.String(), protocol.EventDiskSpaceLow) }
		look := func(bytes uint64) map[string]any {
			free.Store(bytes)
			time.Sleep(10 * diskInterval) // virtual time
			synctest.Wait()
			return w.health(map[string]any{"status": "ok"})
		}
		assert.Equal(t, map[string]any{"status": "ok"}, look(500*megabyte))
		assert.Zero(t, warnings())
		assert.Equal(t, map[string]any{"status": "warning", "disk": &diskHealth{FreeMB: 99, LowSpaceMB: 100, Low: true}}, look(100*megabyte-1))
		assert.Equal(t, 1, warnings())
		assert.Equal(t, "warning", look(105 * megabyte)["status"], "it must be a tenth above the limit")
		assert.Equal(t, 1, warnings(), "the log does not flicker")
		assert.Equal(t, "ok", look(110 * megabyte)["status"])
		assert.Contains(t, log.String(), protocol.EventDiskSpaceBack)
		look(0)
		assert.Equal(t, 2, warnings())
		unsupported.Store(true)
		assert.Equal(t, map[string]any{"status": "ok"}, look(0), "unknown is not low")
		stop()
		<-done
	})
}

func TestNoDiskIsWatchedWithoutADataFolder(t *testing.T) {
	w, stop := watchDisk("", 100, zerolog.Nop())
	defer stop()
	assert.Equal(t, map[string]any{"status": "ok"}, w.health(map[string]any{"status": "ok"}))
}
