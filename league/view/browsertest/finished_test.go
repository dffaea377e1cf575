package browsertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are the pages of a league of the entrants, by name.
var pages = map[string]string{
	"overview": "/", "round 1": "/?round=1&follow=P03", "cross table": "/cross", "player": "/players/P01", "match": "/matches/R1M1",
	"agents": "/agents", "statistics": "/statistics",
}

func TestReplayShowsTheLeagueAfterEachRound(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	p := open(t, serve(t, played(t)), desktop)
	const colours = `JSON.stringify([...document.querySelectorAll('#chart g[id]')].map(g => [g.id, g.getAttribute('class')]).sort())`
	same := get[string](p, colours)
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
	assert.Equal(t, same, get[string](p, colours), "a player has the same colour in each round")
	p.do(chromedp.Click(chromedp.CSS(`#timeline [aria-label="Previous round"]`)))
	round("1")
}

// A match of a board game opens at the move of the address, and keys step through it.
func TestMatchIsSteppedThroughByKeyboard(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	address := serve(t, played(t, "--game", "connect_four"))
	p := open(t, address+"/matches/R1M1?move=12", desktop)
	shown := func(n string) {
		t.Helper()
		p.await(`document.getElementById('move').value == '` + n + `' && document.querySelectorAll('.position:not([hidden])').length == 1 &&
			document.querySelectorAll('.position')[` + n + `].hidden == false`)
	}
	shown("12")
	p.screenshot("match with board")
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	shown("13")
	p.await(`location.search == '?move=13'`)
	p.do(chromedp.KeyEvent(kb.Home))
	shown("0")
	p.do(chromedp.Click(chromedp.CSS(`.stepper [aria-label="Next move"]`)))
	shown("1")
	p.do(chromedp.Click(chromedp.CSS(`.moves li:nth-child(3) a`)))
	shown("3")
	embedded := open(t, address+"/matches/R1M1?move=12&embed=1", desktop)
	embedded.await(`document.querySelector('.position:not([hidden]) .new') !== null && document.querySelector('.lanes') === null &&
		document.querySelector('nav').getClientRects().length == 0`)
}

func TestCrossTableOpensAMatchWithItsConversation(t *testing.T) {
	t.Parallel()
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
	p.do(chromedp.Click(chromedp.CSS(`#messages > summary`)), chromedp.Click(chromedp.CSS(`.lanes summary`)))
	p.await(`document.querySelector('.lanes details').open && document.querySelector('.lanes details pre').textContent.includes('"')`)
}

func TestFollowedPlayerIsDrawnStrongOnEveryPage(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	p := open(t, serve(t, played(t))+"/?follow=P03", desktop)
	followed := `document.querySelector('tr[data-followed] .who').textContent == 'Alice'`
	p.await(followed + ` && document.getElementById('line-P03').matches('[data-followed]') && document.getElementById('followed').textContent.includes('Alice')`)
	p.follow(`nav a[href="/cross?follow=P03"]`)
	p.await(followed)
	p.follow(`#followed a`)
	p.await(`location.search == '' && document.getElementById('followed').hidden`)
}

// Names of others are shown as they are.
func TestPagesAreReadable(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	address := serve(t, played(t))
	season := played(t, "--league-id", "first")
	start(t, "simulate", "--players", "4", "--league-id", "second", "--quiet", "--data", season).succeeds()
	all := map[string]string{
		"bracket": serve(t, played(t, "--tournament", "double-elimination")) + "/cross",
		"leagues": start(t, "serve", season, "--port", "0").await(`at (http://\S+/)`)[1] + "leagues",
	}
	for name, page := range pages {
		all[name] = address + page
	}
	p := newTab(t, address, desktop) // one for all: to open a tab takes longer than to look at a page
	for name, page := range all {
		t.Log(name, page)
		p.host = strings.Split(page, "/")[2]
		p.do(chromedp.Navigate(page))
		p.assertReadable(name)
		text := get[string](p, `document.body.textContent`)
		assert.Contains(t, text, hostileName)
		assert.Contains(t, text, hebrewName)
		assert.Zero(t, get[int](p, `document.querySelectorAll('img').length`), "names are text")
		if name == "overview" { // still on a phone
			assert.Equal(t, 4, get[int](p, `[...document.querySelectorAll('#chart g[id] text')].filter(e => e.checkVisibility()).length`),
				"names at the lines of the chart")
			assert.NotZero(t, get[int](p, `document.querySelectorAll('.pair .D .who').length`), "draws")
			assert.Zero(t, get[int](p, `[...document.querySelectorAll('.pair .D .who')].filter(
				e => getComputedStyle(e).fontWeight > 500).length`), "no winner")
		}
		p.assertClean()
	}
}

