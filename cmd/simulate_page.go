package cmd

import (
	"context"
	"fmt"
	"os"

	"evenodd/league/store"
	"evenodd/league/view/page"
)

// startPage serves the page of --serve, until stop. A page needs files: without --data the league
// has a folder that stop removes.
func (o *simulateOptions) startPage(ctx context.Context, s streams) (stop func(), err error) {
	if o.serveAt == "" {
		return func() {}, nil
	}
	folder, remove := o.data, func() {}
	if folder == "" {
		if o.folder, err = os.MkdirTemp("", "evenodd-"); err != nil {
			return nil, fmt.Errorf("cannot store the league for its page: %w", err)
		}
		folder = o.folder
		remove = func() { _ = os.RemoveAll(folder) } // the system clears its temporary folder too
	}
	var stopPage func()
	o.page, stopPage, err = servePage(ctx, "serve", o.serveAt, nil, page.NewFolder(store.Folder(folder), o.LeagueID), "", o.Log)
	if err != nil {
		remove()
		return nil, err
	}
	s.note("%s%s", watchPage, o.page)
	return func() {
		stopPage()
		remove()
	}, nil
}
