package cmd

import (
	"context"

	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A firstPage is the beginning of a journal, in which agents register.
type firstPage struct {
	*record.Folder

	read bool
}

// Lines implements record.Source.
func (f *firstPage) Lines(ctx context.Context, from int) ([]string, error) {
	if f.read {
		return nil, nil
	}
	f.read = true
	return f.Folder.Lines(ctx, from)
}

// firstEvents is a league after the events at the beginning of its journal, as far as they can be read: enough for the
// names of its agents.
func firstEvents(ctx context.Context, dir store.Folder, leagueID string) *record.League {
	l := record.NewLeague()
	_ = l.Update(ctx, &firstPage{Folder: record.NewFolder(dir, leagueID)}, nil) // without names there are ids
	return l
}
