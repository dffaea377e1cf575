package external

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/program"
	"evenodd/league/words"
)

// chosen returns the option that an answer of a model names. The choice of the last JSON object with one is
// final, in a fence or between sentences too. Without such an object the option is the only one in the text,
// or the only one in its last line or in its last sentence. An ambiguous answer is an error, because a guess
// would be a random choice. A text must stand in such an object.
func chosen(answer string, legal legal) (string, error) {
	if _, after, thought := strings.Cut(answer, "</think>"); thought {
		answer = after // the reasoning is not the choice
	}
	named, inJSON := choiceInJSON(answer)
	if legal.text > 0 {
		text := strings.Join(strings.Fields(named), " ") // of one line
		switch {
		case !inJSON:
			return "", program.Wrong("the model gave no choice in JSON: %q", words.Clip(strings.TrimSpace(answer), 200))
		case !legal.allows(text):
			return "", program.Wrong("the model chose %q, which is not %s", words.Clip(text, 60), legal)
		}
		return text, nil
	}
	options := legal.options
	if inJSON {
		meant := strings.TrimSpace(optionFor(named, options))
		if i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(o, meant) }); i >= 0 {
			return options[i], nil
		}
		if only := optionsIn(named, options); len(only) == 1 && !isNumber(named) { // "cell 4"
			return only[0], nil
		}
		return "", program.Wrong("the model chose %q, which is not a legal choice", words.Clip(named, 60))
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
	return "", program.Wrong("the model named %s: %q", number, words.Clip(strings.TrimSpace(answer), 200))
}

// maxObjects is how many beginnings of JSON objects are tried, the last ones of an answer.
const maxObjects = 100

// choiceInJSON returns the member choice, else move, of the last JSON object in a text that has one.
func choiceInJSON(text string) (choice string, found bool) {
	all := []byte(text)
	first := len(all)
	for range maxObjects {
		i := bytes.LastIndexByte(all[:first], '{')
		if i < 0 {
			break
		}
		first = i
	}
	for rest := all[first:]; len(rest) > 0; {
		value, err := jsontext.NewDecoder(bytes.NewBuffer(rest), jsontext.AllowInvalidUTF8(true)).ReadValue()
		var object struct {
			Choice jsontext.Value `json:"choice"`
			Move   jsontext.Value `json:"move"`
		}
		next := 1 // an object in this one may have a choice
		if err == nil && json.Unmarshal(value, &object, jsontext.AllowInvalidUTF8(true)) == nil {
			named, ok := textOf(object.Choice)
			if !ok {
				named, ok = textOf(object.Move)
			}
			if ok {
				choice, found, next = named, true, len(value)
			}
		}
		rest = rest[next:]
		rest = rest[max(bytes.IndexByte(rest, '{'), 0):]
		if len(rest) > 0 && rest[0] != '{' {
			break
		}
	}
	return choice, found
}

// textOf returns a choice in JSON as text: a string, or a number, because the moves of some games are numbers.
func textOf(value jsontext.Value) (text string, ok bool) {
	switch value.Kind() {
	case '"':
		return text, json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) == nil
	case '0':
		return string(value), true
	}
	return "", false
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// inWord is the pattern of the characters of words, between brackets.
const inWord = `\pL\p{Nd}_`

// These match a text from the beginning of its last line, or of its last sentence, that contains a word.
var (
	lastLine     = words.Pattern(`[^\n]*[` + inWord + `][^` + inWord + `]*$`)
	lastSentence = words.Pattern(`[^.!?\n]*[` + inWord + `][^` + inWord + `]*$`)
)

// optionsIn returns the options that a text contains as whole words.
func optionsIn(text string, options []string) (named []string) {
	const boundary = `[^` + inWord + `]`
	for _, o := range options {
		word, err := regexp.Compile(fmt.Sprintf(`(?i)(^|%s)%s(%s|$)`, boundary, regexp.QuoteMeta(o), boundary))
		if err == nil && o != "" && word.MatchString(text) {
			named = append(named, o)
		}
	}
	return named
}
