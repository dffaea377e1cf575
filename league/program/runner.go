package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Find finds the executable of a command line, whose words may be quoted as in a shell. Setting is what stands before
// the line: "strategy exec:", "--game exec:" or "--mcp-command ".
func (o *Programs) Find(setting, line string) (path string, args []string, err error) {
	short, example := strings.TrimPrefix(setting, "strategy "), "bot"
	if name, found := strings.CutPrefix(setting, "game "); found {
		short, example = name, "game"
	}
	list, err := Words(line)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s%s: %w", setting, line, err)
	case len(list) == 0 || list[0] == "":
		return "", nil, fmt.Errorf("%s needs a program, such as %s./%s", strings.TrimSpace(setting), short, example)
	}
	path = list[0]
	if o.Folder != "" && strings.ContainsRune(path, '/') && !filepath.IsAbs(path) {
		path = filepath.Join(o.Folder, path)
	}
	path, err = exec.LookPath(path)
	switch {
	case err == nil:
		return path, list[1:], nil
	case errors.Is(err, fs.ErrPermission):
		return "", nil,
			fmt.Errorf("%s%s: %s is not executable: run chmod +x, or name its interpreter, as in %spython3 %s.py", setting,
				line, list[0], short, example)
	case strings.ContainsRune(list[0], '/') && errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%s%s: program %s not found", setting, line, list[0])
	case errors.Is(err, exec.ErrNotFound):
		return "", nil, fmt.Errorf("%s%s: program %s not found in PATH; for a file in this folder use %s./%s", setting, line,
			list[0], short, list[0])
	}
	return "", nil, fmt.Errorf("%s%s: %w", setting, line, err)
}

// A Command is a program to run.
type Command struct {
	Path string
	Args []string
	Programs
	Noun    string // what the log calls the program: "bot", "game"
	MaxLine int    // the most bytes of a line of its answers
	Log     zerolog.Logger
}

// A Runner asks a program one question at a time, each a line that it answers with a line. It starts the program again
// after an exit or a failure. One goroutine at a time may use it.
type Runner struct {
	Command

	output  *output
	running *process // nil before the next start
	starts  int
}

// Run starts a program. The caller must call Close.
func Run(c *Command) (*Runner, error) {
	r := &Runner{Command: *c, output: newOutput(c.Noun, c.Log)}
	err := r.start()
	return r, err
}

// answered tells whether the running process has answered.
func (r *Runner) answered() bool { return r.running != nil && r.running.answers > 0 }

// Starts is how often the program was started.
func (r *Runner) Starts() int { return r.starts }

func (r *Runner) start() (err error) {
	r.running, err = launch(&r.Command, r.output)
	if err == nil {
		r.starts++
		r.Log.Debug().Int("pid", r.running.child.cmd.Process.Pid).Bool("isolated", r.running.child.isolated).
			Str("event_type", r.output.event("STARTED")).Msg("started the " + r.Noun)
	}
	return err
}

// A Question is a line that a program answers with a line.
type Question struct {
	// Line returns the question with its line break, the time of its answer, and says in words how this time is limited.
	// First tells that the program has not answered yet since its start: it may need time to load libraries.
	Line func(first bool) (line []byte, until time.Time, limit string, err error)
	// Read reads a line of the program. It returns ErrChatter for one that is not an answer, such as the greeting of
	// a library, and a *WrongAnswerError for an answer that cannot be used.
	Read func(line string) error
}

// ErrChatter reports a line that is not an answer.
var ErrChatter = errors.New("no answer")

// A WrongAnswerError is an answer of a program that cannot be used. The program has answered, so it can receive the
// next question.
type WrongAnswerError struct{ Text string }

// Error returns the text.
func (e *WrongAnswerError) Error() string { return e.Text }

// Wrong returns a *WrongAnswerError.
func Wrong(format string, args ...any) error { return &WrongAnswerError{fmt.Sprintf(format, args...)} }

// Ask asks the program, which it starts if necessary, until abandoned is closed. A program may exit after each answer;
// then it is restarted for the next question. After any error but a *WrongAnswerError, the next question goes to a new
// process. The errors are *Error, ErrClosed if the question is abandoned, and those of Question.Line and of the start.
func (r *Runner) Ask(abandoned <-chan struct{}, q Question) error {
	for {
		if err := r.ready(); err != nil {
			return err
		}
		before := r.running.answers
		line, until, limit, err := q.Line(before == 0)
		if err != nil {
			return fmt.Errorf("cannot be asked: %w", err)
		}
		err = r.running.ask(line, q.Read, until, limit, abandoned)
		if err == nil {
			r.running.answers++
			return nil
		}
		if _, answered := errors.AsType[*WrongAnswerError](err); answered {
			return err
		}
		r.drop()
		if failed, ok := errors.AsType[*Error](err); !ok || !failed.success || before == 0 {
			return err
		}
	}
}

// drop stops the process.
func (r *Runner) drop() {
	if r.running != nil {
		r.running.stop(false)
		r.running = nil
	}
}

// ready starts the program if necessary, and discards unread output.
func (r *Runner) ready() error {
	if r.running != nil && r.running.exited() {
		last, _ := r.running.lastError()
		r.Log.Warn().Str("state", r.running.child.ending.Text).Str("last_words", last).
			Str("event_type", r.output.event("EXITED")).Msgf("the %s exited, restarting it", r.Noun)
		r.drop()
	}
	if r.running != nil && !r.running.clear() {
		r.Log.Warn().Str("event_type", r.output.event("FLOODED")).Msgf("the %s prints too much, restarting it", r.Noun)
		r.drop()
	}
	if r.running != nil {
		return nil
	}
	if err := r.start(); err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	return nil
}

// Close ends the program gently.
func (r *Runner) Close() {
	if r.running != nil {
		r.running.stop(true)
		r.running = nil
	}
}
