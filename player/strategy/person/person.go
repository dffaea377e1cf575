// Package person is the strategy whose moves a person makes. It shows the questions and the course of a match to a
// front end, such as a page or a terminal, and waits for an answer. The package must not depend on a front end: it
// knows no HTTP and no files.
package person

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// Name is the name of the strategy.
const Name = "person"

// margin is the part of the time for a move that the answer needs on its way to the referee. It is a tenth of a short
// time.
const margin = 500 * time.Millisecond

// mostOpen is how many matches are followed at once. A league asks for one; others may ask for any number.
const mostOpen = 16

// Options configure a Person.
type Options struct {
	Player string                 // display name
	Games  rules.Registry         // whose boards are drawn
	Named  func(id string) string // display name of a player; "" for an unknown one. Nil knows none
}

// A Person is a strategy that shows its questions and waits for the answers of a person. No other strategy answers in
// its place: who does not answer in time loses. Safe for concurrent use.
type Person struct {
	options Options

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change
	asked    int           // the number of the last question
	playerID string        // "" before the first question or result
	open     []*match      // that are not over, the one that began first at the front
	last     *match        // the last one that is over; nil for none
	score    Score
	end      string // why no more matches come; "" while they may
	again    bool   // the front end may ask for another league
}

var (
	_ strategy.Strategy = (*Person)(nil)
	_ strategy.Watcher  = (*Person)(nil)
)

// A Score counts the results of a person since the process began.
type Score struct{ Wins, Draws, Losses int }

// Any tells whether there are results.
func (s Score) Any() bool { return s != Score{} }

// String returns the counts in words: "2 won, 1 lost".
func (s Score) String() string {
	var parts []string
	for _, one := range []struct {
		count int
		word  string
	}{{s.Wins, "won"}, {s.Draws, "drawn"}, {s.Losses, "lost"}} {
		if one.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.count, one.word))
		}
	}
	return strings.Join(parts, ", ")
}

// A question is one that the person has seen. The referee may ask it again, after a failure on the way.
type question struct {
	key      string
	number   int
	view     strategy.View
	deadline time.Time
	timer    *time.Timer   // closes late at the deadline
	answered chan struct{} // closed with the answer in move
	late     chan struct{} // closed when the time is over without an answer
	move     string
	refused  *strategy.Refusal // the last one of this question; nil for none
	spent    bool              // the referee has refused move
}

// errLate is the error of an answer after the deadline.
var errLate = errors.New("your time for this move is over")

// New returns a Person.
func New(o Options) *Person {
	if o.Named == nil {
		o.Named = func(string) string { return "" }
	}
	// a page of an earlier process must answer no question of this one
	first := rand.IntN(1 << 30) //nolint:gosec // no secret
	return &Person{options: o, changed: make(chan struct{}), asked: first}
}

// Name returns the name of the strategy.
func (p *Person) Name() string { return Name }

