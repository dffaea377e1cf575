package supervise

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"time"
)

// outputDelay is how long the output of a process that has ended is read, if a program that
// it started still has the output open.
const outputDelay = 2 * time.Second

// A Command says how a process is started.
type Command struct {
	Path string // of this program
	Args []string
	Dir  string // "" for that of this process
	Env  []string

	// Output and Errors get the lines of standard output and standard error, without line
	// end. A longer line than maxLine bytes comes in pieces.
	Output, Errors func(line string)
}

// childCommand precedes the arguments of a supervised process.
const childCommand = "__child"

// Child tells whether args are those of a supervised process, and returns its own arguments.
// Such a process must end when its standard input does: see UntilEnd.
func Child(args []string) (own []string, supervised bool) {
	if len(args) > 0 && args[0] == childCommand {
		return args[1:], true
	}
	return args, false
}

// UntilEnd returns a context that ends with parent, or when nothing more can be read from
// input.
func UntilEnd(parent context.Context, input io.Reader) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() { // ends with the input, at the latest with the process
		_, _ = io.Copy(io.Discard, input) // any error is the end
		cancel()
	}()
	return ctx
}

// Start starts a process that ends at the latest when this one does.
func (c *Command) Start() (*Running, error) {
	cmd := exec.CommandContext(context.Background(), c.Path) //nolint:gosec // this program; Stop and Kill end it
	cmd.Args = append([]string{"evenodd", childCommand}, c.Args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, c.Env, outputDelay
	output, errors := &lines{line: c.Output}, &lines{line: c.Errors}
	cmd.Stdout, cmd.Stderr = output, errors
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan Exit, 1)
	go func() { // ends with the process
		_ = cmd.Wait() // the state tells
		output.end()
		errors.end()
		exited <- Exit{cmd.ProcessState.ExitCode(), cmd.ProcessState.String()}
	}()
	return &Running{
		PID: cmd.Process.Pid, Exited: exited,
		Stop: func() { _ = alive.Close() },
		Kill: func() { _ = cmd.Process.Kill() }, // it may have ended
	}, nil
}

// maxLine is the largest number of bytes of a line.
const maxLine = 64 << 10

// lines is a writer that passes each line on.
type lines struct {
	line func(string)
	rest []byte // of a line that has no end yet
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.line(string(bytes.TrimSuffix(line, []byte("\r"))))
		l.rest = rest
	}
	for len(l.rest) >= maxLine {
		l.line(string(l.rest[:maxLine]))
		l.rest = l.rest[maxLine:]
	}
	return len(b), nil
}

// end passes a last line without line end on.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.line(string(l.rest))
		l.rest = nil
	}
}
