package cmd_test

import (
	"html"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crawl returns the texts of all pages of a server, by path, that links lead to.
func crawl(t *testing.T, base string, paths ...string) map[string]string {
	t.Helper()
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	linked := regexp.MustCompile(`(?:href|action|src|hx-get)="(/[^"]*)"`)
	texts := map[string]string{}
	for len(paths) > 0 {
		path, _, _ := strings.Cut(paths[0], "#")
		paths = paths[1:]
		if _, seen := texts[path]; seen {
			continue
		}
		r, err := client.Get(base + path)
		require.NoError(t, err)
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		require.NoError(t, err)
		require.Less(t, r.StatusCode, http.StatusInternalServerError, path)
		texts[path] = string(text)
		for _, found := range linked.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(found[1], "/assets/") {
				paths = append(paths, html.UnescapeString(found[1]))
			}
		}
	}
	return texts
}

// secretsIn are the tokens and keys in the files of the private folder.
func secretsIn(t *testing.T, folder string) (secrets []string) {
	t.Helper()
	long := regexp.MustCompile(`[A-Za-z0-9_-]{24,}`)
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, "private"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		secrets = append(secrets, long.FindAllString(string(text), -1)...)
		return err
	}))
	return secrets
}

// No page and no event of a league, while it is played and afterwards, has a token, a key, a
// registration code or an endpoint of it.
func TestNoPageHasASecretOfItsLeague(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	roster := filepath.Join(t.TempDir(), "class.csv")
	require.NoError(t, os.WriteFile(roster, []byte("name,code,role\nAlpha,sekret-alpha,\nBeta,sekret-beta1,\nWhistle,sekret-whistle,referee\n"), 0o600))
	m := startManager(t, "--roster", roster, "--data", data, "--legs", "3", "--pace", "200ms")
	base := strings.TrimSuffix(m.url, "/mcp")
	secrets := []string{m.admin, "sekret-"}
	for _, a := range [][2]string{{"referee", "Whistle:whistle"}, {"player", "Alpha:alpha"}, {"player", "Beta:beta1"}} {
		name, code, _ := strings.Cut(a[1], ":")
		p := m.join(t, a[0], "--name", name, "--registration-code", "sekret-"+code, "--data", data)
		endpoint := p.await(t, `"endpoint":"(http://[^"]+)"`)[1]
		secrets = append(secrets, strings.TrimPrefix(endpoint, "http://"))
	}
	m.await(t, "ROUND_ANNOUNCEMENT_SENT")
	stream, err := http.Get(base + "/events")
	require.NoError(t, err)
	events := make(chan string, 1)
	go func() {
		defer func() { _ = stream.Body.Close() }()
		text, _ := io.ReadAll(stream.Body) // the stream ends with the league
		events <- string(text)
	}()
	known := secretsIn(t, data)
	require.GreaterOrEqual(t, len(known), 4, "the secret of the manager, and the tokens of three agents")
	secrets = append(secrets, known...)
	starts := []string{"/", "/cross", "/agents", "/statistics", "/matches/R1M1", "/matches/R3M1", "/matches/R3M1?attempt=1", "/players/P01", "/players/REF01"}
	check := func(where, text string) {
		for _, secret := range secrets {
			assert.NotContains(t, text, secret, where)
		}
	}
	pages, over := 0, false
	for end := time.Now().Add(patience); !over && time.Now().Before(end); {
		over = strings.Contains(m.stderr.String(), "The league is over; ")
		for path, text := range crawl(t, base, starts...) {
			pages++
			check(path, text)
		}
	}
	assert.True(t, over)
	assert.Greater(t, pages, 20)
	text := <-events
	assert.Contains(t, text, "event: over\n")
	check("/events", text)
}
