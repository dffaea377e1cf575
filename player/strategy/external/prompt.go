package external

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// promptHistory is the number of finished matches in a prompt.
const promptHistory = 10

// maxSituation is the largest position in a prompt, in bytes.
const maxSituation = 8 << 10

// prompt returns the question to a model, with the player's knowledge.
func prompt(v strategy.View) string {
	var b strings.Builder
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) } // writing to a builder never fails
	if v.GameType == "even_odd" {
		say("You are playing Even/Odd game.\n")
	} else {
		say("You are playing %s game. Your move: %s.\n", v.GameType, v.MoveType)
		if situation, err := json.Marshal(v.Context, json.Deterministic(true)); err == nil && len(v.Context) > 0 &&
			len(situation) <= maxSituation {
			say("The position: %s\n", situation)
		}
	}
	say("Choose %s.\n", orList(v.Options))
	if even, odd := v.Memory().Drawn("even"), v.Memory().Drawn("odd"); even+odd > 0 {
		say("Previous results: even won %s, odd won %s.\n", protocol.Counted(even, "time"), protocol.Counted(odd, "time"))
	}
	if last := v.Memory().Last(v.OpponentID); last != "" {
		counts := protocol.Each(v.Options, func(o string) string {
			return fmt.Sprintf("%q %s", o, protocol.Counted(v.Memory().Chose(v.OpponentID, o), "time"))
		})
		say("Your opponent, or others like it, chose %s, last %q.\n", strings.Join(counts, ", "), last)
	}
	if v.Recent != nil {
		for i, m := range v.Recent(promptHistory) {
			if i == 0 {
				say("Your last matches, the oldest first (your choice, the opponent's, the number, the result):\n")
			}
			say("- %s, %s, %d, %s\n", cmp.Or(m.MyChoice, "none"), cmp.Or(m.OpponentChoice, "none"), m.DrawnNumber, m.Result)
		}
	}
	sayRank(say, v, "You are", v.PlayerID)
	sayRank(say, v, "Your opponent is", v.OpponentID)
	say("Your choice (one word only):")
	return b.String()
}

// sayRank adds the rank of a player.
func sayRank(say func(string, ...any), v strategy.View, who, playerID string) {
	for i := range v.Table {
		if r := &v.Table[i]; r.PlayerID == playerID {
			say("%s number %d of the table with %s.\n", who, r.ShownRank(), protocol.Counted(r.Points, "point"))
			return
		}
	}
}

// orList formats a list: "even" or "odd".
func orList(options []string) string {
	quoted := protocol.Each(options, strconv.Quote)
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// chosen returns the option that an answer names: the only one in the text, or the only
// one in its last line or in its last sentence. An ambiguous answer is an error, because
// a guess would be a random choice.
func chosen(answer string, options []string) (string, error) {
	if _, after, thought := strings.Cut(answer, "</think>"); thought {
		answer = after // the reasoning is not the choice
	}
	for _, part := range []string{answer, lastLine().FindString(answer), lastSentence().FindString(answer)} {
		if named := optionsIn(part, options); len(named) == 1 {
			return named[0], nil
		}
	}
	number := "several options"
	if len(optionsIn(answer, options)) == 0 {
		number = "no option"
	}
	return "", fmt.Errorf("the model named %s: %q", number, protocol.Clip(strings.TrimSpace(answer), 200))
}

// inWord is the pattern of the characters of words, between brackets.
const inWord = `\pL\p{Nd}_`

// These match a text from the beginning of its last line, or of its last sentence, that contains a word.
var (
	lastLine     = protocol.Pattern(`[^\n]*[` + inWord + `][^` + inWord + `]*$`)
	lastSentence = protocol.Pattern(`[^.!?\n]*[` + inWord + `][^` + inWord + `]*$`)
)

// optionsIn returns the options that a text contains as whole words.
func optionsIn(text string, options []string) (named []string) {
	const boundary = `[^` + inWord + `]`
	for _, o := range options {
		word, err := regexp.Compile(`(?i)(^|` + boundary + `)` + regexp.QuoteMeta(o) + `(` + boundary + `|$)`)
		if err == nil && o != "" && word.MatchString(text) {
			named = append(named, o)
		}
	}
	return named
}
