package memdisk

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// info implements fs.FileInfo.
type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	changed time.Time
}

// info describes a node under a name.
func (n *node) info(name string) fs.FileInfo {
	i := info{filepath.Base(name), n.size(), n.mode, n.changed}
	if n.folder {
		i.mode |= fs.ModeDir
	}
	return i
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.changed }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// Dump copies a folder, as processes see it, into one of the machine, which must exist. Files that have the same names
// there are replaced.
func (d *Disk) Dump(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(from)
	if err != nil {
		return &fs.PathError{Op: "open", Path: from, Err: err}
	}
	return n.dump(to)
}

func (n *node) dump(path string) error {
	if !n.folder {
		return os.WriteFile(path, n.cache, n.mode)
	}
	for name, inner := range n.names {
		to := filepath.Join(path, name)
		if inner.folder {
			if err := os.MkdirAll(to, inner.mode); err != nil {
				return err
			}
		}
		if err := inner.dump(to); err != nil {
			return err
		}
	}
	return nil
}
