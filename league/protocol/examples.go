package protocol

import (
	_ "embed" // of the examples
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// examplesJSON holds messages of a simulated league by type. A test of league/simulation/leaguetest writes
// the file.
//
//go:embed examples.json
var examplesJSON []byte

var examples = sync.OnceValue(func() Object { return ParseObject(examplesJSON) })

// Example returns an indented message of a type, as agents of this program send it: of all
// message types, and of most results of tools; false for other types. The messages are from one
// league, so that its commitments, tokens and results belong together.
func Example(messageType string) (jsontext.Value, bool) {
	value := examples().Raw(messageType)
	if value == nil {
		return nil, false
	}
	text := value.Clone()
	return text, text.Indent(jsontext.WithIndent("  ")) == nil
}
