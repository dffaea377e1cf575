package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// invisible are the characters that control a terminal or that a reader cannot see: control and
// format characters, line separators, braille without dots, those that Unicode calls default ignorable,
// and those of private use, which have no shape on most computers. Unassigned characters are not
// invisible: newer versions of Unicode assign them.
var invisible = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, {R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}},
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
}

// withoutJoiners are scripts whose letters look the same beside a joiner. In other scripts, such as
// Arabic (Persian) and Devanagari (Hindi), a joiner changes the shape of the letters before it.
var withoutJoiners = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Hebrew,
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Cherokee,
}

// A reader tells which characters of a text are visible where they stand.
type reader struct {
	last rune // 0 before the text
	base rune // the last character that is no mark
}

// sees tells whether the next character is visible. Joiners, variation selectors and tags are part
// of a visible character where they change its shape: in emoji and in scripts that need them. A
// combining mark without a base is not: it changes what stands before the text, or a space.
func (s *reader) sees(r rune) bool {
	last, base := s.last, s.base
	s.last = r
	if !unicode.In(r, invisible...) {
		if unicode.IsMark(r) {
			return s.base != 0 && !unicode.IsSpace(s.base)
		}
		s.base = r
		return true
	}
	const (
		blackFlag      = '\U0001F3F4' // the flags of England, Scotland and Wales are this one with tags
		vowelSeparator = '\u180E'     // a narrow gap in Mongolian words
	)
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		s.base = r
		return true
	case unicode.Is(unicode.Join_Control, r):
		return !unicode.Is(unicode.Join_Control, last) &&
			(unicode.IsSymbol(base) || unicode.IsLetter(base) && !unicode.In(base, withoutJoiners...))
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.IsGraphic(last) && !unicode.IsSpace(last) && !unicode.In(last, unicode.Variation_Selector, unicode.Latin, unicode.Greek, unicode.Cyrillic)
	case r == vowelSeparator:
		return unicode.Is(unicode.Mongolian, last) && last != vowelSeparator
	case isTag(r):
		return last == blackFlag || isTag(last)
	}
	return false
}

func isTag(r rune) bool { return r >= 0xE0020 && r <= 0xE007F }

// Escape returns a text in a form that is safe to print as a part of a line: each character that
// controls a terminal, breaks the line or is invisible becomes an escape sequence such as \x1b or
// \u202e, and so does each byte that is not UTF-8.
func Escape(s string) string {
	return escape(s, func(r rune, _ string) string {
		quoted := strconv.QuoteRuneToASCII(r)
		return quoted[1 : len(quoted)-1]
	})
}

// EscapeJSON is Escape for JSON: the result is the same JSON value. White space between the values
// remains, and bytes that are not UTF-8 become U+FFFD.
func EscapeJSON(text []byte) []byte {
	plain := !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x7f })
	if plain {
		return text // JSON has no control characters below space
	}
	return []byte(escape(strings.ToValidUTF8(string(text), "\uFFFD"), func(r rune, as string) string {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return as
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}))
}

// escape replaces invisible characters; replace gets a character and its bytes.
func escape(s string, replace func(r rune, as string) string) string {
	if plainASCII(s) {
		return s
	}
	var out strings.Builder
	var eye reader
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		as := s[:size]
		s = s[size:]
		switch {
		case r == utf8.RuneError && size == 1:
			_, _ = fmt.Fprintf(&out, `\x%02x`, as[0]) // a builder never fails
		case eye.sees(r):
			out.WriteString(as)
		default:
			out.WriteString(replace(r, as))
		}
	}
	return out.String()
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CheckDisplayName returns an error if a reader cannot see all characters of a new agent's name, or
// sees nothing at all.
func CheckDisplayName(name string) error {
	var eye reader
	blank, n := true, 0
	for _, r := range name {
		n++
		if !eye.sees(r) {
			what := "an invisible character"
			switch {
			case unicode.Is(unicode.Co, r):
				what = "a private-use character"
			case unicode.IsMark(r) && !unicode.In(r, invisible...):
				what = "a combining mark without a character before it"
			}
			return Fault(ErrInvalidFieldType, "display_name has %s, U+%04X (character %d), and could look like another name: remove it", what, r, n)
		}
		blank = blank && unicode.IsSpace(r)
	}
	if blank {
		return Fault(ErrInvalidFieldType, "display_name has no visible character: use letters, digits or symbols")
	}
	return nil
}

// NameKey returns a key that is equal for display names that a reader may take for each other: it
// ignores case, compatibility forms (NFKC), invisible characters and the amount of white space.
func NameKey(name string) string {
	if !plainASCII(name) {
		fold := cases.Fold()
		for range 2 { // the first folding can produce what the second must normalize
			name = norm.NFKC.String(fold.String(norm.NFKC.String(name)))
		}
		name = strings.Map(func(r rune) rune {
			if unicode.In(r, invisible...) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, name)
	}
	return strings.Join(strings.Fields(strings.ToLower(name)), " ")
}
