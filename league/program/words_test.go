package program

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
			got, err := Words(tt.line)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
	for _, line := range []string{`"`, `a 'b`, `a\`, `"a\"`} {
		_, err := Words(line)
		assert.Error(t, err, line)
	}
}

func TestCommasWithinQuotesSplitNoNames(t *testing.T) {
	for _, tt := range []struct {
		name, list string
		want       []string
	}{
		{"one", "random", []string{"random"}},
		{"several", "random, even,odd", []string{"random", "even", "odd"}},
		{"an empty one", "random,", []string{"random", ""}},
		{"single quotes", `exec:./bot 'a,b' c,random`, []string{`exec:./bot 'a,b' c`, "random"}},
		{"double quotes", `exec:./bot "a,'b" c,random`, []string{`exec:./bot "a,'b" c`, "random"}},
		{"an escaped quote in double quotes", `exec:./bot "a\",b",random`, []string{`exec:./bot "a\",b"`, "random"}},
		{"quotes within a word", `exec:./bot --list="1,2",random`, []string{`exec:./bot --list="1,2"`, "random"}},
		{"a backslash", `exec:./bot 1\,2,random`, []string{`exec:./bot 1\,2`, "random"}},
		{"no quotes", `exec:./bot 1,random`, []string{"exec:./bot 1", "random"}},
		{"an item in double quotes", `"exec:./bot 1,2",random`, []string{"exec:./bot 1,2", "random"}},
		{"an item in single quotes", `'exec:./bot "1,2"' , random`, []string{`exec:./bot "1,2"`, "random"}},
		{"an item of CSV", `random,"exec:./bot ""1,2"""`, []string{"random", `exec:./bot "1,2"`}},
		{"an item of CSV with a backslash", `"exec:./bot ""a\"",b"""`, []string{`exec:./bot "a\",b"`}},
		{"a program whose path is quoted", `"./my bot" x,random`, []string{`"./my bot" x`, "random"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Split(tt.list)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
	for _, list := range []string{`exec:./bot "a,b`, `exec:./bot 'a,random`, `random,exec:./bot \`, `exec:it's,random`} {
		_, err := Split(list)
		assert.ErrorContains(t, err, "an open quote, or a backslash at the end", list)
	}
}
