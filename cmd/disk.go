package cmd

import (
	"context"
	"sync"
	"sync/atomic"
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
	log    zerolog.Logger
	free   func(folder string) (uint64, error) // store.FreeSpace

	last atomic.Pointer[diskHealth] // nil if the space is unknown
}

// diskHealth is the member disk of /healthz, which is there while the space is low.
type diskHealth struct {
	FreeMB     uint64 `json:"free_mb"`
	LowSpaceMB uint64 `json:"low_space_mb"` // the setting
	Low        bool   `json:"low"`
}

// watchDisk starts a diskWatch of a data folder. The returned function ends it.
func watchDisk(folder string, lowMB int, log zerolog.Logger) (w *diskWatch, stop func()) {
	w = &diskWatch{folder: folder, low: uint64(max(0, lowMB)) * megabyte, log: log, free: store.FreeSpace}
	w.look()
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { w.run(ctx) })
	return w, func() {
		cancel()
		watching.Wait()
	}
}

// run looks at the free space until ctx ends.
func (w *diskWatch) run(ctx context.Context) {
	if w.folder == "" {
		return
	}
	again := time.NewTicker(diskInterval)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			w.look()
		case <-ctx.Done():
			return
		}
	}
}

// look logs when the space becomes low, and when a tenth more than the limit is free again.
func (w *diskWatch) look() {
	if w.folder == "" {
		return
	}
	free, err := w.free(w.folder)
	if err != nil { // the system does not tell; writing fails with a clear error
		w.last.Store(nil)
		return
	}
	was := w.last.Load()
	limit := w.low
	if was != nil && was.Low {
		limit += w.low / 10
	}
	now := &diskHealth{FreeMB: free / megabyte, LowSpaceMB: w.low / megabyte, Low: free < limit}
	w.last.Store(now)
	switch wasLow := was != nil && was.Low; {
	case now.Low && !wasLow:
		w.log.Warn().Str("folder", w.folder).Uint64("free_mb", now.FreeMB).Uint64("low_space_mb", now.LowSpaceMB).
			Str("event_type", protocol.EventDiskSpaceLow).
			Msg("the disk of the data folder is almost full: free some space, or this agent stops when it cannot write")
	case !now.Low && wasLow:
		w.log.Info().Str("folder", w.folder).Uint64("free_mb", now.FreeMB).
			Str("event_type", protocol.EventDiskSpaceBack).Msg("the disk of the data folder has space again")
	}
}

// health adds the state of a low disk to the health of an agent, and changes its status
// from ok to warning.
func (w *diskWatch) health(of map[string]any) map[string]any {
	if now := w.last.Load(); now != nil && now.Low {
		of["status"], of["disk"] = "warning", now
	}
	return of
}
