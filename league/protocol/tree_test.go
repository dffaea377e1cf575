package protocol_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tree is JSON that can be changed in every way, valid or not for a message:
// an object (members in order, perhaps with one name twice), an array, or the
// text of anything else.
type (
	tree   any // object, array or scalar
	object []member
	array  []tree
	scalar string
)

type member struct {
	name  string
	value tree
}

// parse reads JSON into a tree.
func parse(t require.TestingT, raw []byte) tree {
	value := jsontext.Value(raw)
	switch value.Kind() {
	case '{':
		made := object{}
		each(t, value, func(dec *jsontext.Decoder) {
			name, err := dec.ReadToken()
			require.NoError(t, err)
			key := name.String()
			inner, err := dec.ReadValue()
			require.NoError(t, err)
			made = append(made, member{key, parse(t, inner)})
		})
		return made
	case '[':
		made := array{}
		each(t, value, func(dec *jsontext.Decoder) {
			inner, err := dec.ReadValue()
			require.NoError(t, err)
			made = append(made, parse(t, inner))
		})
		return made
	}
	return scalar(strings.TrimSpace(string(value)))
}

// each reads the members or elements of a value one by one.
func each(t require.TestingT, value jsontext.Value, read func(*jsontext.Decoder)) {
	dec := jsontext.NewDecoder(strings.NewReader(string(value)), jsontext.AllowDuplicateNames(true))
	_, err := dec.ReadToken()
	require.NoError(t, err)
	for k := dec.PeekKind(); k != '}' && k != ']'; k = dec.PeekKind() {
		read(dec)
	}
}

// text is the tree as JSON.
func text(v tree) []byte { return appendTree(nil, v) }

func appendTree(b []byte, v tree) []byte {
	switch v := v.(type) {
	case object:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, m.name)
			b = append(b, ':')
			b = appendTree(b, m.value)
		}
		return append(b, '}')
	case array:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendTree(b, e)
		}
		return append(b, ']')
	}
	return append(b, v.(scalar)...)
}

// A place is the way from the root of a tree to one of its values: positions
// of members and elements.
type place []int

// places lists all places below the root.
func places(v tree) []place {
	var all []place
	below := func(i int, inner tree) {
		all = append(all, place{i})
		for _, p := range places(inner) {
			all = append(all, append(place{i}, p...))
		}
	}
	switch v := v.(type) {
	case object:
		for i := range v {
			below(i, v[i].value)
		}
	case array:
		for i := range v {
			below(i, v[i])
		}
	}
	return all
}

// at finds the value at a place, and names the place as an error would.
func at(v tree, p place) (path string, value tree) {
	for _, i := range p {
		switch inner := v.(type) {
		case object:
			path = strings.TrimPrefix(path+"."+inner[i].name, ".")
			v = inner[i].value
		case array:
			path += "[" + strconv.Itoa(i) + "]"
			v = inner[i]
		}
	}
	return path, v
}

// with is a copy of the tree with another value at the place.
func with(v tree, p place, value tree) tree {
	if len(p) == 0 {
		return value
	}
	i := p[0]
	if o, ok := v.(object); ok {
		o = slices.Clone(o)
		o[i].value = with(o[i].value, p[1:], value)
		return o
	}
	a := slices.Clone(v.(array))
	a[i] = with(a[i], p[1:], value)
	return a
}

// without is a copy of the tree that lacks the member or element at the place.
func without(v tree, p place) tree {
	last := len(p) - 1
	_, parent := at(v, p[:last])
	if o, ok := parent.(object); ok {
		return with(v, p[:last], slices.Delete(slices.Clone(o), p[last], p[last]+1))
	}
	return with(v, p[:last], slices.Delete(slices.Clone(parent.(array)), p[last], p[last]+1))
}

// set is a copy of the object with the member set: replaced, or added last.
func (o object) set(name string, value tree) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// get is the value of a member; nil when there is none.
func (o object) get(name string) tree {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// drop is a copy of the object without the members.
func (o object) drop(names ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(names, m.name) })
}

func TestTreesAreEditedInCopies(t *testing.T) {
	const original = `{"a":{"b":[1,{"c":"x"}]},"d":null}`
	v := parse(t, []byte(original))
	all := places(v)
	require.Len(t, all, 6)
	deepest := all[4]
	path, value := at(v, deepest)
	assert.Equal(t, "a.b[1].c", path)
	assert.Equal(t, scalar(`"x"`), value)
	assert.Equal(t, `{"a":{"b":[1,{"c":[]}]},"d":null}`, string(text(with(v, deepest, array{}))))
	assert.Equal(t, `{"a":{"b":[1,{}]},"d":null}`, string(text(without(v, deepest))))
	assert.Equal(t, `{"a":{"b":[{"c":"x"}]},"d":null}`, string(text(without(v, all[2]))))
	assert.Equal(t, `{"a":7}`, string(text(v.(object).set("a", scalar("7")).drop("d"))))
	assert.Equal(t, original, string(text(v)), "no edit changes the original")
}
