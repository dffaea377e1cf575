//go:build unix

package external

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Supervise runs this process as the supervisor of a program, if the arguments ask for it,
// and returns the exit code. The command line must call it before anything else.
//
// The supervisor starts the program and ends all its processes when the program or the
// player ends. Its parent is the player; standard input, output and error are those of the
// program, and the next two files are the ends of the pipes from and to the player.
func Supervise(args, environ []string) (code int, asked bool) {
	if len(args) < 3 || args[0] != superviseCommand {
		return 0, false
	}
	runtime.LockOSThread() // the sandbox applies to this thread and the processes that it starts
	commands, messages := os.NewFile(3, "commands"), os.NewFile(4, "messages")
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	signal.Notify(make(chan os.Signal, 1)) // the program must not end its supervisor by a signal
	program, err := startSupervised(args[1] == sandboxMode, args[2], args[2:], environ)
	if err != nil {
		_, _ = fmt.Fprintf(messages, "%s%q\n", failedMessage, err)
		return 1, true
	}
	for fd := range 3 {
		_ = syscall.Close(fd) // so that the player sees when the program has closed its output
	}
	_, _ = messages.WriteString(startedMessage) // fails if the player has ended; so does reading commands
	go obey(commands, program)
	status := reap(program)
	killRest(program)
	_, _ = fmt.Fprintf(messages, "%s%t %q\n", endedMessage, status.ExitStatus() == 0, describe(status))
	return 0, true
}

// startSupervised starts the program in its own process group, and returns its id.
func startSupervised(sandboxed bool, path string, args, environ []string) (pid int, err error) {
	if sandboxed {
		if err := enterSandbox(); err != nil {
			return 0, fmt.Errorf("sandbox: %w", err)
		}
	}
	protectSupervisor()
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{Env: environ, Files: []uintptr{0, 1, 2}, Sys: programAttributes()}) //nolint:gosec // the user's own program
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	return pid, nil
}

// obey executes the commands of the player until it ends, and then kills the program.
func obey(commands io.Reader, program int) {
	for command := make([]byte, 1); ; {
		if n, err := commands.Read(command); n == 0 || err != nil {
			break
		}
		_ = syscall.Kill(-program, syscall.SIGTERM) // the group may have exited already
	}
	_ = syscall.Kill(-program, syscall.SIGKILL)
	_ = syscall.Kill(program, syscall.SIGKILL) // it may have left its group
}

// reap waits for the end of the program, and for orphans until then.
func reap(program int) (status syscall.WaitStatus) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == program || err != nil && !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}

// describe is ProcessState.String for a status.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
