package external

import (
	"errors"
	"strings"

	"evenodd/league/protocol"
)

// quoted is the pattern of a quoted string, and of a backslash with the character after it.
const quoted = `'[^']*'|"(?:[^"\\]|\\.)*"|\\.`

var (
	wordPattern = protocol.Pattern(`(?s)(?:` + quoted + `|[^ \t\n'"\\])+`)
	partPattern = protocol.Pattern(`(?s)` + quoted)
	unescaped   = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// words splits a command line into words, with the quotes and backslashes of a shell but
// none of its expansions.
func words(line string) (list []string, err error) {
	if rest := wordPattern().ReplaceAllString(line, ""); strings.Trim(rest, " \t\n") != "" {
		return nil, errors.New("an open quote, or a backslash at the end")
	}
	for _, word := range wordPattern().FindAllString(line, -1) {
		list = append(list, partPattern().ReplaceAllStringFunc(word, func(part string) string {
			switch part[0] {
			case '"':
				return unescaped.Replace(part[1 : len(part)-1])
			case '\'':
				return part[1 : len(part)-1]
			}
			return part[1:] // without the backslash
		}))
	}
	return list, nil
}
