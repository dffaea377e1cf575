package dialect

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// rowsBelow are the cells of the tables below a heading of docs/third-party.md.
func rowsBelow(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/third-party.md")
	require.NoError(t, err)
	_, below, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ := strings.Cut(below, "\n## ")
	for _, line := range regexp.MustCompile(`(?m)^\| (.+) \|$`).FindAllStringSubmatch(section, -1) {
		if cells := strings.Split(line[1], " | "); !strings.HasPrefix(cells[0], "---") {
			rows = append(rows, cells)
		}
	}
	require.NotEmpty(t, rows, heading)
	return rows[1:]
}

// Each name in the method table has its evidence in the page, and no other name has.
func TestPageListsEachNameOfAMethodWithItsEvidence(t *testing.T) {
	var listed, inTable []string
	for _, row := range rowsBelow(t, "Names of methods") {
		require.Len(t, row, 3, row)
		listed = append(listed, strings.Trim(row[0], "`")+" "+strings.Trim(row[1], "`"))
		assert.NotEmpty(t, row[2])
	}
	for _, m := range protocol.Methods() {
		for _, name := range append(m.ThirdParty, m.Aliases...) {
			inTable = append(inTable, m.Name+" "+name)
			assert.Equal(t, m.Request, named(name).Request)
		}
	}
	assert.ElementsMatch(t, inTable, listed)
}

// Each wrapping that is tried has its evidence in the page, in the order of the page.
func TestPageListsEachWrappingWithItsEvidence(t *testing.T) {
	var tried, listed []string
	for _, s := range shapes {
		switch f := s.form; {
		case f.path != "":
			tried = append(tried, "POST "+f.path+" with the message alone")
		case f.Flat:
			tried = append(tried, "JSON-RPC with the members of `player_meta` or `referee_meta` at the top level too")
		case f.Nested:
			tried = append(tried, "JSON-RPC with nested members")
		case f.wrapping == inNothing:
			tried = append(tried, "the message without JSON-RPC")
		case f.OnServer():
			tried = append(tried, "`tools/call` with a tool that the MCP server lists")
		case f.wrapping == inTool:
			tried = append(tried, "`tools/call` with the method or a third-party name")
		case f.wrapping == inEnvelope:
			tried = append(tried, "`"+f.name+"` with the message in `params.message`")
		case f.name != "":
			tried = append(tried, "`"+f.name+"` with the message as `params`")
		default:
			tried = append(tried, "JSON-RPC with each name of the method")
		}
	}
	for _, row := range rowsBelow(t, "Structure around a message") {
		require.Len(t, row, 2, row)
		listed = append(listed, row[0])
	}
	assert.Equal(t, tried, listed)
}

func TestRepliesOfThePageAreUnderstood(t *testing.T) {
	for _, row := range rowsBelow(t, "Replies") {
		require.Len(t, row, 2, row)
		method, want := protocol.Invite.Name, `"accept":true`
		if strings.Contains(row[0], "choice") {
			method, want = protocol.ChooseParity.Name, `"parity_choice":"even"`
		}
		q := MethodOf(method)
		r := q.ReadReply([]byte("1"), 200, []byte(strings.Trim(row[0], "`")))
		assert.Equal(t, Understood, r.Verdict, row[0])
		assert.Contains(t, string(r.Body), want)
	}
}

// The evidence names captures that exist.
func TestPageNamesCapturesThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/third-party.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`(maker-[a-z])`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		assert.DirExists(t, "testdata/peers/"+name[1])
	}
}

func TestFormsOfAMethodAreDifferentAndFitASet(t *testing.T) {
	for i := range methods {
		m, seen, n := &methods[i], map[Form]bool{}, 0
		for position, f := range m.Forms() {
			assert.Equal(t, n, position)
			assert.False(t, seen[f], "%s twice", f)
			seen[f] = true
			n++
		}
		assert.LessOrEqual(t, n, 64, m.Name)
		assert.True(t, seen[SpecForm(m.Name)], m.Name)
	}
}

func TestLikeliestFormsComeFirst(t *testing.T) {
	var names []string
	for _, f := range MethodOf("choose_parity").Forms() {
		names = append(names, f.String())
	}
	assert.Equal(t, []string{"choose_parity", "CHOOSE_PARITY_CALL", "choose_parity_call", "receive_parity_call", "parity_choose",
		"handle_message", "mcp_message", "the message without JSON-RPC", "a tool that the MCP server lists", "tools/call choose_parity", "tools/call receive_parity_call",
		"choose_parity with nested members", "CHOOSE_PARITY_CALL with nested members", "choose_parity_call with nested members"}, names)
}
