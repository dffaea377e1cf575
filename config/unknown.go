package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Unknown are the members of the files read so far that have no effect: they
// are kept, for they may be somebody else's, but may also be slips of the pen.
// Each is named with its file. Members that begin with _ or $ are remarks.
func (l *Loader) Unknown() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		one := l.files[name]
		if one.err != nil {
			continue
		}
		for _, member := range unknownIn(reflect.ValueOf(one.file).Elem(), "") {
			found = append(found, one.file.head().path+": "+member)
		}
	}
	return found
}

// unknownIn collects the members that a value of a file has kept without knowing
// them, below a path.
func unknownIn(v reflect.Value, path string) []string {
	var found []string
	switch v.Kind() {
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return nil
		}
		for i := range v.Len() {
			found = append(found, unknownIn(v.Index(i), fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i))...)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return unknownIn(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported():
			case field.Type == reflect.TypeFor[jsontext.Value]() && name == "":
				found = append(found, namesIn(v.Field(i).Bytes(), path)...)
			case field.Type == reflect.TypeFor[jsontext.Value](): // read as a whole, and judged there
			case name == "": // embedded: its members are of this object
				found = append(found, unknownIn(v.Field(i), path)...)
			default:
				found = append(found, unknownIn(v.Field(i), path+name+".")...)
			}
		}
	}
	return found
}

// namesIn are the names in an object, without remarks.
func namesIn(object []byte, path string) []string {
	var values map[string]jsontext.Value
	if len(object) == 0 || json.Unmarshal(object, &values) != nil {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "$") {
			names = append(names, path+name)
		}
	}
	return names
}
