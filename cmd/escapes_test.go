package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/words"
)

// hostile is a text that clears a terminal, changes colours and text direction, hides, and forges a
// line. rawHostile has a C1 control that is no UTF-8 as well.
const (
	hostile    = "\x1b[2J\x1b]0;forged\x07\u009b31m\u202e\u2066\u200b\r\nforged: line\u2028\u0085\x7f\b\v\f\u2029"
	rawHostile = hostile + "\x9b31m"
)

// assertHarmless fails if a printed text has anything of hostile that would have an effect.
func assertHarmless(t *testing.T, what, printed string) {
	t.Helper()
	at := strings.IndexFunc(printed, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Cf, unicode.Zl, unicode.Zp))
	})
	if found := regexp.MustCompile(`(?m)^\s*forged: line`).FindStringIndex(printed); found != nil && at < 0 {
		at = found[0]
	}
	if !utf8.ValidString(printed) {
		at = max(at, 0)
	}
	if at >= 0 {
		t.Errorf("%s prints hostile text: %q", what, printed[max(0, at-200):min(len(printed), at+100)])
	}
}

// runHarmless runs a command, whatever its result, and checks what it prints.
func runHarmless(t *testing.T, args ...string) (printed string) {
	t.Helper()
	var out, err bytes.Buffer
	Execute(t.Context(), "test", args, &out, zerolog.SyncWriter(&err))
	assertHarmless(t, fmt.Sprintf("evenodd %q (standard output)", args), out.String())
	assertHarmless(t, fmt.Sprintf("evenodd %q (standard error)", args), err.String())
	return out.String() + err.String()
}

// stringMember matches a member whose value is a string, or a list that begins with one.
var stringMember = words.Pattern(`"(\w+)":\s*(?:\[\s*)?"`)

// membersOf returns the names of the members of JSON that are strings, in order.
func membersOf(text []byte) []string {
	names := map[string]bool{}
	for _, found := range stringMember().FindAllSubmatch(text, -1) {
		names[string(found[1])] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// poison returns JSON in which all strings of one member end with hostile.
func poison(t *testing.T, text []byte, member string) []byte {
	t.Helper()
	quoted, err := json.Marshal(hostile)
	require.NoError(t, err)
	return regexp.MustCompile(`("`+member+`":\s*(?:\[\s*)?"(?:[^"\\]|\\.)*)"`).ReplaceAll(text, append([]byte("${1}"), quoted[1:]...))
}

// sealed returns lines with their checksums and, in a journal, with a valid hash chain, as a forger would make it.
func sealed(text []byte, chained bool) (lines []byte) {
	prev := journal.Origin
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if chained {
			line = regexp.MustCompile(`"prev":"[^"]*"`).ReplaceAll(line, []byte(`"prev":"`+prev+`"`))
		}
		line = appendfile.Seal(line)
		prev = journal.Hash(line)
		lines = append(append(lines, line...), '\n')
	}
	return lines
}

// readersOf are the commands that read a file of a league, each in its formats.
func readersOf(name, folder string) [][][]string {
	in := func(formats ...string) (commands [][]string) {
		for _, words := range formats {
			commands = append(commands, append(strings.Fields(words), folder))
		}
		return commands
	}
	readers := [][][]string{
		in("audit", "audit --format json"),
		in("replay R1M1 --data", "replay R2M1 --format json --data"),
	}
	if strings.HasSuffix(name, ".jsonl") {
		readers = append(readers, in("report -o - --format html", "report --format text --agent P02"))
	}
	if filepath.Base(name) == "journal.jsonl" {
		readers = append(readers, in("league status --data", "league standings --data", "league schedule --data"),
			in("league export --data", "league export --format csv --list agents --data"),
			in("ratings", "ratings --by strategy --format csv", "ratings --by model --format json"))
	}
	if filepath.Base(name) == "journal.jsonl" || strings.HasPrefix(name, "config") { // last, because it writes
		const resume = "simulate --resume --log-level info --players 3 --seed 7 --faults deny=P02@R2 --legs 2 --format "
		readers = append(readers, in(resume+"table --data", resume+"csv --data", resume+"json --data"))
	}
	return readers
}

// sampled is 1 in the long version of a test, which tries each case, and 4 in the short one.
func sampled() int {
	if os.Getenv("EVENODD_TEST_ALL") != "" {
		return 1
	}
	return 4
}

// The strings of each member in each kind of file of a league are hostile, one after the other, and each command that
// reads the files prints them escaped. The short version tries every fourth member, and each command in one of its
// formats in turn.
func TestHostileFilesAreEscapedInEveryPrintedField(t *testing.T) {
	t.Parallel()
	root := os.DirFS(mustSimulate(t, "--players", "3", "--faults", "deny=P02@R2", "--legs", "2"))
	every := sampled()
	fields, shown, kinds := 0, 0, map[string]bool{}
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		kind := regexp.MustCompile(`\d+`).ReplaceAllString(name, "")
		if err != nil || entry.IsDir() || !strings.HasPrefix(filepath.Ext(name), ".json") || strings.HasPrefix(name, "logs") || kinds[kind] {
			return err
		}
		kinds[kind] = true
		text, err := fs.ReadFile(root, name)
		for _, member := range membersOf(text) {
			if fields++; fields%every != 0 {
				continue
			}
			changed := poison(t, text, member)
			if filepath.Ext(name) == ".jsonl" {
				changed = sealed(changed, filepath.Base(name) == "journal.jsonl" && member != "prev")
			}
			copied := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(copied, root))
			require.NoError(t, os.WriteFile(filepath.Join(copied, name), changed, 0o600))
			printed := ""
			for _, formats := range readersOf(name, copied) {
				if every > 1 {
					chosen := fields / every % len(formats)
					formats = formats[chosen : chosen+1]
				}
				for _, args := range formats {
					printed += runHarmless(t, args...)
				}
			}
			if strings.Contains(printed, `forged`) {
				shown++
			}
		}
		return err
	}))
	t.Logf("%d members of %d kinds of files; %d are printed", fields, len(kinds), shown)
	assert.Greater(t, fields, 100)
	assert.Greater(t, shown, 30/every)
}

