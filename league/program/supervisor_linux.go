package program

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Self returns the path of this program. It stays valid if the file is replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// namespaces tells whether this system can isolate programs, if it does not refuse.
const namespaces = true

// limitsMemory tells whether this system limits the address space of a process.
const limitsMemory = true

// limitMemory limits the address space of this process.
func limitMemory(size int64) error { return setLimit(unix.RLIMIT_AS, size, size) }

// prepareExec returns a function that replaces this process by a program, and returns only after a failure. The function
// allocates nothing: with a limit of its address space this process can have no room left.
func prepareExec(path string, args, environ []string) (run func() error, err error) {
	file, err := syscall.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	texts, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return nil, err
	}
	variables, err := syscall.SlicePtrFromStrings(environ)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, _, failure := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(file)), //nolint:gosec // as syscall.Exec
			uintptr(unsafe.Pointer(&texts[0])), uintptr(unsafe.Pointer(&variables[0]))) //nolint:gosec // likewise
		return failure
	}, nil
}

// supervisorAttributes puts a supervisor into its own session, because Ctrl-C must reach
// only this process, and a program must not write to the terminal. Isolated, it is also the
// first process of a PID namespace: when it ends, for whatever reason, the kernel kills all
// processes in the namespace, and no process can leave it. Only root may create one without
// a user namespace, in which each user has its own id and no other.
func supervisorAttributes(isolated bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !isolated {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWPID
	if user, group := os.Geteuid(), os.Getegid(); user != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}}
	}
	return a
}

// programAttributes ends a program that manages to kill its supervisor.
func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// protectSupervisor denies programs to trace the supervisor, and makes orphans its children.
// Without a PID namespace it can then find them.
func protectSupervisor() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// longestKill bounds the killing of a program that starts processes faster than they are
// killed.
const longestKill = 5 * time.Second

// killRest kills all processes that the program has left. In a PID namespace the kernel does
// it when the supervisor exits. Otherwise it kills its children until there are none: the
// children of a killed process become its children.
func killRest(group int) {
	if os.Getpid() == 1 {
		return
	}
	ended, late := make(chan os.Signal, 1), time.After(longestKill)
	signal.Notify(ended, syscall.SIGCHLD)
	_ = syscall.Kill(-group, syscall.SIGKILL)
	for {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		pid, err := 1, error(nil)
		for pid > 0 && err == nil {
			pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		select {
		case <-ended:
		case <-late:
			return
		}
	}
}

// children returns the ids of the children of this process.
func children() (pids []int) {
	entries, _ := os.ReadDir("/proc") // without /proc only the group is killed
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat") // a process may have ended
		text := string(stat)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name may contain spaces
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}
