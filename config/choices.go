package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRange is how many choices a range such as 0-8 may stand for.
const maxRange = 1000

// compact writes three or more consecutive whole numbers as a range, as the
// specification does: 0-8 (spec 003 §3.8.3).
func compact(choices []string) []string {
	var out []string
	for i := 0; i < len(choices); {
		first, isNumber := number(choices[i])
		n := 1
		for isNumber && i+n < len(choices) && choices[i+n] == strconv.Itoa(first+n) {
			n++
		}
		if n < 3 {
			out, i = append(out, choices[i]), i+1
			continue
		}
		out, i = append(out, fmt.Sprintf("%d-%d", first, first+n-1)), i+n
	}
	return out
}

// spread is the reverse of compact, in order.
func spread(choices []string) []string {
	var out []string
	for _, c := range choices {
		from, to, _ := strings.Cut(c, "-")
		first, begins := number(from)
		last, ends := number(to)
		if !begins || !ends || last < first || last-first >= maxRange {
			out = append(out, c)
			continue
		}
		for n := first; n <= last; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	slices.Sort(out)
	return out
}

// number reads a whole number from 0 in its only form.
func number(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s && n >= 0
}

// sameChoices tells whether two tables of choices, by kind of move, allow the same.
func sameChoices(a, b map[string][]string) bool {
	if len(a) != len(b) {
		return false
	}
	for move, choices := range a {
		if other, there := b[move]; !there || !slices.Equal(spread(choices), spread(other)) {
			return false
		}
	}
	return true
}

// compacted is a table of choices with ranges.
func compacted(choices map[string][]string) map[string][]string {
	out := make(map[string][]string, len(choices))
	for move, list := range choices {
		out[move] = compact(list)
	}
	return out
}