// hostileAnswers answers every request with the same status and text, and with hostile headers.
func hostileAnswers(t *testing.T, status int, body func(id string) string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Retry-After"] = []string{"\u009b31m\u202e"}
		w.Header()["Location"] = []string{"http://\u009b31m\u202e/"}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body(string(q.ID))))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// Each text in a manager's answers to queries is hostile.
func TestHostileAnswersOfAManagerAreEscaped(t *testing.T) {
	t.Parallel()
	const (
		row = `{"rank":1,"player_id":"P01","display_name":"Alpha","played":1,"wins":1,"draws":0,"losses":0,"points":3,"technical_losses":0,
			"state":"ACTIVE","state_reason":"why","failures":0,"referee_id":"REF01"}`
		match = `{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02","opponent_id":"P02",
			"referee_endpoint":"http://localhost:8001/mcp","status":"PENDING","winner_player_id":"P01"}`
		envelope = `"protocol":"league.v2","sender":"league_manager","timestamp":"2025-01-15T10:00:00Z","conversation_id":"conv-1",`
		response = `{` + envelope + `"message_type":"LEAGUE_QUERY_RESPONSE","query_type":"GET_STANDINGS","success":true,"data":{"standings":[` + row + `],"matches":[` + match + `],
			"next_match":` + match + `,"known_rounds":1,"state":"RUNNING","games":["even_odd"],"players":2,"referees":1,"rounds":3,"recorded":1,"matches_total":3,"current_round":1,
			"inactive":[{"agent_id":"P02","state":"SUSPENDED","reason":"no answer"}],"tournament":"swiss","display_name":"Alpha","player_id":"P01","rank":1,"played":1,
			"wins":1,"draws":0,"losses":0,"points":3,"state_reason":"why"}}`
		failure = `{` + envelope + `"message_type":"LEAGUE_ERROR","error_code":"E012","error_name":"AUTH_TOKEN_INVALID","error_description":"no","context":{"detail":"x","suggestion":"y"}}`
		refused = `{` + envelope + `"message_type":"LEAGUE_QUERY_RESPONSE","success":false,"error":{"error_code":"E016","error_name":"INVALID","error_description":"no"}}`
	)
	var bodies []string
	for _, form := range []string{`"result":` + response, `"result":` + failure, `"result":` + refused, `"error":{"code":-32000,"message":"x","data":` + failure + `}`} {
		for _, member := range membersOf([]byte(form)) {
			bodies = append(bodies, string(poison(t, []byte(form), member)))
		}
	}
	var answer string
	url := hostileAnswers(t, http.StatusOK, func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + answer + `}` })
	query := func(url, folder, subject string, flags ...string) string {
		return runHarmless(t, append([]string{"league", subject, "--manager", url, "--data", folder}, flags...)...)
	}
	folder, shown := registeredAt(t, url), 0
	for i, body := range bodies {
		if i%sampled() != 0 {
			continue
		}
		answer = body
		for _, about := range subjects {
			shown += strings.Count(query(url, folder, about.name), "R1M1")
		}
		if i%len(subjects) == 0 {
			query(url, folder, "standings", "--format", "json")
		}
	}
	assert.Positive(t, shown, "the answers are printed")
	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusTooManyRequests, http.StatusTeapot, http.StatusInternalServerError} {
		url := hostileAnswers(t, status, func(string) string { return rawHostile })
		query(url, registeredAt(t, url), "standings")
		if status == http.StatusTeapot {
			runHarmless(t, "simulate", "--players", "2", "--player", url, "--wait", "0s", "--patience", "50ms", "--port", "0", "--log-level", "debug")
		}
	}
}

