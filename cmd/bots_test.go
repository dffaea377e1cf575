package cmd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exampleBot is a bot of testdata/bots, as a strategy.
func exampleBot(t *testing.T, name string) string {
	t.Helper()
	if filepath.Ext(name) == ".py" {
		if _, err := exec.LookPath("python3"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("no python3: continuous integration plays with the example in Python")
			}
			t.Skip("NOT TESTED: the example in Python, because there is no python3 here")
		}
	}
	path, err := filepath.Abs(filepath.Join("..", "testdata", "bots", name))
	require.NoError(t, err)
	return "exec:'" + path + "'"
}

// Each example bot plays a whole league over HTTP against a player of this program.
func TestExampleBotsPlayALeague(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"frequency.py": `"stderr":"R1M1 against P0\d: (even|odd)".*"event_type":"THE_BOT_SAYS"`,
		"alternate.sh": `"event_type":"LISTENING"`, // it says nothing
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bot := exampleBot(t, name)
			m := startManager(t, "--players", "2", "--legs", "3", "--exit-when-done")
			agents := []*process{m.join(t, "referee"), m.join(t, "player", "--strategy", bot), m.join(t, "player")}
			for _, p := range agents {
				require.Zero(t, p.awaitExit(t), p.stderr.String())
			}
			require.Zero(t, m.awaitExit(t))
			assert.Regexp(t, `^P0\d: 3 played, .*\nexec:.*`+name+`': 3 questions, 0 without an answer; started 1 time\n$`, agents[1].stdout.String())
			assert.Regexp(t, said, agents[1].stderr.String())
			assert.Regexp(t, `^P0\d: 3 played, .*\n$`, agents[2].stdout.String(), "a built-in strategy prints no account")
		})
	}
}

// A bot does not receive the signal of its player, so the player must stop it. Its environment has the variables of
// --exec-env, and no key.
func TestInterruptedPlayerStopsItsBot(t *testing.T) {
	t.Parallel()
	p := launch(t, t.TempDir(), []string{"EVENODD_LLM_KEY=sk-secret", "PYTHONPATH=/lib/mine", "LEVEL=3"}, "evenodd",
		"player", "--port", "0", "--manager", "http://127.0.0.1:1/mcp", "--exec-env", "PYTHONPATH,LEVEL",
		"--strategy", `exec:sh -c 'echo "bot: $EVENODD_LLM_KEY, $PYTHONPATH, $LEVEL" >&2; while read -r q; do :; done; echo goodbye >&2'`)
	p.await(t, `"stderr":"bot: , /lib/mine, 3"`)
	p.interrupt(t)
	assert.Equal(t, 130, p.awaitExit(t))
	assert.Contains(t, p.stderr.String(), `"stderr":"goodbye"`)
}

func TestExampleBotsPlayInTheSandbox(t *testing.T) {
	t.Parallel()
	strategies := exampleBot(t, "frequency.py") + "," + exampleBot(t, "alternate.sh")
	p := start(t, "simulate", "--players", "3", "--seed", "7", "--strict", "--exec-sandbox", "--format", "csv", "--quiet", "--strategies", strategies)
	if p.awaitExit(t) == 2 {
		require.Contains(t, p.stderr.String(), "--exec-sandbox: ")
		t.Skip("NOT TESTED: " + p.stderr.String())
	}
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.stderr.String())
	for _, transport := range []string{"wire", "http"} {
		again := output(t, "simulate", "--players", "3", "--seed", "7", "--format", "csv", "--quiet", "--strategies", strategies, "--transport", transport)
		assert.Equal(t, p.stdout.String(), again, "the same league without a sandbox, by %s", transport)
	}
}

// A language model makes the choices. Its key is sent only to its API.
func TestLanguageModelPlaysALeague(t *testing.T) {
	t.Parallel()
	const key = "sk-this-is-a-secret"
	var asked atomic.Int32
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		assert.Contains(t, string(question), `Choose \"even\" or \"odd\".`)
		assert.Equal(t, "Bearer "+key, r.Header.Get("Authorization"))
		if asked.Add(1) == 2 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, key)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"I would say: odd!"}}],`+
			`"usage":{"prompt_tokens":50,"completion_tokens":5}}`)
	}))
	t.Cleanup(model.Close)
	m := startManager(t, "--players", "2", "--legs", "3", "--exit-when-done")
	folder := t.TempDir()
	referee, other := m.join(t, "referee"), m.join(t, "player")
	p := launch(t, folder, []string{"OPENAI_API_KEY=" + key}, "evenodd", "player", "--port", "0", "--manager", m.url,
		"--strategy", "llm", "--llm-url", model.URL+"/v1", "--llm-model", "llama3.2")
	for _, p := range []*process{referee, other, p} {
		require.Zero(t, p.awaitExit(t), p.stderr.String())
	}
	assert.Regexp(t, `^P0\d: 3 played, .*\nllm: 3 questions, 1 answered by the fallback strategy random; llama3\.2: 100 tokens asked, 10 answered, in [\d.]+m?s\n$`,
		p.stdout.String())
	assert.Contains(t, p.stderr.String(), "the language model did not choose, the fallback strategy did")
	assert.NotContains(t, p.stderr.String(), key)
	assert.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, readErr := os.ReadFile(path)
			assert.NotContains(t, string(text), key, path)
			return readErr
		}
		return err
	}))
}
