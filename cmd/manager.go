package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/dialect/bridge"
	"evenodd/league/protocol"
	"evenodd/league/store"
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
	game         string
	data         string
	ca           string
	exitWhenDone bool
	strict       bool
	newLeague    bool
	pace         time.Duration
	logLevel     string
}

func newManager(s streams, data *dataFolder) *cobra.Command {
	o := &managerOptions{address: address{ports: ports{8000, 8000}, untold: true}} // agents are told by their operators
	c := &cobra.Command{
		Use:   "manager",
		Short: "Run a league: register agents, hand out matches, keep the table",
		Long: `Run a league manager. The league starts by itself once --players players and
--referees referees have registered, or by the method start_league with the admin
token that the manager writes to standard error. At its end it prints the final
table; it goes on answering queries until interrupted, unless --exit-when-done is
given.

The league is kept in the folder given by --data: started again there, the manager
goes on where it was, whatever ended it.`,
		Example: "  evenodd manager --players 4 --referees 2 --exit-when-done",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return runManager(c.Context(), s, data.loader, o) },
	}
	f := c.Flags()
	addressFlags(f, &o.address)
	tlsCAFlag(f, &o.ca)
	dataFlag(f, &o.data, defaultData)
	f.IntVar(&o.players, "players", usualPlayers, "start when so many players have registered; 0: only by start_league")
	f.IntVar(&o.referees, "referees", 1, "referees to wait for")
	f.IntVar(&o.legs, "legs", 1, "how often each pair meets")
	f.StringVar(&o.leagueID, "league-id", defaultLeague, "identifier of the league")
	gameFlag(f, &o.game)
	f.BoolVar(&o.exitWhenDone, "exit-when-done", false, "end when the league is over")
	f.BoolVar(&o.strict, "strict", false, "exit code 3 when there are technical losses")
	f.BoolVar(&o.newLeague, "new-league", false, "begin a new league; the one in the data folder goes to its archive")
	f.DurationVar(&o.pace, "pace", 0, "wait so long before each round, such as 30s")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn, error or disabled")
	return c
}

func runManager(ctx context.Context, s streams, files *config.Loader, o *managerOptions) error {
	if o.pace < 0 {
		return usage("--pace %s: cannot be negative", o.pace)
	}
	file := openLeagueLog(o.data, o.leagueID, s.err)
	defer func() { _ = file.Close() }() // a log that cannot be written has said so
	log, err := newLogger(s.err, o.logLevel, func() string { return protocol.ManagerSender }, file)
	if err != nil {
		return err
	}
	if o.referees < 1 {
		return usage("--referees %d: a league needs at least one", o.referees)
	}
	var manager *league.Manager
	var printed error // what came of printing the final table
	over := false
	options, rules, err := leagueOptions(files, o.leagueID, o.game, o.players, o.referees, o.legs)
	if err != nil {
		return err
	}
	calls := newGuard(o.address.host, rules.League.AllowedEndpoints)
	speak := bridge.New(bridge.Options{League: options.LeagueID, Game: options.GameType, Clock: protocol.SystemClock(), Log: log})
	client, err := newClient(maxReply, o.ca, calls.allows, speak)
	if err != nil {
		return err
	}
	defer client.Close()
	options.Caller, options.Clock, options.Log = transport.Logged(sparing(client, log), log), protocol.SystemClock(), log
	options.Pace, options.StopWithin, options.CheckHost = o.pace, stopPatience, calls.checkHost
	options.CallerAddress = callerAddress
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // nearly always closed by then
	calls.own = listener.Addr().(*net.TCPAddr).AddrPort()
	keep, err := openKeep(s, o.data, o.leagueID, o.newLeague)
	if err != nil {
		return err
	}
	defer closeKeep(s, keep)
	options.Files = keep
	options.Over = func() {
		over = true
		printed = printStandings(s, manager.Standings(), nil)
	}
	manager, err = league.New(options)
	if err != nil {
		return &usageError{err}
	}
	presets, err := files.Agents()
	if err != nil {
		return &usageError{err}
	}
	name := cmp.Or(presets.LeagueManager.DisplayName, "League Manager")
	mux := transport.NewMux(log)
	manager.Mount(mux)
	stop := o.address.serve(listener, mux, manager.Stamp, http.Config{
		MaxBody: maxRequest, TooLarge: manager.TooLarge, Dialect: speak, Health: func() any { return managerHealth(manager, o.leagueID, name) },
	})
	defer stop()
	_, _ = fmt.Fprintf(s.err, "League %s at %s %s.\nAdmin token for start_league: %s\n",
		o.leagueID, o.address.url(listener.Addr().String()), situation(manager, o), manager.AdminToken())
	log.Info().Str("system_id", rules.System.SystemID).Str("display_name", rules.League.DisplayName).
		Str("game_type", rules.League.GameType).Stringer("calls", calls).Str("event_type", protocol.EventListening).Msg("listening")

	_, err = manager.Run(ctx)
	switch {
	case printed != nil:
		return printed
	case over:
		return o.after(ctx, s, manager, log)
	case ctx.Err() != nil:
		return &interruptedError{howToGoOn(manager.Status(), o.data)}
	}
	return err
}

