package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func pageText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}

// sections returns the text of each section of the page by its heading.
func sections(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(pageText(t), -1)[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		assert.NotContains(t, all, heading, "two sections have the same anchor")
		all[heading] = text
	}
	return all
}

// walk calls visit with each member of the object and of the values in it.
func (f *field) walk(path string, visit func(path string, f *field)) {
	for i := range f.fields {
		member := &f.fields[i]
		at := strings.TrimPrefix(path+"."+member.name, ".")
		visit(at, member)
		member.walk(at, visit)
	}
	if f.kind == kindArray {
		path += "[]"
	}
	if f.items != nil {
		f.items.walk(path, visit)
	}
}

// members calls visit for each member of each message and tool.
func members(visit func(messageType, path string, f *field)) {
	of := func(messageType string, shape *field) {
		shape.walk("", func(path string, f *field) { visit(messageType, path, f) })
	}
	of(TypeLeagueError, shapes[TypeLeagueError])
	for _, m := range methodRows {
		of(cmp.Or(m.Request, m.Name), m.request)
		of(m.Result, m.result)
	}
}

func TestEachMeaningHasAMember(t *testing.T) {
	unused := maps.Clone(meanings)
	members(func(messageType, path string, _ *field) { delete(unused, meaningKey(messageType, path)) })
	assert.Empty(t, unused, "no member has these meanings")
}

func TestProtocolPageHasASectionForEachMessageAndTool(t *testing.T) {
	all := sections(t)
	for _, messageType := range MessageTypes() {
		about, rest, ok := strings.Cut(all[messageType], "<!-- generated: message "+messageType+" -->")
		assert.True(t, ok, "no section %s", messageType)
		assert.Contains(t, about, ".", "%s begins with a sentence", messageType)
		delete(all, messageType)
		_ = rest
	}
	for _, m := range methodRows {
		if m.Request == "" {
			assert.Contains(t, all[m.Name], "<!-- generated: tool "+m.Name+" -->")
			delete(all, m.Name)
		}
	}
	for heading := range all {
		assert.NotRegexp(t, `^[A-Z]+_[A-Z_]+$|^[a-z]+_[a-z_]+$`, heading, "the program has no such message or method")
	}
}

// codesOf returns the JSON-RPC codes of an error code, that of the catalogue first.
func codesOf(code Code) string {
	own := catalogue[code].rpc
	other := map[int]bool{}
	for _, m := range methodRows {
		if rpc, ok := m.codes[code]; ok && rpc != own {
			other[rpc] = true
		}
	}
	text := fmt.Sprint(own)
	for _, rpc := range slices.Sorted(maps.Keys(other)) {
		text += fmt.Sprintf(", %d", rpc)
	}
	return text
}

func TestProtocolPageHasTheErrorCatalogue(t *testing.T) {
	var want, got []string
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		want = append(want, fmt.Sprintf("| %s | %s | %s |", code, code.Name(), codesOf(code)))
	}
	for _, row := range regexp.MustCompile(`(?m)^(\| E\d+ \|[^|]*\|[^|]*\|)[^|]+\|[^|]+\|$`).FindAllStringSubmatch(sections(t)["Error catalogue"], -1) {
		got = append(got, row[1])
	}
	assert.Equal(t, want, got)
}

// The errors of a message have the JSON-RPC codes of its method: "`E006` (4003)".
func TestProtocolPageHasTheCodesOfEachMethod(t *testing.T) {
	pair := regexp.MustCompile("((?:`E\\d{3}`(?:, | and | or )?)+)\\s\\((-?\\d+)\\)")
	checked := 0
	for heading, text := range sections(t) {
		if heading == "Messages of rounds" {
			heading = TypeRoundAnnouncement
		}
		for _, m := range methodRows {
			if m.Request != heading && m.Name != heading {
				continue
			}
			for _, found := range pair.FindAllStringSubmatch(text, -1) {
				for _, code := range regexp.MustCompile(`E\d{3}`).FindAllString(found[1], -1) {
					rpc, ok := m.codes[Code(code)]
					if !ok {
						rpc = catalogue[Code(code)].rpc
					}
					assert.Equal(t, fmt.Sprint(rpc), found[2], "%s of %s", code, heading)
					checked++
				}
			}
		}
	}
	assert.Greater(t, checked, 30)
}

// words returns all names of the code that the page may mention: of messages, methods, members,
// errors and values.
func words() map[string]bool {
	known := map[string]bool{}
	add := func(texts ...string) {
		for _, text := range texts {
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
				known[word] = true
			}
		}
	}
	for _, m := range methodRows {
		add(m.Name, m.Request, m.Result)
		add(m.Aliases...)
	}
	members(func(_, path string, f *field) { add(path, strings.Join(f.values, " ")) })
	for _, meaning := range meanings {
		add(meaning)
	}
	for code, c := range catalogue {
		add(string(code), c.name)
	}
	add(QueryStandings, QuerySchedule, QueryNextMatch, QueryPlayerStats, QueryStatus, StatusAcknowledged)
	// Members of data and of context, settings, names of games and of the specification.
	add("next_match undecided known_rounds technical_losses state_reason retry_after_sec", "even_odd tic_tac_toe rock_paper_scissors connect_four place_mark show_hand drop_mark", // cmd checks the games
		"unique_display_names registration_grace_sec announce_lead_sec by_meaning provided_token expected_format agents_config agents json", "params mcp_message league_manager")
	return known
}

func TestProtocolPageNamesNothingUnknown(t *testing.T) {
	text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(pageText(t), "")
	known := words()
	for _, word := range regexp.MustCompile(`\bE\d{3}\b|\b[A-Z]+(?:_[A-Z]+)+\b`).FindAllString(text, -1) {
		assert.True(t, known[word], "the code does not have %s", word)
	}
	for _, name := range regexp.MustCompile("`[\\w.]*_[\\w.]*`").FindAllString(text, -1) {
		for word := range strings.SplitSeq(strings.Trim(name, "`"), ".") {
			assert.True(t, known[word], "the code does not have %s", name)
		}
	}
}
