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
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}},
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
}

// withoutJoiners are scripts whose letters look the same beside a joiner. In other scripts, such as
// Arabic (Persian) and Devanagari (Hindi), a joiner changes the shape of the letters before it.
var withoutJoiners = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Hebrew,
	unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Cherokee,
}

// joining are the invisible characters that change the shape of a visible one: in emoji and in scripts that
// need them. They are joiners, variation selectors, the tags of flags, and a narrow gap in Mongolian words.
var joining = []*unicode.RangeTable{
	unicode.Join_Control, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x180E, Hi: 0x180E, Stride: 1}}, R32: []unicode.Range32{{Lo: 0xE0020, Hi: 0xE007F, Stride: 1}}},
}

// A reader tells which characters of a text are visible where they stand.
type reader struct {
	base rune // the last character that changes no other; 0 before the text
}

// sees tells whether the next character is visible. A combining mark without a base is not: it
// changes what stands before the text, or a space.
func (s *reader) sees(r rune) bool {
	based := s.base != 0 && !unicode.IsSpace(s.base)
	switch {
	case unicode.In(r, joining...):
		return based && !unicode.In(s.base, withoutJoiners...)
	case unicode.In(r, invisible...):
		return false
	case unicode.IsMark(r):
		return based
	}
	s.base = r
	return true
}

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
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x7f }) {
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
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// CheckDisplayName returns an error if a reader cannot see all characters of a new agent's name, or
// sees nothing at all.
func CheckDisplayName(name string) error {
	var eye reader
	blank, n := true, 0
	for _, r := range name {
		n++
		if !eye.sees(r) {
			return Fault(ErrInvalidFieldType, "display_name has a character that cannot be seen, U+%04X (character %d), "+
				"and could look like another name: remove it", r, n)
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
