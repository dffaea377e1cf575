package protocol_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// Names of people in many scripts, and emoji, are no invisible text.
func TestDisplayNamesThatAreAccepted(t *testing.T) {
	for _, name := range []string{
		"Agent Alpha", "Zoë", "Zoe\u0308", "Ελένη", "Дмитрий", "李小龍", "さくら", "김철수", "สมชาย", "יעל",
		"محمد", "می\u200cخواهم", // Persian, with a ZWNJ
		"ᠠᠨ\u180eᠠ",                 // Mongolian, with a vowel separator
		"क्\u200dष", "नुक्\u200cता", // Hindi, with ZWJ and ZWNJ
		"അവന്\u200d", "ශ්\u200dරී", // Malayalam and Sinhala
		"\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466", "\u26f9\U0001F3FB\u200d\u2640\ufe0f", // a family, a woman with a ball
		"#\ufe0f\u20e3 \u0031\ufe0f\u20e3", "דָּוִד", "הָעִבְרִית", "हिन्दी", "क\u093f", "ประสิทธิ์", "தமிழ்", "Việt", "Vie\u0323\u0302t", "か\u3099", "\u25cc\u0301", // marks after their base
		"\u2801\u28ff", "⠃⠗⠇", // braille with dots
		"\U0001F600", "\U0001F469\u200d\U0001F4BB", "\U0001F469\U0001F3FD\u200d\U0001F680", // emoji, with a profession, with a skin tone
		"\u2764\ufe0f", "\u2764\ufe0f\u200d\U0001F525", "1\ufe0f\u20e3", "\U0001F1EB\U0001F1F7", // hearts, a key, a flag
		"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", // the flag of England
		"葛\U000E0100", // a variant of an ideograph
		"a\u00a0b", "a\u3000b", "½ ™ ﬁ", "= 1+1", "<b>",
	} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			require.NoError(t, protocol.CheckDisplayName(name))
			assert.Equal(t, name, words.Escape(name), "it is printed as it is")
		})
	}
}

func TestDisplayNamesWithInvisibleCharactersAreRefused(t *testing.T) {
	for name, why := range map[string]string{
		"Al\u200bpha": "U+200B (character 3)", "\ufeffAlpha": "U+FEFF", "Alpha\u2060": "U+2060", "Al\u00adpha": "U+00AD",
		"Al\u200dpha": "U+200D", "Al\u200cpha": "U+200C", "\u200dAlpha": "U+200D", "Alphа\u200d": "U+200D", // the last a is Cyrillic
		"A\u0301\u200dlpha": "U+200D",
		"Alpha\ufe0f":       "U+FE0F", " \ufe0fAlpha": "U+FE0F", "Alpha\U000E0100": "U+E0100",
		"Alpha\u202e": "U+202E", "\u2067Alpha": "U+2067", "\u200fAlpha": "U+200F", "\u061cAlpha": "U+061C",
		"Al\u180epha": "U+180E",
		// joiners and selectors that change no shape
		"Agent 1\u200d": "U+200D (character 8)", "Agent!\u200c": "U+200C", "日本\u200d": "U+200D", "अ\u200dब": "U+200D",
		"محمد\u200d": "U+200D", "م\u200c م": "U+200C", "\U0001F40D\u200d": "U+200D (character 2)", "\U0001F469\u200d\u200d\U0001F4BB": "U+200D (character 2)",
		"Agent 1\ufe0f": "U+FE0F", "C+\ufe0f": "U+FE0F", "20°\ufe0f": "U+FE0F", "日本\ufe0f": "U+FE0F", "\u2764\ufe0f\ufe0f": "U+FE0F (character 3)",
		"\u2764\ufe01": "U+FE01", "葛\U000E0100\U000E0101": "U+E0101", "ᠠ\u180e": "U+180E", "क\u180b": "U+180B",
		"\U0001F3F4\U000E0067\U000E0062": "U+E0067", "\U0001F3F4\U000E0061\U000E007F": "U+E0061",
		"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F\U000E0067": "U+E0067 (character 8)",
		"Al\x1bpha": "U+001B", "Al\npha": "U+000A", "Al\u009bpha": "U+009B", "Al\u2028pha": "U+2028", "Al\x7fpha": "U+007F",
		"Alpha\u3164": "U+3164", "\u115fAlpha": "U+115F", "\u034fAlpha": "U+034F", "\uffa0": "U+FFA0", "Alpha\ufff9": "U+FFF9",
		"Alpha\U000E0041": "U+E0041", "Alpha\U000E0001": "U+E0001", "Alpha\ufffe": "U+FFFE",
		" ": "no visible character", "\u3000\u00a0": "no visible character",
		"\u2800": "U+2800", "Alpha\u2800": "U+2800 (character 6)", "\u2800\u2801": "U+2800",
		"Al\ue000pha": "U+E000 (character 3)", "\uf8ff": "U+F8FF", "\U000F0000": "U+F0000", "\U0010FFFD": "U+10FFFD",
		"\u0301": "U+0301 (character 1)", "\u0301Alpha": "U+0301", "Al \u0308pha": "U+0308", "\u00a0\u0301": "U+0301",
		"ｒｅｆ０１": "looks like an id", "r1m12": "looks like an id",
		"\u05b8\u05d3": "U+05B8", "\u093f\u0915": "U+093F", "\u20e3": "U+20E3", "\u3099か": "U+3099",
	} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			err := protocol.CheckDisplayName(name)
			require.ErrorContains(t, err, why)
			assert.Equal(t, protocol.ErrInvalidFieldType, protocol.AsError(err).Code)
		})
	}
}
