package protocol

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// A valueCheck is a field of the table that a Go struct has at a fixed offset.
//
// Carriers that do not encode messages pass structs. The checks of a struct are
// derived from the table and the type when the program starts, and give the same
// result as Examine of the encoding. They read the members by offset: package
// reflect takes three times as long, which a league in memory spends for every
// message.
type valueCheck struct {
	field    *field
	kind     reflect.Kind
	offset   uintptr
	omitzero bool         // the encoding leaves a zero value out
	plain    bool         // a string without a form
	size     uintptr      // of an element
	inner    []valueCheck // of the value that a pointer points to, or of an element
}

// checksOf returns the checks of a value of type t at an offset.
func checksOf(t reflect.Type, f *field, offset uintptr, omitzero bool) []valueCheck {
	c := valueCheck{field: f, kind: t.Kind(), offset: offset, omitzero: omitzero, plain: f.form == nil && f.values == nil}
	switch t.Kind() {
	case reflect.Struct:
		return memberChecks(t, f, offset)
	case reflect.Pointer:
		c.inner = checksOf(t.Elem(), f, 0, false)
	case reflect.Slice:
		element, at := t.Elem(), uintptr(0)
		c.size = element.Size()
		if f.kind == kindObject { // PerPlayer
			element, at = element.Field(1).Type, element.Field(1).Offset
		}
		c.inner = checksOf(element, f.items, at, false)
	case reflect.String, reflect.Int, reflect.Float64:
	default: // nothing can be wrong with a bool or a map
		return nil
	}
	return []valueCheck{c}
}

// memberChecks returns the checks of the members of a struct. A struct without a
// value is encoded as an empty object or left out, which makes no difference: what
// may be absent has optional members only.
func memberChecks(t reflect.Type, f *field, offset uintptr) (checks []valueCheck) {
	for i := range t.NumField() {
		member := t.Field(i)
		if member.Anonymous {
			checks = append(checks, memberChecks(member.Type, f, offset+member.Offset)...)
			continue
		}
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if k := slices.IndexFunc(f.fields, func(f field) bool { return f.name == name }); k >= 0 {
			checks = append(checks, checksOf(member.Type, &f.fields[k], offset+member.Offset, options == "omitzero")...)
		}
	}
	return checks
}

// allHold tells whether a value breaks no rule.
func allHold(checks []valueCheck, value unsafe.Pointer) bool {
	for i := range checks {
		c := &checks[i]
		f, p := c.field, unsafe.Add(value, c.offset)
		var holds bool
		switch c.kind {
		case reflect.String:
			s := *(*string)(p)
			holds = s == "" && c.omitzero && f.optional || c.plain && len(s) >= max(1, f.min) && len(s) <= f.max || f.checkText(s) == "" && (s != "" || !c.omitzero)
		case reflect.Int:
			n := *(*int)(p)
			holds = n >= f.min && n <= f.max || n == 0 && c.omitzero && f.optional || f.values != nil && QueryRound(n) == AllRounds
		case reflect.Float64:
			holds = f.allows(*(*float64)(p))
		case reflect.Pointer:
			inner := *(*unsafe.Pointer)(p)
			holds = inner == nil && (f.null || f.optional) || inner != nil && allHold(c.inner, inner)
		default:
			holds = c.elementsHold(p)
		}
		if !holds {
			return false
		}
	}
	return true
}

// elementsHold tells whether a slice breaks no rule.
func (c *valueCheck) elementsHold(p unsafe.Pointer) bool {
	elements := *(*[]byte)(p)                           // a slice of any type has the same header
	first := unsafe.Pointer(unsafe.SliceData(elements)) //nolint:gosec // the offsets are those of the type
	for i := range elements {
		if !allHold(c.inner, unsafe.Add(first, uintptr(i)*c.size)) {
			return false
		}
	}
	return len(elements) >= c.field.min || elements == nil && c.omitzero && c.field.optional
}

// checksOfRequest returns the checks of a type of request; none for a tool, which has
// no message type.
func checksOfRequest[Q any](messageType string) []valueCheck {
	if messageType == "" {
		return nil
	}
	return checksOf(reflect.TypeFor[Q](), shapes[messageType], 0, false)
}
