package protocol_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestCounted(t *testing.T) {
	for noun, several := range map[string]string{
		"player": "0 players", "technical loss": "0 technical losses", "match": "0 matches", "entry": "0 entries",
		"manual page": "0 manual pages",
	} {
		assert.Equal(t, "1 "+noun, protocol.Counted(1, noun))
		assert.Equal(t, several, protocol.Counted(0, noun))
	}
	assert.Equal(t, "once, 2 times", protocol.Times(1)+", "+protocol.Times(2))
}

func TestDidYouMeanNamesTheClosestWord(t *testing.T) {
	for _, tt := range []struct {
		word, names string
		want        string // "" for none
	}{
		{"simulte", "simulate manager", "simulate"},
		{"plyers", "player players", "players"},
		{"randm", "random even odd", "random"},
		{"tictactoe", "even_odd tic_tac_toe", "tic_tac_toe"},
		{"Even-Odd", "even_odd tic_tac_toe", "even_odd"},
		{"jsn", "table json csv", "json"},
		{"roudn-robin", "round-robin swiss", "round-robin"},
		{"EVENODD_PLAYRS", "EVENODD_PLAYER_PORT EVENODD_PLAYERS", "EVENODD_PLAYERS"},
		{"simul", "simulate schema", "simulate"},
		{"EVENODD_SERVICE_HOST", "EVENODD_REFEREE_HOST EVENODD_HOST", ""},
		{"luck", "random even odd", ""},
		{"x", "csv json", ""},
		{"", "csv json", ""},
		{"json", "", ""},
		{strings.Repeat("a", 1000), strings.Repeat("a", 999), ""},
	} {
		want := ""
		if tt.want != "" {
			want = " (did you mean " + tt.want + "?)"
		}
		assert.Equal(t, want, protocol.DidYouMean(tt.word, strings.Fields(tt.names)), tt.word)
	}
}

func TestLineQuotaCountsOmittedLines(t *testing.T) {
	var q protocol.LineQuota
	now := time.Date(2025, 1, 15, 10, 0, 0, 0, time.UTC)
	lines := 0
	for range 1000 {
		omitted, ok := q.Take(now)
		assert.Zero(t, omitted)
		if ok {
			lines++
		}
	}
	assert.Equal(t, 20, lines)
	omitted, ok := q.Take(now.Add(time.Minute))
	assert.True(t, ok)
	assert.Equal(t, 980, omitted)
	omitted, ok = q.Take(now.Add(time.Minute))
	assert.True(t, ok)
	assert.Zero(t, omitted, "they are counted once")
}

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
			assert.Equal(t, name, protocol.Escape(name), "it is printed as it is")
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
		"\u05b8\u05d3": "U+05B8", "\u093f\u0915": "U+093F", "\u20e3": "U+20E3", "\u3099か": "U+3099",
	} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			err := protocol.CheckDisplayName(name)
			require.ErrorContains(t, err, why)
			assert.Equal(t, protocol.ErrInvalidFieldType, protocol.AsError(err).Code)
		})
	}
}

func TestNamesThatLookAlikeHaveOneKey(t *testing.T) {
	for _, names := range [][]string{
		{"Agent Alpha", "agent alpha", "AGENT ALPHA", "Ａｇｅｎｔ　Ａｌｐｈａ", "𝐀𝐠𝐞𝐧𝐭 𝓐𝓵𝓹𝓱𝓪", "Agent\u00a0Alpha", " Agent  Alpha ", "Agent\u200b Al\u00adpha"},
		{"Straße", "STRASSE", "strasse"},
		{"Zoë", "Zoe\u0308", "ZOË"},
		{"ﬁne", "FINE"},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ", "σίσυφοσ"},
		{"Ⅳ", "iv"},
		{"ᾳ", "αι", "Αι"},
		{"❤", "❤\ufe0f"},
		{"ǅ", "dž", "Dž", "DŽ"},
	} {
		for _, name := range names {
			assert.Equal(t, protocol.NameKey(names[0]), protocol.NameKey(name), strconv.Quote(name))
			assert.Equal(t, protocol.NameKey(name), protocol.NameKey(protocol.NameKey(name)))
		}
	}
	for _, pair := range [][2]string{{"Alpha", "Alpha 2"}, {"Zoe", "Zoë"}, {"Alpha", "Alphа"}, {"İ", "i"}} {
		assert.NotEqual(t, protocol.NameKey(pair[0]), protocol.NameKey(pair[1]), pair)
	}
}

