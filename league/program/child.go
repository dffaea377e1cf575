// Package program runs the programs of users: those that choose moves (bots), and those that are games. A supervisor
// ends each of them with all processes that it has started, limits and a sandbox apply to them, and each answers a line
// with a line. The package must not know leagues or roles, and takes programs only from the user's settings.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Programs configures how programs run. This program runs a second time as the supervisor of each
// of them, so it must call Supervise first. On Windows, a job object takes the place of the supervisor.
type Programs struct {
	Environ []string // the environment of this process, as os.Environ returns it
	Env     []string // names of variables that programs get besides those of passedVariables
	Sandbox bool     // programs have no network and a read-only file system
	Limits  Limits
	// Folder is where programs start, an absolute path; "" for the folder of this process. The
	// path of a program is relative to it.
	Folder string

	// as on a system that refuses namespaces, or lacks limits; only tests set them
	withoutNamespaces, withoutLimits bool
}

// Limits bound each process of a program on its own. 0 stands for no limit.
type Limits struct {
	Memory int64 // of its address space, in bytes
	CPU    int64 // processor time of its life, in seconds
}

// The largest limits. A smaller one could not hold any program.
const (
	mostMemory  = 1 << 40
	leastMemory = 1 << 20
	mostCPU     = 365 * 24 * 3600
)

// check returns an error for limits that the system lacks.
func (l *Limits) check(memory, cpu bool) error {
	const remedy = "this system has no such limit. Leave the flag out, or start evenodd in a container with limits"
	switch {
	case l.Memory != 0 && !memory:
		return errors.New("--exec-memory: " + remedy)
	case l.CPU != 0 && !cpu:
		return errors.New("--exec-cpu: " + remedy)
	}
	return nil
}

// ParseMemory reads a size such as 512MB or 2G; a number without a unit counts MB. Units are powers of 1,024.
func ParseMemory(text string) (size int64, err error) {
	digits := strings.TrimRight(strings.ToUpper(text), "KMGIB")
	unit, known := map[string]int64{"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[strings.TrimSuffix(
		strings.TrimSuffix(strings.ToUpper(text[len(digits):]), "B"), "I")]
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || number < 1 || number > mostMemory/unit || number*unit < leastMemory {
		return 0, errors.New("must be a size from 1MB to 1024GB, such as 512MB or 2GB")
	}
	return number * unit, nil
}

// FormatMemory returns a size in the form that ParseMemory reads.
func FormatMemory(size int64) string {
	switch {
	case size%(1<<30) == 0:
		return fmt.Sprintf("%dGB", size>>30)
	case size%(1<<20) == 0:
		return fmt.Sprintf("%dMB", size>>20)
	}
	return fmt.Sprintf("%dKB", size>>10)
}

// ParseCPU reads a time such as 30s or 5m, or a number of seconds.
func ParseCPU(text string) (seconds int64, err error) {
	if seconds, err = strconv.ParseInt(text, 10, 64); err != nil {
		var length time.Duration
		length, err = time.ParseDuration(text)
		seconds = int64((length + time.Second - 1) / time.Second)
	}
	if err != nil || seconds < 1 || seconds > mostCPU {
		return 0, errors.New("must be a time from 1s to a year, such as 30s or 5m")
	}
	return seconds, nil
}

// passedVariables returns the names of the environment variables that every program gets. The
// second line is for Windows. All other variables may hold secrets of this program or the user.
func passedVariables() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
		"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "APPDATA",
		"LOCALAPPDATA"}
}

// Check returns an error for settings that no program can have.
func (o *Programs) Check() error {
	for _, name := range o.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("--exec-env %q: must be the name of an environment variable, such as PYTHONPATH", name)
		}
	}
	if err := o.Limits.check(limitsMemory && !o.withoutLimits, limitsCPU && !o.withoutLimits); err != nil {
		return err
	}
	if !o.Sandbox {
		return nil
	}
	if err := sandboxError(); err != nil {
		return fmt.Errorf("--exec-sandbox: %w. Leave the flag out, or start evenodd in a container without network", err)
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

// A Child is a running program with all processes that it has started. Safe for concurrent
// use.
type Child struct {
	group

	Pipes  []*os.File    // to its standard input, from its standard output and, if read, its standard error
	cmd    *exec.Cmd     // the program, or its supervisor
	exited chan struct{} // closed after the exit
	ending ending        // to be read after the exit
}

// An ending tells how a program exited.
type ending struct {
	Text    string // such as "exit status 2"
	Success bool   // exit status 0
}

// Start starts a program with pipes for its first standard files: 2 without standard error, else 3. The caller must
// call Stop, and then ClosePipes.
func (o *Programs) Start(path string, args []string, files int) (*Child, error) {
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
	c.Pipes = ours
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
func (o *Programs) command(path string, args []string, files []*os.File) *Child {
	cmd := exec.CommandContext(context.Background(), path) // stop ends it
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Env, cmd.Dir = args, files[0], files[1], o.environment(), o.Folder
	if len(files) > 2 {
		cmd.Stderr = files[2]
	}
	return &Child{cmd: cmd, exited: make(chan struct{})}
}

// await waits for the exit of the command, and stores how it came about: as its supervisor has told, if it has.
func (c *Child) await(told ending) {
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

// Stop ends the program and waits for its exit. Gently, it first closes standard input and
// sends SIGTERM.
func (c *Child) Stop(gently bool) {
	if gently {
		_ = c.Pipes[0].Close()
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

// ClosePipes closes this end of the pipes.
func (c *Child) ClosePipes() { closeAll(c.Pipes) }

// closedWithin waits until a channel is closed, and tells whether that was in time.
func closedWithin(channel <-chan struct{}, length time.Duration) bool {
	select {
	case <-channel:
		return true
	case <-time.After(length):
		return false
	}
}
