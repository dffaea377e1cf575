package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
)

// root is the folder of the module: there the README's commands are called.
const root = ".."

// A reader runs commands.
type reader struct {
	data string // the folder of the league it has run
}

// readPage returns a page of the module.
func readPage(t *testing.T, name string) string {
	t.Helper()
	return readText(t, filepath.Join(root, filepath.FromSlash(name)))
}

// sectionOf returns a section of a page, with the sections below it.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text := readPage(t, page)
	found := regexp.MustCompile(`(?m)^(#+) ` + heading + `\n`).FindStringSubmatchIndex(text)
	require.NotNil(t, found, "%s has no section %s", page, heading)
	rest := text[found[1]:]
	if next := regexp.MustCompile(`(?m)^#{1,` + strconv.Itoa(found[3]-found[2]) + `} `).FindStringIndex(rest); next != nil {
		rest = rest[:next[0]]
	}
	return rest
}

// blocksOf returns the content of the code blocks of a page in a language.
func blocksOf(page, language string) (blocks []string) {
	fenced := regexp.MustCompile("(?sm)^```" + language + "\\b[^\n]*\n(.*?)^```")
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// commandsOf returns the commands of shell blocks, in order, without comments.
func commandsOf(blocks []string) (commands []string) {
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, "# ")
			if command = strings.TrimSpace(command); command != "" {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// commandsOfTables returns the commands of the first column of tables. If the second
// column names a value of a flag, it returns the command with each value of the flag.
func commandsOfTables(page string) (commands []string) {
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| (`evenodd .*?) \\| (.*) \\|$").FindAllStringSubmatch(page, -1) {
		var command, flag string
		for _, span := range quoted.FindAllStringSubmatch(row[1], -1) {
			if command = span[1]; !strings.HasPrefix(command, "evenodd ") {
				command = "evenodd " + command
			}
			commands = append(commands, command)
		}
		for _, span := range quoted.FindAllStringSubmatch(row[2], -1) {
			name, _, hasValue := strings.Cut(span[1], " ")
			switch {
			case strings.HasPrefix(name, "--") && hasValue && span[1] == strings.ToLower(span[1]):
				flag = name
				commands = append(commands, command+" "+span[1])
			case flag != "":
				commands = append(commands, command+" "+flag+" "+span[1])
			}
		}
	}
	return commands
}

// launch runs a command line in a process.
func (r *reader) launch(t *testing.T, command string, env ...string) *process {
	t.Helper()
	words := strings.Fields(command)
	return launch(t, root, env, words[0], words[1:]...)
}

// mustRun runs a command, which must succeed.
func (r *reader) mustRun(t *testing.T, command string) (stdout string) {
	t.Helper()
	code, stdout, stderr := runIn(t, root, nil, strings.Fields(command)[1:]...)
	require.Zero(t, code, "%s: %s", command, stderr)
	if strings.Contains(command, "--quiet") {
		assert.Empty(t, stderr)
	}
	return stdout
}

var (
	setUp    = words.Pattern(`^go (mod download|install \.)$`) // .ci/run runs them
	goRun    = words.Pattern(`^go run \. simulate\b.*$`)
	oneShot  = words.Pattern(`^evenodd (simulate|schema|config|completion|help|version)\b`)
	intoDir  = words.Pattern(`^evenodd (init|man man|new python-module)$`)
	inClone  = words.Pattern(`^evenodd new game pick_stones$`) // docs/games.md runs it
	written  = words.Pattern(`^evenodd new player --lang python my-agent$`)
	ofGuest  = words.Pattern(`^evenodd (check player|simulate --player) http://localhost:8101/mcp$`)
	query    = words.Pattern(`^evenodd league (standings|schedule --round all|next-match|stats)$`)
	ofLeague = words.Pattern(`^evenodd (audit SHARED|report SHARED|ratings SHARED|replay R1M1|league status)$`)
	oneAgent = words.Pattern(`^evenodd (manager|referee|player)\b`)
	ofPerson = words.Pattern(`^evenodd play$`)
	onInput  = words.Pattern(`^evenodd mcp$`) // it ends with its empty input
	watched  = words.Pattern(`^evenodd simulate .*--serve `)
	shown    = words.Pattern(`^evenodd serve SHARED$`)
	whole    = words.Pattern(`^evenodd up --entrants \S+( --pace 2s)?$`)
	opening  = words.Pattern(`^evenodd up --host 0\.0\.0\.0$`) // TestCommandsOfTheGuidesWork runs it
	itself   = words.Pattern(`^go test \./\.\.\.$`)            // runs this very test
)

// Each command of the README and of docs/commands.md works, and a league by the commands of
// docs/operators.md.
func TestCommandsOfTheReadmeWork(t *testing.T) {
	t.Parallel()
	r := &reader{}
	readme, list := readPage(t, "README.md"), readPage(t, "docs/commands.md")
	commands := append(commandsOf(blocksOf(readme, "sh")), commandsOf(blocksOf(list, "sh"))...)
	commands = append(commands, commandsOfTables(list)...)
	require.GreaterOrEqual(t, len(commands), 25)
	module := r.launch(t, "go list -f {{.Name}}:{{.ImportPath}} .")
	awaitSuccess(t, module)
	assert.Equal(t, "main:evenodd\n", module.stdout.String(), "go install . installs evenodd, go run . runs it")
	var later, queries, pages []string
	known := map[string]bool{}
	for _, command := range commands {
		if known[command] {
			continue
		}
		known[command] = true
		switch {
		case itself().MatchString(command), setUp().MatchString(command):
		case goRun().MatchString(command):
			command = strings.Replace(command, "go run .", "evenodd", 1)
			r.check(t, command, r.mustRun(t, command))
		case intoDir().MatchString(command): // of another folder than the module's
			dir := t.TempDir()
			r.mustRun(t, strings.TrimSuffix(command, " man")+" "+dir)
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.NotEmpty(t, files, command)
		case written().MatchString(command):
			r.mustRun(t, strings.Replace(command, "my-agent", filepath.Join(t.TempDir(), "my-agent"), 1))
		case inClone().MatchString(command):
			assert.Contains(t, r.mustRun(t, command+" --help"), "\n  "+command+"\n")
		case command == "evenodd health": // the league of runQueries is over
			queries = append(queries, command)
		case ofGuest().MatchString(command):
			r.runCheckOfPlayer(t, command)
		case query().MatchString(command):
			queries = append(queries, command)
		case ofLeague().MatchString(command): // when there is one
			later = append(later, command)
		case watched().MatchString(command), shown().MatchString(command):
			pages = append(pages, command)
		case whole().MatchString(command):
			quick := strings.Replace(command, "--pace 2s", "--pace 1ms", 1)
			assert.Regexp(t, championPattern(namesInClass), r.mustRun(t, quick+" --port 0 --data "+t.TempDir()))
		case opening().MatchString(command):
		case oneShot().MatchString(command):
			r.check(t, command, r.mustRun(t, command))
		case onInput().MatchString(command):
			assert.Empty(t, r.mustRun(t, command))
		case oneAgent().MatchString(command), ofPerson().MatchString(command): // only its name
			assert.Contains(t, r.mustRun(t, command+" --help"), "Usage:\n  "+command+" [flags]\n")
		default:
			assert.Fail(t, "a command that this test does not know", command)
		}
	}
	require.Len(t, queries, 5)
	r.runQueries(t, queries)
	r.runLeagueByHand(t)
	require.Len(t, pages, 2)
	for _, command := range pages {
		checkPage(t, r.launch(t, strings.Replace(atFreePort(command), "SHARED", r.data, 1)))
	}
	require.Len(t, later, 5)
	for _, command := range later {
		words := strings.Fields(strings.Replace(command, "SHARED", r.data, 1))
		more := map[string]string{"report": " -o -", "replay": " --data " + r.data, "league": " --data " + r.data}[words[1]]
		assert.Regexp(t, map[string]string{"audit": "no findings", "ratings": `1 league of Even/Odd`, "report": "<!doctype html>", "replay": "R1M1", "league": `Results: 6 of 6 matches\.`}[words[1]],
			r.mustRun(t, strings.Join(words, " ")+more))
	}
}

// check checks the output of a command.
func (r *reader) check(t *testing.T, command, stdout string) {
	t.Helper()
	switch {
	case strings.Contains(command, "evenodd schema prompt"):
		assert.Contains(t, stdout, "\nAnswer with JSON", command)
	case strings.Contains(command, "--format json"), strings.Contains(command, "evenodd schema"):
		assert.True(t, json.Valid([]byte(stdout)), "%s: no JSON", command)
		if strings.Contains(command, "--seed") {
			assert.Equal(t, hashOf(stdout), hashOf(r.mustRun(t, command)), "%s gives other bytes", command)
		}
	case strings.Contains(command, " config "):
		assert.Regexp(t, `│ default +│`, stdout, command)
	case !strings.HasPrefix(command, "evenodd simulate"):
		assert.NotEmpty(t, stdout, command)
	case strings.Contains(command, " --entrants "):
		assert.Regexp(t, simulationPattern(namesInClass), stdout, command)
	default:
		assert.Regexp(t, simulationPattern(usualName), stdout, command)
	}
}

// championPattern matches the line of the champion at the end, or of the players that share the
// first rank. The names of the players match a pattern.
func championPattern(name string) string {
	player := `(` + name + `) \(P\d\d\)`
	return `\nChampion: (` + player + ` with \d+ points?(, on ` + tiebreakPattern + `)?|shared by ` +
		player + `(, ` + player + `)* and (` + player + `|\d+ more players) with \d+ points?)\n$`
}

// simulationPattern matches the line of the champion, and below it the sentence of the statistics
// at the end.
func simulationPattern(name string) string {
	return strings.TrimSuffix(championPattern(name), "$") + `(The |\d+ match|All |No )[^\n]+\.\n$`
}

const (
	usualName       = `[\w.-]+ \d+`
	namesInClass    = `Alice|Bot-[12]|Carol` // in class.yaml
	tiebreakPattern = `(points|wins|draws|Buchholz|Sonneborn–Berger)`
)

// runCheckOfPlayer runs a command that calls a player, while the player runs, at free ports.
func (r *reader) runCheckOfPlayer(t *testing.T, command string) {
	t.Helper()
	port := freePort(t)
	p := r.launch(t, "evenodd player --port 0", "EVENODD_MANAGER=http://localhost:"+port+"/mcp", "EVENODD_DATA="+t.TempDir())
	url := p.await(t, `"endpoint":"([^"]+)"`)[1]
	stdout := r.mustRun(t, strings.Replace(command, "http://localhost:8101/mcp", url, 1)+" --port "+port)
	if strings.Contains(command, "check") {
		assert.Regexp(t, `\n\d\d+ passed, 0 failed, \d+ warnings?( for \d+ causes?)?, \d+ skipped, took .*s\n$`, stdout)
	} else {
		assert.Regexp(t, simulationPattern(usualName+"|"+regexp.QuoteMeta(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))), stdout)
		assert.Contains(t, stdout, "│ external │")
	}
	assert.Zero(t, p.awaitExit(t), p.stderr.String())
}

// runQueries runs queries of a manager whose league is over.
func (r *reader) runQueries(t *testing.T, queries []string) {
	t.Helper()
	folder := t.TempDir() // the data folder of the first player
	m := r.launch(t, "evenodd manager --port 0 --players 2", "EVENODD_DATA="+t.TempDir())
	url := "EVENODD_MANAGER=" + m.await(t, `at (http://\S+/mcp) waits`)[1]
	r.launch(t, "evenodd player --port 0", url, "EVENODD_DATA="+folder)
	r.launch(t, "evenodd player --port 0", url, "EVENODD_DATA="+t.TempDir())
	r.launch(t, "evenodd referee --port 0", url, "EVENODD_DATA="+t.TempDir())
	m.await(t, "The league is over; ")
	for _, command := range queries {
		if command == "evenodd health" {
			command += " " + strings.TrimPrefix(url, "EVENODD_MANAGER=")
		}
		code, stdout, stderr := runIn(t, root, []string{url, "EVENODD_DATA=" + folder}, strings.Fields(command)[1:]...)
		assert.Zero(t, code, "%s: %s", command, stderr)
		assert.Regexp(t, `P0\d|LEAGUE_COMPLETED|next_match +│ null|ok`, stdout, command)
	}
}

// runLeagueByHand runs the processes of docs/operators.md together, at ports that are free.
func (r *reader) runLeagueByHand(t *testing.T) {
	t.Helper()
	league := commandsOf(blocksOf(sectionOf(t, "docs/operators.md", "Each agent by hand"), "sh")[:1])
	require.Len(t, league, 7)
	port := freePort(t)
	r.data = t.TempDir()
	ports := []string{"EVENODD_MANAGER_PORT=" + port, "EVENODD_MANAGER=http://localhost:" + port + "/mcp", "EVENODD_DATA=" + r.data}
	var running []*process
	for _, command := range league {
		running = append(running, r.launch(t, regexp.MustCompile(`--port \d+`).ReplaceAllString(command, "--port 0"), ports...))
	}
	for i, p := range running {
		assert.Zero(t, p.awaitExit(t), "%s: %s", league[i], p.stderr.String())
		assert.Regexp(t, map[string]string{
			"manager": championPattern(usualName),
			"referee": `^REF0\d: \d match(?:es)? conducted\. Champion: (?:Player|random) \d+ \(P0\d\)`,
			"player":  `^P0\d: 3 played, .* rank \d of 4 with \d points?\. Champion: (?:Player|random) \d+ \(P0\d\)`,
		}[oneAgent().FindStringSubmatch(league[i])[1]], p.stdout.String())
	}
}
