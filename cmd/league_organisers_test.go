package cmd_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of several organisers that make the same decision at once, one succeeds. The others are told
// by whom it was made.
func TestOneOfSeveralOrganisersMakesADecision(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "SHARED")
	startManager(t, "--data", data)
	organisers := map[string]*process{}
	for _, name := range []string{"Ann", "Ben", "Cid", "Dee"} {
		organisers[name] = start(t, "league", "pause", "--data", data, "--by", name)
	}
	var winner string
	var refused []string
	for name, p := range organisers {
		if p.awaitExit(t) == 0 {
			assert.Empty(t, winner, "one decision")
			winner = name
		} else {
			refused = append(refused, p.stderr.String())
		}
	}
	require.NotEmpty(t, winner)
	require.Len(t, refused, 3)
	for _, text := range refused {
		assert.Contains(t, text, "the league is paused already, by "+winner+" at ")
	}
	assert.Contains(t, output(t, "league", "status", "--data", data), "Paused by "+winner+" since ")
}

// The commands of docs/organiser.md have the form that the program takes.
func TestCommandsOfTheOrganisersPageAreAccepted(t *testing.T) {
	t.Parallel()
	page := readText(t, filepath.Join(root, "docs", "organiser.md"))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	seen := map[string]bool{}
	folder := t.TempDir()
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
			if !strings.HasPrefix(command, "evenodd league ") {
				continue
			}
			name := strings.Fields(command)[2]
			seen[name] = true
			p := launch(t, folder, nil, "sh", "-c", command)
			code := p.awaitExit(t)
			if name == "codes" {
				assert.Equal(t, 1, code, "%s: there is no such file", command)
				continue
			}
			assert.Equal(t, 1, code, "%s: only the league is missing: %s", command, p.stderr.String())
			assert.Contains(t, p.stderr.String(), "there is no folder SHARED", command)
		}
	}
	for _, name := range []string{"status", "standings", "schedule", "export", "logs", "codes", "start", "pause", "resume", "suspend", "readmit", "withdraw", "rematch", "rule"} {
		assert.True(t, seen[name], "the page shows league %s", name)
	}
}
