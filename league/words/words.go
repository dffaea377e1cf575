// Package words has what all packages need to write sentences for people: numbers with their nouns, lists, the word
// that a mistyped one resembles, and texts of others shortened and made harmless. It imports nothing of the module.
package words

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Counted is a number with its noun: "1 match", "3 matches".
func Counted(n int, noun string) string {
	stem, ies := strings.CutSuffix(noun, "y")
	ies = ies && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1]))
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch"):
		noun += "es"
	case ies:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Times tells how often something happened: "once", "3 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return Counted(n, "time")
}

// Or lists words, of which one applies: "text, json or csv".
func Or(list []string) string { return listed(list, " or ") }

// And lists words, which apply together: "P01, P02 and P03".
func And(list []string) string { return listed(list, " and ") }

func listed(list []string, conjunction string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + conjunction + list[last]
}

// Clip cuts a text to limit bytes, and removes invalid UTF-8.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "")
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Pattern returns a regular expression, compiled at its first use: most runs of the program use few.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Some lists the first elements of a list, at most so many, and says how many it leaves out: "P01, P02 and 17 more". It
// shows a list whole if it would leave out one.
func Some(list []string, most int) string {
	if len(list) <= most+1 {
		return And(list)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// DidYouMean returns " (did you mean NAME?)" with the one of names that a mistyped word resembles
// most, or "" if it resembles none. Errors append it to the unknown word.
func DidYouMean(word string, names []string) string {
	near := Similar(word, names)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", names[near[0]])
}

// Similar returns the indexes of the names that a mistyped word resembles, the most similar first.
func Similar(word string, names []string) (near []int) {
	typed := foldWord(word)
	if len(typed) > 100 { // no name is that long
		return nil
	}
	distances := make([]int, len(names))
	for i, name := range names {
		folded := foldWord(name)
		distances[i] = editDistance(typed, folded)
		if len(typed) >= 3 && strings.HasPrefix(folded, typed) {
			distances[i] = min(distances[i], 1)
		}
		if distances[i] <= min(len(typed)/3, 3) {
			near = append(near, i)
		}
	}
	slices.SortStableFunc(near, func(i, j int) int { return distances[i] - distances[j] })
	return near
}

// foldWord removes the differences that people make most: case, dashes and underscores.
func foldWord(word string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(word))
}

// editDistance is the number of bytes to insert, remove or replace, or of neighbours to swap,
// that make a of b.
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j], row[j-1]) + 1
			if a[i-1] == b[j-1] {
				row[j] = min(row[j], last[j-1])
			} else {
				row[j] = min(row[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
