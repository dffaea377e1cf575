package memdisk

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"

	"evenodd/league/simulation/faults"
	"evenodd/league/store/disk"
)

// A file is an open file or folder.
type file struct {
	process *Process
	node    *node
	name    string
	offset  int64
	reads   bool
	writes  bool
	appends bool
	closed  bool
}

// do does what a call of the file does.
func (f *file) do(op string, do func(d *Disk) error) error {
	return f.process.do(op, f.name, func(d *Disk) error {
		if f.closed {
			return fs.ErrClosed
		}
		return do(d)
	})
}

// Name implements disk.File.
func (f *file) Name() string { return f.name }

// Read implements disk.File.
func (f *file) Read(p []byte) (n int, err error) {
	err = f.do("read", func(d *Disk) error {
		n, err = f.read(d, p, f.offset)
		f.offset += int64(n)
		return err
	})
	return n, endOfFile(err)
}

// ReadAt implements disk.File.
func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	switch {
	case offset < 0:
		return 0, &fs.PathError{Op: "readat", Path: f.name, Err: errors.New("negative offset")}
	case len(p) == 0:
		return 0, nil
	}
	err = f.do("read", func(d *Disk) error {
		if n, err = f.read(d, p, offset); err == nil && n < len(p) {
			err = io.EOF
		}
		return err
	})
	return n, endOfFile(err)
}

// endOfFile returns io.EOF as it is.
func endOfFile(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}

// read reads from an offset. A fault ends it at the first byte of the fault.
func (f *file) read(d *Disk, p []byte, offset int64) (n int, err error) {
	switch size := f.node.size(); {
	case len(p) == 0:
		return 0, nil
	case !f.reads:
		return 0, syscall.EBADF
	case f.node.folder:
		return 0, syscall.EISDIR
	case offset >= size:
		return 0, io.EOF
	default:
		to := min(size, offset+int64(len(p)))
		if at, fails := d.firstFault(faults.ReadError, f.node, offset, to); fails {
			return copy(p, f.node.cache[offset:at]), syscall.EIO
		}
		return copy(p, f.node.cache[offset:to]), nil
	}
}

// Write implements disk.File.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.do("write", func(d *Disk) error {
		if !f.writes {
			return syscall.EBADF
		}
		if f.appends {
			f.offset = f.node.size()
		}
		n = len(p)
		if d.full {
			n, err = 0, syscall.ENOSPC
		} else if at, fails := d.firstFault(faults.FullDisk, f.node, f.offset, f.offset+int64(len(p))); fails {
			n, err = int(at-f.offset), syscall.ENOSPC
		}
		if n > 0 {
			f.node.writeAt(p[:n], f.offset)
			f.offset, f.node.changed = f.offset+int64(n), d.now()
		}
		return err
	})
	return n, err
}

// Truncate implements disk.File.
func (f *file) Truncate(size int64) error {
	return f.do("truncate", func(d *Disk) error {
		if !f.writes || size < 0 {
			return syscall.EINVAL
		}
		f.node.truncate(size)
		f.node.changed = d.now()
		return nil
	})
}

// Chmod implements disk.File.
func (f *file) Chmod(mode fs.FileMode) error {
	return f.do("chmod", func(*Disk) error {
		f.node.mode = mode.Perm()
		return nil
	})
}

// The operations that write to the disk.
const (
	opSync    = "sync"
	opSyncAll = "syncfs"
)

// Sync implements disk.File.
func (f *file) Sync() error {
	return f.sync(opSync, func() []*node { return []*node{f.node} })
}

// sync makes nodes durable.
func (f *file) sync(op string, nodes func() []*node) error {
	var slow time.Duration
	err := f.do(op, func(d *Disk) (failure error) {
		for _, n := range nodes() {
			syncs := f.process.syncContent
			if n.folder {
				syncs = f.process.syncNames
			}
			took, err := syncs(n)
			if slow += took; f.process.dead {
				return ErrKilled
			} else if err != nil {
				failure = err
			}
		}
		return failure
	})
	if sleep := f.process.disk.options.Sleep; slow > 0 && sleep != nil {
		sleep(slow)
	}
	return err
}