// follow clicks on a link, and waits for the next page.
func (p *tab) follow(selector string) {
	p.t.Helper()
	_, err := run(p, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(selector))))
	require.NoError(p.t, err, selector)
}

// reported writes the report of a league in a format, and returns its file.
func reported(t *testing.T, folder, format string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report."+format)
	start(t, "report", folder, "--format", format, "-o", file).succeeds()
	return file
}

func TestReportOpensFromDiskWithTheNumbersOfItsJSON(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	folder := played(t, "--faults", "drop=0.1,garbage=0.05")
	p := open(t, "file://"+reported(t, folder, "html"), desktop)
	type row struct {
		PlayerID    string `json:"player_id"`
		DisplayName string `json:"display_name"`
		Points      int    `json:"points"`
		Losses      int    `json:"losses"`
	}
	var want struct{ Standings []row }
	text, err := os.ReadFile(reported(t, folder, "json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want.Standings, 4)
	assert.Equal(t, want.Standings, get[[]row](p, `[...document.querySelectorAll('table.standings tbody tr')].map(row => {
		const column = name => row.cells[[...row.closest('table').tHead.rows[0].cells].findIndex(cell => cell.textContent == name)].textContent;
		return {player_id: row.id.replace('row-', ''), display_name: row.querySelector('.who bdi').textContent,
			points: Number(column('Points')), losses: Number(column('L'))};
	})`))
	assert.LessOrEqual(t, get[int](p, `Math.round(document.getElementById('details').getBoundingClientRect().top)`), 3*int(desktop.height), "three screens before the details")
	assert.Contains(t, get[string](p, `document.title`), "Even/Odd League. Champion: ")
	p.do(chromedp.Click(chromedp.CSS(`nav a[href="#matches"]`)))
	p.await(`document.getElementById('only').checkVisibility()`) // the script opens the matches after the click
	p.do(chromedp.Focus(chromedp.CSS("#only")), chromedp.KeyEvent(kb.ArrowDown))
	p.await(`document.querySelectorAll('li[data-match][hidden]').length == 3`) // the player of the first option has 3 of 6 matches
	p.do(chromedp.Click(chromedp.CSS(`[data-line="P01"]`)))
	p.await(`document.getElementById('line-P01').hasAttribute('hidden')`)
	p.assertReadable("report")
	p.assertClean()
	p.host = strings.TrimPrefix(serve(t, folder), "http://")
	p.do(chromedp.Navigate("http://" + p.host + "/matches/R2M2"))
	p.await(`document.querySelector('.lanes .trouble') !== null`)
	p.do(chromedp.Click(chromedp.CSS(`#messages > summary`)))
	p.assertAccessibleInAllLooks("match with failures")
}

// Each sheet is a page of its own, and nothing of it is cut.
func TestSheetsAreOnePageEach(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	file := filepath.Join(t.TempDir(), "sheets.html")
	start(t, "report", played(t, "--legs", "16", "--faults", "drop=0.1,garbage=0.05"), "--sheets", "-o", file).succeeds()
	p := open(t, "file://"+file, desktop)
	p.assertReadable("sheets")
	sheets := get[int](p, `document.querySelectorAll('.sheet').length`)
	assert.Equal(t, 6, sheets, "four players and two referees")
	assert.Equal(t, sheets, p.printed(8.27, 11.69), "pages")
	p.do(look{width: 688, height: 1000, scale: 1}.action())
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	p.await(`matchMedia('print').matches`)
	assert.Zero(t, get[int](p, `[...document.querySelectorAll('.sheet')].filter(e => e.scrollHeight > e.clientHeight + 1).length`), "sheets that are cut")
	assert.Equal(t, "0px", get[string](p, `getComputedStyle(document.querySelector('.sheet')).borderTopLeftRadius`),
		"a round corner cuts the first letter")
}

// printed is the number of pages of paper of a size in inches.
func (p *tab) printed(width, height float64) int {
	p.t.Helper()
	pdf, err := chromedp.Call(p.ctx, page.PrintToPDF,
		page.PrintToPDFParams{PaperWidth: width, PaperHeight: height, PreferCSSPageSize: new(true)})
	require.NoError(p.t, err)
	return len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf.Data, -1))
}

