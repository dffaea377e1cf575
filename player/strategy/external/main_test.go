package external

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league/program"
	"evenodd/player/strategy"
)

func TestMain(m *testing.M) {
	if code, asked := program.Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	if os.Getenv(serveVariable) != "" {
		serveStdio()
		return
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=10") // the race detector else delays the exit of each supervisor
	_ = flag.Set("test.parallel", "8")            // most tests wait for limits
	goleak.VerifyTestMain(m)
}

// view is a question of Even/Odd in a match against P02.
func view(matchID string) strategy.View {
	memory := strategy.NewMemory()
	return strategy.View{
		GameType: "even_odd", MoveType: "choose_parity", Options: []string{"even", "odd"},
		MatchID: matchID, RoundID: 3, PlayerID: "P01", OpponentID: "P02",
		Memory: func() *strategy.Memory { return memory }, Random: rand.New(rand.NewPCG(1, 7)),
	}
}

// A log collects log lines.
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

// tools are those of a player: the programs of its strategies have a supervisor.
func (l *log) tools() Tools {
	return Tools{Log: zerolog.New(l), Programs: program.Programs{Environ: os.Environ(), Env: []string{"GORACE"}}}
}

// open opens a strategy with changed tools, and closes it after the test.
func open(t *testing.T, name string, change func(*Tools)) (strategy.Strategy, *log) {
	t.Helper()
	l := &log{}
	tools := l.tools()
	change(&tools)
	s, err := Open(name, tools)
	require.NoError(t, err)
	t.Cleanup(func() { Close(s) })
	return s, l
}

// outcome is a choice with its error.
type outcome struct {
	choice string
	err    error
}

// choose asks a strategy in the background.
func choose(ctx context.Context, s strategy.Strategy, matchID string) <-chan outcome {
	answer := make(chan outcome, 1)
	go func() {
		choice, err := s.Choose(ctx, view(matchID))
		answer <- outcome{choice, err}
	}()
	return answer
}

func TestNames(t *testing.T) {
	assert.Equal(t, strings.Join(strategy.Names(), ", ")+", llm, mcp, exec:PROGRAM", Names(false))
	assert.Equal(t, strings.Join(strategy.Names(), ", ")+", llm, mcp, mcp-host, person, exec:PROGRAM", Names(true))
	for _, name := range strategy.Names() {
		s, err := Open(name, Tools{})
		require.NoError(t, err)
		assert.Equal(t, name, s.Name())
		assert.Empty(t, Account(s))
		Close(s)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tools Tools
		want  string
	}{
		{"luck", Tools{}, `unknown strategy "luck"; choose one of: ` + Names(false)},
		{"", Tools{}, `unknown strategy ""; choose one of: ` + Names(false)},
		{"exec:", Tools{}, "needs a program, such as exec:./bot"},
		{`exec:""`, Tools{}, "needs a program"},
		{"exec:./nothing --level 3", Tools{}, "strategy exec:./nothing --level 3: program ./nothing not found"},
		{"exec:nothing-of-that-name", Tools{}, "program nothing-of-that-name not found in PATH; for a file in this folder use exec:./nothing-of-that-name"},
		{"exec:./main_test.go", Tools{}, "./main_test.go is not executable: run chmod +x, or name its interpreter, as in exec:python3 bot.py"},
		{"exec:./", Tools{}, "is a directory"},
		{"exec:sh 'x", Tools{}, "an open quote"},
		{"exec:sh", Tools{Timeout: -1}, "--bot-timeout -1ns: must be more than 0"},
		{"exec:sh", Tools{Programs: program.Programs{Env: []string{"A=B"}}},
			"must be the name of an environment variable, such as PYTHONPATH"},
		{"llm", Tools{}, "set --llm-url and --llm-model"},
		{"llm", Tools{LLM: LLM{URL: "http://localhost/v1"}}, "set --llm-url and --llm-model"},
		{"llm", Tools{LLM: LLM{URL: "localhost:11434", Model: "m"}}, "--llm-url: must be a URL such as"},
		{"llm", Tools{LLM: LLM{URL: "http://me:secret@localhost/v1", Model: "m"}}, "--llm-url: must not contain a user or a password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.ErrorContains(t, Check(tt.name, tt.tools), tt.want)
			s, err := Open(tt.name, tt.tools)
			require.ErrorContains(t, err, tt.want)
			assert.Nil(t, s)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}
