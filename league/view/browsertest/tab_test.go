package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is the longest time that a test waits for a page: a league of 200 players takes seven seconds on two idle cores.
const patience = time.Minute

// A tab is a tab of the browser. It records the faults of its pages and their requests.
type tab struct {
	t       *testing.T
	ctx     context.Context
	host    string // the only one that the page may ask; "" for a file
	allowed *regexp.Regexp

	mu       sync.Mutex
	faults   []string
	requests []string
}

// A look is how a tab shows pages.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	phone         bool
}

var (
	desktop   = look{width: 1280, height: 900, scale: 1}
	projector = look{width: 1280, height: 720, scale: 1}
	tablet    = look{width: 768, height: 1024, scale: 1}
	phone     = look{width: 360, height: 740, scale: 2, phone: true}
)

// inDark is the same look with a dark colour scheme.
func (l look) inDark() look {
	l.dark = true
	return l
}

// scheme is the name of the colour scheme.
func (l look) scheme() string {
	if l.dark {
		return "dark"
	}
	return "light"
}

func (l look) String() string {
	return fmt.Sprintf("at %d px, %s", l.width, l.scheme())
}

// action shows pages with this look. Nothing moves, so that screenshots are alike.
func (l look) action() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: l.width, Height: l.height, DeviceScaleFactor: l.scale, Mobile: l.phone,
		})
		if err != nil {
			return err
		}
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: l.scheme()}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
}

// observe is run before the scripts of a page. It keeps the long tasks in milliseconds.
const observe = `
	window.longTasks = [];
	new PerformanceObserver(l => l.getEntries().forEach(e => longTasks.push(e.duration))).observe({type: 'longtask', buffered: true});
`

// idle are the open tabs that no test uses: to open one takes more processor time than to load a page.
var idle = make(chan *tab, 64)

// newTab returns a tab that may ask the host of an address. At the end of the test its pages must
// have had no fault, and asked no other host.
func newTab(t *testing.T, of string, l look) *tab {
	t.Helper()
	needsChromium(t)
	address, err := url.Parse(of)
	require.NoError(t, err)
	p := idleTab(t)
	p.t, p.host, p.allowed = t, address.Host, nil
	t.Cleanup(func() {
		p.do(chromedp.Navigate("about:blank")) // which ends the requests and the scripts of the page before
		p.assertClean()
		idle <- p
	})
	p.do(l.action())
	return p
}

func idleTab(t *testing.T) *tab {
	t.Helper()
	select {
	case p := <-idle:
		return p
	default:
	}
	p := &tab{t: t}
	p.ctx, _ = chromedp.NewContext(chromium, chromedp.WithListener(p.hear)) // open as long as the browser
	require.NoError(t, chromedp.Do(p.ctx))
	p.beforeScripts(observe)
	return p
}

// beforeScripts runs a script before those of each page, and returns its id.
func (p *tab) beforeScripts(script string) page.ScriptIdentifier {
	p.t.Helper()
	added, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(p.t, err)
	return added.Identifier
}

// hurry makes the pages that the test opens from now on wait a tenth of their time, for example before they ask again.
func (p *tab) hurry() {
	p.t.Helper()
	id := p.beforeScripts(`for (const name of ['setTimeout', 'setInterval']) {
		const wait = window[name].bind(window);
		window[name] = (call, ms) => wait(call, ms / 10);
	}`)
	p.t.Cleanup(func() {
		_, err := chromedp.Call(p.ctx, page.RemoveScriptToEvaluateOnNewDocument,
			page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: id})
		require.NoError(p.t, err)
	})
}

// open opens an address in a new tab.
func open(t *testing.T, address string, l look) *tab {
	t.Helper()
	p := newTab(t, address, l)
	p.do(chromedp.Navigate(address))
	return p
}

// hear records faults and requests. Violations of the Content-Security-Policy are in the log.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var said []string
			for _, argument := range e.Args {
				said = append(said, string(argument.Value)+argument.Description)
			}
			p.faults = append(p.faults, "console: "+strings.Join(said, " "))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.faults = append(p.faults, "exception: "+text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.faults = append(p.faults, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		p.faults = append(p.faults, "dialog: "+e.Message)
		go func() { // the page waits for an answer
			_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	}
}

// assertClean requires that the pages of the tab since the last call had no fault and asked no other host.
func (p *tab) assertClean() {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.faults)
	for _, fault := range slices.Compact(p.faults) {
		if p.allowed == nil || !p.allowed.MatchString(fault) {
			assert.Fail(p.t, "the page has a fault", fault)
		}
	}
	for _, request := range p.requests {
		address, err := url.Parse(request)
		if assert.NoError(p.t, err) && address.Scheme != "data" && address.Scheme != "blob" {
			assert.Equal(p.t, p.host, address.Host, "the page asks only its own host, not for %s", request)
		}
	}
	p.faults, p.requests = nil, nil
}

// run runs an action for as long as patience lasts.
func run[T any](p *tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// do runs actions.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, actions...))
}

// get returns the value of a JavaScript expression, or of its promise.
func get[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := tryGet[T](p, expression)
	require.NoError(p.t, err, expression)
	return value
}

func tryGet[T any](p *tab, expression string) (T, error) {
	return run(p, chromedp.Evaluate[T](expression, func(e *runtime.EvaluateParams) {
		e.AwaitPromise = new(true)
	}))
}

// await waits until a JavaScript condition holds. It looks after each change of the document, and
// now and then, because the size of the window and the address change without one.
func (p *tab) await(condition string) {
	p.t.Helper()
	_, err := tryGet[bool](p, `new Promise(resolve => {
		const look = () => (`+condition+`) && (watch.disconnect(), clearInterval(timer), resolve(true));
		const watch = new MutationObserver(look), timer = setInterval(look, 100);
		watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		look();
	})`)
	if err != nil {
		p.screenshot("failed")
		text, _ := tryGet[string](p, `document.body.innerText`)
		require.NoError(p.t, err, "%s does not come to hold in:\n%s", condition, text)
	}
}

// screenshot writes the whole page as a picture, if EVENODD_SCREENSHOTS names a folder.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	if screenshots == "" {
		return
	}
	picture, err := run(p, chromedp.FullScreenshot(100))
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(screenshots, 0o755))
	name = strings.NewReplacer("/", "-", " ", "_").Replace(p.t.Name()) + "-" + name + ".png"
	require.NoError(p.t, os.WriteFile(filepath.Join(screenshots, name), picture, 0o600))
}
