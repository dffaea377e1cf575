package external

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/program"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// botTimeout is the default limit of a decision.
const botTimeout = 5 * time.Second

// A bot decides with a program that answers each line with a line. A failure of the
// program is an error and costs the match: a default choice would hide the failure from
// the program's author.
//
// Safe for concurrent use. The program receives one question at a time.
type bot struct {
	name   string
	limit  time.Duration
	log    zerolog.Logger
	ending sync.Once
	closed chan struct{} // closed by the first Close

	turn chan struct{} // a semaphore for the fields below; full while free

	program           *program.Runner
	questions, failed int
	cause             string // of the last failure
}

// newBot starts a program and returns its strategy.
func newBot(name string, t Tools) (*bot, error) {
	path, args, err := t.Programs.Find("strategy "+execPrefix, strings.TrimPrefix(name, execPrefix))
	if err != nil {
		return nil, err
	}
	b := &bot{
		name: name, limit: cmp.Or(t.Timeout, botTimeout), closed: make(chan struct{}), turn: make(chan struct{}, 1),
		log: t.Log.With().Str("bot", name).Logger(),
	}
	b.program, err = program.Run(&program.Command{Path: path, Args: args, Programs: t.Programs, Noun: "bot",
		MaxLine: maxLine, Log: b.log})
	if err != nil {
		return nil, fmt.Errorf("strategy %s cannot be started: %w", name, err)
	}
	b.turn <- struct{}{}
	return b, nil
}

// Name returns the name of the strategy with the command line.
func (b *bot) Name() string { return b.name }

// Choose asks the program. The first answer after a start has all time that the referee gives, because programs
// load libraries and models then. The program has its full time even if the caller gives up,
// because the referee will repeat the question, and answers must stay in step with
// questions.
func (b *bot) Choose(ctx context.Context, v strategy.View) (string, error) {
	if legalOf(&v).none() {
		return "", fmt.Errorf("%s: no move to choose from", b.name)
	}
	limits := b.limitsFor(ctx, v)
	select {
	case <-b.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-b.closed:
		return "", program.ErrClosed
	}
	defer func() { b.turn <- struct{}{} }()
	select {
	case <-b.closed: // during the wait
		return "", program.ErrClosed
	default:
	}
	b.questions++
	choice, reason, err := b.ask(&v, &limits)
	if err != nil {
		b.failed++
		b.cause = words.Clip(filepath.Base(b.program.Path)+": "+causeOf(err), maxCause)
		return "", &strategy.FailedError{Cause: b.cause, Err: fmt.Errorf("the bot %s %w", b.name, err)}
	}
	b.log.Debug().Str("match_id", v.MatchID).Str("choice", choice).Func(func(e *zerolog.Event) {
		if reason != "" {
			e.Str("reason", reason)
		}
	}).Str("event_type", "BOT_CHOICE").Msg("the bot has chosen")
	return choice, nil
}

// ask returns the answer of the program.
func (b *bot) ask(v *strategy.View, limits *limits) (choice, reason string, err error) {
	request := requestOf(v, 0)
	err = b.program.Ask(b.closed, program.Question{
		Line: func(first bool) (line []byte, until time.Time, words string, err error) {
			limit, words := limits.of(first)
			request.TimeLimitMS = limit.Milliseconds()
			line, err = encodeRequest(request)
			return append(line, '\n'), limits.began.Add(limit), words, err
		},
		Read: func(line string) (err error) {
			choice, reason, err = choiceIn(line, legalOf(v))
			return err
		},
	})
	return choice, reason, err
}

// reserved is the part of the caller's time that the first answer of a program leaves, so that it arrives before
// the deadline.
const reserved = time.Second

// A limits has the time for an answer of a program: usually, and after its start, when the program has the whole
// time of the caller.
type limits struct {
	usual, first time.Duration
	window       time.Duration // of the caller
	bot          time.Duration // --bot-timeout
	began        time.Time
}

func (b *bot) limitsFor(ctx context.Context, v strategy.View) limits {
	window, _ := windowOf(ctx, v)
	usual := timeFor(ctx, v, b.limit)
	return limits{usual: usual, first: max(usual, window-min(reserved, window/5)), window: window, bot: b.limit,
		began: time.Now()}
}

// of returns the time for an answer, and says in words where it comes from.
func (l *limits) of(first bool) (limit time.Duration, words string) {
	window := (l.window + time.Second - 1).Truncate(time.Second) // always the same for the same window
	switch {
	case first:
		return l.first, fmt.Sprintf("after its start it has the referee's %v; later answers have --bot-timeout, %v", window,
			l.bot)
	case l.usual < l.bot:
		return l.usual, fmt.Sprintf("four fifths of the referee's %v", window)
	}
	return l.usual, fmt.Sprintf("--bot-timeout, %v", l.bot)
}

// Close stops the program. It abandons a question in progress.
func (b *bot) Close() {
	b.ending.Do(func() {
		close(b.closed)
		<-b.turn
		b.program.Close()
		b.log.Info().Int("questions", b.questions).Int("failed", b.failed).Int("starts", b.program.Starts()).
			Str("event_type", "BOT_ENDED").Msg("stopped the bot")
		b.turn <- struct{}{}
	})
}

// Totals counts the questions.
func (b *bot) Totals() strategy.Totals {
	<-b.turn
	defer func() { b.turn <- struct{}{} }()
	return strategy.Totals{Questions: b.questions, Failed: b.failed, Cause: b.cause}
}

// Account summarizes the calls of the program.
func (b *bot) Account() string {
	<-b.turn
	defer func() { b.turn <- struct{}{} }()
	return fmt.Sprintf("%s: %s, %d without an answer; started %s", b.name, words.Counted(b.questions, "question"),
		b.failed, words.Counted(b.program.Starts(), "time"))
}
