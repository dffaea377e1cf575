package leaguetest_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules/tictactoe"
)

// examplesFile has one message of each type, for docs/protocol.md and evenodd schema. The flag
// -update rewrites it.
const examplesFile = "../../protocol/examples.json"

// exampleLeague is the league of the examples. All commitments contain it.
const exampleLeague = "league_2026"

// presentable replaces hosts and times of the harness by those of a league on one computer.
var presentable = strings.NewReplacer(
	"http://ref01:8000/", "http://localhost:8001/", "http://p01:8000/", "http://localhost:8101/", "http://p02:8000/", "http://localhost:8102/",
	"http://p03:8000/", "http://localhost:8103/", "http://p04:8000/", "http://localhost:8104/",
	"2000-01-01T00:", "2026-03-01T10:")

// randomPart is the end of the conversation id of a registration.
var randomPart = regexp.MustCompile(`-reg-[0-9a-f]{32}`)

// examples are messages by type; the requests of tools by their method.
type examples map[string]jsontext.Value

// add adds a message, unless its type has an example.
func (x examples) add(name string, raw jsontext.Value) {
	if _, known := x[name]; known || name == "" {
		return
	}
	o := protocol.ParseObject([]byte(randomPart.ReplaceAllString(presentable.Replace(string(raw)), "-reg-1")))
	switch name { // the members of a Go map have no order
	case protocol.TypeLeagueError, protocol.TypeGameError:
		o.Set("context", sorted(o.Raw("context")))
	case protocol.TypeGameMoveCall:
		request := protocol.ParseObject(o.Raw("move_request"))
		request.Set("context", sorted(request.Raw("context")))
		o.Set("move_request", request.Append(nil))
	}
	x[name] = o.Append(nil)
}

// sorted returns an object with its members in order of their names.
func sorted(object jsontext.Value) jsontext.Value {
	object = bytes.Clone(object)
	_ = object.Canonicalize() // valid JSON
	return object
}

// addAll adds the messages between hosts, first those to the first host.
func (x examples) addAll(t *testing.T, w *leaguetest.World, hosts ...string) {
	t.Helper()
	for _, to := range hosts {
		for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.To == to && slices.Contains(hosts, e.From) }) {
			x.add(e.Type(), e.Message)
			if e.Err != nil {
				_, _, data := e.ProtocolError().RPCError()
				x.add(protocol.TypeLeagueError, leaguetest.Encode(data))
				continue
			}
			x.add(leaguetest.Decode[protocol.Envelope](e.Answer).MessageType, e.Answer)
		}
	}
}

// tool calls a method and adds its result.
func tool[Q, R any](t *testing.T, w *leaguetest.World, m *protocol.Method[Q, R], to string, q *Q) *R {
	t.Helper()
	r, err := m.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(to)}, q)
	require.NoError(t, err)
	return r
}

// TestExamplesAreMessagesOfLeagues plays a league of Even/Odd, in which P02 first makes an
// illegal choice, and a match of Tic-Tac-Toe. The examples are the first messages of each type
// between P01 or P02, the referee and the manager.
func TestExamplesAreMessagesOfLeagues(t *testing.T) {
	found := examples{}
	synctest.Test(t, func(t *testing.T) { playEvenOdd(t, found) })
	synctest.Test(t, func(t *testing.T) { playMoves(t, found) })
	for _, messageType := range protocol.MessageTypes() {
		require.Contains(t, found, messageType)
		assert.Empty(t, protocol.Examine(messageType, found[messageType]), messageType)
	}
	written, err := json.Marshal(found, json.Deterministic(true), jsontext.WithIndent("  "))
	require.NoError(t, err)
	written = append(written, '\n')
	if *leaguetest.UpdateFlag {
		require.NoError(t, os.WriteFile(examplesFile, written, 0o644))
	}
	committed, err := os.ReadFile(examplesFile)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(committed), "\n"), strings.Split(string(written), "\n"), "run: go test ./league/simulation/leaguetest -run TestExamples -update")
}

