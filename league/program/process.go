package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"evenodd/league/words"
)

// exitDelay is the time that a program may take to exit after the end of its output.
const exitDelay = time.Second

// unread is the number of buffered lines. Further lines wait in the pipe; then the
// program waits.
const unread = 16

// A process is a running program. One goroutine at a time may use it.
type process struct {
	child   *Child
	output  *output
	lines   chan string   // of standard output; closed at its end
	maxLine int           // the most bytes of a line
	tooLong bool          // lines was closed because of a line that is too long
	ignored chan struct{} // closed when no goroutine reads lines
	ended   chan struct{} // closed after the exit, when all output was read
	answers int           // so far

	mu    sync.Mutex
	last  string // line of standard error
	place string // the last one in a source file that standard error named; "" for none
}

// launch starts a program.
func launch(program *Command, output *output) (*process, error) {
	c, err := program.Start(program.Path, program.Args, 3)
	if err != nil {
		return nil, err
	}
	p := &process{child: c, output: output, lines: make(chan string, unread), ignored: make(chan struct{}),
		ended: make(chan struct{}), maxLine: program.MaxLine}
	var reading sync.WaitGroup
	reading.Go(func() { p.readAnswers(c.Pipes[1]) })
	reading.Go(func() { p.readErrors(c.Pipes[2]) })
	go func() { // ends with the program; stop waits for it
		defer close(p.ended)
		<-c.exited
		for _, f := range c.Pipes[1:] {
			_ = f.SetReadDeadline(time.Now().Add(exitDelay)) // a process that has left the group may hold them open
		}
		reading.Wait()
		closeAll(c.Pipes)
	}()
	return p, nil
}

// readAnswers reads standard output to its end, or to a line that is too long.
func (p *process) readAnswers(stdout io.Reader) {
	defer close(p.lines)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, p.maxLine)
	for lines.Scan() {
		select {
		case p.lines <- lines.Text():
		case <-p.ignored:
			return
		}
	}
	p.tooLong = errors.Is(lines.Err(), bufio.ErrTooLong)
}

