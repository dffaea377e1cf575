package conduct_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
)

// An anyMatch is a match whose players and whose network do anything.
type anyMatch struct {
	*conduct.Match
	t       *rapid.T
	retries int
	form    *protocol.MoveForm
	moves   []string // some are legal at some time
	now     time.Time
	frozen  bool // the clock stands still

	turns int  // of the game that is a program; 0 for any other
	draws bool // it has draws

	plain     bool
	increment int    // of time; negative without time banks
	banks     [2]int // milliseconds, by the model
}

// tell tells the match what the program of the game says: anything that it may say.
func (m *anyMatch) tell() {
	for drawn := false; ; {
		history, due := m.Awaits()
		if !due {
			return
		}
		played := len(history) - len(m.Draws())
		state := &rules.State{Winner: rules.NoSide}
		switch {
		case m.draws && !drawn && rapid.Bool().Draw(m.t, "draws now"):
			state.Draw, drawn = rapid.IntRange(2, 6).Draw(m.t, "outcomes"), true
		case played == m.turns || len(history) > 0 && rapid.IntRange(0, 4).Draw(m.t, "ends") == 0:
			state.Over = true // not before anything has happened
		default:
			asks := rapid.IntRange(1, 3).Draw(m.t, "sides")
			for side := range state.ToMove {
				q := &rules.Question{MoveType: "test", Options: []string{"a", "b"}}
				if rapid.Bool().Draw(m.t, "text") {
					q.Options, q.Text = nil, 5
				}
				if asks>>side&1 == 1 {
					state.ToMove[side] = q
				}
			}
		}
		require.NoError(m.t, m.Told(state))
	}
}

// A tally counts what became of the attempts at one question to a side.
type tally struct{ asked, windows, again, waits, voids, steps int }

// Whatever the players, the network and the process of the referee do, a question ends after a bounded number of steps:
// it fails no more often than the league allows, and no side loses because of an attempt that is void.
func TestAnyMatchEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newAnyMatch(t)
		lost := false
		for turns := 0; ; turns++ {
			require.LessOrEqual(t, turns, 2+len(m.moves)+m.turns, "the invitation and the turns of the game")
			m.tell()
			sides := m.Next()
			if len(sides) == 0 {
				break
			}
			for _, side := range sides {
				lost = m.converse(side) || lost
			}
		}
		require.Equal(t, lost, m.Decided())
		require.Empty(t, m.Next(), "it stays at its end")
		if !m.GivenUp() {
			r := m.Result()
			require.Equal(t, lost, r.Status == league.StatusTechnicalLoss)
			score, _ := m.ScoreAndDraw(r)
			require.Len(t, score, 2)
		}
	})
}

func newAnyMatch(t *rapid.T) *anyMatch {
	a := &protocol.MatchAssignment{
		LeagueID: "L", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: evenodd.Type,
		PlayerA: protocol.AssignedPlayer{PlayerID: "P01"}, PlayerB: protocol.AssignedPlayer{PlayerID: "P02"},
		Timeouts: protocol.DefaultTimeouts(), Scoring: league.MatchPoints{Win: 3, Draw: 1},
		RetryPolicy: protocol.RetryPolicy{
			MaxRetries: rapid.IntRange(0, 4).Draw(t, "retries"),
			Delay:      rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "delay"),
			Backoff:    rapid.SampledFrom([]string{protocol.BackoffFixed, protocol.BackoffExponential}).Draw(t, "backoff"),
		},
	}
	m := &anyMatch{t: t, retries: a.RetryPolicy.MaxRetries, moves: []string{"even", "odd"}}
	m.frozen = rapid.Bool().Draw(t, "frozen")
	m.now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var game rules.Game = evenodd.Game{}
	switch rapid.SampledFrom([]string{evenodd.Type, tictactoe.Type, "program"}).Draw(t, "game") {
	case tictactoe.Type:
		game, a.GameType, m.moves = tictactoe.Game{}, tictactoe.Type, strings.Split("012345678", "")
	case "program":
		m.moves = []string{rules.Ready, "a", "b"}
		m.turns, a.GameType = rapid.IntRange(1, 4).Draw(t, "turns"), "program_test"
		m.draws = rapid.Bool().Draw(t, "draws")
		game = rules.NewProgram(rules.Info{Type: a.GameType, Draws: m.draws, Hidden: rapid.Bool().Draw(t, "hidden")}, m.turns)
	}
	if rapid.Bool().Draw(t, "strict") {
		a.Replies = protocol.RepliesStrict
	}
	if m.plain = rapid.Bool().Draw(t, "plain"); m.plain {
		a.Members = protocol.MembersPlain
	}
	m.increment = -1
	if rapid.Bool().Draw(t, "time bank") {
		m.increment = rapid.SampledFrom([]int{0, 1, 3000}).Draw(t, "increment")
		a.TimeBank = &protocol.TimeBank{Initial: rapid.IntRange(1000, 70_000).Draw(t, "time"), Increment: m.increment}
		m.banks = [2]int{a.TimeBank.Initial, a.TimeBank.Initial}
	}
	m.form = protocol.MoveFormOf(a.GameType)
	m.Match = conduct.New(conduct.Version, a, game, "REF01", protocol.Secret{2}, protocol.FormatTimestamp)
	return m
}

