package protocol

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A FieldError is a field of a message that breaks a rule.
type FieldError struct {
	Field string `json:"field"` // dotted path, such as player_meta.display_name
	Rule  string `json:"rule"`  // what the field must be
	Got   string `json:"got,omitzero"`
	kind  breach
	order int // of the member in its object's table
}

// A breach is a kind of broken rule. The smallest decides the error code of a message.
type breach int

const (
	breachVersion breach = iota
	breachMissing
	breachTime
	breachValue
)

func (b breach) code() Code {
	return [...]Code{ErrProtocolVersion, ErrMissingField, ErrInvalidTimestamp, ErrInvalidFieldType}[b]
}

// maxListed is how many broken fields an error lists at most: a request of 10 KB can
// have thousands.
const maxListed = 50

// brokenFields returns one error for all broken fields of a message. It has the code
// that comes first of E018, E003, E021 and E002; context.fields lists the fields.
func brokenFields(broken []FieldError) *Error {
	worst := slices.MinFunc(broken, func(a, b FieldError) int { return int(a.kind) - int(b.kind) })
	detail := fmt.Sprintf("%s: %s", worst.Field, worst.Rule)
	if worst.Got == `""` {
		detail = fmt.Sprintf("%s is empty: %s", worst.Field, worst.Rule)
	}
	if len(broken) > 1 {
		detail += fmt.Sprintf(" (and %d more)", len(broken)-1)
	}
	return Fault(worst.kind.code(), "%s", detail).With("fields", broken[:min(len(broken), maxListed)])
}

// maxExamined is how many broken fields Examine collects about: a message of 1 MB
// can have millions, and a list of all of them would be hundreds of times as long.
const maxExamined = 5000

// Examine lists the fields of a message that break a rule of its type, in the
// order of the table. Fields that the table does not have are allowed.
func Examine(messageType string, raw []byte) []FieldError {
	shape, known := shapes[messageType]
	if !known {
		return []FieldError{{Field: "message_type", Rule: "a message type of the protocol", Got: clip(messageType),
			kind: breachValue}}
	}
	return examine(shape(), raw)
}

// examine is examineValid for any text.
func examine(shape *Field, raw []byte) []FieldError {
	if !jsontext.Value(raw).IsValid() {
		return noObject(raw)
	}
	return examineValid(shape, raw)
}

func noObject(raw jsontext.Value) []FieldError {
	kind := breachValue
	if len(raw) == 0 || raw.Kind() == 'n' {
		kind = breachMissing
	}
	return []FieldError{{Field: "params", Rule: "an object that holds the message", Got: shown("params", raw), kind: kind}}
}

// examineValid examines text that is known to be one JSON value without repeated
// names.
func examineValid(shape *Field, raw []byte) []FieldError {
	if jsontext.Value(raw).Kind() != '{' {
		return noObject(raw)
	}
	v := validator{
		text:    string(raw),
		escapes: bytes.IndexByte(raw, '\\') >= 0,
	}
	v.space()
	v.object(shape)
	return v.broken
}

// shown is what an error says it got. Tokens stay unsaid, and so do whole
// objects, which may hold one.
func shown(name string, raw jsontext.Value) string {
	switch {
	case name == "auth_token" || name == "access_token" || name == "registration_code":
		return ""
	case raw.Kind() == '{':
		return "an object"
	}
	return clip(string(raw))
}

// A validator reads a JSON object once, from its first byte to its last, and
// collects the fields that break a rule.
type validator struct {
	text    string // valid JSON
	at      int    // the next byte
	escapes bool   // somewhere in the text
	broken  []FieldError

	path  [maxDepth]segment // of the value that is being read, such as matches[1].match_id
	depth int
}

// maxDepth is more than the depth of the table.
const maxDepth = 8

// A segment of a path is the name of a member or the index of an element.
type segment struct {
	name  string
	index int // of an element, from 1; 0 for a member
}

// member reads and checks the value of a member.
func (v *validator) member(name string, f *Field) {
	v.path[v.depth] = segment{name: name}
	v.depth++
	v.value(f)
	v.depth--
}

// pathText writes the path of the value that is being read.
func (v *validator) pathText() string {
	var text []byte
	for i, s := range v.path[:v.depth] {
		switch {
		case s.index > 0:
			text = append(strconv.AppendInt(append(text, '['), int64(s.index-1), 10), ']')
		case i > 0:
			text = append(append(text, '.'), s.name...)
		default:
			text = append(text, s.name...)
		}
	}
	return string(text)
}

func (v *validator) fail(f *Field, start int, rule string, kind breach) {
	v.broken = append(v.broken, FieldError{Field: v.pathText(), Rule: rule,
		Got: shown(f.Name, jsontext.Value(v.text[start:v.at])), kind: kind})
}

