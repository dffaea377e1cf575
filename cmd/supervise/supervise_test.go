package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lasts time.Duration   // of the run after five restarts, which begins 17 seconds and 4 ns after the first death
		more  []time.Duration // pauses after those of the five restarts
		final Phase
		exit  Exit
	}{
		{"five restarts in a minute are the most", 43*time.Second - 5, nil, PhaseFailed, crash},
		{"the first restart no longer counts", 43*time.Second - 4, []time.Duration{5e9}, PhaseEnded, done},
		{"no restart counts any more", time.Minute, []time.Duration{1e9}, PhaseEnded, done},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{runs: append(slices.Repeat([]run{{lasts: 1, exit: crash}}, 5),
				run{lasts: tt.lasts, exit: crash}, run{lasts: 1, exit: done})}
			ended := supervised(t, s, time.Hour)
			pauses := append([]time.Duration{1e9, 2e9, 4e9, 5e9, 5e9}, tt.more...)
			assert.Equal(t, pauses, ended.pauses)
			assert.Equal(t, State{tt.final, tt.exit, pauses[len(pauses)-1]}, ended.final)
			took := tt.lasts + time.Duration(len(pauses)) // the other runs last 1 ns each
			for _, pause := range pauses {
				took += pause
			}
			assert.Equal(t, took, ended.took)
		})
	}
}

// A script tells how the runs of a fake process go.
type script struct {
	runs    []run
	started []time.Duration // since the start of the test
	begin   time.Time
}

// A run ends after a time with an exit; 0 means that it ends only when it is told to.
type run struct {
	lasts     time.Duration
	exit      Exit
	stopDelay time.Duration
}

var (
	crash = Exit{-1, "signal: killed"}
	done  = Exit{0, "exit status 0"}
)

func (s *script) run(ctx context.Context) Exit {
	r := s.runs[min(len(s.started), len(s.runs)-1)]
	s.started = append(s.started, time.Since(s.begin))
	var ends <-chan time.Time
	if r.lasts > 0 {
		ends = time.After(r.lasts)
	}
	select {
	case <-ends:
	case <-ctx.Done():
		time.Sleep(r.stopDelay)
	}
	return r.exit
}

// A supervision is what happened to a script.
type supervision struct {
	final  State
	phases []Phase
	pauses []time.Duration
	took   time.Duration
}

// supervised runs a script until the task ends or for a time, in virtual time.
func supervised(t *testing.T, s *script, until time.Duration) (v supervision) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.begin = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), until)
		defer cancel()
		task := &Task{
			Process: s.run, Final: func(e Exit) bool { return e.Code == 0 },
			Changed: func(state State) {
				v.phases = append(v.phases, state.Phase)
				if state.Phase == PhasePausing {
					v.pauses = append(v.pauses, state.Pause)
				}
			},
			Policy: Policy{First: time.Second, Longest: 5 * time.Second, Most: 5, Window: time.Minute},
		}
		v.final = task.Run(ctx)
		v.took = time.Since(s.begin)
	})
	return v
}

func TestProcessThatDiesIsStartedAgain(t *testing.T) {
	s := &script{runs: []run{{lasts: time.Second, exit: crash}, {lasts: 1, exit: Exit{-1, "no memory"}}, {lasts: time.Second, exit: done}}}
	ended := supervised(t, s, time.Hour)
	assert.Equal(t, []Phase{"restarting", "restarting", "ended"}, ended.phases)
	assert.Equal(t, State{Phase: PhaseEnded, Exit: done, Pause: 2 * time.Second}, ended.final)
	assert.Equal(t, []time.Duration{0, 2 * time.Second, 4*time.Second + 1}, s.started)
}

func TestProcessThatDiesRarelyIsAlwaysStartedAgain(t *testing.T) {
	s := &script{runs: []run{{lasts: 30 * time.Second, exit: crash}}}
	stopped := supervised(t, s, 10*time.Hour)
	assert.Equal(t, PhaseStopped, stopped.final.Phase)
	assert.Greater(t, len(s.started), 1000)
}

func TestStoppedTaskLeavesNoProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		run    run
		phases []Phase
		took   time.Duration
	}{
		{"the process runs", run{stopDelay: 9 * time.Second, exit: done}, []Phase{"stopped"}, 14 * time.Second},
		{"the task pauses", run{lasts: 4500 * time.Millisecond, exit: crash},
			[]Phase{"restarting", "stopped"}, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{runs: []run{tt.run}}
			stopped := supervised(t, s, 5*time.Second)
			assert.Equal(t, PhaseStopped, stopped.final.Phase)
			assert.Equal(t, tt.phases, stopped.phases)
			assert.Equal(t, tt.took, stopped.took)
			assert.Len(t, s.started, 1)
		})
	}
}

