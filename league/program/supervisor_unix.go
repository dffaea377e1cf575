//go:build unix

package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
)

// superviseCommand is the hidden command that runs Supervise. The next argument is a mode.
const (
	superviseCommand = "__supervise"
	openMode         = "--"
	sandboxMode      = "--sandbox"
)

// terminateByte on the control pipe asks for SIGTERM. The end of the pipe, which the kernel
// brings about also if this process is killed, ends all processes.
const terminateByte = 't'

// A group is the processes of a program, which its supervisor ends.
type group struct {
	control  *os.File // to the supervisor
	isolated bool     // in a PID namespace
}

// A startError says why a supervisor could not start its program.
type startError struct{ reason string }

func (e *startError) Error() string { return e.reason }

// launch starts a program. Args begin with its path.
func (o *Programs) launch(args []string, files []*os.File) (*Child, error) {
	c, err := o.supervise(args, files, !o.withoutNamespaces)
	if _, failed := errors.AsType[*startError](err); err == nil || failed {
		return c, err
	}
	return o.supervise(args, files, false) // the system refuses namespaces
}

// supervise starts the supervisor of a program, and waits until it has started the program.
func (o *Programs) supervise(args []string, files []*os.File, isolated bool) (*Child, error) {
	self, err := Self()
	if err != nil {
		return nil, err
	}
	theirs, ours, err := pipes(2)
	if err != nil {
		return nil, err
	}
	mode := openMode
	if o.Sandbox {
		mode = sandboxMode
	}
	c := o.command(self, slices.Concat([]string{"evenodd", superviseCommand, mode}, o.Limits.arguments(), args), files)
	c.cmd.ExtraFiles, c.cmd.SysProcAttr = theirs, supervisorAttributes(isolated)
	c.group = group{control: ours[0], isolated: isolated && namespaces}
	err = c.cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	var failure string
	reports := json.NewDecoder(ours[1])
	err = reports.Decode(&failure)
	go func() { // ends with the program; stop waits for it
		var told ending
		_ = reports.Decode(&told) // nothing if the supervisor was killed
		_ = ours[1].Close()
		c.await(told)
	}()
	if err == nil && failure == "" {
		return c, nil
	}
	<-c.exited
	if err != nil {
		return nil, fmt.Errorf("the supervisor failed: %s", c.ending.Text)
	}
	return nil, &startError{failure}
}

// terminate asks the program to exit.
func (c *Child) terminate() {
	_, _ = c.control.Write([]byte{terminateByte}) // fails if the supervisor has exited
}

// kill ends the program and all processes that it has started.
func (c *Child) kill() { _ = c.control.Close() } // may be closed already

// Supervise runs this process as the supervisor of a program, if the arguments ask for it,
// and returns the exit code. The command line must call it before anything else.
//
// The supervisor starts the program and ends all its processes when the program or its
// parent ends. Its parent is a player, or an agent that asks a game; standard input, output and error are those of the
// program, and the next two files are the ends of the pipes from and to the parent. It reports
// to the parent in JSON: first why the program could not be started, "" if it was, then its ending.
func Supervise(args, environ []string) (code int, asked bool) {
	if len(args) > 3 && args[0] == limitCommand {
		limits, rest := parseLimits(args[1:])
		_, _ = os.NewFile(3, "failure").WriteString(limits.run(rest[0], rest, environ).Error())
		return 1, true
	}
	if len(args) < 5 || args[0] != superviseCommand {
		return 0, false
	}
	limits, command := parseLimits(args[2:])
	runtime.LockOSThread() // the sandbox applies to this thread and the processes that it starts
	commands, reports := os.NewFile(3, "commands"), json.NewEncoder(os.NewFile(4, "reports"))
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	signal.Notify(make(chan os.Signal, 1)) // the program must not end its supervisor by a signal
	program, err := startSupervised(args[1] == sandboxMode, limits, command, environ)
	if err != nil {
		_ = reports.Encode(err.Error())
		return 1, true
	}
	for fd := range 3 {
		_ = syscall.Close(fd) // so that the parent sees when the program has closed its output
	}
	_ = reports.Encode("") // fails if the parent has ended; so does reading commands
	go obey(commands, program)
	status, used := reap(program)
	killRest(program)
	_ = reports.Encode(ending{limits.explain(describe(status), status, used), status.ExitStatus() == 0})
	return 0, true
}

// startSupervised starts the program in its own process group, and returns its id.
func startSupervised(sandboxed bool, limits Limits, args, environ []string) (pid int, err error) {
	if sandboxed {
		if err := enterSandbox(); err != nil {
			return 0, fmt.Errorf("sandbox: %w", err)
		}
	}
	protectSupervisor()
	attributes := &syscall.ProcAttr{Env: environ, Files: []uintptr{0, 1, 2}, Sys: programAttributes()}
	if limits != (Limits{}) {
		return limits.start(args, attributes)
	}
	pid, err = syscall.ForkExec(args[0], args, attributes) //nolint:gosec // the user's own program
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: args[0], Err: err}
	}
	return pid, nil
}

// obey executes the commands of the parent until it ends, and then kills the program.
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

// reap waits for the end of the program, and for orphans until then. It returns also the time that the program used.
func reap(program int) (status syscall.WaitStatus, used syscall.Rusage) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, &used)
		if pid == program || err != nil && !errors.Is(err, syscall.EINTR) {
			return status, used
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
