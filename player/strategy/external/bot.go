package external

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// botTimeout is how long a program may think when nobody says so.
const botTimeout = 5 * time.Second

// Pauses before a program that keeps failing is started again. The first time it
// is at once: whoever failed once should not lose another match by waiting.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 4 * time.Second
)

// A bot decides by a program that answers lines with lines. Its failures are
// errors: they cost the match that is asked about, in the open. To choose
// something in its place would hide them from whoever wrote it.
//
// Safe for concurrent use; questions are asked one after the other.
type bot struct {
	name, path string
	args       []string
	limit      time.Duration
	log        zerolog.Logger
	says       *saying
	ending     sync.Once
	closed     chan struct{} // by the first Close

	turn chan struct{} // full while nobody uses what stands below

	running  *process  // nil when it is to be started
	failures int       // in a row that ended it
	restAt   time.Time // of the last of them

	questions, failed, starts int
}

var errClosed = errors.New("the player is stopping")

// program finds the program that a strategy names.
func program(name string) (path string, args []string, err error) {
	list, err := words(strings.TrimPrefix(name, execPrefix))
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("strategy %s: %w", name, err)
	case len(list) == 0 || list[0] == "":
		return "", nil, errors.New("strategy exec: names no program; exec:./bot runs ./bot")
	}
	path, err = exec.LookPath(list[0])
	switch {
	case err == nil:
		return path, list[1:], nil
	case errors.Is(err, fs.ErrPermission):
		return "", nil, fmt.Errorf("strategy %s: %s is not executable: chmod +x it, or name what runs it, as in exec:python3 bot.py", name, list[0])
	case strings.ContainsRune(list[0], '/') && errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("strategy %s: there is no program %s", name, list[0])
	case errors.Is(err, exec.ErrNotFound):
		return "", nil, fmt.Errorf("strategy %s: there is no program %s in PATH; one in this folder is exec:./%s", name, list[0], list[0])
	}
	return "", nil, fmt.Errorf("strategy %s: %w", name, err)
}

// newBot starts a program.
func newBot(name string, t Tools) (*bot, error) {
	path, args, err := program(name)
	if err != nil {
		return nil, err
	}
	b := &bot{
		name: name, path: path, args: args, limit: t.Timeout, closed: make(chan struct{}), turn: make(chan struct{}, 1),
		log: t.Log.With().Str("bot", name).Logger(),
	}
	b.says = newSaying(b.log)
	if b.limit <= 0 {
		b.limit = botTimeout
	}
	if err := b.start(); err != nil {
		return nil, fmt.Errorf("strategy %s cannot be started: %w", name, err)
	}
	b.turn <- struct{}{}
	return b, nil
}

func (b *bot) start() (err error) {
	b.running, err = launch(b.path, b.args, b.says)
	if err == nil {
		b.starts++
		b.log.Debug().Int("pid", b.running.cmd.Process.Pid).Str("event_type", protocol.EventBotStarted).Msg("the bot is started")
	}
	return err
}

// Name is how the user named the program.
func (b *bot) Name() string { return b.name }

// Choose asks the program. Once asked, it has its time also when the caller has
// gone: it will be asked the same again, and its answers stay in step.
func (b *bot) Choose(ctx context.Context, v strategy.View) (string, error) {
	if len(v.Options) == 0 {
		return "", fmt.Errorf("%s: no move to choose from", b.name)
	}
	limit := patience(ctx, v, b.limit)
	until := time.Now().Add(limit)
	select {
	case <-b.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-b.closed:
		return "", errClosed
	}
	defer func() { b.turn <- struct{}{} }()
	select {
	case <-b.closed: // while it waited for its turn
		return "", errClosed
	default:
	}
	b.questions++
	choice, reason, err := b.ask(v, limit, until)
	if err != nil {
		b.failed++
		return "", fmt.Errorf("the bot %s %w", b.name, err)
	}
	line := b.log.Debug().Str("match_id", v.MatchID).Str("choice", choice)
	if reason != "" {
		line = line.Str("reason", reason)
	}
	line.Str("event_type", protocol.EventBotChose).Msg("the bot has chosen")
	return choice, nil
}

// ask gets an answer from a program that runs. One that answers a question and
// ends is as good as any: it is started again for the next.
func (b *bot) ask(v strategy.View, limit time.Duration, until time.Time) (choice, reason string, err error) {
	question, err := written(v, limit)
	if err != nil {
		return "", "", fmt.Errorf("cannot be asked: %w", err)
	}
	for {
		if err := b.ready(until); err != nil {
			return "", "", err
		}
		before := b.running.answers
		choice, reason, err = b.running.ask(question, v.Options, until, b.closed)
		var ended *endedError
		switch wrong := (*wrongAnswerError)(nil); {
		case err == nil:
			b.running.answers++
			b.failures = 0
			return choice, reason, nil
		case errors.As(err, &wrong):
			return "", "", err
		case errors.As(err, &ended) && ended.well && before > 0:
			b.drop()
			continue
		}
		b.drop()
		b.failures++
		b.restAt = time.Now()
		return "", "", err
	}
}

// drop ends the process that runs.
func (b *bot) drop() {
	b.running.end(false)
	b.running = nil
}

// ready has the program run, with nothing of it unread. It waits for the pause
// of one that keeps failing, as long as there is time to ask it afterwards.
func (b *bot) ready(until time.Time) error {
	if b.running != nil && b.running.gone() {
		if b.running.answers == 0 {
			b.failures++
			b.restAt = time.Now()
		}
		b.log.Warn().Str("state", b.running.cmd.ProcessState.String()).Str("last_words", b.running.lastError()).
			Str("event_type", protocol.EventBotExited).Msg("the bot has ended by itself, and is started again")
		b.drop()
	}
	if b.running != nil && !b.running.clear() {
		b.log.Warn().Str("event_type", protocol.EventBotFlooded).Msg("the bot prints without end, and is started again")
		b.drop()
	}
	if b.running != nil {
		return nil
	}
	if err := b.pause(until); err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	return nil
}

// pause waits before a program that keeps failing is started again.
func (b *bot) pause(until time.Time) error {
	rest := time.Until(b.restAt.Add(pauseAfter(b.failures, b.limit)))
	if rest <= 0 {
		return nil
	}
	if time.Now().Add(rest).After(until) {
		return fmt.Errorf("has failed %d times in a row, and rests for another %s", b.failures, rest.Round(time.Millisecond))
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-b.closed:
		return errClosed
	}
}

// pauseAfter is how long a program rests after so many failures: at most half of
// the time it has for a question, so that there is time to answer one.
func pauseAfter(failures int, limit time.Duration) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(firstPause<<min(failures-2, 10), longestPause, limit/2)
}

// Close ends the program. A question that it thinks about is given up.
func (b *bot) Close() {
	b.ending.Do(func() {
		close(b.closed)
		<-b.turn
		if b.running != nil {
			b.running.end(true)
			b.running = nil
		}
		b.log.Info().Int("questions", b.questions).Int("failed", b.failed).Int("starts", b.starts).Str("event_type", protocol.EventBotStopped).Msg("the bot has ended")
		b.turn <- struct{}{}
	})
}

// Account tells how the program did.
func (b *bot) Account() string {
	<-b.turn
	defer func() { b.turn <- struct{}{} }()
	return fmt.Sprintf("%s: %s, %d without an answer; started %s", b.name, counted(b.questions, "question"), b.failed, counted(b.starts, "time"))
}