// readErrors logs standard error, within the limits of the log.
func (p *process) readErrors(stderr io.Reader) {
	for lines := bufio.NewReaderSize(stderr, MaxLogged); ; {
		line, rest, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		for rest && err == nil {
			_, rest, err = lines.ReadLine()
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		p.remember(strings.ToValidUTF8(text, "�"))
		p.output.log(zerolog.InfoLevel, "stderr", text, "OUTPUT", "says")
	}
}

// The lines of a traceback of Python with a place in a source file, and those of Node, which begins with the place.
var (
	pythonPlace = words.Pattern(`^\s*File "(.+)", line (\d+)`)
	nodePlace   = words.Pattern(`^(?:file://)?(\S*[/\\]\S+):(\d+)$`)
	nodeEnd     = words.Pattern(`^(?:    at |Node\.js v)`) // what Node writes after the error
)

// remember remembers a line on standard error, and the place in a source file that it names.
func (p *process) remember(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := pythonPlace().FindStringSubmatch(line)
	if found == nil {
		found = nodePlace().FindStringSubmatch(line)
	}
	switch {
	case len(found) > 0 && (!ofLibrary(found[1]) || p.place == ""):
		p.place = found[1] + ", line " + found[2]
	case p.place != "" && nodeEnd().MatchString(line):
		return
	}
	p.last = line
}

// ofLibrary tells whether a source file belongs to Python.
func ofLibrary(file string) bool {
	return strings.Contains(file, "/lib/python") || strings.HasPrefix(file, "<")
}

// The limits of the log of a program's output: bytes of a line, and lines per second after
// a burst.
const (
	MaxLogged       = 500
	loggedPerSecond = 10
	loggedAtOnce    = 100
)

// output logs what a program writes, also after it was restarted.
type output struct {
	noun    string // what the log calls the program
	logger  zerolog.Logger
	allowed *rate.Limiter
	omitted atomic.Int64
}

func newOutput(noun string, logger zerolog.Logger) *output {
	return &output{noun: noun, logger: logger, allowed: rate.NewLimiter(loggedPerSecond, loggedAtOnce)}
}

// event returns the name of an event of the program, such as BOT_STARTED.
func (o *output) event(name string) string { return strings.ToUpper(o.noun) + "_" + name }

// log logs a line; message says what the program did.
func (o *output) log(level zerolog.Level, stream, line, event, message string) {
	if !o.allowed.Allow() {
		o.omitted.Add(1)
		return
	}
	e := o.logger.WithLevel(level).Str(stream, words.Clip(strings.ToValidUTF8(line, "�"), MaxLogged))
	if n := o.omitted.Swap(0); n > 0 {
		e.Int64("not_logged", n)
	}
	e.Str("event_type", o.event(event)).Msgf("the %s %s", o.noun, message)
}

// clear discards the lines that the program printed before a question. It returns false
// if they are too much to be sure that the next line is an answer.
func (p *process) clear() bool {
	for printed := 0; printed <= maxPrinted; {
		select {
		case line, open := <-p.lines:
			if !open {
				return true // ask returns the error
			}
			p.chatter(line)
			printed += len(line) + 1
		default:
			return true
		}
	}
	return false
}

// chatter logs a line that is not an answer.
func (p *process) chatter(line string) {
	p.output.log(zerolog.WarnLevel, "stdout", line, "CHATTERED",
		"printed a line that is not an answer: print answers to standard output and everything else to standard error")
}

// maxPrinted is the most bytes of all lines before an answer.
const maxPrinted = 16 << 20

// ask sends a question and waits until a time, or until closed is closed, for a line that is an answer; limit says in
// words how the time is limited. After a *WrongAnswerError the process can still be used; after any other error it
// cannot.
func (p *process) ask(question []byte, read func(line string) error, until time.Time, limit string,
	closed <-chan struct{}) error {
	stdin := p.child.Pipes[0]
	_ = stdin.SetWriteDeadline(until) // pipes support it
	if _, err := stdin.Write(question); errors.Is(err, os.ErrDeadlineExceeded) {
		return failed(TimedOut, "hangs: it does not read its standard input")
	} // after any other error the program has exited, maybe after an answer
	timeout := time.After(time.Until(until))
	chatter, said := "", 0
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				return p.endOfOutput()
			}
			if err := read(line); !errors.Is(err, ErrChatter) {
				return err
			}
			p.chatter(line)
			chatter = words.Clip(line, 60)
			if said += len(line) + 1; said > maxPrinted {
				return &Error{Kind: TooLarge, Detail: fmt.Sprintf("printed %d MB and no answer", maxPrinted>>20), Printed: chatter}
			}
		case <-timeout:
			if said > 0 {
				return &Error{Kind: TimedOut, Detail: fmt.Sprintf("did not answer in time (%s)", limit), Printed: chatter}
			}
			return failed(TimedOut, "did not answer in time (%s); an answer is one line, and flushed", limit)
		case <-closed:
			return ErrClosed
		}
	}
}

// endOfOutput returns the reason for the end of standard output.
func (p *process) endOfOutput() error {
	if p.tooLong {
		return failed(TooLarge, "printed a line of more than %d KB", p.maxLine>>10)
	}
	if !closedWithin(p.ended, exitDelay) {
		return failed(Ended, "has closed its standard output")
	}
	end := p.child.ending
	last, place := p.lastError()
	return &Error{Kind: Ended, Detail: "ended before it answered: " + end.Text, Status: end.Text, Last: last, Place: place,
		success: end.Success}
}

// lastError returns the last line on standard error, and the last place in a source file that was named there.
func (p *process) lastError() (line, place string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.place
}

// exited tells whether the program has exited.
func (p *process) exited() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop ends the program, and waits until all its output was read. Gently, it first closes
// standard input and sends SIGTERM.
func (p *process) stop(gently bool) {
	close(p.ignored)
	p.child.Stop(gently)
	<-p.ended
}
