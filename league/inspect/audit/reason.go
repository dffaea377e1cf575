package audit

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Reason explains why JSON could not be read in terms of the file, not of the
// program: the member, the type that it must have, and what it holds.
func Reason(err error) string {
	text := err.Error()
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		about, _, _ := strings.Cut(text, wrong.Error())
		text = about + wrongType(wrong)
	}
	return protocol.Clip(strings.ReplaceAll(text, "jsontext: ", ""), 300)
}

// lineOf returns the line in which JSON is wrong.
func lineOf(raw []byte, err error) int {
	at := int64(len(raw))
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = e.ByteOffset
	} else if e, ok := errors.AsType[*json.SemanticError](err); ok {
		at = e.ByteOffset
	}
	return lineAt(raw, at)
}

// wrongType says which member has the wrong type.
func wrongType(e *json.SemanticError) string {
	member := strings.TrimPrefix(string(e.JSONPointer), "/")
	if member == "" {
		member = "the document"
	}
	if e.Err != nil && errors.Is(e.Err, json.ErrUnknownName) {
		return member + " is an unknown member"
	}
	is := kindName(e.JSONKind)
	if len(e.JSONValue) > 0 {
		is = clip(string(e.JSONValue))
	}
	return fmt.Sprintf("%s must be %s, not %s", member, typeName(e.GoType), is)
}

// typeName names the JSON type that is read into a Go type.
func typeName(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return kindName(0)
	}
	return kindName(jsontext.Value(encoded(reflect.Zero(t).Interface())).Kind())
}

func kindName(kind jsontext.Kind) string {
	name := map[jsontext.Kind]string{
		'n': "null", 't': "true", 'f': "true or false", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
	}[kind]
	return cmp.Or(name, "something else")
}
