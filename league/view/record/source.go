package record

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
)

// A Source has the records of one league: its data folder, or its manager. It is not
// safe for concurrent use.
type Source interface {
	// Lines returns lines of the journal, in order, from the event with a number on. It
	// returns none if there is no such event yet.
	Lines(ctx context.Context, from int) ([]string, error)
	// Log returns a part of the log of an agent, as store.Folder.AgentLog does.
	Log(ctx context.Context, agentID string, offset int64) (lines []string, next int64, err error)
	// Transcript returns an attempt at a match with its transcript.
	Transcript(ctx context.Context, at protocol.Attempt, refereeID string) (*store.Match, error)
	Close()
}

var _ Source = (*Folder)(nil)

// A Folder reads the files of a league, whose manager may be running.
type Folder struct {
	folder   store.Folder
	leagueID string
	offset   int64 // of the next line
	results  *store.ResultsFiles
}

// NewFolder returns the records of a league in a data folder.
func NewFolder(folder store.Folder, leagueID string) *Folder {
	return &Folder{folder: folder, leagueID: leagueID, results: folder.NewResultsFiles(leagueID)}
}

// errEnough ends the reading of a file.
var errEnough = errors.New("enough lines")

// Lines implements Source. Each call begins where the last one ended: it ignores from.
func (f *Folder) Lines(_ context.Context, _ int) (lines []string, err error) {
	const most = 5000 // lines of one call
	file, err := store.Open(f.folder.Journal(f.leagueID))
	if err != nil {
		return nil, fmt.Errorf("the journal of league %s cannot be read: %w", f.leagueID, err)
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return nil, err
	}
	read := int64(0)
	_, _, err = appendfile.Lines(file, func(_ int, text []byte) error {
		if len(lines) == most {
			return errEnough
		}
		lines, read = append(lines, string(text)), read+int64(len(text))+1
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	f.offset += read
	return lines, nil
}

// Log implements Source.
func (f *Folder) Log(_ context.Context, agentID string, offset int64) (lines []string, next int64, err error) {
	return f.folder.AgentLog(f.leagueID, agentID, offset)
}

// Transcript implements Source. Unlike the other methods it is safe for concurrent use.
func (f *Folder) Transcript(_ context.Context, at protocol.Attempt, refereeID string) (*store.Match, error) {
	records, err := f.results.Records(at.MatchID.String(), at.Number)
	if err != nil {
		doc, problem := f.folder.LoadMatch(f.leagueID, at.MatchID.String()) // by the manager: the draw, without a transcript
		if problem == nil && doc.Attempt == at.Number {
			return doc, nil
		}
		return nil, err
	}
	return ReadTranscript(f.leagueID, refereeID, records)
}

// Close implements Source.
func (f *Folder) Close() {}

// ReadTranscript makes a match with its transcript from the lines of a results file.
func ReadTranscript(leagueID, refereeID string, lines []jsontext.Value) (*store.Match, error) {
	records := make([]*store.Record, len(lines))
	for i, line := range lines {
		var err error
		if records[i], err = store.ReadRecord(line); err != nil {
			return nil, fmt.Errorf("a record of a match cannot be read: %w", err)
		}
	}
	return store.MatchOf(&store.ResultsHeader{SchemaVersion: store.SchemaVersion, LeagueID: leagueID, RefereeID: refereeID}, records...)
}
