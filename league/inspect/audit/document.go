package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// A document is a JSON file of the data folder.
type document[T store.Document] struct {
	file        string // relative to the folder
	exists      bool
	raw         []byte
	value       *T     // nil if the file is missing or unreadable
	problem     string // why it is unreadable
	incomplete  bool   // it is no JSON text
	problemLine int
	unknown     error // names a member that this program does not know; nil for none
	logLine     int   // its line in the log of a referee, and then raw is empty; 0 for a file
}

// line returns the line of a member; the line of the innermost one that exists, if
// the member does not. All members of a document in a log are in one line.
func (d *document[T]) line(member jsontext.Pointer) int {
	if bytes.IndexByte(d.raw, '\n') >= len(d.raw)-1 { // a document of a log, or one that was written in one line
		return max(d.logLine, 1)
	}
	decoder, begun := jsontext.NewDecoder(bytes.NewBuffer(d.raw)), int64(0)
	for part := range member.Tokens() {
		if !enter(decoder, part) {
			break
		}
		begun = decoder.InputOffset()
	}
	before := d.raw[:len(d.raw)-len(bytes.TrimLeft(d.raw[begun:], " \t\r\n,:"))]
	return lineAt(d.raw, int64(len(before)))
}

// enter reads the next value up to the value in it with a name or an index, and tells whether there is one. It skips
// what is between, because a reader of every token takes ten times as long.
func enter(decoder *jsontext.Decoder, part string) bool {
	container, err := decoder.ReadToken()
	if err != nil || container.Kind() != '{' && container.Kind() != '[' {
		return false
	}
	index, _ := strconv.Atoi(part)
	for i := 0; decoder.PeekKind() != '}' && decoder.PeekKind() != ']'; i++ {
		found := i == index
		if container.Kind() == '{' {
			name, err := decoder.ReadToken()
			if err != nil {
				return false
			}
			found = name.String() == part
		}
		if found {
			return true
		}
		if decoder.SkipValue() != nil {
			return false
		}
	}
	return false
}

// at is the location of a member.
func (d *document[T]) at(member jsontext.Pointer) Location {
	return Location{File: d.file, Line: d.line(member)}
}

// lineAt returns the line of an offset.
func lineAt(raw []byte, offset int64) int {
	return 1 + bytes.Count(raw[:max(0, min(offset, int64(len(raw))))], []byte("\n"))
}

// load reads a document.
func load[T store.Document](dir store.Folder, path string) (d document[T]) {
	raw, err := store.ReadFile[T](dir.Disk, path)
	d = document[T]{file: relative(dir, path), exists: !errors.Is(err, fs.ErrNotExist), raw: raw}
	if err != nil {
		d.problem = "it cannot be read: " + cause(err)
		return d
	}
	read := new(T)
	if err = json.Unmarshal(raw, read, json.RejectUnknownMembers(true)); errors.Is(err, json.ErrUnknownName) {
		d.unknown, read = err, new(T)
		err = json.Unmarshal(raw, read)
	}
	switch version := store.CheckSchema((*read).Stamp().SchemaVersion); {
	case version != nil && (err == nil || (*read).Stamp().SchemaVersion != ""):
		d.problem, d.problemLine = version.Error(), d.line("/schema_version")
	case err != nil:
		what := "a member has the wrong type"
		if !jsontext.Value(raw).IsValid() {
			what, d.incomplete = "it is not a complete JSON document", true
		}
		d.problem, d.problemLine = what+": "+Reason(err), lineOf(raw, err)
	default:
		d.value = read
	}
	return d
}

// unreadable is the location of the problem.
func (d *document[T]) unreadable() Location { return Location{File: d.file, Line: d.problemLine} }

// checkHeader checks the members that all documents have: last_updated must be a
// time. A member that this program does not know is a note.
func checkHeader[T store.Document](a *auditor, d *document[T], rule string, at Location) {
	at.File = d.file
	if _, err := protocol.ParseTimestamp((*d.value).Stamp().LastUpdated); err != nil {
		a.find(rule, at.at(d.line("/last_updated")), "last_updated: %v", err)
	}
	if d.unknown != nil {
		a.note(RuleSchema, at.at(lineOf(d.raw, d.unknown)), "%s: another program wrote it, or somebody added it",
			Reason(d.unknown))
	}
}

