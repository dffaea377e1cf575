// Package browsertest tests the pages in Chromium, as a user sees them.
package browsertest

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
	supervisor "evenodd/league/program"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
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

// A journalFile is the journal of a finished league, which becomes as long as a test says: as
// if the league was running.
type journalFile struct {
	t     *testing.T
	path  string
	lines [][]byte
	size  int // in lines
}

// rewound returns the journal of a league in a data folder, cut to a number of lines.
func rewound(t *testing.T, folder string, size int) *journalFile {
	t.Helper()
	j := &journalFile{t: t, path: store.In(folder).Journal(leagueOf(t, folder))}
	text, err := os.ReadFile(j.path)
	require.NoError(t, err)
	j.lines = slices.Collect(bytes.Lines(text))
	require.NoError(t, os.WriteFile(j.path, nil, 0o600))
	j.growTo(size)
	return j
}

// growTo appends lines until the journal has so many.
func (j *journalFile) growTo(size int) {
	j.t.Helper()
	file, err := os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(j.t, err)
	defer func() { require.NoError(j.t, file.Close()) }()
	for ; j.size < min(size, len(j.lines)); j.size++ {
		_, err := file.Write(j.lines[j.size])
		require.NoError(j.t, err)
	}
}

// find returns the number of lines up to the nth with a text.
func (j *journalFile) find(text string, n int) int {
	j.t.Helper()
	for i, line := range j.lines {
		if bytes.Contains(line, []byte(text)) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	j.t.Fatalf("the journal has too few lines with %s", text)
	return 0
}

// leagueOf is the id of the only league in a data folder.
func leagueOf(t *testing.T, folder string) string {
	t.Helper()
	ids, err := filepath.Glob(filepath.Join(folder, "data", "leagues", "*"))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	return filepath.Base(ids[0])
}

// serve serves the pages of a league in a data folder, and returns their address.
func serve(t *testing.T, folder string) string {
	t.Helper()
	address, _ := serveAt(t, folder, "127.0.0.1:0", func(*http.Request) {})
	return address
}

// lastingAddress returns a free address below the ports that Linux takes for outgoing connections
// and for listeners at port 0, and beside those of the tests of cmd: a server that starts again
// there finds it free.
func lastingAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := "127.0.0.1:" + strconv.Itoa(10000+rand.IntN(10000))
		if l, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, l.Close())
			return address
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// serveAt is like serve at a host and port, until stop. It shows each request.
func serveAt(t *testing.T, folder, at string, show func(*http.Request)) (address string, stop func()) {
	t.Helper()
	board := page.NewBoard(page.NewFolder(store.In(folder), leagueOf(t, folder)))
	pages, err := page.New(board,
		page.Options{Games: rules.NewRegistry(evenodd.Game{}, connectfour.Game{}, kuhnpoker.Game{},
			pig.Game{})})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, r := range pages.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	listener, err := net.Listen("tcp", at)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		show(r)
		mux.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is closed
	}()
	stop = sync.OnceFunc(func() {
		_ = server.Close()
		<-done
		board.Close()
	})
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// screenshots is the folder for the screenshots of the tests; "" for none.
var screenshots = os.Getenv("EVENODD_SCREENSHOTS")

// chromium is the browser of all tests. Each test has tabs of its own. nil: there is none.
var chromium context.Context

// TestMain starts the browser once. It is also the evenodd of the tests: a process that it
// starts with the variable of program runs the command line, and the supervisor of a program that such a process
// starts.
func TestMain(m *testing.M) {
	if code, asked := supervisor.Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		os.Exit(program())
	}
	flag.Parse()
	os.Exit(runInBrowser(m))
}

func runInBrowser(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return m.Run()
	}
	// One process renders all tabs: to start one takes more processor time than most tests of a page.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-gpu", true))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	browser, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(browser); err != nil {
		panic("chromium does not start: " + err.Error())
	}
	chromium = browser
	return m.Run()
}

// needsChromium skips a test if there is no Chromium; in continuous integration it fails.
func needsChromium(t *testing.T) {
	t.Helper()
	if chromium != nil {
		return
	}
	const missing = "NO BROWSER TEST RUNS: there is no chromium in PATH (on Debian: apt-get install chromium)"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}
