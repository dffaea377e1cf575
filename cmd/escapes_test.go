package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	ok := utf8.ValidString(printed) && !strings.ContainsFunc(printed, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Cf, unicode.Zl, unicode.Zp))
	})
	if !ok || regexp.MustCompile(`(?m)^\s*forged: line`).MatchString(printed) {
		t.Errorf("%s prints hostile text:\n%q", what, printed)
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

// poisonings returns copies of a JSON value, one for each path of members with strings, or of member
// names in maps of them: in each copy all strings at one path end with hostile.
func poisonings(value any) map[string]any {
	paths := map[string]bool{}
	walk(value, "", func(path, text string) string { paths[path] = true; return text })
	copies := map[string]any{}
	for wanted := range paths {
		copies[wanted] = walk(value, "", func(path, text string) string {
			if path == wanted {
				return text + hostile
			}
			return text
		})
	}
	return copies
}

// idMember is the name of a member that is an id.
var idMember = regexp.MustCompile(`^(P\d+|REF\d+|R\d+M\d+)$`)

// walk returns a copy of a value with other strings.
func walk(value any, path string, change func(path, text string) string) any {
	switch v := value.(type) {
	case string:
		return change(path, v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = walk(v[i], path+"[]", change)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, member := range v {
			if idMember.MatchString(name) {
				name = change(path+".{id}", name)
				object[name] = walk(member, path+".{}", change)
				continue
			}
			object[name] = walk(member, path+"."+name, change)
		}
		return object
	}
	return value
}

// A linesFile is a file with a JSON value on each line, or one value on several lines.
type linesFile struct {
	name   string
	values []any
}

func readLines(t *testing.T, root fs.FS, name string) linesFile {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	require.NoError(t, err)
	f := linesFile{name: name}
	for decoder := json.NewDecoder(bytes.NewReader(text)); decoder.More(); {
		var value any
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&value), name)
		f.values = append(f.values, value)
	}
	return f
}

// poisonedFiles returns copies of a file, each with hostile at one path. The hash chain of a journal is
// valid, as a forger would make it.
func (f linesFile) poisonedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for path, copied := range poisonings(f.values) {
		var text []byte
		prev := journal.Origin
		for i, value := range copied.([]any) {
			line, err := json.Marshal(value)
			require.NoError(t, err)
			if event, ok := value.(map[string]any); ok && filepath.Base(f.name) == "journal.jsonl" && path != "[].prev" {
				// as the program writes it: these members first
				delete(event, "prev")
				line = fmt.Appendf(nil, `{"seq":%d,"at":%s,"prev":%q,"type":%s,`, i+1, quotedJSON(t, event["at"]), prev, quotedJSON(t, event["type"]))
				for _, name := range []string{"seq", "at", "type"} {
					delete(event, name)
				}
				rest, err := json.Marshal(event)
				require.NoError(t, err)
				line = append(line, rest[1:]...)
				prev = journal.Hash(line)
			}
			text = append(append(text, line...), '\n')
		}
		files[path] = text
	}
	return files
}

func quotedJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

