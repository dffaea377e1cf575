package cmd_test

import (
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The picture of the README shows a command, and the words that it prints in order.
func TestReadmeShowsTheOutputOfSimulate(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).FindAllStringSubmatch(readText(t, filepath.Join(root, "docs", "images", "table.svg")), -1)
	var got []string
	for _, found := range shown {
		got = append(got, strings.Fields(html.UnescapeString(found[1]))...)
	}
	const command = "$ evenodd simulate --players 4 --seed 1"
	printed := regexp.MustCompile(`[│-╿─]`).ReplaceAllString(mustRun(t, strings.Fields(command)[2:]...), " ")
	assert.Equal(t, strings.Fields(command+" "+printed), got)
}
