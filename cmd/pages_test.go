package cmd_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// codeSpan is a command in a sentence.
	codeSpan = regexp.MustCompile("`(evenodd [^`\n]+)`")
	// called is a call of evenodd in a command line, after variables of its environment.
	called = regexp.MustCompile(`(?:^|&& |; |\| |sudo )(?:[A-Z_]+=(?:\$\([^)]*\)|\S)* )*evenodd (.+)`)
	// shellWord is a word of a command line, with quotes.
	shellWord = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	// placeholder stands for a value in a command of a sentence.
	placeholder = regexp.MustCompile(`^[A-Z]+$|…`)
	usageOf     = regexp.MustCompile(`(?m)^Usage:\n  evenodd(.*)`)
)

// TestCommandsOfPagesExist parses every command line of the shell blocks and of the sentences of all
// pages: the command and its flags must exist. Other tests run the commands of most pages.
func TestCommandsOfPagesExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, name := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "testdata", "bots", "README.md")) {
		page := readText(t, name)
		commands := commandsOf(shellBlocks(page))
		for _, span := range codeSpan.FindAllStringSubmatch(page, -1) {
			commands = append(commands, span[1])
		}
		for _, command := range commands {
			if words := wordsOf(command); len(words) > 0 {
				assertParses(t, filepath.Base(name)+": "+command, words)
			}
		}
	}
}

// wordsOf returns the arguments of evenodd in a command line; none if it calls another program.
func wordsOf(command string) (words []string) {
	found := called.FindStringSubmatch(command)
	if found == nil {
		return nil
	}
	for _, word := range shellWord.FindAllString(found[1], -1) {
		if strings.ContainsAny(word[:1], "|>&;<") {
			break
		}
		words = append(words, regexp.MustCompile(`['"]`).ReplaceAllString(word, ""))
	}
	return words
}

// assertParses checks that a command and its flags exist.
func assertParses(t *testing.T, at string, words []string) {
	t.Helper()
	if last := words[len(words)-1]; strings.HasPrefix(last, "--") { // a flag of a sentence may have no value
		words = append(words, "1")
	}
	for i, word := range words {
		switch {
		case word == "pick_stones": // the game that the reader writes
			words[i] = "even_odd"
		case i > 0 && strings.HasPrefix(words[i-1], "--") && placeholder.MatchString(word):
			words[i] = "1"
		}
	}
	code, help, stderr := run(t.Context(), append(words, "--help")...)
	if !assert.Zero(t, code, "%s: %s", at, stderr) {
		return
	}
	usage := strings.Fields(usageOf.FindStringSubmatch(help)[1]) // with the names of commands only, if the command is a group
	for i, word := range words {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(word) || strings.HasPrefix(word, "-") {
			return
		}
		if i < len(usage) && regexp.MustCompile(`^[a-z]+$`).MatchString(usage[i]) {
			assert.Equal(t, usage[i], word, at)
		} else {
			assert.NotContains(t, help, " [command]\n", "%s: there is no such command", at)
			return
		}
	}
}
