package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/http"
)

type playerOptions struct {
	address  address
	manager  string
	name     string
	id       string
	leagueID string
	strategy string
	logLevel string
}

func newPlayer(s streams) *cobra.Command {
	o := &playerOptions{}
	c := &cobra.Command{
		Use:   "player",
		Short: "Take part in a league as a player",
		Long: `Run a player agent. It registers with the league manager, and keeps trying while
that is not up yet; it plays until the league is over, prints its record and ends.

Strategies: ` + strings.Join(strategy.Names(), ", ") + `.`,
		Example: "  evenodd player --port 8101 --strategy contrarian",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return runPlayer(c.Context(), s, o) },
	}
	f := c.Flags()
	f.StringVar(&o.address.host, "host", "localhost", "address to listen at")
	f.IntVar(&o.address.port, "port", 8101, "port to listen at, 0 for a free one")
	f.StringVar(&o.address.endpoint, "endpoint", "", "`URL` that others are told (default: made of host and port)")
	agentFlags(f, &o.manager, &o.name, &o.id, &o.leagueID, &o.logLevel)
	f.StringVar(&o.strategy, "strategy", "random", "how to choose")
	return c
}

func runPlayer(ctx context.Context, s streams, o *playerOptions) error {
	decide, err := strategy.New(o.strategy)
	if err != nil {
		return &usageError{err}
	}
	if !httpURL(o.manager) {
		return usage("--manager %q: a URL such as http://localhost:8000/mcp", o.manager)
	}
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	var p *player.Player
	log, err := newLogger(s.err, o.logLevel, func() string { return senderOf(p) })
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	client := http.NewClient(maxFromManager, nil)
	defer client.Close()
	p, err = player.New(player.Options{
		Name: defaultName(o.name, "Player", listener), ID: o.id, LeagueID: o.leagueID, Version: "1.0.0",
		Games: []string{evenodd.Type}, Endpoint: o.address.endpoint, Manager: o.manager, Strategy: decide,
		Caller: transport.Logged(client, log), Clock: protocol.SystemClock(), Log: log,
	})
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	mux := transport.NewMux(log)
	p.Mount(mux)
	stop := serve(listener, mux, p.Voice, http.Config{MaxBody: maxFromManager, Health: func() any {
		return map[string]any{"status": "ok", "role": "player", "agent_id": p.ID(), "state": p.Record().State}
	}})
	defer stop()
	log.Info().Str("endpoint", o.address.endpoint).Str("manager", o.manager).Msg("listening")
	if err := takePart(ctx, p); err != nil {
		return err
	}
	return printPlayer(s, p.Record())
}

func printPlayer(s streams, r player.Record) error {
	_, err := fmt.Fprintf(s.out, "%s: %d played, %d won, %d drawn, %d lost", r.PlayerID,
		r.Stats.TotalMatches, r.Stats.Wins, r.Stats.Draws, r.Stats.Losses)
	if err == nil && r.Rank > 0 {
		_, err = fmt.Fprintf(s.out, "; rank %d of %d with %d points", r.Rank, r.Players, r.Points)
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, ". Champion: %s (%s)\n", r.Champion.DisplayName, r.Champion.PlayerID)
	}
	return err
}
