package program

import (
	"errors"
	"strings"

	"evenodd/league/words"
)

// quoted is the pattern of a quoted string, and of a backslash with the character after it.
const quoted = `'[^']*'|"(?:[^"\\]|\\.)*"|\\.`

var (
	wordPattern = words.Pattern(`(?s)(?:` + quoted + `|[^ \t\n'"\\])+`)
	partPattern = words.Pattern(`(?s)` + quoted)
	// an item of a list: quoted as in CSV with the comma after it, or with the quotes of a shell
	fieldPattern = words.Pattern(`^[ \t]*"(?:[^"]|"")*"[ \t]*(?:,|$)`)
	itemPattern  = words.Pattern(`(?s)^(?:` + quoted + `|[^,'"\\])*`)
	unescaped    = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

var errOpen = errors.New("an open quote, or a backslash at the end")

// Words splits a command line into words, with the quotes and backslashes of a shell but
// none of its expansions.
func Words(line string) (list []string, err error) {
	if rest := wordPattern().ReplaceAllString(line, ""); strings.Trim(rest, " \t\n") != "" {
		return nil, errOpen
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

// Split splits a list of names, some of which are command lines, at its commas, but not at those within the quotes of a
// command line or after a backslash. An item that is quoted as a whole, as in a line of CSV, loses these quotes.
func Split(list string) (items []string, err error) {
	for rest := list; ; {
		item := fieldPattern().FindString(rest)
		if item != "" {
			item = strings.TrimSuffix(item, ",")
			rest = rest[len(item):]
			field := strings.TrimSpace(item)
			item = strings.ReplaceAll(field[1:len(field)-1], `""`, `"`)
		} else {
			item = itemPattern().FindString(rest)
			rest = rest[len(item):]
			item = strings.TrimSpace(item)
			if one, err := Words(item); err == nil && len(one) == 1 && strings.ContainsAny(item[:1], `'"`) {
				item = one[0]
			}
		}
		items = append(items, item)
		switch {
		case rest == "":
			return items, nil
		case rest[0] != ',':
			return nil, errOpen
		}
		rest = rest[1:]
	}
}