// The report of a class needs little paper: matches are rows of a table, and nothing looks as if it could be unfolded.
func TestPrintedReportOfAClassHasFourPages(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	folder := filepath.Join(t.TempDir(), "league")
	start(t, "simulate", "--players", "12", "--game", "tic_tac_toe", "--faults", "drop=0.01,garbage=0.005", "--seed", "3",
		"--quiet", "--data", folder).succeeds()
	p := open(t, "file://"+reported(t, folder, "html"), desktop)
	assert.LessOrEqual(t, p.printed(8.27, 11.69), 4, "pages of A4")
	assert.LessOrEqual(t, p.printed(8.5, 11), 4, "pages of Letter")
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	p.await(`matchMedia('print').matches`)
	get[bool](p, `dispatchEvent(new Event('beforeprint'))`)
	assert.Equal(t, 66, get[int](p, `[...document.querySelectorAll('#matches li[data-match]')].filter(
		e => e.checkVisibility() && getComputedStyle(e).display == 'table-row').length`), "rows")
	assert.Zero(t, get[int](p, `[...document.querySelectorAll('summary')].filter(
		e => e.checkVisibility() && getComputedStyle(e).listStyleType != 'none').length`), "triangles")
}

// assertReadable requires that a page fits a desktop and a phone, is dark and light as the user
// wishes, and has the names and headings that assistive technology needs.
func (p *tab) assertReadable(name string) {
	p.t.Helper()
	colours := map[string]string{}
	for _, l := range []look{desktop, tablet, phone, desktop.inDark(), tablet.inDark(), phone.inDark()} {
		p.do(l.action())
		p.await(fmt.Sprintf(`innerWidth == %d && matchMedia('(prefers-color-scheme: %s)').matches`, l.width, l.scheme()))
		assert.LessOrEqual(p.t, get[int64](p, `document.documentElement.scrollWidth`), l.width, "it scrolls sideways %s", l)
		assert.Empty(p.t, get[string](p, cutTexts), "texts are cut %s", l)
		colours[l.scheme()] = get[string](p, `[document.documentElement, document.body].map(e => getComputedStyle(e).backgroundColor).join(' ')`)
		if l == desktop || l == phone { // other looks have the same elements
			for _, e := range p.elements() {
				assert.False(p.t, named[e.role] && e.name == "", "a %s needs a name %s", e.role, l)
			}
		}
		p.screenshot(name + " " + l.String())
		if l.width != tablet.width {
			p.assertAccessible(name, l)
		}
	}
	assert.NotEqual(p.t, colours["light"], colours["dark"], "the colour scheme changes the background")
	assert.Equal(p.t, 1, get[int](p, `document.querySelectorAll('h1').length`), "headings of level 1")
	assert.Empty(p.t, get[string](p, `[...document.querySelectorAll('th:not([scope])')].map(e => e.outerHTML).join('\n')`), "headings of tables without scope")
	assert.Equal(p.t, "en", get[string](p, `document.documentElement.lang`))
	assert.NotEmpty(p.t, get[string](p, `document.title`))
	assert.Empty(p.t, get[string](p, `[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) < i).join(' ')`), "repeated ids")
}

