package cmd_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evenodd/cmd"
)

var update = flag.Bool("update", false, "write what the program prints now into the scripts")

// TestMain makes of the test binary the program evenodd, first in PATH: scripts
// and tests run it as processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(settled{m}, map[string]func(){"evenodd": program})
}

// program is main, under the version "test".
func program() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := cmd.Execute(ctx, "test", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// swift spares each process the second that the race detector waits at its end.
const swift = "atexit_sleep_ms=10"

// settled runs the tests without the settings of whoever started them.
type settled struct{ *testing.M }

func (s settled) Run() int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "EVENODD_") {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("GORACE", swift)
	return s.M.Run()
}
