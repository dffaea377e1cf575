package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	matchReported  = `"type":"match_reported"`
	roundCompleted = `"type":"round_completed"`
)

// points is the sum of the points in the standings.
const points = `[...document.querySelectorAll('#standings .points')].filter(e => e.tagName == 'TD').reduce((sum, e) => sum + Number(e.textContent), 0)`

// champion tells whether the league is over.
const champion = `document.querySelector('#progress .champion') !== null`

// mark marks the document, so that a test can tell whether the page was loaded again.
func (p *tab) mark() { get[bool](p, `window.marked = true`) }

func (p *tab) assertNotReloaded() {
	p.t.Helper()
	assert.True(p.t, get[bool](p, `window.marked === true`), "the page was loaded again")
}

func TestStandingsFollowTheJournalWithoutReload(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	folder := played(t)
	j := rewound(t, folder, 0)
	j.growTo(j.find(roundCompleted, 1))
	p := open(t, serve(t, folder), desktop)
	p.mark()
	p.screenshot("round 1")
	before := get[int](p, points)
	j.growTo(j.find(matchReported, 4))
	p.await(points + ` > ` + strconv.Itoa(before))
	j.growTo(len(j.lines))
	p.await(champion)
	p.assertNotReloaded()
	p.screenshot("end")
}

// The browser opens the stream again with the id of the last event that it has.
func TestPageContinuesAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	folder := played(t)
	j := rewound(t, folder, 0)
	j.growTo(j.find(roundCompleted, 1))
	var mu sync.Mutex
	var last []string
	show := func(r *http.Request) {
		if r.URL.Path == "/events" {
			mu.Lock()
			defer mu.Unlock()
			last = append(last, r.Header.Get("Last-Event-ID"))
		}
	}
	address, stop := serveAt(t, folder, lastingAddress(t), show)
	p := open(t, address, desktop)
	p.mark()
	for _, n := range []int{3, 4} { // with the second update the browser has the id of the first, which comes with its last event
		shown := get[int](p, points)
		j.growTo(j.find(matchReported, n))
		p.await(points + ` > ` + strconv.Itoa(shown))
	}
	p.allow(`ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE`)
	stop()
	j.growTo(len(j.lines))
	serveAt(t, folder, strings.TrimPrefix(address, "http://"), show)
	p.await(champion)
	p.assertNotReloaded()
	mu.Lock()
	defer mu.Unlock()
	assert.Len(t, last, 2)
	assert.NotEmpty(t, last[len(last)-1], "the browser tells the last event that it has")
}

// A manager serves the page of its league, with agents that are processes. The league waits for
// the test in its second round: a player asks a language model that does not answer before.
func TestPageOfAManagerShowsItsLeagueFromTheStart(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	var asked atomic.Int32
	seen := make(chan struct{})
	release := sync.OnceFunc(func() { close(seen) })
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 {
			<-seen
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"odd"}}]}`)
	}))
	t.Cleanup(model.Close)
	t.Cleanup(release)
	manager := start(t, "manager", "--host", "0.0.0.0", "--port", "0", "--players", "4")
	endpoint := manager.await(`at (http://\S+/mcp) waits`)[1]
	p := open(t, manager.await(`in a browser: (http://\S+/)\n`)[1], projector)
	p.mark()
	p.assertReadable("waiting")
	p.assertLobby(strings.TrimSuffix(endpoint, "mcp"))
	start(t, "player", "--port", "0", "--manager", endpoint, "--strategy", "llm", "--llm-url", model.URL+"/v1", "--llm-model", "m")
	for range 3 {
		start(t, "player", "--port", "0", "--manager", endpoint)
	}
	p.await(`document.querySelectorAll('.crowd li:not(.silent)').length === 4`)
	p.screenshot("lobby")
	start(t, "referee", "--port", "0", "--manager", endpoint)
	p.await(points + ` > 0`)
	assert.False(t, get[bool](p, champion), "the page follows the league while it runs")
	assert.False(t, get[bool](p, visible(`#join`)), "nobody can join any more")
	p.screenshot("running")
	p.assertAccessibleInAllLooks("running")
	release()
	p.await(champion)
	p.assertNotReloaded()
}

// visible tells whether the page shows an element.
func visible(selector string) string {
	return `(document.querySelector('` + selector + `').getClientRects().length > 0)`
}

