package appendfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// A File is a file to which lines are appended. It is safe for concurrent use. Append
// only queues a line, and the caller may tell other agents of it after Sync. One goroutine
// writes: a write takes all lines that were queued during the write before, and one sync
// makes them durable.
type File struct {
	file disk.File
	name string // of the file in errors, such as "the journal"
	path string // where the file must stay; "" for anywhere
	copy bool   // of lines that are durable elsewhere: they are written without syncs

	mu      sync.Mutex
	changed *sync.Cond // signals a change of durable, failure or closing
	work    *sync.Cond // tells the writer of a change of queued, wanted or closing
	queued  []byte
	wanted  int           // number of the last line that must become durable soon
	durable int           // number of the last line on disk
	ends    []int64       // ends[n] is the offset behind line n; ends[0] is 0
	taken   int           // number of the last line that the writer has taken from queued
	publish Publish       // makes lines durable elsewhere before they are written; nil for nothing
	limit   int           // most bytes of lines for publish, unless it is a single line
	more    chan struct{} // closed when durable or failure changes; nil if no reader waits
	failure error
	closing bool
	closed  error // the failure of a closed file
	done    Work
	writer  sync.WaitGroup
}

// Work is what a file has done since it was opened.
type Work struct {
	Lines, Syncs int
	Syncing      time.Duration // the time of the syncs, with the writes before them
}

// A Torn describes an incomplete end that was removed. The process or the machine ended while it
// wrote these lines, and told no agent of them.
type Torn struct {
	Path  string
	Line  int // the first one
	Bytes int
	Zeros bool // instead of some bytes, as a power cut leaves them; else it is one line without its end
}

// String is a sentence for people.
func (t *Torn) String() string {
	what := "the last line is incomplete (%d bytes) and was removed. No agent was told of its event."
	if t.Zeros {
		what = "the lines from here on have zeros, as a power cut leaves them, and were removed (%d bytes)."
	}
	return fmt.Sprintf("%s line %d: "+what, t.Path, t.Line, t.Bytes)
}

// A Cut is called before an incomplete end is removed. With an error the file stays unchanged. A nil Cut has no
// objection.
type Cut func(*Torn) error

// A Publish makes lines durable elsewhere. Each ends with a line feed; first is the number of the first one.
type Publish func(first int, lines []byte) error

// Open opens the file at path, or creates it durably, calls visit for each line, and
// prepares the file for appending. An error of visit is returned, and the file stays
// unchanged. Torn is nil unless an incomplete end was removed. Errors call the file
// by its name, for example "the journal". There must be no other writer.
func Open(d disk.Disk, path, name string, visit Visit) (f *File, torn *Torn, err error) {
	file, err := open(d, path)
	if err != nil {
		return nil, nil, err
	}
	return start(d, file, path, name, visit, nil)
}

// start is Open for the open file.
func start(d disk.Disk, file disk.File, path, name string, visit Visit, cut Cut) (f *File, torn *Torn, err error) {
	ends := []int64{0}
	end, rest, zeros, err := readLines(file, func(number int, text []byte) error {
		ends = append(ends, ends[number-1]+int64(len(text))+1)
		return visit(number, text)
	})
	if err == nil && rest > 0 {
		torn = &Torn{path, len(ends), rest, zeros}
		if cut != nil {
			err = cut(torn)
		}
		if err == nil {
			err = file.Truncate(end)
		}
	}
	// A killed process may have written lines without a sync. The caller has read them,
	// so they must be durable.
	if err == nil {
		if err = file.Sync(); err != nil { // the next sync would succeed, and not write them
			err = fmt.Errorf("%w. The last lines of %s may not be on the disk: repair it and restart the machine before you start "+
				"again", err, path)
		}
	}
	if err == nil && len(ends) == 1 { // it may be new
		err = atomicfile.SyncFolder(d, filepath.Dir(path))
	}
	if err != nil {
		file.Unlock()
		return nil, nil, errors.Join(err, file.Close())
	}
	last := len(ends) - 1
	f = &File{file: file, name: name, durable: last, taken: last, ends: ends, closed: fmt.Errorf("%s is closed", name)}
	f.changed, f.work = sync.NewCond(&f.mu), sync.NewCond(&f.mu)
	f.writer.Go(f.write)
	return f, torn, nil
}

// open opens the file. It creates the file, and missing folders durably.
func open(d disk.Disk, path string) (disk.File, error) {
	const flags = os.O_RDWR | os.O_APPEND
	file, err := d.OpenFile(path, flags, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := atomicfile.MakeFolder(d, filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return d.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o644)
}

// PublishBy has each line that is appended from now on made durable by publish, before it is written to the file.
// One call at a time takes the lines that were queued during the call before, up to limit bytes of them. Only a copy
// (OpenCopy) publishes. An error of publish makes the file fail.
func (f *File) PublishBy(publish Publish, limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish, f.limit = publish, limit
}

// Append queues a line, which must not contain a line feed, and returns its number from
// 1. After a failure it returns that failure. A line that need not become durable soon may be lost
// in a power cut: it becomes durable with a later line, with Sync, or with Close.
func (f *File) Append(line []byte, soon bool) (number int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil:
		return 0, f.failure
	case f.closing: // the last write may be over
		return 0, f.closed
	}
	f.ends = append(f.ends, f.ends[len(f.ends)-1]+int64(len(line))+1)
	f.queued = append(append(f.queued, line...), '\n')
	number = len(f.ends) - 1
	f.done.Lines++
	if soon {
		f.wanted = number
	}
	f.work.Signal()
	return number, nil
}

// Sync waits until the line with that number is on disk. An error means that it never
// will be. The caller must not act on the line before.
func (f *File) Sync(number int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want(number)
	for f.durable < number && f.failure == nil {
		f.changed.Wait()
	}
	if f.durable >= number {
		return nil
	}
	return f.failure
}

