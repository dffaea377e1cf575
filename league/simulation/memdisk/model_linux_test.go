package memdisk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/disk"
)

// TestModel does random operations on the disk of the machine and on one in memory without faults: results and errors
// are the same. Unix has flock and no locks that keep files from being read.
func TestModel(t *testing.T) {
	root, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &model{t: t, root: filepath.Join(root, fmt.Sprint(n))}
		inMemory := memdisk.New(memdisk.Options{}).Process()
		m.disks = [2]disk.Disk{disk.Real{}, inMemory}
		for _, d := range m.disks {
			require.NoError(t, d.MkdirAll(m.root, 0o755))
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": m.open, "createTemp": m.createTemp, "rename": m.rename, "link": m.link, "remove": m.remove, "mkdir": m.mkdir,
			"mkdirAll": m.mkdirAll, "readDir": m.readDir, "syncFolder": m.syncFolder, "read": m.read, "readAt": m.readAt,
			"write": m.write, "truncate": m.truncate, "lock": m.lock, "close": m.close, "chmod": m.chmod, "isAt": m.isAt,
			"lockFile": m.lockFile, "sync": m.sync,
			"": m.check,
		})
		for _, pair := range m.files {
			_, _ = pair[0].Close(), pair[1].Close()
		}
		require.NoError(t, os.RemoveAll(m.root))
	})
}

// A model is two disks that should be the same.
type model struct {
	t     *rapid.T
	root  string
	disks [2]disk.Disk
	files [][2]disk.File
	locks [][2]func() error
}

// path is any path: of few, so that they exist often.
func (m *model) path(t *rapid.T) string {
	return filepath.Join(m.root, rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "."}).Draw(t, "path"))
}

// both does something on both disks.
func (m *model) both(t *rapid.T, do func(i int, d disk.Disk) (any, error)) (done bool) {
	var results, errs [2]string
	for i, d := range m.disks {
		result, err := do(i, d)
		results[i], errs[i] = fmt.Sprintf("%v", result), fmt.Sprint(err)
		if err != nil && results[i] == "" {
			results[i] = "<nil>"
		}
	}
	require.Equal(t, errs[0], errs[1])
	require.Equal(t, results[0], results[1])
	return errs[0] == "<nil>"
}

// with does something with an open file of both disks, if there is one.
func (m *model) with(t *rapid.T, do func(f disk.File) (any, error)) {
	if len(m.files) == 0 {
		return
	}
	pair := m.files[rapid.IntRange(0, len(m.files)-1).Draw(t, "file")]
	m.both(t, func(i int, _ disk.Disk) (any, error) { return do(pair[i]) })
}

func (m *model) open(t *rapid.T) {
	path := m.path(t)
	flag := rapid.SampledFrom([]int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY}).Draw(t, "access")
	for _, f := range []int{os.O_CREATE, os.O_EXCL, os.O_APPEND, os.O_TRUNC} {
		if rapid.Bool().Draw(t, "flag") {
			flag |= f
		}
	}
	if flag&os.O_CREATE == 0 {
		flag &^= os.O_EXCL // undefined
	}
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		flag &^= os.O_TRUNC // undefined
	}
	var pair [2]disk.File
	if m.both(t, func(i int, d disk.Disk) (any, error) {
		var err error
		pair[i], err = d.OpenFile(path, flag, 0o644)
		return nil, err
	}) {
		m.files = append(m.files, pair)
	}
}

func (m *model) createTemp(t *rapid.T) {
	dir, pattern := m.path(t), rapid.SampledFrom([]string{"a.*.tmp", "x", "*"}).Draw(t, "pattern")
	var pair [2]disk.File
	ok := true
	for i, d := range m.disks {
		f, err := d.CreateTemp(dir, pattern)
		pair[i], ok = f, ok && err == nil
	}
	require.Equal(t, ok, pair[0] != nil || pair[1] != nil)
	if ok {
		m.files = append(m.files, pair)
		for i, d := range m.disks { // the names differ
			before, after, _ := strings.Cut(pattern, "*")
			require.Regexp(t, "^"+before+"[0-9]+"+after+"$", filepath.Base(pair[i].Name()))
			require.NoError(t, d.Rename(pair[i].Name(), filepath.Join(m.root, "temporary")))
		}
		m.files = m.files[:len(m.files)-1]
		for _, f := range pair {
			require.NoError(t, f.Close())
		}
	}
}

func (m *model) rename(t *rapid.T) {
	from, to := m.path(t), m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.Rename(from, to) })
}

