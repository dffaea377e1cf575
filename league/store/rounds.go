package store

import (
	"bytes"
	"io"
	"iter"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/store/atomicfile"
)

// WriteRounds is WriteDerived for rounds.json: r without its rounds, which each yields. It
// encodes one round at a time and writes a match to a line, because a league of 1,000
// players has half a million matches.
func WriteRounds(path string, r *Rounds, each iter.Seq[*Round]) error {
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
		text, separator := bytes.TrimSuffix(head, []byte("]\n}")), "\n    "
		for round := range each {
			if text, err = appendRound(append(text, separator...), round); err == nil {
				_, err = w.Write(text)
			}
			if err != nil {
				return err
			}
			text, separator = text[:0], ",\n    "
		}
		_, err := w.Write(append(text, "\n  ]\n}\n"...))
		return err
	})
}

// appendRound appends one round of rounds.json to a text.
func appendRound(text []byte, r *Round) ([]byte, error) {
	round, err := json.Marshal(r)
	match := []byte(`{"match_id":`)
	return append(text, bytes.ReplaceAll(round, match, append([]byte("\n      "), match...))...), err
}
