package cmd_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openLink uses the code of a link, as the page does.
func openLink(t *testing.T, link string) (status int) {
	t.Helper()
	page, code, _ := strings.Cut(link, "#")
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, page+"/open",
		strings.NewReader(`{"code":"`+code+`"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", strings.TrimSuffix(page, "/play"))
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// The code of a link is on the terminal alone: not in logs, in other files or in command lines.
func TestCodeOfALinkIsNowhereElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, nil, "evenodd", "play", "--port", "0", "--no-open", "--log-level", "debug", "--against", "random")
	link := p.await(t, `Person plays at (http://localhost:\d+/play#[A-Z2-7]{26})\n`)[1]
	_, code, _ := strings.Cut(link, "#")
	require.Equal(t, http.StatusNoContent, openLink(t, link))
	require.Equal(t, http.StatusForbidden, openLink(t, link))
	require.Eventually(t, func() bool { // the league has begun, and has its files
		_, err := os.Stat(filepath.Join(dir, "SHARED", "data", "leagues", "play", "standings.json"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	p.endByInterrupt(t)
	assert.Equal(t, 1, strings.Count(p.stderr.String(), code))
	assert.NotContains(t, p.stdout.String(), code)
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		assert.False(t, bytes.Contains(text, []byte(code)), path)
		return err
	}))
	assert.Greater(t, files, 5)
	again := launch(t, dir, nil, "evenodd", "play", "--port", "0", "--no-open", "--against", "random")
	again.await(t, `Person plays at http://localhost:\d+/play, in the browser that has opened it before\.`)
	require.Equal(t, http.StatusForbidden,
		openLink(t, strings.Replace(link, link[:strings.Index(link, "/play")], again.find(`(http://localhost:\d+)/play`)[1],
			1)), "a used code stays used")
	again.endByInterrupt(t)
}

// On a terminal n makes a new link, which ends the one before.
func TestNewLinkOnATerminal(t *testing.T) {
	t.Parallel()
	p, keyboard := onTerminal(t, t.TempDir(), "play", "--port", "0", "--no-open", "--host", "0.0.0.0")
	first := p.await(t, `Person plays at (http://\S+/play#\S+)\r\n(?s).*[█▀▄]`)[1]
	p.await(t, `This connection is not encrypted: others in the network can read the link`)
	_, err := keyboard.Write([]byte("n\n"))
	require.NoError(t, err)
	second := p.await(t, `(?s)not encrypted.*Person plays at (http://\S+/play#\S+)\r\n.*not encrypted`)[1]
	assert.NotEqual(t, first, second)
	assert.Equal(t, http.StatusForbidden, openLink(t, first))
	assert.Equal(t, http.StatusNoContent, openLink(t, second))
	_, err = keyboard.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	assert.Equal(t, 130, p.awaitExit(t), p.stderr.String())
}
