//go:build unix

package program

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A testRunner is a running script with its log.
type testRunner struct {
	*Runner
	log    *log
	folder string
}

// runScript starts a shell script. Its $1 is a folder with a pipe named alive.
func runScript(t *testing.T, script string, settings ...func(*Programs)) *testRunner {
	t.Helper()
	folder, l := scriptFolder(t, script), &log{}
	programs := l.programs()
	for _, set := range settings {
		set(&programs)
	}
	r, err := l.run(fmt.Sprintf("sh '%s/script.sh' '%s'", folder, folder), programs)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return &testRunner{r, l, folder}
}

// long is the limit of programs that answer.
const long = time.Minute

func (r *testRunner) asked() (string, error) { return ask(r.Runner, long) }

func (r *testRunner) answers(t *testing.T, want string) {
	t.Helper()
	answer, err := r.asked()
	require.NoError(t, err, r.log)
	require.Equal(t, want, answer)
}

// scriptFolder makes a folder with a script and a pipe named alive.
func scriptFolder(t *testing.T, script string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "script.sh"), []byte(script), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "alive"), 0o600))
	return folder
}

// alive opens the pipe. Reading ends when no process of the program holds it open any more.
func alive(t *testing.T, r *testRunner) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(r.folder, "alive"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSurplusAnswerIsDiscarded(t *testing.T) {
	t.Parallel()
	r := runScript(t, `read -r q; echo even; echo even; : > "$1/alive"; while read -r q; do echo odd; done`)
	r.answers(t, "even")
	_, err := io.ReadAll(alive(t, r)) // now it has printed both
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(r.running.lines) > 0 }, long, time.Millisecond)
	r.answers(t, "odd")
	assert.Contains(t, r.log.String(), `"stdout":"even"`)
}

func TestCloseStopsTheProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		longer       bool // it takes until it is killed
	}{
		{"at the end of its input", `while read -r q; do echo even; done; echo goodbye >&2`, false},
		{"by SIGTERM", `trap 'echo goodbye >&2; exit' TERM; read -r q; echo even; while :; do sleep 0.1; done`, false},
		{"by SIGKILL", `trap '' TERM; read -r q; echo even; echo goodbye >&2; while :; do sleep 0.1; done`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := runScript(t, `sleep 1000 > "$1/alive" & `+tt.script)
			held := alive(t, r)
			r.answers(t, "even")
			pid := r.running.child.cmd.Process.Pid
			began := time.Now()
			r.Close()
			if tt.longer {
				assert.GreaterOrEqual(t, time.Since(began), untilKill)
			}
			assert.Contains(t, r.log.String(), "goodbye") // a program that is killed says so before
			_, err := io.ReadAll(held)                    // which has an end: no process has it open
			require.NoError(t, err)
			assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "no zombie is left")
		})
	}
}
