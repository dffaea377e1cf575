package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
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
)

// A model decides with a language model. Its fallback is a random choice.
type model struct {
	*timely

	llm    LLM
	client *openai.Client
	http   *http.Client

	asked, answered int             // tokens
	took            []time.Duration // of each question, without the oldest ones after maxTimes
}

// maxTimes is how many times of a model are stored.
const maxTimes = 10_000

func newModel(t Tools) (*model, error) {
	t.Fallback, t.Log = "random", t.Log.With().Str("model", t.LLM.Model).Logger()
	base, err := newTimely(t, Model, "the language model", "THE_LANGUAGE_MODEL_HAS_CHOSEN", "MODEL_FAILED", modelTimeout)
	if err != nil {
		return nil, err
	}
	m := &model{timely: base, llm: t.LLM}
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
	return m, nil
}

// Choose asks the model.
func (m *model) Choose(ctx context.Context, v strategy.View) (string, error) {
	return m.choose(ctx, v, func(ctx context.Context, _ time.Duration) (choice string, err error) {
		began := time.Now()
		answer, usage, err := m.ask(ctx, prompt(v))
		if err == nil {
			choice, err = chosen(answer, v.Options)
		}
		m.mu.Lock()
		m.asked, m.answered = m.asked+usage.PromptTokens, m.answered+usage.CompletionTokens
		m.took = append(m.took[max(0, len(m.took)-maxTimes+1):], time.Since(began))
		m.mu.Unlock()
		if err != nil {
			err = &strategy.FailedError{Cause: protocol.Clip(m.withoutKey(causeOf(err)), maxCause),
				Err: errors.New(protocol.Clip(m.withoutKey(err.Error()), maxLogged))}
		}
		return choice, err
	})
}

// withoutKey returns a text without the key, which some endpoints quote.
func (m *model) withoutKey(text string) string {
	if m.llm.Key != "" {
		text = strings.ReplaceAll(text, m.llm.Key, "(the key)")
	}
	return strings.ToValidUTF8(text, "�")
}

// ask sends the question. It retries once after a temporary failure, if there is time.
func (m *model) ask(ctx context.Context, question string) (answer string, usage openai.Usage, err error) {
	request := openai.ChatCompletionRequest{Model: m.llm.Model, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: m.llm.Prompt}, {Role: openai.ChatMessageRoleUser, Content: question},
	}}
	if m.llm.Prompt == "" {
		request.Messages = request.Messages[1:]
	}
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
		m.log.Debug().Str("error", protocol.Clip(m.withoutKey(err.Error()), maxLogged)).
			Str("event_type", "ASKING_THE_LANGUAGE_MODEL_ONCE_MORE").Msg("retrying the call of the language model")
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

// A refusedError is an HTTP status other than 200.
type refusedError struct {
	status int
	host   string        // that answered
	after  time.Duration // before a retry
	body   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s answered HTTP %d %s: %s", e.host, e.status, http.StatusText(e.status), e.body)
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
		e := &refusedError{status: reply.StatusCode, host: r.URL.Host, after: retryPause, body: string(text)}
		if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s >= 0 {
			e.after = time.Duration(min(s, 3600)) * time.Second
		}
		return nil, e
	}
	reply.Body = http.MaxBytesReader(nil, reply.Body, maxReply)
	return reply, nil
}

// promptHistory is the number of finished matches in a prompt.
const promptHistory = 10

// maxSituation is the largest position in a prompt, in bytes.
const maxSituation = 8 << 10

// prompt returns the question to a model, with the player's knowledge.
func prompt(v strategy.View) string {
	var b strings.Builder
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) } // writing to a builder never fails
	if v.GameType == "even_odd" {
		say("You are playing Even/Odd game.\n")
	} else {
		say("You are playing %s game. Your move: %s.\n", v.GameType, v.MoveType)
		if situation, err := json.Marshal(v.Context, json.Deterministic(true)); err == nil && len(v.Context) > 0 &&
			len(situation) <= maxSituation {
			say("The position: %s\n", situation)
		}
	}
	say("Choose %s.\n", protocol.OrList(protocol.Each(v.Options, strconv.Quote)))
	if even, odd := v.Memory().Drawn("even"), v.Memory().Drawn("odd"); even+odd > 0 {
		say("Previous results: even won %s, odd won %s.\n", protocol.Counted(even, "time"), protocol.Counted(odd, "time"))
	}
	if last := v.Memory().Last(v.OpponentID); last != "" {
		counts := protocol.Each(v.Options, func(o string) string {
			return fmt.Sprintf("%q %s", o, protocol.Counted(v.Memory().Chose(v.OpponentID, o), "time"))
		})
		say("Your opponent, or others like it, chose %s, last %q.\n", strings.Join(counts, ", "), last)
	}
	if v.Recent != nil {
		for i, m := range v.Recent(promptHistory) {
			if i == 0 {
				say("Your last matches, the oldest first (your choice, the opponent's, the number, the result):\n")
			}
			say("- %s, %s, %d, %s\n", cmp.Or(m.MyChoice, "none"), cmp.Or(m.OpponentChoice, "none"), m.DrawnNumber, m.Result)
		}
	}
	sayRank(say, v, "You are", v.PlayerID)
	sayRank(say, v, "Your opponent is", v.OpponentID)
	say("Your choice (one word only):")
	return b.String()
}

// sayRank adds the rank of a player.
func sayRank(say func(string, ...any), v strategy.View, who, playerID string) {
	for i := range v.Table {
		if r := &v.Table[i]; r.PlayerID == playerID {
			say("%s number %d of the table with %s.\n", who, r.ShownRank(), protocol.Counted(r.Points, "point"))
			return
		}
	}
}

// chosen returns the option that an answer names: the only one in the text, or the only
// one in its last line or in its last sentence. An ambiguous answer is an error, because
// a guess would be a random choice.
func chosen(answer string, options []string) (string, error) {
	if _, after, thought := strings.Cut(answer, "</think>"); thought {
		answer = after // the reasoning is not the choice
	}
	for _, part := range []string{answer, lastLine().FindString(answer), lastSentence().FindString(answer)} {
		if named := optionsIn(part, options); len(named) == 1 {
			return named[0], nil
		}
	}
	number := "several options"
	if len(optionsIn(answer, options)) == 0 {
		number = "no option"
	}
	return "", fmt.Errorf("the model named %s: %q", number, protocol.Clip(strings.TrimSpace(answer), 200))
}

// inWord is the pattern of the characters of words, between brackets.
const inWord = `\pL\p{Nd}_`

// These match a text from the beginning of its last line, or of its last sentence, that contains a word.
var (
	lastLine     = protocol.Pattern(`[^\n]*[` + inWord + `][^` + inWord + `]*$`)
	lastSentence = protocol.Pattern(`[^.!?\n]*[` + inWord + `][^` + inWord + `]*$`)
)

// optionsIn returns the options that a text contains as whole words.
func optionsIn(text string, options []string) (named []string) {
	const boundary = `[^` + inWord + `]`
	for _, o := range options {
		word, err := regexp.Compile(`(?i)(^|` + boundary + `)` + regexp.QuoteMeta(o) + `(` + boundary + `|$)`)
		if err == nil && o != "" && word.MatchString(text) {
			named = append(named, o)
		}
	}
	return named
}
