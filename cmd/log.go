package cmd

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// configureLogs names the fields of a log line as spec 003 table 12 does. The
// library keeps these names for the whole process.
func configureLogs() {
	zerolog.TimestampFieldName = "timestamp"
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z"
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.LevelFieldMarshalFunc = func(l zerolog.Level) string { return strings.ToUpper(l.String()) }
}

// newLogger writes human lines to a terminal, and JSON otherwise. Who, asked
// for every line, is the agent's id: it changes when the league gives it one.
func newLogger(w io.Writer, level string, who func() string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(strings.ToLower(level))
	if err != nil || level == "" {
		return zerolog.Nop(), usage("--log-level %q: one of debug, info, warn, error, disabled", level)
	}
	if isTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, FieldsExclude: []string{"agent_id"}}
	}
	log := zerolog.New(w).Level(l).With().Timestamp().Logger()
	return log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if id := who(); id != "" {
			e.Str("agent_id", id)
		}
	})), nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
