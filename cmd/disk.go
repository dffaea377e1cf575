package cmd

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

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
	w = &diskWatch{folder: folder, low: uint64(max(0, lowMB)) * megabyte, free: store.FreeSpace}
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
				Str("event_type", "DISK_SPACE_IS_LOW").
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
