package cmd

import (
	"io"
	stdlog "log"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"evenodd/league/protocol"
)

// logTime is how a log writes the time, which is UTC.
const logTime = "2006-01-02T15:04:05.000Z"

// configureLogs names the fields of a log line as spec 003 table 12 does. The
// library keeps these names for the whole process.
func configureLogs() {
	stdlog.SetOutput(io.Discard) // net/http quotes there what strangers say without being asked
	zerolog.TimestampFieldName = "timestamp"
	zerolog.TimeFieldFormat = logTime
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = func(l zerolog.Level) string { return strings.ToUpper(l.String()) }
}

// newLogger writes human lines to a terminal, and JSON otherwise, and to a file
// as well, unless that is nil. Who, asked for every line, is the agent's id: it
// changes when the league gives it one. Level is what w shows: the file takes
// everything from DEBUG on, because an agent documents the messages it sends and
// receives (spec 003 §9.5.2).
func newLogger(w io.Writer, level string, who func() string, file *logFile) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(strings.ToLower(level))
	if err != nil || level == "" {
		return zerolog.Nop(), usage("--log-level %q: one of debug, info, warn, error, disabled", level)
	}
	if isTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, FieldsExclude: []string{"agent_id", "event_type"}}
	}
	w = withoutTokens{w}
	if file != nil {
		w = zerolog.MultiLevelWriter(atLeast(l, w), atLeast(zerolog.DebugLevel, withoutTokens{file}))
		l = min(l, zerolog.DebugLevel) // who asks the logger whether a line is wanted must hear yes
	}
	log := zerolog.New(w).Level(l).With().Timestamp().Logger()
	return log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if id := who(); id != "" {
			e.Str("agent_id", id)
		}
	})), nil
}

// withoutTokens writes lines without what looks like a token: agents send them
// where they do not belong, and what they send is logged.
type withoutTokens struct{ io.Writer }

func (w withoutTokens) Write(line []byte) (int, error) {
	_, err := w.Writer.Write(protocol.HideTokens(line))
	return len(line), err
}

// atLeast keeps from w the lines below a level.
func atLeast(l zerolog.Level, w io.Writer) zerolog.LevelWriter {
	return &zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: w}, Level: l}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
