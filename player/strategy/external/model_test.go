package external

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/player/strategy"
	"evenodd/rules/evenodd"
)

const key = "sk-of-the-tests"

// replyOf returns the response of an endpoint with a text of the model.
func replyOf(text string) string {
	content, _ := json.Marshal(text)
	return fmt.Sprintf(`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",`+
		`"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":2,"total_tokens":42}}`, content)
}

// An endpoint is a server with one handler for each call. The last handler serves all
// further calls.
type endpoint struct {
	*httptest.Server
	asked atomic.Int32
}

func serving(t *testing.T, replies ...http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(e.asked.Add(1))
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		assert.Equal(t, "Bearer "+key, r.Header.Get("Authorization"))
		replies[min(n, len(replies))-1](w, r)
	}))
	t.Cleanup(e.Close)
	t.Cleanup(e.CloseClientConnections)
	return e
}

func says(text string) http.HandlerFunc { return raw(http.StatusOK, replyOf(text)) }

func raw(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func busy(status int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(status)
	}
}

func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func hangsUpHalfway(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, replyOf("even")[:60])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// newTestModel returns a model at an endpoint, and its log.
func newTestModel(t *testing.T, l LLM, limit time.Duration) (*model, *log) {
	t.Helper()
	s, logged := open(t, Model, func(tools *Tools) { tools.Timeout, tools.LLM = limit, l })
	return s.(*model), logged
}

