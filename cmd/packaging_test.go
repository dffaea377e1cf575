package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// parsed checks a command line of a file: its command, flags and arguments exist.
func parsed(t *testing.T, file string, args []string) {
	t.Helper()
	root := newRoot("test", streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	require.NoError(t, err, "%s: %s", file, args)
	require.NoError(t, c.ParseFlags(rest), "%s: %s", file, args)
	assert.NoError(t, c.ValidateArgs(c.Flags().Args()), "%s: %s", file, args)
}

// matches returns the groups of each match of a pattern in a file of the repository.
func matches(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	found := regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(readFile(t, "..", file), -1)
	require.NotEmpty(t, found, "%s: %s", file, pattern)
	return found
}

func TestUnitsRunCommandsWithKnownFlags(t *testing.T) {
	for _, role := range []string{"manager", "referee", "player"} {
		unit := "docs/packaging/evenodd-" + role + ".service"
		if role != "manager" {
			unit = "docs/packaging/evenodd-" + role + "@.service"
		}
		start := strings.Fields(matches(t, unit, `^ExecStart=/usr/bin/evenodd (.*)$`)[0][1])
		parsed(t, unit, start)
		assert.Equal(t, role, start[0])
		c, _, err := newRoot("test", streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}).Find([]string{role})
		require.NoError(t, err)
		environment := "docs/packaging/" + role + ".env"
		for _, setting := range matches(t, environment, `^#EVENODD_(\w+)=`) {
			flag := strings.ReplaceAll(strings.ToLower(setting[1]), "_", "-")
			assert.NotNil(t, c.Flags().Lookup(flag), "%s: %s has no flag --%s", environment, role, flag)
		}
	}
}

func TestDockerfileRunsKnownCommands(t *testing.T) {
	for _, instruction := range matches(t, "Dockerfile", `^(?:HEALTHCHECK.* )?CMD (\[.*\])$`) {
		var args []string
		require.NoError(t, json.Unmarshal([]byte(instruction[1]), &args))
		if args[0] == "/usr/bin/evenodd" {
			args = args[1:]
		}
		parsed(t, "Dockerfile", args)
	}
	program := matches(t, "Dockerfile", `^COPY --from=build /evenodd (.*)$`)[0][1]
	assert.Equal(t, `["`+program+`"]`, matches(t, "Dockerfile", `^ENTRYPOINT (.*)$`)[0][1])
}

// Each service of compose.yaml has a valid command and the health check of its own port, tells
// others the name of the service, and calls the manager by a name that it allows.
func TestComposeFileConnectsItsServices(t *testing.T) {
	const file = "compose.yaml"
	commands := matches(t, file, `^  (\w+):\n(?:    .*\n)*?    command: (.*)$`)
	checks := matches(t, file, `test: \[CMD, /usr/bin/evenodd, (\w+), "(.*)"\]`)
	require.Len(t, commands, 7)
	require.Len(t, checks, len(commands))
	for i, command := range commands {
		args := strings.Fields(command[2])
		parsed(t, file, args)
		name, port := command[1], flagOf(args, "--port")
		assert.Equal(t, []string{"health", "http://localhost:" + port + "/mcp"}, checks[i][1:], name)
		parsed(t, file, checks[i][1:])
		if args[0] == "manager" {
			assert.Equal(t, name, flagOf(args, "--allowed-host"))
			assert.Len(t, matches(t, file, `:`+port+`"\]`), 1, "the port of the page")
			continue
		}
		assert.Equal(t, "http://"+name+":"+port+"/mcp", flagOf(args, "--endpoint"))
		assert.Equal(t, "http://manager:8000/mcp", flagOf(args, "--manager"))
	}
}

// flagOf returns the value of a flag in a command line.
func flagOf(args []string, name string) string {
	for i, arg := range args {
		if arg == name {
			return args[i+1]
		}
	}
	return ""
}

// The key of a model must not reach other agents, command lines, or the environment of the process.
func TestOnlyThePlayerOfAModelGetsItsKey(t *testing.T) {
	t.Setenv("CLASS_KEY", "secret-1")
	t.Setenv(llmKeyVariable, "secret-2")
	t.Setenv(openAIKeyVariable, "secret-3")
	o := &upOptions{}
	o.Referees, o.data, o.address.host = 1, "SHARED", localhost
	agents, _, err := o.plan([]config.Entrant{
		{Name: "Model", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://model/v1", Model: "m", KeyEnv: "CLASS_KEY"}},
		{Name: "Free", Kind: config.KindLLM, LLM: config.EntrantLLM{URL: "http://free/v1", Model: "f"}},
	})
	require.NoError(t, err)
	require.Len(t, agents, 4)
	for _, a := range agents {
		assert.NotContains(t, strings.Join(a.Args, " "), "secret", a.Name)
		assert.Equal(t, a.Name == "Model", a.Key == "secret-1", a.Name)
	}
	assert.NotRegexp(t, `secret-|CLASS_KEY`, strings.Join(withoutKeys(os.Environ(), agents), "\n"))
}

// A second evenodd up leaves the roster of the first one alone, while the manager of that runs.
func TestRosterOfARunningLeagueStays(t *testing.T) {
	o := &upOptions{}
	o.Referees, o.data, o.LeagueID = 1, t.TempDir(), "cup"
	o.admission.roster = writeFile(t, "name,code\nAda,code-of-ada\n", t.TempDir(), "class.csv")
	agents, roster, err := o.plan(nil)
	require.NoError(t, err)
	assert.Contains(t, string(roster), "Referee-1")
	p := &upParent{upOptions: o, streams: streams{err: &bytes.Buffer{}}, plan: upPlan{Agents: agents}}
	kept := filepath.Join(o.data, "private", "cup.roster.csv")
	running, _, err := appendfile.OpenLocked(disk.Real{}, store.In(o.data).Journal("cup"), "journal", func(int, []byte) error { return nil }, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.NoError(t, p.keepRoster(ctx, roster))
	assert.NoFileExists(t, kept, "another manager has the journal")
	require.NoError(t, running.Close())
	require.NoError(t, p.keepRoster(t.Context(), roster))
	assert.FileExists(t, kept)
}
