package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/rules"
)

// GameProgram is the role of the report on a program that is a game.
const GameProgram = "game"

// gamesPage describes what a program must answer.
const gamesPage = "testdata/games/README.md"

// The requirements for a program that is a game.
const (
	describes   = "G-DES-01"
	answersForm = "G-ANS-01"
	answersFast = "G-ANS-02"
	legal       = "G-OPT-01"
	ends        = "G-END-01"
	again       = "G-SAM-01"
	anew        = "G-SAM-02"
	noOption    = "G-ILL-01"
	wrongSide   = "G-ILL-02"
	afterEnd    = "G-ILL-03"
	noDraw      = "G-ILL-04"
	outOfRange  = "G-ILL-05"
	oneSide     = "G-ILL-06"
	earlier     = "G-ILL-07"
	partly      = "G-TWO-01"
)

// gameRequirements are those for a program that is a game, in the order of the report.
func gameRequirements() []Requirement {
	row := func(id string, level Level, section, text, hint string) Requirement {
		return Requirement{ID: id, Level: level, Text: text, Page: gamesPage + section, Hint: hint}
	}
	const protocol, holds = "#the-protocol", "#what-must-hold"
	return []Requirement{
		row(describes, Must, "#describe-1", `It answers {"describe": 1} with its game.`,
			"Write one line of JSON to standard output, and flush it; the detail names the member that is wrong."),
		row(answersForm, Must, "#history-", "Each answer has the form that the history asks for.",
			"The detail names the member that is wrong. A line of Python: print(json.dumps(answer), flush=True)."),
		row(answersFast, Should, protocol, "It answers within a second.",
			"Keep the last match, and apply only the entries that are new (class Matches in testdata/games/nim.py)."),
		row(legal, Must, holds, "Each option and each example is legal.",
			"List an option or an example only if a history that ends with it is legal."),
		row(ends, Must, holds, "A match ends within max_turns, all of its boards have one size, and no message is too large.",
			"Decide a match that is too long, or raise max_turns (at most 400)."),
		row(again, Must, holds, "Any part of a match, asked again and in any order, gets the same answer.",
			"Let the answer depend on the history alone: no random number, clock or counter; begin again if a history does not "+
				"continue the last one."),
		row(anew, Must, holds, "A new process gives the same answers.",
			"Let the answer depend on the history alone: sort what comes from a set or a hash, and use no random number."),
		row(noOption, Must, holds, "It refuses a move that is not an option.",
			"Compare the move of each entry with the options of its side; answer illegal with index, side and reason."),
		row(wrongSide, Must, holds, "It refuses a move of a side that is not to move.",
			"Compare the sides of each entry with those that are to move."),
		row(afterEnd, Must, holds, "It refuses any entry after the end.",
			"When a match is over, any further entry is illegal."),
		row(noDraw, Must, holds, "It refuses a draw that is not due.",
			"An entry with draw is legal only where the answer before it was a draw, and there nothing else is."),
		row(outOfRange, Must, holds, "It refuses a draw out of range, and a move in place of a draw.",
			"After {\"draw\": n} the number is from 0 to n-1."),
		row(oneSide, Must, holds, "Of two sides that move at the same time, it refuses an entry that lacks one, unless it "+
			"is the last.", "Before you apply an entry that is not the last one, look for the moves of all sides to move."),
		row(earlier, Must, holds, "It refuses the first illegal entry, also if legal ones follow.",
			"Check each entry at its place, from the first one on; index counts from 0."),
		row(partly, Must, holds, "When one of two sides has moved, it answers with the question to the other.",
			"If the last entry lacks a side, check the move that it has, and answer with the question of the missing side "+
				"alone."),
		row(openDraws, Should, "#secrets", "Without hidden, both sides see what is drawn.",
			"Set hidden if a draw is a secret of one side, such as its cards: else pages and logs show it during the match."),
	}
}

