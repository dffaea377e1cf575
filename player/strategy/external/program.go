package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Programs configures how the programs of strategies run.
type Programs struct {
	// Self is the path of this program, which must call Supervise first. It runs a second
	// time as the supervisor of each program. "" means that there is no supervisor: processes
	// that leave the program's process group may then outlive it.
	Self    string
	Environ []string // the environment of this process, as os.Environ returns it
	Env     []string // names of variables that programs get besides those of passedVariables
	Sandbox bool     // programs have no network and a read-only file system
	// Folder is where programs start, an absolute path; "" for the folder of this process. The
	// path of a program is relative to it.
	Folder string

	withoutNamespaces bool // as on a system that refuses them; only tests set it
}

// passedVariables returns the names of the environment variables that every program gets. The
// second line is for Windows. All other variables may hold secrets of this program or the user.
func passedVariables() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
		"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "APPDATA",
		"LOCALAPPDATA"}
}

// check returns an error for settings that no program can have.
func (o *Programs) check() error {
	for _, name := range o.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("--exec-env %q: must be the name of an environment variable, such as PYTHONPATH", name)
		}
	}
	if !o.Sandbox {
		return nil
	}
	if err := sandboxError(); err != nil {
		return fmt.Errorf("--exec-sandbox: %w. Leave the flag out, or start the player in a container without network", err)
	}
	if o.Self == "" {
		return errors.New("--exec-sandbox: there is no supervisor")
	}
	return nil
}

// environment returns the variables that a program gets.
func (o *Programs) environment() []string {
	passed := []string{} // not nil, which would mean all
	names := slices.Concat(passedVariables(), o.Env)
	for _, variable := range o.Environ {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(names, func(n string) bool {
			return n == name || runtime.GOOS == "windows" &&
				strings.EqualFold(n, name)
		}) {
			passed = append(passed, variable)
		}
	}
	return passed
}

// A child is a running program with all processes that it has started. Safe for concurrent
// use.
type child struct {
	cmd      *exec.Cmd     // the program, or its supervisor
	group    group         // of a program without supervisor
	control  *os.File      // to the supervisor; nil without one
	status   *os.File      // from the supervisor
	isolated bool          // in a PID namespace
	exited   chan struct{} // closed after the exit
	ending   ending        // to be read after the exit
}

// An ending tells how a program exited.
type ending struct {
	text    string // such as "exit status 2"
	success bool   // exit status 0
}

// start starts a program with its standard input, output and, if there is a third file, error.
func (o *Programs) start(path string, args []string, files []*os.File) (*child, error) {
	cmd := exec.CommandContext(context.Background(), path, args...) //nolint:gosec // the user's own program; stop ends it
	if o.Self == "" {
		c := &child{cmd: cmd}
		c.group.prepare(cmd)
		if err := o.run(c, files); err != nil {
			return nil, err
		}
		c.group.add(cmd)
		go c.await(nil)
		return c, nil
	}
	c, err := o.supervise(cmd.Args, files, !o.withoutNamespaces)
	if _, failed := errors.AsType[*startError](err); err == nil || failed {
		return c, err
	}
	return o.supervise(cmd.Args, files, false) // the system refuses namespaces
}

// run starts the command of a child.
func (o *Programs) run(c *child, files []*os.File) error {
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Env, c.cmd.Dir = files[0], files[1], o.environment(), o.Folder
	if len(files) > 2 {
		c.cmd.Stderr = files[2]
	}
	c.exited = make(chan struct{})
	return c.cmd.Start()
}

// superviseCommand is the hidden command that runs Supervise. The next argument is a mode.
const (
	superviseCommand = "__supervise"
	openMode         = "--"
	sandboxMode      = "--sandbox"
)

// The messages of a supervisor, each on a line: a failed start with the reason, a start, and
// the end of the program with "true" for success and a text. Texts are quoted.
const (
	failedMessage  = "failed "
	startedMessage = "started\n"
	endedMessage   = "ended "
)

// terminateByte on the control pipe asks for SIGTERM. The end of the pipe, which the kernel
// brings about also if this process is killed, ends all processes.
const terminateByte = 't'

// A startError says why a supervisor could not start its program.
type startError struct{ reason string }

func (e *startError) Error() string { return e.reason }

// supervise starts the supervisor of a program, and waits until it has started the program.
func (o *Programs) supervise(args []string, files []*os.File, isolated bool) (*child, error) {
	theirs, ours, err := pipes(2)
	if err != nil {
		return nil, err
	}
	mode := openMode
	if o.Sandbox {
		mode = sandboxMode
	}
	cmd := exec.CommandContext(context.Background(), o.Self) //nolint:gosec // this program
	cmd.Args = append([]string{"evenodd", superviseCommand, mode}, args...)
	cmd.ExtraFiles = theirs
	cmd.SysProcAttr = supervisorAttributes(isolated)
	c := &child{cmd: cmd, control: ours[0], status: ours[1], isolated: isolated && namespaces}
	err = o.run(c, files)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	from := bufio.NewReader(c.status)
	message, _ := from.ReadString('\n') // an error leaves another message than these
	go c.await(from)
	if message == startedMessage {
		return c, nil
	}
	<-c.exited
	reason, err := strconv.Unquote(strings.TrimPrefix(strings.TrimSuffix(message, "\n"), failedMessage))
	if err != nil {
		return nil, fmt.Errorf("the supervisor failed: %s", c.ending.text)
	}
	return nil, &startError{reason}
}

// await waits for the exit, and stores how it came about.
func (c *child) await(supervisor *bufio.Reader) {
	defer close(c.exited)
	message := ""
	if supervisor != nil {
		message, _ = supervisor.ReadString('\n') // none if the supervisor was killed
		_ = c.status.Close()
	}
	_ = c.cmd.Wait() // ProcessState has the result
	c.kill()         // the whole group
	c.ending = ending{text: c.cmd.ProcessState.String(), success: c.cmd.ProcessState.Success()}
	if rest, ok := strings.CutPrefix(message, endedMessage); ok {
		_, _ = fmt.Sscanf(rest, "%t %q", &c.ending.success, &c.ending.text)
	}
}

// terminate asks the program to exit.
func (c *child) terminate() {
	if c.control == nil {
		c.group.terminate(c.cmd)
		return
	}
	_, _ = c.control.Write([]byte{terminateByte}) // fails if the supervisor has exited
}

// kill ends the program and all processes that it has started.
func (c *child) kill() {
	if c.control == nil {
		c.group.kill(c.cmd)
		return
	}
	_ = c.control.Close() // may be closed already
}

// stop ends the program and waits for its exit. Gently, it first closes standard input and
// sends SIGTERM.
func (c *child) stop(stdin io.Closer, gently bool) {
	if gently {
		_ = stdin.Close()
		if closedWithin(c.exited, untilTerm) {
			return
		}
		c.terminate()
		if closedWithin(c.exited, untilKill) {
			return
		}
	}
	c.kill()
	<-c.exited
}

// closedWithin waits until a channel is closed, and tells whether that was in time.
func closedWithin(channel <-chan struct{}, length time.Duration) bool {
	select {
	case <-channel:
		return true
	case <-time.After(length):
		return false
	}
}
