package external

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Programs configures how the programs of strategies run. This program runs a second time as the supervisor of each
// of them, so it must call Supervise first. On Windows, a job object takes the place of the supervisor.
type Programs struct {
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
	return nil
}

// environment returns the variables that a program gets.
func (o *Programs) environment() []string {
	passed := []string{} // not nil, which would mean all
	names := slices.Concat(passedVariables(), o.Env)
	for _, variable := range o.Environ {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(names, func(n string) bool {
			return n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)
		}) {
			passed = append(passed, variable)
		}
	}
	return passed
}

// A child is a running program with all processes that it has started. Safe for concurrent
// use.
type child struct {
	group

	cmd    *exec.Cmd     // the program, or its supervisor
	pipes  []*os.File    // to its standard input, from its standard output and, if read, its standard error
	exited chan struct{} // closed after the exit
	ending ending        // to be read after the exit
}

// An ending tells how a program exited.
type ending struct {
	Text    string // such as "exit status 2"
	Success bool   // exit status 0
}

// start starts a program with pipes for its first standard files: 2 without standard error, else 3.
func (o *Programs) start(path string, args []string, files int) (*child, error) {
	theirs, ours, err := pipes(files)
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs)
	c, err := o.launch(append([]string{path}, args...), theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	c.pipes = ours
	return c, nil
}

// pipes opens pipes for the first standard files of a program: its input, its output and its errors. It
// returns the ends of the program and those of this process.
func pipes(n int) (theirs, ours []*os.File, err error) {
	for i := range n {
		read, write, err := os.Pipe()
		if err != nil {
			closeAll(slices.Concat(theirs, ours))
			return nil, nil, err
		}
		if i == 0 {
			read, write = write, read
		}
		theirs, ours = append(theirs, write), append(ours, read)
	}
	return theirs, ours, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // an error loses no data
	}
}

// command returns a child whose command is not started yet.
func (o *Programs) command(path string, args []string, files []*os.File) *child {
	cmd := exec.CommandContext(context.Background(), path) // stop ends it
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Env, cmd.Dir = args, files[0], files[1], o.environment(), o.Folder
	if len(files) > 2 {
		cmd.Stderr = files[2]
	}
	return &child{cmd: cmd, exited: make(chan struct{})}
}

// await waits for the exit of the command, and stores how it came about: as its supervisor has told, if it has.
func (c *child) await(told ending) {
	_ = c.cmd.Wait() // ProcessState has the result
	c.kill()         // the whole group
	c.ending = cmp.Or(told, ending{c.cmd.ProcessState.String(), c.cmd.ProcessState.Success()})
	close(c.exited)
}

// The time that a program has to exit: after its standard input is closed, and then after
// SIGTERM.
const (
	untilTerm = time.Second
	untilKill = 2 * time.Second
)

// stop ends the program and waits for its exit. Gently, it first closes standard input and
// sends SIGTERM.
func (c *child) stop(gently bool) {
	if gently {
		_ = c.pipes[0].Close()
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
