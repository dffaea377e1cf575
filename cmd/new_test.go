package cmd_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
	"evenodd/cmd/starter"
	"evenodd/league/protocol"
)

// A starterAgent is a project that evenodd new has written.
type starterAgent struct {
	starter.Project
	dir     string
	program []string // command that starts it
}

// newStarter writes a project into a new folder of dir, and runs its tests.
func newStarter(t *testing.T, dir string, language starter.Language, role string) *starterAgent {
	t.Helper()
	name := language.Name + " " + role
	a := &starterAgent{starter.Project{Language: language, Role: role, Name: name}, filepath.Join(dir, name), nil}
	code, stdout, stderr := run(t.Context(), "new", role, "--lang", language.Name, "--name", a.Name, a.dir)
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "created "+filepath.Join(a.dir, "Dockerfile")+"\n")
	require.Contains(t, stderr, "  "+language.Test+"\n  "+a.Start()+"\n")
	assert.Contains(t, readText(t, filepath.Join(a.dir, "README.md")), "`"+a.Start()+"`")
	a.runTool(t, strings.Fields(language.Test)...)
	a.build(t)
	return a
}

// runTool runs a tool of the language in the project.
func (a *starterAgent) runTool(t *testing.T, command ...string) {
	t.Helper()
	needTool(t, command[0])
	p := launch(t, a.dir, nil, command[0], command[1:]...)
	require.Zero(t, p.awaitExit(t), "%s\n%s", p.stdout.String(), p.stderr.String())
}

// needTool skips a test without a program that it runs.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		cmd.NotTested(t, t.Name()+": "+err.Error())
	}
}

// join starts the agent in the league of a manager, with variables of the environment.
func (a *starterAgent) join(t *testing.T, manager string, env ...string) *process {
	t.Helper()
	return launch(t, a.dir, env, a.program[0], append(a.program[1:], "--port", "0", "--manager", manager)...)
}

// examine has evenodd check examine the agent, and waits for the agent to end with the
// examination.
func (a *starterAgent) examine(t *testing.T) {
	t.Helper()
	port := freePort(t)
	p := a.join(t, "http://localhost:"+port+"/mcp")
	url := p.await(t, `listening at (\S+)\n`)[1]
	report := mustRun(t, "check", a.Role, url, "--port", port, "--wait", "30s")
	assert.NotRegexp(t, `(?m)^(FAIL|warning)`, report)
	assert.Contains(t, report, ", 0 skipped, ")
	assert.Zero(t, p.awaitExit(t))
	assert.Contains(t, p.stdout.String(), "the league is over: ")
}

// What an agent of 'evenodd new' and this program both can set has one name.
func TestStarterAgentsHaveTheFlagsOfThisProgram(t *testing.T) {
	dir := t.TempDir()
	for _, language := range starter.Languages() {
		for _, role := range []string{protocol.RolePlayer, protocol.RoleReferee} {
			agent, known := filepath.Join(dir, language.Name, role), mustRun(t, role, "--help")
			mustRun(t, "new", role, "--lang", language.Name, agent)
			sources, err := filepath.Glob(filepath.Join(agent, "agent.*"))
			require.NoError(t, err)
			require.Len(t, sources, 1)
			flags := regexp.MustCompile(`--[a-z]+\b`).FindAllString(readText(t, sources[0]), -1)
			assert.Contains(t, flags, "--host")
			for _, flag := range flags {
				assert.Regexp(t, `(?m)^ +`+flag+` `, known, sources[0])
			}
		}
	}
}

// goAddresses prints what managerURL of a project in Go returns for the addresses of its input.
const goAddresses = `package main

import ("encoding/json"; "os"; "testing")

func TestAddresses(*testing.T) {
	var typed, urls []string
	_ = json.NewDecoder(os.Stdin).Decode(&typed)
	for _, t := range typed { urls = append(urls, managerURL(t)) }
	_ = json.NewEncoder(os.Stderr).Encode(urls)
}
`

