package external

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// documented is the question that the README explains: every member has a value.
func documented() strategy.View {
	v := view("R3M1")
	v.OpponentID = "P04"
	v.Memory().Remember("P03", "odd", "even")
	v.Memory().Remember("P02", "", "")
	v.Recent = func(n int) []protocol.PlayedMatch {
		return []protocol.PlayedMatch{
			{MatchID: "R1M2", OpponentID: "P03", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 4},
			{MatchID: "R2M1", OpponentID: "P02", Result: "TECHNICAL_WIN", MyChoice: "odd"},
		}[max(2-n, 0):]
	}
	v.Table = []protocol.StandingRow{
		{Rank: 1, PlayerID: "P01", DisplayName: "One", Played: 2, Wins: 2, Points: 6},
		{Rank: 2, PlayerID: "P04", DisplayName: "Four", Played: 2, Wins: 1, Losses: 1, Points: 3},
	}
	return v
}

func TestQuestionMatchesTheReadme(t *testing.T) {
	page, err := os.ReadFile("../../../testdata/bots/README.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "```json\n")
	example, rest, _ := strings.Cut(rest, "```")
	line, err := encodeRequest(requestOf(new(documented()), 5*time.Second))
	require.NoError(t, err)
	assert.NotContains(t, string(line), "\n", "one line")
	var asked, shown map[string]any
	require.NoError(t, json.Unmarshal(line, &asked))
	require.NoError(t, json.Unmarshal([]byte(example), &shown))
	assert.Less(t, asked["seed"], float64(1<<53))
	delete(asked, "seed")
	delete(shown, "seed")
	assert.Equal(t, shown, asked)

	_, rest, _ = strings.Cut(rest, "```json\n")
	answer, _, _ := strings.Cut(rest, "```")
	choice, reason, err := choiceIn(answer, legal{options: []string{"even", "odd"}})
	require.NoError(t, err)
	assert.Equal(t, "even", choice)
	assert.Equal(t, "a text, for the log at level debug", reason)
}

func TestAnswerLines(t *testing.T) {
	parities, cells := []string{"even", "odd"}, []string{"0", "4", "8"}
	for _, tt := range []struct {
		name, line string
		options    []string
		want       string
		problem    string // of a wrong answer; "-" where the line is none
	}{
		{"JSON", `{"choice":"even"}`, parities, "even", ""},
		{"JSON with spaces and other members", ` {"x": [1], "choice" : "odd", "reason": "why not"}` + "\r", parities, "odd", ""},
		{"a reason that is a number", `{"choice":"odd","reason":7}`, parities, "odd", ""},
		{"a word", "even", parities, "even", ""},
		{"a word in quotes", `"even"`, parities, "even", ""},
		{"a number", `{"choice":4}`, cells, "4", ""},
		{"a number alone", `8`, cells, "8", ""},
		{"a number with a point", `{"choice": 4.0}`, cells, "4", ""},
		{"a number with an exponent", `{"choice": 0.4e1}`, cells, "4", ""},
		{"a negative zero", `{"choice": -0.0}`, cells, "0", ""},
		{"a number with a point alone", `4.0`, cells, "4", ""},
		{"a number with a point in quotes", `{"choice": "4.0"}`, cells, "4", ""},
		{"blanks around the choice", `{"choice": " even\n"}`, parities, "even", ""},
		{"a byte-order mark", "\ufeff" + `{"choice":"even"}`, parities, "even", ""},
		{"a byte-order mark and a word", "\ufeffeven\r", parities, "even", ""},
		{"two byte-order marks", "\ufeff\ufeff even", parities, "even", ""},
		{"an option that is written like another number", `{"choice": 4.0}`, []string{"4", "4.0"}, "4.0", ""},

		{"no whole number", `{"choice": 4.5}`, cells, "", `answered "4.5"`},
		{"a number beyond all", `{"choice": 1e400}`, cells, "", `answered "1e400"`},
		{"a number that is no option", `{"choice": 5.0}`, cells, "", `answered "5.0"`},
		{"a number in the form of a program", `0x4`, cells, "", `answered "0x4"`},
		{"only a byte-order mark", "\ufeff", parities, "", "-"},

		{"an illegal choice", `{"choice":"evne"}`, parities, "", `answered "evne", which is not a legal choice; the legal choices are even, odd`},
		{"in capitals", `EVEN`, parities, "", `answered "EVEN"`},
		{"empty", `{"choice":""}`, parities, "", `answered ""`},
		{"no choice", `{"choise":"even"}`, parities, "", `without a "choice" that is a string`},
		{"null", `{"choice":null}`, parities, "", `without a "choice"`},
		{"a list", `{"choice":["even"]}`, parities, "", `without a "choice"`},
		{"broken", `{"choice":"even"`, parities, "", "with invalid JSON"},
		{"the first line of several", `{`, parities, "", "with invalid JSON"},
		{"Python's way", `{'choice': 'even'}`, parities, "", "with invalid JSON"},
		{"two at once", `{"choice":"even"}{"choice":"odd"}`, parities, "", "with invalid JSON"},
		{"a word of another language", "pair", parities, "", `answered "pair"`},

		{"nothing", "", parities, "", "-"},
		{"spaces", " \t", parities, "", "-"},
		{"a greeting", "pygame 2.5.2 (SDL 2.28.3, Python 3.11.7)", parities, "", "-"},
		{"a sentence", "I choose even", parities, "", "-"},
		{"an open quote", `"even`, parities, "", "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choice, _, err := choiceIn(tt.line, legal{options: tt.options})
			assert.Equal(t, tt.want, choice)
			var wrong *program.WrongAnswerError
			switch tt.problem {
			case "":
				require.NoError(t, err)
			case "-":
				require.ErrorIs(t, err, program.ErrChatter)
			default:
				require.ErrorAs(t, err, &wrong)
				require.ErrorContains(t, err, tt.problem)
			}
		})
	}
}

