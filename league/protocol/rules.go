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

// compile returns the rules of the messages of a Go type. The rules of a member, also of a file of package config, are
// words in its tag rule:
//
//	optional    it may be null or absent, as may each member with the option omitzero
//	required    it may not, although it has that option: a message of another agent that lacks it is
//	            recorded without it
//	null        it may be null
//	min=N       the smallest number, or the fewest characters or elements
//	max=N       the largest number, or the most characters
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
// and the names of the forms. Any other member of a message is required. A text then has 1 to 200 characters, and
// a number is not negative.
//
// The tags are compiled at the first use: a run of the program that sends no message starts faster.
func compile(t reflect.Type, messageType string) func() *Field {
	return sync.OnceValue(func() *Field { return objectOf(compiler{messageType: messageType}.members(t)) })
}

// CompileFile returns the rules of a file that has the members of a Go type. They may be absent, but not null, unless
// they are required. Special tells the words that are no rules of this package: the caller checks the members that
// have one.
func CompileFile(t reflect.Type, special func(word string) bool) *Field {
	return objectOf(compiler{special: special}.members(t))
}

// A compiler compiles the tags of the members of a message, or of a file.
type compiler struct {
	messageType string
	special     func(word string) bool // of a file; nil for a message
}

// objectOf returns the rules of an object with at most 64 members.
func objectOf(members []Field) *Field {
	if len(members) > 64 {
		panic("a message has an object with more than 64 members")
	}
	f := &Field{Kind: KindObject, Fields: members}
	for i := range members {
		members[i].opening = strconv.Quote(members[i].Name) + ":"
		if !members[i].Optional {
			f.required |= 1 << i
		}
	}
	return f
}

// members returns the rules of the members of a struct.
func (c compiler) members(t reflect.Type) (members []Field) {
	members = make([]Field, 0, t.NumField()+reflect.TypeFor[Envelope]().NumField()) // most have an envelope
	for member := range t.Fields() {
		name, option, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case member.Anonymous:
			members = append(members, c.members(member.Type)...)
		case name != "":
			rule := member.Tag.Get("rule")
			f := c.field(member.Type, rule)
			f.Name, f.goName = name, t.Name()+"."+member.Name
			f.Optional = f.Optional || (option == "omitzero" || c.special != nil) && !strings.HasPrefix(rule, "required")
			members = append(members, *f)
		}
	}
	return members
}

// wordsOf splits a tag into the words for a member and the tag for its elements.
func wordsOf(rule string) (own []string, each string) {
	rule, each, _ = strings.Cut(rule, "each,")
	return strings.Split(rule, ","), each
}

func (c compiler) field(t reflect.Type, rule string) *Field {
	own, each := wordsOf(rule)
	f := c.fieldOfType(t, each)
	for _, word := range own {
		if c.special != nil && c.special(word) {
			f.Special = word
		} else {
			f.apply(word, c.messageType)
		}
	}
	return f
}

// fieldOfType returns the rules that follow from a Go type. Each are the words for its elements.
func (c compiler) fieldOfType(t reflect.Type, each string) *Field {
	switch t.Kind() {
	case reflect.Pointer:
		return c.fieldOfType(t.Elem(), each)
	case reflect.String:
		return &Field{Kind: KindString, Min: 1, Max: usualText}
	case reflect.Int:
		return &Field{Kind: KindInteger, Max: maxInteger}
	case reflect.Float64:
		return &Field{Kind: KindNumber, Max: maxInteger}
	case reflect.Bool:
		return &Field{Kind: KindBoolean}
	case reflect.Struct:
		if t == reflect.TypeFor[ReportedResult]() {
			t = reflect.TypeFor[resultForm]()
		}
		return objectOf(c.members(t))
	case reflect.Slice:
		element := t.Elem()
		switch {
		case element.Kind() == reflect.Uint8: // JSON
			return &Field{Kind: KindObject}
		case strings.HasPrefix(t.Name(), "PerPlayer["):
			return &Field{Kind: KindObject, Items: c.field(element.Field(1).Type, each)}
		}
		return &Field{Kind: KindArray, Items: c.field(element, each)}
	case reflect.Array:
		return &Field{Kind: KindArray, Items: c.field(t.Elem(), each)}
	case reflect.Map, reflect.Interface:
		return &Field{Kind: KindObject}
	default:
		panic("a message has a member of type " + t.String())
	}
}

// apply adds one rule of a tag.
func (f *Field) apply(word, messageType string) {
	word, value, _ := strings.Cut(word, "=")
	number, _ := strconv.Atoi(value)
	switch word {
	case "", "required", added:
	case "optional":
		f.Optional = true
	case "null":
		f.null = true
	case "min":
		f.Min = number
	case "max":
		f.Max = number
	case "upto", "any":
		f.Min, f.Max = 0, number
	case "is", "or":
		f.Values = strings.Split(value, "|")
	case "type":
		f.Values = []string{messageType}
	case "command":
		f.Values = commandNames(Commands[:])
	case "reasoned":
		reasoned := lists.Filter(Commands[:], func(c Command) bool { return c.Reasoned })
		f.demand = "required for " + words.And(commandNames(reasoned))
	case "capacity":
		f.rule = capacityRule
	case "printable":
		f.Form = printableForm(f.Max)
	default:
		form, ok := forms[word]
		if !ok {
			panic("a tag has the unknown word " + word)
		}
		f.Form, f.Min, f.Max = form, 0, cmp.Or(form.max, formLimit)
	}
}

