package cmd

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
)

// An agent warns once when the disk is almost full, and shows the state in its health.
func TestLowDiskSpaceIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var free atomic.Uint64
		var unknown atomic.Bool
		w := &diskWatch{folder: "data", low: 100 * megabyte, free: func(string) (uint64, error) {
			if unknown.Load() {
				return 0, errors.ErrUnsupported
			}
			return free.Load(), nil
		}}
		free.Store(500 * megabyte)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.warn(t.Context(), zerolog.New(&log))
		}()
		look := func(bytes uint64) map[string]any {
			free.Store(bytes)
			time.Sleep(10 * diskInterval) // virtual time
			synctest.Wait()
			return w.health(map[string]any{"status": "ok"})
		}
		assert.Equal(t, map[string]any{"status": "ok"}, look(500*megabyte))
		assert.Empty(t, log.String())
		assert.Equal(t, map[string]any{"status": "warning", "disk": diskHealth{FreeMB: 99, LowSpaceMB: 100, Low: true}}, look(100*megabyte-1))
		<-done
		assert.Equal(t, 1, strings.Count(log.String(), "DISK_SPACE_IS_LOW"))
		assert.Equal(t, "ok", look(110 * megabyte)["status"])
		unknown.Store(true)
		assert.Equal(t, map[string]any{"status": "ok"}, look(0), "unknown is not low")
	})
}

func TestNoDiskIsWatchedWithoutADataFolder(t *testing.T) {
	w, stop := watchDisk("", 100, zerolog.Nop())
	defer stop()
	assert.Equal(t, map[string]any{"status": "ok"}, w.health(map[string]any{"status": "ok"}))
}