// The extent of an examination of a game.
const (
	gameMatches   = 20 // that are played
	playedMatches = 2  // of them also if that takes longer than playTime
	playTime      = 5 * time.Second
	mostAgain     = 100                     // parts of matches that are asked again
	forgedParts   = 60                      // of matches that an illegal entry follows
	forgedMatches = 5                       // that an illegal entry follows
	forgedPlaces  = 8                       // in each of them, with an illegal entry
	slowAnswer    = time.Second             // a longer time is a warning
	gameWords     = "pass yes no hello 1 a" // free text that a game may allow
)

// A gameExam examines a program that is a game.
type gameExam struct {
	game     *program.Game
	random   *rand.Rand
	findings map[string]*Finding
	asked    []answered // histories of matches and what the program said
	match    int        // that is played, from 0
	longest  time.Duration
	ended    string // why the examination ended early; "" if it did not
	crashed  string // the requirement that it breaks because it ended; "" for none
}

// answered is what a program said of a history.
type answered struct {
	history []rules.Entry
	state   *rules.State
}

// Game examines a program that is a game: it plays matches at random, asks again, and adds illegal entries. Open
// starts the program; line is its command line. The error is that of ctx, or of open if it is no *program.Error.
func Game(ctx context.Context, line string, open func(context.Context) (*program.Game, error), budget time.Duration) (
	*Report, error) {
	began := time.Now()
	bound, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	x := &gameExam{random: rand.New(rand.NewPCG(1, 1)), findings: map[string]*Finding{}} //nolint:gosec // no secret
	game, err := open(bound)
	if failed, ok := errors.AsType[*program.Error](err); ok {
		x.broke(describes, failed, "")
	} else if err != nil {
		return nil, err
	} else {
		x.pass(describes)
		x.game = game
		x.examine(bound, open)
		game.Close()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if bound.Err() != nil {
		x.ended = fmt.Sprintf("the examination took all of its %s", budget)
	}
	return x.report(line, began), nil
}

func (x *gameExam) pass(id string) {
	if x.findings[id] == nil {
		x.findings[id] = &Finding{Verdict: Pass}
	}
}

// fail notes the first failure of a requirement.
func (x *gameExam) fail(id, format string, args ...any) {
	if f := x.findings[id]; f == nil || f.Verdict == Pass {
		x.findings[id] = &Finding{Verdict: Fail, Detail: fmt.Sprintf(format, args...)}
	}
}

// broke notes that the program gave no answer.
func (x *gameExam) broke(id string, failed *program.Error, after string) {
	if x.fail(id, "%s", failed.Detail+failed.Said()+after); failed.Kind == program.Ended && x.crashed == "" {
		x.crashed = id
	}
}

// crashHint is the hint for a program that ended.
const crashHint = "The program crashed: correct the place in its source that the detail names. " +
	`To see all that it prints, run it yourself, and enter {"history": …} with the history of the detail.`

// report makes the report.
func (x *gameExam) report(line string, began time.Time) *Report {
	r := &Report{SchemaVersion: SchemaVersion, Role: GameProgram, URL: line, Started: began.UTC(),
		TookMS: time.Since(began).Milliseconds(), Ended: x.ended, Causes: []Cause{}}
	for _, q := range gameRequirements() {
		f := Finding{Verdict: Skipped, Detail: "the matches had no such case"}
		if x.game == nil || x.ended != "" || x.broken() {
			f.Detail = "the examination never came so far"
		}
		if found := x.findings[q.ID]; found != nil {
			f = *found
		}
		if q.ID == x.crashed {
			q.Hint = crashHint
		}
		if f.Requirement = q; f.Verdict == Fail {
			if q.Level == Should {
				f.Verdict = Warn
			}
			f.Cause = q.ID
			r.Causes = append(r.Causes, Cause{q.ID, q.Level, f.Detail, []string{q.ID}})
		}
		r.Findings = append(r.Findings, f)
	}
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return strings.Compare(string(a.Level), string(b.Level)) })
	return r
}

// broken tells whether the program gives no answers with which a match could go on.
func (x *gameExam) broken() bool {
	f := x.findings[answersForm]
	return f != nil && f.Verdict == Fail
}

