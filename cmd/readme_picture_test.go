package cmd_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Sizes of the picture of a terminal, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 18
)

// strokes are the lines of the characters that draw boxes, as a path from the centre of a cell.
// Lines instead of glyphs join in every font.
var strokes = map[string]string{
	"│": "m0,-10v20", "┬": "m-4.2,0h8.4m-4.2,0v10", "┴": "m-4.2,0h8.4m-4.2,0v-10",
	"┼": "m-4.2,0h8.4m-4.2,-10v20", "├": "m0,-10v20m0,-10h4.2", "┤": "m0,-10v20m0,-10h-4.2",
	"╭": "m4.2,0q-4.2,0 -4.2,4.2v5.8", "╮": "m-4.2,0q4.2,0 4.2,4.2v5.8",
	"╰": "m4.2,0q-4.2,0 -4.2,-4.2v-5.8", "╯": "m-4.2,0q4.2,0 4.2,-4.2v-5.8",
}

// boxed are the parts of a line that draw boxes: a horizontal line of any length, or a character.
var boxed = regexp.MustCompile(`─+|[│-╿]`)

// words are the parts of a line without boxes and without gaps of several spaces.
var words = regexp.MustCompile(`[^\s─-╿]+( [^\s─-╿]+)*`)

// TestReadmeShowsTheOutputOfSimulate compares a picture of the README with the output of the
// program. With -update it writes the picture.
func TestReadmeShowsTheOutputOfSimulate(t *testing.T) {
	t.Parallel()
	const command = "evenodd simulate --players 4 --seed 1"
	code, stdout, _ := run(t.Context(), strings.Fields(command)[1:]...)
	require.Zero(t, code)
	want := terminal("$ "+command, stdout)
	file := filepath.Join(root, "docs", "images", "table.svg")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "the picture shows another output: run this test with -update")
}

// terminal is a picture of a terminal with a command and its output, as SVG.
func terminal(command, output string) string {
	lines := append([]string{command}, strings.Split(strings.TrimSuffix(output, "\n"), "\n")...)
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := int(float64(columns)*cellWidth)+2*margin, len(lines)*lineHeight+2*margin
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="%s">
<title>%[3]s</title>
<rect width="100%%" height="100%%" rx="8" fill="#161b22" stroke="#3d444d"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#e6edf3" xml:space="preserve">
`, width, height, "Terminal: "+html.EscapeString(command)+" prints a table of the league")
	var boxes strings.Builder
	for row, line := range lines {
		centre := margin + row*lineHeight + lineHeight/2
		for _, at := range boxed.FindAllStringIndex(line, -1) {
			x, cells := left(line, at[0]), utf8.RuneCountInString(line[at[0]:at[1]])
			if stroke, ok := strokes[line[at[0]:at[1]]]; ok {
				fmt.Fprintf(&boxes, "M%.1f,%d%s", x+cellWidth/2, centre, stroke)
			} else {
				fmt.Fprintf(&boxes, "M%.1f,%dh%.1f", x, centre, float64(cells)*cellWidth)
			}
		}
		style := ""
		if row == 0 {
			style = ` fill="#7ee787"`
		}
		for _, at := range words.FindAllStringIndex(line, -1) {
			text := line[at[0]:at[1]]
			fmt.Fprintf(&svg, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"%s>%s</text>\n",
				left(line, at[0]), centre+5, float64(utf8.RuneCountInString(text))*cellWidth, style, html.EscapeString(text))
		}
	}
	fmt.Fprintf(&svg, "</g>\n<path d=\"%s\" fill=\"none\" stroke=\"#6e7681\" stroke-linecap=\"square\"/>\n</svg>\n", boxes.String())
	return svg.String()
}

// left is the position of a byte of a line.
func left(line string, at int) float64 {
	return margin + float64(utf8.RuneCountInString(line[:at]))*cellWidth
}
