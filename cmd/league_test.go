package cmd_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sevenProcesses are the processes of a league, by name.
var sevenProcesses = map[string][]string{
	"manager":  {"manager", "--players", "4", "--referees", "2", "--exit-when-done"},
	"referee1": {"referee", "--port", "0"},
	"referee2": {"referee", "--port", "0", "--max-concurrent", "1"},
	"player1":  {"player", "--port", "0", "--name", "Alpha"},
	"player2":  {"player", "--port", "0", "--name", "Beta", "--strategy", "even"},
	"player3":  {"player", "--port", "0", "--name", "Gamma", "--strategy", "mirror"},
	"player4":  {"player", "--port", "0", "--name", "Delta", "--strategy", "contrarian"},
}

// startSevenProcesses starts the processes in an order, and waits for their end.
func startSevenProcesses(t *testing.T, order []string, start func(*testing.T, ...string) *process) map[string]*process {
	t.Helper()
	port := freePort(t)
	running := map[string]*process{}
	for i, name := range order {
		args := sevenProcesses[name]
		if name == "manager" {
			args = append(args[:len(args):len(args)], "--port", port)
		} else {
			args = append(args[:len(args):len(args)], "--manager", "http://localhost:"+port+"/mcp")
		}
		running[name] = start(t, args...)
		if i == 0 && name != "manager" { // the first process gets no answer yet
			running[name].await(t, "cannot register yet, trying again")
		}
	}
	awaitSuccess(t, slices.Collect(maps.Values(running))...)
	return running
}

func TestSevenProcessesInAnyOrder(t *testing.T) {
	t.Parallel()
	for i, order := range [][]string{
		{"manager", "referee1", "referee2", "player1", "player2", "player3", "player4"},
		{"player4", "player3", "player2", "player1", "referee2", "referee1", "manager"},
		{"player1", "player2", "referee1", "manager", "player3", "referee2", "player4"},
	} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			t.Parallel()
			run := start
			if i == 0 {
				run = startProcess
			}
			checkSevenProcesses(t, startSevenProcesses(t, order, run))
		})
	}
}

// checkSevenProcesses checks the output of the seven processes.
func checkSevenProcesses(t *testing.T, running map[string]*process) {
	t.Helper()
	recorded := map[string]bool{}
	for _, found := range regexp.MustCompile(`"match_id":"(R\dM\d)".*"event_type":"RESULT_RECORDED"`).FindAllStringSubmatch(running["manager"].stderr.String(), -1) {
		assert.False(t, recorded[found[1]], "%s is recorded once", found[1])
		recorded[found[1]] = true
	}
	assert.Len(t, recorded, 6)

	table := running["manager"].stdout.String()
	assert.Contains(t, table, "│ Rank │ Player │ Name  │ Played │ W │ D │ L │ Technical │ Points │\n")
	line := regexp.MustCompile(`\nChampion: (.*) with (\d) points?(, on .*)?\n$`).FindStringSubmatch(table)
	require.NotNil(t, line, table)
	champion := ""                // the first of those that share the first rank
	rows := map[string][]string{} // by id
	for _, row := range regexp.MustCompile(`│ +(\d) │ (P0\d) +│ (\w+) +│ +(\d) │ (\d) │ (\d) │ (\d) │ +(\d) │ +(\d) │`).FindAllStringSubmatch(table, -1) {
		rows[row[2]] = row
		assert.Equal(t, []string{"3", "0"}, []string{row[4], row[8]}, "three matches, none lost technically: %s", row[0])
		if row[1] == "1" {
			champion = cmp.Or(champion, row[3]+" ("+row[2]+")")
			assert.Contains(t, line[1], row[3]+" ("+row[2]+")")
			assert.Equal(t, line[2], row[9])
		}
	}
	require.Len(t, rows, 4)

	seen := map[string]bool{}
	for i, name := range []string{"Alpha", "Beta", "Gamma", "Delta"} {
		record := running[fmt.Sprintf("player%d", i+1)].stdout.String()
		found := regexp.MustCompile(`^(P0\d): 3 played, (\d) won, (\d) drawn, (\d) lost; (?:shared )?rank (\d) of 4 with (\d) points?\. Champion: (\w+ \(P0\d\))(?:, .*)?\n$`).FindStringSubmatch(record)
		require.NotNil(t, found, record)
		seen[found[1]] = true
		row := rows[found[1]]
		assert.Equal(t, []string{row[5], row[6], row[7], row[1], row[9], champion}, found[2:], "%s agrees with the table", name)
		assert.Equal(t, name, row[3])
	}
	assert.Len(t, seen, 4)

	conducted := 0
	for _, name := range []string{"referee1", "referee2"} {
		record := running[name].stdout.String()
		found := regexp.MustCompile(`^(REF0\d): (\d) match(?:es)? conducted\. Champion: (\w+ \(P0\d\))(?:, .*)?\n$`).FindStringSubmatch(record)
		require.NotNil(t, found, record)
		seen[found[1]] = true
		assert.Equal(t, champion, found[3])
		n, _ := strconv.Atoi(found[2])
		conducted += n
	}
	assert.Len(t, seen, 6, "six agents, six ids")
	assert.Equal(t, 6, conducted)
}

