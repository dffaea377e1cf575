package cmd

import (
	"context"
	"time"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// source opens the records of the league: those of the manager that the user has named, else
// those of the data folder.
func (o *organiser) source(ctx context.Context) (record.Source, error) {
	if o.remote {
		return o.connect(ctx)
	}
	dir, err := o.chosen()
	if err != nil {
		return nil, err
	}
	return record.NewFolder(dir, o.leagueID), nil
}

// A leagueRecord is a league as the organiser's commands show it.
type leagueRecord struct {
	*record.League

	roster    []config.RosterEntry // that the user has named
	obstacles map[string]string    // what pings to silent agents met
}

// readRoster reads the file of --roster; "" is no roster.
func readRoster(path string) ([]config.RosterEntry, error) {
	if path == "" {
		return nil, nil
	}
	entries, err := config.ReadRoster(path)
	if err != nil {
		return nil, usage("--roster: %w", err)
	}
	return entries, nil
}

func newLeagueRecord() *leagueRecord { return &leagueRecord{League: record.NewLeague()} }

// firstEvent is the longest wait for the first event of a league. A manager that starts makes
// the journal shortly before it writes this event.
const firstEvent = 2 * time.Second

// stopped tells whether nobody runs the league, as its data folder shows.
func (o *organiser) stopped() bool { return !o.remote && !store.Folder(o.data).Running(o.leagueID) }

// readLeague opens the records of the league, and folds its journal.
func (o *organiser) readLeague(ctx context.Context) (*leagueRecord, record.Source, error) {
	from, err := o.source(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, end := newLeagueRecord(), time.Now().Add(firstEvent)
	r.Stopped = o.stopped()
	for err = r.Update(ctx, from, nil); err == nil && r.Created == nil; err = r.Update(ctx, from, nil) {
		if protocol.SystemClock().Sleep(ctx, firstEvent/20) != nil {
			err = interrupted("Nothing was changed.")
			break
		}
		if time.Now().After(end) {
			err = record.NoEvent(o.leagueID)
			break
		}
	}
	if err != nil {
		from.Close()
		return nil, nil, err
	}
	return r, from, nil
}