// converse does for a side what the match says, until nothing is left, and tells whether the side has lost.
func (m *anyMatch) converse(side rules.Side) (lost bool) {
	var n tally
	var last conduct.Verdict
	told := true // of the last failure
	var a *conduct.Attempt
	model := clock{bank: &m.banks[side]}
	var end time.Time                            // of the window, without a time bank
	repeats := rapid.Bool().Draw(m.t, "repeats") // all attempts end in the same way
	for {
		step := m.Step(side, m.now)
		if step.Window > 0 {
			n.windows++
			end = m.now.Add(step.Window)
		}
		n.steps++
		require.LessOrEqual(m.t, n.steps, 5*(n.asked+1), "steps for each attempt")
		switch step.Kind {
		case conduct.Done:
			require.True(m.t, told, "GAME_ERROR tells of each failure")
			require.False(m.t, m.Owes(side) && !m.GivenUp())
			return last == conduct.Lost
		case conduct.Pause:
			require.Positive(m.t, step.Pause)
			m.wait(step.Pause)
		case conduct.GameError:
			require.False(m.t, told, "one GAME_ERROR for each failure")
			require.Equal(m.t, last, step.Failure.Verdict)
			require.Equal(m.t, n.again, step.Retries)
			told = true
		case conduct.Ask:
			require.True(m.t, told)
			ended := n.asked > 0 && (last == conduct.Counts || last == conduct.Lost)
			require.False(m.t, ended, "nothing follows the end of a question")
			n.asked++
			require.Equal(m.t, n.asked, step.Try)
			model.ask(m, side, &step)
			if a == nil || !repeats {
				a = m.attempt()
			}
			if a.Timing != nil {
				m.wait(a.Timing.Queued + a.Timing.Waiting)
				end = end.Add(a.Timing.Queued)
			}
			a.At = m.now
			w := m.Judge(side, a)
			again := m.Judge(side, a)
			require.Equal(m.t, []any{w.Verdict, w.Loss, w.Void, w.Pause},
				[]any{again.Verdict, again.Loss, again.Void, again.Pause}, "to judge changes nothing")
			if m.increment < 0 && w.Verdict == conduct.Again && !timedOut(a) && w.Fault.Code != protocol.ErrConnection {
				require.True(m.t, m.now.Before(end), "a wrong answer is corrected before its window ends")
			}
			window := m.Window(side)
			m.Take(side, w)
			m.count(&n, a, &w, window)
			model.take(m, side, a, &w)
			last, told = w.Verdict, w.Verdict != conduct.Again && (w.Verdict != conduct.Lost || w.Fault == nil)
		}
	}
}

