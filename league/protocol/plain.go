package protocol

import (
	"reflect"
	"slices"
)

// added is the word of members that chapter 4 of the specification does not have: see compile.
const added = "added"

// SetPlain makes the message of the envelope plain, in a league of plain members: see Plain.
func (e *Envelope) SetPlain(plain bool) { e.plain = plain }

// Plain returns a message as agents of a league of plain members send it: with the members that chapter 4 of the
// specification has, and those that authenticate. Any other message, and one that chapter 4 lacks, stays as it is.
// The result may share members with v.
func Plain[V any](v *V) *V {
	if !EnvelopeOf(v).plain {
		return v
	}
	out := *v
	strip(reflect.ValueOf(&out).Elem())
	EnvelopeOf(&out).plain = false // it is plain already
	return &out
}

// strip clears the added members of a struct. Values behind pointers and in slices are copied before.
func strip(v reflect.Value) {
	for i := range v.NumField() {
		member, tag := v.Field(i), v.Type().Field(i).Tag.Get("rule")
		if own, _ := wordsOf(tag); slices.Contains(own, added) {
			member.SetZero()
			continue
		}
		switch t := member.Type(); {
		case !member.CanSet(): // not a part of the message
		case t == reflect.TypeFor[ReportedResult](): // its form has the tags
			result := member.Addr().Interface().(*ReportedResult)
			form := result.form()
			strip(reflect.ValueOf(form).Elem())
			*result = form.result()
		case t.Kind() == reflect.Struct:
			strip(member)
		case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && !member.IsNil():
			inner := reflect.New(t.Elem())
			inner.Elem().Set(member.Elem())
			strip(inner.Elem())
			member.Set(inner)
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && member.Len() > 0:
			items := reflect.MakeSlice(t, member.Len(), member.Len())
			reflect.Copy(items, member)
			for n := range items.Len() {
				strip(items.Index(n))
			}
			member.Set(items)
		}
	}
}
