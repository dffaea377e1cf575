package audit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutantsOfTheConductAreFound changes the rules by which referees conduct matches. An audit that repeats the
// matches by the same wrong rules still finds the matches that were conducted so, by what it knows without them; and
// the scripts of the conduct fail, which shows that the change matters.
func TestMutantsOfTheConductAreFound(t *testing.T) {
	if os.Getenv("EVENODD_TEST_ALL") == "" {
		t.Skip("it compiles the audit once for each mutant: set EVENODD_TEST_ALL")
	}
	for _, tt := range []struct {
		name, file, was, is string
		forgery             string // in TestForgeries: what a referee with this mutant writes
	}{
		{"it accepts late answers", "judge.go", "after, late := q.deadline.Late(a.At)", "after, late := time.Duration(0), false",
			"an_answer_after_its_deadline"},
		{"it accepts illegal moves", "reply.go", "switch err := m.course.Check(of, r.Choice); {",
			"switch err := error(nil); {",
			"an_illegal_choice_in_the_transcript"},
		{"it accepts answers about other matches", "reply.go", `r.MatchID != "" && r.MatchID != id`,
			`r.MatchID != "" && id == ""`,
			"an_answer_about_another_match"},
		{"it accepts entropy that was not promised", "reply.go",
			`protocol.OpensEntropy(s.entropyCommitment, m.assignment.MatchID, s.committer, r.Entropy); !ok`,
			`protocol.OpensEntropy(s.entropyCommitment, m.assignment.MatchID, s.committer, r.Entropy); !ok && m.givenUp`, "forged_entropy"},
		{"it forgets a loss", "judge.go", "s.owes, s.lost = false, w.Loss", "s.owes = false", "a_failure_of_a_player_that_did_not_lose"},
		{"it invents a loss", "match.go", `func (m *Match) Decided() bool { return `, `func (m *Match) Decided() bool { return m.turn > 0 || `,
			"a_technical_loss_of_a_player_that_answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			overlay := overlaid(t, tt.file, tt.was, tt.is)
			scripts, err := mutated(t, overlay, "../../conduct", "^TestScripts$")
			require.Error(t, err, "no script of the conduct notices the mutant")
			assert.Contains(t, scripts, "write it again with -update", "it compiles: %s", scripts)
			found, err := mutated(t, overlay, ".", fmt.Sprintf("^TestForgeries$/^%s$", tt.forgery))
			if err != nil { // a mutant may also find too much in other matches
				assert.Contains(t, found, "is not less than or equal to", "the audit does not find it: %s", found)
				assert.NotContains(t, found, " among:", "the audit does not find it: %s", found)
			}
			assert.NotContains(t, found, "no tests to run")
		})
	}
}

// mutated runs tests of a package with other sources.
func mutated(t *testing.T, overlay, pkg, run string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay, "-run", run, pkg).CombinedOutput()
	return string(out), err
}

// TestMutantsOfTheDealerAreFound changes how referees deal and show cards. What they write agrees with that, but not
// with the rules: a league of theirs is not the clean one that it would be.
func TestMutantsOfTheDealerAreFound(t *testing.T) {
	if os.Getenv("EVENODD_TEST_ALL") == "" {
		t.Skip("it compiles the audit once for each mutant: set EVENODD_TEST_ALL")
	}
	for _, tt := range []struct {
		name, file, was, is string
	}{
		{"it deals the same cards in each match", "program.go", "m.course.Settle(m.assignment.MatchID, &chance)",
			`m.course.Settle("", &chance)`},
		{"it shows a side what the other may see", "question.go", `context["view"] = shown.View`,
			`context["view"] = m.course.Ask(of.Other()).View`},
		{"it shows secret moves", "question.go", "return protocol.ShownMoves(m.moves, s.player.PlayerID, m.nonce)",
			"return m.moves"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			overlay := overlaid(t, tt.file, tt.was, tt.is)
			scripts, err := mutated(t, overlay, "../../conduct", "^TestScripts$")
			require.Error(t, err, "no script of the conduct notices the mutant")
			assert.Contains(t, scripts, "write it again with -update", "it compiles: %s", scripts)
			found, err := mutated(t, overlay, ".", "^TestHonestLeagueWith")
			require.Error(t, err, "no test of the audit notices the mutant")
			assert.Contains(t, found, "--- FAIL: TestHonestLeagueWith", "it compiles: %s", found)
		})
	}
}

// overlaid returns the file by which a changed file of the conduct takes the place of the right one.
func overlaid(t *testing.T, file, was, is string) (overlay string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "conduct", file))
	require.NoError(t, err)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), was), "%s is there once", was)
	mutant := filepath.Join(t.TempDir(), file)
	require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(source), was, is, 1)), 0o600))
	overlay = filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	return overlay
}
