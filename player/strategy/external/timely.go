package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// A timely strategy always decides in time: if the model, server or host that it asks does not
// choose, the fallback strategy does, and the log and the account say so. Safe for concurrent
// use.
type timely struct {
	name          string
	asked         string // such as "the MCP server"
	chose, failed string // types of events
	limit         time.Duration
	fallback      strategy.Strategy
	trial         bool // no fallback strategy chooses
	log           zerolog.Logger

	mu                    sync.Mutex // also of the strategy that embeds this one
	questions, byFallback int
	round                 int      // of the last failure
	causes                []string // of the failures of this round that a warning has named
	cause                 string   // of the last failure
}

// maxCauses is how many causes of failures are warnings in a round.
const maxCauses = 10

// newTimely returns a strategy with its name, what it asks, and the types of its events. Usual is its limit
// unless the settings have one.
func newTimely(t Tools, name, asked, chose, failed string, usual time.Duration) (*timely, error) {
	fallback, err := newFallback(t)
	return &timely{
		name: name, asked: asked, chose: chose, failed: failed, limit: cmp.Or(t.Timeout, usual), fallback: fallback,
		trial: t.trial, log: t.Log,
	}, err
}

// Name returns the name of the strategy.
func (t *timely) Name() string { return t.name }

// choose returns the choice of ask, or that of the fallback strategy if ask fails. A caller that
// has given up gets an error, so that a repeated question is asked again.
func (t *timely) choose(ctx context.Context, v strategy.View,
	ask func(ctx context.Context, limit time.Duration) (string, error)) (string, error) {
	if legalOf(&v).none() {
		return "", fmt.Errorf("%s: no move to choose from", t.name)
	}
	limit := timeFor(ctx, v, t.limit)
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	choice, err := ask(bound, limit)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return "", ctx.Err()
	}
	if err != nil && t.trial {
		return "", &strategy.FailedError{Cause: causeOf(err), Err: err}
	}
	if err == nil {
		t.count(nil, v.RoundID)
		t.log.Info().Str("match_id", v.MatchID).Str("choice", choice).Str("event_type", t.chose).Msg(t.asked + " has chosen")
		return choice, nil
	}
	v.FellBack()
	choice, failed := t.fallback.Choose(ctx, v)
	text := words.Clip(strings.ToValidUTF8(err.Error(), "�"), program.MaxLogged)
	t.log.WithLevel(t.count(err, v.RoundID)).Str("error", text).Str("match_id", v.MatchID).
		Str("fallback", t.fallback.Name()).Str("choice", choice).Str("event_type", t.failed).
		Msg(t.asked + " did not choose, the fallback strategy did")
	return choice, failed
}

// count counts a question, and returns the level at which its failure is logged: a cause is a
// warning once in a round.
func (t *timely) count(failure error, round int) zerolog.Level {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions++
	if failure == nil {
		return zerolog.DebugLevel
	}
	t.byFallback++
	if t.round != round {
		t.round, t.causes = round, nil
	}
	t.cause = causeOf(failure)
	if slices.Contains(t.causes, t.cause) || len(t.causes) == maxCauses {
		return zerolog.DebugLevel
	}
	t.causes = append(t.causes, t.cause)
	return zerolog.WarnLevel
}

// Totals counts the questions and the choices of the fallback strategy.
func (t *timely) Totals() strategy.Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strategy.Totals{Questions: t.questions, Failed: t.byFallback, Fallback: t.fallback.Name(), Cause: t.cause}
}

// Account counts the questions and the answers of the fallback strategy.
func (t *timely) Account() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s: %s, %d answered by the fallback strategy %s", t.name,
		words.Counted(t.questions, "question"), t.byFallback, t.fallback.Name())
}

// newFallback returns the strategy that chooses when an MCP host or server does not.
func newFallback(t Tools) (strategy.Strategy, error) {
	s, err := strategy.New(cmp.Or(t.Fallback, "random"))
	if err != nil {
		return nil, fmt.Errorf("unknown strategy %q for --fallback%s; choose one of: %s", t.Fallback,
			words.DidYouMean(t.Fallback, strategy.Names()), strings.Join(strategy.Names(), ", "))
	}
	return s, nil
}

// timeFor returns the time for a decision: the limit, but at most four fifths of the time
// that the caller gives, so that the answer arrives before the deadline.
func timeFor(ctx context.Context, v strategy.View, limit time.Duration) time.Duration {
	if window, known := windowOf(ctx, v); known {
		limit = min(limit, window*4/5)
	}
	return limit
}

// windowOf returns the time that the caller gives for a decision; that of the specification if the caller does
// not say.
func windowOf(ctx context.Context, v strategy.View) (window time.Duration, known bool) {
	deadline, known := ctx.Deadline()
	if known {
		window = max(time.Until(deadline), 0)
	}
	if v.Within > 0 && (!known || v.Within < window) {
		return v.Within, true
	}
	if !known {
		window = protocol.Seconds(protocol.DefaultTimeouts().Move)
	}
	return window, known
}
