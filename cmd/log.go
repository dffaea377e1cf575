package cmd

import (
	"fmt"
	"io"
	stdlog "log"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"evenodd/config"
	"evenodd/league/protocol"
)

// logTime is the time format of logs; times are UTC.
const logTime = "2006-01-02T15:04:05.000Z"

// ConfigureLogs sets the field names of log lines (spec 003 table 12) in the logging
// library, for the whole process. Call it once, before Execute.
func ConfigureLogs() {
	stdlog.SetOutput(io.Discard) // net/http writes input of untrusted callers there
	zerolog.TimestampFieldName = "timestamp"
	zerolog.TimeFieldFormat = logTime
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = func(l zerolog.Level) string { return strings.ToUpper(l.String()) }
}

// startLog makes the logger of a process, and returns the settings of the system, which limit
// its file.
func startLog(s streams, files *config.Loader, file *logFile, level, fileLevel string, sender func() string) (zerolog.Logger, *config.System, error) {
	system, err := files.System()
	if err != nil {
		return zerolog.Nop(), nil, asUsage(err)
	}
	file.limit(system.Logs)
	log, err := newLogger(s.err, level, fileLevel, sender, file)
	return log, system, err
}

// newLogger makes a logger that writes readable lines to a terminal, JSON to other
// writers, and JSON to file, unless it is nil. sender returns the agent_id of each line;
// it changes when the agent registers. w gets the lines from level on, file those from
// fileLevel on, but no finer level than debug. The messages of an agent (spec 003 §9.5.2)
// have level debug, because they take several times the space of all other files.
func newLogger(w io.Writer, level, fileLevel string, sender func() string, file *logFile) (zerolog.Logger, error) {
	l, err := parseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	if isTerminal(w) {
		w = consoleWriter(w)
	}
	w = withoutTokens{w}
	if file != nil {
		stored, err := parseLevel(fileLevel)
		if err != nil {
			return zerolog.Nop(), err
		}
		stored = max(zerolog.DebugLevel, stored)
		w = zerolog.MultiLevelWriter(atLeast(l, w), atLeast(stored, withoutTokens{file}))
		l = min(l, stored) // code that asks for the level must see the file's
	}
	log := zerolog.New(w).Level(l).With().Timestamp().Logger()
	return log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if id := sender(); id != "" {
			e.Str("agent_id", id)
		}
	})), nil
}

// consoleWriter writes readable lines, and escapes their texts.
func consoleWriter(w io.Writer) io.Writer {
	escape := func(value any) string {
		switch v := value.(type) {
		case nil:
			return ""
		case []byte: // JSON
			return protocol.Escape(string(v))
		}
		return protocol.Escape(fmt.Sprint(value))
	}
	return zerolog.ConsoleWriter{
		Out: w, TimeFormat: time.TimeOnly, FieldsExclude: []string{"agent_id", "event_type"},
		FormatMessage: escape, FormatFieldValue: escape, FormatErrFieldValue: escape,
	}
}

// logLevels are the values of --log-level.
func logLevels() []string { return []string{"debug", "info", "warn", "error", "disabled"} }

func parseLevel(level string) (zerolog.Level, error) {
	l, err := zerolog.ParseLevel(strings.ToLower(level))
	if err != nil || level == "" {
		return l, oneOf("log-level", level, logLevels()...)
	}
	return l, nil
}

// withoutTokens replaces tokens in lines, and escapes characters that would control a
// terminal: agents may send both in members that are logged.
type withoutTokens struct{ io.Writer }

func (w withoutTokens) Write(line []byte) (int, error) {
	_, err := w.Writer.Write(protocol.EscapeJSON(protocol.HideTokens(line)))
	return len(line), err
}

// atLeast writes only lines from a level on.
func atLeast(l zerolog.Level, w io.Writer) zerolog.LevelWriter {
	return &zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: w}, Level: l}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
