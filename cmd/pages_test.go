package cmd_test

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
)

var (
	// codeSpan is a command in a sentence.
	codeSpan = words.Pattern("`(evenodd [^`\n]+)`")
	// called is a call of evenodd in a command line, after variables of its environment.
	called = words.Pattern(`(?:^|&& |; |\| |sudo )(?:[A-Z_]+=(?:\$\([^)]*\)|\S)* )*evenodd (.+)`)
	// shellWord is a word of a command line, with quotes.
	shellWord = words.Pattern(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	// placeholder stands for a value in a command of a sentence.
	placeholder = words.Pattern(`^[A-Z]+$|…`)
	usageOf     = words.Pattern(`(?m)^Usage:\n  evenodd(.*)`)
)

// TestCommandsOfPagesExist parses every command line of the shell blocks and of the sentences of all
// pages: the command and its flags must exist. Other tests run the commands of most pages.
func TestCommandsOfPagesExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, name := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "testdata", "bots", "README.md")) {
		page := readText(t, name)
		commands := commandsOf(blocksOf(page, "sh"))
		for _, span := range codeSpan().FindAllStringSubmatch(page, -1) {
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
	found := called().FindStringSubmatch(command)
	if found == nil {
		return nil
	}
	for _, word := range shellWord().FindAllString(found[1], -1) {
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
		case i > 0 && strings.HasPrefix(words[i-1], "--") && placeholder().MatchString(word):
			words[i] = "1"
		}
	}
	code, help, stderr := run(t.Context(), append(words, "--help")...)
	if !assert.Zero(t, code, "%s: %s", at, stderr) {
		return
	}
	usage := strings.Fields(usageOf().FindStringSubmatch(help)[1]) // with the names of commands only, if the command is a group
	for i, word := range words {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(word) || strings.HasPrefix(word, "-") {
			return
		}
		if i < len(usage) && regexp.MustCompile(`^[a-z]+$`).MatchString(usage[i]) {
			assert.Equal(t, usage[i], word, at)
		} else {
			assert.NotRegexp(t, `Usage:\n[^\n]* \[command\]\n`, help, "%s: there is no such command",
				at) // check runs, and has one
			return
		}
	}
}

var (
	hexText    = words.Pattern(`\b[0-9a-f]{12,}\b`)
	speed      = words.Pattern(`in [\w.]+, [\d,]+ matches/s`)
	lineNumber = words.Pattern(`jsonl:\d+|\bline \d+`)
	cutHash    = words.Pattern(`[0-9a-f]{12}…`)
)

// docs/evidence.md shows a session: each command after "$ ", and what it prints, which -update writes. Hashes differ each time, because journals contain times. So a hash of the page stands
// for the one that the program printed in its place.
func TestEvidencePageShowsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	runSession(t, "evidence.md", 8)
}

// runSession runs the commands of a page, and compares what they print with the page.
func runSession(t *testing.T, page string, least int) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the page has shell commands")
	}
	dir, known, commands := t.TempDir(), map[string]string{}, 0
	same := func(text string) string {
		return hexText().ReplaceAllStringFunc(text, func(hash string) string {
			for page, printed := range known {
				if strings.HasPrefix(page, hash) {
					return printed[:len(hash)]
				}
			}
			return hash
		})
	}
	text, updating := readPage(t, "docs/"+page), flag.Lookup("update").Value.String() == "true"
	for _, block := range blocksOf(text, "text") {
		for _, session := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(session, "\n")
			commands++
			run := exec.CommandContext(t.Context(), "sh", "-c", same(command))
			run.Dir = dir
			printed, err := run.CombinedOutput() // findings exit with 4, and then say so
			require.NotNil(t, run.ProcessState, "%v", err)
			got := hexText().FindAllString(string(printed), -1)
			for i, hash := range hexText().FindAllString(want, -1) {
				if _, old := known[hash]; !old && len(hash) == 64 && i < len(got) {
					known[hash] = got[i]
				}
			}
			if updating && withoutVariation(same(want)) != withoutVariation(string(printed)) {
				text = strings.Replace(text, "$ "+command+"\n"+want, "$ "+command+"\n"+string(printed), 1)
				continue
			}
			assert.Equal(t, withoutVariation(same(want)), withoutVariation(string(printed)), command)
		}
	}
	assert.Greater(t, commands, least)
	if updating {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", page), []byte(text), 0o644))
	}
}