// An agent of each language takes the addresses of managers that this program takes.
func TestStarterAgentsReadTheAddressesOfManagers(t *testing.T) {
	t.Parallel()
	typed := slices.Sorted(maps.Keys(cmd.ManagerAddresses()))
	input, err := json.Marshal(typed)
	require.NoError(t, err)
	for _, language := range starter.Languages() {
		t.Run(language.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := starter.Project{Language: language, Role: protocol.RolePlayer}
			_, err := p.Write(dir)
			require.NoError(t, err)
			command := map[string][]string{
				"python": {"python3", "-c", "import agent, json, sys; " +
					"json.dump([agent.manager_url(t) for t in json.load(sys.stdin)], sys.stderr)"},
				"javascript": {"node", "--input-type=module", "--eval", "import { managerURL } from './agent.mjs'; import fs from 'fs'; " +
					"console.error(JSON.stringify(JSON.parse(fs.readFileSync(0)).map((t) => managerURL(t) ?? null)))"},
				"go": {filepath.Join(dir, "addresses.exe"), "-test.run", "TestAddresses"},
			}[language.Name]
			if language.Name == "go" {
				longTest(t)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "address_test.go"), []byte(goAddresses), 0o600))
				agent := &starterAgent{p, dir, nil}
				agent.runTool(t, "go", "test", "-c", "-o", "addresses.exe", ".")
			}
			needTool(t, command[0])
			run := exec.CommandContext(t.Context(), command[0], command[1:]...)
			var output bytes.Buffer
			run.Dir, run.Stdin, run.Stderr = dir, bytes.NewReader(input), &output
			require.NoError(t, run.Run(), output.String())
			var urls []string
			require.NoError(t, json.Unmarshal(output.Bytes(), &urls), output.String())
			require.Len(t, urls, len(typed))
			for i, address := range typed {
				assert.Equal(t, cmd.ManagerAddresses()[address], urls[i], "%q", address)
			}
		})
	}
}

// An agent of each language waits for a manager behind a gateway, and ends with a sentence if another program answers.
func TestStarterAgentsTellAWrongAddress(t *testing.T) {
	t.Parallel()
	down := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) }
	others := map[string]http.HandlerFunc{"no path": http.NotFound}
	if testAll() {
		maps.Copy(others, map[string]http.HandlerFunc{
			"files": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "POST", http.StatusNotImplemented) },
			"moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) },
			"page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") },
			"JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"ok":true}`) },
			"SSH": func(w http.ResponseWriter, _ *http.Request) {
				if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
					_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
					_ = c.Close()
				}
			},
		})
	}
	for _, language := range starter.Languages() {
		t.Run(language.Name, func(t *testing.T) {
			t.Parallel()
			if language.Name == "go" {
				longTest(t)
			}
			a := writeStarter(t, language)
			for name, other := range others {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					var calls atomic.Int64
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if calls.Add(1) == 1 {
							down(w, r)
						} else {
							other(w, r)
						}
					}))
					defer server.Close()
					p := a.join(t, server.URL+"/matches/R1M1")
					assert.Equal(t, 1, p.awaitExit(t))
					at := regexp.QuoteMeta(server.URL + "/mcp")
					assert.Regexp(t, `no manager at `+at+` yet \(HTTP status 502\): trying again\n`+
						`no league manager answers at `+at+` \(.+\): set --manager to the address of the league's page, such as `+
						`http://192\.0\.2\.7:8000/\n$`, p.stderr.String())
				})
			}
		})
	}
}

// writeStarter writes a player, and makes its program if it is in Go.
func writeStarter(t *testing.T, language starter.Language) *starterAgent {
	t.Helper()
	a := &starterAgent{starter.Project{Language: language, Role: protocol.RolePlayer, Name: language.Name}, t.TempDir(), nil}
	_, err := a.Write(a.dir)
	require.NoError(t, err)
	a.build(t)
	return a
}

// build makes the command that starts the agent.
func (a *starterAgent) build(t *testing.T) {
	t.Helper()
	a.program = strings.Fields(a.Start())
	needTool(t, a.program[0])
	if a.program[0] == "go" { // go run does not end its program when it is killed
		a.runTool(t, "go", "build", "-o", "agent.exe", ".")
		a.program = []string{filepath.Join(a.dir, "agent.exe")}
	}
}

