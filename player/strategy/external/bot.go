package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

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
	name, path string
	args       []string
	limit      time.Duration
	programs   Programs
	log        zerolog.Logger
	output     *output
	ending     sync.Once
	closed     chan struct{} // closed by the first Close

	turn chan struct{} // a semaphore for the fields below; full while free

	running                   *process // nil before the next start
	questions, failed, starts int
	cause                     string // of the last failure
}

var errClosed = errors.New("the player is stopping")

// find finds the executable of a command line. Setting is what stands before the line:
// "strategy exec:" or "--mcp-command ".
func (o *Programs) find(setting, line string) (path string, args []string, err error) {
	short := strings.TrimPrefix(setting, "strategy ")
	list, err := wordsOf(line)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s%s: %w", setting, line, err)
	case len(list) == 0 || list[0] == "":
		return "", nil, fmt.Errorf("%s needs a program, such as %s./bot", strings.TrimSpace(setting), short)
	}
	path = list[0]
	if o.Folder != "" && strings.ContainsRune(path, '/') && !filepath.IsAbs(path) {
		path = filepath.Join(o.Folder, path)
	}
	path, err = exec.LookPath(path)
	switch {
	case err == nil:
		return path, list[1:], nil
	case errors.Is(err, fs.ErrPermission):
		return "", nil,
			fmt.Errorf("%s%s: %s is not executable: run chmod +x, or name its interpreter, as in %spython3 bot.py", setting,
				line, list[0], short)
	case strings.ContainsRune(list[0], '/') && errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%s%s: program %s not found", setting, line, list[0])
	case errors.Is(err, exec.ErrNotFound):
		return "", nil, fmt.Errorf("%s%s: program %s not found in PATH; for a file in this folder use %s./%s", setting, line,
			list[0], short, list[0])
	}
	return "", nil, fmt.Errorf("%s%s: %w", setting, line, err)
}

// newBot starts a program and returns its strategy.
func newBot(name string, t Tools) (*bot, error) {
	path, args, err := t.Programs.find("strategy "+execPrefix, strings.TrimPrefix(name, execPrefix))
	if err != nil {
		return nil, err
	}
	b := &bot{
		name: name, path: path, args: args, limit: cmp.Or(t.Timeout, botTimeout), programs: t.Programs,
		closed: make(chan struct{}), turn: make(chan struct{}, 1),
		log: t.Log.With().Str("bot", name).Logger(),
	}
	b.output = &output{logger: b.log, allowed: rate.NewLimiter(loggedPerSecond, loggedAtOnce)}
	if err := b.start(); err != nil {
		return nil, fmt.Errorf("strategy %s cannot be started: %w", name, err)
	}
	b.turn <- struct{}{}
	return b, nil
}

func (b *bot) start() (err error) {
	b.running, err = launch(b.path, b.args, &b.programs, b.output)
	if err == nil {
		b.starts++
		b.log.Debug().Int("pid", b.running.child.cmd.Process.Pid).Bool("isolated", b.running.child.isolated).
			Str("event_type", "BOT_STARTED").Msg("started the bot")
	}
	return err
}

// Name returns the name of the strategy with the command line.
func (b *bot) Name() string { return b.name }

// Choose asks the program. The first answer after a start has all time that the referee gives, because programs
// load libraries and models then. The program has its full time even if the caller gives up,
// because the referee will repeat the question, and answers must stay in step with
// questions.
func (b *bot) Choose(ctx context.Context, v strategy.View) (string, error) {
	if len(v.Options) == 0 {
		return "", fmt.Errorf("%s: no move to choose from", b.name)
	}
	limits := b.limitsFor(ctx, v)
	select {
	case <-b.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-b.closed:
		return "", errClosed
	}
	defer func() { b.turn <- struct{}{} }()
	select {
	case <-b.closed: // during the wait
		return "", errClosed
	default:
	}
	b.questions++
	choice, reason, err := b.ask(&v, &limits)
	if err != nil {
		b.failed++
		b.cause = words.Clip(filepath.Base(b.path)+": "+causeOf(err), maxCause)
		return "", &strategy.FailedError{Cause: b.cause, Err: fmt.Errorf("the bot %s %w", b.name, err)}
	}
	b.log.Debug().Str("match_id", v.MatchID).Str("choice", choice).Func(func(e *zerolog.Event) {
		if reason != "" {
			e.Str("reason", reason)
		}
	}).Str("event_type", "BOT_CHOICE").Msg("the bot has chosen")
	return choice, nil
}

// ask returns the answer of the program, which it starts if necessary. A program may exit
// after each answer; then it is restarted for the next question.
func (b *bot) ask(v *strategy.View, limits *limits) (choice, reason string, err error) {
	question := requestOf(v, 0)
	for {
		if err := b.ready(); err != nil {
			return "", "", err
		}
		before := b.running.answers
		limit, words := limits.of(before == 0)
		question.TimeLimitMS = limit.Milliseconds()
		line, err := encodeRequest(question)
		if err != nil {
			return "", "", fmt.Errorf("cannot be asked: %w", err)
		}
		choice, reason, err = b.running.ask(append(line, '\n'), v.Options, limits.asked.Add(limit), words, b.closed)
		if err == nil {
			b.running.answers++
			return choice, reason, nil
		}
		if _, answered := errors.AsType[*wrongAnswerError](err); answered {
			return "", "", err
		}
		b.drop()
		if ended, ok := errors.AsType[*endedError](err); !ok || !ended.Success || before == 0 {
			return "", "", err
		}
	}
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
	asked        time.Time
}

func (b *bot) limitsFor(ctx context.Context, v strategy.View) limits {
	window, _ := windowOf(ctx, v)
	usual := timeFor(ctx, v, b.limit)
	return limits{usual: usual, first: max(usual, window-min(reserved, window/5)), window: window, bot: b.limit,
		asked: time.Now()}
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

// drop stops the process.
func (b *bot) drop() {
	b.running.stop(false)
	b.running = nil
}

// ready starts the program if necessary, and discards unread output.
func (b *bot) ready() error {
	if b.running != nil && b.running.exited() {
		b.log.Warn().Str("state", b.running.child.ending.Text).Str("last_words", b.running.lastError()).
			Str("event_type", "BOT_EXITED").Msg("the bot exited, restarting it")
		b.drop()
	}
	if b.running != nil && !b.running.clear() {
		b.log.Warn().Str("event_type", "BOT_FLOODED").Msg("the bot prints too much, restarting it")
		b.drop()
	}
	if b.running != nil {
		return nil
	}
	if err := b.start(); err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	return nil
}

// Close stops the program. It abandons a question in progress.
func (b *bot) Close() {
	b.ending.Do(func() {
		close(b.closed)
		<-b.turn
		if b.running != nil {
			b.running.stop(true)
			b.running = nil
		}
		b.log.Info().Int("questions", b.questions).Int("failed", b.failed).Int("starts", b.starts).
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
		b.failed, words.Counted(b.starts, "time"))
}
