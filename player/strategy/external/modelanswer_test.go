package external

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChosenOption(t *testing.T) {
	parities, cells := []string{"even", "odd"}, []string{"0", "4", "7", "8", "10", "44"}
	for _, tt := range []struct {
		answer  string
		options []string
		want    string // "" for nothing
	}{
		{"even", parities, "even"},
		{" Odd.\n", parities, "odd"},
		{"**EVEN**", parities, "even"},
		{`"even"`, parities, "even"},
		{"I choose odd because odd numbers are odd.", parities, "odd"},
		{"Even or odd? I will take odd.", parities, "odd"},
		{"Even won 3 times and odd won 2 times.\n\nMy choice: even", parities, "even"},
		{"Odd might do.\nEven might do.\n---\n", parities, "even"},
		{"<think>odd, no, even, no, odd</think>\neven", parities, "even"},
		{`<think>{"choice": "odd"}</think>even`, parities, "even"},
		{"even</think>", parities, ""},
		{"even, not odd", parities, ""},
		{"Both even and odd are as likely.", parities, ""},
		{"The odds are uneven; seventeen evenings.", parities, ""},
		{"", parities, ""},
		{"even_odd", parities, ""},
		{"İeven odd", parities, "odd"},
		{"4", cells, "4"},
		{"I take cell 10.", cells, "10"},
		{"cell 14 or 48", cells, ""},
		{"pass the turn", []string{"pass", "pass the turn"}, ""},
		{"\xff\xfe even \xff", parities, "even"},

		{`{"choice": "odd"}`, parities, "odd"},
		{`{"choice": "Odd "}`, parities, "odd"},
		{`{"move": "odd"}`, parities, "odd"},
		{`{"choice": null, "move": "odd"}`, parities, "odd"},
		{`{"choice": "even", "why": "odd is odd"}`, parities, "even"},
		{"```json\n{\"choice\": \"even\", \"why\": \"odd is odd\"}\n```", parities, "even"},
		{"Odd?\n```\n{\n  \"why\": \"odd\",\n  \"choice\": \"even\"\n}\n```\nThat beats odd.", parities, "even"},
		{`I thought about square 7 but rejected it. {"choice": "44"}`, cells, "44"},
		{`I thought about square 7 but rejected it. {"choice": "44"}`, []string{"7", "8"}, ""},
		{`Odd! {"choice": "neither"}`, parities, ""},
		{`{"choice": 4}`, cells, "4"},
		{`{"choice": 4.0}`, cells, "4"},
		{`{"choice": 4.5}`, cells, ""},
		{`{"choice": "cell 4"}`, cells, "4"},
		{`{"choice": "4 or 7"}`, cells, ""},
		{`You asked for {"choice": "even"}. Here is mine: {"choice": "odd", "reason": "{\"choice\": \"even\"}"}`, parities, "odd"},
		{`{"answer": {"choice": "even"}, "rejected": "odd"}`, parities, "even"},
		{`{"choice": "even", "details": {"move": "odd"}}`, parities, "even"},
		{`{"choice": "even", "choice": "odd"}`, parities, ""},
		{`{'choice': 'even'}`, parities, "even"},
		{`{"choice": ["even"]}`, parities, "even"},
		{`{{{{ even`, parities, "even"},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			got, err := chosen(tt.answer, legal{options: tt.options})
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want == "", err != nil)
		})
	}
}

// Long answers that are made to be slow end in an error, and not in minutes.
func TestLargeAnswersNameNothing(t *testing.T) {
	for _, begins := range []string{"{", `{"a":`, `{"choice":[`, `{"choice":`} {
		_, err := chosen(strings.Repeat(begins, 64<<10/len(begins)), legal{options: []string{"even", "odd"}})
		assert.Error(t, err, begins)
	}
}

func FuzzWhatAModelMeans(f *testing.F) {
	f.Add("I choose odd", "even", "odd")
	f.Add("İ\xff", "i", "")
	f.Add(`{"choice": "even"} {"move": 4.0}`, "even", "4")
	f.Fuzz(func(t *testing.T, answer, one, two string) {
		choice, err := chosen(answer, legal{options: []string{one, two}})
		if err == nil {
			assert.Contains(t, []string{one, two}, choice)
		}
	})
}
