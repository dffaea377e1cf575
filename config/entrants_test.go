package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// entrantsFile writes an entrants file, with a prompt file beside it.
func entrantsFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "class.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "prompt.txt"), []byte("Be bold.\n"), 0o600))
	return path
}

// anyValue accepts the name of a strategy, a command line or a URL.
func anyValue(*config.Entrant) error { return nil }

func TestEntrantsFileWithAllKinds(t *testing.T) {
	t.Setenv("CLASS_KEY", " sk-1\n")
	path := entrantsFile(t, `# the class of 2026
entrants:
  - {name: Alice, strategy: contrarian}
  - name: Bot
    exec: ./bot.py 'a b'
    count: 2
  - {name: GPT, llm: {url: "http://localhost:11434/v1", model: qwen3, prompt_file: prompt.txt, key_env: CLASS_KEY}}
  - {name: 007, mcp: {command: ./server, tool: pick}}
  - {name: Yes, mcp: {url: "http://localhost:3000/mcp"}}
  - {name: Dana, url: localhost:8101}
`)
	entrants, err := config.LoadEntrants(path, anyValue)
	require.NoError(t, err)
	var names, strategies, lines []string
	for _, e := range entrants {
		names, strategies = append(names, e.Name), append(strategies, e.Strategy())
		lines = append(lines, strings.TrimPrefix(e.Where, path+": "))
		assert.Equal(t, filepath.Dir(path), e.Folder)
	}
	assert.Equal(t, []string{"Alice", "Bot-1", "Bot-2", "GPT", "007", "Yes", "Dana"}, names)
	assert.Equal(t, []string{"contrarian", "exec:./bot.py 'a b'", "exec:./bot.py 'a b'", "llm", "mcp", "mcp", ""}, strategies)
	assert.Equal(t, []string{"line 3", "line 4", "line 4", "line 7", "line 8", "line 9", "line 10"}, lines)
	model := entrants[3].LLM
	assert.Equal(t, config.EntrantLLM{
		URL: "http://localhost:11434/v1", Model: "qwen3", KeyEnv: "CLASS_KEY",
		PromptFile: filepath.Join(filepath.Dir(path), "prompt.txt"), Prompt: "Be bold.",
	}, model)
	assert.Equal(t, "sk-1", model.Key())
	assert.Equal(t, config.EntrantMCP{Command: "./server", Tool: "pick"}, entrants[4].MCP)
	assert.Equal(t, config.KindURL, entrants[6].Kind)
	assert.Equal(t, "localhost:8101", entrants[6].Value)
}

func TestEntrantsFileListsAllItsProblemsWithTheirLines(t *testing.T) {
	t.Setenv("EMPTY_KEY", "")
	path := entrantsFile(t, `entrants:
  - {name: A}
  - {name: B, strategy: random, exec: ./bot}
  - {strategy: random}
  - {name: C, strategie: random, url: localhost:1}
  - {name: D, strategy: [random]}
  - {name: E, strategy: }
  - {name: F, llm: {url: "ftp://x", model: m, prompt_file: none.txt}}
  - {name: G, llm: {url: "http://u:p@x/v1", model: m, key_env: sk-123, key: sk-123}}
  - {name: H, llm: {url: "http://x/v1", key_env: EMPTY_KEY}}
  - {name: I, llm: qwen}
  - {name: J, mcp: {tool: t}}
  - {name: K, mcp: {url: x, command: y}}
  - {name: L, url: localhost:1, count: 2}
  - {name: M, strategy: random, count: 0}
  - {name: N, strategy: random, count: many}
  - {name: same, strategy: random}
  - {name: SAME, strategy: random}
  - {name: "a\tb", strategy: random}
  - {name: O, name: P, strategy: random}
  - {name: Q, strategy: llm}
  - {name: R, strategy: "exec:./bot"}
  - just a text
  - {name: same, strategy: random, count: 2}
  - {name: same-2, strategy: random}
`)
	_, err := config.LoadEntrants(path, anyValue)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "sk-123", "a key")
	assert.Equal(t, []string{
		"line 2: an entrant has exactly one of strategy, exec, llm, mcp and url; this one has none",
		"line 3: an entrant has exactly one of strategy, exec, llm, mcp and url; this one has strategy, exec",
		"line 4: an entrant needs a name",
		`line 5: unknown member "strategie" (did you mean strategy?): an entrant has only name, count, strategy, exec, llm, mcp, url`,
		"line 6: strategy must be a text",
		"line 7: strategy must be a text",
		"line 8: url: must be a URL such as http://localhost:11434/v1",
		"line 8: prompt_file none.txt: no such file or directory",
		`line 9: unknown member "key" (did you mean key_env?): llm has only url, model, prompt_file, key_env`,
		"line 9: url: must not contain a user or a password",
		"line 9: key_env must be the name of an environment variable that holds the key of this model; keys never stand in this file",
		"line 10: llm needs a url and a model, for example http://localhost:11434/v1 and llama3.2",
		"line 10: key_env must be the name of an environment variable that holds the key of this model; keys never stand in this file",
		"line 11: llm must have members: url, model, prompt_file, key_env",
		"line 12: mcp needs either a command or a url",
		"line 13: mcp needs either a command or a url",
		"line 13: url: must be a URL such as http://localhost:3000/mcp",
		"line 14: count: one URL is one player: name each with an entry of its own",
		"line 15: count must be a whole number from 1 to 10000",
		"line 16: count must be a whole number from 1 to 10000",
		`line 18: name "SAME": line 17 has this name already, or one that looks like it`,
		`line 19: name "a\tb": must have 1 to 50 characters without control characters`,
		"line 20: name is given twice",
		"line 21: strategy: llm: use the member llm",
		"line 22: strategy: exec:./bot: use the member exec",
		"line 23: an entrant must have members: name, count, strategy, exec, llm, mcp, url",
		`line 25: name "same-2": line 24 has this name already, or one that looks like it`,
	}, strings.Split(strings.ReplaceAll(err.Error(), path+": ", ""), "\n"))
}