// registeredAt returns a data folder with the identity of a player of a manager: without one a query
// asks nobody.
func registeredAt(t *testing.T, url string) string {
	t.Helper()
	folder := store.In(t.TempDir())
	require.NoError(t, store.WritePrivate(folder.Disk, folder.Identity(protocol.RolePlayer, "Alpha at "+url), &store.Identity{
		Header: store.NewHeader(""), Role: protocol.RolePlayer, DisplayName: "Alpha",
		LeagueID: "cup", AgentID: "P01", AuthToken: "tok-p01-abcdefgh",
	}))
	return folder.Path
}

// The user's own arguments and files may have text of others too: pasted, or in an archive.
func TestHostileArgumentsAreEscaped(t *testing.T) {
	for _, args := range [][]string{
		{hostile}, {"help", hostile}, {"audit", hostile}, {"replay", hostile}, {"report", hostile}, {"ratings", hostile}, {"check", hostile}, {"check", "player", hostile},
		{"schema", hostile}, {"config", hostile}, {"simulate", "--" + hostile}, {"simulate", "--strategies", hostile}, {"simulate", "--game", hostile},
		{"simulate", "--league-id", hostile}, {"simulate", "--format", hostile}, {"simulate", "--faults", hostile}, {"simulate", "--seeding", hostile},
		{"player", "--name", hostile, "--manager", hostile}, {"referee", "--host", hostile}, {"manager", "--log-level", hostile},
		{"simulate", "--config", hostile}, {"league", hostile}, {"league", "status", "--data", hostile},
		{"league", "pause", "--manager", hostile}, {"league", "rule", hostile, "--winner", hostile, "--reason", "x"}, {"league", "codes", hostile},
		{"init", "/dev/null/" + hostile}, {"completion", hostile},
	} {
		runHarmless(t, args...)
	}
}

// A terminal shows the lines of the log without the effects of hostile text; lines in JSON have it in
// the escapes of JSON.
func TestHostileTextInTheLogIsEscaped(t *testing.T) {
	var terminal, lines bytes.Buffer
	for _, w := range []io.Writer{consoleWriter(&terminal), &lines} {
		log := zerolog.New(withoutTokens{w})
		log.Warn().Err(fmt.Errorf("error%s", rawHostile)).Str("name", rawHostile).Strs("ids", []string{hostile}).Any("any", map[string]string{hostile: hostile}).
			Bytes("bytes", []byte(rawHostile)).Stringer("stringer", bytes.NewBufferString(hostile)).Msg("message" + rawHostile)
	}
	colours := regexp.MustCompile(`\x1b\[\d+m`) // of the logger
	assertHarmless(t, "the log on a terminal", colours.ReplaceAllString(terminal.String(), ""))
	assertHarmless(t, "the log as JSON", lines.String())
	assert.Contains(t, terminal.String(), `\x1b[2J`)
	var line map[string]any
	require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
	assert.Equal(t, "message"+strings.ToValidUTF8(rawHostile, "\uFFFD"), line["message"])
	assert.Equal(t, 1, strings.Count(terminal.String(), "\n"))
}

// An agent may send a token in any member that is logged.
func TestLogHidesTokens(t *testing.T) {
	const token = "tok-p01-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	dir := t.TempDir()
	var screen bytes.Buffer
	file := openSystemLog(dir, testLogs, nil)
	log := newLogger(&screen, "info", "info", func() string { return "league_manager" }, file)
	log.Warn().Str("reason", token).Err(fmt.Errorf("wrong token %s", token)).Msg("refused " + token)
	require.NoError(t, file.Close())
	for _, text := range []string{screen.String(), readFile(t, dir, systemLog)} {
		assert.Equal(t, 3, strings.Count(text, "***"))
		assert.NotContains(t, text, token)
	}
}

// A check prints nothing of a hostile agent as it is, in any format.
func TestHostileAgentIsEscapedInTheReportOfACheck(t *testing.T) {
	failure := `"error":{"code":-32000,"message":"m","data":{"protocol":"p","message_type":"GAME_ERROR","error_code":"E001","error_name":"n","error_description":"d"}}`
	for _, member := range membersOf([]byte(failure)) {
		failure = string(poison(t, []byte(failure), member))
	}
	url := hostileAnswers(t, http.StatusOK, func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + failure + `}` })
	for _, format := range []string{"text", "json"} {
		printed := runHarmless(t, "check", "player", url, "--format", format, "--only", "P-INV")
		assert.Contains(t, printed, "P-INV", format)
	}
}

// Only the functions that escape text print it.
func TestTextIsPrintedByFunctionsThatEscapeIt(t *testing.T) {
	printing := regexp.MustCompile(`fmt\.F?[Pp]rint|io\.WriteString|lipgloss\.F?[Pp]rint|csv\.NewWriter|json\.MarshalWrite`)
	allowed := map[string]string{
		"print.go":       "the functions themselves",
		"table_print.go": "the functions themselves",
		"check_print.go": "prints a page with styles",
		"replay.go":      "writes to a builder",
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if _, ok := allowed[name]; ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for n, line := range slices.Collect(strings.Lines(readFile(t, name))) {
			assert.NotRegexp(t, printing, line, "%s:%d: print with printLine, printTable, printJSON or printCSV", name, n+1)
		}
	}
}