// Nothing that controls a terminal or that nobody sees is left in an escaped text, whatever
// stands around it.
func TestEscapedTextIsHarmless(t *testing.T) {
	assert.Equal(t, `a\nb\x1b[31mc\u202ed\u009be\x7ff\rg\u2028h\u200bi\x9bj\ufeffk\t`,
		protocol.Escape("a\nb\x1b[31mc\u202ed\u009be\x7ff\rg\u2028h\u200bi\x9bj\ufeffk\t"))
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(unicode.Cs, r) || r > 0x20000 && r < 0xE0000 || r > 0xE1000 { // ideographs, private use
			continue
		}
		for _, around := range []string{"a", "\u2764", "क"} {
			escaped := protocol.Escape(around + string(r) + around)
			if strings.ContainsFunc(escaped, func(c rune) bool {
				return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || unicode.In(c, unicode.Zl, unicode.Zp)
			}) {
				t.Fatalf("U+%04X remains in %q", r, escaped)
			}
		}
	}
}

func TestEscapedJSONIsTheSameValue(t *testing.T) {
	text := "a\nb\x1bc\u202ed\u009be\x7ff\u2028 Zoë \U0001F469\u200d\U0001F4BB \U000E0001 "
	data, err := json.Marshal(map[string]string{"text": text})
	require.NoError(t, err)
	data = append(data, '\n')
	escaped := protocol.EscapeJSON(data)
	var read map[string]string
	require.NoError(t, json.Unmarshal(escaped, &read))
	assert.Equal(t, text, read["text"])
	assert.Equal(t, `{"text":"a\nb\u001bc\u202ed\u009be\u007ff\u2028 Zoë `+"\U0001F469\u200d\U0001F4BB"+` \udb40\udc01 "}`+"\n", string(escaped))
	assert.Equal(t, "{\"a\":\"\uFFFD\"}", string(protocol.EscapeJSON([]byte("{\"a\":\"\x9b\"}"))))
	plain := []byte(`{"a": "b\u0000"}`)
	assert.Equal(t, plain, protocol.EscapeJSON(plain))
}

func TestObjectKeepsOrderAndTextOfMembers(t *testing.T) {
	const text = `{"b": 1.50,"a":{"x" : [ ]},"n":null}`
	o := protocol.ParseObject([]byte(text))
	assert.Equal(t, `{"b":1.50,"a":{"x" : [ ]},"n":null}`, string(o.Append(nil)))
	encoded, err := json.Marshal(o)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(encoded))
	assert.True(t, o.Has("n"), "a member that is null is there")
	assert.Nil(t, o.Get("n"))
	assert.Equal(t, `1.50`, string(o.Get("n", "absent", "b")))
	assert.Equal(t, `[ ]`, string(o.Object("a").Raw("x")))
}

func TestObjectReadsMembersByType(t *testing.T) {
	o := protocol.ParseObject([]byte(`{"text":"a\u0062","integer":7,"fraction":1.5,"string object":" {\"a\":1} ","object":{}}`))
	assert.Equal(t, "ab", o.Text("text"))
	assert.Empty(t, o.Text("integer"))
	assert.Equal(t, 7, o.Integer("integer"))
	assert.Zero(t, o.Integer("fraction"))
	assert.Zero(t, o.Integer("text"))
	assert.Equal(t, 1, o.Object("string object").Integer("a"))
	assert.NotNil(t, o.Object("object"))
	assert.Nil(t, o.Object("text"))
	for _, other := range []string{"", "null", "[]", `{"a":1,"a":2}`, `{"a":1`, "{}{}"} {
		assert.Nil(t, protocol.ParseObject([]byte(other)), other)
	}
}

func TestObjectIsEditedInPlace(t *testing.T) {
	o := protocol.ParseObject([]byte(`{"a":1,"b":2}`))
	before := o
	o.Drop("a")
	o.Drop("absent")
	assert.Equal(t, `{"a":1,"b":2}`, string(before.Append(nil)), "Drop does not change another copy")
	o.Add("b", protocol.Quote("x"))
	o.Add("c", protocol.Quote("\xff"))
	o.Set("b", protocol.Quote("y"))
	assert.Equal(t, `{"b":"y","c":"`+"\ufffd"+`"}`, string(o.Append(nil)))
}
