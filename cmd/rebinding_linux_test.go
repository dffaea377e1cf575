package cmd_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveNames answers all queries for IPv4 addresses with one address, and returns the
// address of the name server.
func serveNames(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for query := make([]byte, 512); ; {
			n, from, err := l.ReadFrom(query)
			if err != nil {
				return // closed
			}
			_, _ = l.WriteTo(nameResponse(query[:n], netip.MustParseAddr(answer)), from)
		}
	}()
	return l.LocalAddr().String()
}

// nameResponse answers a DNS query with one address for no time (TTL 0), or with none if the
// query asks for something else than type A.
func nameResponse(query []byte, address netip.Addr) []byte {
	end := 12 // after the header
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	isA := query[end+2] == 1
	end += 5 // the end of the name, type, class
	response := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if isA {
		response[7] = 1
		response = append(response, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		response = append(response, address.AsSlice()...)
	}
	return response
}

// A player registers with a host name whose first answer, to the manager, is an address of
// the league, and whose second answer, to the referee, is another address (DNS rebinding). The
// referee makes no connection to it, and the player loses its match.
func TestRefereeRefusesReboundPlayers(t *testing.T) {
	const agents = "127.0.0.2" // an address of this machine that differs from that of the victim
	for _, test := range []struct {
		name, second string
		allowed      []string
	}{
		{"to this machine", "127.0.0.1", []string{agents}},
		{"to metadata", "169.254.169.254", []string{"any"}},
		{"to metadata in the network of a class", "100.100.100.200", []string{agents, "100.64.0.0/10"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ports := freePorts(t, 2)
			port, attacker := ports[0], ports[1]
			victim, err := net.Listen("tcp", "127.0.0.1:"+attacker)
			require.NoError(t, err)
			connected := make(chan string, 1)
			go func() {
				if c, err := victim.Accept(); err == nil {
					connected <- c.RemoteAddr().String()
					_ = c.Close()
				}
				close(connected)
			}()
			folder := t.TempDir()
			writeLeague(t, folder, map[string]any{
				"allowed_endpoints": test.allowed,
				"retry_policy":      map[string]any{"max_retries": 1, "delay_sec": 0},
				"timeouts":          map[string]any{"game_join_ack_timeout_sec": 2},
			})
			manager := launch(t, t.TempDir(), []string{testResolver + "=" + serveNames(t, agents)}, "evenodd",
				"manager", "--port", port, "--players", "2", "--exit-when-done", "--data", folder)
			manager.await(t, "waits for 2 players")
			join := func(env []string, args ...string) *process {
				return launch(t, t.TempDir(), env, "evenodd", append(args, "--host", agents, "--manager", "http://127.0.0.1:"+port+"/mcp")...)
			}
			referee := join([]string{testResolver + "=" + serveNames(t, test.second)}, "referee", "--port", "0")
			join(nil, "player", "--port", "0", "--name", "Honest")
			join(nil, "player", "--port", attacker, "--name", "Rebound", "--allowed-host", "player.test", "--endpoint", "http://player.test:"+attacker+"/mcp")
			require.Zero(t, manager.awaitExit(t), manager.stderr.String())
			require.Zero(t, referee.awaitExit(t), referee.stderr.String())
			require.NoError(t, victim.Close())
			assert.Empty(t, <-connected, "the referee connected to the victim")
			assert.Contains(t, manager.stdout.String(), "Champion: Honest")
			reason := "player.test:" + attacker + "/mcp is at " + test.second + ", an address that must not be called"
			assert.True(t, strings.Contains(matchFiles(t, folder), reason), "no match file has the reason: %s", reason) //nolint:testifylint // the files are long
		})
	}
}

// writeLeague writes the rules of the league of a data folder.
func writeLeague(t *testing.T, folder string, rules map[string]any) {
	t.Helper()
	leagues := filepath.Join(folder, "config", "leagues")
	require.NoError(t, os.MkdirAll(leagues, 0o755))
	text, err := json.Marshal(rules)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(leagues, "league_2025_even_odd.json"), text, 0o600))
}

// matchFiles returns all files of the matches of a data folder.
func matchFiles(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "matches") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	return all.String()
}