// This test binary is a process that ignores the end of its input, or leaves a process with its output
// behind, if an argument says so.
func TestMain(m *testing.M) {
	if args, supervised := Child(os.Args[1:]); supervised {
		if args[0] == "survived" {
			program, _ := os.Executable()
			survivor := exec.Command(program, childCommand, "stubborn")
			survivor.Stdout = os.Stdout
			_ = survivor.Start()
			fmt.Println(survivor.Process.Pid)
			os.Exit(7)
		}
		if args[0] == "talkative" {
			fmt.Println(strings.Repeat("many lines\n", manyLines))
			os.Exit(7)
		}
		begin := make([]byte, len("begin"))
		_, _ = io.ReadFull(os.Stdin, begin)
		fmt.Println(string(begin), args)
		_, _ = io.Copy(io.Discard, os.Stdin)
		if args[0] == "stubborn" {
			time.Sleep(time.Minute)
		}
		os.Exit(7)
	}
	os.Exit(m.Run())
}

func TestStoppedProcessEndsOrIsKilled(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for argument, want := range map[string]int{"obedient": 7, "stubborn": -1} {
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		c := Command{Path: program, Args: []string{argument}, Input: []byte("begin"), Errors: unread, Patience: 300 * time.Millisecond,
			Output: func(from io.Reader) {
				for lines := bufio.NewScanner(from); lines.Scan(); stop() {
					got = append(got, lines.Text())
				}
			},
			Started: func(pid int) { assert.Positive(t, pid) }}
		if argument == "obedient" {
			c.Patience = time.Minute
		}
		assert.Equal(t, want, c.Run(ctx).Code, argument)
		assert.Equal(t, []string{"begin [" + argument + "]"}, got)
	}
	missing := Command{Path: program + "-missing"}
	assert.Equal(t, -1, missing.Run(t.Context()).Code)
}

// The next run does not wait for the process that the last one has left behind, which ends after a minute.
func TestOutputOfASurvivorIsNotAwaited(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	var survivor *os.Process
	c := Command{Path: program, Args: []string{"survived"}, Errors: unread, Patience: time.Hour,
		Output: func(from io.Reader) {
			var pid int
			if _, err := fmt.Fscanln(from, &pid); err == nil {
				survivor, _ = os.FindProcess(pid)
			}
		},
		Started: func(int) {}}
	begin := time.Now()
	assert.Equal(t, 7, c.Run(t.Context()).Code)
	assert.Less(t, time.Since(begin), 40*time.Second)
	_ = survivor.Kill()
}

// manyLines are more than io.Copy has in its buffer, and fewer than a pipe has.
const manyLines = 5000

// A terminal or a pager may take its time. The last line of a process says how its work has ended.
func TestOutputIsReadToItsEndByASlowReader(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	lines := 0
	c := Command{Path: program, Args: []string{"talkative"}, Errors: unread, Started: func(int) {},
		Output: func(from io.Reader) {
			<-time.After(outputDelay + outputDelay/4)
			for read := bufio.NewScanner(from); read.Scan(); {
				lines++
			}
		}}
	assert.Equal(t, 7, c.Run(t.Context()).Code)
	assert.Equal(t, manyLines+1, lines)
}

// unread reads nothing: the rest of an output is dropped.
func unread(io.Reader) {}

func TestContextEndsWithTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input := make(endless)
		ctx := UntilEnd(t.Context(), input)
		synctest.Wait()
		require.NoError(t, ctx.Err())
		close(input)
		synctest.Wait()
		assert.Error(t, ctx.Err())
	})
}

// endless is an input that ends when it is closed.
type endless chan struct{}

func (e endless) Read([]byte) (int, error) {
	<-e
	return 0, errors.New("closed")
}

func TestChildArguments(t *testing.T) {
	own, supervised := Child([]string{"__child", "player", "--name", "x"})
	assert.Equal(t, []string{"player", "--name", "x"}, own)
	assert.True(t, supervised)
	for _, args := range [][]string{nil, {"player"}, {"player", "__child"}} {
		own, supervised = Child(args)
		assert.Equal(t, args, own)
		assert.False(t, supervised)
	}
}
