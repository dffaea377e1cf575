package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"evenodd/league/store/disk"
	"evenodd/rules"
)

// AnswerTime is the time in which a game must answer.
const AnswerTime = 10 * time.Second

// A Game is a game that a program plays: it says what is next after a history. Safe for concurrent use: it runs as many
// processes of the program as questions wait, at most one for each processor.
type Game struct {
	command Command
	name    string // in errors: "the game nim"
	told    description
	rules   *rules.Program
	digest  string

	slots chan struct{}   // an element for each question that a process answers
	life  context.Context //nolint:containedctx // it ends with Close
	end   context.CancelFunc

	closing sync.Once
	mu      sync.Mutex
	idle    []*worker             // the least recently used one first
	known   map[[32]byte][32]byte // hashes of answers by those of their questions, as many as mostKnown
}

// mostKnown is how many answers a game remembers, to find a program that contradicts itself.
const mostKnown = 10_000

// A worker is a process of a game, with the last history that it has answered: programs keep that match.
type worker struct {
	*Runner

	history []rules.Entry
}

// GamePrefix begins the name of a game that is a program; the command line follows.
const GamePrefix = "exec:"

// Open starts the program of a command line and has it describe its game. The caller must call Close. An error of the
// program is an *Error; any other one is about the command line or the settings.
func Open(ctx context.Context, line string, programs *Programs, log zerolog.Logger) (*Game, error) {
	path, args, err := programs.Find("game "+GamePrefix, line)
	if err == nil {
		err = programs.Check()
	}
	if err != nil {
		return nil, err
	}
	g := &Game{
		command: Command{Path: path, Args: args, Programs: *programs, Noun: "game", MaxLine: maxAnswer,
			Log: log.With().Str("game", line).Logger()},
		name: "the game " + line, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), known: map[[32]byte][32]byte{},
	}
	if g.digest, err = programs.digest(line); err != nil {
		return nil, err
	}
	g.life, g.end = context.WithCancel(context.Background())
	w, err := g.start(ctx)
	if err != nil {
		g.end()
		return nil, err
	}
	g.idle = []*worker{w}
	return g, nil
}