// The agents of all languages pass their own tests, meet all requirements, and play a league
// with a roster together.
func TestStarterAgentsConformAndPlayALeague(t *testing.T) {
	t.Parallel()
	longTest(t)
	dir := t.TempDir()
	var mu sync.Mutex
	var agents []*starterAgent
	t.Run("conform", func(t *testing.T) {
		for _, language := range starter.Languages() {
			for _, role := range []string{protocol.RolePlayer, protocol.RoleReferee} {
				t.Run(language.Name+" "+role, func(t *testing.T) {
					t.Parallel()
					a := newStarter(t, dir, language, role)
					a.examine(t)
					if role == protocol.RoleReferee {
						a.resistHostilePlayers(t)
					} else {
						a.obeyRefusals(t)
					}
					mu.Lock()
					defer mu.Unlock()
					agents = append(agents, a)
				})
			}
		}
	})
	if t.Failed() || len(agents) < 2*len(starter.Languages()) { // without a tool, a test is skipped
		return
	}
	lines := "name,code,role\n"
	for i, a := range agents {
		lines += fmt.Sprintf("%s,nightingale-%d,%s\n", a.Name, i, a.Role)
	}
	roster := tempFile(t, "roster.csv", lines)
	// The manager of a long league dies. Another one at the same port begins a new league.
	first := awaitManager(t, startProcess(t, "manager", "--port", "0", "--roster", roster, "--legs", "100"))
	var playing []*process
	for i, a := range agents {
		playing = append(playing, a.join(t, first.url, fmt.Sprintf("EVENODD_REGISTRATION_CODE=nightingale-%d", i)))
	}
	first.await(t, `"event_type":"ROUND_COMPLETED"`)
	first.kill(t)
	at, err := url.Parse(first.url)
	require.NoError(t, err)
	data := filepath.Join(dir, "data")
	m := startManager(t, "--port", at.Port(), "--data", data, "--roster", roster, "--legs", "2", "--exit-when-done", "--strict")
	require.Zero(t, m.awaitExit(t), "no technical losses: %s", m.stderr.String())
	for i, p := range playing {
		assert.Zero(t, p.awaitExit(t))
		if agents[i].Role == protocol.RolePlayer {
			assert.Regexp(t, `\nthe league is over: (shared )?rank [123] of 3, \d+ points\n$`, p.stdout.String())
		} else {
			assert.Regexp(t, `\nthe league is over: the champion is \w+ player\n$`, p.stdout.String())
		}
		outcome := `WIN|DRAW`
		if agents[i].Role == protocol.RolePlayer {
			outcome = `won|lost|drawn`
		}
		assert.Regexp(t, `(?m)^R\dM1: (`+outcome+`), `, p.stdout.String(), "each referee conducts a match")
	}
	assert.Contains(t, mustRun(t, "audit", data), "audited 6 matches of league league_2025_even_odd: no findings")
}

func TestNewAgentExplainsMistakes(t *testing.T) {
	t.Parallel()
	full := folderOf(t, map[string]string{"mine.py": ""})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"player", "--lang", "python", full}, 1, full + ": the folder is not empty: choose another one, or empty it"},
		{[]string{"player", "--lang", "python", filepath.Join(full, "mine.py")}, 1, "cannot write the player: "},
		{[]string{"player", "--lang", "pyhton", "x"}, 2, `--lang "pyhton": must be python, javascript or go (did you mean python?)`},
		{[]string{"referee", "x"}, 2, "set --lang to the language: python, javascript or go"},
		{[]string{"player", "--lang", "go", "--port", "0", "x"}, 2, "--port 0: must be 1 to 65535"},
		{[]string{"player", "--lang", "go", "--name", strings.Repeat("n", 51), "x"}, 2, "a display name has 1 to 50 characters"},
	} {
		code, stdout, stderr := run(t.Context(), append([]string{"new"}, tt.args...)...)
		assert.Equal(t, tt.code, code, tt.args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.want)
	}
}

// A name with quotes is a string in the source of each language.
func TestNewAgentQuotesItsName(t *testing.T) {
	t.Parallel()
	for _, language := range starter.Languages() {
		dir := t.TempDir()
		p := starter.Project{Language: language, Role: protocol.RolePlayer, Name: `The "best" \ {{PORT}}`, Port: 8199}
		names, err := p.Write(dir)
		require.NoError(t, err)
		var all strings.Builder
		for _, name := range names {
			all.WriteString(readText(t, filepath.Join(dir, name)))
		}
		quoted := `"The \"best\" \\ {{PORT}}"`
		assert.Contains(t, all.String(), quoted, language.Name)
		assert.NotRegexp(t, `\{\{[A-Z]`, strings.NewReplacer(quoted, "", p.Name, "").Replace(all.String()), "a placeholder is left")
		assert.Contains(t, all.String(), "# "+p.Name+"\n")
		assert.Contains(t, all.String(), fmt.Sprint(p.Port))
	}
}

