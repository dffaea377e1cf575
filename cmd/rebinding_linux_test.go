package cmd_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveNames answers the queries for IPv4 addresses with one address after the other, and those
// after them with the last one. It returns the address of the name server.
func serveNames(t *testing.T, answers ...string) string {
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
			response := nameResponse(query[:n], netip.MustParseAddr(answers[0]))
			if response[7] == 1 && len(answers) > 1 {
				answers = answers[1:]
			}
			_, _ = l.WriteTo(response, from)
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

// A rebinding is a league with the players Honest and Rebound. Its manager sees the host name
// of Rebound at the address first, its referee at the address second.
type rebinding struct {
	name          string
	first, second string
	listens       string   // address of Rebound
	allowed       []string // allowed_endpoints of the league
	own           []string // those of the referee
}

// play plays the league, with Rebound at a port, and returns the table, the match files and
// what the referee printed.
func (r *rebinding) play(t *testing.T, rebound string) (table, matches, refereed string) {
	t.Helper()
	port := freePort(t)
	leagueFolder := folderWithSettings(t, "leagues/"+crashLeague, object{
		"allowed_endpoints": r.allowed,
		"retry_policy":      object{"max_retries": 1, "delay_sec": 0},
		"timeouts":          object{"game_join_ack_timeout_sec": 20}, // for Honest on a busy machine
	})
	own := append([]string{}, r.own...) // not null
	refereeFolder := folderWithSettings(t, "defaults/referee", object{"allowed_endpoints": own})
	run := func(names string, args ...string) *process {
		var env []string
		if names != "" {
			env = []string{testResolver + "=" + serveNames(t, names)}
		}
		return launch(t, t.TempDir(), env, "evenodd", args...)
	}
	manager := run(r.first, "manager", "--port", port, "--players", "2", "--exit-when-done", "--data", leagueFolder)
	manager.await(t, "waits for 2 players")
	url := "http://127.0.0.1:" + port + "/mcp"
	referee := run(r.second, "referee", "--host", r.first, "--port", "0", "--manager", url, "--data", refereeFolder)
	run("", "player", "--host", r.first, "--port", "0", "--manager", url, "--name", "Honest", "--strategy", "even")
	run("", "player", "--host", r.listens, "--port", rebound, "--manager", url, "--name", "Rebound", "--strategy", "even",
		"--endpoint", "http://player.test:"+rebound+"/mcp")
	awaitSuccess(t, manager, referee)
	return manager.stdout.String(), matchFiles(t, leagueFolder), referee.stdout.String()
}

// reboundAgents is an address of this machine that differs from that of the victims.
const reboundAgents = "127.0.0.2"

// A player registers with a host name whose first answer, to the manager, is an address of
// the league, and whose second answer, to the referee, is another address (DNS rebinding). The
// referee makes no connection to it, and the player loses its match.
func TestRefereeRefusesReboundPlayers(t *testing.T) {
	for _, test := range []rebinding{
		{name: "to this machine", second: "127.0.0.1", allowed: []string{reboundAgents}},
		{name: "to metadata", second: "169.254.169.254", allowed: []string{"any"}},
		{name: "to metadata in the network of a class", second: "100.100.100.200", allowed: []string{reboundAgents, "100.64.0.0/10"}},
		{name: "to metadata that the referee allows", second: "100.100.100.200", allowed: []string{reboundAgents}, own: []string{"any"}},
		{name: "to an address that the referee does not allow", second: "127.0.0.1", allowed: []string{"any"}, own: []string{reboundAgents}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.first, test.listens = reboundAgents, reboundAgents
			victim, port := listenAtFreePort(t) // no listener at port 0 gets it at the other address
			connected := acceptOne(victim)
			table, matches, _ := test.play(t, port)
			require.NoError(t, victim.Close())
			assert.Empty(t, <-connected, "the referee connected to the victim")
			assert.Contains(t, table, "Champion: Honest")
			reason := "player.test:" + port + "/mcp is at " + test.second + ", an address that must not be called"
			assert.True(t, strings.Contains(matches, reason), "no match file has the reason: %s", reason) //nolint:testifylint // the files are long
		})
	}
}

// A player registers with a host name that leads to an address of the league, and afterwards to
// another one. The manager makes no connection to it, and drops the registration.
func TestManagerRefusesReboundPlayers(t *testing.T) {
	t.Parallel()
	victim, port := listenAtFreePort(t)
	connected := acceptOne(victim)
	data := folderWithSettings(t, "leagues/"+crashLeague, object{"allowed_endpoints": []string{reboundAgents}})
	names := testResolver + "=" + serveNames(t, reboundAgents, "127.0.0.1")
	at := freePort(t)
	m := launch(t, t.TempDir(), []string{names}, "evenodd", "manager", "--port", at, "--players", "2", "--data", data)
	m.await(t, "waits for 2 players")
	player := example(t, registerPlayer, examplePlayer, "http://player.test:"+port+"/mcp")
	resultOf(t, "http://127.0.0.1:"+at+"/mcp", player)
	m.await(t, "its endpoint is at an address that this league does not call")
	require.NoError(t, victim.Close())
	assert.Empty(t, <-connected, "the manager connected to the victim")
}

// acceptOne accepts one connection and closes it. It sends its address, or nothing if the listener
// is closed before.
func acceptOne(l net.Listener) <-chan string {
	connected := make(chan string, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			connected <- c.RemoteAddr().String()
			_ = c.Close()
		}
		close(connected)
	}()
	return connected
}

// A referee may see a player at another address than the manager does (split-horizon DNS). Its
// own allowed_endpoints replace those of the assignment.
func TestOwnSettingOfARefereeAllowsSplitHorizonDNS(t *testing.T) {
	test := rebinding{
		first: reboundAgents, second: "127.0.0.3", listens: "0.0.0.0",
		allowed: []string{reboundAgents}, own: []string{reboundAgents, "127.0.0.3"},
	}
	_, matches, refereed := test.play(t, freePort(t))
	assert.Contains(t, refereed, "1 match conducted")
	assert.False(t, strings.Contains(matches, "TECHNICAL_LOSS"), "a player was not reached") //nolint:testifylint // the files are long
}

// folderWithSettings makes a data folder with one file of settings.
func folderWithSettings(t *testing.T, name string, settings object) string {
	t.Helper()
	text, err := json.Marshal(settings)
	require.NoError(t, err)
	return folderOf(t, map[string]string{"config/" + name + ".json": string(text)})
}

// matchFiles returns all files of the matches of a data folder.
func matchFiles(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	for path, text := range textsIn(t, folder) {
		if strings.Contains(path, "matches") {
			all.WriteString(text)
		}
	}
	return all.String()
}
