package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/config"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
)

// A leagueSource has the records of one league: its data folder, or its manager. It is not
// safe for concurrent use.
type leagueSource interface {
	// lines returns lines of the journal, in order, from the event with a number on. It
	// returns none if there is no such event yet.
	lines(ctx context.Context, from int) ([]string, error)
	// log returns a part of the log of an agent, as store.Folder.AgentLog does.
	log(ctx context.Context, agentID string, offset int64) (lines []string, next int64, err error)
	// transcript returns an attempt at a match with its transcript.
	transcript(ctx context.Context, at protocol.Attempt, refereeID string) (*store.Match, error)
	close()
}

var (
	_ leagueSource = (*managerClient)(nil)
	_ leagueSource = (*folderSource)(nil)
)

// source opens the records of the league: those of the manager that the user has named, else
// those of the data folder.
func (o *organiserOptions) source(ctx context.Context) (leagueSource, error) {
	if o.remote {
		return o.connect(ctx)
	}
	dir, err := o.folder()
	if err != nil {
		return nil, err
	}
	return &folderSource{folder: dir, leagueID: o.leagueID}, nil
}

// A folderSource reads the files of a league, whose manager may be running.
type folderSource struct {
	folder   store.Folder
	leagueID string
	offset   int64 // of the next line
}

// errEnough ends the reading of a file.
var errEnough = errors.New("enough lines")

// lines implements leagueSource. Each call begins where the last one ended.
func (f *folderSource) lines(context.Context, int) (lines []string, err error) {
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

// log implements leagueSource.
func (f *folderSource) log(_ context.Context, agentID string, offset int64) (lines []string, next int64, err error) {
	return f.folder.AgentLog(f.leagueID, agentID, offset)
}

// transcript implements leagueSource.
func (f *folderSource) transcript(_ context.Context, at protocol.Attempt, refereeID string) (*store.Match, error) {
	records, err := f.folder.AttemptRecords(f.leagueID, at.MatchID.String(), at.Number)
	if err != nil {
		doc, problem := f.folder.LoadMatch(f.leagueID, at.MatchID.String()) // earlier versions kept the transcript there
		if problem == nil && doc.Attempt == at.Number {
			return doc, nil
		}
		return nil, err
	}
	return transcriptOf(f.leagueID, refereeID, records)
}

func (f *folderSource) close() {}

// transcriptOf makes a match with its transcript from the lines of a results file.
func transcriptOf(leagueID, refereeID string, lines []jsontext.Value) (*store.Match, error) {
	records := make([]*store.Record, len(lines))
	for i, line := range lines {
		var err error
		if records[i], err = store.ReadRecord(line); err != nil {
			return nil, fmt.Errorf("a record of a match cannot be read: %w", err)
		}
	}
	return store.MatchOf(&store.ResultsHeader{SchemaVersion: store.SchemaVersion, LeagueID: leagueID, RefereeID: refereeID}, records...)
}

// A leagueRecord is a league as its journal tells it.
type leagueRecord struct {
	*journal.State

	decisions []decisionMade
	begun     map[protocol.MatchID]string // when the last attempt was assigned, as Event.At
	at        string                      // time of the last event
	head      string                      // hash of the last line

	roster []config.RosterEntry // that the user has named
}

// A decisionMade is a decision of an organiser.
type decisionMade struct {
	number int // of its event
	at     string
	event  journal.DecisionEvent
}

func newLeagueRecord() *leagueRecord {
	return &leagueRecord{State: journal.NewState(), begun: map[protocol.MatchID]string{}, head: journal.Origin}
}

// update folds the events that are new in the source, and calls news, which may be nil, with each
// of them and its line.
func (r *leagueRecord) update(ctx context.Context, from leagueSource, news func(e *journal.Event, line string)) error {
	for {
		lines, err := from.lines(ctx, r.Events+1)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, line := range lines {
			e, err := r.fold([]byte(line))
			if err != nil {
				return fmt.Errorf("the journal is damaged at line %d: %w; 'evenodd audit' tells more", r.Events+1, err)
			}
			if news != nil {
				news(e, line)
			}
		}
	}
}

// fold applies the event of a line.
func (r *leagueRecord) fold(line []byte) (*journal.Event, error) {
	e, err := journal.Decode(line)
	switch {
	case err != nil:
		return nil, err
	case e.Seq != r.Events+1:
		return nil, fmt.Errorf("event %d stands where event %d belongs", e.Seq, r.Events+1)
	case e.Prev != r.head && e.Prev != "": // a league without a journal has no hashes
		return nil, errors.New("it does not follow the line before")
	}
	if err := r.Apply(e); err != nil {
		return nil, err
	}
	r.at, r.head = e.At, journal.Hash(line)
	switch d := e.Data.(type) {
	case *journal.MatchAssigned:
		r.begun[d.MatchID] = e.At
	case *journal.RoundCompleted:
		r.Condense(r.CompletedRounds())
	}
	if d, ok := e.Data.(journal.DecisionEvent); ok {
		r.decisions = append(r.decisions, decisionMade{e.Seq, e.At, d})
	}
	return e, nil
}

// readLeague opens the records of the league, and folds its journal.
func (o *organiserOptions) readLeague(ctx context.Context) (*leagueRecord, leagueSource, error) {
	from, err := o.source(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := newLeagueRecord()
	if err = r.update(ctx, from, nil); err == nil && r.Created == nil {
		err = fmt.Errorf("the journal of league %s has no event yet", o.leagueID)
	}
	if err != nil {
		from.close()
		return nil, nil, err
	}
	return r, from, nil
}
