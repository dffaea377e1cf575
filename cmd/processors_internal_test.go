package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/simulation"
	"evenodd/player/strategy/external"
)

func TestProgramsAndModelsOfThisComputerLimitTheConcurrency(t *testing.T) {
	model := func(url string) external.Tools { return external.Tools{LLM: external.LLM{URL: url, Model: "m"}} }
	server := func(m external.MCP) external.Tools { return external.Tools{MCP: m} }
	for _, tt := range []struct {
		name       string
		strategies []string
		tools      external.Tools
		set        bool
		want       int
	}{
		{"built-in strategies", []string{"random", "even"}, external.Tools{}, false, 16},
		{"a program", []string{"exec:./bot"}, external.Tools{}, false, 2},
		{"a program among others", []string{"random", "exec:./bot"}, external.Tools{}, false, 2},
		{"a program, and a number that the user has set", []string{"exec:./bot"}, external.Tools{}, true, 16},
		{"a model at localhost", []string{"llm"}, model("http://localhost:11434/v1"), false, 2},
		{"a model at 127.0.0.2", []string{"llm"}, model("http://127.0.0.2/v1"), false, 2},
		{"a model at ::1", []string{"llm"}, model("http://[::1]:80/v1"), false, 2},
		{"a model elsewhere", []string{"llm"}, model("https://api.example.com/v1"), false, 16},
		{"a host whose name begins like this computer's", []string{"llm"}, model("http://localhost.example.com/v1"), false, 16},
		{"an MCP server with a command", []string{"mcp"}, server(external.MCP{Command: "./server"}), false, 2},
		{"an MCP server of this computer", []string{"mcp"}, server(external.MCP{URL: "http://localhost:3000/mcp"}), false, 2},
		{"an MCP server elsewhere", []string{"mcp"}, server(external.MCP{URL: "http://192.0.2.7/mcp"}), false, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &simulateOptions{given: func(flag string) bool { return flag == "concurrency" && tt.set }}
			o.Concurrency, o.Strategies, o.Tools = 16, tt.strategies, tt.tools
			o.limitConcurrency(2)
			assert.Equal(t, tt.want, o.Concurrency)

			o.entrants, o.Concurrency, o.Strategies = "class.yaml", 16, nil
			for _, name := range tt.strategies {
				o.Entrants = append(o.Entrants, simulation.Entrant{Strategy: name, Tools: tt.tools})
			}
			o.limitConcurrency(2)
			assert.Equal(t, tt.want, o.Concurrency, "with an entrants file")
			o.limitConcurrency(100)
			assert.Equal(t, tt.want, o.Concurrency, "never more")
		})
	}
}

func TestRefereesThatUpStartsShareTheProcessors(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		referees, processors int
		file, text, variable string // below config, and of the environment
		want                 []int
	}{
		{"two on two", 2, 2, "", "", "", []int{1, 1}},
		{"more referees than processors", 3, 1, "", "", "", []int{1, 1, 1}},
		{"the usual number is enough", 2, 4, "", "", "", []int{0, 0}},
		{"never more than usual", 1, 64, "", "", "", []int{0}},
		{"an odd number", 2, 3, "", "", "", []int{0, 1}},
		{"one has a preset", 2, 2, "agents/agents_config.json",
			`{"referees": [{"referee_id": "REF02", "max_concurrent_matches": 5}]}`, "", []int{1, 0}},
		{"the defaults have a number", 2, 2, "defaults/referee.json", `{"max_concurrent_matches": 3}`, "", []int{0, 0}},
		{"the defaults are those of init", 2, 2, "defaults/referee.json", `{"max_concurrent_matches": 2}`, "", []int{1, 1}},
		{"the environment of referees has a number", 2, 2, "", "", "EVENODD_REFEREE_MAX_CONCURRENT", []int{0, 0}},
		{"the environment has a number", 2, 2, "", "", "EVENODD_MAX_CONCURRENT", []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.file != "" {
				path := filepath.Join(dir, "config", tt.file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			}
			if tt.variable != "" {
				t.Setenv(tt.variable, "4")
			}
			settings, err := config.Load("", nil)
			require.NoError(t, err)
			data := dataFolder{loader: config.NewLoader(dir, known()), settings: settings}
			assert.Equal(t, tt.want, data.shares(tt.referees, tt.processors))
		})
	}
}
