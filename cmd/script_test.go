package cmd_test

import (
	"errors"
	"maps"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestScripts drives the program as a user does: each script is a session. Another
// program listens at the port $TAKEN of 127.0.0.1.
// With -update, what the program prints is written into the scripts.
func TestScripts(t *testing.T) {
	commands := (&scriptProcesses{}).commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "conforms": conforms, "capture": capture})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(patience),
		Cmds:                commands,
		Setup: func(e *testscript.Env) error {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = taken.Close() })
			e.Setenv("GORACE", raceOptions)
			e.Setenv("PORT", freePort(t))
			e.Setenv("TAKEN", strconv.Itoa(taken.Addr().(*net.TCPAddr).Port))
			return nil
		},
	})
}

// exits runs a program and checks its exit code: exits 2 evenodd simulate x
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// capture sets a variable to what a pattern finds: capture SEED stderr 'Seed: (.*)'
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture VARIABLE FILE PATTERN")
	}
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) != 2 {
		ts.Fatalf("%s has nothing like %s", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// conforms checks JSON by a JSON Schema: conforms stdout contract.json
func conforms(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] conforms FILE SCHEMA")
	}
	schema, err := compileSchema(ts.ReadFile(args[1]))
	ts.Check(err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if err := schema.Validate(value); (err != nil) != neg {
		ts.Fatalf("%s does not conform as it should: %v", args[0], err)
	}
}

// compileSchema reads a JSON Schema.
func compileSchema(text string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}