// Each string in the files of a league is hostile, one after the other, and each command that reads
// the files prints it escaped. The short version tries every fourth field.
func TestHostileFilesAreEscapedInEveryPrintedField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runHarmless(t, "simulate", "--players", "3", "--seed", "7", "--data", dir, "--faults", "deny=P02@R2", "--legs", "2")
	root := os.DirFS(dir)
	var names []string
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err == nil && !entry.IsDir() && (ext == ".json" || ext == ".jsonl") && !strings.HasPrefix(name, "logs") {
			names = append(names, name)
		}
		return err
	}))
	every := 4
	if os.Getenv("EVENODD_TEST_ALL") != "" {
		every = 1
	}
	fields, shown := 0, map[string]bool{}
	for _, name := range names {
		files := readLines(t, root, name).poisonedFiles(t)
		for _, field := range slices.Sorted(maps.Keys(files)) {
			if fields++; fields%every != 0 {
				continue
			}
			copied := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(copied, root))
			require.NoError(t, os.WriteFile(filepath.Join(copied, name), files[field], 0o600))
			printed := runHarmless(t, "audit", copied)
			printed += runHarmless(t, "audit", copied, "--format", "json")
			printed += runHarmless(t, "replay", "R1M1", "--data", copied)
			printed += runHarmless(t, "replay", "R2M1", "--data", copied, "--format", "json")
			if filepath.Base(name) == "journal.jsonl" {
				for _, command := range []string{"status", "standings", "schedule", "export"} {
					printed += runHarmless(t, "league", command, "--data", copied)
				}
				printed += runHarmless(t, "league", "export", "--format", "csv", "--list", "agents", "--data", copied)
			}
			if strings.HasSuffix(name, ".jsonl") {
				printed += runHarmless(t, "report", copied, "--format", "html", "-o", "-")
				printed += runHarmless(t, "report", copied, "--format", "text", "--agent", "P02")
				printed += runHarmless(t, "report", copied, "--format", "markdown", "--agent", "P02")
			}
			if filepath.Base(name) == "journal.jsonl" || strings.HasPrefix(name, "config") {
				for _, format := range []string{"table", "csv", "json"} {
					printed += runHarmless(t, "simulate", "--resume", "--data", copied, "--log-level", "info", "--format", format,
						"--players", "3", "--seed", "7", "--faults", "deny=P02@R2", "--legs", "2")
				}
			}
			if strings.Contains(printed, `forged`) {
				shown[name+" "+field] = true
			}
		}
	}
	t.Logf("%d fields of %d files; %d are printed", fields, len(names), len(shown))
	assert.Greater(t, fields, 100)
	assert.Greater(t, len(shown), 30/every)
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
	row := map[string]any{
		"rank": 1, "player_id": "P01", "display_name": "Alpha", "played": 1, "wins": 1, "draws": 0, "losses": 0, "points": 3,
		"technical_losses": 0, "state": "ACTIVE", "state_reason": "why", "failures": 0, "referee_id": "REF01",
	}
	match := map[string]any{
		"round_id": 1, "match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02", "opponent_id": "P02",
		"referee_endpoint": "http://localhost:8001/mcp", "status": "PENDING", "winner_player_id": "P01",
	}
	data := map[string]any{
		"standings": []any{row}, "matches": []any{match}, "next_match": match, "known_rounds": 1,
		"state": "RUNNING", "games": []any{"even_odd"}, "players": 2, "referees": 1, "rounds": 3, "recorded": 1, "matches_total": 3, "current_round": 1,
		"inactive": []any{map[string]any{"agent_id": "P02", "state": "SUSPENDED", "reason": "no answer"}}, "tournament": "swiss",
		"display_name": "Alpha", "player_id": "P01", "rank": 1, "played": 1, "wins": 1, "draws": 0, "losses": 0, "points": 3, "state_reason": "why",
	}
	response := map[string]any{
		"protocol": "league.v2", "message_type": "LEAGUE_QUERY_RESPONSE", "sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z",
		"conversation_id": "conv-1", "query_type": "GET_STANDINGS", "success": true, "data": data,
	}
	failure := map[string]any{
		"protocol": "league.v2", "message_type": "LEAGUE_ERROR", "sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z",
		"conversation_id": "conv-1", "error_code": "E012", "error_name": "AUTH_TOKEN_INVALID", "error_description": "no", "context": map[string]any{"detail": "x", "suggestion": "y"},
	}
	refused := map[string]any{
		"protocol": "league.v2", "message_type": "LEAGUE_QUERY_RESPONSE", "sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z",
		"conversation_id": "conv-1", "query_type": "GET_STANDINGS", "success": false,
		"error": map[string]any{"error_code": "E016", "error_name": "INVALID", "error_description": "no"},
	}
	var bodies []map[string]any
	for _, one := range poisonings(response) {
		bodies = append(bodies, map[string]any{"result": one})
	}
	for _, one := range slices.Concat(poisonedList(failure), poisonedList(refused)) {
		bodies = append(bodies, map[string]any{"error": map[string]any{"code": -32000, "message": "x" + hostile, "data": one}}, map[string]any{"result": one})
	}
	var answer string
	url := hostileAnswers(t, http.StatusOK, func(id string) string { return strings.Replace(answer, `"ID"`, id, 1) })
	folders := map[string]string{}
	query := func(url, subject string, flags ...string) string {
		if folders[url] == "" {
			folders[url] = registeredAt(t, url)
		}
		args := []string{"query", subject, "--manager", url, "--data", folders[url]}
		return runHarmless(t, append(args, flags...)...)
	}
	shown := 0
	for _, body := range bodies {
		body["jsonrpc"], body["id"] = "2.0", "ID"
		answer = string(quotedJSON(t, body))
		for _, subject := range subjectNames {
			shown += strings.Count(query(url, subject), "R1M1")
		}
		query(url, "standings", "--format", "json")
	}
	assert.Positive(t, shown, "the answers are printed")
	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusTooManyRequests, http.StatusTeapot, http.StatusInternalServerError} {
		url := hostileAnswers(t, status, func(string) string { return rawHostile })
		query(url, "standings")
		if status == http.StatusTeapot {
			runHarmless(t, "simulate", "--players", "2", "--player", url, "--wait", "0s", "--patience", "50ms", "--listen", "localhost:0", "--log-level", "debug")
			runHarmless(t, "replay", "R1M1", "--data", t.TempDir(), "--against", url)
		}
	}
}

