package cmd

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd/supervise"
	"evenodd/config"
)

// testGroup returns the processes of a league that has begun.
func testGroup(t *testing.T, entrants ...config.Entrant) *upGroup {
	t.Helper()
	g, err := newUpGroup(streams{err: &bytes.Buffer{}}, &upOptions{referees: 1, data: "SHARED", host: "localhost"}, entrants)
	require.NoError(t, err)
	g.leagueID, g.url = "L1", "http://localhost:8000/mcp"
	g.status = upStatus{Round: 2, Rounds: 3, Recorded: 4, Matches: 6}
	g.manager.port = "8000"
	g.manager.state = supervise.State{Phase: supervise.PhaseRunning, PID: 100}
	return g
}

func TestScreenShowsEachProcess(t *testing.T) {
	g := testGroup(t, config.Entrant{Name: "Zoé", Kind: config.KindStrategy, Value: "even"}, config.Entrant{Name: "Dana", Kind: config.KindURL, Value: "http://far/mcp"})
	g.agents[0].state = supervise.State{Phase: supervise.PhasePausing, Restarts: 2}
	g.agents[1].state = supervise.State{Phase: supervise.PhaseRunning, PID: 7}
	g.agents[1].port = "4000"
	g.agents[1].last = `{"match_id":"R1M1","agent_id":"a","agent_id":"b","message":"chose \u001b[31m even"}`
	want := strings.ReplaceAll(`League L1 at http://localhost:8000/mcp: round 2 of 3, 4 of 6 matches
NAME       ROLE     PROCESS  PORT  STATE       RESTARTS  LAST
MANAGER    manager  100      8000  running     0
Referee-1  referee  -        -     restarting  2
Zoé        player   7        4000  running     0         R1M1 chose \x1b[31m even
Dana       player   -        -     elsewhere   -         http://far/mcp
`, "MANAGER", "manager")
	assert.Equal(t, want, g.picture(100, 24))
}

func TestScreenFitsTheTerminal(t *testing.T) {
	entrants := make([]config.Entrant, 30)
	for i := range entrants {
		entrants[i] = config.Entrant{Name: strings.Repeat("長", 10), Kind: config.KindStrategy, Value: "even"}
	}
	g := testGroup(t, entrants...)
	for _, size := range [][2]int{{80, 24}, {20, 10}, {200, 60}, {1, 1}} {
		text := g.picture(size[0], size[1])
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if size[1] > 3 {
			assert.LessOrEqual(t, len(lines), size[1])
		}
		for _, line := range lines {
			assert.Less(t, lipgloss.Width(line), max(size[0], 2))
		}
		assert.Equal(t, size[1] == 24 || size[1] == 10, strings.Contains(text, "\nand "), "%v", size)
	}
}

func TestLongNameDoesNotHideTheStateOfAProcess(t *testing.T) {
	g := testGroup(t, config.Entrant{Name: strings.Repeat("長", 25), Kind: config.KindStrategy, Value: "even"}, config.Entrant{Name: "Bob", Kind: config.KindStrategy, Value: "odd"})
	for _, m := range g.agents {
		m.state = supervise.State{Phase: supervise.PhasePausing, PID: 4194304, Restarts: 3}
		m.port = "65535"
	}
	rows := strings.Split(g.picture(80, 24), "\n")[1:]
	assert.Contains(t, rows[0], "RESTARTS")
	for _, row := range rows[2:5] {
		assert.Regexp(t, `  restarting  3$`, row)
	}
	assert.Contains(t, rows[3], "長…")
	assert.NotContains(t, rows[4], "…")
}

// The key of a model must not reach other processes or command lines.
func TestOnlyThePlayerOfAModelGetsItsKey(t *testing.T) {
	t.Setenv("CLASS_KEY", "secret-1")
	t.Setenv(llmKeyVariable, "secret-2")
	t.Setenv(openAIKeyVariable, "secret-3")
	g := testGroup(t,
		config.Entrant{Name: "Model", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://model/v1", Model: "m", KeyEnv: "CLASS_KEY"}},
		config.Entrant{Name: "Free", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://free/v1", Model: "f"}})
	for _, m := range append(g.agents, g.manager) {
		assert.NotContains(t, strings.Join(m.args, " "), "secret", m.name)
		env := strings.Join(m.env, "\n")
		assert.Equal(t, m.name == "Model", strings.Contains(env, llmKeyVariable+"=secret-1"), m.name)
		assert.NotRegexp(t, `secret-[23]|CLASS_KEY`, env, m.name)
	}
	assert.Subset(t, g.agents[1].args, []string{"--strategy=llm", "--llm-url=http://model/v1", "--llm-model=m"})
}
