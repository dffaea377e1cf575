package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limited starts a program with limits, in the sandbox, without namespaces or as usual.
func limited(t *testing.T, script string, limits Limits, settings func(*Programs)) *testRunner {
	t.Helper()
	return runScript(t, script, func(o *Programs) {
		o.Limits = limits
		settings(o)
	})
}

func TestEachProcessOfAProgramHasTheLimits(t *testing.T) {
	t.Parallel()
	// The first process and a process that it starts tell their limits; neither can raise them.
	const script = `ulimit -v unlimited 2>/dev/null; ulimit -St 100000 2>/dev/null
		while read -r q; do echo "$(ulimit -Sv) $(ulimit -St), $(sh -c 'ulimit -Hv; ulimit -Ht' | tr '\n' ' ')" >&2; echo even; done`
	for name, settings := range map[string]func(*Programs){
		"as usual":           func(*Programs) {},
		"without namespaces": func(o *Programs) { o.withoutNamespaces = true },
		"in the sandbox":     func(o *Programs) { o.Sandbox = sandboxError() == nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() == 0 && name != "in the sandbox" {
				// root may raise limits
				b := limited(t, `while read -r q; do sh -c 'ulimit -v; ulimit -St; ulimit -Ht' >&2; echo even; done`, Limits{512 << 20, 70}, settings)
				b.answers(t, "even")
				b.Close()
				for _, want := range []string{`"stderr":"524288"`, `"stderr":"70"`, `"stderr":"71"`} {
					assert.Contains(t, b.log.String(), want)
				}
				return
			}
			b := limited(t, script, Limits{512 << 20, 70}, settings)
			b.answers(t, "even")
			b.Close()
			assert.Regexp(t, `"stderr":"524288 7[01], 524288 71 "`, b.log.String())
		})
	}
}

func TestProgramBeyondItsLimitsFails(t *testing.T) {
	t.Parallel()
	const later = `[ -e "$1/before" ] && { while read -r q; do echo even; done; exit; }; : > "$1/before"; read -r q; `
	for _, tt := range []struct {
		name, script string
		limits       Limits
		want         string
	}{
		{"processor time", later + `while :; do :; done`, Limits{CPU: 1},
			"ended before it answered: processor time limit of 1 s (signal: CPU time limit exceeded"},
		{"processor time of a program that ignores the signal", later + `trap '' XCPU; while :; do :; done`, Limits{CPU: 1},
			"ended before it answered: processor time limit of 1 s (signal: killed"},
		{"processor time of a process that it starts", later + `sh -c 'while :; do :; done'; exit $?`, Limits{CPU: 1},
			"ended before it answered: processor time limit of 1 s (exit status 152"},
		{"memory", later + `x=$(head -c 100000000 /dev/zero | tr '\0' x); echo even`, Limits{Memory: 64 << 20},
			"with a memory limit of 64MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tt.name, "processor time of") && os.Getenv("EVENODD_TEST_ALL") == "" {
				t.Skip("takes seconds of processor time; set EVENODD_TEST_ALL=1")
			}
			b := limited(t, tt.script, tt.limits, func(*Programs) {})
			_, err := b.asked()
			require.ErrorContains(t, err, tt.want)
			b.answers(t, "even") // of a new process, with a new life
			assert.Equal(t, 2, b.Starts())
		})
	}
}

func TestProgramThatCannotStartWithLimits(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bot")
	require.NoError(t, os.WriteFile(file, []byte("no program"), 0o700))
	l := &log{}
	programs := l.programs()
	programs.Limits.CPU = 60
	_, err := l.run(file, programs)
	require.ErrorContains(t, err, "fork/exec "+file+": exec format error")
}

func TestLimitedPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: Python with limits, because there is no python3 here")
	}
	file := filepath.Join(t.TempDir(), "bot.py")
	require.NoError(t, os.WriteFile(file, []byte(`import sys
for line in sys.stdin:
    try:
        bytearray(400 << 20)
        print("even", flush=True)
    except MemoryError:
        print("odd", flush=True)
`), 0o600))
	for limit, want := range map[int64]string{0: "even", 200 << 20: "odd"} {
		l := &log{}
		programs := l.programs()
		programs.Limits.Memory = limit
		r, err := l.run(fmt.Sprintf("python3 '%s'", file), programs)
		require.NoError(t, err)
		t.Cleanup(r.Close)
		answer, err := ask(r, long)
		require.NoError(t, err, l)
		assert.Equal(t, want, answer)
	}
}
