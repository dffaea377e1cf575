package protocol

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
)

// ValueOf is the value of an optional member; the zero value without it.
func ValueOf[V any](member *V) (value V) {
	if member != nil {
		value = *member
	}
	return value
}

// Object is any JSON object. It keeps the order of the members and the text of
// their values, so that a program can change some members and pass on the rest
// unchanged.
type Object []league.Member[jsontext.Value]

// ParseObject reads an object. It returns nil for any other JSON value and for
// text that is not JSON; an object without members is not nil.
func ParseObject(raw []byte) Object {
	var o Object
	if jsontext.Value(raw).Kind() != '{' || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// MarshalJSONTo writes the object.
func (o Object) MarshalJSONTo(enc *jsontext.Encoder) error {
	return league.PerPlayer[jsontext.Value](o).MarshalJSONTo(enc)
}

// UnmarshalJSONFrom reads the object. It sets o to nil for null.
func (o *Object) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	*o, err = league.ReadMembers[jsontext.Value](dec, 8)
	return err
}

// Append appends the JSON of the object to b. Values are written as they are,
// with their white space.
func (o Object) Append(b []byte) []byte {
	size := len("{}")
	for i := range o {
		size += len(o[i].Name) + len(o[i].Value) + len(`"":,`)
	}
	b = append(slices.Grow(b, size), '{')
	for i := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, o[i].Name)
		b = append(b, ':')
		b = append(b, o[i].Value...)
	}
	return append(b, '}')
}

// Has tells whether the object has a member of that name, which may be null.
func (o Object) Has(name string) bool { return o.Raw(name) != nil }

// Raw returns the value of a member, which may be null; nil for no such member.
func (o Object) Raw(name string) jsontext.Value {
	value, _ := league.PerPlayer[jsontext.Value](o).Get(name)
	return value
}

// Get returns the value of the first of the named members that is there and not
// null; nil for none.
func (o Object) Get(names ...string) jsontext.Value {
	for _, name := range names {
		if v := o.Raw(name); v != nil && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

// Text returns the string that a member holds; "" for anything else.
func (o Object) Text(name string) string { return Unquote(o.Raw(name)) }

// Integer returns the integer that a member holds; 0 for anything else.
func (o Object) Integer(name string) int {
	var n int
	if v := o.Raw(name); v.Kind() != '0' || json.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}

// Object returns the object that a member holds, either as such or as a string
// with the JSON of one; nil for anything else.
func (o Object) Object(name string) Object {
	value := o.Raw(name)
	if text := strings.TrimSpace(Unquote(value)); strings.HasPrefix(text, "{") {
		return ParseObject([]byte(text))
	}
	return ParseObject(value)
}

// Set changes the value of a member, or adds the member at the end.
func (o *Object) Set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, league.Member[jsontext.Value]{Name: name, Value: value})
}

// SetText is Set for a string.
func (o *Object) SetText(name, text string) { o.Set(name, Quote(text)) }

// Fill sets a member that is missing, null or "", if value is not nil.
func (o *Object) Fill(name string, value jsontext.Value) {
	if v := o.Get(name); value != nil && (v == nil || string(v) == `""`) {
		o.Set(name, value)
	}
}

// FillText is Fill for a string.
func (o *Object) FillText(name, text string) { o.Fill(name, Quote(text)) }

// Add adds a member unless there is one of that name.
func (o *Object) Add(name string, value jsontext.Value) {
	if !o.Has(name) {
		o.Set(name, value)
	}
}

// Drop removes a member. It does not change the memory of other copies.
func (o *Object) Drop(name string) {
	*o = slices.DeleteFunc(slices.Clone(*o), func(m league.Member[jsontext.Value]) bool { return m.Name == name })
}

// Quote returns a string as JSON. U+FFFD replaces invalid UTF-8.
func Quote(s string) jsontext.Value { return appendQuoted(nil, s) }

func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\ufffd")) // fails for invalid UTF-8 only
	return b
}

// Unquote returns the string that a JSON value is; "" for anything else.
func Unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	var memory [64]byte // json.Unmarshal allocates more
	s, err := jsontext.AppendUnquote(memory[:0], bytes.Trim(v, " \t\r\n"))
	if err != nil {
		return ""
	}
	return string(s)
}

// NonZero returns a pointer to a value; nil for the zero value.
func NonZero[V comparable](value V) *V {
	if value == *new(V) {
		return nil
	}
	return &value
}
