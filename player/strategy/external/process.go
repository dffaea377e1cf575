package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// How long a program may take to end: by itself when its standard input is
// closed, then when it is asked to.
const (
	untilTerm = time.Second
	untilKill = 2 * time.Second
)

// aMoment is how long after the end of a program's output it may take to be
// gone.
const aMoment = time.Second

// unread is how many lines of a program wait to be read. What it says beyond
// that waits in its pipe, and then it waits itself.
const unread = 16

// A process is one life of a program. One goroutine at a time asks it.
type process struct {
	cmd     *exec.Cmd
	says    *saying
	stdin   *os.File
	lines   chan string   // of its standard output; closed at its end
	tooLong bool          // why lines was closed
	ignored chan struct{} // closed when nobody reads lines any more
	ended   chan struct{} // closed when it is gone, and everything it wrote was read
	answers int           // it has given

	mu   sync.Mutex
	last string // line on its standard error
}

// launch starts a program.
func launch(path string, args []string, says *saying) (*process, error) {
	p := &process{
		cmd:  exec.CommandContext(context.Background(), path, args...), //nolint:gosec // the user's own program; it is ended by end
		says: says, lines: make(chan string, unread), ignored: make(chan struct{}), ended: make(chan struct{}),
	}
	var pipes [3][2]*os.File // each to read, and to write
	var theirs, ours []*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(theirs, ours...))
			return nil, err
		}
		pipes[i] = [2]*os.File{r, w}
		if i == 0 {
			theirs, ours = append(theirs, r), append(ours, w)
		} else {
			theirs, ours = append(theirs, w), append(ours, r)
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	apart(p.cmd)
	err := p.cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	p.stdin = ours[0]
	var reading sync.WaitGroup
	reading.Go(func() { p.readAnswers(ours[1]) })
	reading.Go(func() { p.readErrors(ours[2]) })
	go func() { // ends with the program, which end sees to
		defer close(p.ended)
		_ = p.cmd.Wait() // the state tells
		kill(p.cmd)      // what it has started ends with it
		for _, f := range ours[1:] {
			_ = f.SetReadDeadline(time.Now().Add(aMoment)) // who left the group may hold them open
		}
		reading.Wait()
		closeAll(ours)
	}()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing is lost that anybody wants
	}
}

// readAnswers reads standard output until it ends, or has a line that is too
// long.
func (p *process) readAnswers(output io.Reader) {
	defer close(p.lines)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		select {
		case p.lines <- lines.Text():
		case <-p.ignored:
			return
		}
	}
	p.tooLong = errors.Is(lines.Err(), bufio.ErrTooLong)
}

// readErrors has standard error in the log, as much of it as anybody reads.
func (p *process) readErrors(output io.Reader) {
	for lines := bufio.NewReaderSize(output, maxLogged); ; {
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
		p.mu.Lock()
		p.last = strings.ToValidUTF8(text, "�")
		p.mu.Unlock()
		p.says.write(zerolog.InfoLevel, "stderr", text, protocol.EventBotSaid, "the bot says")
	}
}

// What of a program's words is logged: so many bytes of a line, and so many
// lines a second, after a first burst.
const (
	maxLogged       = 500
	loggedPerSecond = 10
	loggedAtOnce    = 100
)

// saying is the words of a program, in all its lives, as the log has them.
type saying struct {
	log      zerolog.Logger
	allowed  *rate.Limiter
	withheld atomic.Int64
}

func newSaying(log zerolog.Logger) *saying {
	return &saying{log: log, allowed: rate.NewLimiter(loggedPerSecond, loggedAtOnce)}
}

func (s *saying) write(level zerolog.Level, stream, line, event, message string) {
	if !s.allowed.Allow() {
		s.withheld.Add(1)
		return
	}
	e := s.log.WithLevel(level).Str(stream, clip(strings.ToValidUTF8(line, "�"), maxLogged))
	if n := s.withheld.Swap(0); n > 0 {
		e.Int64("not_logged", n)
	}
	e.Str("event_type", event).Msg(message)
}

// clear takes away what the program said without being asked. It is false when
// there is too much of it to be sure that the next line is an answer.
func (p *process) clear() bool {
	for range unread {
		select {
		case line, open := <-p.lines:
			if !open {
				return true // asking it tells
			}
			p.chatter(line)
		default:
			return true
		}
	}
	return false
}

// chatter logs a line that is no answer.
func (p *process) chatter(line string) {
	p.says.write(zerolog.WarnLevel, "stdout", line, protocol.EventBotChattered,
		"the bot prints what is no answer: standard output is for answers, standard error for all else")
}

// ask says a question and waits for the answer, until a time or until closed. A
// *wrongAnswerError leaves the process as it is; after any other error it is of no
// use.
func (p *process) ask(question []byte, options []string, until time.Time, closed <-chan struct{}) (choice, reason string, err error) {
	_ = p.stdin.SetWriteDeadline(until) // a pipe can
	if _, err := p.stdin.Write(question); errors.Is(err, os.ErrDeadlineExceeded) {
		return "", "", errors.New("hangs: it does not read its standard input")
	} // another error is that of a program that is gone: it may have answered before
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	chatter, said := "", 0
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				return "", "", p.silence()
			}
			choice, reason, err = choiceIn(line, options)
			if !errors.Is(err, errChatter) {
				return choice, reason, err
			}
			p.chatter(line)
			chatter = clip(line, 60)
			if said += len(line) + 1; said > maxLine {
				return "", "", fmt.Errorf("printed %d KB and no answer, last %q", maxLine>>10, chatter)
			}
		case <-late.C:
			if said > 0 {
				return "", "", fmt.Errorf("did not answer in time; it printed %q instead", chatter)
			}
			return "", "", errors.New("did not answer in time; an answer is one line, and flushed")
		case <-closed:
			return "", "", errClosed
		}
	}
}

// An endedError is what became of a program that said nothing.
type endedError struct {
	text string
	well bool // it ended by itself, without an error
}

func (e *endedError) Error() string { return e.text }

// silence tells why standard output has ended.
func (p *process) silence() error {
	if p.tooLong {
		return fmt.Errorf("printed a line of more than %d KB", maxLine>>10)
	}
	gone := time.NewTimer(aMoment)
	defer gone.Stop()
	select {
	case <-p.ended:
	case <-gone.C:
		return errors.New("has closed its standard output")
	}
	e := &endedError{text: "ended before it answered: " + p.cmd.ProcessState.String(), well: p.cmd.ProcessState.Success()}
	if last := p.lastError(); last != "" {
		e.text += fmt.Sprintf("; its last words were %q", last)
	}
	return e
}

func (p *process) lastError() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// gone tells whether the program has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end ends the program and waits until it is gone. Gently, it may end by itself
// first.
func (p *process) end(gently bool) {
	close(p.ignored)
	if gently {
		_ = p.stdin.Close()
		if p.wait(untilTerm) {
			return
		}
		terminate(p.cmd)
		if p.wait(untilKill) {
			return
		}
	}
	if !p.gone() {
		kill(p.cmd)
	}
	<-p.ended
}

// wait waits for the end, so long at most.
func (p *process) wait(length time.Duration) bool {
	late := time.NewTimer(length)
	defer late.Stop()
	select {
	case <-p.ended:
		return true
	case <-late.C:
		return false
	}
}
