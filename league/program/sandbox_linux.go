//go:build linux && (amd64 || arm64)

package program

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// neededLandlock is the version of Landlock that also protects files from being truncated.
const neededLandlock = 3

// sandboxError says why this system has no sandbox; nil if it has one.
func sandboxError() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS || errno == unix.EOPNOTSUPP:
		return fmt.Errorf(
			"the kernel has no Landlock, or it is switched off: start Linux 6.2 or later with lsm=landlock,… (%w)", errno)
	case errno != 0:
		return fmt.Errorf("the system refuses Landlock: %w", errno)
	case version < neededLandlock:
		return fmt.Errorf("the kernel has version %d of Landlock and the sandbox needs %d: use Linux 6.2 or later", version,
			neededLandlock)
	}
	return nil
}

// enterSandbox takes the rights to write files, to use the network, and to change the
// attributes of files from this thread and from the processes that it starts. The thread
// must be locked.
//
// Landlock cannot restrict sockets of all kinds nor attributes such as the mode, and seccomp
// cannot look at paths: the sandbox needs both. Neither needs privileges or namespaces.
// Package go-landlock would restrict all threads by their files in /proc, which a new PID
// namespace does not have.
func enterSandbox() error {
	if err := sandboxError(); err != nil {
		return err
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil { // those of the parent
		return fmt.Errorf("close_range: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := forbidWriting(); err != nil {
		return err
	}
	return forbidCalls()
}

// dropCapabilities keeps programs of root from getting capabilities other than that to read
// all files.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil // no_new_privs is enough
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if c == unix.CAP_DAC_READ_SEARCH {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) { // an unknown one
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}

// forbidWriting forbids by Landlock to create, write, truncate, rename and remove files, and
// to send signals to processes outside the sandbox if the kernel can forbid that. Programs
// may write to /dev/null.
func forbidWriting() error {
	const writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	rules := unix.LandlockRulesetAttr{Handled_access_fs: writing, Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	create := func() (uintptr, uintptr, unix.Errno) {
		return unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0) //nolint:gosec // a system call
	}
	ruleset, _, errno := create()
	if errno != 0 { // Linux before 6.12 cannot scope signals
		rules.Scoped = 0
		ruleset, _, errno = create()
	}
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	null, err := unix.Open(os.DevNull, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	writable := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE, Parent_fd: int32(null)}         //nolint:gosec // a small number
	if _, _, errno = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&writable)), 0, 0, 0); errno != 0 { //nolint:gosec // a system call
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// forbiddenCalls returns the system calls that fail in the sandbox, on all architectures.
func forbiddenCalls() []uint32 {
	return append(olderCalls(),
		// the network, sockets of local services, and io_uring, which can do the same
		unix.SYS_SOCKET, unix.SYS_IO_URING_SETUP,
		// attributes and locks of files
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
		unix.SYS_FLOCK,
		// objects of the kernel that outlive processes, also by the ids of existing ones, and keys
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	)
}

// newestCall is the highest number of a system call that was examined for forbiddenCalls.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

// allowedRequests returns the requests of ioctl that a program may use: those of pipes and
// terminals that only ask, and those of its own file descriptors. Others can change files
// that are open for reading, each file system in its own ways.
func allowedRequests() []uint32 {
	const askTerminal = 0x802c542a // TCGETS2
	// FIOCLEX, FIONCLEX, FIONBIO, FIOASYNC
	const closeOnExec, noCloseOnExec, nonBlocking, asynchronous = 0x5451, 0x5450, 0x5421, 0x5452
	return []uint32{unix.TCGETS, askTerminal, unix.TIOCGPGRP, unix.TIOCGWINSZ, unix.TIOCINQ, closeOnExec, noCloseOnExec,
		nonBlocking, asynchronous}
}

// Offsets in the data that a filter of seccomp reads: struct seccomp_data.
const (
	numberOffset = 0
	archOffset   = 4
	secondOffset = 24 // the lower half of the second argument
)

// forbidCalls installs the filter of seccomp: no call of forbiddenCalls, no pair of sockets
// but of streams, and no request of ioctl but the allowed ones. It kills programs that call the kernel in the
// way of another architecture, such as 32-bit programs, because their calls have other numbers.
func forbidCalls() error {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		over   = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		result = unix.BPF_RET | unix.BPF_K

		socketType = 0xf // SOCK_TYPE_MASK
	)
	refuse := unix.SockFilter{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	filter := []unix.SockFilter{
		{Code: load, K: archOffset},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: result, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: numberOffset},
		{Code: over, K: newestCall, Jf: 1},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, // programs then use an older call
	}
	for _, call := range forbiddenCalls() {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jf: 1}, refuse)
	}
	allow := unix.SockFilter{Code: result, K: unix.SECCOMP_RET_ALLOW}
	filter = append(filter,
		// Each end of a pair of datagram sockets could send to a local service.
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKETPAIR, Jf: 5},
		unix.SockFilter{Code: load, K: secondOffset},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: socketType},
		unix.SockFilter{Code: equal, K: unix.SOCK_STREAM, Jf: 1}, allow, refuse,
		unix.SockFilter{Code: equal, K: unix.SYS_IOCTL, Jt: 1}, allow,
		unix.SockFilter{Code: load, K: secondOffset})
	for _, request := range allowedRequests() {
		filter = append(filter, unix.SockFilter{Code: equal, K: request, Jf: 1}, allow)
	}
	filter = append(filter, refuse)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                                            //nolint:gosec // fewer than two hundred
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 { //nolint:gosec // a system call
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
