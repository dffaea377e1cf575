package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

func TestRosterIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"two columns":            "name,code\nAlice,code-of-alice\nBob,code-of-bobby\n",
		"a byte order mark":      "\ufeffname,code\nAlice,code-of-alice\nBob,code-of-bobby\n",
		"CRLF, spaces and lines": "Name , Code\r\n Alice , code-of-alice \r\n\r\nBob, code-of-bobby\r\n",
		"another order, a role":  "role,code,name\n,code-of-alice,Alice\nPlayer,code-of-bobby,\"Bob\"",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.ParseRoster([]byte(text))
			require.NoError(t, err)
			assert.Equal(t, []config.RosterEntry{
				{Role: "player", Name: "Alice", Code: "code-of-alice"}, {Role: "player", Name: "Bob", Code: "code-of-bobby"},
			}, got)
		})
	}
	got, err := config.ParseRoster([]byte("name,code,role\nAndre\u0301,code-of-andre,\nAndré,code-of-whistle,referee\n"))
	require.NoError(t, err)
	assert.Equal(t, []config.RosterEntry{
		{Role: "player", Name: "André", Code: "code-of-andre"}, {Role: "referee", Name: "André", Code: "code-of-whistle"},
	}, got, "names are in NFC, and each role has its own")
}

func TestBadRosterIsRefusedWithItsLines(t *testing.T) {
	const rule = "a registration code has 8 to 128 ASCII characters without spaces, commas, double quotes and backslashes"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                 {"", "line 1: the first line names the columns: name,code or name,code,role"},
		"no agents":             {"name,code\n", "the roster lists no agent"},
		"no header":             {"Alice,code-of-alice\n", `line 1: unknown or repeated column "alice"`},
		"no codes":              {"name,role\n", "line 1: the first line names the columns"},
		"semicolons":            {"name;code\nAlice;code-of-alice\n", "separated by commas"},
		"a column twice":        {"name,code,name\n", `line 1: unknown or repeated column "name"`},
		"a missing column":      {"name,code\nAlice\n", "line 2: the line has 1 columns, the header has 2"},
		"a short code":          {"name,code\nAlice,sekret7\n", "line 2: code: " + rule},
		"a long code":           {"name,code\nAlice," + strings.Repeat("x", 129) + "\n", "line 2: code: " + rule},
		"a code with a space":   {"name,code\nAlice,code of alice\n", "line 2: code: " + rule},
		"a code twice":          {"name,code\nAlice,code-of-both\nBob,code-of-both\n", "line 3: the code is in line 2 already"},
		"a name twice":          {"name,code\nAlice,code-of-alice\nAlice,code-of-other\n", `line 3: the name "Alice" is in line 2 already`},
		"a name like another":   {"name,code\nAlice,code-of-alice\nALICE,code-of-other\n", `line 3: the name "ALICE" is in line 2 already, or looks like the one there`},
		"no name":               {"name,code\n,code-of-alice\n", "line 2: name: must have 1 to 50 characters"},
		"an invisible name":     {"name,code\nAl\u200bice,code-of-alice\n", "line 2: name: display_name has a character that cannot be seen, U+200B"},
		"an unknown role":       {"name,code,role\nAlice,code-of-alice,judge\n", `line 2: role "judge": must be player or referee`},
		"a quote in the middle": {"name,code\nAl\"ice,code-of-alice\n", "not CSV"},
		"all lines with errors": {"name,code\nAlice,x\nBob,y\n", "line 3: code: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.ParseRoster([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "sekret", "codes are secret")
		})
	}
}
