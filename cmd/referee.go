package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/transport"
	"evenodd/transport/http"
)

type refereeOptions struct {
	address       address
	manager       string
	name          string
	id            string
	leagueID      string
	maxConcurrent int
	logLevel      string
}

func newReferee(s streams) *cobra.Command {
	o := &refereeOptions{}
	c := &cobra.Command{
		Use:   "referee",
		Short: "Take part in a league as a referee",
		Long: `Run a referee agent. It registers with the league manager, and keeps trying while
that is not up yet; it conducts the matches it is given until the league is over,
prints its record and ends.`,
		Example: "  evenodd referee --port 8001 --max-concurrent 4",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return runReferee(c.Context(), s, o) },
	}
	f := c.Flags()
	f.StringVar(&o.address.host, "host", "localhost", "address to listen at")
	f.IntVar(&o.address.port, "port", 8001, "port to listen at, 0 for a free one")
	f.StringVar(&o.address.endpoint, "endpoint", "", "`URL` that others are told (default: made of host and port)")
	agentFlags(f, &o.manager, &o.name, &o.id, &o.leagueID, &o.logLevel)
	f.IntVar(&o.maxConcurrent, "max-concurrent", 2, "matches at once, 1 to 10")
	return c
}

func runReferee(ctx context.Context, s streams, o *refereeOptions) error {
	if o.maxConcurrent < 1 || o.maxConcurrent > 10 {
		return usage("--max-concurrent %d: 1 to 10", o.maxConcurrent)
	}
	if !httpURL(o.manager) {
		return usage("--manager %q: a URL such as http://localhost:8000/mcp", o.manager)
	}
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	var r *referee.Referee
	log, err := newLogger(s.err, o.logLevel, func() string { return senderOf(r) })
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	client := http.NewClient(maxReply, nil)
	defer client.Close()
	r, err = referee.New(referee.Options{
		Name: defaultName(o.name, "Referee", listener), ID: o.id, LeagueID: o.leagueID, Version: "1.0.0",
		Endpoint: o.address.endpoint, Manager: o.manager, MaxConcurrent: o.maxConcurrent, Games: games(),
		Caller: transport.Logged(client, log), Clock: protocol.SystemClock(), Log: log,
	})
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	mux := transport.NewMux(log)
	r.Mount(mux)
	stop := serve(listener, mux, r.Voice, http.Config{MaxBody: maxRequest, MaxBearerBody: maxFromManager, Health: func() any {
		return map[string]any{"status": "ok", "role": "referee", "agent_id": r.ID(), "conducted": r.Record().Conducted}
	}})
	defer stop()
	defer r.Close()
	log.Info().Str("endpoint", o.address.endpoint).Str("manager", o.manager).Msg("listening")
	if err := takePart(ctx, r); err != nil {
		return err
	}
	return printReferee(s, r.Record())
}

func printReferee(s streams, r referee.Record) error {
	_, err := fmt.Fprintf(s.out, "%s: %d matches conducted. Champion: %s (%s)\n",
		r.RefereeID, r.Conducted, r.Champion.DisplayName, r.Champion.PlayerID)
	for _, id := range slices.Sorted(maps.Keys(r.Warnings)) {
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s: %d replies did not conform to the protocol\n", id, r.Warnings[id])
		}
	}
	return err
}
