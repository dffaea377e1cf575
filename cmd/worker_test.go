package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// A commandLine is a call of evenodd in a folder with an environment.
type commandLine struct {
	Dir       string
	Env, Args []string
}

// A commandResult is what a command line has printed, and its exit code.
type commandResult struct {
	Stdout, Stderr []byte
	Code           int
}

// A worker is a process that runs command lines of evenodd one after the other. The start of a
// process costs more than most commands do, and these tests run a thousand of them. A command
// that is interrupted or reads its input runs in a process of its own.
type worker struct {
	process  *exec.Cmd
	requests *json.Encoder
	results  *json.Decoder
	problems bytes.Buffer
}

// workerVariable is the environment variable that makes evenodd a worker.
const workerVariable = "TEST_WORKER"

// idleWorkers wait for a command line. They end with the process of the tests, which closes their input.
var idleWorkers = make(chan *worker, 100)

func startWorker() (*worker, error) {
	w := &worker{process: exec.Command("evenodd")}
	w.process.Env = append(os.Environ(), workerVariable+"=1", "GORACE=halt_on_error=1 "+raceOptions)
	w.process.Stderr = &w.problems
	stdin, err := w.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.requests, w.results = json.NewEncoder(stdin), json.NewDecoder(stdout)
	return w, w.process.Start()
}

// runInWorker runs a command line in an idle worker, or in a new one.
func runInWorker(line commandLine) (result commandResult, err error) {
	var w *worker
	select {
	case w = <-idleWorkers:
	default:
		if w, err = startWorker(); err != nil {
			return result, err
		}
	}
	patient := time.AfterFunc(patience, func() { _ = w.process.Process.Kill() })
	if err := errors.Join(w.requests.Encode(line), w.results.Decode(&result)); err != nil {
		return result, fmt.Errorf("evenodd %q did not end: %w: %v\n%s", line.Args, err, w.process.Wait(), w.problems.String())
	}
	if patient.Stop() {
		idleWorkers <- w
	}
	return result, nil
}

// work runs the command lines of standard input until it ends.
func work() {
	requests, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	empty, err := os.Open(os.DevNull)
	for os.Stdin = empty; err == nil; {
		var line commandLine
		if err = requests.Decode(&line); err != nil {
			break
		}
		err = os.Chdir(line.Dir)
		os.Clearenv()
		for _, variable := range line.Env {
			name, value, _ := bytes.Cut([]byte(variable), []byte("="))
			err = errors.Join(err, os.Setenv(string(name), string(value)))
		}
		var stdout, stderr bytes.Buffer
		code := cmd.Execute(context.Background(), "test", line.Args, &stdout, zerolog.SyncWriter(&stderr))
		err = errors.Join(err, results.Encode(commandResult{stdout.Bytes(), stderr.Bytes(), code}))
	}
	if !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
	}
}

// runIn runs evenodd in a folder, with more environment variables.
func runIn(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	whole, err := filepath.Abs(dir) // a worker is in the folder of its last command line
	require.NoError(t, err)
	result, err := runInWorker(commandLine{whole, append(os.Environ(), env...), args})
	require.NoError(t, err)
	return result.Code, string(result.Stdout), string(result.Stderr)
}

// output returns what evenodd prints. It must succeed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runIn(t, t.TempDir(), nil, args...)
	require.Zero(t, code, stderr)
	return stdout
}