// syncNames writes the names in a folder to the disk. A failed sync writes none of them; a later one does. The mutex is
// held.
func (p *Process) syncNames(n *node) (took time.Duration, err error) {
	d, names := p.disk, faults.Place{Path: n.key}
	switch {
	case len(n.pending) == 0:
		return 0, nil
	case d.happens(faults.PowerCut, names):
		d.powerCut()
		return 0, ErrKilled
	case d.happens(faults.Kill, names):
		p.kill()
		return 0, ErrKilled
	case d.happens(faults.SlowSync, names):
		took = time.Duration(d.source("slow", n.key, 0, 0, 0).Int64N(int64(slowest)))
		d.slept += took
	}
	if d.happens(faults.FailedSync, names) {
		return took, syscall.EIO
	}
	n.syncNames()
	return took, nil
}

// syncContent writes the content of a file to the disk. The mutex is held.
func (p *Process) syncContent(n *node) (took time.Duration, err error) {
	d := p.disk
	for _, s := range n.dirty {
		if at, cut := d.firstFault(faults.PowerCut, n, s.from, s.to); cut {
			d.syncBefore("power cut", n, at)
			d.powerCut()
			return 0, ErrKilled
		}
		if at, killed := d.firstFault(faults.Kill, n, s.from, s.to); killed {
			d.syncBefore("kill", n, at)
			p.kill()
			return 0, ErrKilled
		}
		if at, slow := d.firstFault(faults.SlowSync, n, s.from, s.to); slow {
			took += time.Duration(d.source("slow", n.key, at, at, 0).Int64N(int64(slowest)))
		}
	}
	d.slept += took
	for _, s := range n.dirty {
		if at, fails := d.firstFault(faults.FailedSync, n, s.from, s.to); fails {
			n.flush(at)
			return took, syscall.EIO
		}
	}
	n.flush(n.size())
	return took, nil
}

// syncBefore has half of the crashes during a sync come when the content is on the disk, just before the sync returns.
func (d *Disk) syncBefore(crash string, n *node, at int64) {
	if d.source(crash, n.key, at, at, 0).IntN(2) == 0 {
		n.flush(n.size())
	}
}

// slowest is the longest time of a slow sync.
const slowest = 10 * time.Second

// IsAt implements disk.File.
func (f *file) IsAt(path string) bool {
	there := false
	_ = f.do("stat", func(d *Disk) error { // an error: no
		n, err := d.find(path)
		there = n == f.node
		return err
	})
	return there
}

// TryLock implements disk.File.
func (f *file) TryLock(exclusive bool) error {
	err := f.do("flock", func(*Disk) error {
		if own, locked := f.node.locks[f]; locked && own == exclusive {
			return nil
		}
		delete(f.node.locks, f) // as flock does, even if the new lock is excluded
		for _, other := range f.node.locks {
			if exclusive || other {
				return disk.ErrInUse
			}
		}
		if f.node.locks == nil {
			f.node.locks = map[*file]bool{}
		}
		f.node.locks[f] = exclusive
		return nil
	})
	if errors.Is(err, disk.ErrInUse) {
		return disk.ErrInUse
	}
	return err
}

// Unlock implements disk.File.
func (f *file) Unlock() {
	_ = f.do("flock", func(*Disk) error { // the lock of a file that is closed has ended
		delete(f.node.locks, f)
		return nil
	})
}

// Close implements disk.File.
func (f *file) Close() error {
	return f.do("close", func(*Disk) error {
		f.closed = true
		delete(f.node.locks, f)
		delete(f.process.files, f)
		return nil
	})
}

// Stat implements disk.File.
func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.do("stat", func(*Disk) error {
		info = f.node.info(f.name)
		return nil
	})
	return info, err
}
