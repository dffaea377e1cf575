package browsertest

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// play starts evenodd play, and returns it with the links of the persons.
func play(t *testing.T, people int, args ...string) (p *process, links []string) {
	t.Helper()
	needsChromium(t)
	p = start(t, append([]string{"play", "--port", "0", "--people", strconv.Itoa(people)}, args...)...)
	pattern := ""
	for range people {
		pattern += `(?s:.*)plays at (http://\S+/play#\S+)`
	}
	return p, p.await(pattern)[1:]
}

const (
	due      = `document.querySelector('#play[data-state="due"]') !== null`
	resulted = `document.querySelector('#play:is([data-state="won"], [data-state="lost"], [data-state="tied"])') !== null`
	options  = `[...document.querySelectorAll('#options button')].map(b => b.dataset.move)`
)

// sit opens the link of a person, whose page replaces the one that uses the code. The stream breaks when the test ends
// the program.
func sit(t *testing.T, link string, l look) *tab {
	t.Helper()
	p := open(t, link, l)
	p.allow(`/play/events|status of 409`)
	require.Eventually(t, func() bool {
		there, err := tryGet[bool](p, `document.querySelector('#play .eyebrow') !== null`)
		return err == nil && there // a page that is replaced runs no script
	}, patience, 50*time.Millisecond)
	return p
}

// move waits for the next question, and answers it by a click on the nth option, modulo their number, until the match
// is over. It returns false then.
func (p *tab) move(n int) bool {
	p.t.Helper()
	p.await(due + ` && !document.querySelector('[aria-busy]') || ` + resulted)
	if get[bool](p, resulted) {
		return false
	}
	question := get[string](p, `document.querySelector('#options').dataset.question`)
	all := get[[]string](p, options)
	p.do(chromedp.Click(chromedp.CSS(`#options [data-move="` + all[n%len(all)] + `"]`)))
	p.await(`(document.querySelector('#options') || {dataset: {}}).dataset.question !== "` + question + `"`)
	return true
}

// finish plays to the end.
func (p *tab) finish() {
	p.t.Helper()
	for n := 0; p.move(n); n += 2 {
	}
}

func TestPersonPlaysConnectFourByMouse(t *testing.T) {
	t.Parallel()
	_, links := play(t, 1, "--against", "random")
	p := sit(t, links[0], desktop)
	p.await(due)
	assert.Equal(t, "/play", get[string](p, `location.pathname + location.hash`), "the code has left the address")
	assert.Equal(t, "Your turn", get[string](p, `document.querySelector('h1').innerText`))
	assert.Regexp(t, `^● Your turn`, get[string](p, `document.title`))
	assert.Regexp(t, `^[12]:\d\d$`, get[string](p, `document.querySelector('.countdown').innerText`))
	p.screenshot("first move")
	p.do(chromedp.Click(chromedp.CSS(`.grid tr:nth-child(2) button[data-move="4"]`))) // anywhere in the column
	p.await(`document.querySelectorAll('.grid td.a').length === 1`)
	p.await(due + ` && document.querySelectorAll('.made li').length >= 2`)
	p.screenshot("second move")
	p.do(chromedp.Reload())
	p.await(due)
	assert.Equal(t, 1, get[int](p, `document.querySelectorAll('.grid td.a').length`), "a reload loses nothing")
	p.finish()
	p.screenshot("result")
	assert.Regexp(t, `^(You won|You lost|A draw)$`, get[string](p, `document.querySelector('h1').innerText`))
	p.await(`document.querySelector('[data-again]') !== null`)
	to := get[string](p, `document.querySelector('.next a').href`)
	p.do(chromedp.Click(chromedp.CSS(`[data-again]`)))
	p.await(due)
	assert.Regexp(t, `1 (won|lost|drawn)`, get[string](p, `document.querySelector('.about').innerText`))
	p.screenshot("again")
	assert.Regexp(t, `/matches/R1M1$`, to)
}

func TestPersonPlaysConnectFourByKeyboard(t *testing.T) {
	t.Parallel()
	_, links := play(t, 1, "--against", "random")
	p := sit(t, links[0], desktop)
	for moves := 1; ; moves++ {
		p.await(due + ` && !document.querySelector('[aria-busy]') || ` + resulted)
		if get[bool](p, resulted) {
			break
		}
		question := get[string](p, `document.querySelector('#options').dataset.question`)
		if moves == 1 {
			p.do(chromedp.KeyEvent("5"))
			assert.Equal(t, "5", get[string](p, `document.activeElement.dataset.move`))
			p.do(chromedp.KeyEvent(kb.ArrowLeft))
			assert.Equal(t, "4", get[string](p, `document.activeElement.dataset.move`))
			assert.NotZero(t, get[int](p, `document.querySelectorAll('.grid td.aimed').length`))
			p.screenshot("aimed")
		} else {
			p.do(chromedp.KeyEvent(kb.Home))
		}
		p.do(chromedp.KeyEvent(kb.Enter))
		p.await(`(document.querySelector('#options') || {dataset: {}}).dataset.question !== "` + question + `"`)
	}
}

