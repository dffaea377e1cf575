package external

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/player/strategy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// view is a question of Even/Odd in a match against P02.
func view(matchID string) strategy.View {
	return strategy.View{
		GameType: "even_odd", MoveType: "choose_parity", Options: []string{"even", "odd"},
		MatchID: matchID, RoundID: 3, PlayerID: "P01", OpponentID: "P02",
		Memory: strategy.NewMemory(), Random: rand.New(rand.NewPCG(1, 7)),
	}
}

// A log is what was logged so far.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) tools() Tools { return Tools{Log: zerolog.New(l)} }

func TestNames(t *testing.T) {
	assert.Equal(t, strings.Join(strategy.Names(), ", ")+", llm, exec:PROGRAM", Names())
	for _, name := range strategy.Names() {
		s, err := Open(name, Tools{})
		require.NoError(t, err)
		assert.Equal(t, name, s.Name())
		assert.Empty(t, Account(s))
		Close(s)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	tests := []struct {
		name  string
		tools Tools
		want  string
	}{
		{"luck", Tools{}, `unknown strategy "luck"; there are: ` + Names()},
		{"", Tools{}, `unknown strategy ""; there are: ` + Names()},
		{"exec:", Tools{}, "names no program; exec:./bot runs ./bot"},
		{"exec: ", Tools{}, "names no program"},
		{`exec:""`, Tools{}, "names no program"},
		{"exec:./nothing --level 3", Tools{}, "strategy exec:./nothing --level 3: there is no program ./nothing"},
		{"exec:nothing-of-that-name", Tools{}, "there is no program nothing-of-that-name in PATH; one in this folder is exec:./nothing-of-that-name"},
		{"exec:./main_test.go", Tools{}, "./main_test.go is not executable: chmod +x it, or name what runs it, as in exec:python3 bot.py"},
		{"exec:./", Tools{}, "is a directory"},
		{"exec:sh 'x", Tools{}, "a quote is not closed"},
		{"exec:sh", Tools{Timeout: -1}, "--bot-timeout -1ns: more than nothing"},
		{"llm", Tools{}, "say whom to ask with --llm-url and --llm-model"},
		{"llm", Tools{LLM: LLM{URL: "http://localhost/v1"}}, "say whom to ask with --llm-url and --llm-model"},
		{"llm", Tools{LLM: LLM{URL: "localhost:11434", Model: "m"}}, "--llm-url: a URL such as"},
		{"llm", Tools{LLM: LLM{URL: "http://me:secret@localhost/v1", Model: "m"}}, "--llm-url: no user and no password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.ErrorContains(t, Check(tt.name, tt.tools), tt.want)
			s, err := Open(tt.name, tt.tools)
			require.ErrorContains(t, err, tt.want)
			assert.Nil(t, s)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}
