package cmd

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/lists"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/transport/http"
)

// ManagerAddresses are addresses of managers that people type, and the URLs for calls; "" for those that are none. The
// agents of 'evenodd new' read them likewise.
func ManagerAddresses() map[string]string {
	return map[string]string{
		"192.0.2.1":              "http://192.0.2.1:8000/mcp",
		"192.0.2.1:8000":         "http://192.0.2.1:8000/mcp",
		"192.0.2.1:8000/":        "http://192.0.2.1:8000/mcp",
		"192.0.2.1/matches/R1M1": "http://192.0.2.1:8000/mcp",
		"lab-pc:9000/mcp":        "http://lab-pc:9000/mcp",
		"localhost":              "http://localhost:8000/mcp",

		"http://192.0.2.1:8000":                      "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/":                     "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/mcp":                  "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/mcp/":                 "http://192.0.2.1:8000/mcp/", // servers of some libraries are there
		"http://192.0.2.1:8000/MCP":                  "http://192.0.2.1:8000/MCP",
		"http://192.0.2.1:8000/matches/R1M1":         "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/matches/R1M1?turn=3#": "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/players/P01/":         "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/statistics#ratings":   "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/?lang=en":             "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000?lang=en":              "http://192.0.2.1:8000/mcp",
		"http://192.0.2.1:8000/healthz":              "http://192.0.2.1:8000/mcp",
		"  http://192.0.2.1:8000/\n":                 "http://192.0.2.1:8000/mcp",
		"HTTP://Lab-PC:8000/":                        "http://lab-pc:8000/mcp",
		"http://192.0.2.1:/":                         "http://192.0.2.1/mcp",
		"https://games.example.org":                  "https://games.example.org/mcp",
		"https://games.example.org/league/":          "https://games.example.org/league/mcp",
		"https://games.example.org/a/b/cross":        "https://games.example.org/a/b/mcp",
		"https://games.example.org/a//agents":        "https://games.example.org/a/mcp",
		"https://games.example.org/matches-of-today": "https://games.example.org/matches-of-today",
		"https://games.example.org/rpc?key=1#x":      "https://games.example.org/rpc?key=1", // of another program
		"http://host/proxy?to=http://other/matches":  "http://host/proxy?to=http://other/matches",

		"[2001:db8::7]:8000":         "http://[2001:db8::7]:8000/mcp",
		"[2001:DB8::7]":              "http://[2001:db8::7]:8000/mcp",
		"http://[2001:db8::7]:8000/": "http://[2001:db8::7]:8000/mcp",
		"https://[::1]/":             "https://[::1]/mcp",

		"":                             "",
		"   ":                          "",
		"8000":                         "",
		":8000":                        "",
		"::1":                          "",
		"2001:db8::7:8000":             "",
		"[2001:db8::7":                 "",
		"http://[fe80::1%25eth0]:8000": "",
		"host:port":                    "",
		"host:0":                       "",
		"host:65536":                   "",
		"host:99999999999":             "",
		"http://host:-1/":              "",
		"two words":                    "",
		"http://two words/":            "",
		"http:/host:8000":              "",
		"https:host":                   "",
		"http://":                      "",
		"http:///matches/R1M1":         "",
		"ftp://host/":                  "",
		"nats://evenodd.L.manager":     "",
		"mailto:me@host":               "",
		"me:secret@host":               "",
		"http://me:secret@host/":       "",
		`http:\\host:8000`:             "",
	}
}

func TestManagerURL(t *testing.T) {
	t.Parallel()
	for typed, want := range ManagerAddresses() {
		got, err := managerURL("--manager", typed)
		assert.Equal(t, want, got, "%q", typed)
		assert.Equal(t, want == "", err != nil, "%q: %v", typed, err)
		again, _ := managerURL("--manager", got)
		assert.Equal(t, got, again)
		if err != nil {
			assert.NotContains(t, err.Error(), "secret")
		}
	}
	_, err := managerURL("--manager", "8000")
	require.EqualError(t, err, `--manager "8000" is not the URL of a league manager (did you mean localhost:8000?)`)
	_, err = managerURL("--manager", "::1")
	require.EqualError(t, err, `--manager "::1" is not the URL of a league manager: write an IPv6 address in brackets, `+
		`such as [2001:db8::7]:8000`)
}

func TestAgentURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"localhost:8101":              "http://localhost:8101/mcp",
		"127.0.0.1:8101/play":         "http://127.0.0.1:8101/play",
		"http://localhost:8101":       "http://localhost:8101/mcp",
		"http://localhost:8101/":      "http://localhost:8101/mcp",
		"http://localhost:8101/rpc/":  "http://localhost:8101/rpc/",
		"HTTP://LocalHost:8101":       "http://localhost:8101/mcp",
		"https://agents.example/mcp#": "https://agents.example/mcp",
		"https://agents.example":      "https://agents.example/mcp",
		"[::1]:8101":                  "http://[::1]:8101/mcp",
	} {
		got, err := agentURL(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
}

// The address of each page leads to the manager.
func TestEachPageNamesItsManager(t *testing.T) {
	t.Parallel()
	source := page.NewFolder(store.In(t.TempDir()), "L")
	pages, err := newLeaguePage(source, page.Options{Log: zerolog.Nop()})
	require.NoError(t, err)
	defer pages.end()
	patterns := lists.Map(pages.mounts, func(m http.Mount) string { return m.Pattern })
	require.Greater(t, len(patterns), 6)
	for _, pattern := range patterns {
		path := strings.NewReplacer("{$}", "", "{", "", "}", "").Replace(pattern[strings.IndexByte(pattern, '/'):])
		got, err := managerURL("", "localhost/league"+path)
		require.NoError(t, err)
		assert.Equal(t, "http://localhost:8000/league/mcp", got, pattern)
	}
}
