package program

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"evenodd/league/words"
)

// A Kind tells errors of programs apart.
type Kind string

// The kinds of errors.
const (
	TimedOut   Kind = "timed out"   // no answer in time
	Ended      Kind = "ended"       // it has exited, or closed its output, before it answered
	TooLarge   Kind = "too large"   // it printed more than an answer may have
	Unreadable Kind = "unreadable"  // its answer has another form than the question asks for
	Contradict Kind = "contradicts" // its answer contradicts an earlier one, or itself
)

// An Error says why a program gave no answer that can be used. It is no fault of any player.
type Error struct {
	Kind    Kind
	Subject string // "the game nim"; "" for a bot, which its player names
	Detail  string // what the program did, such as "did not answer in time"
	Status  string // how it exited, such as "exit status 2"; "" if it did not
	Last    string // its last line on standard error, which must not leave this computer; "" for none
	Place   string // the last place in a source file that it named there, such as "nim.py, line 7"; "" for none
	Printed string // the last line that it printed in place of an answer, which must not leave it either; "" for none

	success bool // exit status 0
}

// Error returns what the program did.
func (e *Error) Error() string { return strings.TrimPrefix(e.Subject+" "+e.Detail, " ") + e.Said() }

// Said returns the last lines of the program, for the operator; "" for none.
func (e *Error) Said() (said string) {
	if e.Printed != "" {
		said = fmt.Sprintf("; it printed %q instead", e.Printed)
	}
	if e.Last != "" {
		said += fmt.Sprintf("; the last line on standard error was %q", e.Last)
	}
	if e.Place != "" {
		said += ", the last place in a source file " + words.Escape(e.Place)
	}
	return said
}

// Cause returns what the program did, for other agents.
func (e *Error) Cause() string {
	if e.Subject != "" {
		return e.Subject + " " + e.Detail
	}
	return cmp.Or(e.Status, e.Detail)
}

// ErrClosed reports a question that was abandoned because its program is stopped.
var ErrClosed = errors.New("the program is being stopped")

func failed(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
