package browsertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHostileAndHebrewNamesAreText(t *testing.T) {
	needsChromium(t)
	address := serve(t, played(t))
	for _, page := range []string{"/", "/cross", "/players/P01", "/agents", "/matches/R1M1"} {
		p := open(t, address+page, desktop)
		text := get[string](p, `document.body.textContent`)
		assert.Contains(t, text, hostileName, page)
		assert.Contains(t, text, hebrewName, page)
		assert.Zero(t, get[int](p, `document.querySelectorAll('img').length`), page)
	}
}
