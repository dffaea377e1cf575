package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
)

// failsAfter takes a number of writes, keeps them, and fails at the next.
type failsAfter struct {
	left   int
	pieces []string
}

var errFull = errors.New("no space left on device")

func (w *failsAfter) Write(text []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errFull
	}
	w.pieces = append(w.pieces, string(text))
	return len(text), nil
}

type longDocument struct {
	Title string       `json:"title"`
	Rows  rows[string] `json:"rows"`
	None  rows[int]    `json:"none"`
}

// documentOf has rows with characters that printJSON escapes at each place of a piece. made counts them.
func documentOf(n int, made *int) longDocument {
	return longDocument{Title: "a\u0301 \u202e", Rows: func(yield func(string) bool) {
		for i := range n {
			*made = i + 1
			if !yield(strings.Repeat("x", i%97) + "é\u200d\x7f\u0301") {
				return
			}
		}
	}}
}

func TestLongDocumentsArePrintedInPieces(t *testing.T) {
	const n = 5000
	var made int
	w := &failsAfter{left: n}
	require.NoError(t, printJSON(w, documentOf(n, &made)))
	whole, err := json.Marshal(documentOf(n, &made), jsontext.WithIndent("  "))
	require.NoError(t, err)
	assert.Equal(t, string(words.EscapeJSON(whole))+"\n", strings.Join(w.pieces, ""))
	assert.Greater(t, len(w.pieces), len(whole)/(2*pieceSize))
	for _, piece := range w.pieces {
		assert.Less(t, len(piece), 4*pieceSize)
	}

	w = &failsAfter{left: 10}
	require.NoError(t, printJSON(w, documentOf(3, &made)))
	assert.Len(t, w.pieces, 1, "a short one is one piece")
}

// The error is that of the output, and no further rows are made.
func TestLongDocumentEndsWithItsOutput(t *testing.T) {
	const n = 100_000
	var made int
	w := &failsAfter{left: 2}
	assert.Equal(t, errFull, printJSON(w, documentOf(n, &made)))
	assert.Len(t, w.pieces, 2)
	assert.Less(t, made, n/2)
}
