package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
)

type serveOptions struct {
	data     string
	leagueID string
	address  address
	base     basePath
}

// newServe makes 'evenodd serve': it shows a league in a data folder in browsers.
func newServe(s streams) *cobra.Command {
	o := &serveOptions{}
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Show a league in a data folder in browsers",
		Long: `Show the league in a data folder as pages for browsers: its table, its matches and their conversations. The
league may be running or over; a page of a running league follows it. The command only reads. It needs no manager, and
ends when you interrupt it.

Only browsers on this machine can connect. --host 0.0.0.0 lets other machines connect. Pages show no endpoints, no
tokens, and no choices of matches that are not over.`,
		Example: examples(
			"Show the league in a folder", "evenodd serve ./my-league",
			"Let other machines connect", "evenodd serve ./my-league --host 0.0.0.0",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.data = args[0]
			return debugged(c.Context(), o.address.debug, func() error { return runServe(c.Context(), s, o) })
		},
	}
	f := c.Flags()
	o.address.ports = ports{8080, 8080}
	hostFlags(f, &o.address, "of the page; 0.0.0.0 lets other machines connect")
	leagueFlag(f, &o.leagueID, "the league to show", "; it may begin later")
	f.StringSliceVar(&o.address.allowed, "allowed-host", nil,
		"further host `name` that requests may use, such as the name of a reverse proxy; may be repeated")
	basePathFlag(f, &o.base)
	proxyFlag(f, &o.address.proxies)
	debugFlag(f, &o.address.debug)
	return c
}

func runServe(ctx context.Context, s streams, o *serveOptions) error {
	dir := store.In(o.data)
	if err := o.findLeague(s, dir); err != nil {
		return err
	}
	if err := readable(ctx, dir, o.leagueID); err != nil {
		return err
	}
	log := newLogger(s.err, "warn", "", func() string { return "" }, nil)
	listener, err := o.address.listenLocally(ctx)
	if err != nil {
		return err
	}
	url, stop, err := servePage(listener, &o.address, page.NewFolder(dir, o.leagueID),
		page.NewSeason(dir, o.leagueID), o.base, log)
	if err != nil {
		return err
	}
	defer stop()
	name := o.leagueID
	if created := readEnds(dir, name).created; created != nil {
		name = cmp.Or(created.DisplayName, name)
	}
	s.note("Watch %s at %s until you interrupt this command.", name, url)
	<-ctx.Done()
	return nil
}

// readable returns why the events of a league cannot be shown. A league without a journal begins later.
func readable(ctx context.Context, dir store.Folder, leagueID string) error {
	journal := record.NewFolder(dir, leagueID)
	defer journal.Close()
	err := record.NewLeague().Update(ctx, journal, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// findLeague finds the league to show. A league that the user names may begin later.
func (o *serveOptions) findLeague(s streams, dir store.Folder) error {
	id, err := s.chooseLeague(dir, o.leagueID, false)
	if o.leagueID == "" || err == nil {
		o.leagueID = id
		return err
	}
	if !protocol.ValidLeagueID(o.leagueID) {
		return usage("--league-id %.64q: must be 1 to 64 letters, digits, dots, dashes and underscores", o.leagueID)
	}
	if info, err := os.Stat(dir.Path); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", dir)
	}
	s.note("There is no league %s in %s yet: the page shows it when it begins.", o.leagueID, dir)
	return nil
}
