package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sashabaranov/go-openai"

	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// LLM configures the language model.
type LLM struct {
	URL   string // of an endpoint with OpenAI's API, with the version: http://localhost:11434/v1
	Model string
	Key   string // "" for none; never logged
	// KeyHint says where the user sets the key: "EVENODD_LLM_KEY or OPENAI_API_KEY". It stands in the
	// error of an endpoint that demands a key, if there is none.
	KeyHint string
	// Prompt is the text that precedes each question, as the message of the system; "" for none.
	Prompt string

	Transport http.RoundTripper // nil for the network
}

func (l *LLM) check() error {
	switch u, _ := url.Parse(l.URL); {
	case l.URL == "" || l.Model == "":
		return errors.New("strategy llm: set --llm-url and --llm-model, for example http://localhost:11434/v1 and llama3.2")
	case !protocol.ValidHTTP(l.URL):
		return errors.New("--llm-url: must be a URL such as http://localhost:11434/v1")
	case u.User != nil:
		return errors.New(
			"--llm-url: must not contain a user or a password; set the key with EVENODD_LLM_KEY or OPENAI_API_KEY")
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
	maxAnswer  = 2 << 10 // that the model gets back when it is asked again
)

// A model decides with a language model. Its fallback is a random choice.
type model struct {
	*timely

	llm    LLM
	games  rules.Registry
	client *openai.Client
	http   *http.Client

	asked, answered int             // tokens
	took            []time.Duration // of each question, without the oldest ones after maxTimes
}

// maxTimes is how many times of a model are stored.
const maxTimes = 10_000

func newModel(t Tools) (*model, error) {
	t.Fallback, t.Log = "random", t.Log.With().Str("model", t.LLM.Model).Logger()
	base, err := newTimely(t, Model, "the language model", "MODEL_CHOICE", "MODEL_FAILED", modelTimeout)
	if err != nil {
		return nil, err
	}
	m := &model{timely: base, llm: t.LLM, games: t.Games}
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
	c.BaseURL, c.HTTPClient = t.LLM.URL, boundedClient{m.http, m.withoutKey}
	m.client = openai.NewClientWithConfig(c)
	return m, nil
}

// Choose asks the model. After an answer without a legal choice it asks once more, with the reason.
func (m *model) Choose(ctx context.Context, v strategy.View) (string, error) {
	return m.choose(ctx, v, func(ctx context.Context, _ time.Duration) (choice string, err error) {
		began := time.Now()
		choice, err = m.converse(ctx, &v)
		m.mu.Lock()
		m.took = append(m.took[max(0, len(m.took)-maxTimes+1):], time.Since(began))
		m.mu.Unlock()
		if err != nil {
			err = &strategy.FailedError{Cause: words.Clip(m.withoutKey(causeOf(err)), maxCause), Err: &quotedError{
				text: words.Clip(m.withoutKey(err.Error()), program.MaxLogged), cause: err}}
		}
		return choice, err
	})
}

// A quotedError is an error whose text is fit for people: short, and without the key.
type quotedError struct {
	text  string
	cause error
}

func (e *quotedError) Error() string { return e.text }
func (e *quotedError) Unwrap() error { return e.cause }

// converse asks for a choice, and asks once more if the answer has no legal one and there is time for as
// long an answer again.
func (m *model) converse(ctx context.Context, v *strategy.View) (string, error) {
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: m.llm.Prompt},
		{Role: openai.ChatMessageRoleUser, Content: promptFor(m.games, v)},
	}
	if m.llm.Prompt == "" {
		messages = messages[1:]
	}
	began := time.Now()
	answer, err := m.ask(ctx, messages)
	if err != nil {
		return "", err
	}
	choice, refused := chosen(answer, legalOf(v))
	if refused == nil {
		return choice, nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Since(began) {
		return "", refused
	}
	m.log.Debug().Str("error", words.Clip(m.withoutKey(refused.Error()), program.MaxLogged)).Str("match_id", v.MatchID).
		Str("event_type", "MODEL_CORRECTION").Msg("asking the language model again for a legal choice")
	answer, err = m.ask(ctx, append(messages,
		openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: words.Clip(answer, maxAnswer)},
		openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: promptAgain(refused, legalOf(v))}))
	if err != nil { // the first answer says more than the failure of the second question
		return "", refused
	}
	return chosen(answer, legalOf(v))
}

// withoutKey returns a text without the key, which some endpoints quote.
func (m *model) withoutKey(text string) string {
	if m.llm.Key != "" {
		text = strings.ReplaceAll(text, m.llm.Key, "(the key)")
	}
	return strings.ToValidUTF8(text, "�")
}

