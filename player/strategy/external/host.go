package external

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// HostName is the strategy whose choices an MCP host makes: a person or a model.
const HostName = "mcp-host"

// hostTimeout is the default limit of a decision.
const hostTimeout = 60 * time.Second

// A Host is a strategy that shows its questions and waits for answers from outside. It
// always decides in time: if nobody answers, the fallback strategy chooses, and the log
// and the account say so. Safe for concurrent use.
type Host struct {
	limit    time.Duration
	fallback strategy.Strategy
	log      zerolog.Logger

	mu                    sync.Mutex
	pending               []*pendingChoice // the oldest first
	changed               chan struct{}    // closed when a question arrives
	questions, byFallback int
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
	fallback, err := newFallback(t)
	if err != nil {
		return nil, err
	}
	return &Host{limit: cmp.Or(t.Timeout, hostTimeout), fallback: fallback, log: t.Log, changed: make(chan struct{})}, nil
}

// Name returns the name of the strategy.
func (h *Host) Name() string { return HostName }

// Choose waits for the host's answer, and lets the fallback strategy choose without one.
func (h *Host) Choose(ctx context.Context, v strategy.View) (string, error) {
	if len(v.Options) == 0 {
		return "", fmt.Errorf("%s: no move to choose from", HostName)
	}
	limit := timeFor(ctx, v, h.limit)
	p := h.ask(&v, limit)
	defer h.drop(p)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case choice := <-p.answer:
		return h.chose(&v, choice), nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
	}
	h.drop(p)
	select {
	case choice := <-p.answer: // accepted just before the deadline
		return h.chose(&v, choice), nil
	default:
	}
	v.FellBack()
	choice, err := h.fallback.Choose(ctx, v)
	h.mu.Lock()
	h.byFallback++
	h.mu.Unlock()
	h.log.Warn().Str("match_id", v.MatchID).Str("fallback", h.fallback.Name()).Str("choice", choice).
		Str("event_type", protocol.EventHostSilent).Msg("the MCP host did not choose in time, the fallback strategy did")
	return choice, err
}

// chose logs the host's choice and returns it.
func (h *Host) chose(v *strategy.View, choice string) string {
	h.log.Info().Str("match_id", v.MatchID).Str("choice", choice).Str("event_type", protocol.EventHostChose).Msg("the MCP host has chosen")
	return choice
}

// ask adds a question.
func (h *Host) ask(v *strategy.View, limit time.Duration) *pendingChoice {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.questions++
	p := &pendingChoice{answer: make(chan string, 1), question: Question{
		ChoiceID: fmt.Sprintf("%s-%d", v.MatchID, h.questions), Deadline: protocol.FormatTimestamp(time.Now().Add(limit)), request: *requestOf(v, limit),
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
	questions, _ := h.now()
	return questions
}

func (h *Host) now() (questions []Question, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	questions = []Question{}
	for _, p := range h.pending {
		questions = append(questions, p.question)
	}
	return questions, h.changed
}

// Wait waits until there is a question, or ctx ends. It returns the questions without an
// answer, which may be none.
func (h *Host) Wait(ctx context.Context) []Question {
	for {
		questions, changed := h.now()
		if len(questions) > 0 {
			return questions
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return questions
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
		return fmt.Errorf("choice_id %q: no such question waits; it was answered, or its deadline is over", clip(choiceID, 60))
	}
	if options := h.pending[i].question.ValidOptions; !slices.Contains(options, choice) {
		return fmt.Errorf("choice %q: must be one of %s", clip(choice, 60), strings.Join(options, ", "))
	}
	h.pending[i].answer <- choice // its only element, because the question is removed now
	h.pending = slices.Delete(h.pending, i, i+1)
	return nil
}

// Account counts the questions and the answers of the fallback strategy.
func (h *Host) Account() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return account(HostName, h.questions, h.byFallback, h.fallback)
}
