package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commentsOfFields returns the comments above the fields of the messages, by the names of the fields in Go. A comment
// behind a field is for programmers.
var commentsOfFields = sync.OnceValue(func() map[string]string {
	inMessages := map[string]bool{}
	members(func(_, _ string, f *Field) { inMessages[f.goName] = true })
	found := map[string]string{}
	for _, folder := range []string{".", ".."} {
		files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				panic(err)
			}
			ast.Inspect(source, func(n ast.Node) bool {
				declared, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := declared.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						text := strings.Join(strings.Fields(f.Doc.Text()), " ")
						for _, name := range f.Names {
							goName := declared.Name.Name + "." + name.Name
							if text == "" || !inMessages[goName] {
								continue
							}
							if found[goName] != "" {
								panic("two types have a field " + goName)
							}
							found[goName] = text
						}
					}
				}
				return false
			})
		}
	}
	return found
})

func TestMeaningsAreTheCommentsOfTheFields(t *testing.T) {
	if *update {
		text, err := json.Marshal(commentsOfFields(), json.Deterministic(true), jsontext.WithIndent("\t"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("meanings.json", append(text, '\n'), 0o644))
		return
	}
	assert.Equal(t, commentsOfFields(), comments(), "run: go test ./league/protocol -run 'TestMeanings|TestProtocolPage' -update")
}

// A meaning that one field alone has stands above it.
func TestEachUsualMeaningIsOfSeveralFields(t *testing.T) {
	fields := map[string]map[string]bool{}
	members(func(_, _ string, f *Field) {
		if commentsOfFields()[f.goName] == "" {
			if fields[f.Name] == nil {
				fields[f.Name] = map[string]bool{}
			}
			fields[f.Name][f.goName] = true
		}
	})
	for name := range maps.Keys(usualMeanings) {
		assert.Greater(t, len(fields[name]), 1, "%s: it is of %v", name, fields[name])
	}
}
