// Package external has the strategies that think outside this process: a
// program of the user's in any language, and a language model. What they are
// asked is what a strategy may know; how long they may take follows from how
// long the referee waits.
package external

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"evenodd/player/strategy"
)

// Tools are what strategies need that reach outside.
type Tools struct {
	// Timeout is how long a question may take; 0 means 5 s for a program and 20 s
	// for a model. The referee's deadline may make it less.
	Timeout time.Duration
	LLM     LLM
	Log     zerolog.Logger
}

// What strategies of this package are called.
const (
	execPrefix = "exec:" // before the program and its arguments
	// Model is the strategy that asks a language model.
	Model = "llm"
)

// Runs tells whether a strategy is a program of the user's.
func Runs(name string) bool { return strings.HasPrefix(name, execPrefix) }

// Names lists what a strategy may be called, for people.
func Names() string { return strings.Join(strategy.Names(), ", ") + ", llm, exec:PROGRAM" }

// Check tells what is wrong with a strategy before anything is started: it is none,
// or plays none of the game types. What thinks outside plays any game.
func Check(name string, t Tools, types ...string) error {
	switch {
	case t.Timeout < 0:
		return fmt.Errorf("--bot-timeout %s: more than nothing", t.Timeout)
	case Runs(name):
		_, _, err := program(name)
		return err
	case name == Model:
		return t.LLM.check()
	}
	s, err := strategy.New(name)
	if err != nil {
		return fmt.Errorf("unknown strategy %q; there are: %s", name, Names())
	}
	return strategy.Fits(s, types...)
}

// Open makes the strategy of one player, and starts what it needs. That ends
// with Close.
func Open(name string, t Tools, types ...string) (strategy.Strategy, error) {
	if err := Check(name, t, types...); err != nil {
		return nil, err
	}
	switch {
	case Runs(name):
		return newBot(name, t)
	case name == Model:
		return newModel(t)
	}
	return strategy.New(name)
}

// Close ends what a strategy has started, and waits for its end. A strategy
// that has started nothing needs none.
func Close(s strategy.Strategy) {
	if c, ok := s.(interface{ Close() }); ok {
		c.Close()
	}
}

// Account tells what a strategy did outside, in a sentence; "" for one that did
// nothing there.
func Account(s strategy.Strategy) string {
	if a, ok := s.(interface{ Account() string }); ok {
		return a.Account()
	}
	return ""
}

// patience is how long a question may take: the limit, and never more than four
// fifths of what the caller gives, so that the answer is there in time.
func patience(ctx context.Context, v strategy.View, limit time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*4/5)
	}
	if v.Within > 0 {
		limit = min(limit, v.Within*4/5)
	}
	return max(limit, 0)
}

// clip is a text of others, short enough to be logged.
func clip(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + "…"
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
