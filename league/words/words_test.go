package words_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/words"
)

func TestCounted(t *testing.T) {
	for noun, several := range map[string]string{
		"player": "0 players", "technical loss": "0 technical losses", "match": "0 matches", "entry": "0 entries",
		"manual page": "0 manual pages",
	} {
		assert.Equal(t, "1 "+noun, words.Counted(1, noun))
		assert.Equal(t, several, words.Counted(0, noun))
	}
	assert.Equal(t, "once, 2 times", words.Times(1)+", "+words.Times(2))
}

func TestListsOfWords(t *testing.T) {
	for _, tt := range []struct {
		list    []string
		or, and string
	}{
		{nil, "", ""},
		{[]string{"a"}, "a", "a"},
		{[]string{"a", "b"}, "a or b", "a and b"},
		{[]string{"a", "b", "c"}, "a, b or c", "a, b and c"},
	} {
		assert.Equal(t, tt.or, words.Or(tt.list))
		assert.Equal(t, tt.and, words.And(tt.list))
	}
}

func TestClippedTextIsValid(t *testing.T) {
	assert.Equal(t, "Zoë", words.Clip("Zoë\xff", 5))
	assert.Equal(t, "Zo…", words.Clip("Zoë", 3), "half a character is removed")
}

func TestInvisibleCharacterIsNamedByItsNumber(t *testing.T) {
	r, number, ok := words.Invisible("Zoë\u200b")
	assert.Equal(t, '\u200b', r)
	assert.Equal(t, 4, number)
	assert.True(t, ok)
	_, _, ok = words.Invisible("Zoë \u2801")
	assert.False(t, ok)
}

func Example() {
	fmt.Println(words.Counted(3, "match") + " of " + words.And([]string{"P01", "P02"}))
	fmt.Println("unknown setting EVENODD_PLAYRS" + words.DidYouMean("EVENODD_PLAYRS", []string{"EVENODD_PLAYERS", "EVENODD_PORT"}))
	// Output:
	// 3 matches of P01 and P02
	// unknown setting EVENODD_PLAYRS (did you mean EVENODD_PLAYERS?)
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
		assert.Equal(t, want, words.DidYouMean(tt.word, strings.Fields(tt.names)), tt.word)
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
			assert.Equal(t, words.NameKey(names[0]), words.NameKey(name), strconv.Quote(name))
			assert.Equal(t, words.NameKey(name), words.NameKey(words.NameKey(name)))
		}
	}
	for _, pair := range [][2]string{{"Alpha", "Alpha 2"}, {"Zoe", "Zoë"}, {"Alpha", "Alphа"}, {"İ", "i"}} {
		assert.NotEqual(t, words.NameKey(pair[0]), words.NameKey(pair[1]), pair)
	}
}

// Nothing that controls a terminal or that nobody sees is left in an escaped text, whatever
// stands around it.
func TestEscapedTextIsHarmless(t *testing.T) {
	assert.Equal(t, `a\nb\x1b[31mc\u202ed\u009be\x7ff\rg\u2028h\u200bi\x9bj\ufeffk\t`,
		words.Escape("a\nb\x1b[31mc\u202ed\u009be\x7ff\rg\u2028h\u200bi\x9bj\ufeffk\t"))
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(unicode.Cs, r) || r > 0x20000 && r < 0xE0000 || r > 0xE1000 { // ideographs, private use
			continue
		}
		for _, around := range []string{"a", "\u2764", "क"} {
			escaped := words.Escape(around + string(r) + around)
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
	escaped := words.EscapeJSON(data)
	var read map[string]string
	require.NoError(t, json.Unmarshal(escaped, &read))
	assert.Equal(t, text, read["text"])
	assert.Equal(t, `{"text":"a\nb\u001bc\u202ed\u009be\u007ff\u2028 Zoë `+"\U0001F469\u200d\U0001F4BB"+` \udb40\udc01 "}`+"\n", string(escaped))
	assert.Equal(t, "{\"a\":\"\uFFFD\"}", string(words.EscapeJSON([]byte("{\"a\":\"\x9b\"}"))))
	plain := []byte(`{"a": "b\u0000"}`)
	assert.Equal(t, plain, words.EscapeJSON(plain))
}