// noteUnknown notes lines of a file with members that this program does not know.
func (a *auditor) noteUnknown(at Location, lines []*store.LineError) {
	for _, line := range lines {
		a.note(RuleSchema, at.at(line.Line), "%s: another program wrote it, or somebody added it", Reason(line.Err))
	}
}

// relative returns a path as findings name it.
func relative(dir store.Folder, path string) string {
	if r, err := filepath.Rel(dir.Path, path); err == nil && filepath.IsLocal(r) {
		path = r
	}
	return filepath.ToSlash(path)
}

// cause is the text of an error without the path, which findings name.
func cause(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return err.Error()
}

// Reason explains why JSON could not be read in terms of the file, not of the
// program: the member, the type that it must have, and what it holds.
func Reason(err error) string {
	text := err.Error()
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		about, _, _ := strings.Cut(text, wrong.Error())
		text = about + wrongType(wrong)
	}
	return words.Clip(strings.ReplaceAll(text, "jsontext: ", ""), 300)
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

// A difference is a member of a document that has not the expected value.
type difference struct {
	member    jsontext.Pointer
	got, want string // shortened

	matchID, agentID string // of the object around it; "" for none
}

// differences compares a document with the one that it should be. Null and a
// missing member are the same.
func differences[T any](got, want *T) (found []difference) {
	if !reflect.DeepEqual(got, want) { // encoding takes much longer
		compare("", decoded(encoded(got)), decoded(encoded(want)), &found)
	}
	return found
}

func compare(member jsontext.Pointer, got, want any, found *[]difference) {
	if reflect.DeepEqual(got, want) {
		return
	}
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			all, before := maps.Clone(got), len(*found)
			maps.Copy(all, want)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				compare(member.AppendToken(name), got[name], want[name], found)
			}
			for i := before; i < len(*found); i++ {
				d := &(*found)[i]
				d.matchID, d.agentID = cmp.Or(d.matchID, text(want["match_id"])),
					cmp.Or(d.agentID, text(want["player_id"]), text(want["referee_id"]))
			}
			return
		}
	case []any:
		if got, ok := got.([]any); ok {
			for i := range min(len(got), len(want)) {
				compare(member.AppendToken(strconv.Itoa(i)), got[i], want[i], found)
			}
			if len(got) != len(want) {
				*found = append(*found, difference{member: member, got: words.Counted(len(got), "entry"),
					want: words.Counted(len(want), "entry")})
			}
			return
		}
	}
	*found = append(*found, difference{member: member, got: shortened(got), want: shortened(want)})
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// onePerObject keeps the first of several differences in the same inner object.
func onePerObject(found []difference) []difference {
	return slices.CompactFunc(found, func(a, b difference) bool {
		return a.member.Parent() != "" && a.member.Parent() == b.member.Parent()
	})
}

// String says what differs, and from what.
func (d difference) String() string {
	return fmt.Sprintf("%s is %s; by the journal it is %s", name(d.member), d.got, d.want)
}

// name formats the path of a member: result.choices.P01.
func name(member jsontext.Pointer) string {
	return strings.Join(slices.Collect(member.Tokens()), ".")
}

// shortened is a value as JSON for people, shortened.
func shortened(v any) string {
	text := encoded(v)
	if string(text) == "null" {
		return "none"
	}
	return fmt.Sprintf("%.70s", text) // a digest fits
}

// encoded is a value as JSON with sorted members. The values were read from JSON, or are parts of documents.
func encoded(v any) []byte {
	raw, _ := json.Marshal(v, json.Deterministic(true)) // always encodes
	return raw
}

// decoded returns JSON as maps, slices and scalars.
func decoded(raw []byte) (value any) {
	_ = json.Unmarshal(raw, &value) // it was encoded by this program
	return value
}