func TestModel(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = io.WriteString(w, replyOf("odd"))
	}))
	t.Cleanup(other.Close)
	redirecting := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	for _, tt := range []struct {
		name    string
		replies []http.HandlerFunc
		want    string // "" when chance decides
		asked   int
		logged  string
	}{
		{"a word", []http.HandlerFunc{says("odd")}, "odd", 1, `"choice":"odd"`},
		{"a sentence", []http.HandlerFunc{says("Let me think.\n\nThe draws are independent, so I will go with **Odd**.")}, "odd", 1, `"choice":"odd"`},
		{"several options, twice", []http.HandlerFunc{says("Either even or odd will do.")}, "", 2, "the model named several options"},
		{"no option, twice", []http.HandlerFunc{says("As a language model I do not gamble.")}, "", 2, "the model named no option"},
		{"an empty reply, twice", []http.HandlerFunc{says("")}, "", 2, "the model named no option"},
		{"no option, once", []http.HandlerFunc{says("Neither."), says("odd")}, "odd", 2, "asking the language model again"},
		{"an illegal choice, then trouble", []http.HandlerFunc{says(`{"choice":"zero"}`), raw(500, "")}, "", 3,
			`the model chose \"zero\", which is not a legal choice`},
		{"no choices", []http.HandlerFunc{raw(200, `{"choices":[]}`)}, "", 1, "without a choice"},
		{"HTML", []http.HandlerFunc{raw(200, " <html>It works!</html>")}, "", 1, "an HTML page, not the API: is the URL right?"},
		{"HTML that is not there", []http.HandlerFunc{raw(404, "<!DOCTYPE html>"+strings.Repeat(" ", 9000))}, "", 1,
			"HTTP 404 Not Found: an HTML page, not the API: is the URL right?"},
		{"an error with status 200", []http.HandlerFunc{raw(200, `{"error":{"message":"no credit"}}`)}, "", 1, "HTTP 200 OK: no credit"},
		{"a long error", []http.HandlerFunc{raw(400, `{"error":"`+strings.Repeat("x", 500)+`"}`)}, "", 1, strings.Repeat("x", 190)},
		{"rate limited, once", []http.HandlerFunc{busy(429, "0"), says("odd")}, "odd", 2, "retrying the call of the language model"},
		{"rate limited for a minute", []http.HandlerFunc{busy(429, "60")}, "", 1, "HTTP 429"},
		{"rate limited twice", []http.HandlerFunc{busy(429, "0")}, "", 2, "HTTP 429"},
		{"broken, once", []http.HandlerFunc{raw(503, "loading the model"), says("odd")}, "odd", 2, "HTTP 503 Service Unavailable: loading the model"},
		{"broken", []http.HandlerFunc{raw(500, "")}, "", 2, "HTTP 500"},
		{"a wrong key", []http.HandlerFunc{raw(401, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`)}, "", 1,
			"Incorrect API key provided: (the key)"},
		{"an unknown model", []http.HandlerFunc{raw(404, "no such model")}, "", 1, "HTTP 404 Not Found: no such model"},
		{"a redirect", []http.HandlerFunc{redirecting}, "", 1, "HTTP 307"},
		{"a broken connection, once", []http.HandlerFunc{hangsUp, says("odd")}, "odd", 2, "retrying the call"},
		{"a broken response", []http.HandlerFunc{hangsUpHalfway}, "", 2, "unexpected EOF"},
		{"10 MB", []http.HandlerFunc{says(strings.Repeat("even ", 2<<20))}, "", 1, "too large"},
		{"10 MB of trouble", []http.HandlerFunc{raw(400, strings.Repeat("even ", 2<<20))}, "", 1, "HTTP 400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := serving(t, tt.replies...)
			m, logged := newTestModel(t, LLM{URL: e.URL + "/v1", Model: "m", Key: key}, time.Minute)
			choice, err := m.Choose(t.Context(), view("R1M1"))
			require.NoError(t, err, "a model always chooses")
			want, byChance := tt.want, 0
			if want == "" {
				want, byChance = chance(t), 1
				assert.Contains(t, logged.String(), "the language model did not choose, the fallback strategy did")
			}
			assert.Equal(t, want, choice)
			assert.EqualValues(t, tt.asked, e.asked.Load())
			assert.Contains(t, logged.String(), tt.logged)
			assert.NotContains(t, logged.String(), key)
			assert.Less(t, logged.text.Len(), 4<<10)
			assert.Regexp(t, fmt.Sprintf(`^llm: 1 question, %d answered by the fallback strategy random; m: `, byChance), m.Account())
			assert.Zero(t, elsewhere.Load(), "the key is sent to the endpoint only")
		})
	}
}

// chance returns the random choice in view.
func chance(t *testing.T) string {
	t.Helper()
	random, err := strategy.New("random")
	require.NoError(t, err)
	choice, err := random.Choose(t.Context(), view("R1M1"))
	require.NoError(t, err)
	return choice
}

func TestAccountOfAModel(t *testing.T) {
	t.Parallel()
	e := serving(t, says("who knows"), says("I do not"), says("even"))
	m, logged := newTestModel(t, LLM{URL: e.URL + "/v1/", Model: "llama3.2", Key: key}, 0)
	_, err := m.Choose(t.Context(), view("R1M1"))
	require.NoError(t, err)
	var choosing sync.WaitGroup
	for range 2 {
		choosing.Go(func() {
			_, err := m.Choose(context.Background(), view("R1M1"))
			assert.NoError(t, err)
		})
	}
	choosing.Wait()
	assert.Regexp(t, `^llm: 3 questions, 1 answered by the fallback strategy random; llama3\.2: 160 tokens asked, 8 answered, median [\d.]+m?s$`, m.Account())
	m.Close()
	assert.Contains(t, logged.String(), `"account":"llm: 3 questions, 1 answered`)
	v := view("R1M1")
	v.Options = nil
	_, err = m.Choose(t.Context(), v)
	assert.EqualError(t, err, "llm: no move to choose from")
}

// A silentNetwork never responds, or asks to retry later.
type silentNetwork struct {
	status int
	after  string
	asked  []time.Duration // when, since the beginning
	began  time.Time
}

func (s *silentNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Since(s.began))
	if s.status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{"Retry-After": {s.after}}, Body: http.NoBody, Request: r}, nil
}

func TestModelAnswersBeforeTheDeadline(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limit   time.Duration
		within  time.Duration // of the referee
		network silentNetwork
		want    time.Duration // when the answer is there
		asked   []time.Duration
	}{
		{"the limit of the setting", 10 * time.Second, 30 * time.Second, silentNetwork{}, 10 * time.Second, []time.Duration{0}},
		{"the default limit", 0, 30 * time.Second, silentNetwork{}, 20 * time.Second, []time.Duration{0}},
		{"the deadline of the referee", time.Minute, 30 * time.Second, silentNetwork{}, 24 * time.Second, []time.Duration{0}},
		{"little time", 0, 3 * time.Second, silentNetwork{}, 2400 * time.Millisecond, []time.Duration{0}},
		{"a retry in time", 0, 30 * time.Second, silentNetwork{status: 429, after: "7"}, 7 * time.Second, []time.Duration{0, 7 * time.Second}},
		{"a retry after the deadline", 0, 30 * time.Second, silentNetwork{status: 429, after: "25"}, 0, []time.Duration{0}},
		{"an invalid Retry-After", 0, 30 * time.Second, silentNetwork{status: 503, after: "-9"}, retryPause, []time.Duration{0, retryPause}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.network.began = time.Now()
				m, _ := newTestModel(t, LLM{URL: "http://model/v1", Model: "m", Transport: &tt.network}, tt.limit)
				v := view("R1M1")
				v.Within = tt.within
				choice, err := m.Choose(t.Context(), v)
				require.NoError(t, err)
				assert.Equal(t, chance(t), choice)
				assert.Equal(t, tt.want, time.Since(tt.network.began))
				assert.Equal(t, tt.asked, tt.network.asked)
			})
		})
	}
}