// want has the lines up to a number made durable. F.mu is held.
func (f *File) want(number int) {
	if last := min(number, len(f.ends)-1); f.wanted < last {
		f.wanted = last
		f.work.Signal()
	}
}

// Fail makes the file fail: the caller cannot append a line that later lines need.
func (f *File) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
	f.tell()
}

// Failed waits until the file cannot be written any more, and returns the reason, or until
// it is closed, and returns nil.
func (f *File) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.failure == nil && !f.closing {
		f.changed.Wait()
	}
	if errors.Is(f.failure, f.closed) {
		return nil
	}
	return f.failure
}

// Work returns what the file has done since it was opened.
func (f *File) Work() Work {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

// write writes queued lines to the disk until the file is closed.
func (f *File) write() {
	var batch []byte
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.queued) == 0 && f.wanted <= f.durable && !f.closing {
			f.work.Wait()
		}
		// All goroutines that can run add their lines to the batch: fewer, larger syncs.
		f.mu.Unlock()
		runtime.Gosched()
		f.mu.Lock()
		if len(f.queued) == 0 && f.wanted <= f.durable || f.failure != nil {
			break
		}
		first, durable, publish, end := f.taken+1, f.durable, f.publish, f.ends[f.durable]
		batch = f.take(batch)
		sync := f.wanted > durable && !f.copy
		if sync || f.copy {
			durable = f.taken
		}
		f.mu.Unlock()
		begun := time.Now()
		err := f.store(publish, first, batch, sync, end)
		f.mu.Lock()
		if sync || publish != nil {
			f.done.Syncs++
			f.done.Syncing += time.Since(begun)
		}
		switch {
		case err != nil:
			f.failure = fmt.Errorf("cannot write %s: %w", f.name, err)
			f.tell()
		case durable > f.durable:
			f.durable = durable
			f.tell()
		}
	}
}

// take returns the queued lines that the writer writes next. Empty is a buffer for the next ones. F.mu is held.
func (f *File) take(empty []byte) (lines []byte) {
	lines, f.queued = f.queued, empty[:0]
	begin, last := f.ends[f.taken], len(f.ends)-1
	for f.publish != nil && last > f.taken+1 && f.ends[last]-begin > int64(f.limit) {
		last--
	}
	size := f.ends[last] - begin
	f.queued, f.taken = append(f.queued, lines[size:]...), last
	return lines[:size]
}

// remedy is the end of the error of a write.
func remedy(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "Nothing that was acknowledged is lost: free space on the disk and start again"
	}
	return "Nothing that was acknowledged is lost: repair the disk and start again"
}

// store publishes and writes lines, and makes all lines durable if sync is set. End is the offset behind the last
// durable line.
func (f *File) store(publish Publish, first int, lines []byte, sync bool, end int64) error {
	if publish != nil {
		if err := publish(first, lines); err != nil {
			return err
		}
	}
	_, err := f.file.Write(lines)
	if err == nil && sync {
		err = f.file.Sync()
	}
	switch {
	case err != nil && f.copy:
		return fmt.Errorf("%w. %s", err, remedy(err))
	case err != nil:
		// A system counts the pages of a failed sync as clean: later syncs succeed and do not write them. So lines that are
		// not durable must not be read again, by this process or the next one.
		if failure := f.file.Truncate(end); failure != nil {
			return fmt.Errorf("%w. %s; restart the machine before that, because lines that are not durable could not be "+
				"removed: %w", err, remedy(err), failure)
		}
		return fmt.Errorf("%w. %s", err, remedy(err))
	case f.path != "" && !f.file.IsAt(f.path):
		return fmt.Errorf(
			"%s was moved, removed or replaced while it was written. Put the file back that was there, and start again", f.path)
	}
	return nil
}

// tell wakes all callers that wait. F.mu is held.
func (f *File) tell() {
	f.changed.Broadcast()
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// Close writes the queued lines and closes the file. It returns the failure because of which
// lines are missing in it.
func (f *File) Close() error {
	f.mu.Lock()
	f.closing = true
	f.want(len(f.ends) - 1)
	f.changed.Broadcast()
	f.work.Signal()
	f.mu.Unlock()
	f.writer.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	failure := f.failure
	if f.failure == nil {
		f.failure = f.closed
	}
	f.tell() // wakes callers that wait for a line that was never queued
	if f.copy && failure == nil {
		failure = f.file.Sync()
	}
	f.file.Unlock()
	return errors.Join(failure, f.file.Close())
}

// MaxRead is how many bytes of lines one call of Read returns.
const MaxRead = 256 << 10

// Read returns durable lines from a number on, without line feeds: at most limit, and at
// most MaxRead bytes unless the first is longer. Last is the number of the last durable
// line. If that is before from, there are no lines, and more is closed when there may be
// some. An error means that there will be none. The caller never delays Append.
func (f *File) Read(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error) {
	f.mu.Lock()
	last = f.durable
	if from > last {
		if f.failure != nil {
			err = f.failure
		} else if f.more == nil {
			f.more = make(chan struct{})
		}
		more = f.more
		f.mu.Unlock()
		return nil, last, more, err
	}
	to := from
	for to < min(last, from+limit-1) && f.ends[to+1]-f.ends[from-1] <= MaxRead {
		to++
	}
	start, end := f.ends[from-1], f.ends[to]
	f.mu.Unlock()
	text := make([]byte, end-start)
	if _, err := f.file.ReadAt(text, start); err != nil {
		return nil, last, nil, fmt.Errorf("cannot read %s: %w", f.name, err)
	}
	return bytes.Split(text[:len(text)-1], []byte{'\n'}), last, nil, nil
}
