package cmd

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// logTime is the time format of logs; times are UTC.
const logTime = "2006-01-02T15:04:05.000Z"

// ConfigureLogs sets the field names of log lines in the logging
// library, for the whole process. Call it once, before Execute.
func ConfigureLogs() {
	stdlog.SetOutput(io.Discard) // net/http writes input of untrusted callers there
	zerolog.TimestampFieldName = "timestamp"
	zerolog.TimeFieldFormat = logTime
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = func(l zerolog.Level) string { return strings.ToUpper(l.String()) }
}

// newLogger makes a logger that writes readable lines to a terminal, JSON to other
// writers, and JSON to file, unless it is nil. sender returns the agent_id of each line;
// it changes when the agent registers. w gets the lines from level on, file those from
// fileLevel on, but no finer level than debug. Messages have level debug, as in 003 §10.6.3.
func newLogger(w io.Writer, level, fileLevel string, sender func() string, file *logFile) zerolog.Logger {
	l, _ := zerolog.ParseLevel(level) // a flag allows no other words
	if isTerminal(w) {
		w = consoleWriter(w)
	}
	w = withoutTokens{w}
	if l > zerolog.DebugLevel {
		w = &oncePerRound{Writer: w}
	}
	if file != nil {
		stored, _ := zerolog.ParseLevel(fileLevel)
		stored = max(zerolog.DebugLevel, stored)
		w = zerolog.MultiLevelWriter(atLeast(l, w), atLeast(stored, withoutTokens{file}))
		l = min(l, stored) // code that asks for the level must see the file's
	}
	log := zerolog.New(w).Level(l).With().Timestamp().Logger()
	return log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if id := sender(); id != "" {
			e.Str("agent_id", id)
		}
	}))
}

// consoleWriter writes readable lines, and escapes their texts.
func consoleWriter(w io.Writer) io.Writer {
	escape := func(value any) string {
		switch v := value.(type) {
		case nil:
			return ""
		case []byte: // JSON
			return words.Escape(string(v))
		}
		return words.Escape(fmt.Sprint(value))
	}
	return zerolog.ConsoleWriter{
		Out: w, TimeFormat: time.TimeOnly, FieldsExclude: []string{"agent_id", "event_type"},
		FormatMessage: escape, FormatFieldValue: escape, FormatErrFieldValue: escape,
	}
}

// withoutTokens replaces tokens in lines, and escapes characters that would control a
// terminal: agents may send both in members that are logged.
type withoutTokens struct{ io.Writer }

func (w withoutTokens) Write(line []byte) (int, error) {
	_, err := w.Writer.Write(words.EscapeJSON(protocol.HideTokens(line)))
	return len(line), err
}

// atLeast writes only lines from a level on.
func atLeast(l zerolog.Level, w io.Writer) zerolog.LevelWriter {
	return &zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: w}, Level: l}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A progress is how far a work is.
type progress struct {
	what  string
	begun time.Time

	mu                 sync.Mutex
	first, done, total int // total is 0 before they are known
}

// showProgress shows on a terminal how far a work is, on one line, from longWork until stop is called. Without
// calls of set, which is nil if nothing is shown, the line has only the time.
func (s streams) showProgress(what string) (set func(done, total int), stop func()) {
	p := &progress{what: what, begun: time.Now()}
	if s.longWork == 0 || !isTerminal(s.err) {
		return nil, func() {}
	}
	return p.set, background(func(ctx context.Context) {
		tick, erase := time.NewTicker(s.longWork), ""
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				tick.Reset(200 * time.Millisecond)
				erase = "\r\x1b[K"
				draw(s.err, erase+p.line(now))
			case <-ctx.Done():
				draw(s.err, erase)
				return
			}
		}
	})
}

func (p *progress) set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 {
		p.first = done // a league that resumes has results already
	}
	p.done, p.total = done, total
}

// line says how much is done, the time that it took, and the time that the rest takes at this rate.
func (p *progress) line(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.begun)
	text := p.what + ": "
	if p.total > 0 {
		text += fmt.Sprintf("%d of %d in ", p.done, p.total)
	}
	text += took.Round(time.Second).String()
	if now := p.done - p.first; now > 0 {
		left := time.Duration(float64(took) / float64(now) * float64(p.total-p.done))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}

// agentFileLevel is the level of the file of an agent: at the usual level of the screen, it has each message, too.
func agentFileLevel(level string) string {
	if level == zerolog.InfoLevel.String() {
		return zerolog.DebugLevel.String()
	}
	return level
}
