package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A document is a JSON file that was read, with what is needed to say where in
// it something stands.
type document struct {
	file string // relative to the folder
	raw  []byte
}

// line is that of a member, given by the names and indexes that lead to it; of
// the innermost that is there, when it is not.
func (d *document) line(path ...any) int {
	return 1 + bytes.Count(d.raw[:offset(d.raw, path)], []byte("\n"))
}

// offset is where a member of a JSON document ends its name, or an element
// begins.
func offset(raw []byte, path []any) int {
	for ; len(path) > 0; path = path[:len(path)-1] {
		var pointer jsontext.Pointer
		for _, step := range path {
			pointer = pointer.AppendToken(fmt.Sprint(step))
		}
		decoder := jsontext.NewDecoder(bytes.NewReader(raw))
		for {
			if _, err := decoder.ReadToken(); err != nil {
				break
			}
			if decoder.StackPointer() == pointer {
				return int(decoder.InputOffset())
			}
		}
	}
	return 0
}

// An unreadableError is a file that cannot be read as what it should be.
type unreadableError struct {
	line   int
	reason string
}

func (e *unreadableError) Error() string { return e.reason }

// load reads a document. What is not there is fs.ErrNotExist; every other error
// is an *unreadableError.
func load[T any](dir store.Folder, path string) (*T, document, error) {
	raw, err := os.ReadFile(path)
	d := document{relative(dir, path), raw}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d, err
	}
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the finding names the file
		}
		return nil, d, &unreadableError{0, "it cannot be read: " + err.Error()}
	}
	doc := new(T)
	var head struct {
		SchemaVersion string `json:"schema_version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, d, &unreadableError{lineOf(raw, err), "it is not a whole JSON document: " + reason(err)}
	}
	if err := store.CheckSchema(head.SchemaVersion); err != nil {
		return nil, d, &unreadableError{d.line("schema_version"), err.Error()}
	}
	if err := json.Unmarshal(raw, doc); err != nil {
		return nil, d, &unreadableError{lineOf(raw, err), "it is not what it should be: " + reason(err)}
	}
	return doc, d, nil
}

// lineOf is the line in which JSON goes wrong.
func lineOf(raw []byte, err error) int {
	at := int64(len(raw))
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		at = syntactic.ByteOffset
	case errors.As(err, &semantic):
		at = semantic.ByteOffset
	}
	at = max(0, min(at, int64(len(raw))))
	return 1 + bytes.Count(raw[:at], []byte("\n"))
}

// Reason says why JSON could not be read, to people who know the file and not
// the program: which member, what belongs there, and what is there.
func Reason(err error) string { return reason(err) }

func reason(err error) string {
	text := err.Error()
	var wrong *json.SemanticError
	if errors.As(err, &wrong) {
		about, _, _ := strings.Cut(text, wrong.Error())
		text = about + misfit(wrong)
	}
	text = strings.ReplaceAll(text, "jsontext: ", "")
	const limit = 300
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// misfit says which member is of the wrong kind.
func misfit(e *json.SemanticError) string {
	member := strings.TrimPrefix(string(e.JSONPointer), "/")
	if member == "" {
		member = "the document"
	}
	if e.Err != nil && errors.Is(e.Err, json.ErrUnknownName) {
		return member + " is no member that is known"
	}
	is := map[jsontext.Kind]string{
		'n': "null", 't': "true", 'f': "false", '"': "a text", '0': "a number", '{': "an object", '[': "a list",
	}[e.JSONKind]
	if len(e.JSONValue) > 0 {
		is = clip(string(e.JSONValue))
	}
	if is == "" {
		is = "something else"
	}
	return fmt.Sprintf("%s must be %s, not %s", member, kindOf(e.GoType), is)
}

// kindOf is what belongs where a type is read.
func kindOf(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "something else"
	case strings.HasPrefix(t.Name(), "PerPlayer"):
		return "an object"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "something else"
}

// written looks at what every document says of itself: when it was written, and
// nothing that is not known.
func written[T any](x *examination, d *document, rule, lastUpdated string, at spot) {
	at.file = d.file
	if _, err := protocol.ParseTimestamp(lastUpdated); err != nil {
		at := at
		at.line = d.line("last_updated")
		x.find(rule, at, "last_updated: %v", err)
	}
	if err := json.Unmarshal(d.raw, new(T), json.RejectUnknownMembers(true)); errors.Is(err, json.ErrUnknownName) {
		at.line = lineOf(d.raw, err)
		x.note(RuleSchema, at, "%s: another program wrote it, or somebody added it", reason(err))
	}
}

// relative is a path as findings name it.
func relative(dir store.Folder, path string) string {
	if r, err := filepath.Rel(string(dir), path); err == nil {
		path = r
	}
	return filepath.ToSlash(path)
}

// quoted is a value of a document for people, shortened.
func quoted[S ~string](s *S) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%.64q", string(*s)) // a digest fits
}

// number is an optional number for people.
func number(n *int) string {
	if n == nil {
		return "none"
	}
	return strconv.Itoa(*n)
}

// same tells whether two optional values are the same.
func same[V comparable](a, b *V) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
