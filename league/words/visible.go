package words

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

// joining are the invisible characters that can change the shape of a visible one: joiners, variation selectors, the
// tags of flags, and a narrow gap in Mongolian words.
var joining = []*unicode.RangeTable{
	unicode.Join_Control, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x180E, Hi: 0x180E, Stride: 1}}, R32: []unicode.Range32{{Lo: 0xE0020, Hi: 0xE007F, Stride: 1}}},
}

// cursive are scripts whose letters have another shape beside a joiner.
var cursive = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Mongolian, unicode.Nko, unicode.Adlam, unicode.Phags_Pa,
	unicode.Manichaean, unicode.Psalter_Pahlavi, unicode.Hanifi_Rohingya, unicode.Sogdian,
}

// pictographs are the symbols that can be emoji (Extended_Pictographic of Unicode), and the skin tones.
var pictographs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00A9, Hi: 0x00AE, Stride: 5}, {Lo: 0x203C, Hi: 0x2049, Stride: 13}, {Lo: 0x2122, Hi: 0x2139, Stride: 23},
		{Lo: 0x2194, Hi: 0x2199, Stride: 1}, {Lo: 0x21A9, Hi: 0x21AA, Stride: 1}, {Lo: 0x231A, Hi: 0x231B, Stride: 1},
		{Lo: 0x2328, Hi: 0x2388, Stride: 96}, {Lo: 0x23CF, Hi: 0x23CF, Stride: 1}, {Lo: 0x23E9, Hi: 0x23F3, Stride: 1},
		{Lo: 0x23F8, Hi: 0x23FA, Stride: 1}, {Lo: 0x24C2, Hi: 0x24C2, Stride: 1}, {Lo: 0x25AA, Hi: 0x25AB, Stride: 1},
		{Lo: 0x25B6, Hi: 0x25C0, Stride: 10}, {Lo: 0x25FB, Hi: 0x25FE, Stride: 1}, {Lo: 0x2600, Hi: 0x2605, Stride: 1},
		{Lo: 0x2607, Hi: 0x2612, Stride: 1}, {Lo: 0x2614, Hi: 0x2685, Stride: 1}, {Lo: 0x2690, Hi: 0x2705, Stride: 1},
		{Lo: 0x2708, Hi: 0x2712, Stride: 1}, {Lo: 0x2714, Hi: 0x2716, Stride: 2}, {Lo: 0x271D, Hi: 0x2721, Stride: 4},
		{Lo: 0x2728, Hi: 0x2728, Stride: 1}, {Lo: 0x2733, Hi: 0x2734, Stride: 1}, {Lo: 0x2744, Hi: 0x2747, Stride: 3},
		{Lo: 0x274C, Hi: 0x274E, Stride: 2}, {Lo: 0x2753, Hi: 0x2755, Stride: 1}, {Lo: 0x2757, Hi: 0x2757, Stride: 1},
		{Lo: 0x2763, Hi: 0x2767, Stride: 1}, {Lo: 0x2795, Hi: 0x2797, Stride: 1}, {Lo: 0x27A1, Hi: 0x27B0, Stride: 15},
		{Lo: 0x27BF, Hi: 0x27BF, Stride: 1}, {Lo: 0x2934, Hi: 0x2935, Stride: 1}, {Lo: 0x2B05, Hi: 0x2B07, Stride: 1},
		{Lo: 0x2B1B, Hi: 0x2B1C, Stride: 1}, {Lo: 0x2B50, Hi: 0x2B55, Stride: 5}, {Lo: 0x3030, Hi: 0x303D, Stride: 13},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1F000, Hi: 0x1F1E5, Stride: 1}, {Lo: 0x1F201, Hi: 0x1FAFF, Stride: 1}},
	LatinOffset: 1,
}

// flags are the ends of the emoji flags of England, Scotland and Wales: tags, which are ASCII behind U+E0000.
var flags = [...]string{tagged("gbeng\x7f"), tagged("gbsct\x7f"), tagged("gbwls\x7f")}

func tagged(name string) string {
	return strings.Map(func(r rune) rune { return 0xE0000 + r }, name)
}

// A reader tells which characters of a text are visible where they stand.
type reader struct {
	base rune // the last character that changes no other; 0 before the text
	last rune // the character before
	tags int  // that follow as parts of a flag
}

// sees tells whether the next character is visible; rest is the text after it. A combining mark without a base is not:
// it changes what stands before the text, or a space. Nor is a joiner that changes no shape: anybody could add it to
// the name of another.
func (s *reader) sees(r rune, rest string) (visible bool) {
	last := s.last
	s.last = r
	switch {
	case unicode.In(r, joining...):
		return s.shapes(last, r, rest)
	case unicode.In(r, invisible...):
		return false
	case unicode.IsMark(r):
		return s.base != 0 && !unicode.IsSpace(s.base)
	}
	s.base = r
	return true
}

// shapes tells whether an invisible character, which stands between last and rest, changes the shape of a visible one.
func (s *reader) shapes(last, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	emoji := unicode.Is(pictographs, s.base)
	switch {
	case unicode.Is(unicode.Join_Control, r):
		const virama = 9 // the class of marks behind which Indic scripts join letters
		return norm.NFC.PropertiesString(string(last)).CCC() == virama ||
			(unicode.IsLetter(last) || unicode.IsMark(last)) && unicode.In(s.base, cursive...) && unicode.IsLetter(next) && unicode.In(next, cursive...) ||
			r == '\u200d' && emoji && !unicode.Is(unicode.Join_Control, last) && unicode.Is(pictographs, next)
	case r == '\ufe0e' || r == '\ufe0f':
		return last == s.base && (emoji || next == '\u20e3') // a picture, or a key
	case r > 0xE00FF: // a variant of an ideograph
		return last == s.base && unicode.Is(unicode.Han, last)
	case r > 0xE0000:
		if s.tags == 0 && last == '\U0001F3F4' && slices.ContainsFunc(flags[:], func(flag string) bool {
			return strings.HasPrefix(string(r)+rest, flag)
		}) {
			s.tags = utf8.RuneCountInString(flags[0])
		}
		if s.tags == 0 {
			return false
		}
		s.tags--
		return true
	case r < 0x1900: // in Mongolian
		return last == s.base && unicode.Is(unicode.Mongolian, last) &&
			(r != '\u180e' || unicode.Is(unicode.Mongolian, next))
	}
	return false
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
		case eye.sees(r, s):
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

// Invisible returns the first character of a text that a reader cannot see, and its number from 1; ok is false if all
// are visible. White space is visible.
func Invisible(s string) (r rune, number int, ok bool) {
	var eye reader
	for i, r := range s {
		number++
		_, size := utf8.DecodeRuneInString(s[i:])
		if !eye.sees(r, s[i+size:]) {
			return r, number, true
		}
	}
	return 0, 0, false
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