func (x *gameExam) examine(ctx context.Context, open func(context.Context) (*program.Game, error)) {
	began := time.Now()
	for n := 0; n < gameMatches && (n < playedMatches || time.Since(began) < playTime); n++ {
		if x.play(ctx, n); x.broken() || ctx.Err() != nil {
			return
		}
	}
	if x.longest > slowAnswer {
		x.fail(answersFast, "the longest answer in a match took %s", x.longest.Round(time.Millisecond))
	} else {
		x.pass(answersFast)
	}
	x.askAgain(ctx, open)
	x.forge(ctx)
	x.compareViews(ctx)
}

// historyText is a history as JSON.
func historyText(history []rules.Entry) string {
	type entry struct {
		A    string `json:"A,omitzero"`
		B    string `json:"B,omitzero"`
		Draw *int   `json:"draw,omitzero"`
	}
	text, _ := json.Marshal(lists.Map(history, func(e rules.Entry) entry { return entry{e.Moves[0], e.Moves[1], e.Draw} }))
	return string(text)
}

// ask asks the program, and notes a failure.
func (x *gameExam) ask(ctx context.Context, history []rules.Entry) (*rules.State, bool) {
	began := time.Now()
	state, err := x.game.Ask(ctx, history)
	x.longest = max(x.longest, time.Since(began))
	failed, ok := errors.AsType[*program.Error](err)
	switch {
	case ok && failed.Kind == program.Contradict:
		x.fail(again, "%s: %s", failed.Detail, clipped(historyText(history)))
	case ok:
		x.broke(answersForm, failed, ", after the history "+clipped(historyText(history)))
	}
	return state, err == nil
}

// clipped cuts a long history.
func clipped(text string) string {
	const most = 400
	if len(text) > most {
		return strings.ToValidUTF8(text[:most/2], "") + " … " + strings.ToValidUTF8(text[len(text)-most/2:], "")
	}
	return text
}

// play plays a match at random, as far as the program lets it.
func (x *gameExam) play(ctx context.Context, n int) {
	x.match = n
	chance := rules.Chance{Nonce: [32]byte{byte(n)}} //nolint:gosec // a small number
	c := rules.Begin(x.game.Rules())
	if rules.HasDraws(x.game.Rules()) {
		c = c.Play([2]string{rules.Ready, rules.Ready})
	}
	for !c.Over() {
		switch {
		case c.Outcomes() > 0:
			c = c.Settle("R1M1", &chance)
		case c.Awaits():
			told, ok := x.tell(ctx, c)
			if !ok {
				return
			}
			c = told
		default:
			side := c.ToMove()[x.random.IntN(len(c.ToMove()))] // two sides answer in any order
			move, ok := x.move(ctx, c, side)
			if !ok {
				return
			}
			c, _ = c.Move(side, move) // it is an option, or a text
			if len(c.ToMove()) > 0 {
				x.half(ctx, c, side.Other())
			}
		}
	}
	for _, id := range []string{answersForm, legal, ends} {
		x.pass(id)
	}
}

// tell returns the course after what the program says of its history; false if that is wrong.
func (x *gameExam) tell(ctx context.Context, c rules.Course) (told rules.Course, ok bool) {
	history := c.History()
	state, ok := x.ask(ctx, history)
	if !ok {
		return c, false
	}
	if state.Illegal != nil {
		x.fail(legal, "it refuses the options and draws of its own answers: entry %d of %s, because %s",
			state.Illegal.Index, clipped(historyText(history)), state.Illegal.Reason)
		return c, false
	}
	told, err := c.Told(state)
	if err == nil {
		err = x.checkSize(history, state)
	}
	if err != nil {
		x.fail(ends, "%v: %s", err, clipped(historyText(history)))
		return c, false
	}
	x.asked = append(x.asked, answered{history, state})
	return told, true
}

