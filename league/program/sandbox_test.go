//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// attempts returns what programs may do outside of the sandbox and not in it. The current
// folder has the files written, truncated, opened, renamed, removed and attributes, the
// folder empty, and the addresses of listeners in tcp and unix.
func attempts() map[string]func() error {
	return map[string]func() error{
		"create a file":                            func() error { return os.WriteFile("created", nil, 0o600) },
		"create a file in /tmp":                    createTemporary,
		"write a file":                             func() error { return os.WriteFile("written", []byte("x"), 0o600) },
		"truncate a file":                          func() error { return os.Truncate("truncated", 0) },
		"truncate a file that is open for reading": func() error { return with("opened", os.O_RDONLY|os.O_TRUNC, nil) },
		"make a folder":                            func() error { return os.Mkdir("folder", 0o700) },
		"make a symbolic link":                     func() error { return os.Symlink("x", "symlink") },
		"make a hard link":                         func() error { return os.Link("attributes", "link") },
		"make a pipe":                              func() error { return syscall.Mkfifo("pipe", 0o600) },
		"rename a file":                            func() error { return os.Rename("renamed", "new") },
		"remove a file":                            func() error { return os.Remove("removed") },
		"remove a folder":                          func() error { return os.Remove("empty") },
		"change a mode":                            func() error { return os.Chmod("attributes", 0o600) },
		"change a mode by the newest call":         func() error { return unix.Fchmodat(unix.AT_FDCWD, "attributes", 0o600, unix.AT_SYMLINK_NOFOLLOW) },
		"change an owner":                          func() error { return os.Chown("attributes", os.Getuid(), os.Getgid()) },
		"change a time":                            func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, "attributes", nil, 0) },
		"set the flags of a file":                  func() error { return with("attributes", os.O_RDONLY, setFileFlags) },
		"lock a file": func() error {
			return with("attributes", os.O_RDONLY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		},
		"connect by TCP":             func() error { return dial("tcp", "tcp") },
		"send by UDP":                func() error { return dial("udp", "tcp") },
		"connect to a local service": func() error { return dial("unix", "unix") },
		"send to a local service by a socket of a pair": sendFromPair,
		"change the generation of a file":               func() error { return with("attributes", os.O_RDONLY, setGeneration) },
		"use shared memory of another program":          useSharedMemory,
		"send to a message queue of another program":    useMessageQueue,
		"listen": func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				err = l.Close()
			}
			return err
		},
		"set up io_uring": func() error {
			_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
			if errno == unix.EFAULT || errno == unix.EINVAL { // the kernel has looked at the arguments
				errno = 0
			}
			return errnoOf(errno)
		},
	}
}

func errnoOf(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func createTemporary() error {
	f, err := os.CreateTemp("/tmp", "sandbox")
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// with opens a file and calls do with it.
func with(name string, flags int, do func(fd int) error) error {
	fd, err := unix.Open(name, flags, 0)
	if err != nil || do == nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return do(fd)
}

func setFileFlags(fd int) error {
	var flags int
	for _, request := range []uintptr{unix.FS_IOC_GETFLAGS, unix.FS_IOC_SETFLAGS} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&flags))); errno != 0 {
			return errno
		}
	}
	return nil
}

// setGeneration changes an attribute of a file that is open for reading.
func setGeneration(fd int) error {
	const getGeneration, setGeneration = 0x80087601, 0x40087602 // FS_IOC_GETVERSION, FS_IOC_SETVERSION
	var generation int
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getGeneration, uintptr(unsafe.Pointer(&generation)))
	if errno == 0 || errno == unix.ENOTTY { // a file system without generations
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), setGeneration, uintptr(unsafe.Pointer(&generation)))
	}
	if errno == unix.ENOTTY {
		errno = 0
	}
	return errnoOf(errno)
}

// sendFromPair sends to the address in the file unixgram, from a socket that needs no call of
// socket.
func sendFromPair() error {
	address, err := textIn("unixgram")
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: address})
}

// useSharedMemory attaches the segment whose id is in the file segment.
func useSharedMemory() error {
	id, err := idIn("segment")
	if err != nil {
		return err
	}
	address, _, errno := unix.Syscall(unix.SYS_SHMAT, uintptr(id), 0, 0)
	if errno != 0 {
		return errno
	}
	_, _, errno = unix.Syscall(unix.SYS_SHMDT, address, 0, 0)
	return errnoOf(errno)
}

// useMessageQueue sends to the queue whose id is in the file queue.
func useMessageQueue() error {
	id, err := idIn("queue")
	if err != nil {
		return err
	}
	message := struct {
		kind int
		text [1]byte
	}{kind: 1}
	_, _, errno := unix.Syscall6(unix.SYS_MSGSND, uintptr(id), uintptr(unsafe.Pointer(&message)), 1, ipcNoWait, 0, 0)
	return errnoOf(errno)
}

const ipcNoWait = 0o4000 // IPC_NOWAIT

// textIn reads a file that the test has prepared.
func textIn(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		err = fmt.Errorf("this must be possible: %w", err)
	}
	return string(text), err
}