// assertLobby requires that the page before the start fits a projector and has the address that works from other
// computers, and that a phone which opens the address of the code sees the commands for a computer.
func (p *tab) assertLobby(address string) {
	p.t.Helper()
	p.do(projector.action())
	p.await(`innerWidth == ` + strconv.FormatInt(projector.width, 10))
	assert.True(p.t, get[bool](p, `document.documentElement.scrollHeight <= innerHeight`), "all is on the screen")
	assert.True(p.t, get[bool](p, visible(`#join .code svg`)))
	assert.Contains(p.t, get[string](p, `document.querySelector('#join .address').innerText`), address)
	assert.True(p.t, get[bool](p, visible(`#join .referee`)), "the league lacks a referee")
	scanned := open(p.t, get[string](p, `document.querySelector('#join .code').href`), phone)
	assert.Equal(p.t, "On a computer of this network, run", get[string](scanned, `document.querySelector('#join h2').innerText`))
	assert.Equal(p.t, "evenodd player --name NAME --manager "+address,
		strings.Join(strings.Fields(get[string](scanned, `document.querySelector('#join dd').innerText`)), " "))
	assert.False(p.t, get[bool](scanned, visible(`#join .code`)), "the phone has scanned it")
	assert.True(p.t, get[bool](scanned, `document.documentElement.scrollWidth <= innerWidth`), "nothing is cut")
	scanned.screenshot("lobby on a phone")
}

// A league ends before its page knows it: the process waits until the page has the end, and the page then tells that
// the process has gone.
func TestLeagueOfUpEndsOnAPageWithItsChampion(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	file := filepath.Join(t.TempDir(), "class.yaml")
	require.NoError(t, os.WriteFile(file, []byte(entrants), 0o600))
	p := newTab(t, "http://localhost", desktop) // before the league begins, which takes little time
	up := start(t, "up", "--entrants", file, "--port", "0", "--pace", "500ms", "--data", filepath.Join(t.TempDir(), "league"))
	address := up.await(`in a browser: (http://(\S+)/)\n`)
	p.host = address[2]
	p.hurry()
	p.do(chromedp.Navigate(address[1]))
	p.allow(`ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE`)
	p.await(champion)
	p.await(`(([first, ...others]) => document.title.startsWith(others.length == 0 ? 'Champion: ' + first : first + ' and ' + others.length + ' more share'))(
		[...document.querySelectorAll('.champion .names bdi')].map(name => name.textContent))`)
	up.succeeds()
	p.await(`!document.getElementById('gone').hidden && document.getElementById('gone').textContent.includes('evenodd serve DIR')`)
	assert.Equal(t, "finished", get[string](p, `document.getElementById('connection').textContent`))
	p.screenshot("end")
}

// While a league of 200 players runs, each update costs the page little processor time. The
// long tasks, which depend on what else the machine does, are in the log of the test.
func TestPageOfTwoHundredPlayersDoesNotStutter(t *testing.T) {
	needsChromium(t)
	folder := filepath.Join(t.TempDir(), "league")
	start(t, "simulate", "--players", "200", "--tournament", "swiss", "--rounds", "5", "--seed", "7", "--quiet", "--data", folder).succeeds()
	j := rewound(t, folder, 0)
	j.growTo(j.find(roundCompleted, 1))
	p := open(t, serve(t, folder), desktop)
	p.mark()
	p.await(`document.querySelectorAll('#standings tbody tr').length == 200`)
	_, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(t, err)
	get[bool](p, `(longTasks.length = window.updates = 0, new MutationObserver(() => updates++).observe(document.getElementById('standings'), {subtree: true, childList: true, characterData: true}), true)`)
	before := p.taskSeconds()
	for _, round := range []int{2, 3, 4} { // the page shows each of these before the league continues
		shown := get[int](p, points)
		j.growTo(j.find(roundCompleted, round))
		p.await(points + ` > ` + strconv.Itoa(shown))
	}
	j.growTo(len(j.lines))
	p.await(champion)
	used, updates := p.taskSeconds()-before, get[int](p, `updates`)
	p.assertNotReloaded()
	t.Logf("%d updates of the standings, %.0f ms of processor time for each; long tasks in ms: %.0f", updates, 1000*used/float64(updates), get[[]float64](p, `longTasks`))
	assert.GreaterOrEqual(t, updates, 3)
	assert.Less(t, used/float64(updates), 1.5, "seconds of processor time for each update: 0.2 alone, 0.5 beside other tests")
}

// taskSeconds is the processor time that the page has used.
func (p *tab) taskSeconds() float64 {
	p.t.Helper()
	result, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p.t, err)
	for _, m := range result.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	require.Fail(p.t, "the browser does not tell its processor time")
	return 0
}

// allow accepts faults that a test causes.
func (p *tab) allow(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = regexp.MustCompile(pattern)
}

// await waits until the process has written what matches, and returns the submatches.
func (p *process) await(pattern string) []string {
	p.t.Helper()
	wanted := regexp.MustCompile(pattern)
	for ended := false; ; {
		p.mu.Lock()
		text, change := p.text.String(), p.change
		p.mu.Unlock()
		if found := wanted.FindStringSubmatch(text); found != nil {
			return found
		}
		require.False(p.t, ended, "it ended without writing %s:\n%s", pattern, text)
		select {
		case <-change:
		case <-p.ended:
			ended = true
		}
	}
}