// registeredAt returns a data folder with the identity of a player of a manager: without one a query
// asks nobody.
func registeredAt(t *testing.T, url string) string {
	t.Helper()
	folder := store.Folder(t.TempDir())
	require.NoError(t, store.WritePrivate(folder.Identity(protocol.RolePlayer, "Alpha at "+url), &store.Identity{
		SchemaVersion: "1.0.0", Role: protocol.RolePlayer, DisplayName: "Alpha",
		LeagueID: "cup", AgentID: "P01", AuthToken: "tok-p01-abcdefgh",
	}))
	return string(folder)
}

func poisonedList(value any) (list []any) {
	for _, one := range poisonings(value) {
		list = append(list, one)
	}
	return list
}

// The user's own arguments and files may have text of others too: pasted, or in an archive.
func TestHostileArgumentsAreEscaped(t *testing.T) {
	for _, args := range [][]string{
		{hostile}, {"help", hostile}, {"audit", hostile}, {"replay", hostile}, {"report", hostile}, {"query", hostile}, {"check", hostile}, {"check", "player", hostile},
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
	for _, w := range []struct {
		to      *bytes.Buffer
		through func() zerolog.Logger
	}{
		{&terminal, func() zerolog.Logger { return zerolog.New(withoutTokens{consoleWriter(&terminal)}) }},
		{&lines, func() zerolog.Logger { return zerolog.New(withoutTokens{&lines}) }},
	} {
		log := w.through()
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
	file := openSystemLog(dir, nil)
	log, err := newLogger(&screen, "info", "info", func() string { return "league_manager" }, file)
	require.NoError(t, err)
	log.Warn().Str("reason", token).Err(fmt.Errorf("wrong token %s", token)).Msg("refused " + token)
	require.NoError(t, file.Close())
	for _, text := range []string{screen.String(), readFile(t, dir, "logs/system/orchestrator.log.jsonl")} {
		assert.Equal(t, 3, strings.Count(text, "***"))
		assert.NotContains(t, text, token)
	}
}

// A check prints nothing of a hostile agent as it is, in any format.
func TestHostileAgentIsEscapedInTheReportOfACheck(t *testing.T) {
	url := hostileAnswers(t, http.StatusOK, func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":` + string(quotedJSON(t, hostile)) + `,"data":` + string(quotedJSON(t, map[string]any{
			"protocol": hostile, "message_type": "GAME_ERROR" + hostile, "error_code": "E001" + hostile, "error_name": hostile, "error_description": hostile,
		})) + `}}`
	})
	for _, format := range []string{"text", "json", "junit"} {
		printed := runHarmless(t, "check", "player", url, "--format", format, "--only", "P-INV")
		assert.Contains(t, printed, "P-INV", format)
	}
}

// JSON that is written in pieces is escaped, wherever a piece ends.
func TestJSONInPiecesIsEscaped(t *testing.T) {
	text := quotedJSON(t, "Zoë \U0001F600"+hostile+"\U0001F600")
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &jsonWriter{to: &out}
		for piece := range slices.Chunk(text, size) {
			_, err := w.Write(piece)
			require.NoError(t, err)
		}
		assertHarmless(t, "JSON", out.String())
		assert.JSONEq(t, string(text), out.String())
	}
}

// Only the functions that escape text print it.
func TestTextIsPrintedByFunctionsThatEscapeIt(t *testing.T) {
	printing := regexp.MustCompile(`fmt\.F?[Pp]rint|io\.WriteString|lipgloss\.F?[Pp]rint|csv\.NewWriter|json\.MarshalWrite`)
	allowed := map[string]string{
		"print.go":       "the functions themselves",
		"table_print.go": "the functions themselves",
		"check_print.go": "prints a page with styles",
		"check_junit.go": "prints XML, whose texts are escaped",
		"replay.go":      "writes to a builder",
		"help.go":        "prints the help, which is text of this program",
		"man.go":         "writes to a builder",
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if _, ok := allowed[name]; ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for n, line := range slices.Collect(strings.Lines(string(text))) {
			assert.NotRegexp(t, printing, line, "%s:%d: print with printLine, printTable, printJSON or printCSV", name, n+1)
		}
	}
}
