//go:build unix

package program

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stubborn program ignores all signals, closes its standard input, and starts processes that
// leave its process group and its session, and have no parent any more. Each of them has
// the pipe $1/alive open.
const stubborn = `trap '' HUP INT QUIT TERM PIPE
exec 9> "$1/alive"
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c '(sleep 1000 &) ; exec sleep 1000' &)
i=0; while [ $i -lt 20 ]; do (setsid sh -c '(setsid sleep 1000 &) &' &); i=$((i+1)); done
`

// Each of them is a hostile program: it starts processes and does not end by itself.
func hostilePrograms() map[string]string {
	return map[string]string{
		"ignores everything": stubborn + `read -r q; echo even; exec 0<&- 1>&- 2>&-; while :; do sleep 1; done`,
		"kills its parent":   stubborn + `kill -15 $PPID; kill -2 $PPID; kill -9 $PPID; read -r q; echo even; while :; do sleep 1; done`,
		"starts processes that end without pause": `exec 9> "$1/alive"
			storm() { n=$1; while [ $n -gt 0 ]; do n=$((n-1)); (storm $n &) & sleep 0.01; done; sleep 1000; }
			storm 4 & read -r q; echo even; sleep 1000`,
	}
}

// testKilledParent kills an agent whose program has answered, and waits for the end of all
// processes of the program.
func testKilledParent(t *testing.T, script string, env []string, user *syscall.Credential) {
	t.Helper()
	folder, err := os.MkdirTemp("", "program") //nolint:usetesting // another user cannot read t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(t, os.Chmod(folder, 0o755))
	file, pipe := filepath.Join(folder, "script.sh"), filepath.Join(folder, "alive")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o644))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Chmod(pipe, 0o666))
	parent := exec.CommandContext(t.Context(), "/proc/self/exe")
	if runtime.GOOS != "linux" {
		parent.Path = os.Args[0]
	}
	parent.Env = append(append(os.Environ(), fmt.Sprintf("%s=sh '%s' '%s'", askVariable, file, folder)), env...)
	parent.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	parent.Dir = "/"
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill() })
	// Nonblocking, because an agent that fails opens no end of it.
	alive, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = alive.Close() })
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	if env == nil && strings.HasPrefix(said, "ready, isolated: false") {
		t.Skip("NOT TESTED: this system refuses PID namespaces, so a hostile program can leave processes behind")
	}
	require.Regexp(t, "^ready.*answer: even", said)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	_, err = io.ReadAll(alive) // ends when no process has the pipe open
	assert.NoError(t, err)
}

func TestKilledAgentLeavesNoProcessOfItsProgram(t *testing.T) {
	t.Parallel()
	for name, script := range hostilePrograms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilledParent(t, script, nil, nil)
		})
		t.Run(name+", of a user without privileges", func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() != 0 {
				t.Skip("the other test has run without privileges")
			}
			testKilledParent(t, script, nil, &syscall.Credential{Uid: 65534, Gid: 65534})
		})
	}
}

// A user namespace also hides the memory and the environment of the agent, which may hold
// keys. The program answers odd if it has read the environment.
func TestProgramCannotReadTheEnvironmentOfItsAgent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux has namespaces")
	}
	var user *syscall.Credential
	if os.Geteuid() == 0 {
		user = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	testKilledParent(t, `exec 9> "$1/alive"; choice=even
		for p in /proc/[0-9]*; do grep -qaz "^`+askVariable+`=" "$p/environ" 2> /dev/null && choice=odd; done
		read -r q; echo $choice; sleep 1000`, nil, user)
}

// Without namespaces, a supervisor that its program does not kill ends all processes too.
func TestKilledAgentWithoutNamespacesLeavesNoProcessOfItsProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux lets a supervisor adopt orphans")
	}
	for name, script := range hostilePrograms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script = strings.Replace(script, "kill -9 $PPID;", "", 1)
			testKilledParent(t, script, []string{plainVariable + "=1"}, nil)
		})
	}
}

func TestCloseEndsAllProcessesOfAProgram(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("without namespaces: %t", plain), func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" {
				t.Skip("NOT TESTED: only Linux lets a supervisor adopt orphans")
			}
			r := runScript(t, stubborn+`read -r q; echo even; exec 0<&-; while :; do sleep 1; done`,
				func(o *Programs) { o.withoutNamespaces = plain })
			held := alive(t, r)
			r.answers(t, "even")
			r.Close()
			_, err := io.ReadAll(held)
			assert.NoError(t, err)
		})
	}
}

// The processes of a program that ends by itself end with it.
func TestProgramThatExitsLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux lets a supervisor adopt orphans")
	}
	r := runScript(t, `[ -e "$1/again" ] || { touch "$1/again"; `+stubborn+` }; read -r q; echo even`)
	held := alive(t, r)
	r.answers(t, "even")
	_, err := io.ReadAll(held)
	assert.NoError(t, err)
	r.answers(t, "even")
	assert.Equal(t, 2, r.starts)
}

func TestProgramGetsOnlyNamedVariables(t *testing.T) {
	t.Parallel()
	r := runScript(t, `env > "$1/environment"; while read -r q; do echo even; done`, func(o *Programs) {
		o.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/me", "LANG=C.UTF-8", "PYTHONPATH=/lib/mine",
			"EVENODD_LLM_KEY=sk-secret", "OPENAI_API_KEY=sk-secret", "EVENODD_TOKEN=tok-secret", "AWS_SECRET_ACCESS_KEY=secret", "SSH_AUTH_SOCK=/tmp/agent", "PATHS=no"}
		o.Env = []string{"PYTHONPATH", "NOT_SET"}
	})
	r.answers(t, "even")
	text, err := os.ReadFile(filepath.Join(r.folder, "environment"))
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	assert.Subset(t, names, []string{"PATH", "HOME", "LANG", "PYTHONPATH"})
	assert.Subset(t, []string{"PATH", "HOME", "LANG", "PYTHONPATH", "PWD", "OLDPWD", "SHLVL", "_"}, names, "the shell sets the last four")
	assert.NotContains(t, string(text), "secret")
}
