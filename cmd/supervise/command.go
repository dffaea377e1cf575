package supervise

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"sync"
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

	Started  func(pid int)
	Stopping func()        // called before the process is told to stop
	Patience time.Duration // of a process that is told to stop, before it is killed
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

// Run runs a process, and waits for its end and for that of its output. When ctx ends, it tells the
// process to stop. The process ends at the latest when this one does.
func (c *Command) Run(ctx context.Context) Exit {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path) //nolint:gosec // this program
	cmd.Args = append([]string{"evenodd", childCommand}, c.Args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, c.Env, outputDelay
	output, toOutput := io.Pipe()
	errors, toErrors := io.Pipe()
	cmd.Stdout, cmd.Stderr = toOutput, toErrors
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Exit{-1, err.Error()}
	}
	var reading sync.WaitGroup
	reading.Go(func() { passOn(output, c.Output) })
	reading.Go(func() { passOn(errors, c.Errors) })
	c.Started(cmd.Process.Pid)
	stop := context.AfterFunc(ctx, func() {
		c.Stopping()
		_ = alive.Close()
		time.AfterFunc(c.Patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	})
	_ = cmd.Wait() // the state tells
	stop()
	_, _ = toOutput.Close(), toErrors.Close()
	reading.Wait()
	return Exit{cmd.ProcessState.ExitCode(), cmd.ProcessState.String()}
}

// maxLine is the largest number of bytes of a line.
const maxLine = 64 << 10

// passOn passes on each line that it reads.
func passOn(from io.Reader, line func(string)) {
	for lines := bufio.NewReaderSize(from, maxLine); ; {
		text, _, err := lines.ReadLine() // a piece, if it is too long
		if err != nil {
			return
		}
		line(string(text))
	}
}