// The common mistakes refer to requirements of evenodd check.
func TestFirstAgentPageNamesRequirements(t *testing.T) {
	t.Parallel()
	list := mustRun(t, "check", "--list")
	named := regexp.MustCompile(`\b[PRM]-[A-Z]+-\d+\b`).FindAllString(readPage(t, "docs/agents.md"), -1)
	assert.Greater(t, len(named), 15)
	for _, id := range named {
		assert.Contains(t, list, "  "+id+" ")
	}
}

// An agent in JavaScript explains a Node that is too old, such as 18.2, which has no util.parseArgs,
// and a port that is none.
func TestStarterInJavaScriptExplainsItsFailure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "player")
	code, _, stderr := run(t.Context(), "new", "player", "--lang", "javascript", dir)
	require.Zero(t, code, stderr)
	a := &starterAgent{starter.Project{Language: starter.Languages()[1]}, dir, nil}
	a.runTool(t, "node", "--input-type=module", "--eval", `
		import assert from 'node:assert';
		import util from 'node:util';
		delete util.parseArgs;
		await assert.rejects(import('./agent.mjs'), /this agent needs Node 18\.3 or newer/);`)
	p := launch(t, dir, nil, "node", "player.mjs", "--port", "1.5")
	assert.Equal(t, 2, p.awaitExit(t))
	assert.Equal(t, "--port must be a number from 0 to 65535\n", p.stderr.String())
}

// An agentCall is a JSON-RPC request, as the agents of a test read it.
type agentCall struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
}

func readCall(r *http.Request) (c agentCall) {
	_ = json.NewDecoder(r.Body).Decode(&c) // an empty call for anything else
	return c
}

func respond(w http.ResponseWriter, member string, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, member: value})
}

// A refusal is an answer of a manager to a registration.
type refusal struct {
	as    string // a result, a JSON-RPC error, or HTTP status 429
	code  string
	after int // seconds after which the agent may try again; 0 for none
}

func (r refusal) send(w http.ResponseWriter) {
	switch r.as {
	case "result":
		respond(w, r.as, map[string]any{
			"status": "REJECTED", "reason": "a reason", "error_code": r.code, "retry_after_sec": r.after,
		})
	case "error":
		data := map[string]any{"error_code": r.code, "context": map[string]any{"retry_after_sec": r.after}}
		respond(w, r.as, map[string]any{"code": 20, "message": "a reason", "data": data})
	default:
		w.Header().Set("Retry-After", strconv.Itoa(r.after))
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// After E020 with a time, E022 and HTTP 429, the agent waits and registers again. Every other refusal
// ends it.
func (a *starterAgent) obeyRefusals(t *testing.T) {
	t.Helper()
	var running sync.WaitGroup
	for _, refusals := range [][]refusal{ // the last one ends the agent
		{{"result", "E020", 3}, {"status", "E022", 3}, {"result", "E020", 0}},
		{{"error", "E020", 3}, {"error", "E022", 3}, {"error", "E020", 0}},
		{{"result", "E022", 0}, {"error", "E022", 0}, {"status", "E022", 0}, {"result", "E024", 3}},
		{{"error", "E014", 3}},
	} {
		var asked []time.Time
		manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked = append(asked, time.Now()) // the agent makes one call at a time
			append(refusals, refusal{"result", "E019", 0})[min(len(asked)-1, len(refusals))].send(w)
		}))
		p := a.join(t, manager.URL+"/mcp")
		running.Go(func() {
			assert.Equal(t, 1, p.awaitExit(t), refusals)
			manager.Close()
			assert.Contains(t, p.stderr.String(), "a reason", refusals)
			if !assert.Len(t, asked, len(refusals), refusals) {
				return
			}
			for i, r := range refusals[:len(refusals)-1] {
				wait := protocol.Seconds(max(float64(r.after), 2)) - 50*time.Millisecond // timers may be early
				assert.GreaterOrEqual(t, asked[i+1].Sub(asked[i]), wait, r)
			}
		})
	}
	running.Wait()
}

