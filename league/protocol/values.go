package protocol

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// A valueCheck holds the rules for a value of a Go type: a message or a part of one.
//
// Carriers that do not encode messages pass structs. The checks of a struct are derived
// from the table and the type when the program starts, and give the same result as
// Examine of the encoding. They read members by their offset: by reflection, each message
// of a league in memory takes twice as long to check.
type valueCheck struct {
	field    *field
	kind     reflect.Kind
	offset   uintptr      // of the value in the struct that contains it
	size     uintptr      // of an element of a slice
	omitzero bool         // the encoding leaves a zero value out
	inner    []valueCheck // of the target of a pointer or of an element of a slice
}

// checksOf returns the checks of a value of type t that is at an offset in a struct. A
// struct has those of its members. A bool and a map satisfy every rule.
func checksOf(t reflect.Type, f *field, offset uintptr, omitzero bool) []valueCheck {
	c := valueCheck{field: f, kind: t.Kind(), offset: offset, omitzero: omitzero}
	switch c.kind {
	case reflect.Struct:
		return memberChecks(t, f, offset)
	case reflect.Pointer:
		c.inner = checksOf(t.Elem(), f, 0, false)
	case reflect.Slice:
		c.size = t.Elem().Size()
		if f.kind == kindArray {
			c.inner = checksOf(t.Elem(), f.items, 0, false)
			break
		}
		value := t.Elem().Field(1) // PerPlayer: the value of each Member
		c.inner = checksOf(value.Type, f.items, value.Offset, false)
	case reflect.Bool, reflect.Map:
		return nil
	default:
	}
	return []valueCheck{c}
}

// memberChecks returns the checks of the members of a struct. A struct without a value is
// encoded as an empty object or left out, which makes no difference: all members of an
// optional struct are optional.
func memberChecks(t reflect.Type, f *field, offset uintptr) (checks []valueCheck) {
	for member := range t.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		k := slices.IndexFunc(f.fields, func(f field) bool { return f.name == name })
		at, omitzero := offset+member.Offset, options == "omitzero"
		switch {
		case member.Anonymous:
			checks = append(checks, checksOf(member.Type, f, at, omitzero)...)
		case k >= 0:
			checks = append(checks, checksOf(member.Type, &f.fields[k], at, omitzero)...)
		}
	}
	return checks
}

// allHold tells whether the value at an address breaks no rule.
func allHold(checks []valueCheck, at unsafe.Pointer) bool {
	for i := range checks {
		if !checks[i].holds(at) {
			return false
		}
	}
	return true
}

// holds tells whether a value in the struct at an address breaks no rule.
func (c *valueCheck) holds(at unsafe.Pointer) bool {
	f := c.field
	absent := c.omitzero && f.optional // if the value is zero
	at = unsafe.Add(at, c.offset)
	switch c.kind {
	case reflect.String:
		s := *(*string)(at)
		return s == "" && absent || (s != "" || !c.omitzero) && f.allowsText(s)
	case reflect.Int:
		n := *(*int)(at)
		return n >= f.min && n <= f.max || n == 0 && absent || f.values != nil && QueryRound(n) == AllRounds
	case reflect.Float64:
		return f.allows(*(*float64)(at))
	case reflect.Pointer:
		target := *(*unsafe.Pointer)(at)
		return target == nil && (f.null || f.optional) || target != nil && allHold(c.inner, target)
	case reflect.Slice:
		s := *(*[]struct{})(at)                      // only its address and its length matter
		first := unsafe.Pointer(unsafe.SliceData(s)) //nolint:gosec // a slice of elements of c.size
		for i := range s {
			if !allHold(c.inner, unsafe.Add(first, uintptr(i)*c.size)) {
				return false
			}
		}
		return len(s) >= f.min && (s != nil || !c.omitzero) || s == nil && absent
	default:
		return true
	}
}