// shapes are the rules of the messages by type, with their envelopes.
var shapes = func() map[string]func() *Field {
	all := map[string]func() *Field{TypeLeagueError: compile(reflect.TypeFor[LeagueError](), TypeLeagueError)}
	for _, m := range methodRows {
		if m.Request != "" {
			all[m.Request], all[m.Result] = m.request, m.result
		}
	}
	return all
}()

// envelopeSize is the number of the first members of each message.
var envelopeSize = len(compiler{}.members(reflect.TypeFor[Envelope]()))

// A Kind is the JSON type of a Field.
type Kind int

// The kinds of fields.
const (
	KindString Kind = iota
	KindInteger
	KindNumber
	KindBoolean
	KindObject
	KindArray
)

func (k Kind) String() string {
	return [...]string{"string", "integer", "number", "boolean", "object", "array"}[k]
}

// A Field holds the rules for a member of a message or of a file: the compiled form of its tag. The validator
// and the JSON Schemas derive from it.
type Field struct {
	Name     string // "" for an element
	opening  string // the name in quotation marks, and a colon
	goName   string // such as GameOver.Reason
	demand   string // ends the meaning of an optional member: "required for …"; "" for none
	Kind     Kind
	Optional bool     // may be absent or null
	null     bool     // may be null
	Values   []string // the only legal strings; for an integer, the strings that may replace it
	Form     *Form    // rule for a string
	Min, Max int      // characters of a string, value of a number, length of an array; max 0: no limit
	rule     string   // the text of the rule for an integer if a league allows less than max; "" for min and max
	Fields   []Field  // members of an object
	required uint64   // which of them are required: a bit for each
	Items    *Field   // the elements of an array, or all members of an object keyed by player
	Special  string   // the word of a member that the caller of CompileFile checks; "" for others
}

// breach is the kind of error that a wrong value of the field is.
func (f *Field) breach() breach {
	switch {
	case f.Form == timestampForm:
		return breachTime
	case f.Name == "protocol" || f.Name == "protocol_version":
		return breachVersion
	}
	return breachValue
}

// must returns the rule of the field, as errors say it; "" if each value of its kind is legal.
func (f *Field) must() string {
	switch {
	case f.rule != "":
		return f.rule
	case f.Kind == KindInteger:
		return fmt.Sprintf("an integer from %d to %d%s", f.Min, f.Max, f.instead())
	case f.Kind == KindNumber:
		return fmt.Sprintf("a number from 0 to %d", f.Max)
	case f.Kind == KindArray && f.Min > 0:
		return fmt.Sprintf("an array of at least %d", f.Min)
	case f.Values != nil:
		return oneOf(f.Values)
	case f.Form != nil:
		return f.Form.Rule
	}
	return ""
}

// instead is the end of the rule for an integer that certain strings may replace.
func (f *Field) instead() string {
	if f.Values == nil {
		return ""
	}
	return " or " + oneOf(f.Values)
}

// CheckText returns the rule that a string breaks; "" for none.
func (f *Field) CheckText(s string) (rule string) {
	switch {
	case f.Values != nil && slices.Contains(f.Values, s):
		return ""
	case f.Values != nil, f.Form != nil && !f.Form.valid(s):
		return f.must()
	case len(s) < f.Min, f.Max > 0 && !short(s, f.Max):
		return fmt.Sprintf("a string of %d to %d characters", f.Min, f.Max)
	}
	return ""
}

// checkLiteral returns the rule that a JSON value breaks that is neither null nor
// of the kind of a string or container field; "" for none.
func (f *Field) checkLiteral(literal string) (rule string) {
	switch {
	case f.Kind == KindInteger:
		return f.checkInteger(literal)
	case f.Kind == KindNumber:
		if n, err := strconv.ParseFloat(literal, 64); err != nil || !f.allows(n) {
			return f.must()
		}
		return ""
	case f.Kind == KindBoolean && (literal[0] == 't' || literal[0] == 'f'):
		return ""
	case f.Form == timestampForm:
		return timestampForm.Rule
	}
	return [...]string{
		KindString: "a string", KindBoolean: "true or false", KindObject: "an object", KindArray: "an array",
	}[f.Kind]
}

// allows tells whether a number is in the range of f. NaN is not.
func (f *Field) allows(n float64) bool { return n >= float64(f.Min) && n <= float64(f.Max) }

// checkInteger returns the rule that a JSON value breaks; "" for none.
func (f *Field) checkInteger(literal string) (rule string) {
	if literal[0] == '"' && slices.Contains(f.Values, Unquote(jsontext.Value(literal))) {
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
