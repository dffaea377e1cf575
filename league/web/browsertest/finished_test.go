package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// pages are the pages of a league of the entrants, by name.
var pages = map[string]string{
	"overview": "/", "round 1": "/?round=1", "cross table": "/cross", "player": "/players/P01",
	"agents": "/agents", "statistics": "/statistics",
}

func TestReplayShowsTheLeagueAfterEachRound(t *testing.T) {
	needsChromium(t)
	p := open(t, serve(t, played(t)), desktop)
	played := func(n string) string {
		return `[...document.querySelectorAll('#standings tbody tr')].length == 4 &&
			[...document.querySelectorAll('#standings tbody tr')].every(row => [...row.cells].some(cell => cell.textContent == '` + n + `'))`
	}
	round := func(n string) {
		t.Helper()
		p.await(`document.getElementById('league').dataset.round == '` + n + `'`)
		assert.Contains(t, get[string](p, `location.search`), "round="+n)
	}
	p.do(chromedp.Focus(chromedp.CSS("#round")), chromedp.KeyEvent(kb.Home))
	round("0")
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	round("1")
	p.await(played("1"))
	p.screenshot("round 1")
	p.do(chromedp.Click(chromedp.CSS(`#timeline [aria-label="Next round"]`)))
	round("2")
	p.await(played("2"))
	p.do(chromedp.Click(chromedp.CSS(`#timeline [aria-label="Previous round"]`)))
	round("1")
}

func TestPagesAreReadable(t *testing.T) {
	needsChromium(t)
	address := serve(t, played(t))
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			open(t, address+page, desktop).assertReadable(name)
		})
	}
}
