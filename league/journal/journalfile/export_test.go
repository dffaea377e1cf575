package journalfile

import (
	"io"

	"evenodd/league/journal"
	"evenodd/league/store/appendfile"
)

// Replay folds a journal as Open does. It returns the hash of the last event, and end and torn as
// appendfile.Lines does.
func Replay(path string, file io.Reader, visit Visit) (state *journal.State, head string, end int64, torn int, err error) {
	r := newReplay(path, visit)
	end, torn, err = appendfile.Lines(file, r.line)
	return r.state, r.head, end, torn, r.damage(err)
}
