package browsertest

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are the pages of a league of the entrants, by name.
var pages = map[string]string{
	"overview": "/", "round 1": "/?round=1", "cross table": "/cross", "player": "/players/P01", "match": "/matches/R1M1",
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

func TestCrossTableOpensAMatchWithItsConversation(t *testing.T) {
	needsChromium(t)
	p := open(t, serve(t, played(t)), desktop)
	p.follow(`nav a[href="/cross"]`)
	p.follow(`table.cross td a[href^="/matches/"]`)
	conversation := get[string](p, `document.querySelector('.lanes').textContent`)
	for _, message := range []string{"GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "MATCH_RESULT_REPORT"} {
		assert.Contains(t, conversation, message)
	}
	p.await(`document.querySelector('#draw-commitment.holds') !== null`)
	p.await(`document.querySelector('#draw-number.holds') !== null`)
	p.do(chromedp.Click(chromedp.CSS(`.lanes summary`)))
	p.await(`document.querySelector('.lanes details').open && document.querySelector('.lanes details pre').textContent.includes('"')`)
}

// Names of others are shown as they are.
func TestPagesAreReadable(t *testing.T) {
	needsChromium(t)
	address := serve(t, played(t))
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			p := open(t, address+page, desktop)
			p.assertReadable(name)
			text := get[string](p, `document.body.textContent`)
			assert.Contains(t, text, hostileName)
			assert.Contains(t, text, hebrewName)
			assert.Zero(t, get[int](p, `document.querySelectorAll('img').length`), "names are text")
		})
	}
}

// follow clicks on a link, and waits for the next page.
func (p *tab) follow(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(selector))))
	require.NoError(p.t, err, selector)
}