// hostileAnswers are answers to an invitation.
func hostileAnswers(trapped *atomic.Int64) map[string]http.HandlerFunc {
	raw := func(w http.ResponseWriter, text string) (net.Conn, *bufio.ReadWriter) {
		c, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = c.Write([]byte(text))
		return c, buffered
	}
	return map[string]http.HandlerFunc{
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			c, _ := raw(w, "HELLO\r\n\r\n")
			_ = c.Close()
		},
		"nested": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("[", 60_000)) },
		"large":  func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat(" ", 80_000), "{}") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
		},
		"found": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/trap", http.StatusFound) },
		"trap": func(w http.ResponseWriter, _ *http.Request) {
			trapped.Add(1)
			respond(w, "result", map[string]any{"accept": true})
		},
		"data": func(w http.ResponseWriter, _ *http.Request) {
			respond(w, "error", map[string]any{"code": 1, "message": "no", "data": "text"})
		},
		"drip": func(w http.ResponseWriter, _ *http.Request) {
			c, _ := raw(w, "HTTP/1.1 200 OK\r\nX: ")
			ticks := time.NewTicker(50 * time.Millisecond)
			defer ticks.Stop()
			for range ticks.C {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		},
		// The entropy is too long for a report, which has 10 KB at most.
		"entropy": func(w http.ResponseWriter, _ *http.Request) {
			sum := sha256.Sum256([]byte("evenodd-entropy-v1" + "\x00\x07entropy" + "\x00\x03P02" + strings.Repeat("e", 9000)))
			respond(w, "result", map[string]any{"accept": true, "entropy_commitment": hex.EncodeToString(sum[:])})
		},
	}
}

// A hostile player loses its match, and stops neither the referee nor the match.
func (a *starterAgent) resistHostilePlayers(t *testing.T) {
	t.Helper()
	reports, trapped := make(chan agentCall, 10), atomic.Int64{}
	registered := make(chan struct{}) // closed when the referee has its token, which it needs for matches
	hasToken := sync.OnceFunc(func() { close(registered) })
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		switch c.Method {
		case "report_match_result":
			reports <- c
		case "league_query":
			hasToken()
		}
		respond(w, "result", map[string]any{"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok", "league_id": "L"})
	}))
	t.Cleanup(manager.Close)
	hostile := hostileAnswers(&trapped)
	players := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, name := readCall(r), strings.TrimPrefix(r.URL.Path, "/")
		if attack := hostile[name]; attack != nil && (c.Method == "handle_game_invitation" || name == "trap") {
			attack(w, r)
			return
		}
		reply := map[string]any{"accept": true, "parity_choice": "even"}
		if name == "entropy" {
			reply["entropy"] = hex.EncodeToString([]byte(strings.Repeat("e", 9000)))
		}
		respond(w, "result", reply)
	}))
	t.Cleanup(players.Close)

	p := a.join(t, manager.URL+"/mcp")
	url := p.await(t, `listening at (\S+)\n`)[1]
	select {
	case <-registered:
	case <-p.done:
		require.Fail(t, "the referee ended")
	}
	assertRefusesNegativeLength(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))
	for name := range hostile {
		if name == "trap" {
			continue
		}
		assignment, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "start_match", "params": map[string]any{
			"protocol": "league.v2", "message_type": "MATCH_ASSIGNMENT", "sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z",
			"conversation_id": "c", "league_id": "L", "round_id": 1, "match_id": name, "attempt": 1, "game_type": "even_odd",
			"player_A":     map[string]any{"player_id": "P01", "endpoint": players.URL + "/honest"},
			"player_B":     map[string]any{"player_id": "P02", "endpoint": players.URL + "/" + name},
			"timeouts":     map[string]any{"game_join_ack_timeout_sec": 1, "move_timeout_sec": 5},
			"retry_policy": map[string]any{"max_retries": 0, "delay_sec": 0}}})
		require.NoError(t, err)
		status, _ := fetch(t, http.MethodPost, url, bytes.NewReader(assignment))
		require.Equal(t, http.StatusOK, status)
		select {
		case report := <-reports:
			result := report.Params["result"].(map[string]any)
			assert.Equal(t, "P01", result["winner"], "%s: %v", name, result)
			assert.Equal(t, "TECHNICAL_LOSS", result["details"].(map[string]any)["status"], name)
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no report: %s", name, p.stderr.String())
		}
	}
	assert.Zero(t, trapped.Load(), "requests after a redirect")
	p.kill(t)
}

// assertRefusesNegativeLength sends a request whose body would have no end.
func assertRefusesNegativeLength(t *testing.T, address string) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprint(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err, "the agent waits for the end of the body")
	assert.Regexp(t, `^HTTP/1.1 4\d\d `, line)
}