func idIn(file string) (int, error) {
	text, err := textIn(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// makeIPC makes a shared memory segment and a message queue, which a test removes.
func makeIPC(t *testing.T) {
	t.Helper()
	const remove = 0 // IPC_RMID
	for _, object := range []struct {
		file         string
		make, remove uintptr
		args         [3]uintptr
	}{
		{"segment", unix.SYS_SHMGET, unix.SYS_SHMCTL, [3]uintptr{unix.IPC_PRIVATE, 4096, 0o600}},
		{"queue", unix.SYS_MSGGET, unix.SYS_MSGCTL, [3]uintptr{unix.IPC_PRIVATE, 0o600}},
	} {
		id, _, errno := unix.Syscall(object.make, object.args[0], object.args[1], object.args[2])
		require.NoError(t, errnoOf(errno))
		t.Cleanup(func() { _, _, _ = unix.Syscall(object.remove, id, remove, 0) })
		require.NoError(t, os.WriteFile(object.file, []byte(strconv.Itoa(int(id))), 0o600))
	}
}

// dial connects to the address in a file.
func dial(network, name string) error {
	address, err := textIn(name)
	if err != nil {
		return err
	}
	c, err := net.Dial(network, address)
	if err == nil {
		err = c.Close()
	}
	return err
}

// hostileVariable is set in a process that makes all attempts.
const hostileVariable = "EVENODD_TEST_HOSTILE"

// TestHostileProgram is the program of TestSandbox. It prints the error of each attempt.
func TestHostileProgram(t *testing.T) {
	if os.Getenv(hostileVariable) == "" {
		t.Skip("the program of another test")
	}
	results := map[string]string{}
	for name, do := range attempts() {
		results[name] = "done"
		if err := do(); err != nil {
			results[name] = err.Error()
		}
	}
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(results))
}

// attempted returns the results of all attempts of a program.
func attempted(t *testing.T, sandbox bool) (results map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"written", "truncated", "opened", "renamed", "removed", "attributes"} {
		require.NoError(t, os.WriteFile(name, []byte("content"), 0o600))
	}
	require.NoError(t, os.Mkdir("empty", 0o700))
	var config net.ListenConfig
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		l, err := config.Listen(t.Context(), network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		require.NoError(t, os.WriteFile(network, []byte(l.Addr().String()), 0o600))
	}
	datagrams, err := config.ListenPacket(t.Context(), "unixgram", filepath.Join(t.TempDir(), "d"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = datagrams.Close() })
	require.NoError(t, os.WriteFile("unixgram", []byte(datagrams.LocalAddr().String()), 0o600))
	makeIPC(t)
	programs := (&log{}).programs()
	programs.Environ, programs.Env, programs.Sandbox = append(programs.Environ, hostileVariable+"=1"), append(programs.Env, hostileVariable), sandbox
	require.NoError(t, programs.Check())
	c, err := programs.Start(os.Args[0], []string{"-test.run=^TestHostileProgram$"}, 2)
	require.NoError(t, err)
	defer c.ClosePipes()
	require.NoError(t, json.NewDecoder(c.Pipes[1]).Decode(&results))
	<-c.exited
	return results
}

// needSandbox skips a test on a system without sandbox.
func needSandbox(t *testing.T) {
	t.Helper()
	if err := sandboxError(); err != nil {
		t.Skipf("NOT TESTED: the sandbox, because %v", err)
	}
}

func TestSandbox(t *testing.T) {
	needSandbox(t)
	for name, result := range attempted(t, false) {
		assert.Equal(t, "done", result, "%s, outside of the sandbox", name)
	}
	for name, result := range attempted(t, true) {
		assert.Regexp(t, `operation not permitted|permission denied|invalid cross-device link`, result, "%s", name)
		assert.NotContains(t, result, "must be possible", name)
	}
	for _, name := range []string{"written", "truncated", "opened", "renamed", "removed", "attributes"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, "content", string(text), name)
	}
}

func TestSandboxedProgramReadsItsFiles(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	b := runScript(t, `echo hidden > /dev/null; while read -r q; do . "$1/program.lib"; answer; done`,
		func(o *Programs) { o.Sandbox = true })
	library := filepath.Join(b.folder, "program.lib")
	require.NoError(t, os.WriteFile(library, []byte("answer() { echo odd; }"), 0o600))
	if os.Geteuid() == 0 { // root may read the files of all users
		require.NoError(t, os.Chown(library, 65534, 65534))
	}
	b.answers(t, "odd")
}

func TestSandboxedPython(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: Python in the sandbox, because there is no python3 here")
	}
	file := filepath.Join(t.TempDir(), "bot.py")
	require.NoError(t, os.WriteFile(file, []byte(`import random, socket, sys
for line in sys.stdin:
    try:
        socket.create_connection(("127.0.0.1", 1))
        print("even", flush=True)
    except PermissionError:
        print("odd", flush=True)
`), 0o600))
	l := &log{}
	programs := l.programs()
	programs.Sandbox = true
	r, err := l.run(fmt.Sprintf("python3 '%s'", file), programs)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	answer, err := ask(r, long)
	require.NoError(t, err, l)
	assert.Equal(t, "odd", answer)
}