// Choose shows a question, and waits for the answer until the time of its first asking is over. A caller that has
// given up gets an error; the question stays, and when it is asked again, an answer that was given meanwhile counts.
func (p *Person) Choose(ctx context.Context, v strategy.View) (string, error) {
	q := p.ask(&v)
	if done(q.answered) { // also if ctx has ended
		return q.move, nil
	}
	select {
	case <-q.answered:
		return q.move, nil
	case <-q.late:
		return "", &strategy.FailedError{Cause: "no move in time", Err: errors.New("the person has not moved in time")}
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ask returns the question of a view: the present one of its match if that is asked again, whose time then ends with
// that of the later asking, unless it is over.
func (p *Person) ask(v *strategy.View) *question {
	within := v.Within
	if within <= 0 {
		within = protocol.Seconds(protocol.DefaultTimeouts().Move)
	}
	within -= min(margin, within/10)
	key := fmt.Sprint(v.MoveType, v.Options, v.Context) // fmt sorts the keys of maps
	if v.Refused != nil {
		key += fmt.Sprint(*v.Refused)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.playerID = v.PlayerID
	m := p.matchOf(v.MatchID, v.OpponentID, v.Role)
	if q := m.question; q != nil && q.key == key && !q.spent {
		if q.waits() && q.timer.Stop() {
			q.deadline = later(q.deadline, time.Now().Add(within))
			q.timer.Reset(time.Until(q.deadline))
			p.change()
		}
		return q
	}
	p.asked++
	q := &question{key: key, number: p.asked, view: *v, refused: v.Refused, deadline: time.Now().Add(within),
		answered: make(chan struct{}), late: make(chan struct{})}
	q.timer = time.AfterFunc(within, func() { p.expire(q) })
	m.ask(q, p.options.Games)
	p.change()
	return q
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waits tells whether the question can be answered.
func (q *question) waits() bool { return !done(q.answered) && !done(q.late) }

func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// expire ends the time of a question.
func (p *Person) expire(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.waits() {
		close(q.late)
		p.change()
	}
}

// Answer answers a question by its number. Only the first answer counts: another one to the same question changes
// nothing, and is no error if it is the same move. It returns an error for a move that is not legal or comes too late.
func (p *Person) Answer(number int, move string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.open, func(m *match) bool { return m.question != nil && m.question.number == number })
	if i < 0 {
		return errors.New("this question does not wait for a move any more")
	}
	m := p.open[i]
	q := m.question
	switch {
	case done(q.answered) && q.move == move:
		return nil
	case done(q.answered):
		return errors.New("you have moved already")
	case done(q.late):
		return errLate
	}
	if err := q.check(move); err != nil {
		return err
	}
	q.timer.Stop()
	q.move = move
	close(q.answered)
	m.moved(move)
	p.change()
	return nil
}

// check returns an error for a move that is not legal.
func (q *question) check(move string) error {
	most := q.view.Text
	switch {
	case most == 0 && !slices.Contains(q.view.Options, move):
		return fmt.Errorf("%q is not a legal move", words.Clip(move, 60))
	case most == 0:
		return nil
	case strings.TrimSpace(move) == "":
		return errors.New("write something first")
	case len(move) > most:
		return fmt.Errorf("the text has %d bytes, %d are allowed", len(move), most)
	case !utf8.ValidString(move) || strings.ContainsAny(move, "\r\n"):
		return errors.New("the text must be one line")
	}
	return nil
}

// Began tells of an attempt at a match that the player has accepted. What was asked in an earlier attempt counts no
// more.
func (p *Person) Began(matchID, opponentID, gameType, role string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(m *match) bool {
		if m.id == matchID {
			m.stop()
		}
		return m.id == matchID
	})
	m := p.matchOf(matchID, opponentID, role)
	if m.plays(gameType, p.options.Games); m.game != nil && m.side != rules.NoSide && !rules.HasViews(m.game) {
		m.course, m.known = rules.Begin(m.game), true
	}
	p.change()
}

// Refused tells that the referee has refused the last text of the person, and why.
func (p *Person) Refused(matchID string, r strategy.Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.open, func(m *match) bool { return m.id == matchID })
	if i < 0 || p.open[i].question == nil {
		return
	}
	q := p.open[i].question
	q.refused, q.spent = &r, done(q.answered)
	p.change()
}

// Ended tells of the result of a match, and why.
func (p *Person) Ended(r *protocol.PlayedMatch, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.matchOf(r.MatchID, r.OpponentID, "")
	m.stop()
	m.over(r, reason)
	p.open = slices.DeleteFunc(p.open, func(one *match) bool { return one == m })
	p.last = m
	switch m.result.Points() {
	case 1:
		p.score.Wins++
	case 0:
		p.score.Draws++
	default:
		p.score.Losses++
	}
	p.change()
}

// End says why no more matches come, such as "The league is over." With again the front end offers to play another
// league.
func (p *Person) End(why string, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.again = why, again
	p.change()
}

// Restart forgets the matches, because another league begins; the score stays.
func (p *Person) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.open {
		m.stop()
	}
	p.open, p.last, p.end, p.again = nil, nil, "", false
	p.change()
}

// matchOf returns the open match with an id, which begins if there is none. p.mu is held.
func (p *Person) matchOf(id, opponentID, role string) *match {
	i := slices.IndexFunc(p.open, func(m *match) bool { return m.id == id })
	if i >= 0 {
		m := p.open[i]
		m.join(opponentID, role)
		return m
	}
	if len(p.open) == mostOpen {
		p.open[0].stop()
		p.open = p.open[1:]
	}
	m := &match{id: id, side: rules.NoSide}
	m.join(opponentID, role)
	p.open = append(p.open, m)
	return m
}

// change tells the front ends of a change. p.mu is held.
func (p *Person) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}