func playEvenOdd(t *testing.T, found examples) {
	w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
	w.StartManager(0, 1, func(o *manager.Options) { o.LeagueID = exampleLeague })
	in := leaguetest.WithLeague(exampleLeague)
	w.Referee("REF01", in, leaguetest.WithName("Referee One"), leaguetest.WithCapacity(1), leaguetest.WithoutID, leaguetest.WithoutKey)
	wrong := leaguetest.FirstN(1, leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally)
	for i, name := range []string{"Alpha", "Beta", "Gamma", "Delta"} {
		traits := []leaguetest.Option{in, leaguetest.WithName("Agent " + name), leaguetest.WithoutID, leaguetest.WithoutKey}
		if i == 1 {
			traits = append(traits, leaguetest.On(protocol.ChooseParity.Name, wrong))
		}
		w.Player(league.PlayerID(i+1), traits...)
	}
	synctest.Wait()
	organise := &protocol.OrganiseRequest{LeagueID: exampleLeague, Command: protocol.CommandPause, By: "Dana", Reason: "lunch"}
	organise.AuthToken = w.Manager.AdminToken()
	found.add(protocol.OrganiseLeague.Result, leaguetest.Encode(tool(t, w, &protocol.OrganiseLeague, leaguetest.ManagerHost, organise)))
	organise.Command, organise.Reason = protocol.CommandResume, ""
	tool(t, w, &protocol.OrganiseLeague, leaguetest.ManagerHost, organise)
	w.StartLeague()
	w.Finish()
	token := func(host, method string) string {
		return leaguetest.Decode[protocol.Envelope](w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.From == host && e.Method == method })[0].Answer).AuthToken
	}
	ofPlayer, ofReferee := token("p01", protocol.RegisterPlayer.Name), token("ref01", protocol.RegisterReferee.Name)
	query := func(token string) *protocol.LeagueQuery {
		q := &protocol.LeagueQuery{Envelope: protocol.NewStamp(protocol.PlayerSender("P01"), w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-query-1"),
			LeagueID: exampleLeague, QueryType: protocol.QueryStandings, QueryParams: protocol.QueryParams{Limit: 2}}
		q.AuthToken = token
		return q
	}
	tool(t, w, &protocol.Query, leaguetest.ManagerHost, query(ofPlayer))
	_, err := protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), query("tok-p01-guessed"))
	require.Error(t, err)
	ask := func(token string) *protocol.ToolRequest {
		return &protocol.ToolRequest{Envelope: protocol.Envelope{AuthToken: token}, LeagueID: exampleLeague, MatchID: "R1M1", Attempt: 1}
	}
	found.add(protocol.Ping.Result, leaguetest.Encode(tool(t, w, &protocol.Ping, "p01", &protocol.ToolRequest{})))
	tool(t, w, &protocol.GetPlayerState, "p01", ask(ofPlayer))
	tool(t, w, &protocol.GetMatchState, "ref01", ask(ofReferee))
	synctest.Wait()
	w.Close()
	found.addAll(t, w, "p01", "p02", "ref01", leaguetest.ManagerHost, "untrusted")
}

func playMoves(t *testing.T, found examples) {
	w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
	w.Game = tictactoe.Game{}
	w.StartManager(2, 1, func(o *manager.Options) { o.LeagueID = exampleLeague })
	in := leaguetest.WithLeague(exampleLeague)
	w.Referee("REF01", in)
	w.Player("P01", in, marks("048"))
	w.Player("P02", in, marks("1256"))
	w.Finish()
	w.Close()
	calls := w.Calls(protocol.MakeMove.Name, "p02")
	found.add(protocol.TypeGameMoveCall, calls[0].Message)
	found.add(protocol.TypeGameMoveResponse, calls[0].Answer)
}

// The table of methods tells which agents have a method.
func TestAgentsHaveTheMethodsOfTheTable(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.NewReferee("REF01")
		w.NewPlayer("P01")
		roles := map[string]string{leaguetest.ManagerHost: "manager", "ref01": "referee", "p01": "player"}
		for _, agent := range w.Agents() {
			role := roles[agent.Host]
			for _, m := range protocol.Methods() {
				assert.Equal(t, m.To == "any" || strings.Contains(m.To, role), agent.Mux.Handles(m.Name), "%s of a %s", m.Name, role)
			}
		}
		require.Len(t, w.Agents(), len(roles))
	})
}
