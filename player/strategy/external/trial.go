package external

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// triedMatch is the match_id of the question of Try.
const triedMatch = "preflight"

// Tried tells whether Try asks a strategy: it decides with a program, a model or an MCP server.
func Tried(name string) bool { return Runs(name) || name == Model || name == Asked }

// Try asks a strategy the first question of a game within the time that a referee gives, in a process or a session of
// its own, which then ends. It returns the cause of a failure, with the API's own error for a model.
func Try(ctx context.Context, name string, t Tools, game rules.Game, within time.Duration) error {
	t.trial, t.Log = true, zerolog.Nop()
	s, err := Open(name, t, game.Info().Type)
	if err != nil {
		return err
	}
	defer Close(s)
	start := firstQuestion(game)
	if len(start.ToMove()) == 0 { // nobody has asked the program of the game what comes first
		return nil
	}
	q := start.Ask(start.ToMove()[0])
	_, err = s.Choose(ctx, strategy.View{
		GameType: game.Info().Type, MoveType: q.MoveType, Options: q.Options, Text: q.Text, Context: contextOf(start, &q),
		MatchID: triedMatch, RoundID: 1, PlayerID: "P01", OpponentID: "P02", Role: protocol.RolePlayerA,
		Memory: strategy.NewMemory, Within: within, Random: rand.New(rand.NewPCG(0, 1)), //nolint:gosec // that of no match
	})
	return tried(err)
}

// firstQuestion returns the course of a game before its first question, in a game with draws after the ready turn and
// with certain draws.
func firstQuestion(game rules.Game) rules.Course {
	course := rules.Begin(game)
	if rules.HasDraws(game) {
		course = course.Play([2]string{rules.Ready, rules.Ready}).Settle(triedMatch, &rules.Chance{})
	}
	return course
}

// contextOf returns the context of a question, as a referee sends it.
func contextOf(course rules.Course, q *rules.Question) map[string]any {
	if q.View == nil {
		return q.Context
	}
	context := map[string]any{"turn": course.Turn(), "view": q.View}
	maps.Copy(context, q.Context)
	if drawer, ok := course.Position().(rules.Drawer); ok {
		context["board"] = drawer.Draw(course.ToMove()[0])
	}
	return context
}

// tried returns an error with the cause, and with what the program said last.
func tried(err error) error {
	failed, ok := errors.AsType[*strategy.FailedError](err)
	if !ok {
		return err
	}
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.said+refused.hint != "" {
		return failed.Err // has no key
	}
	said := ""
	if ended, ok := errors.AsType[*program.Error](err); ok {
		said = ended.Said()
	}
	return errors.New(failed.Cause + said)
}

// maxCause is the longest cause of a failure, in bytes.
const maxCause = 200

// causeOf says for people and other agents why a strategy did not decide. It has no path, argument,
// key or standard error of a program.
func causeOf(err error) string {
	var failed *strategy.FailedError
	var ended *program.Error
	var refused *refusedError
	var request *url.Error
	switch {
	case errors.As(err, &failed):
		return failed.Cause
	case errors.As(err, &ended):
		err = errors.New(ended.Cause())
	case errors.As(err, &refused):
		text := fmt.Sprintf("HTTP %d from %s", refused.status, refused.host)
		if refused.said == pageInstead {
			text += ": " + pageInstead
		}
		return text
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, fs.ErrNotExist):
		return "file not found"
	case errors.Is(err, fs.ErrPermission):
		return "not executable"
	case errors.As(err, &request): // without the URL
		err = request.Err
	}
	return words.Clip(err.Error(), maxCause)
}
