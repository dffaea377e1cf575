package external

import (
	"errors"
	"strings"
)

// words splits a command line as a shell does, and does nothing else that a
// shell does: quotes and backslashes keep words together.
func words(line string) ([]string, error) {
	var (
		list  []string
		word  strings.Builder
		begun bool // also for a word of nothing but quotes
		quote rune // the one that is open
		taken bool // by a backslash before
	)
	for _, r := range line {
		switch {
		case taken:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			taken = false
		case r == '\\' && quote != '\'':
			taken, begun = true, true
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
	if quote != 0 || taken {
		return nil, errors.New("a quote is not closed, or a backslash stands last")
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}
