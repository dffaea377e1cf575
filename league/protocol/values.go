package protocol

import (
	"reflect"
	"slices"
	"strings"
)

// A valueCheck holds the rules for a value of a Go type: a message or a part of one.
//
// Carriers that do not encode messages pass structs. The checks of a struct are derived
// from the table and the type when the program starts, and give the same result as
// Examine of the encoding.
type valueCheck struct {
	field    *field
	index    int          // of the value in its struct
	omitzero bool         // the encoding leaves a zero value out
	inner    []valueCheck // of the members of a struct, of the elements of a slice, or of the target of a pointer
}

// checkOf returns the check of a type. A bool and a map satisfy every rule.
func checkOf(t reflect.Type, f *field) valueCheck {
	c := valueCheck{field: f}
	switch t.Kind() {
	case reflect.Struct:
		c.inner = memberChecks(t, f)
	case reflect.Pointer:
		c.inner = []valueCheck{checkOf(t.Elem(), f)}
	case reflect.Slice:
		if f.kind == kindArray {
			c.inner = []valueCheck{checkOf(t.Elem(), f.items)}
			break
		}
		value := checkOf(t.Elem().Field(1).Type, f.items) // PerPlayer: the value of each Member
		value.index = 1
		c.inner = []valueCheck{{field: f.items, inner: []valueCheck{value}}}
	default:
	}
	return c
}

// memberChecks returns the checks of the members of a struct. A struct without a value is
// encoded as an empty object or left out, which makes no difference: all members of an
// optional struct are optional.
func memberChecks(t reflect.Type, f *field) (checks []valueCheck) {
	for member := range t.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		k := slices.IndexFunc(f.fields, func(f field) bool { return f.name == name })
		switch {
		case member.Anonymous:
			checks = append(checks, checkOf(member.Type, f))
		case k >= 0:
			checks = append(checks, checkOf(member.Type, &f.fields[k]))
		default:
			continue
		}
		c := &checks[len(checks)-1]
		c.index, c.omitzero = member.Index[0], options == "omitzero"
	}
	return checks
}

// holds tells whether a value breaks no rule.
func (c *valueCheck) holds(v reflect.Value) bool {
	f := c.field
	absent := c.omitzero && f.optional // if v is zero
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		return s == "" && absent || (s != "" || !c.omitzero) && f.checkText(s) == ""
	case reflect.Int:
		n := int(v.Int())
		return n >= f.min && n <= f.max || n == 0 && absent || f.values != nil && QueryRound(n) == AllRounds
	case reflect.Float64:
		return f.allows(v.Float())
	case reflect.Pointer:
		return v.IsNil() && (f.null || f.optional) || !v.IsNil() && c.inner[0].holds(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if !c.inner[0].holds(v.Index(i)) {
				return false
			}
		}
		return v.Len() >= f.min || v.IsNil() && absent
	case reflect.Struct:
		for i := range c.inner {
			if !c.inner[i].holds(v.Field(c.inner[i].index)) {
				return false
			}
		}
	default:
	}
	return true
}
