package protocol

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/lists"
	"evenodd/league/words"
)

const (
	maxInteger = 1<<31 - 1
	usualText  = 200 // characters of a string without another rule
)

// MaxConcurrentMatches is the largest capacity of a referee. It is no rule of the member, because referees
// of a simulation may have more.
const MaxConcurrentMatches = 10

var capacityRule = fmt.Sprintf("an integer from 1 to %d", MaxConcurrentMatches)

// compile returns the rules of the messages of a Go type. The rules of a member are words in its tag rule:
//
//	optional    it may be null or absent, as may each member with the option omitzero
//	required    it may not, although it has that option: a message of another agent that lacks it is
//	            recorded without it
//	null        it may be null
//	min=N       the smallest number, or the fewest characters or elements
//	max=N       the most characters
//	upto=N      min=0,max=N
//	any         a text without a limit
//	is=A|B      the only legal texts
//	or=A        a text that may replace the integer
//	type        the type of the message
//	command     the name of one of Commands
//	reasoned    required for the Commands that need a reason
//	capacity    an integer that errors limit to MaxConcurrentMatches
//	added       chapter 4 of the specification lacks the member of its message: Plain leaves it out
//	printable   a text without control characters, at most max characters long
//	each        the words behind it are for the elements, or for the value of each player
//
// and the names of the forms. Any other member is required. A text then has 1 to 200 characters, and
// a number is not negative.
//
// The tags are compiled at the first use: a run of the program that sends no message starts faster.
func compile(t reflect.Type, messageType string) func() *field {
	return sync.OnceValue(func() *field { return objectOf(membersOf("", t, messageType)) })
}

// objectOf returns the rules of an object with at most 64 members.
func objectOf(members []field) *field {
	if len(members) > 64 {
		panic("a message has an object with more than 64 members")
	}
	f := &field{kind: kindObject, fields: members}
	for i := range members {
		members[i].opening = strconv.Quote(members[i].name) + ":"
		if !members[i].optional {
			f.required |= 1 << i
		}
	}
	return f
}

// membersOf returns the rules of the members of a struct at a path of a message.
func membersOf(path string, t reflect.Type, messageType string) (members []field) {
	members = make([]field, 0, t.NumField()+reflect.TypeFor[Envelope]().NumField()) // most have an envelope
	for member := range t.Fields() {
		name, option, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case member.Anonymous:
			members = append(members, membersOf(path, member.Type, messageType)...)
		case name != "":
			at := strings.TrimPrefix(path+"."+name, ".")
			rule := member.Tag.Get("rule")
			f := fieldOf(at, member.Type, rule, messageType)
			f.name, f.goName = name, t.Name()+"."+member.Name
			f.optional = f.optional || option == "omitzero" && !strings.HasPrefix(rule, "required")
			members = append(members, *f)
		}
	}
	return members
}

func fieldOf(path string, t reflect.Type, rule, messageType string) *field {
	rule, each, _ := strings.Cut(rule, "each,")
	f := fieldOfType(path, t, each, messageType)
	for word := range strings.SplitSeq(rule, ",") {
		f.apply(word, messageType)
	}
	return f
}

// fieldOfType returns the rules that follow from a Go type. Each are the words for its elements.
func fieldOfType(path string, t reflect.Type, each, messageType string) *field {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldOfType(path, t.Elem(), each, messageType)
	case reflect.String:
		return &field{kind: kindString, min: 1, max: usualText}
	case reflect.Int:
		return &field{kind: kindInteger, max: maxInteger}
	case reflect.Float64:
		return &field{kind: kindNumber, max: maxInteger}
	case reflect.Bool:
		return &field{kind: kindBoolean}
	case reflect.Struct:
		if t == reflect.TypeFor[ReportedResult]() {
			t = reflect.TypeFor[resultForm]()
		}
		return objectOf(membersOf(path, t, messageType))
	case reflect.Slice:
		element := t.Elem()
		switch {
		case element.Kind() == reflect.Uint8: // JSON
			return &field{kind: kindObject}
		case strings.HasPrefix(t.Name(), "PerPlayer["):
			return &field{kind: kindObject, items: fieldOf(path, element.Field(1).Type, each, messageType)}
		}
		return &field{kind: kindArray, items: fieldOf(path+"[]", element, each, messageType)}
	case reflect.Map, reflect.Interface:
		return &field{kind: kindObject}
	default:
		panic("a message has a member of type " + t.String())
	}
}

// apply adds one rule of a tag.
func (f *field) apply(word, messageType string) {
	word, value, _ := strings.Cut(word, "=")
	number, _ := strconv.Atoi(value)
	switch word {
	case "", "required", added:
	case "optional":
		f.optional = true
	case "null":
		f.null = true
	case "min":
		f.min = number
	case "max":
		f.max = number
	case "upto", "any":
		f.min, f.max = 0, number
	case "is", "or":
		f.values = strings.Split(value, "|")
	case "type":
		f.values = []string{messageType}
	case "command":
		f.values = commandNames(Commands[:])
	case "reasoned":
		reasoned := lists.Filter(Commands[:], func(c Command) bool { return c.Reasoned })
		f.demand = "required for " + words.And(commandNames(reasoned))
	case "capacity":
		f.rule = capacityRule
	case "printable":
		f.form = printableForm(f.max)
	default:
		form, ok := forms[word]
		if !ok {
			panic("a tag has the unknown word " + word)
		}
		f.form, f.min, f.max = form, 0, cmp.Or(form.max, formLimit)
	}
}

// shapes are the rules of the messages by type, with their envelopes.
var shapes = func() map[string]func() *field {
	all := map[string]func() *field{TypeLeagueError: compile(reflect.TypeFor[LeagueError](), TypeLeagueError)}
	for _, m := range methodRows {
		if m.Request != "" {
			all[m.Request], all[m.Result] = m.request, m.result
		}
	}
	return all
}()

// envelopeSize is the number of the first members of each message.
var envelopeSize = len(membersOf("", reflect.TypeFor[Envelope](), ""))

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
	opening  string // the name in quotation marks, and a colon
	goName   string // such as GameOver.Reason
	demand   string // who must send an optional member, for people; "" for none
	kind     kind
	optional bool     // may be absent or null
	null     bool     // may be null
	values   []string // the only legal strings; for an integer, the strings that may replace it
	form     *form    // rule for a string
	min, max int      // characters of a string, value of a number, length of an array; max 0: no limit
	rule     string   // the text of the rule for an integer if a league allows less than max; "" for min and max
	fields   []field  // members of an object
	required uint64   // which of them are required: a bit for each
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
	return "one of " + strings.Join(lists.Map(values, strconv.Quote), ", ")
}