// withoutVariation returns a text without what differs from league to league: the speed, the
// order of the matches of a round in a file, and hashes that are cut off.
func withoutVariation(text string) string {
	for _, differs := range []func() *regexp.Regexp{speed, lineNumber, cutHash} {
		text = differs().ReplaceAllString(text, "*")
	}
	return strings.TrimRight(text, "\n")
}

// The README opens a league for other computers, and docs/operators.md runs many players in one process.
func TestCommandsOfTheGuidesWork(t *testing.T) {
	t.Parallel()
	t.Run("an open league", func(t *testing.T) {
		t.Parallel()
		require.Contains(t, readPage(t, "README.md"), "`evenodd up --host 0.0.0.0`")
		p := launch(t, t.TempDir(), nil, "evenodd", "up", "--host", "0.0.0.0", "--port", "0")
		p.await(t, `(?s)Anybody who reaches this computer may join.* waits for 4 players and 2 referees`)
		p.endByInterrupt(t)
	})
	t.Run("many players for a manager", func(t *testing.T) {
		t.Parallel()
		commands := commandsOf(blocksOf(sectionOf(t, "docs/operators.md", "Each agent by hand"), "sh")[1:])
		require.Len(t, commands, 1)
		m := startManager(t, "--players", "30", "--tournament", "swiss", "--rounds", "2", "--exit-when-done")
		m.join(t, "referee", "--max-concurrent", "10")
		words := strings.Fields(strings.Replace(commands[0], "http://localhost:8000/mcp", m.url, 1))
		p := launch(t, t.TempDir(), nil, words[0], append(words[1:], "--port", "0")...)
		require.Zero(t, p.awaitExit(t), p.stderr.String())
		assert.Len(t, regexp.MustCompile(`(?m)^Bot-\d+: P\d\d: 2 played, `).FindAllString(p.stdout.String(), -1), 30)
		assert.Zero(t, m.awaitExit(t))
	})
}

// checkPage checks that a process shows a league, and ends with code 0 when it is interrupted.
func checkPage(t *testing.T, p *process) {
	t.Helper()
	url := p.await(t, `Watch .*(http://localhost:\d+/)`)[1]
	if strings.Contains(p.name, "simulate") {
		p.await(t, "The league is over; ")
	}
	status, _ := get(t, url, "")
	assert.Equal(t, http.StatusOK, status)
	p.interrupt(t)
	assert.Zero(t, p.awaitExit(t), p.stderr.String())
}

// The guides show commands that serve pages.
func TestCommandsOfPagesForBrowsersWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, "simulate", "--players", "2", "--data", filepath.Join(dir, "SHARED"))
	commands := append(commandsOf(blocksOf(sectionOf(t, "docs/leagues.md", "The page"), "sh")),
		commandsOf(blocksOf(sectionOf(t, "docs/operators.md", "Behind a reverse proxy"), "sh"))...)
	assert.Len(t, commands, 4)
	for _, command := range commands {
		checkPage(t, launch(t, dir, nil, "evenodd", strings.Fields(atFreePort(command))[1:]...))
	}
}

// atFreePort is a command that serves a page, at a free port and without pauses.
func atFreePort(command string) string {
	command = strings.ReplaceAll(command, ":8080", ":0")
	if strings.Contains(command, "serve SHARED") && !strings.Contains(command, "--port") {
		command += " --port 0"
	}
	return strings.Replace(command, "--pace 300ms", "--pace 1ms", 1)
}

