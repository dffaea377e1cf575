package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlaceOfAnErrorIsRemembered(t *testing.T) {
	for _, tt := range []struct{ name, text, last, place string }{
		{"no place", "no more", "no more", ""},
		{"Python", `Traceback (most recent call last):
  File "/games/nim.py", line 110, in <module>
    main()
  File "/games/nim.py", line 30, in play
    bord = 1 / 0
           ~~^~~
ZeroDivisionError: division by zero`, "ZeroDivisionError: division by zero", "/games/nim.py, line 30"},
		{"a library of Python", `  File "/games/nim.py", line 104, in main
    print(json.dumps(answer))
  File "/usr/lib/python3.13/json/encoder.py", line 182, in default
    raise TypeError(f'Object of type {o.__class__.__name__} '
TypeError: Object of type set is not JSON serializable`, "TypeError: Object of type set is not JSON serializable",
			"/games/nim.py, line 104"},
		{"Node", `file:///games/nim.mjs:25
    const x = bord;
              ^

ReferenceError: bord is not defined
    at play (file:///games/nim.mjs:25:15)
    at new Match (file:///games/nim.mjs:60:14)

Node.js v20.19.2`, "ReferenceError: bord is not defined", "/games/nim.mjs, line 25"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p process
			for line := range strings.SplitSeq(tt.text, "\n") {
				if line != "" {
					p.remember(line)
				}
			}
			last, place := p.lastError()
			assert.Equal(t, tt.last, last)
			assert.Equal(t, tt.place, place)
		})
	}
}
