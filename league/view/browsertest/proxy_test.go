package browsertest

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startNginx runs nginx with the file of docs/examples, without TLS, in front of an address. It returns its own
// address.
func startNginx(t *testing.T, before string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	if _, err := os.Stat(path); err != nil {
		const missing = "NOT TESTED: the page behind nginx, because there is no nginx (on Debian: apt-get install nginx-light)"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	example, err := os.ReadFile("../../../docs/examples/nginx.conf")
	require.NoError(t, err)
	address, folder := lastingAddress(t), t.TempDir()
	server := regexp.MustCompile(`(?m)^ *ssl_.*$`).ReplaceAllString(string(example), "")
	server = strings.NewReplacer("listen 443 ssl", "listen "+address, "games.example.org", "localhost 127.0.0.1", "127.0.0.1:8080", before).Replace(server)
	config := "daemon off; master_process off; error_log error.log; pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range strings.Fields("client_body proxy fastcgi uwsgi scgi") {
		config += kind + "_temp_path " + kind + ";\n"
	}
	file := filepath.Join(folder, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(config+server+"}\n"), 0o600))
	run := exec.CommandContext(t.Context(), path, "-p", folder, "-c", file)
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it was killed
	})
	require.Eventually(t, func() bool {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		return err == nil && c.Close() == nil
	}, patience, patience/1000, "nginx listens")
	return "http://" + address
}

// status is the status of the answer to a request.
func status(t *testing.T, method, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	return a.StatusCode
}

// A manager shows its league below a path behind nginx, with its stream, and nothing else of it is reachable there.
func TestPageBehindNginx(t *testing.T) {
	t.Parallel()
	needsChromium(t)
	manager := start(t, "manager", "--port", "0", "--players", "2", "--base-path", "/league", "--data", "")
	endpoint := manager.await(`at (http://\S+/mcp) waits`)[1]
	direct := strings.TrimSuffix(endpoint, "/mcp")
	assert.Equal(t, http.StatusOK, status(t, http.MethodGet, direct+"/league/"))
	assert.Equal(t, http.StatusNotFound, status(t, http.MethodPost, direct+"/league/register"), "no call of an agent below the path")
	proxy := startNginx(t, strings.TrimPrefix(direct, "http://"))
	for _, path := range strings.Fields("/mcp /healthz / /league/../mcp /league/%2e%2e/mcp /league/..%2fmcp /other") {
		assert.GreaterOrEqual(t, status(t, http.MethodGet, proxy+path), 300, path)
		assert.GreaterOrEqual(t, status(t, http.MethodPost, proxy+path), 300, path)
	}
	assert.Equal(t, http.StatusForbidden, status(t, http.MethodPost, proxy+"/league/register"))
	p := open(t, proxy+"/league/", desktop)
	for range 2 {
		start(t, "player", "--port", "0", "--manager", endpoint)
	}
	start(t, "referee", "--port", "0", "--manager", endpoint)
	p.await(champion)
	p.follow(`nav a[href="/league/cross"]`)
	p.follow(`table.cross td a[href^="/league/matches/"]`)
	assert.Equal(t, "R1M1", get[string](p, `document.querySelector('h1').textContent.split(':')[0]`))
}