// callerAddress is the address from which a request came, "" when it is not known.
func callerAddress(ctx context.Context) string {
	if from := http.CallerAddress(ctx); from.IsValid() {
		return from.String()
	}
	return ""
}

// after is what a manager does when its league is over.
func (o *managerOptions) after(ctx context.Context, s streams, manager *league.Manager, log zerolog.Logger) error {
	if !o.exitWhenDone {
		waitForEnd(ctx, s, manager, log)
	}
	if o.strict {
		return technicalLosses(manager.Standings())
	}
	return nil
}

// situation says how far the league is.
func situation(m *league.Manager, o *managerOptions) string {
	status := m.Status()
	switch {
	case status.State == decide.StateLeagueCompleted:
		return fmt.Sprintf("is over already: %d of %d matches recorded. A new one needs --new-league or another --league-id", status.Recorded, status.Matches)
	case status.Matches > 0:
		return fmt.Sprintf("goes on: round %d of %d, %d of %d matches recorded", max(status.Round, 1), status.Rounds, status.Recorded, status.Matches)
	case m.Resumed():
		return fmt.Sprintf("goes on: %d of %d players and %d of %d referees have registered%s",
			status.Players, o.players, status.Referees, o.referees, waitingFor(status.Awaited))
	}
	return fmt.Sprintf("waits for %d players and %d referees", o.players, o.referees)
}

// waitingFor names the agents that have registered but not answered yet; "" for none.
func waitingFor(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "; no answer yet from " + strings.Join(ids, ", ")
}

// howToGoOn tells whoever stopped a league how to take it up again.
func howToGoOn(status league.Status, data string) string {
	recorded := "The league has not begun."
	if status.Matches > 0 {
		recorded = fmt.Sprintf("%d of %d matches were recorded.", status.Recorded, status.Matches)
	}
	if data == "" {
		return recorded + " It was kept nowhere: a new start begins a new league."
	}
	return fmt.Sprintf("%s Run the same command again to go on; the league is in %s.", recorded, data)
}

// stopPatience is how long a process that is told to stop lets running matches
// go on.
const stopPatience = 10 * time.Second

// openKeep opens the league in a data folder, and says what came of it; nil
// without a folder.
func openKeep(s streams, data, leagueID string, fresh bool) (*league.Files, error) {
	if data == "" {
		if fresh {
			return nil, usage("--new-league needs the --data folder in which the old one is")
		}
		return nil, nil //nolint:nilnil // no folder, no keep
	}
	if !protocol.ValidLeagueID(leagueID) {
		return nil, usage("--league-id %q: 1 to 64 letters, digits, dots, dashes and underscores", leagueID)
	}
	keep, archived, err := league.OpenFiles(store.Folder(data), leagueID, fresh, time.Now)
	if archived != "" {
		_, _ = fmt.Fprintf(s.err, "The old league is in %s.\n", archived)
	}
	if err != nil {
		return nil, fmt.Errorf("the league cannot be kept in %s: %w", data, err)
	}
	if keep.Torn != nil {
		_, _ = fmt.Fprintln(s.err, keep.Torn)
	}
	if keep.LostTail() {
		_, _ = fmt.Fprintf(s.err, "The journal of league %s lacks events that were on disk before: somebody cut its tail off, or restored an older one. "+
			"The league goes on from what is there, and the journal says so.\n", leagueID)
	}
	return keep, nil
}

func closeKeep(s streams, keep *league.Files) {
	if keep == nil {
		return
	}
	if err := keep.Close(); err != nil {
		_, _ = fmt.Fprintln(s.err, "evenodd:", err)
	}
}

// waitForEnd keeps a finished manager answering queries, and telling agents that
// come back.
func waitForEnd(ctx context.Context, s streams, m *league.Manager, log zerolog.Logger) {
	_, _ = fmt.Fprintln(s.err, "The league is over; the manager answers queries until it is interrupted.")
	m.Linger(ctx)
	log.Info().Str("event_type", protocol.EventInterrupted).Msg("interrupted after the league was over")
}

func managerHealth(m *league.Manager, leagueID, name string) any {
	status := m.Status()
	return map[string]any{
		"status": "ok", "role": protocol.ManagerSender, "display_name": name, "league_id": leagueID, "state": status.State,
		"round": status.Round, "rounds": status.Rounds, "matches": status.Matches, "recorded": status.Recorded,
		"players": status.Players, "referees": status.Referees, "agent_states": status.Agents,
		"awaited": append([]string{}, status.Awaited...), // never null
	}
}

// printStandings prints the final table, which has a row at least, and the
// champion; strategies, by player id, may be nil.
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