// A scriptedPlayer registers, and answers invitations as the test requires. It acknowledges all other messages. Its timestamps are in local time.
type scriptedPlayer struct {
	id, token string
	invited   chan struct{} // closed by the first invitation
}

// joinScriptedPlayer registers a player that refuses every invitation or, when
// silent, answers none.
func (m *manager) joinScriptedPlayer(t *testing.T, id string, silent bool) *scriptedPlayer {
	t.Helper()
	s := &scriptedPlayer{id: id, invited: make(chan struct{}, 100)}
	endpoint := serveAgent(t, func(ctx context.Context, method string, params object) object {
		if method != "handle_game_invitation" {
			return object{"status": "ok"}
		}
		s.invited <- struct{}{}
		if silent {
			<-ctx.Done()
		}
		answer := answerOf(id, "", method, params)
		answer["accept"], answer["timestamp"], answer["auth_token"] = false, "2025-01-15T12:15:00+02:00", "none"
		return answer
	})
	registered := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, endpoint,
		"Agent Alpha", "Stubborn "+id, "player:alpha", "player:"+id))
	require.Equal(t, id, registered["player_id"])
	s.token = registered["auth_token"].(string)
	return s
}

func TestInterruptedManagerReportsRecordedMatches(t *testing.T) {
	t.Parallel()
	t.Run("before the league begins", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		m := startManager(t, "--data", data)
		m.endByInterrupt(t)
		assert.Empty(t, m.stdout.String())
		assert.True(t, strings.HasSuffix(m.stderr.String(),
			"evenodd: interrupted. The league has not begun. Run the same command again to resume; the league is in "+data+".\n"), m.stderr.String())
	})
	t.Run("during the league", func(t *testing.T) {
		t.Parallel()
		// The other players play the match of the first round. The silent player
		// is in the match of the second, and never joins it.
		data := t.TempDir()
		m := startManager(t, "--players", "3", "--data", data)
		silent := m.joinScriptedPlayer(t, firstByeOfThree(t), true)
		agents := []*process{m.join(t, "referee", "--data", data), m.join(t, "player", "--data", data), m.join(t, "player", "--data", data)}
		m.await(t, `"match_id":"R1M1".*"event_type":"RESULT_RECORDED"`)
		<-silent.invited
		assert.Regexp(t, `^{"agent_id":"REF01","conducted":\d,"role":"referee","status":"ok"}\n$`, agents[0].health(t))
		for _, p := range agents[1:] {
			assert.Regexp(t, `^{"agent_id":"P0\d","role":"player","state":"[A-Z_]+","status":"ok"}\n$`, p.health(t))
		}
		m.interrupt(t)
		for _, p := range agents {
			p.interrupt(t)
		}
		assert.Equal(t, 130, m.awaitExit(t))
		assert.Empty(t, m.stdout.String(), "half a league has no table")
		assert.True(t, strings.HasSuffix(m.stderr.String(),
			"evenodd: interrupted. 1 of 3 matches were recorded. Run the same command again to resume; the league is in "+data+".\n"), m.stderr.String())
		for _, p := range agents {
			assert.Equal(t, 130, p.awaitExit(t), p.name)
			assert.Empty(t, p.stdout.String(), p.name)
			assert.True(t, strings.HasSuffix(p.stderr.String(),
				"evenodd: interrupted. The league continues. Run the same command again to come back as the same agent; its identity is in "+data+".\n"), p.stderr.String())
		}
	})
}

