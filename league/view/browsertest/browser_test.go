// Package browsertest tests the pages in Chromium, as a user sees them.
package browsertest

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// screenshots is the folder for the screenshots of the tests; "" for none.
var screenshots = os.Getenv("EVENODD_SCREENSHOTS")

// chromium is the browser of all tests. Each test has tabs of its own. nil: there is none.
var chromium context.Context

// TestMain starts the browser once. It is also the evenodd of the tests: a process that it
// starts with the variable of program runs the command line.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program())
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return m.Run()
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
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
