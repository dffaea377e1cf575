package external

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// HostName is the strategy whose choices an MCP host makes: a person or a model.
const HostName = "mcp-host"

// hostTimeout is the default limit of a decision.
const hostTimeout = 60 * time.Second

// A Host is a strategy that shows its questions and waits for answers from outside.
type Host struct {
	*timely

	shown   int              // questions so far
	pending []*pendingChoice // the oldest first
	changed chan struct{}    // closed when a question arrives, and at the end
	end     string           // why no more questions come; "" while they may
}

// A Question is a choice that a player must make.
type Question struct {
	ChoiceID string `json:"choice_id"`
	Deadline string `json:"deadline"` // after it the fallback strategy chooses
	request
}

// A pendingChoice is a question that waits for its answer.
type pendingChoice struct {
	question Question
	answer   chan string // of one element
}

func newHost(t Tools) (*Host, error) {
	base, err := newTimely(t, HostName, "the MCP host", "HOST_CHOICE", "HOST_TIMEOUT", hostTimeout)
	return &Host{timely: base, changed: make(chan struct{})}, err
}

// Choose waits for the host's answer.
func (h *Host) Choose(ctx context.Context, v strategy.View) (string, error) {
	return h.choose(ctx, v, func(ctx context.Context, limit time.Duration) (string, error) {
		p := h.ask(&v, limit)
		select {
		case choice := <-p.answer:
			return choice, nil
		case <-ctx.Done():
		}
		h.drop(p)
		select {
		case choice := <-p.answer: // accepted just before the deadline
			return choice, nil
		default:
			return "", ctx.Err()
		}
	})
}

// ask adds a question.
func (h *Host) ask(v *strategy.View, limit time.Duration) *pendingChoice {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown++
	end := protocol.SystemClock().Now().Add(limit)
	p := &pendingChoice{answer: make(chan string, 1), question: Question{
		ChoiceID: fmt.Sprintf("%s-%d", v.MatchID, h.shown), Deadline: protocol.FormatTimestamp(end),
		request: *requestOf(v, limit),
	}}
	h.pending = append(h.pending, p)
	close(h.changed)
	h.changed = make(chan struct{})
	return p
}

// drop removes a question.
func (h *Host) drop(p *pendingChoice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = slices.DeleteFunc(h.pending, func(q *pendingChoice) bool { return q == p })
}

// Pending returns the questions without an answer, the oldest first.
func (h *Host) Pending() []Question {
	questions, _, _ := h.now()
	return questions
}

// End says why no more questions come, such as "the league is over", and ends all calls of Wait.
func (h *Host) End(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == "" {
		h.end = why
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

func (h *Host) now() (questions []Question, end string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	questions = []Question{}
	for _, p := range h.pending {
		questions = append(questions, p.question)
	}
	return questions, h.end, h.changed
}

// Wait waits until there is a question, or none will come, or ctx ends. It returns the questions without an
// answer, which may be none, and why no more come.
func (h *Host) Wait(ctx context.Context) (questions []Question, end string) {
	for {
		questions, end, changed := h.now()
		if len(questions) > 0 || end != "" {
			return questions, end
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return questions, ""
		}
	}
}

// Answer answers a question. It returns an error if the question does not wait any more,
// or if the choice is not legal.
func (h *Host) Answer(choiceID, choice string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.pending, func(p *pendingChoice) bool { return p.question.ChoiceID == choiceID })
	if i < 0 {
		return fmt.Errorf("choice_id %q: no such question waits; it was answered, or its deadline is over",
			words.Clip(choiceID, 60))
	}
	q := &h.pending[i].question
	switch legal := (legal{q.ValidOptions, q.Text}); {
	case legal.allows(choice):
	case q.Text > 0:
		return fmt.Errorf("choice %q: must be %s", words.Clip(choice, 60), legal)
	default:
		return fmt.Errorf("choice %q: must be one of %s", words.Clip(choice, 60), legal)
	}
	h.pending[i].answer <- choice // its only element, because the question is removed now
	h.pending = slices.Delete(h.pending, i, i+1)
	return nil
}