func TestPersonPlaysOnAPhone(t *testing.T) {
	t.Parallel()
	_, links := play(t, 1, "--against", "random")
	p := sit(t, links[0], phone.inDark())
	p.await(due)
	p.screenshot("first move")
	p.move(3)
	p.await(due)
	assert.LessOrEqual(t, get[int](p, `document.documentElement.scrollWidth`), 360)
	p.screenshot("second move")
	p.assertAccessibleInAllLooks("play")
	p.do(phone.inDark().action())
	p.finish()
	p.screenshot("result")
	assert.LessOrEqual(t, get[int](p, `document.documentElement.scrollWidth`), 360)
}

func TestTwoPeoplePlay(t *testing.T) {
	t.Parallel()
	_, links := play(t, 2, "--game", "tic_tac_toe", "--name", "Ada,Bob")
	ada, bob := sit(t, links[0], desktop), sit(t, links[1], phone)
	ada.await(due + ` || document.querySelector('#play[data-state="waiting"] .eyebrow') !== null`)
	bob.await(due + ` || document.querySelector('#play[data-state="waiting"] .eyebrow') !== null`)
	first, second := ada, bob
	if get[bool](bob, due) {
		first, second = bob, ada
	}
	second.screenshot("waits")
	for _, m := range []struct {
		by   *tab
		move string
	}{{first, "0"}, {second, "3"}, {first, "1"}, {second, "4"}, {first, "2"}} {
		m.by.await(due)
		m.by.do(chromedp.Click(chromedp.CSS(`.grid button[data-move="` + m.move + `"]`)))
		m.by.await(`!(` + due + `)`)
	}
	first.await(`document.querySelector('#play[data-state="won"]') !== null`)
	second.await(`document.querySelector('#play[data-state="lost"]') !== null`)
	first.screenshot("won")
	second.screenshot("lost")
}

func TestMoveAfterTheDeadline(t *testing.T) {
	t.Parallel()
	_, links := play(t, 1, "--against", "random", "--move-time", "5s")
	p := sit(t, links[0], desktop)
	p.await(due)
	p.await(`document.querySelector('.countdown.short') !== null`)
	p.screenshot("short")
	question := get[int](p, `Number(document.querySelector('#options').dataset.question)`)
	p.await(`document.querySelector('#play[data-state="lost"]') !== null`)
	p.screenshot("late")
	text := get[string](p,
		`fetch('/play/move', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({question: `+
			strconv.Itoa(question)+`, move: '4'})}).then(async r => r.status + ' ' + await r.text())`)
	require.Regexp(t, `^409 `, text)
}

func TestPersonPlaysKuhnPoker(t *testing.T) {
	t.Parallel()
	_, links := play(t, 1, "--game", "kuhn_poker", "--against", "nash")
	p := sit(t, links[0], phone)
	p.await(due)
	assert.Regexp(t, `(?m)^card\s+[JQK]$`, get[string](p, `document.querySelector('.facts-seen').innerText`))
	p.screenshot("first hand")
	p.do(chromedp.KeyEvent("c"), chromedp.KeyEvent(kb.Enter)) // check or call
	p.await(`document.querySelectorAll('.made .own').length === 1 || ` + resulted)
	p.finish()
	p.screenshot("result")
	assert.LessOrEqual(t, get[int](p, `document.documentElement.scrollWidth`), 360)
}

// A player that is killed in mid-match, and is back in time, plays on in the browser that has its page.
func TestKilledPlayerOfAPersonPlaysOn(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	endpoint := start(t, "manager", "--port", "0", "--players", "2", "--game",
		"connect_four").await(`at (http://\S+/mcp) waits`)[1]
	start(t, "referee", "--port", "0", "--manager", endpoint)
	start(t, "player", "--port", "0", "--manager", endpoint, "--strategy", "random")
	_, port, _ := net.SplitHostPort(lastingAddress(t))
	again := []string{"player", "--strategy", "person", "--name", "Ada", "--port", port, "--manager", endpoint, "--data",
		t.TempDir()}
	first := start(t, again...)
	p := sit(t, first.await(`Ada plays at (http://\S+/play#\S+)`)[1], desktop)
	p.allow(`/play/events|ERR_CONNECTION|409`)
	require.True(t, p.move(3))
	p.await(due)
	moves := get[int](p, `document.querySelectorAll('.made li').length`)
	question := get[string](p, `document.querySelector('#options').dataset.question`)
	require.NoError(t, first.cmd.Process.Kill())
	<-first.ended
	p.await(`document.querySelector('.connection.lost') !== null`)
	second := start(t, again...)
	second.await(`Ada plays at http://\S+/play, in the browser that has opened it before`)
	p.await(due + ` && document.querySelector('#options').dataset.question !== "` + question + `"`)
	assert.Equal(t, moves, get[int](p, `document.querySelectorAll('.made li').length`), "it knows the moves")
	p.finish()
	assert.Regexp(t, `has four|full`, get[string](p, `document.querySelector('.detail').innerText`), "no technical loss")
	p.await(`document.querySelector('.end') !== null`)
	p.screenshot("end")
}