// ask sends messages and returns the answer. It retries once after a temporary failure, if there is time.
func (m *model) ask(ctx context.Context, messages []openai.ChatCompletionMessage) (string, error) {
	request := openai.ChatCompletionRequest{Model: m.llm.Model, Messages: messages}
	for again := false; ; again = true {
		r, err := m.client.CreateChatCompletion(ctx, request)
		m.mu.Lock()
		m.asked, m.answered = m.asked+r.Usage.PromptTokens, m.answered+r.Usage.CompletionTokens
		m.mu.Unlock()
		if err == nil && len(r.Choices) > 0 {
			return r.Choices[0].Message.Content, nil
		}
		if err == nil {
			return "", errors.New("the endpoint answered without a choice")
		}
		refused, ok := errors.AsType[*refusedError](err)
		if ok && m.llm.Key == "" && refused.wantsKey() {
			refused.hint = "no key is set: set " + cmp.Or(m.llm.KeyHint, "the key of this API")
		}
		pause, temporary := transient(ctx, err)
		if again || !temporary || wait(ctx, pause) != nil {
			return "", err
		}
		m.log.Debug().Str("error", words.Clip(m.withoutKey(err.Error()), program.MaxLogged)).
			Str("event_type", "MODEL_RETRY").Msg("retrying the call of the language model")
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
	return protocol.SystemClock().Sleep(ctx, pause)
}

// Close closes the connections.
func (m *model) Close() {
	m.http.CloseIdleConnections()
	m.log.Info().Str("account", m.Account()).Str("event_type", "MODEL_STOPPED").Msg("stopped calling the language model")
}

// Account summarizes the calls of the model.
func (m *model) Account() string {
	questions := m.timely.Account()
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%s; %s: %d tokens asked, %d answered, median %s", questions, m.llm.Model, m.asked, m.answered,
		m.quantile(50))
}

// Totals counts the questions, the tokens and the time.
func (m *model) Totals() strategy.Totals {
	t := m.timely.Totals()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Model = &protocol.ModelTotals{Name: m.llm.Model, Requests: t.Questions, TokensIn: m.asked, TokensOut: m.answered,
		MedianMS: m.quantile(50).Milliseconds(), P90MS: m.quantile(90).Milliseconds()}
	return t
}

// quantile returns the time that so many percent of the questions took at most. m.mu is held.
func (m *model) quantile(percent int) time.Duration {
	if len(m.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(m.took))
	return sorted[(len(sorted)*percent+99)/100-1].Round(time.Millisecond)
}

// A refusedError is a response that is not that of the API: an HTTP status other than 200, an error of
// the API with status 200, or a page.
type refusedError struct {
	status int
	host   string        // that answered
	after  time.Duration // before a retry
	said   string        // the API's own error; "" for none
	hint   string        // what to do; "" for nothing
}

func (e *refusedError) Error() string {
	parts := []string{fmt.Sprintf("%s answered HTTP %d %s", e.host, e.status, http.StatusText(e.status)), e.said, e.hint}
	return strings.Join(lists.Filter(parts, func(part string) bool { return part != "" }), ": ")
}

// wantsKey tells whether the endpoint refuses callers without a key.
func (e *refusedError) wantsKey() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// boundedClient is an HTTP client that limits the size of a response, and returns an error for any response
// that is not one of the API. The library does neither.
type boundedClient struct {
	client  *http.Client
	conceal func(text string) string // removes the key, before a text is cut: a part of the key would stay
}

// quote returns at most maxSaid bytes of an error of the API.
func (b boundedClient) quote(said string) string {
	return words.Clip(b.conceal(strings.TrimSpace(said)), maxSaid)
}

// Do sends a request.
func (b boundedClient) Do(r *http.Request) (*http.Response, error) {
	reply, err := b.client.Do(r) //nolint:gosec // the URL is a setting of the user
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }() // an error loses no data
	e := &refusedError{status: reply.StatusCode, host: r.URL.Host, after: retryPause}
	if reply.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
		e.said = b.quote(cmp.Or(errorIn(text), string(text))) // the API's own error, or the text
		if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s >= 0 {
			e.after = time.Duration(min(s, 3600)) * time.Second
		}
		return nil, e
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, reply.Body, maxReply))
	if err != nil {
		return nil, err
	}
	if e.said = b.quote(errorIn(text)); e.said != "" {
		return nil, e
	}
	reply.Body = io.NopCloser(bytes.NewReader(text))
	return reply, nil
}

// pageInstead is what a page says instead of an answer of the API.
const pageInstead = "an HTML page, not the API: is the URL right?"

// maxSaid is how much of an error of the API is quoted, in bytes.
const maxSaid = 200

// errorIn returns the error of a response of the API, in the forms that servers have; "" for none.
func errorIn(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return pageInstead
	}
	var response struct {
		Choices []jsontext.Value `json:"choices"`
		Error   jsontext.Value   `json:"error"`
		Message jsontext.Value   `json:"message"`
		Detail  jsontext.Value   `json:"detail"`
	}
	if json.Unmarshal(body, &response) != nil || len(response.Choices) > 0 {
		return ""
	}
	for _, value := range []jsontext.Value{response.Error, response.Message, response.Detail} {
		var nested struct {
			Message string `json:"message"`
		}
		var text string
		switch value.Kind() {
		case '"':
			_ = json.Unmarshal(value, &text)
		case '{':
			_ = json.Unmarshal(value, &nested)
			text = cmp.Or(nested.Message, string(value))
		case '[':
			text = string(value)
		}
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}