// digest returns the SHA-256 over those of each regular file that a command line names.
func (o *Programs) digest(line string) (string, error) {
	list, err := Words(line)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, word := range list {
		name := word
		if o.Folder != "" && !filepath.IsAbs(name) {
			name = filepath.Join(o.Folder, name)
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue // an option, or a program in PATH
		}
		f, err := disk.Open(disk.Real{}, name)
		if err != nil {
			return "", err
		}
		one := sha256.New()
		_, err = io.Copy(one, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		all.Write(one.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// Rules returns the game for courses, which await the answers of Ask.
func (g *Game) Rules() *rules.Program { return g.rules }

// Digest returns the SHA-256 over those of each regular file on the command line, in hexadecimal digits. Other files
// that decide, such as libraries, it does not cover.
func (g *Game) Digest() string { return g.digest }

// Close ends the program. Questions in progress fail with ErrClosed.
func (g *Game) Close() {
	g.closing.Do(func() {
		g.end()
		for range cap(g.slots) { // waits for questions in progress
			g.slots <- struct{}{}
		}
		var ending sync.WaitGroup
		for _, w := range g.idle {
			ending.Go(w.Close)
		}
		ending.Wait()
	})
}

// Ask asks the program what it says of a history. The program has AnswerTime; a wait for a free process does not count.
// After a failure the program is started again. The error is an *Error if the program fails, contradicts itself or
// exceeds a limit; else that of ctx, or ErrClosed.
func (g *Game) Ask(ctx context.Context, history []rules.Entry) (*rules.State, error) {
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-g.life.Done():
	}
	if g.life.Err() != nil {
		return nil, ErrClosed
	}
	w := g.take(history)
	if w == nil {
		var err error
		if w, err = g.start(ctx); err != nil {
			return nil, err
		}
	}
	defer g.give(w)
	question, state := encoded(history), (*rules.State)(nil)
	w.history = nil
	read := func(line string) (err error) {
		state, err = readState(line, &g.told.info, len(history))
		return err
	}
	answered := w.answered()
	err := g.ask(ctx, w.Runner, question, read)
	if failed, ok := errors.AsType[*Error](err); ok && failed.Kind == Ended && answered {
		err = g.ask(ctx, w.Runner, question, read) // something else may have killed it
	}
	if err != nil {
		return nil, err
	}
	if err := g.compare(question, len(history), state); err != nil {
		w.drop()
		return nil, err
	}
	w.history = slices.Clone(history)
	return state, nil
}

// encoded is the question about a history.
func encoded(history []rules.Entry) []byte {
	type entry struct {
		A    string `json:"A,omitzero"`
		B    string `json:"B,omitzero"`
		Draw *int   `json:"draw,omitzero"`
	}
	entries := make([]entry, len(history))
	for i, e := range history {
		entries[i] = entry{e.Moves[rules.SideA], e.Moves[rules.SideB], e.Draw}
	}
	line, _ := json.Marshal(map[string][]entry{"history": entries}) // of valid UTF-8
	return append(line, '\n')
}

// take returns an idle process: that which has answered most of the history, else the least recently used one; nil if
// there is none.
func (g *Game) take(history []rules.Entry) *worker {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.idle) == 0 {
		return nil
	}
	best, most := 0, 0
	for i, w := range g.idle {
		if n := len(w.history); n > most && n <= len(history) && slices.EqualFunc(w.history, history[:n], sameEntry) {
			best, most = i, n
		}
	}
	w := g.idle[best]
	g.idle = slices.Delete(g.idle, best, best+1)
	return w
}

func sameEntry(a, b rules.Entry) bool {
	return a.Moves == b.Moves && (a.Draw == nil) == (b.Draw == nil) && (a.Draw == nil || *a.Draw == *b.Draw)
}

// give returns a process to the idle ones.
func (g *Game) give(w *worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = append(g.idle, w)
}

// start starts a process and has it describe the game.
func (g *Game) start(ctx context.Context) (*worker, error) {
	r, err := Run(&g.command)
	if err != nil {
		return nil, g.failure(unstarted(err))
	}
	var told description
	err = g.ask(ctx, r, []byte("{\"describe\":1}\n"), func(line string) (err error) {
		told, err = readDescription(line)
		return err
	})
	switch {
	case err != nil:
	case g.rules == nil:
		g.told, g.rules, g.name = told, rules.NewProgram(told.info, told.maxTurns), "the game "+told.info.Type
	case !reflect.DeepEqual(told, g.told):
		err = g.failure(failed(Contradict, "describes itself differently than before: was its file changed?"))
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return &worker{Runner: r}, nil
}

// unstarted is the error of a program that cannot be started, without its path.
func unstarted(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return failed(Ended, "cannot be started: %v", err)
}

// ask asks a process. Lines before an answer that do not look like JSON are chatter.
func (g *Game) ask(ctx context.Context, r *Runner, question []byte, read func(line string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.life, cancel)()
	err := r.Ask(ctx.Done(), Question{
		Line: func(bool) ([]byte, time.Time, string, error) {
			return question, time.Now().Add(AnswerTime), AnswerTime.String(), nil
		},
		Read: func(line string) error {
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), byteOrderMark))
			if !strings.HasPrefix(line, "{") {
				return ErrChatter
			}
			return read(line)
		},
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrClosed) && g.life.Err() == nil:
		return ctx.Err()
	case errors.Is(err, ErrClosed):
		return err
	}
	if wrong, ok := errors.AsType[*WrongAnswerError](err); ok {
		r.drop() // a cache of the program may be wrong
		err = failed(Unreadable, "answered wrongly: %s", wrong.Text)
	}
	if _, ok := errors.AsType[*Error](err); !ok {
		err = unstarted(err)
	}
	return g.failure(err)
}

// byteOrderMark begins the output of some programs, or each line of it.
const byteOrderMark = "\ufeff"

// failure adds the game to an error of its program.
func (g *Game) failure(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Subject = g.name
	}
	return err
}

// compare returns an error if the program has answered a question differently before.
func (g *Game) compare(question []byte, entries int, state *rules.State) error {
	text, _ := json.Marshal(state, json.Deterministic(true)) // it was read from JSON
	asked, answer := sha256.Sum256(question), sha256.Sum256(text)
	g.mu.Lock()
	defer g.mu.Unlock()
	before, again := g.known[asked]
	if again && before != answer {
		return g.failure(failed(Contradict, "answered a history of length %d differently than before: its answer must "+
			"depend on nothing but the history", entries))
	}
	if len(g.known) >= mostKnown {
		clear(g.known)
	}
	g.known[asked] = answer
	return nil
}
