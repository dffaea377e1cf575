package browsertest

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
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
