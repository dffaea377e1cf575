package cmd_test

import (
	"context"
	"flag"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evenodd/cmd"
)

var update = flag.Bool("update", false, "write what the program prints now into the scripts")

// TestMain puts the test binary first in PATH under the name evenodd: scripts and
// tests start it as processes.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"evenodd": program})
}

// longTest skips a test that takes long, unless EVENODD_TEST_ALL asks for all
// tests.
func longTest(t *testing.T) {
	t.Helper()
	if !testAll() {
		t.Skip("takes long: 'make test-all' runs it")
	}
}

func testAll() bool { return os.Getenv("EVENODD_TEST_ALL") != "" }

// testResolver is the environment variable with the address of the name server that a
// process of a test asks instead of the system's.
const testResolver = "TEST_RESOLVER"

// program is main with the version "test".
func program() {
	if server := os.Getenv(testResolver); server != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", server)
		}}
	}
	if os.Getenv(workerVariable) != "" {
		cmd.ConfigureLogs()
		work()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	cmd.ConfigureLogs()
	code := cmd.Execute(ctx, "test", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// raceOptions shorten the second that the race detector waits at the end of each
// process.
const raceOptions = "atexit_sleep_ms=10"

// A suite runs the tests without the settings in the caller's environment. Most
// tests wait for processes, so that more of them run at once than there are
// processors.
type suite struct{ *testing.M }

func (s suite) Run() int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "EVENODD_") && name != "EVENODD_TEST_ALL" {
			_ = os.Unsetenv(name)
		}
	}
	cmd.ConfigureLogs()
	_ = os.Setenv("GORACE", raceOptions)
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		_ = p.Value.Set(strconv.Itoa(4 * runtime.NumCPU()))
	}
	return s.M.Run()
}