// option chooses one of some options: the first one in the first match, the last one in the second, else any. So some
// games take as long as they can.
func (x *gameExam) option(options int) int {
	switch x.match {
	case 0:
		return 0
	case 1:
		return options - 1
	}
	return x.random.IntN(options)
}

// checkSize returns an error if a question to a side, or the report of a match that ends here, is too large for a
// message.
func (x *gameExam) checkSize(history []rules.Entry, state *rules.State) error {
	info, size := x.game.Rules().Info(), rules.ReportRest
	for _, e := range history {
		if e.Draw != nil {
			size += rules.DrawSize
		}
		for _, move := range e.Moves {
			if move != "" {
				size += rules.MoveSize + len(move)
			}
		}
	}
	if err := info.CheckSize("the report has", size); err != nil {
		return err
	}
	for _, q := range state.ToMove {
		if q == nil {
			continue
		}
		text, _ := json.Marshal([]any{q.Options, q.Examples, q.View, state.Board, info.Rules}) // it was read from JSON
		if err := info.CheckSize("a question has", size-rules.ReportRest+rules.QuestionRest+len(text)); err != nil {
			return err
		}
	}
	return nil
}

// move chooses a move. Free text is one of the examples of the question, or a guess that the program allows.
func (x *gameExam) move(ctx context.Context, c rules.Course, side rules.Side) (move string, ok bool) {
	q := c.Ask(side)
	if q.Text == 0 {
		return q.Options[x.option(len(q.Options))], true
	}
	texts := q.Examples
	if len(texts) == 0 {
		texts = strings.Fields(gameWords)
	} else if n := x.random.IntN(len(texts)); n > 0 {
		texts = append(slices.Clone(texts[n:]), texts[:n]...)
	}
	for _, word := range texts {
		after, err := c.Move(side, word)
		if err != nil { // it is too long
			continue
		}
		history := after.History()
		state, ok := x.ask(ctx, history)
		if !ok {
			return "", false
		}
		if state.Illegal == nil {
			return word, true
		}
		if len(q.Examples) > 0 {
			x.fail(legal, "it refuses its example %.60q (%s), after the history %s", word, state.Illegal.Reason,
				clipped(historyText(history[:len(history)-1])))
			return "", false
		}
	}
	untried := "no text that was tried is legal: " + gameWords
	if x.findings[legal] == nil {
		x.findings[legal] = &Finding{Verdict: Skipped, Detail: untried}
	}
	if x.findings[ends] == nil {
		x.findings[ends] = &Finding{Verdict: Warn, Cause: ends,
			Detail: untried + `; add "examples" to the questions with text`}
	}
	return "", false
}

// half asks about a history whose last entry lacks a side.
func (x *gameExam) half(ctx context.Context, c rules.Course, missing rules.Side) {
	history := c.History()
	state, ok := x.ask(ctx, history)
	switch {
	case !ok:
	case state.ToMove[missing] == nil || state.ToMove[missing.Other()] != nil:
		x.fail(partly, "after %s it must ask %s alone", clipped(historyText(history)), sideName(missing))
	default:
		x.pass(partly)
	}
}

func sideName(side rules.Side) string { return []string{"A", "B"}[side] }

// askAgain asks all parts of some matches again in another order, and in a new process.
func (x *gameExam) askAgain(ctx context.Context, open func(context.Context) (*program.Game, error)) {
	order := x.random.Perm(len(x.asked))
	order = order[:min(len(order), mostAgain)]
	for _, i := range order {
		if _, ok := x.ask(ctx, x.asked[i].history); !ok { // it compares with the first answer
			return
		}
	}
	x.pass(again)
	fresh, err := open(ctx)
	if err != nil {
		x.fail(anew, "%v", err)
		return
	}
	defer fresh.Close()
	for _, i := range slices.Backward(order) {
		a := x.asked[i]
		state, err := fresh.Ask(ctx, a.history)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !bytes.Equal(encodedValue(state), encodedValue(a.state)) {
			x.fail(anew, "after %s a new process says something else", clipped(historyText(a.history)))
			return
		}
	}
	x.pass(anew)
}
