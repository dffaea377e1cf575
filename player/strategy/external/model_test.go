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
		{"several options", []http.HandlerFunc{says("Either even or odd will do.")}, "", 1, "the model named several options"},
		{"no option", []http.HandlerFunc{says("As a language model I do not gamble.")}, "", 1, "the model named no option"},
		{"an empty reply", []http.HandlerFunc{says("")}, "", 1, "the model named no option"},
		{"no choices", []http.HandlerFunc{raw(200, `{"choices":[]}`)}, "", 1, "without a choice"},
		{"HTML", []http.HandlerFunc{raw(200, "<html>It works!</html>")}, "", 1, "invalid character"},
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
	e := serving(t, says("odd"), says("who knows"), says("even"))
	m, logged := newTestModel(t, LLM{URL: e.URL + "/v1/", Model: "llama3.2", Key: key}, 0)
	var choosing sync.WaitGroup
	for range 3 {
		choosing.Go(func() {
			_, err := m.Choose(context.Background(), view("R1M1"))
			assert.NoError(t, err)
		})
	}
	choosing.Wait()
	assert.Regexp(t, `^llm: 3 questions, 1 answered by the fallback strategy random; llama3\.2: 120 tokens asked, 6 answered, median [\d.]+m?s$`, m.Account())
	m.Close()
	assert.Contains(t, logged.String(), `"account":"llm: 3 questions, 1 answered`)
	v := view("R1M1")
	v.Options = nil
	_, err := m.Choose(t.Context(), v)
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

func TestPrompt(t *testing.T) {
	v := view("R3M1")
	assert.Equal(t, `You are playing Even/Odd game.
Choose "even" or "odd".
Your choice (one word only):`, prompt(v))

	v = documented()
	v.Memory().Remember("P04", "even", "odd")
	assert.Equal(t, `You are playing Even/Odd game.
Choose "even" or "odd".
Previous results: even won 1 time, odd won 1 time.
Your opponent, or others like it, chose "even" 1 time, "odd" 0 times, last "even".
Your last matches, the oldest first (your choice, the opponent's, the number, the result):
- even, odd, 4, WIN
- odd, none, 0, TECHNICAL_WIN
You are number 1 of the table with 6 points.
Your opponent is number 2 of the table with 3 points.
Your choice (one word only):`, prompt(v))

	v = view("R1M1")
	v.GameType, v.MoveType, v.Options = "tic_tac_toe", "mark", []string{"0", "4", "8"}
	v.Context = map[string]any{"board": "X..O.X..."}
	assert.Equal(t, `You are playing tic_tac_toe game. Your move: mark.
The position: {"board":"X..O.X..."}
Choose "0", "4" or "8".
Your choice (one word only):`, prompt(v))
	v.Options, v.Context = []string{"pass"}, map[string]any{"board": strings.Repeat("x", maxSituation)}
	assert.Equal(t, `You are playing tic_tac_toe game. Your move: mark.
Choose "pass".
Your choice (one word only):`, prompt(v))
}

func TestChosenOption(t *testing.T) {
	parities, cells := []string{"even", "odd"}, []string{"0", "4", "8", "10"}
	for _, tt := range []struct {
		answer  string
		options []string
		want    string // "" for nothing
	}{
		{"even", parities, "even"},
		{" Odd.\n", parities, "odd"},
		{"**EVEN**", parities, "even"},
		{`"even"`, parities, "even"},
		{`{"choice": "odd"}`, parities, "odd"},
		{"I choose odd because odd numbers are odd.", parities, "odd"},
		{"Even or odd? I will take odd.", parities, "odd"},
		{"Even won 3 times and odd won 2 times.\n\nMy choice: even", parities, "even"},
		{"Odd might do.\nEven might do.\n---\n", parities, "even"},
		{"<think>odd, no, even, no, odd</think>\neven", parities, "even"},
		{"even</think>", parities, ""},
		{"even, not odd", parities, ""},
		{"Both even and odd are as likely.", parities, ""},
		{"The odds are uneven; seventeen evenings.", parities, ""},
		{"", parities, ""},
		{"even_odd", parities, ""},
		{"İeven odd", parities, "odd"},
		{"4", cells, "4"},
		{"I take cell 10.", cells, "10"},
		{"cell 14 or 48", cells, ""},
		{"pass the turn", []string{"pass", "pass the turn"}, ""},
		{"\xff\xfe even \xff", parities, "even"},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			got, err := chosen(tt.answer, tt.options)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want == "", err != nil)
		})
	}
}

func FuzzWhatAModelMeans(f *testing.F) {
	f.Add("I choose odd", "even", "odd")
	f.Add("İ\xff", "i", "")
	f.Fuzz(func(t *testing.T, answer, one, two string) {
		choice, err := chosen(answer, []string{one, two})
		if err == nil {
			assert.Contains(t, []string{one, two}, choice)
		}
	})
}
