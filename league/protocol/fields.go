package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A kind is the JSON type of a field.
type kind int

const (
	kindString kind = iota
	kindInteger
	kindNumber
	kindBoolean
	kindObject
	kindArray
)

func (k kind) String() string {
	return [...]string{"string", "integer", "number", "boolean", "object", "array"}[k]
}

// A field holds the rules for a member of a message: the compiled form of its tag. The validator
// and the JSON Schemas derive from it.
type field struct {
	name     string // "" for an element
	meaning  string // for people, in Markdown
	kind     kind
	optional bool     // may be absent or null
	null     bool     // may be null
	values   []string // the only legal strings; for an integer, the strings that may replace it
	form     *form    // rule for a string
	min, max int      // characters of a string, value of a number, length of an array; max 0: no limit
	rule     string   // the text of the rule for an integer if a league allows less than max; "" for min and max
	fields   []field  // members of an object
	items    *field   // the elements of an array, or all members of an object keyed by player
}

// breach is the kind of error that a wrong value of the field is.
func (f *field) breach() breach {
	switch {
	case f.form == timestampForm:
		return breachTime
	case f.name == "protocol" || f.name == "protocol_version":
		return breachVersion
	}
	return breachValue
}

// must returns the rule of the field, as errors say it; "" if each value of its kind is legal.
func (f *field) must() string {
	switch {
	case f.rule != "":
		return f.rule
	case f.kind == kindInteger:
		return fmt.Sprintf("an integer from %d to %d%s", f.min, f.max, f.instead())
	case f.kind == kindNumber:
		return fmt.Sprintf("a number from 0 to %d", f.max)
	case f.kind == kindArray && f.min > 0:
		return fmt.Sprintf("an array of at least %d", f.min)
	case f.values != nil:
		return oneOf(f.values)
	case f.form != nil:
		return f.form.rule
	}
	return ""
}

// instead is the end of the rule for an integer that certain strings may replace.
func (f *field) instead() string {
	if f.values == nil {
		return ""
	}
	return " or " + oneOf(f.values)
}

// checkText returns the rule that a string breaks; "" for none.
func (f *field) checkText(s string) (rule string) {
	switch {
	case f.values != nil && slices.Contains(f.values, s):
		return ""
	case f.values != nil, f.form != nil && !f.form.valid(s):
		return f.must()
	case len(s) < f.min, f.max > 0 && !short(s, f.max):
		return fmt.Sprintf("a string of %d to %d characters", f.min, f.max)
	}
	return ""
}

// checkLiteral returns the rule that a JSON value breaks that is neither null nor
// of the kind of a string or container field; "" for none.
func (f *field) checkLiteral(literal string) (rule string) {
	switch {
	case f.kind == kindInteger:
		return f.checkInteger(literal)
	case f.kind == kindNumber:
		if n, err := strconv.ParseFloat(literal, 64); err != nil || !f.allows(n) {
			return f.must()
		}
		return ""
	case f.kind == kindBoolean && (literal[0] == 't' || literal[0] == 'f'):
		return ""
	case f.form == timestampForm:
		return timestampForm.rule
	}
	return [...]string{
		kindString: "a string", kindBoolean: "true or false", kindObject: "an object", kindArray: "an array",
	}[f.kind]
}

// allows tells whether a number is in the range of f. NaN is not.
func (f *field) allows(n float64) bool { return n >= float64(f.min) && n <= float64(f.max) }

// checkInteger returns the rule that a JSON value breaks; "" for none.
func (f *field) checkInteger(literal string) (rule string) {
	if literal[0] == '"' && slices.Contains(f.values, Unquote(jsontext.Value(literal))) {
		return ""
	}
	n, err := strconv.ParseInt(literal, 10, 64)
	switch {
	case err != nil:
		return "an integer" + f.instead()
	case f.allows(float64(n)):
		return ""
	}
	return f.must()
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return "exactly " + strconv.Quote(values[0])
	}
	return "one of " + strings.Join(Each(values, strconv.Quote), ", ")
}
