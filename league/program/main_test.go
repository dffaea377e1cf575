package program

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, asked := Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	if os.Getenv(askVariable) != "" {
		askUntilKilled()
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=10") // the race detector else delays the exit of each supervisor
	_ = flag.Set("test.parallel", "8")            // most tests wait for limits
	goleak.VerifyTestMain(m)
}

// askVariable makes this binary an agent that starts a program, asks it once and then waits for a signal. The value is
// the command line.
const askVariable = "EVENODD_TEST_ASK"

// plainVariable makes the agent's programs run without namespaces.
const plainVariable = "EVENODD_TEST_PLAIN"

func askUntilKilled() {
	l := &log{}
	programs := l.programs()
	programs.withoutNamespaces = os.Getenv(plainVariable) != ""
	answer := ""
	r, err := l.run(os.Getenv(askVariable), programs)
	if err == nil {
		answer, err = ask(r, time.Minute) // a program of a test starts hundreds of processes first
	}
	if err != nil {
		fmt.Println(err, l)
		os.Exit(1)
	}
	fmt.Println("ready, isolated:", r.running.child.isolated, "answer:", answer)
	select {}
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

// programs have a supervisor.
func (l *log) programs() Programs { return Programs{Environ: os.Environ(), Env: []string{"GORACE"}} }

// run starts the program of a command line.
func (l *log) run(line string, programs Programs) (*Runner, error) {
	path, args, err := programs.Find("", line)
	if err != nil {
		return nil, err
	}
	return Run(&Command{Path: path, Args: args, Programs: programs, Noun: "bot", MaxLine: 64 << 10, Log: zerolog.New(l)})
}

// ask asks a program, whose answer is a line of one word.
func ask(r *Runner, limit time.Duration) (answer string, err error) {
	err = r.Ask(nil, Question{
		Line: func(bool) ([]byte, time.Time, string, error) {
			return []byte("question\n"), time.Now().Add(limit), "a limit", nil
		},
		Read: func(line string) error {
			if answer = strings.TrimSpace(line); len(strings.Fields(answer)) != 1 {
				return ErrChatter
			}
			return nil
		},
	})
	return answer, err
}
