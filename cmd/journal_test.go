package cmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

func TestLeagueWithItsJournalInNATS(t *testing.T) {
	t.Parallel()
	net := startNATS(t, "shared", func(o *server.Options) {
		o.JetStream, o.StoreDir, o.SyncAlways = true, t.TempDir(), true
	})
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"config":{"sync_interval":120000000000}}`)
	}))
	t.Cleanup(monitor.Close)
	secret, first := tempFile(t, "league.secret", strings.Repeat("0123456789", 4)), t.TempDir()
	manager := func(data string, more ...string) *process {
		return start(t, append([]string{"manager", "--port", "0", "--players", "8", "--exit-when-done", "--league-id", "shared",
			"--data", data, "--nats", net.url, "--nats-creds", net.keys, "--journal", "nats", "--secret-file", secret,
			"--nats-monitor", monitor.URL}, more...)...)
	}
	begun := manager(first, "--strict")
	at := begun.await(t, `League shared at (http\S+) `)[1]
	agents := []*process{start(t, "referee", "--port", "0", "--name", "Whistle", "--manager", at), begun}
	for i := range 8 {
		agents = append(agents, start(t, "player", "--port", "0", "--name", fmt.Sprint("Player", i), "--manager", at))
	}
	awaitSuccess(t, agents...)
	assert.Contains(t, begun.stderr.String(), "JOURNAL_SYNC_LATE")
	mustRun(t, "audit", first)
	assert.NoFileExists(t, filepath.Join(first, "private", "shared.key"), "nothing secret is stored")
	token := mustRun(t, "league", "token", "--data", first, "--secret-file", secret)
	assert.Regexp(t, `^adm-`, token)
	code, _, stderr := run(t.Context(), "league", "token", "--data", first)
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "set --secret-file")

	// Another machine has nothing but the secret. There is another league in its folder.
	second := t.TempDir()
	mustRun(t, "simulate", "--players", "2", "--data", second, "--league-id", "shared")
	again := manager(second)
	again.await(t, `The journal in \S+ was not the beginning of that in NATS`)
	again.await(t, `The old league is in \S+archive`)
	again.await(t, `League shared at \S+ is over already: 28 of 28 matches recorded`)
	awaitSuccess(t, again)
	got, want := readText(t, store.In(second).Journal("shared")), readText(t, store.In(first).Journal("shared"))
	added, found := strings.CutPrefix(got, want)
	require.True(t, found)
	assert.Regexp(t, `^{[^\n]*"type":"manager_took_over","data":{"manager":"[^"]+","term":2}[^\n]*\n$`, added)

	// A new league begins another stream, with another secret.
	fresh := manager(second, "--new-league")
	fresh.await(t, `League shared at \S+ waits for 8 players`)
	fresh.stop()
	<-fresh.done
	assert.NotEqual(t, token, mustRun(t, "league", "token", "--data", second, "--secret-file", secret))
	secret = tempFile(t, "league.secret", strings.Repeat("another", 5))
	wrong := manager(second)
	assert.Equal(t, 1, wrong.awaitExit(t))
	assert.Contains(t, wrong.stderr.String(), "the league began with another secret")
}

func TestFlagsOfAJournalInNATS(t *testing.T) {
	t.Parallel()
	secret, open := tempFile(t, "secret", strings.Repeat("s", 32)), tempFile(t, "open", strings.Repeat("s", 32))
	short := tempFile(t, "short", "s")
	require.NoError(t, os.Chmod(open, 0o644))
	nats := []string{"--journal", "nats", "--nats", "nats://127.0.0.1:1", "--data", t.TempDir()}
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"no server":        {[]string{"--journal", "nats"}, "--journal nats needs --nats"},
		"no folder":        {append(nats[:4:4], "--data", ""), "needs --data"},
		"no secret":        {nats, "needs --secret-file"},
		"one user":         {append(nats[:6:6], "--secret-file", secret, "--nats-creds", secret), "needs --nats-journal-creds"},
		"readable secret":  {append(nats[:6:6], "--secret-file", open), "others can read it"},
		"short secret":     {append(nats[:6:6], "--secret-file", short), "it has 1 bytes and must have 32 or more"},
		"missing secret":   {append(nats[:6:6], "--secret-file", "nothing"), "no such file"},
		"secret of a file": {[]string{"--secret-file", secret}, "need --journal nats"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := run(t.Context(), append([]string{"manager", "--port", "0"}, tt.args...)...)
			assert.NotZero(t, code)
			assert.Contains(t, stderr, tt.says)
		})
	}
}
