package cmd_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The question to a model is a file in testdata/prompts for each game. 'go test ./cmd -run TestPromptOfEachGame
// -update' writes these files.
func TestPromptOfEachGame(t *testing.T) {
	for _, game := range gameTypes(t) {
		code, stdout, stderr := run(t.Context(), "schema", "prompt", game)
		require.Zero(t, code, stderr)
		file := "testdata/prompts/" + game + ".txt"
		if flag.Lookup("update").Value.String() == "true" {
			require.NoError(t, os.WriteFile(file, []byte(stdout), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err, "run 'go test ./cmd -run TestPromptOfEachGame -update' for a new game, and read the file")
		assert.Equal(t, string(want), stdout, "run 'go test ./cmd -run TestPromptOfEachGame -update' and read the change")
	}
}

// gameTypes returns the games of the program.
func gameTypes(t *testing.T) []string {
	t.Helper()
	_, _, stderr := run(t.Context(), "schema", "prompt", "none")
	_, list, found := strings.Cut(stderr, "known: ")
	require.True(t, found, stderr)
	list, _, _ = strings.Cut(list, "\n")
	return strings.Split(list, ", ")
}

// A model sees the board of each question and all moves before it, on every carrier, and plays by them.
func TestLanguageModelSeesTheBoard(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"memory", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			free := regexp.MustCompile(`(?m)^Choose a cell: "(\d)"`)
			moves := regexp.MustCompile(`The moves so far: (.*)\.`)
			var mu sync.Mutex
			var most int
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var request struct{ Messages []struct{ Content string } }
				assert.NoError(t, json.NewDecoder(r.Body).Decode(&request))
				text := request.Messages[0].Content
				assert.Contains(t, text, "The board, with the numbers of the free cells; your mark is ")
				option := free.FindStringSubmatch(text)
				if !assert.NotNil(t, option, text) {
					return
				}
				made := 0
				if so := moves.FindStringSubmatch(text); so != nil {
					made = strings.Count(so[1], "cell")
				}
				assert.Equal(t, 9-made, strings.Count(text[strings.LastIndex(text, "Choose"):], `"`)/2-2, "free cells: %s", text) // two are of the form
				mu.Lock()
				most = max(most, made)
				mu.Unlock()
				_, _ = io.WriteString(w, fmt.Sprintf(`{"choices":[{"message":{"content":"{\"choice\": \"%s\"}"}}]}`, option[1]))
			}))
			t.Cleanup(model.Close)
			code, _, stderr := run(t.Context(), "simulate", "--players", "2", "--game", "tic_tac_toe", "--seed", "1", "--quiet",
				"--strategies", "llm", "--llm-url", model.URL+"/v1", "--llm-model", "m", "--transport", transport, "--strict", "--force")
			require.Zero(t, code, stderr)
			assert.GreaterOrEqual(t, most, 5, "moves that a prompt names")
		})
	}
}