// promptsOf returns the messages of each request, as "role: text".
func promptsOf(t *testing.T, answers ...string) (url string, prompts func() [][]string) {
	t.Helper()
	var all [][]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&request))
		var messages []string
		for _, m := range request.Messages {
			messages = append(messages, m.Role+": "+m.Content)
		}
		all = append(all, messages)
		_, _ = io.WriteString(w, replyOf(answers[min(len(all), len(answers))-1]))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func() [][]string { return all }
}

func TestModelIsAskedAgainWithTheReason(t *testing.T) {
	t.Parallel()
	url, prompts := promptsOf(t, `I take {"choice": "seven"}`, `{"choice": "odd"}`)
	m, _ := newTestModel(t, LLM{URL: url, Model: "m", Prompt: "Be brief."}, time.Minute)
	choice, err := m.Choose(t.Context(), view("R1M1"))
	require.NoError(t, err)
	assert.Equal(t, "odd", choice)
	asked := prompts()
	require.Len(t, asked, 2)
	assert.Equal(t, asked[0], asked[1][:2], "the first question again")
	assert.Equal(t, []string{
		`assistant: I take {"choice": "seven"}`,
		"user: Your answer does not count: the model chose \"seven\", which is not a legal choice. Choose \"even\" or \"odd\".\n" +
			"Answer with JSON alone, with one of these options: {\"choice\": \"…\"}",
	}, asked[1][2:])
	assert.Equal(t, 1, m.Totals().Questions)
	assert.Zero(t, m.Totals().Failed)
}

// A slowNetwork answers after a pause without a legal choice.
type slowNetwork struct {
	takes time.Duration
	asked int
}

func (s *slowNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	if err := wait(r.Context(), s.takes); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(replyOf("neither")))}, nil
}

func TestModelIsAskedAgainOnlyIfThereIsTime(t *testing.T) {
	for _, tt := range []struct {
		name         string
		takes, limit time.Duration
		asked        int
	}{
		{"less than half the time", 4 * time.Second, 10 * time.Second, 2},
		{"more than half the time", 6 * time.Second, 10 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &slowNetwork{takes: tt.takes}
				m, _ := newTestModel(t, LLM{URL: "http://model/v1", Model: "m", Transport: network}, tt.limit)
				_, err := m.Choose(t.Context(), view("R1M1"))
				require.NoError(t, err)
				assert.Equal(t, tt.asked, network.asked)
				assert.Equal(t, 1, m.Totals().Failed)
			})
		})
	}
}

func TestTryQuotesTheErrorOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, key string
		status    int
		body      string
		want      string
	}{
		{"a wrong key", key, 401, `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`,
			`HTTP 401 Unauthorized: Incorrect API key provided: (the key)`},
		{"a wrong key at the end of the quotation", key, 401, strings.Repeat("x", 195) + key, strings.Repeat("x", 195) + "(the …"},
		{"no key", "", 401, `{"error":{"message":"You did not provide an API key."}}`,
			`HTTP 401 Unauthorized: You did not provide an API key.: no key is set: set MY_KEY`},
		{"no key, no words", "", 403, ``, `HTTP 403 Forbidden: no key is set: set MY_KEY`},
		{"a page", key, 200, `<html>`, `an HTML page, not the API: is the URL right?`},
		{"no model", key, 404, `{"detail":"model m not found, try pulling it first"}`, `HTTP 404 Not Found: model m not found, try pulling it first`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := httptest.NewServer(raw(tt.status, tt.body))
			t.Cleanup(e.Close)
			err := Try(t.Context(), Model, Tools{LLM: LLM{URL: e.URL + "/v1", Model: "m", Key: tt.key, KeyHint: "MY_KEY"}}, evenodd.Game{}, 0)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), key)
		})
	}
}
