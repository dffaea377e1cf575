package report

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

var update = flag.Bool("update", false, "write the tables of members in docs")

// code is a reference to code in a comment, which is for readers of the code alone.
var code = regexp.MustCompile(`[;:]?\s*(?:see|as of) [a-z]+\.[A-Z][\w.]*$`)

var part = regexp.MustCompile(`(?s)<!-- generated: ([^>]+) -->\n(.*?)<!-- end -->`)

// The tables of members in the pages are those of the types: 'go test ./league/view/report -run TestMembers -update'
// writes them.
func TestMembersInDocsAreThoseOfTheTypes(t *testing.T) {
	said := commentsIn(t, ".", "../record", "../stats")
	for page, tables := range map[string]map[string]any{
		"data-folder.md": {"report": Report{}, "sheet": Sheet{}},
		"statistics.md":  {"statistics": stats.Analysis{}, "comparison": record.Comparison{}},
	} {
		page = filepath.Join("../../../docs", page)
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		found := map[string]bool{}
		made := part.ReplaceAllStringFunc(string(text), func(written string) string {
			name := part.FindStringSubmatch(written)[1]
			found[name] = true
			return "<!-- generated: " + name + " -->\n" + tableOf(reflect.TypeOf(tables[name]), said) + "<!-- end -->"
		})
		assert.Len(t, found, len(tables), page)
		if *update {
			require.NoError(t, os.WriteFile(page, []byte(made), 0o644))
			continue
		}
		assert.Equal(t, made, string(text), "go test ./league/view/report -run TestMembers -update writes %s", page)
	}
}

// commentsIn returns the comments behind fields in folders, by type and field.
func commentsIn(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							said[spec.Name.Name+"."+name.Name] = code.ReplaceAllString(strings.TrimSpace(f.Comment.Text()), "")
						}
					}
				}
				return false
			})
		}
	}
	return said
}

// A member is a field of a document.
type member struct {
	name, comment string
	of            reflect.Type
}

// membersOf returns the members of a struct, or of the elements of a list; none of another type.
func membersOf(of reflect.Type, said map[string]string) (all []member) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, membersOf(f.Type, said)...)
		case f.IsExported() && name != "" && name != "-":
			all = append(all, member{name, said[of.Name()+"."+f.Name], f.Type})
		}
	}
	return all
}

func (m *member) String() string {
	if m.comment == "" {
		return "`" + m.name + "`"
	}
	return "`" + m.name + "` (" + m.comment + ")"
}

// tableOf is a table of the members of a document, with the members of each.
func tableOf(document reflect.Type, said map[string]string) string {
	var table strings.Builder
	table.WriteString("| member | members of it |\n| --- | --- |\n")
	for _, m := range membersOf(document, said) {
		var below []string
		for _, b := range membersOf(m.of, said) {
			below = append(below, b.String())
		}
		fmt.Fprintf(&table, "| %s | %s |\n", m.String(), strings.Join(below, ", "))
	}
	return table.String()
}