func (m *model) link(t *rapid.T) {
	from, to := m.path(t), m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.Link(from, to) })
}

func (m *model) remove(t *rapid.T) {
	if path := m.path(t); path != m.root {
		m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.Remove(path) })
	}
}

func (m *model) mkdir(t *rapid.T) {
	path := m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.Mkdir(path, 0o700) })
}

func (m *model) mkdirAll(t *rapid.T) {
	path := m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.MkdirAll(path, 0o755) })
}

// describe describes a file.
func describe(i fs.FileInfo) string {
	if i.IsDir() {
		return fmt.Sprint(i.Name(), i.Mode()) // the size is that of the file system
	}
	return fmt.Sprint(i.Name(), i.Mode(), i.Size())
}

func (m *model) readDir(t *rapid.T) {
	path := m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) {
		entries, err := d.ReadDir(path)
		var all []string
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			all = append(all, describe(info))
		}
		return all, err
	})
}

func (m *model) syncFolder(t *rapid.T) {
	path := m.path(t)
	m.both(t, func(_ int, d disk.Disk) (any, error) { return nil, d.SyncFolder(path) })
}

func (m *model) read(t *rapid.T) {
	size := rapid.IntRange(0, 2000).Draw(t, "size")
	m.with(t, func(f disk.File) (any, error) {
		text := make([]byte, size)
		n, err := f.Read(text)
		return string(text[:n]), err
	})
}

func (m *model) readAt(t *rapid.T) {
	size, offset := rapid.IntRange(0, 2000).Draw(t, "size"), rapid.Int64Range(-1, 3000).Draw(t, "offset")
	m.with(t, func(f disk.File) (any, error) {
		text := make([]byte, size)
		n, err := f.ReadAt(text, offset)
		return string(text[:n]), err
	})
}

func (m *model) write(t *rapid.T) {
	text := strings.Repeat(rapid.StringMatching("[a-z]{0,9}").Draw(t, "text"), rapid.IntRange(1, 200).Draw(t, "times"))
	m.with(t, func(f disk.File) (any, error) { return f.Write([]byte(text)) })
}

func (m *model) truncate(t *rapid.T) {
	size := rapid.Int64Range(-1, 3000).Draw(t, "size")
	m.with(t, func(f disk.File) (any, error) { return nil, f.Truncate(size) })
}

func (m *model) lock(t *rapid.T) {
	how := rapid.SampledFrom([]string{"exclusive", "shared", "unlock"}).Draw(t, "how")
	m.with(t, func(f disk.File) (any, error) {
		if how == "unlock" {
			f.Unlock()
			return nil, nil
		}
		err := f.TryLock(how == "exclusive")
		return [2]bool{err == nil, errors.Is(err, disk.ErrInUse)}, nil // that of a closed file has other words
	})
}

func (m *model) lockFile(t *rapid.T) {
	if len(m.locks) > 0 && rapid.Bool().Draw(t, "unlock") {
		pair := m.locks[0]
		m.locks = m.locks[1:]
		m.both(t, func(i int, _ disk.Disk) (any, error) { return nil, pair[i]() })
		return
	}
	path, exclusive := m.path(t), rapid.Bool().Draw(t, "exclusive")
	var pair [2]func() error
	if m.both(t, func(i int, d disk.Disk) (any, error) {
		var err error
		pair[i], err = d.LockFile(path, exclusive)
		return nil, err
	}) {
		m.locks = append(m.locks, pair)
	}
}

func (m *model) close(t *rapid.T) {
	m.with(t, func(f disk.File) (any, error) { return nil, f.Close() })
}

func (m *model) chmod(t *rapid.T) {
	mode := rapid.SampledFrom([]fs.FileMode{0o600, 0o644}).Draw(t, "mode")
	m.with(t, func(f disk.File) (any, error) {
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, nil
		}
		return nil, f.Chmod(mode)
	})
}

func (m *model) isAt(t *rapid.T) {
	path := m.path(t)
	m.with(t, func(f disk.File) (any, error) { return f.IsAt(path), nil })
}

func (m *model) sync(t *rapid.T) {
	m.with(t, func(f disk.File) (any, error) { return nil, f.Sync() })
}

// check compares what is at all paths.
func (m *model) check(t *rapid.T) {
	for _, path := range []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "temporary"} {
		m.both(t, func(_ int, d disk.Disk) (any, error) {
			info, err := d.Stat(filepath.Join(m.root, path))
			if err != nil {
				return nil, err
			}
			return describe(info), nil
		})
	}
	m.with(t, func(f disk.File) (any, error) {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return describe(info), nil
	})
}
