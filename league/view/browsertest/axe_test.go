package browsertest

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axe is the script of axe-core, which examines the accessibility of a page.
var axe = sync.OnceValues(func() ([]byte, error) {
	return os.ReadFile("../../../testdata/mcp/node_modules/axe-core/axe.min.js")
})

// violations are the elements that break a rule of axe-core, with what the rule asks for.
const violations = `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.flatMap(v => v.nodes.map(n =>
	v.id + ': ' + n.failureSummary.replaceAll('\n', ' ') + ' ' + n.html.slice(0, 200))).join('\n'))`

// assertAccessible requires that axe-core finds nothing wrong with a page as a tab shows it in a look. By default it
// examines one look, because the examination takes longer than all else that is asked of a page.
func (p *tab) assertAccessible(name string, l look) {
	p.t.Helper()
	if l != desktop && os.Getenv("CI") == "" && os.Getenv("EVENODD_TEST_ALL") == "" {
		return
	}
	p.t.Run("axe "+name+" "+l.String(), func(t *testing.T) {
		script, err := axe()
		if err != nil && os.Getenv("CI") == "" {
			t.Skip("NOT TESTED: needs 'npm ci --prefix testdata/mcp'")
		}
		require.NoError(t, err)
		if !get[bool](p, `'axe' in window`) {
			get[bool](p, string(script)+"\n;true")
		}
		assert.Empty(t, get[string](p, violations), "violations")
	})
}

// assertAccessibleInAllLooks requires it of the page as it is now, on desktop and phone, in light and dark.
func (p *tab) assertAccessibleInAllLooks(name string) {
	p.t.Helper()
	for _, l := range []look{desktop, phone, desktop.inDark(), phone.inDark()} {
		p.do(l.action())
		p.assertAccessible(name, l)
	}
}