// Viewers of a page have no credential: requests for pages have limits of their own, and use up no
// calls of agents.
func TestRequestsForPagesUseUpNoCallsOfAgents(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2")
	refused := false
	for n := 0; n < 3900 && !refused; n += 100 { // agents may make 4,000 calls at once
		refused = slices.Contains(statusesOf(t, strings.TrimSuffix(m.url, "/mcp")+"/players/P99", 100), http.StatusTooManyRequests)
	}
	assert.True(t, refused)
	status, _ := post(t, m.url, `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`)
	assert.Equal(t, http.StatusOK, status)
}

// statusesOf sends requests for a page over one connection without waiting, because a slow machine would
// else stay below the limit.
func statusesOf(t *testing.T, url string, requests int) (statuses []int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", request.URL.Host)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	for range requests {
		require.NoError(t, request.Write(conn))
	}
	answers := bufio.NewReader(conn)
	for range requests {
		answer, err := http.ReadResponse(answers, request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		statuses = append(statuses, answer.StatusCode)
	}
	return statuses
}

// The picture of the README shows a command and what it prints. 'go test ./cmd -run TestReadmeShows -update' draws it.
func TestReadmeShowsTheOutputOfSimulate(t *testing.T) {
	t.Parallel()
	const command = "$ evenodd simulate --players 4 --seed 1"
	want := picture(command, mustRun(t, strings.Fields(command)[2:]...))
	file := filepath.Join(root, "docs", "images", "table.svg")
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	assert.Equal(t, want, readText(t, file), "go test ./cmd -run TestReadmeShows -update draws the picture again")
}

// picture draws a terminal with a command and the table that it prints. The lines of the table are drawn as a path,
// because fonts leave gaps between them.
func picture(command, printed string) string {
	const wide, high, left = 8.4, 20, 18.0 // of a character; the margin
	pens := map[rune]string{               // from the centre of a character
		'│': "m0,-10v20", '┼': "m-4.2,0h8.4m-4.2,-10v20",
		'├': "m0,-10v20m0,-10h4.2", '┤': "m0,-10v20m0,-10h-4.2",
		'┬': "m-4.2,0h8.4m-4.2,0v10", '┴': "m-4.2,0h8.4m-4.2,0v-10",
		'╭': "m4.2,0q-4.2,0 -4.2,4.2v5.8", '╮': "m-4.2,0q4.2,0 4.2,4.2v5.8",
		'╰': "m4.2,0q-4.2,0 -4.2,-4.2v-5.8", '╯': "m-4.2,0q4.2,0 4.2,-4.2v-5.8",
	}
	var texts, path strings.Builder
	columns, y := 0, 0
	lines := strings.Split(command+"\n"+strings.TrimSpace(printed), "\n")
	for number, line := range lines {
		y = high*number + 28 // the middle of the line
		columns = max(columns, utf8.RuneCountInString(line))
		column := 0
		for _, part := range regexp.MustCompile(`─+|[│-╿]|[^─-╿]+`).FindAllString(line, -1) {
			n, x := utf8.RuneCountInString(part), left+wide*float64(column)
			column += n
			first, _ := utf8.DecodeRuneInString(part)
			text := strings.TrimSpace(part)
			switch pen := pens[first]; {
			case first == '─':
				fmt.Fprintf(&path, "M%.1f,%dh%.1f", x, y, wide*float64(n))
			case pen != "":
				fmt.Fprintf(&path, "M%.1f,%d%s", x+wide/2, y, pen)
			case text != "":
				fill := ""
				if number == 0 {
					fill = ` fill="#7ee787"`
				}
				x += wide * float64(strings.Index(part, text))
				fmt.Fprintf(&texts, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
					x, y+5, wide*float64(utf8.RuneCountInString(text)), fill, html.EscapeString(text))
			}
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" `+
		`role="img" aria-label="Terminal: %[3]s prints a table of the league">
<title>Terminal: %[3]s prints a table of the league</title>
<rect width="100%%" height="100%%" rx="8" fill="#161b22" stroke="#3d444d"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" `+
		`fill="#e6edf3" xml:space="preserve">
%[4]s</g>
<path d="%[5]s" fill="none" stroke="#6e7681" stroke-linecap="square"/>
</svg>
`, int(2*left+wide*float64(columns)), y+28, html.EscapeString(command), texts.String(), path.String())
}
