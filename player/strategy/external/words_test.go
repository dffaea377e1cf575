package external

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandLineIsSplitIntoWords(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       []string
	}{
		{"none", "", nil},
		{"spaces", "  \t ", nil},
		{"one", "./bot", []string{"./bot"}},
		{"several", " ./bot  --level\t3 ", []string{"./bot", "--level", "3"}},
		{"double quotes", `./bot "a b" c`, []string{"./bot", "a b", "c"}},
		{"single quotes", `./bot 'a "b"  c'`, []string{"./bot", `a "b"  c`}},
		{"quotes within a word", `--name="a b"c`, []string{"--name=a bc"}},
		{"empty quotes", `./bot "" ''`, []string{"./bot", "", ""}},
		{"a backslash", `a\ b \" \\`, []string{"a b", `"`, `\`}},
		{"a backslash in double quotes", `"\" \\ \n"`, []string{`" \ \n`}},
		{"a backslash in single quotes", `'\n\'`, []string{`\n\`}},
		{"no expansion", "./bot $HOME *.py `ls` a;b", []string{"./bot", "$HOME", "*.py", "`ls`", "a;b"}},
		{"other letters", "./bot 'é ü'", []string{"./bot", "é ü"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := words(tt.line)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
	for _, line := range []string{`"`, `a 'b`, `a\`, `"a\"`} {
		_, err := words(line)
		assert.Error(t, err, line)
	}
}
