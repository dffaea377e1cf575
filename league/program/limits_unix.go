//go:build unix

package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitCommand is the hidden command that limits its process and then becomes the program. The supervisor cannot
// limit itself, because it needs more address space than some programs may have, and another process can only be
// limited after it has begun to run the program.
const limitCommand = "__limit"

// limitsCPU tells whether this system limits the processor time of a process.
const limitsCPU = true

// arguments are the limits as arguments of a command.
func (l Limits) arguments() []string {
	return []string{strconv.FormatInt(l.Memory, 10), strconv.FormatInt(l.CPU, 10)}
}

// parseLimits reads the arguments of limits, and returns the others.
func parseLimits(args []string) (l Limits, rest []string) {
	l.Memory, _ = strconv.ParseInt(args[0], 10, 64) // as arguments wrote it
	l.CPU, _ = strconv.ParseInt(args[1], 10, 64)
	return l, args[2:]
}

// start starts a program in a process with the limits.
func (l Limits) start(args []string, attributes *syscall.ProcAttr) (pid int, err error) {
	self, err := Self()
	if err != nil {
		return 0, err
	}
	failure, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer closeAll([]*os.File{failure})
	attributes.Files = append(attributes.Files, write.Fd())
	command := append(append([]string{"evenodd", limitCommand}, l.arguments()...), args...)
	pid, err = syscall.ForkExec(self, command, attributes) //nolint:gosec // this program
	closeAll([]*os.File{write})
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: args[0], Err: err}
	}
	text, err := io.ReadAll(failure) // nothing when the program runs, which closes the pipe
	if err == nil && len(text) > 0 {
		err = errors.New(string(text))
	}
	return pid, err
}

// run limits this process, and replaces it by the program. It returns only after a failure.
func (l Limits) run(path string, args, environ []string) error {
	syscall.CloseOnExec(3)
	program, err := prepareExec(path, args, environ)
	if err != nil {
		return &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	if l.CPU > 0 {
		if err := setLimit(unix.RLIMIT_CPU, l.CPU, l.CPU+1); err != nil { // SIGXCPU, and SIGKILL a second later
			return fmt.Errorf("--exec-cpu: %w", err)
		}
	}
	if l.Memory > 0 {
		if err := limitMemory(l.Memory); err != nil {
			return fmt.Errorf("--exec-memory: %w", err)
		}
	}
	return &os.PathError{Op: "fork/exec", Path: path, Err: program()}
}

// setLimit sets a limit of this process, unless it has a lower one already.
func setLimit(which int, soft, hard int64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(which, &limit); err != nil {
		return err
	}
	limit.Cur, limit.Max = lower(limit.Cur, soft), lower(limit.Max, hard)
	return unix.Setrlimit(which, &limit)
}

// lower returns the lower one of two limits, of which systems have different types.
func lower[T int64 | uint64](before T, limit int64) T {
	if uint64(before) < uint64(limit) { //nolint:gosec // not negative
		return before
	}
	return T(limit)
}

// explain adds to the end of a failed program which limit it has reached, or may have.
func (l Limits) explain(end string, status syscall.WaitStatus, used syscall.Rusage) string {
	seconds := int64(used.Utime.Sec) + int64(used.Stime.Sec) //nolint:unconvert // 32 bits on some systems
	beyond := status.Signaled() && status.Signal() == syscall.SIGXCPU || status.ExitStatus() == 128+int(syscall.SIGXCPU)
	switch {
	case status.ExitStatus() == 0:
	case l.CPU > 0 && (beyond || seconds >= l.CPU):
		return fmt.Sprintf("processor time limit of %d s (%s)", l.CPU, end)
	case l.Memory > 0:
		return fmt.Sprintf("%s, with a memory limit of %s", end, FormatMemory(l.Memory))
	}
	return end
}