// health is the response to GET /healthz of an agent.
func (p *process) health(t *testing.T) string {
	t.Helper()
	endpoint := p.await(t, `"endpoint":"(http://localhost:\d+)/mcp".*"event_type":"LISTENING"`)[1]
	status, body := fetch(t, http.MethodGet, endpoint+"/healthz", nil)
	assert.Equal(t, http.StatusOK, status)
	return string(body)
}

// firstByeOfThree returns the player without a match in the first round of three players.
func firstByeOfThree(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^R1M1,1,(P0\d),(P0\d),`).FindStringSubmatch(
		mustRun(t, "simulate", "--players", "3", "--seed", "1", "--format", "csv"))
	require.NotNil(t, found)
	for _, id := range []string{"P01", "P02", "P03"} {
		if id != found[1] && id != found[2] {
			return id
		}
	}
	return ""
}

func TestManagerAnswersQueriesAfterItsLeague(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "3")
	refusing := m.joinScriptedPlayer(t, "P02", false)
	agents := []*process{m.join(t, "referee"), m.join(t, "player"), m.join(t, "player")}
	m.await(t, "\nThe league is over; the manager answers queries until it is interrupted.\n")
	awaitSuccess(t, agents...)
	assert.True(t, strings.HasSuffix(agents[0].stdout.String(), "\nP02: 2 replies did not conform to the protocol\n"), agents[0].stdout.String())

	answer := resultOf(t, m.url, example(t, queryStandings, exampleToken, refusing.token, "player:P01", "player:P02"))
	assert.Equal(t, true, answer["success"])
	last := answer["standings"].([]any)[2].(object)
	assert.Equal(t, object{"rank": 3.0, "player_id": "P02", "display_name": "Stubborn P02", "played": 2.0,
		"wins": 0.0, "draws": 0.0, "losses": 2.0, "points": 0.0}, last, "a player that joins no match loses all")
	status := resultOf(t, m.url, example(t, queryStandings, exampleToken, refusing.token, "player:P01", "player:P02", "GET_STANDINGS", "GET_STATUS"))
	assert.Equal(t, []any{"LEAGUE_COMPLETED", 3.0, 3.0}, []any{status["state"], status["matches"], status["recorded"]})
	leagueError(t, call(t, m.url, `{"jsonrpc": "2.0", "method": "start_league", "params": {"auth_token": "`+m.admin(t)+`"}, "id": 1}`),
		31, "E031", "LEAGUE_ALREADY_COMPLETE")

	m.interrupt(t)
	assert.Zero(t, m.awaitExit(t), "the league is over: all is done")
	assert.Regexp(t, `│ +3 │ P02 +│ Stubborn P02 +│ +2 │ 0 │ 0 │ 2 │ +2 │ +0 │`, m.stdout.String())
	assert.NotContains(t, m.stderr.String(), "evenodd: interrupted")
}

// A manager makes the journal of its league before it writes the first event. A user asks for the status directly after
// the start of a manager: the command waits a little.
func TestLeagueWithoutEventsIsExplained(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	mustRun(t, "simulate", "--players", "2", "--data", data, "--league-id", "spring")
	journal := filepath.Join(data, "data", "leagues", "spring", "journal.jsonl")
	events := readText(t, journal)
	require.NoError(t, os.Truncate(journal, 0))
	for _, tt := range []struct {
		args       []string
		wait       time.Duration // before it is interrupted
		code       int
		out, error string
	}{
		{[]string{"league", "status", "--data", data}, time.Hour, 1, `^$`, "evenodd: league spring has no event yet: its manager begins it now, or ended before it could. Try again in a moment\n"},
		{[]string{"report", data}, time.Hour, 1, `^$`, "evenodd: league spring has no event yet: its manager begins it now, or ended before it could. Try again in a moment\n"},
		{[]string{"league", "status", "--data", data}, time.Second, 130, `^$`, "evenodd: interrupted. Nothing was changed.\n"},
		{[]string{"league", "status", "--data", data}, time.Hour, 0, `^.*\(spring\): completed\n`, ""}, // the events come
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.wait)
			defer cancel()
			if tt.code == 0 {
				time.AfterFunc(10*time.Millisecond, func() { _ = os.WriteFile(journal, []byte(events), 0o600) })
			}
			code, stdout, stderr := run(ctx, tt.args...)
			assert.Equal(t, tt.code, code)
			assert.Regexp(t, tt.out, stdout)
			assert.Equal(t, tt.error, stderr)
		})
	}
}

func TestLeagueOfAnotherGame(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--game", "tic_tac_toe", "--players", "3", "--legs", "2", "--exit-when-done")
	agents := []*process{
		m.join(t, "referee"), m.join(t, "player", "--name", "One", "--strategy", "perfect"),
		m.join(t, "player", "--name", "Two", "--strategy", "perfect"), m.join(t, "player", "--name", "Three"),
	}
	awaitSuccess(t, append(agents, m.process)...)
	assert.Contains(t, m.stderr.String(), `"display_name":"Tic-Tac-Toe League"`)
	assert.Regexp(t, `│ P0\d +│ One +│ +4 │ \d │ \d │ 0 │ +0 │`, m.stdout.String(), "it loses no match")
	assert.Regexp(t, `│ P0\d +│ Two +│ +4 │ \d │ \d │ 0 │ +0 │`, m.stdout.String())
}

func TestRejectedAgentPrintsTheReason(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "3", "--referees", "1", "--league-id", "league_of_three")
	twin := m.join(t, "player", "--name", "Twin")
	twin.await(t, `"event_type":"REGISTERED"`)
	m.awaitPings(t, 1)
	refused := func(t *testing.T, p *process, reason string) {
		t.Helper()
		assert.Equal(t, 1, p.awaitExit(t))
		assert.Empty(t, p.stdout.String())
		text := p.stderr.String()
		assert.True(t, strings.HasSuffix(text, "evenodd: registration refused: "+reason+"\n"), text)
		assert.NotContains(t, text, "Try 'evenodd", "the call was not wrong")
		assert.NotContains(t, text, "trying again", "to ask again is of no use")
	}
	t.Run("the name is taken", func(t *testing.T) {
		refused(t, m.join(t, "player", "--name", "Twin"), `display_name "Twin" is taken: choose another (E024 DUPLICATE_NAME)`)
	})
	t.Run("the agent asks for another league", func(t *testing.T) {
		refused(t, m.join(t, "referee", "--league-id", "league_of_others"), "the manager runs league league_of_three, not league_of_others: this manager listens at "+m.url+"; name another with --manager")
	})
	t.Run("the strategy does not play the game", func(t *testing.T) {
		refused(t, m.join(t, "player", "--strategy", "perfect"), "this league plays even_odd: an agent that plays it lists it in game_types of "+
			"player_meta (those of 'evenodd new' in their last lines) (E026 UNSUPPORTED_GAME_TYPE)")
	})
	t.Run("the league has started", func(t *testing.T) {
		started := startManager(t, "--players", "2")
		agents := []*process{started.join(t, "referee"), started.join(t, "player"), started.join(t, "player")}
		started.await(t, `"event_type":"LEAGUE_STARTED"`)
		refused(t, started.join(t, "player"), "the league has started (E019 LATE_REGISTRATION)")
		refused(t, started.join(t, "referee"), "the league has started (E019 LATE_REGISTRATION)")
		awaitSuccess(t, agents...)
	})
	t.Run("the manager does not answer in the protocol", func(t *testing.T) {
		elsewhere := serveAgent(t, func(context.Context, string, object) object { return nil })
		p := start(t, "player", "--port", "0", "--manager", elsewhere)
		assert.Equal(t, 1, p.awaitExit(t))
		assert.Contains(t, p.stderr.String(), "\nevenodd: no league manager answers at "+elsewhere+" (JSON-RPC error -32601: Method not found): set --manager to ")
	})
}
