package cmd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// natsServer starts a NATS server with the users of a roster, and returns its URL and the folder of their keys.
func natsServer(t *testing.T, leagueID, roster string) (url, keys string) {
	t.Helper()
	dir := t.TempDir()
	keys = filepath.Join(dir, "keys")
	path := filepath.Join(dir, "roster.csv")
	require.NoError(t, os.WriteFile(path, []byte(roster), 0o600))
	code, _, stderr := run(t.Context(), "league", "codes", path, "--nats", keys, "--league-id", leagueID)
	require.Zero(t, code, stderr)
	config := filepath.Join(dir, "nats.conf")
	require.NoError(t, os.WriteFile(config, []byte("authorization { include \"keys/users.conf\" }\n"), 0o600))
	o, err := server.ProcessConfigFile(config)
	require.NoError(t, err)
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", -1, true, true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	return s.ClientURL(), keys
}

// A league of agents on HTTP and on NATS has no technical loss, and its records have no finding. The referee on HTTP
// conducts only matches of players on HTTP.
func TestAgentsOnHTTPAndOnNATSPlayInOneLeague(t *testing.T) {
	t.Parallel()
	url, keys := natsServer(t, "mixed", "name,code,role\nAnna,code-of-anna,player\nBen B,code-of-ben,player\n"+
		"Cem,code-of-cem,player\nDora,code-of-dora,player\nWhistle,code-of-whistle,referee\nFlag,code-of-flag,referee\n")
	data := filepath.Join(t.TempDir(), "SHARED")
	onNATS := []string{"--nats", url, "--nats-creds", keys, "--league-id", "mixed"}
	manager := start(t, append([]string{"manager", "--port", "0", "--players", "4", "--referees", "2", "--exit-when-done",
		"--strict", "--data", data}, onNATS...)...)
	at := manager.await(t, `League mixed at (http\S+) `)[1]
	manager.await(t, `also at nats://evenodd\.mixed\.manager\.NAME`)
	agents := []*process{
		start(t, append([]string{"referee", "--no-http", "--name", "Whistle"}, onNATS...)...),
		start(t, "referee", "--port", "0", "--name", "Flag", "--manager", at),
		start(t, append([]string{"player", "--no-http", "--name", "Anna"}, onNATS...)...),
		start(t, append([]string{"player", "--port", "0", "--name", "Ben B"}, onNATS...)...),
		start(t, "player", "--port", "0", "--name", "Cem", "--manager", at),
		start(t, "player", "--port", "0", "--name", "Dora", "--manager", at),
	}
	for _, p := range append(agents, manager) {
		<-p.done
		assert.Zero(t, p.code, p.name)
	}
	code, stdout, stderr := run(t.Context(), "audit", data)
	assert.Zero(t, code, "%s%s", stdout, stderr)
}
