package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport/http"
	"evenodd/transport/nats"
)

const natsRoster = "name,code,role\nAnna,code-of-anna,player\nBen B,code-of-ben,player\n" +
	"Cem,code-of-cem,player\nDora,code-of-dora,player\nWhistle,code-of-whistle,referee\n"

// A natsNet is a NATS server with the users of a roster.
type natsNet struct {
	league, url string
	keys        string // folder of the users
}

// startNATS starts a NATS server, which also has a user root that may do all.
func startNATS(t *testing.T, league string, change ...func(*server.Options)) *natsNet {
	t.Helper()
	dir := folderOf(t, map[string]string{
		"roster.csv": natsRoster,
		"nats.conf":  "authorization { include \"keys/users.conf\" }\n",
	})
	n := &natsNet{league: league, keys: filepath.Join(dir, "keys")}
	mustRun(t, "league", "codes", filepath.Join(dir, "roster.csv"), "--nats", n.keys, "--league-id", league)
	o, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	require.NoError(t, err)
	o.Users = append(o.Users, &server.User{Username: "root", Password: "secret"})
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", -1, true, true
	for _, c := range change {
		c(o)
	}
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	n.url = s.ClientURL()
	return n
}

// flags are those of a process that uses the server.
func (n *natsNet) flags(args ...string) []string {
	return append(args, "--nats", n.url, "--nats-creds", n.keys, "--league-id", n.league)
}