// object reads an object with the members of f.
func (v *validator) object(f *Field) {
	v.at++
	first := len(v.broken)
	seen, expected := uint64(0), 0
	for v.next('}') {
		i := v.memberOf(f, expected)
		if i < 0 {
			v.skip()
			continue
		}
		seen |= 1 << i
		expected = i + 1
		before := len(v.broken)
		v.member(f.Fields[i].Name, &f.Fields[i])
		for k := before; k < len(v.broken); k++ {
			v.broken[k].order = i
		}
	}
	v.missing(f, f.required&^seen)
	if len(v.broken) > first+1 {
		slices.SortStableFunc(v.broken[first:], func(a, b FieldError) int { return cmp.Compare(a.order, b.order) })
	}
}

// missing reports the members of f with the bits of absent.
func (v *validator) missing(f *Field, absent uint64) {
	for ; absent != 0; absent &= absent - 1 { // without its lowest bit
		i := bits.TrailingZeros64(absent)
		v.path[v.depth] = segment{name: f.Fields[i].Name}
		v.depth++
		v.broken = append(v.broken, FieldError{Field: v.pathText(), Rule: "required", kind: breachMissing, order: i})
		v.depth--
	}
}

// value reads and checks the value of f, of which path is the path.
func (v *validator) value(f *Field) {
	start, first := v.at, v.text[v.at]
	rule, kind := "", breachValue
	switch {
	case len(v.broken) >= maxExamined:
		v.skip()
	case first == 'n':
		if v.skip(); !f.null && !f.Optional {
			rule, kind = "required, not null", breachMissing
		}
	case f.Kind == KindString && first == '"':
		rule, kind = f.CheckText(v.string()), f.breach()
	case f.Kind == KindObject && first == '{' && f.Items != nil:
		v.keyed(f)
	case f.Kind == KindObject && first == '{' && f.Fields != nil:
		v.object(f)
	case f.Kind == KindObject && first == '{':
		v.skip()
	case f.Kind == KindArray && first == '[':
		if n := v.array(f); n < f.Min {
			rule = f.must()
		}
	default:
		v.skip()
		rule, kind = f.checkLiteral(v.text[start:v.at]), f.breach()
	}
	if rule != "" {
		v.fail(f, start, rule, kind)
	}
}

// keyed reads an object whose member names are data, such as ids of players.
func (v *validator) keyed(f *Field) {
	v.at++
	for v.next('}') {
		name := v.string()
		v.colon()
		v.member(name, f.Items)
	}
}

// array reads an array and returns the number of its elements.
func (v *validator) array(f *Field) (n int) {
	v.at++
	v.depth++
	for v.next(']') {
		n++
		v.path[v.depth-1] = segment{index: n}
		v.value(f.Items)
	}
	v.depth--
	return n
}

// space goes behind white space: valid text has no other bytes up to a space here.
func (v *validator) space() {
	for v.text[v.at] <= ' ' {
		v.at++
	}
}

// next goes to the next member or element, or behind the closing bracket, and
// tells whether there is one.
func (v *validator) next(closing byte) bool {
	v.space()
	if v.text[v.at] == ',' {
		v.at++
		v.space()
	}
	if v.text[v.at] == closing {
		v.at++
		return false
	}
	return true
}

// memberOf reads the name of a member of f and returns its index; -1 for an unknown name. It is at least the
// expected index if the sender keeps the order of the table, as this program does.
func (v *validator) memberOf(f *Field, expected int) (index int) {
	for i := expected; i < len(f.Fields); i++ {
		if strings.HasPrefix(v.text[v.at:], f.Fields[i].opening) {
			v.at += len(f.Fields[i].opening)
			v.space()
			return i
		}
	}
	name := v.string()
	v.colon()
	return slices.IndexFunc(f.Fields, func(member Field) bool { return member.Name == name })
}

// colon goes behind a colon.
func (v *validator) colon() {
	v.space()
	v.at++
	v.space()
}

// string reads a string.
func (v *validator) string() string {
	start := v.at
	v.skipString()
	if text := v.text[start+1 : v.at-1]; !v.escapes || strings.IndexByte(text, '\\') < 0 {
		return text
	}
	text, _ := jsontext.AppendUnquote(nil, v.text[start:v.at]) // valid
	return string(text)
}

// skipString goes behind a string.
func (v *validator) skipString() {
	v.at++
	if !v.escapes {
		v.at += strings.IndexByte(v.text[v.at:], '"') + 1
		return
	}
	for v.text[v.at] != '"' {
		if v.text[v.at] == '\\' {
			v.at++
		}
		v.at++
	}
	v.at++
}

// skip goes behind a value.
func (v *validator) skip() {
	depth := 0
	for {
		switch v.text[v.at] {
		case '"':
			v.skipString()
		case '{', '[':
			depth++
			v.at++
		case '}', ']':
			depth--
			v.at++
		case ' ', '\t', '\r', '\n', ',', ':':
			v.at++
		default: // a number or a literal
			for v.at < len(v.text) && !ends[v.text[v.at]] {
				v.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// ends marks the bytes that end a number or a literal.
var ends = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, ':': true, ']': true, '}': true}