// count counts an attempt, and checks the bounds of its question.
func (m *anyMatch) count(n *tally, a *conduct.Attempt, w *conduct.Worth, window time.Duration) {
	stalled := max(a.Overdue, a.AtEnd, a.AtStart) > protocol.Margin(window)
	switch w.Verdict {
	case conduct.Again:
		n.again++
	case conduct.Wait:
		n.waits++
	case conduct.Void:
		n.voids++
		require.Equal(m.t, n.voids, w.Voids)
		require.Equal(m.t, n.voids == 10, w.GivenUp)
	case conduct.Lost:
		require.False(m.t, a.Local || stalled && timedOut(a), "the attempt is void")
		require.NotEmpty(m.t, w.Loss)
	case conduct.Counts:
		require.NotNil(m.t, a.Reply)
	}
	require.LessOrEqual(m.t, n.again, m.retries)
	require.LessOrEqual(m.t, n.voids, 10)
	if m.increment < 0 { // with a time bank each question may have another end
		require.LessOrEqual(m.t, n.windows, 1+n.again+n.voids)
	}
	require.LessOrEqual(m.t, n.waits, n.windows*(4+int(31*time.Second/(800*time.Millisecond))), "each is longer, up to a second")
	require.LessOrEqual(m.t, n.asked, 1+n.again+n.waits+n.voids)
}

// timedOut tells whether no answer came in time.
func timedOut(a *conduct.Attempt) bool {
	return a.Reply == nil && a.Fault.Code == protocol.ErrTimeout && !a.Fault.Remote
}

func (m *anyMatch) wait(d time.Duration) {
	if !m.frozen {
		m.now = m.now.Add(d)
	}
}

// attempt is how any call ends.
func (m *anyMatch) attempt() *conduct.Attempt {
	t := m.t
	some := func(name string, lengths ...time.Duration) time.Duration {
		return rapid.SampledFrom(lengths).Draw(t, name)
	}
	a := &conduct.Attempt{
		Overdue: some("overdue", 0, 0, time.Second), AtEnd: some("at the end", 0, 0, 2*time.Second),
		AtStart: some("at the start", 0, 0, 2*time.Second),
	}
	if rapid.Bool().Draw(t, "timed") {
		a.Timing = &protocol.Timing{
			Queued:  some("queued", 0, 200*time.Millisecond, 3*time.Second),
			Waiting: some("waiting", 0, time.Second, 5*time.Second, 31*time.Second, time.Hour),
		}
		if m.frozen { // a call takes no time, or little of that of the machine
			a.Timing = &protocol.Timing{Queued: min(a.Timing.Queued, 200*time.Millisecond)}
		}
	}
	if rapid.Bool().Draw(t, "answers") {
		a.Reply = m.reply()
		return a
	}
	kinds := []transport.Kind{
		transport.Refused, transport.Closed, transport.Unreachable, transport.Local, transport.Failed,
	}
	carried := &transport.CallError{
		Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
		Status: rapid.SampledFrom([]int{0, 200, 429, 500}).Draw(t, "status"),
		After:  some("after", 0, time.Second, time.Minute), Err: errors.New("no"),
	}
	var err error = carried
	switch rapid.IntRange(0, 3).Draw(t, "failure") {
	case 0:
		err = context.DeadlineExceeded
	case 1:
		codes := []protocol.Code{protocol.ErrRateLimited, protocol.ErrTimeout, protocol.ErrConnection}
		fault := protocol.Fault(rapid.SampledFrom(codes).Draw(t, "code"), "no")
		fault.Remote = true
		carried.Kind = transport.Failed
		err = fault.Because(carried)
	}
	a.Fault, a.Local = protocol.AsError(err), protocol.Local(err)
	return a
}

// reply is any answer. About half of them are right.
func (m *anyMatch) reply() *conduct.Reply {
	t := m.t
	r := &conduct.Reply{Type: m.form.Method.Result, Choice: rapid.SampledFrom(m.moves).Draw(t, "move")}
	if m.State() == protocol.StateWaitingForPlayers {
		accept := rapid.IntRange(0, 9).Draw(t, "accepts") > 0
		r = &conduct.Reply{Type: protocol.TypeGameJoinAck, Accept: &accept}
	}
	switch rapid.IntRange(0, 9).Draw(t, "wrong") {
	case 0:
		r.Breach = protocol.Fault(protocol.ErrInvalidFieldType, "timestamp must be in UTC")
	case 1:
		r.MatchID = "R9M9"
	case 2:
		r.Type = protocol.TypeGameOver
	case 3:
		r.Accept, r.Choice = nil, "nine"
	}
	return r
}