// as connects a user with its key.
func (n *natsNet) as(t *testing.T, name string) *nats.Conn {
	t.Helper()
	key := readText(t, filepath.Join(n.keys, name+".nk"))
	conn, err := nats.Connect(nats.Options{URLs: []string{n.url}, Creds: []byte(key), Name: name, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	conn.SetErrorHandler(nil)
	return conn
}

// A league of agents on HTTP and on NATS has no technical loss, and its records have no finding. The referee on HTTP
// gets no match of a player on NATS.
func TestAgentsOnHTTPAndOnNATSPlayInOneLeague(t *testing.T) {
	t.Parallel()
	n := startNATS(t, "mixed")
	data := filepath.Join(t.TempDir(), "SHARED")
	manager := start(t, n.flags("manager", "--port", "0", "--players", "4", "--referees", "2", "--exit-when-done", "--strict",
		"--data", data)...)
	at := manager.await(t, `League mixed at (http\S+) `)[1]
	manager.await(t, `also at nats://evenodd\.mixed\.manager\.NAME`)
	processes := []*process{
		manager,
		start(t, n.flags("referee", "--no-http", "--name", "Whistle")...),
		start(t, "referee", "--port", "0", "--name", "Flag", "--manager", at),
		start(t, n.flags("player", "--no-http", "--name", "Anna")...),
		start(t, n.flags("player", "--port", "0", "--name", "Ben B")...),
		start(t, "player", "--port", "0", "--name", "Cem", "--manager", at),
		start(t, "player", "--port", "0", "--name", "Dora", "--manager", at),
	}
	awaitSuccess(t, processes...)
	mustRun(t, "audit", data)
}

// The manager admits an agent on NATS only at the one subject that is its own: a call to any other could become a line of
// a journal, or an order to the server.
func TestManagerAdmitsAnAgentOnNATSOnlyAtItsOwnSubject(t *testing.T) {
	t.Parallel()
	n := startNATS(t, "guarded")
	manager := start(t, n.flags("manager", "--port", "0", "--data", "")...)
	at := manager.await(t, `League guarded at (http\S+) `)[1]
	manager.await(t, "LISTENING")
	onNATS, err := nats.NewClient(n.as(t, "anna"), "anna", func(string) bool { return true }, 64<<10)
	require.NoError(t, err)
	defer onNATS.Close()
	onHTTP := http.NewClient(http.ClientConfig{MaxReply: 64 << 10})
	defer onHTTP.Close()
	stamp := protocol.NewStamp("player:anna", protocol.SystemClock())
	register := func(caller protocol.Caller, manager, endpoint string) *protocol.LeagueRegisterResponse {
		r, err := protocol.RegisterPlayer.Call(t.Context(), caller, protocol.Peer{Endpoint: manager}, &protocol.LeagueRegisterRequest{
			Envelope: stamp.Envelope(protocol.TypeLeagueRegisterRequest, "conv-"+endpoint[:min(len(endpoint), 60)]),
			PlayerMeta: protocol.PlayerMeta{AgentMeta: protocol.AgentMeta{DisplayName: "Anna", Version: "1.0.0", ProtocolVersion: protocol.Version,
				GameTypes: []string{"even_odd"}, ContactEndpoint: endpoint}},
		})
		require.NoError(t, err, endpoint)
		return r
	}
	through := protocol.NATSEndpoint(protocol.ManagerSubject("guarded", "anna"))
	own := "nats://evenodd.guarded.agent.anna"
	for endpoint, reason := range map[string]string{
		"nats://evenodd.guarded.journal.1":        "exactly",
		"nats://$JS.API.STREAM.PURGE.journal":     "exactly",
		"nats://$KV.evenodd.guarded":              "exactly",
		"nats://_INBOX_manager.x":                 "exactly",
		"nats://evenodd.guarded.manager.anna":     "exactly",
		"nats://evenodd.guarded.agent.*":          "exactly",
		"nats://evenodd.guarded.agent.>":          "exactly",
		"nats://evenodd.guarded.agent.manager":    "exactly",
		"nats://evenodd.guarded.agent.anna.x":     "exactly",
		"nats://evenodd.other.agent.anna":         "exactly",
		"nats://evenodd.guarded.agent.anna:4222":  "exactly",
		"nats://evenodd.guarded.agent.anna/":      "exactly",
		"nats://evenodd.guarded.agent.anna?x=1":   "exactly",
		"nats://evenodd.guarded.agent.anna#x":     "exactly",
		"NATS://evenodd.guarded.agent.anna":       "exactly",
		"nats://evenodd.guarded.agent.%61nna":     "absolute URL",
		"nats://me@evenodd.guarded.agent.anna":    "without a password",
		"tls://evenodd.guarded.agent.anna":        "scheme http or https or nats",
		"nats://evenodd.guarded.agent.ben-b":      "the endpoint of another agent than the caller, anna",
		"nats://evenodd.guarded.agent.Anna":       "another agent",
		"http://169.254.169.254/latest/meta-data": "no address that this league may call",
	} {
		r := register(onNATS, through, endpoint)
		assert.Equal(t, "E025", r.ErrorCode, endpoint)
		if assert.NotNil(t, r.Reason) {
			assert.Contains(t, *r.Reason, reason)
		}
	}
	r := register(onHTTP, at, own)
	require.NotNil(t, r.Reason)
	assert.Contains(t, *r.Reason, "an agent on NATS registers through NATS")
	assert.Equal(t, protocol.StatusAccepted, register(onNATS, through, own).Status)
}

// An agent cannot read what others receive, answer for them, or send in their names: neither by its own messages, nor by
// replies that it makes another one send.
func TestUsersOfTheNATSServerCannotActForOthers(t *testing.T) {
	t.Parallel()
	n := startNATS(t, "L")
	start(t, n.flags("manager", "--no-http", "--data", "")...).await(t, "LISTENING")
	victim := start(t, n.flags("player", "--no-http", "--name", "Ben B")...)
	victim.await(t, "REGISTERED")
	root, err := natsgo.Connect(n.url, natsgo.UserInfo("root", "secret"))
	require.NoError(t, err)
	defer root.Close()
	seen := &transcript{changed: make(chan struct{})}
	_, err = root.Subscribe(">", func(m *natsgo.Msg) {
		_, _ = fmt.Fprintf(seen, "%s %s\n", m.Subject, m.Data) // not the reply, which anybody may name
	})
	require.NoError(t, err)
	require.NoError(t, root.Flush())
	forbidden := func(conn *nats.Conn, what string) {
		assert.NoError(t, conn.Flush())
		assert.ErrorIs(t, conn.LastError(), natsgo.ErrPermissionViolation, what)
	}
	for user, subjects := range map[string][]string{
		"anna": {"evenodd.L.agent.ben-b", "evenodd.L.agent.*", "evenodd.L.manager.ben-b", "evenodd.L.manager.anna",
			"evenodd.L.journal.*", "_INBOX_ben-b.>", "_INBOX_manager.>", "_INBOX_journal.>", "$JS.>", ">"},
		"whistle": {"evenodd.L.agent.anna", "evenodd.L.manager.*", "_INBOX_manager.*"},
	} {
		for _, subject := range subjects {
			conn := n.as(t, user)
			_, err := conn.SubscribeSync(subject)
			require.NoError(t, err)
			forbidden(conn, user+" reads "+subject)
		}
	}
	for user, subjects := range map[string][]string{
		"anna": {"evenodd.L.manager.ben-b", "evenodd.L.agent.ben-b", "evenodd.L.agent.anna", "evenodd.L.journal.1",
			"$JS.API.STREAM.PURGE.x", "$KV.evenodd.L", "_INBOX_manager.x", "_INBOX_ben-b.x"},
		"whistle": {"evenodd.L.manager.anna", "evenodd.L.journal.1", "_INBOX_ben-b.x"},
		"manager": {"evenodd.L.journal.1", "$JS.API.STREAM.PURGE.x"},
	} {
		for _, subject := range subjects {
			conn := n.as(t, user)
			require.NoError(t, conn.Publish(subject, []byte("forged by "+user)))
			forbidden(conn, user+" sends to "+subject)
		}
	}
	// A request whose reply goes elsewhere: the agent that answers it may send there, but does not.
	const request = `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`
	for _, via := range [][3]string{
		{"anna", "evenodd.L.manager.anna", "_INBOX_ben-b.reflected"},
		{"anna", "evenodd.L.manager.anna", "evenodd.L.agent.reflected"},
		{"anna", "evenodd.L.manager.anna", "evenodd.L.journal.reflected"},
		{"whistle", "evenodd.L.agent.ben-b", "evenodd.L.manager.reflected"},
		{"whistle", "evenodd.L.agent.ben-b", "evenodd.L.journal.reflected"},
	} {
		conn := n.as(t, via[0])
		require.NoError(t, conn.PublishRequest(via[1], via[2], []byte(request)))
		answered, err := conn.Request(via[1], []byte(request), patience) // after the one before
		require.NoError(t, err)
		assert.Contains(t, string(answered.Data), "jsonrpc")
	}
	// One reply to each request.
	anna := n.as(t, "anna")
	_, err = anna.Subscribe("evenodd.L.agent.anna", func(m *natsgo.Msg) {
		_ = m.Respond([]byte("first"))
		_ = m.Respond([]byte("second"))
		_ = anna.Flush()
	})
	require.NoError(t, err)
	require.NoError(t, anna.Flush())
	_, err = root.Request("evenodd.L.agent.anna", nil, patience)
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return anna.LastError() != nil }, patience, time.Millisecond)
	first := func() bool { return strings.Contains(seen.String(), "first") } // and all before it
	assert.Eventually(t, first, patience, time.Millisecond)
	assert.NotContains(t, seen.String(), "forged", "a message that the server must drop has arrived")
	assert.NotContains(t, seen.String(), "reflected", "a reply has gone to a subject that is not the caller's")
	assert.NotContains(t, seen.String(), "second")
}
