package browsertest

import (
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// assertReadable requires that a page fits a desktop and a phone, is dark and light as the user
// wishes, and has the names and headings that assistive technology needs.
func (p *tab) assertReadable(name string) {
	p.t.Helper()
	colours := map[string]string{}
	for _, l := range []look{desktop, phone, desktop.inDark(), phone.inDark()} {
		p.do(l.action())
		p.await(fmt.Sprintf(`innerWidth == %d && matchMedia('(prefers-color-scheme: %s)').matches`, l.width, l.scheme()))
		assert.LessOrEqual(p.t, get[int64](p, `document.documentElement.scrollWidth`), l.width, "it scrolls sideways %s", l)
		colours[l.scheme()] = get[string](p, `[document.documentElement, document.body].map(e => getComputedStyle(e).backgroundColor).join(' ')`)
		for _, e := range p.elements() {
			assert.False(p.t, named[e.role] && e.name == "", "a %s needs a name %s", e.role, l)
		}
		p.screenshot(name + " " + l.String())
	}
	assert.NotEqual(p.t, colours["light"], colours["dark"], "the colour scheme changes the background")
	assert.Equal(p.t, 1, get[int](p, `document.querySelectorAll('h1').length`), "headings of level 1")
	assert.Empty(p.t, get[string](p, `[...document.querySelectorAll('th:not([scope])')].map(e => e.outerHTML).join('\n')`), "headings of tables without scope")
	assert.Equal(p.t, "en", get[string](p, `document.documentElement.lang`))
	assert.NotEmpty(p.t, get[string](p, `document.title`))
	assert.Empty(p.t, get[string](p, `[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) < i).join(' ')`), "repeated ids")
}

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
