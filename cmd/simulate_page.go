package cmd

import (
	"context"
	"fmt"
	"os"

	"evenodd/league/store"
	"evenodd/league/view/page"
)

// servePage serves the page of --serve, until stop. A page needs files: without --data the league
// has a folder that stop removes.
func (o *simulateOptions) servePage(ctx context.Context, s streams) (stop func(), err error) {
	if o.serveAt == "" {
		return func() {}, nil
	}
	if o.page, err = listenForPage(ctx, "serve", o.serveAt, nil); err != nil {
		return nil, err
	}
	folder, remove := o.data, func() {}
	if folder == "" {
		if o.folder, err = os.MkdirTemp("", "evenodd-"); err != nil {
			_ = o.page.listener.Close()
			return nil, fmt.Errorf("cannot store the league for its page: %w", err)
		}
		folder = o.folder
		remove = func() { _ = os.RemoveAll(folder) } // the system clears its temporary folder too
	}
	stopPage, err := o.page.serve(page.NewFolder(store.Folder(folder), o.LeagueID), o.Log)
	if err != nil {
		_ = o.page.listener.Close()
		remove()
		return nil, err
	}
	if !o.quiet {
		_ = printLine(s.err, "%s%s", watchPage, o.page.url())
	}
	return func() {
		stopPage()
		remove()
	}, nil
}
