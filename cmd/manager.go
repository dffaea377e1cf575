package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/http"
)

const defaultLeague = "league_2025_even_odd"

type managerOptions struct {
	address      address
	players      int
	referees     int
	legs         int
	leagueID     string
	exitWhenDone bool
	logLevel     string
}

func newManager(s streams) *cobra.Command {
	o := &managerOptions{}
	c := &cobra.Command{
		Use:   "manager",
		Short: "Run a league: register agents, hand out matches, keep the table",
		Long: `Run a league manager. The league starts by itself once --players players and
--referees referees have registered, or by the method start_league with the admin
token that the manager writes to standard error. At its end it prints the final
table; it goes on answering queries until interrupted, unless --exit-when-done is
given.`,
		Example: "  evenodd manager --players 4 --referees 2 --exit-when-done",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return runManager(c.Context(), s, o) },
	}
	f := c.Flags()
	f.StringVar(&o.address.host, "host", "localhost", "address to listen at")
	f.IntVar(&o.address.port, "port", 8000, "port to listen at, 0 for a free one")
	f.IntVar(&o.players, "players", 4, "start when so many players have registered; 0: only by start_league")
	f.IntVar(&o.referees, "referees", 1, "referees to wait for")
	f.IntVar(&o.legs, "legs", 1, "how often each pair meets")
	f.StringVar(&o.leagueID, "league-id", defaultLeague, "identifier of the league")
	f.BoolVar(&o.exitWhenDone, "exit-when-done", false, "end when the league is over")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn, error or disabled")
	return c
}

func runManager(ctx context.Context, s streams, o *managerOptions) error {
	log, err := newLogger(s.err, o.logLevel, func() string { return protocol.ManagerSender })
	if err != nil {
		return err
	}
	client := http.NewClient(maxReply, nil)
	defer client.Close()
	if o.referees < 1 {
		return usage("--referees %d: a league needs at least one", o.referees)
	}
	var manager *league.Manager
	var printed error // what came of printing the final table
	over := false
	manager, err = league.New(league.Options{
		LeagueID: o.leagueID, GameType: evenodd.Type, Games: games(),
		Players: o.players, Referees: o.referees, Legs: o.legs,
		Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(),
		Caller: transport.Logged(client, log), Clock: protocol.SystemClock(), Log: log,
		Over: func() {
			over = true
			printed = printStandings(s, manager.Standings(), nil)
		},
	})
	if err != nil {
		return &usageError{err}
	}
	o.address.endpoint = "http://manager/" // a manager tells nobody where it is
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	mux := transport.NewMux(log)
	manager.Mount(mux)
	stop := serve(listener, mux, manager.Voice, http.Config{
		MaxBody: maxRequest, Health: func() any { return managerHealth(manager, o.leagueID) },
	})
	defer stop()
	_, _ = fmt.Fprintf(s.err, "League %s at http://%s%s waits for %d players and %d referees.\nAdmin token for start_league: %s\n",
		o.leagueID, listener.Addr(), http.Path, o.players, o.referees, manager.AdminToken())

	_, err = manager.Run(ctx)
	switch {
	case printed != nil:
		return printed
	case over:
		if !o.exitWhenDone {
			waitForEnd(ctx, s, log)
		}
		return nil
	case ctx.Err() != nil:
		status := manager.Status()
		return &interruptedError{fmt.Sprintf("%d of %d matches were recorded; a new start begins a new league.", status.Recorded, status.Matches)}
	}
	return err
}

// waitForEnd keeps a finished manager answering queries.
func waitForEnd(ctx context.Context, s streams, log zerolog.Logger) {
	_, _ = fmt.Fprintln(s.err, "The league is over; the manager answers queries until it is interrupted.")
	<-ctx.Done()
	log.Info().Msg("interrupted after the league was over")
}

func managerHealth(m *league.Manager, leagueID string) any {
	status := m.Status()
	return map[string]any{
		"status": "ok", "role": protocol.ManagerSender, "league_id": leagueID, "state": status.State,
		"round": status.Round, "rounds": status.Rounds, "matches": status.Matches, "recorded": status.Recorded,
		"players": status.Players, "referees": status.Referees,
	}
}

// printStandings prints the final table, which has a row at least, and the
// champion; strategies, by player
// id, may be nil.
func printStandings(s streams, standings []league.Standing, strategies map[string]string) error {
	header := []string{"Rank", "Player", "Name", "Strategy", "Played", "W", "D", "L", "Technical", "Points"}
	numeric := map[int]bool{0: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}
	rows := make([][]string, len(standings))
	for i, r := range standings {
		rows[i] = []string{
			strconv.Itoa(r.Rank), r.PlayerID, r.DisplayName, strategies[r.PlayerID],
			strconv.Itoa(r.Played), strconv.Itoa(r.Wins), strconv.Itoa(r.Draws), strconv.Itoa(r.Losses),
			strconv.Itoa(r.TechnicalLosses), strconv.Itoa(r.Points),
		}
	}
	if strategies == nil { // a real league does not know how its players decide
		header = append(header[:3:3], header[4:]...)
		for i := range rows {
			rows[i] = append(rows[i][:3:3], rows[i][4:]...)
		}
		numeric = map[int]bool{0: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}
	}
	if err := printTable(s.out, header, rows, numeric); err != nil {
		return err
	}
	champion := standings[0]
	_, err := fmt.Fprintf(s.out, "Champion: %s (%s) with %d points\n", champion.DisplayName, champion.PlayerID, champion.Points)
	return err
}
