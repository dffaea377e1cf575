package thirdparty

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// An exchange between third-party agents, as captured.
type exchange struct {
	N        int    `json:"n"`
	Port     int    `json:"server_port"`
	Path     string `json:"path"`
	Request  any    `json:"request"`
	Status   int    `json:"status"`
	Response any    `json:"response"`

	capture, file string
}

func (e *exchange) String() string {
	return fmt.Sprintf("%s/%s %d %s", e.capture, e.file, e.N, e.method())
}

// method is the method of the request, or its path if there is none.
func (e *exchange) method() string {
	if method, ok := member(e.Request, "method").(string); ok {
		return method
	}
	return e.Path
}

// captures are the captures, with the number of their exchanges.
var captures = map[string]int{"maker-a": 13, "maker-b": 54, "maker-c": 14, "maker-d": 13, "maker-e": 23}

// captured are the exchanges of a capture: first the registrations, then the matches.
func captured(t *testing.T, capture string) (all []*exchange) {
	t.Helper()
	folder := filepath.Join("..", "testdata", "peers", capture)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	order := []string{"registration.json", "match1.json", "other.json"}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return slices.Index(order, a.Name()) - slices.Index(order, b.Name()) })
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(folder, file.Name()))
		require.NoError(t, err)
		var some []*exchange
		require.NoError(t, json.Unmarshal(raw, &some))
		for _, e := range some {
			e.capture, e.file = capture, file.Name()
		}
		all = append(all, some...)
	}
	require.Len(t, all, captures[capture])
	return all
}

// member is the value at a path of members in a JSON value; nil for none.
func member(tree any, names ...string) any {
	for _, name := range names {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = object[name]
	}
	return tree
}

// text is member if it is a string, else "".
func text(tree any, names ...string) string {
	s, _ := member(tree, names...).(string)
	return s
}

// replaced returns a JSON value with some strings replaced, including names of members.
func replaced(tree any, by map[string]string) any {
	switch v := tree.(type) {
	case string:
		if other, ok := by[v]; ok {
			return other
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = replaced(v[i], by)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, value := range v {
			object[replaced(name, by).(string)] = replaced(value, by)
		}
		return object
	}
	return tree
}

// lacking lists the members of a captured answer that another answer lacks, or has with another type. A captured null
// may be null or a string. Our answers have no null error.
func lacking(of, answer any, path string) (missing []string) {
	kind, want := fmt.Sprintf("%T", answer), fmt.Sprintf("%T", of)
	if kind != want && (of != nil || kind != "string") {
		return []string{path + ": " + kind + " in place of " + want}
	}
	switch v := of.(type) {
	case []any:
		has := answer.([]any)
		if len(v) > 0 && len(has) == 0 {
			return []string{path + ": empty"}
		}
		for i := range has {
			if len(v) > 0 {
				missing = append(missing, lacking(v[0], has[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case map[string]any:
		has := answer.(map[string]any)
		if e, there := has["error"]; there && path == "" && e == nil {
			missing = append(missing, ".error: null, which is not allowed")
		}
		for name, value := range v {
			switch found, there := has[name]; {
			case name == "error" && value == nil:
			case there:
				missing = append(missing, lacking(value, found, path+"."+name)...)
			default:
				missing = append(missing, path+"."+name+": missing")
			}
		}
	}
	return missing
}
