package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/sashabaranov/go-openai"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// LLM configures the language model.
type LLM struct {
	URL   string // of an endpoint with OpenAI's API, with the version: http://localhost:11434/v1
	Model string
	Key   string // "" for none; never logged
	// Prompt is the text that precedes each question, as the message of the system; "" for none.
	Prompt string

	Transport http.RoundTripper // nil for the network
}

func (l *LLM) check() error {
	u, err := url.Parse(l.URL)
	switch {
	case l.URL == "" || l.Model == "":
		return errors.New("strategy llm: set --llm-url and --llm-model, for example http://localhost:11434/v1 and llama3.2")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("--llm-url: must be a URL such as http://localhost:11434/v1")
	case u.User != nil:
		return errors.New("--llm-url: must not contain a user or a password; set the key with EVENODD_LLM_KEY or OPENAI_API_KEY")
	}
	return nil
}

// modelTimeout is the default limit of a decision.
const modelTimeout = 20 * time.Second

// retryPause is the wait before a retry, unless the endpoint says otherwise.
const retryPause = 500 * time.Millisecond

// The limits of a response, in bytes.
const (
	maxReply   = 1 << 20
	maxRefusal = 4 << 10
)

// A model decides with a language model (spec 003 §3.6.3). It always decides in time: if
// the model does not answer, the choice is random, and the log and the account say so.
// Safe for concurrent use.
type model struct {
	llm    LLM
	limit  time.Duration
	log    zerolog.Logger
	client *openai.Client
	http   *http.Client

	mu    sync.Mutex
	spent spent
}

// spent counts the calls and their cost.
type spent struct {
	questions, byChance   int
	prompted, completions int // tokens
	time                  time.Duration
}

func newModel(t Tools) *model {
	m := &model{llm: t.LLM, limit: cmp.Or(t.Timeout, modelTimeout), log: t.Log.With().Str("model", t.LLM.Model).Logger()}
	transport := t.LLM.Transport
	if transport == nil { // with separate connections, which Close ends
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
	}
	m.http = &http.Client{
		Transport: transport,
		// The target of a redirect would receive the key.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c := openai.DefaultConfig(t.LLM.Key)
	c.BaseURL, c.HTTPClient = t.LLM.URL, bounded{m.http}
	m.client = openai.NewClientWithConfig(c)
	return m
}

func (m *model) Name() string { return Model }

// Choose asks the model. If the model fails, it chooses at random.
func (m *model) Choose(ctx context.Context, v strategy.View) (string, error) {
	if len(v.Options) == 0 {
		return "", fmt.Errorf("%s: no move to choose from", Model)
	}
	ctx, cancel := context.WithTimeout(ctx, timeFor(ctx, v, m.limit))
	defer cancel()
	began := time.Now()
	answer, usage, err := m.ask(ctx, prompt(v))
	choice := ""
	if err == nil {
		choice, err = chosen(answer, v.Options)
	}
	took := time.Since(began)
	m.count(usage, took, err != nil)
	log := m.log.With().Str("match_id", v.MatchID).Dur("took_ms", took).
		Int("prompt_tokens", usage.PromptTokens).Int("completion_tokens", usage.CompletionTokens).Logger()
	if err != nil {
		choice = v.Options[v.Random.IntN(len(v.Options))]
		v.FellBack()
		log.Warn().Str("error", m.withoutKey(err)).Str("choice", choice).Str("event_type", protocol.EventModelFailed).Msg("the language model did not choose, the choice is random")
		return choice, nil
	}
	log.Info().Str("choice", choice).Str("event_type", protocol.EventModelChose).Msg("the language model has chosen")
	return choice, nil
}

func (m *model) count(u openai.Usage, took time.Duration, byChance bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent.questions++
	m.spent.prompted += u.PromptTokens
	m.spent.completions += u.CompletionTokens
	m.spent.time += took
	if byChance {
		m.spent.byChance++
	}
}

// withoutKey returns the text of an error without the key, which some endpoints quote.
func (m *model) withoutKey(err error) string {
	text := err.Error()
	if m.llm.Key != "" {
		text = strings.ReplaceAll(text, m.llm.Key, "(the key)")
	}
	return clip(strings.ToValidUTF8(text, "�"), 500)
}

// ask sends the question. It retries once after a temporary failure, if there is time.
func (m *model) ask(ctx context.Context, question string) (answer string, usage openai.Usage, err error) {
	request := openai.ChatCompletionRequest{Model: m.llm.Model}
	if m.llm.Prompt != "" {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: m.llm.Prompt})
	}
	request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: question})
	for again := false; ; again = true {
		r, err := m.client.CreateChatCompletion(ctx, request)
		if err == nil && len(r.Choices) > 0 {
			return r.Choices[0].Message.Content, r.Usage, nil
		}
		if err == nil {
			return "", r.Usage, errors.New("the endpoint answered without a choice")
		}
		pause, temporary := transient(ctx, err)
		if again || !temporary || wait(ctx, pause) != nil {
			return "", r.Usage, err
		}
		m.log.Info().Str("error", m.withoutKey(err)).Str("event_type", protocol.EventModelRetried).Msg("retrying the call of the language model")
	}
}

// transient tells whether a failure is temporary, and how long to wait: the endpoint is
// busy, or the connection broke.
func transient(ctx context.Context, err error) (pause time.Duration, temporary bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.after, refused.status == http.StatusTooManyRequests || refused.status >= http.StatusInternalServerError
	}
	_, broken := errors.AsType[*url.Error](err)
	return retryPause, broken || errors.Is(err, io.ErrUnexpectedEOF)
}

// wait waits. It fails at once if the deadline is earlier.
func wait(ctx context.Context, pause time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return context.DeadlineExceeded
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the connections.
func (m *model) Close() {
	m.http.CloseIdleConnections()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.spent
	m.log.Info().Int("questions", s.questions).Int("by_chance", s.byChance).Int("prompt_tokens", s.prompted).
		Int("completion_tokens", s.completions).Dur("took_ms", s.time).Str("event_type", protocol.EventModelStopped).Msg("stopped calling the language model")
}

// Account summarizes the calls of the model.
func (m *model) Account() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.spent
	return fmt.Sprintf("%s: %s, %d answered by chance; %d tokens asked, %d answered, in %s",
		m.llm.Model, protocol.Counted(s.questions, "question"), s.byChance, s.prompted, s.completions, s.time.Round(time.Millisecond))
}

// A refusedError is an HTTP status other than 200.
type refusedError struct {
	status int
	after  time.Duration // before a retry
	body   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the endpoint answered HTTP %d %s: %s", e.status, http.StatusText(e.status), e.body)
}

// bounded is an HTTP client that limits the size of a response, and returns an error for
// any status but 200. The library does neither.
type bounded struct{ client *http.Client }

// Do sends a request.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	reply, err := b.client.Do(r) //nolint:gosec // the URL is a setting of the user
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusOK {
		defer func() { _ = reply.Body.Close() }() // an error loses no data
		text, _ := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
		e := &refusedError{status: reply.StatusCode, after: retryPause, body: string(text)}
		if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s >= 0 {
			e.after = time.Duration(min(s, 3600)) * time.Second
		}
		return nil, e
	}
	reply.Body = http.MaxBytesReader(nil, reply.Body, maxReply)
	return reply, nil
}
