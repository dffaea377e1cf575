package browsertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// asProgram is the environment variable that makes the test binary evenodd.
const asProgram = "BROWSERTEST_AS_PROGRAM"

// program runs the command line, as main does.
func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd.ConfigureLogs()
	return cmd.Execute(ctx, "test", os.Args[1:], os.Stdout, os.Stderr)
}

// A process is evenodd, until the test ends.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	mu     sync.Mutex
	text   bytes.Buffer  // standard output and standard error
	change chan struct{} // closed at the next change of text
}

// start runs evenodd.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), self, args...), ended: make(chan struct{}), change: make(chan struct{})}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "EVENODD_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	p.cmd.Env = append(p.cmd.Env, asProgram+"=1")
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = t.TempDir(), p, p
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state tells
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("evenodd %s: %v\n%s", strings.Join(args, " "), p.cmd.ProcessState, p.text.String())
		}
	})
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.change)
	p.change = make(chan struct{})
	return p.text.Write(b)
}

// succeeds waits for the end of the process.
func (p *process) succeeds() {
	p.t.Helper()
	<-p.ended
	require.Zero(p.t, p.cmd.ProcessState.ExitCode(), p.text.String())
}

// Names that a page must show as they are.
const (
	hostileName = `<img src=x onerror=alert(1)>`
	hebrewName  = `שרה כהן`
)

// entrants is a file of four players.
const entrants = `entrants:
  - {name: '` + hostileName + `', strategy: random}
  - {name: '` + hebrewName + `', strategy: contrarian}
  - {name: Alice, strategy: mirror}
  - {name: Bob, strategy: frequency}
`

// played is the folder of a finished league of the entrants.
func played(t *testing.T, args ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "league")
	file := filepath.Join(t.TempDir(), "class.yaml")
	require.NoError(t, os.WriteFile(file, []byte(entrants), 0o600))
	start(t, append([]string{"simulate", "--entrants", file, "--seed", "7", "--quiet", "--data", folder}, args...)...).succeeds()
	return folder
}