func TestFileThatIsNoEntrantsFile(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "the file must be YAML with a list of entrants: EOF"},
		{"a list", "- {name: A}\n", "line 1: the file must have members: entrants\nPATH: line 1: entrants must be a list of at least one entrant"},
		{"no entrants", "entrants: []\n", "line 1: entrants must be a list of at least one entrant"},
		{"no YAML", "entrants:\n  - {name: A\n", "the file must be YAML with a list of entrants: yaml: line 1: did not find expected ',' or '}'"},
		{"two documents", "entrants: [{name: A, strategy: odd}]\n---\nentrants: []\n", "the file must be one YAML document: remove what follows the line ---"},
		{"not UTF-8", "entrants: [{name: \xe4}]\n", "the file is not in UTF-8: save it as UTF-8"},
		{"too large", strings.Repeat("#", 1<<20+1), "the file has more than 1048576 bytes"},
		{"too many", "entrants:\n- {name: A, strategy: odd, count: 6000}\n- {name: B, strategy: odd, count: 6000}\n", "line 2: 12000 entrants: a file has at most 10000"},
		{"an alias", "entrants:\n- {name: &a A, strategy: odd}\n- {name: *a, strategy: odd}\n", "line 3: name must be a text"},
		{"an empty name", "entrants:\n- {name: \"\", strategy: odd}\n- {name: B, strategy: odd}\n", "line 2: name is empty"},
		{"a merged member", "entrants:\n- &a {name: A, strategy: odd}\n- {<<: *a, name: B, strategy: odd}\n", `line 3: unknown member "<<": an entrant has only name, count, strategy, exec, llm, mcp, url`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := entrantsFile(t, tt.text)
			_, err := config.LoadEntrants(path, anyValue)
			assert.EqualError(t, err, path+": "+strings.ReplaceAll(tt.want, "PATH", path))
		})
	}
	_, err := config.LoadEntrants("nowhere.yaml", anyValue)
	assert.EqualError(t, err, "nowhere.yaml: no such file or directory")
}

func FuzzEntrants(f *testing.F) {
	f.Add("entrants:\n  - {name: A, strategy: odd, count: 2}\n  - {name: B, llm: {url: http://x/v1, model: m}}\n")
	f.Add("entrants: [&a {name: A, mcp: {command: b}}, *a]")
	path := entrantsFile(f, "")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		entrants, err := config.LoadEntrants(path, anyValue)
		if err == nil {
			assert.NotEmpty(t, entrants)
		}
		for _, e := range entrants {
			assert.NotEmpty(t, e.Name)
		}
	})
}
