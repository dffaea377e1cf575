package store

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/store/atomicfile"
)

// WriteRounds is WriteDerived for rounds.json: r without its rounds, which the function round
// makes by their numbers from 1. It encodes one round at a time and writes a match to a line,
// because a league of 1,000 players has half a million matches. After an error of round the old
// file stays.
func WriteRounds(path string, r *Rounds, completed int, round func(number int) (*Round, error)) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	start := *r
	start.Rounds = []Round{}
	head, err := json.Marshal(&start, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(path, 0o644, func(w io.Writer) error {
		_, _ = w.Write(bytes.TrimSuffix(head, []byte("]\n}"))) // the last write returns its error
		separator, match := "", []byte(`{"match_id":`)
		for number := 1; number <= completed; number++ {
			record, err := round(number)
			if err != nil {
				return err
			}
			text, err := json.Marshal(record)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(w, "%s\n    %s", separator, bytes.ReplaceAll(text, match, append([]byte("\n      "), match...)))
			separator = ","
		}
		_, err := io.WriteString(w, "\n  ]\n}\n")
		return err
	})
}
