package memdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"evenodd/league/store/disk"
)

// A Process is a disk as one process sees it.
type Process struct {
	disk  *Disk
	ended chan struct{}
	files map[*file]bool // that are open
	dead  bool
}

var (
	_ disk.Disk = (*Process)(nil)
	_ disk.File = (*file)(nil)
)

// Kill ends the process. Each later call of it, and of its files, returns ErrKilled.
func (p *Process) Kill() {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.kill()
}

// kill is Kill with the mutex held.
func (p *Process) kill() {
	if !p.dead {
		p.disk.injected["kill"]++
		p.end()
	}
}

// end ends the process. The mutex is held.
func (p *Process) end() {
	if p.dead {
		return
	}
	p.dead = true
	for f := range p.files {
		delete(f.node.locks, f)
	}
	delete(p.disk.processes, p)
	close(p.ended)
}

// Ended is closed when the process was killed, or the power was cut.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// do does what a call of a path does.
func (p *Process) do(op, path string, do func(d *Disk) error) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if p.dead {
		return &fs.PathError{Op: op, Path: path, Err: ErrKilled}
	}
	err := do(p.disk)
	if err == nil {
		return nil
	}
	if p.disk.options.Strict && (errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC)) {
		if op == opSync || op == opSyncAll {
			p.disk.powerCut()
		}
		p.end()
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// move does what a call of two paths does: do gets what is at the first one, and the place of the second.
func (p *Process) move(op, from, to string, do func(d *Disk, source, target slot) error) error {
	err := p.do(op, from, func(d *Disk) error {
		source, err := d.place(from)
		if err != nil {
			return err
		}
		target, err := d.place(to)
		switch {
		case source.node == nil && (err == nil || op == "link"): // a rename looks up both folders first
			return syscall.ENOENT
		case err != nil:
			return err
		}
		return do(d, source, target)
	})
	if err, ok := errors.AsType[*fs.PathError](err); ok {
		return &os.LinkError{Op: op, Old: from, New: to, Err: err.Err}
	}
	return nil
}

// OpenFile implements disk.Disk.
func (p *Process) OpenFile(path string, flag int, mode fs.FileMode) (f disk.File, err error) {
	err = p.do("open", path, func(d *Disk) error {
		f, err = p.open(path, filepath.Clean(path), flag, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open opens or creates a file. The key is for the faults of a new one. The mutex is held.
func (p *Process) open(path, key string, flag int, mode fs.FileMode) (*file, error) {
	d, writes := p.disk, flag&(os.O_WRONLY|os.O_RDWR) != 0
	at, err := d.place(path)
	switch {
	case err != nil:
		return nil, err
	case len(parts(path)) == 0 || at.name == "..":
		at.node = d.root
	case at.node == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case at.node == nil:
		if err := d.hasSpace(key); err != nil {
			return nil, err
		}
		at.node = &node{mode: mode.Perm() &^ umask, changed: d.now(), key: key}
		d.set(key, at)
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, syscall.EEXIST
	case at.node.folder && (writes || flag&os.O_CREATE != 0):
		return nil, syscall.EISDIR
	case flag&os.O_TRUNC != 0:
		at.node.truncate(0)
		at.node.changed = d.now()
	}
	f := &file{
		process: p, node: at.node, name: path, reads: flag&os.O_WRONLY == 0, writes: writes, appends: flag&os.O_APPEND != 0,
	}
	p.files[f] = true
	return f, nil
}

// umask is that of each process.
const umask = 0o022

// CreateTemp implements disk.Disk.
func (p *Process) CreateTemp(dir, pattern string) (f disk.File, err error) {
	key := filepath.Join(dir, pattern)
	if strings.ContainsRune(pattern, filepath.Separator) {
		return nil, &fs.PathError{Op: "createtemp", Path: pattern, Err: errors.New("pattern contains path separator")}
	}
	before, after, ok := cutLast(pattern, "*")
	path := ""
	err = p.do("open", key, func(d *Disk) error {
		d.temps++
		path = filepath.Join(dir, fmt.Sprint(before, d.temps, after))
		if !ok {
			path = filepath.Join(dir, fmt.Sprint(pattern, d.temps))
		}
		const mode = 0o600
		f, err = p.open(path, key, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func cutLast(text, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// Rename implements disk.Disk.
func (p *Process) Rename(from, to string) error {
	return p.move("rename", from, to, func(d *Disk, source, target slot) error {
		switch {
		case target.node != nil && target.node.folder:
			return syscall.EEXIST
		case target.node == source.node:
			return nil
		case source.node.folder && slices.Contains(source.node.all(), target.folder):
			return syscall.EINVAL
		case source.node.folder && target.node != nil:
			return syscall.ENOTDIR
		}
		if key := filepath.Clean(to); !source.node.folder {
			source.node.key = key
		}
		target.node, source.node = source.node, nil
		d.set(filepath.Clean(to), target, source)
		return nil
	})
}

// Link implements disk.Disk.
func (p *Process) Link(from, to string) error {
	return p.move("link", from, to, func(d *Disk, source, target slot) error {
		key := filepath.Clean(to)
		switch {
		case target.node != nil:
			return syscall.EEXIST
		case source.node.folder:
			return syscall.EPERM
		}
		if err := d.hasSpace(key); err != nil {
			return err
		}
		source.node.key, target.node = key, source.node
		d.set(key, target)
		return nil
	})
}

// Remove implements disk.Disk.
func (p *Process) Remove(path string) error {
	return p.do("remove", path, func(d *Disk) error {
		at, err := d.place(path)
		switch {
		case err != nil:
			return err
		case at.node == nil:
			return syscall.ENOENT
		case len(at.node.names) > 0:
			return syscall.ENOTEMPTY
		}
		at.node = nil
		d.set(filepath.Clean(path), at)
		return nil
	})
}

// Mkdir implements disk.Disk.
func (p *Process) Mkdir(path string, mode fs.FileMode) error {
	return p.do("mkdir", path, func(d *Disk) error {
		at, err := d.place(path)
		switch {
		case err != nil:
			return err
		case at.node != nil || len(parts(path)) == 0:
			return syscall.EEXIST
		}
		key := filepath.Clean(path)
		if err := d.hasSpace(key); err != nil {
			return err
		}
		at.node = d.newFolder(mode.Perm() &^ umask)
		at.node.key = key
		d.set(key, at)
		return nil
	})
}

// MkdirAll implements disk.Disk.
func (p *Process) MkdirAll(path string, mode fs.FileMode) error {
	switch info, err := p.Stat(path); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case errors.Is(err, ErrKilled):
		return err
	}
	if dir := filepath.Dir(path); dir != path {
		if err := p.MkdirAll(dir, mode); err != nil {
			return err
		}
	}
	err := p.Mkdir(path, mode)
	if info, there := p.Stat(path); errors.Is(err, fs.ErrExist) && there == nil && info.IsDir() {
		return nil // another goroutine has created it
	}
	return err
}

// ReadDir implements disk.Disk.
func (p *Process) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = p.do("open", path, func(d *Disk) error {
		n, err := d.find(path)
		switch {
		case err != nil:
			return err
		case !n.folder:
			return syscall.ENOTDIR
		}
		for name, n := range n.names {
			entries = append(entries, fs.FileInfoToDirEntry(n.info(name)))
		}
		return nil
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Stat implements disk.Disk.
func (p *Process) Stat(path string) (fs.FileInfo, error) { return p.stat("stat", path) }

// Lstat implements disk.Disk: there are no symbolic links.
func (p *Process) Lstat(path string) (fs.FileInfo, error) { return p.stat("lstat", path) }

func (p *Process) stat(op, path string) (info fs.FileInfo, err error) {
	err = p.do(op, path, func(d *Disk) error {
		n, err := d.find(path)
		if err == nil {
			info = n.info(filepath.Base(path))
		}
		return err
	})
	return info, err
}

// SyncFolder implements disk.Disk.
func (p *Process) SyncFolder(path string) error {
	f, err := disk.Open(p, path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncAll implements disk.Disk.
func (p *Process) SyncAll(folder disk.File) error {
	f, ok := folder.(*file)
	if !ok {
		return errors.ErrUnsupported
	}
	return f.sync(opSyncAll, func() []*node { return p.disk.root.all() })
}

// LockFile implements disk.Disk.
func (p *Process) LockFile(path string, exclusive bool) (unlock func() error, err error) {
	flag := os.O_RDONLY
	if exclusive {
		flag |= os.O_CREATE
	}
	const mode = 0o600
	f, err := p.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	if err := f.TryLock(exclusive); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