// A text is a legal choice if it is one line within the limit of the question.
func TestTextAnswers(t *testing.T) {
	words := legal{text: 20}
	for _, tt := range []struct{ name, line, choice string }{
		{"JSON", `{"choice": "Good morning."}`, "Good morning."},
		{"blanks around it", `{"choice": "  yes "}`, "yes"},
		{"a JSON string", `"one two"`, "one two"},
		{"a bare word", "hello", "hello"},
		{"several bare words", "good morning", ""},
		{"too long", `{"choice": "a text of more than 20 bytes"}`, ""},
		{"of two lines", `{"choice": "one\ntwo"}`, ""},
		{"with a mark of direction", `{"choice": "one\u200ftwo"}`, ""},
		{"empty", `{"choice": " "}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choice, _, err := choiceIn(tt.line, words)
			assert.Equal(t, tt.choice, choice)
			assert.Equal(t, tt.choice == "", err != nil)
		})
	}
	_, err := chosen("I say: ```{\"choice\": \"Good\nmorning.\"}```", words)
	require.Error(t, err, "a line break within a string is no JSON")
	choice, err := chosen(`I greet it. {"choice": "Good  morning."}`, words)
	require.NoError(t, err)
	assert.Equal(t, "Good morning.", choice)
	_, err = chosen("Good morning.", words)
	require.ErrorContains(t, err, "no choice in JSON")
}

// A question of a game with views has them beside its options, and not a second time in its context.
func TestQuestionHasTheView(t *testing.T) {
	view := map[string]any{"card": "Q"}
	v := strategy.View{GameType: "kuhn_poker", MoveType: "act", Options: []string{"check", "bet"}, Rules: "Kuhn Poker. …",
		Memory: strategy.NewMemory,
		Random: rand.New(rand.NewPCG(1, 2)),
		Context: map[string]any{"opponent_id": "P02", "turn": 2, "view": view, "board": [][]string{{"A"}},
			"rules": "Kuhn Poker. …"}}
	line, err := encodeRequest(requestOf(&v, time.Second))
	require.NoError(t, err)
	assert.Contains(t, string(line),
		`"context":{"opponent_id":"P02","turn":2},"view":{"card":"Q"},"board":[["A"]],"rules":"Kuhn Poker. …"`)
	assert.Contains(t, v.Context, "view", "the context of the player is unchanged")

	v.Text, v.Options, v.Context = 40, nil, map[string]any{"view": "What is it?"}
	line, err = encodeRequest(requestOf(&v, time.Second))
	require.NoError(t, err)
	assert.Contains(t, string(line), `"valid_options":[],"text":40`)
}