// cutTexts are the texts of elements that are too small for them, other than regions that scroll. The table of the
// standings does not scroll either.
const cutTexts = `[...document.querySelectorAll('body :not(.hidden, svg *)')].filter(e => e.matches('#standings .scroll') && e.querySelectorAll('tr').length < 50 ||
	getComputedStyle(e).overflowX != 'visible' && !e.matches('.scroll, pre, input, progress, h1, svg')).filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 200)).join('\n')`

// named are the roles of elements that need an accessible name.
var named = map[string]bool{
	"link": true, "button": true, "slider": true, "combobox": true, "textbox": true, "checkbox": true, "navigation": true, "region": true, "image": true,
}

// An element is an element as assistive technology sees it.
type element struct{ role, name string }

// elements are those of the accessibility tree.
func (p *tab) elements() (all []element) {
	p.t.Helper()
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(p.t, err)
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s) // other values are not text
		}
		return s
	}
	for _, node := range tree.Nodes {
		if !node.Ignored {
			all = append(all, element{text(node.Role), text(node.Name)})
		}
	}
	return all
}

var update = flag.Bool("update", false, "write docs/images/live-page.png")

// picture is the picture of the README, and poster its look.
const picture = "../../../docs/images/live-page.png"

var poster = look{width: 1200, height: 1080, scale: 1}

// class is a class with a strategy for each player.
const class = `entrants:
  - {name: Alice, strategy: contrarian}
  - {name: Benjamin, strategy: frequency}
  - {name: Carol, strategy: random}
  - {name: Dalia, strategy: mirror}
  - {name: Emre, strategy: even}
  - {name: Fatima, strategy: alternate}
  - {name: Giulia, strategy: random}
  - {name: Hiro, strategy: odd}
`

// The README shows the page of a league that is running. Screenshots differ between versions of
// Chromium, so the test compares only the size of the picture.
func TestReadmeHasAPictureOfTheLivePage(t *testing.T) {
	if *update {
		takePicture(t)
	}
	file, err := os.ReadFile(picture)
	require.NoError(t, err, "run this test with -update")
	config, err := png.DecodeConfig(bytes.NewReader(file))
	require.NoError(t, err)
	assert.EqualValues(t, poster.width, config.Width)
	assert.EqualValues(t, poster.height, config.Height)
	assert.Less(t, len(file), 150<<10, "bytes")
}

// takePicture writes the picture: the league after nine rounds and two matches of the tenth.
func takePicture(t *testing.T) {
	t.Helper()
	needsChromium(t)
	folder := filepath.Join(t.TempDir(), "league")
	file := filepath.Join(t.TempDir(), "class.yaml")
	require.NoError(t, os.WriteFile(file, []byte(class), 0o600))
	start(t, "simulate", "--entrants", file, "--legs", "2", "--seed", "2", "--concurrency", "1", "--quiet", "--data", folder).succeeds()
	j := rewound(t, folder, 0)
	j.growTo(j.find(matchReported, 38) + 2) // the next match has begun
	p := open(t, serve(t, folder), poster)
	p.await(`document.body.textContent.includes('can be luck') && document.querySelector('svg, canvas') !== null`)
	taken, err := run(p, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	pixels, err := png.Decode(bytes.NewReader(taken))
	require.NoError(t, err)
	var small bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, paletted(pixels)))
	require.NoError(t, os.MkdirAll(filepath.Dir(picture), 0o755))
	require.NoError(t, os.WriteFile(picture, small.Bytes(), 0o644))
}

// paletted is a picture with its 256 most frequent colours, which makes its file three times smaller.
func paletted(full image.Image) *image.Paletted {
	area, count := full.Bounds(), map[color.Color]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return count[b] - count[a] })
	small := image.NewPaletted(area, colours[:min(256, len(colours))])
	draw.Draw(small, area, full, area.Min, draw.Src)
	return small
}
