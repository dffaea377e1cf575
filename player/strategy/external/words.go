package external

import (
	"errors"
	"strings"
)

// words splits a command line into words, with the quotes and backslashes of a shell but
// none of its expansions.
func words(line string) ([]string, error) {
	var (
		list    []string
		word    strings.Builder
		begun   bool // true also for an empty quoted word
		quote   rune // the open one
		escaped bool // by a backslash
	)
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("an open quote, or a backslash at the end")
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}
