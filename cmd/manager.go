package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/dialect"
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
	o := &managerOptions{address: address{ports: ports{8000, 8000}, local: true}} // agents are told by their operators
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
	switch {
	case o.pace < 0:
		return usage("--pace %s: must not be negative", o.pace)
	case o.referees < 1:
		return usage("--referees %d: a league needs at least one", o.referees)
	}
	file := openLeagueLog(o.data, o.leagueID, s.err)
	defer func() { _ = file.Close() }() // reports a failed write itself
	log, err := newLogger(s.err, o.logLevel, func() string { return protocol.ManagerSender }, file)
	if err != nil {
		return err
	}
	options, rules, err := leagueOptions(files, o.leagueID, o.game, o.players, o.referees, o.legs)
	if err != nil {
		return err
	}
	presets, err := files.Agents()
	if err != nil {
		return &usageError{err}
	}
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // the server has usually closed it
	calls := newGuard(o.address.host, rules.League.AllowedEndpoints)
	calls.own = listener.Addr().(*net.TCPAddr).AddrPort()
	n, err := newNode(nodeOptions{
		maxReply: maxReply, ca: o.ca, allow: calls.allows, log: log,
		dialect: dialect.Options{League: options.LeagueID, Game: options.GameType},
	})
	if err != nil {
		return err
	}
	defer n.client.Close()
	keep, err := openKeep(s, o.data, o.leagueID, o.newLeague)
	if err != nil {
		return err
	}
	defer closeKeep(s, keep)
	options.Caller, options.Clock, options.Log, options.Files = transport.Logged(n.caller, log), protocol.SystemClock(), log, keep
	options.Pace, options.StopWithin, options.CheckHost, options.CallerAddress = o.pace, stopPatience, calls.checkHost, callerAddress
	p := &managerProcess{o, n, listener, calls, rules.System.SystemID, cmp.Or(presets.LeagueManager.DisplayName, "League Manager")}
	return p.run(ctx, s, options)
}

// A managerProcess is the process of a manager.
type managerProcess struct {
	*managerOptions
	*node
	listener net.Listener
	calls    *guard
	systemID string
	name     string // display name
}

// run serves the manager until its league is over and, unless --exit-when-done is
// given, until it is interrupted.
func (p *managerProcess) run(ctx context.Context, s streams, options league.Options) error {
	var manager *league.Manager
	var printed error
	over := false
	options.Over = func() { over, printed = true, printStandings(s, manager.Standings(), nil) }
	manager, err := league.New(options)
	if err != nil {
		return &usageError{err}
	}
	mux := transport.NewMux(p.log)
	manager.Mount(mux)
	health := func() any { return managerHealth(manager.Status(), p.leagueID, p.name) }
	defer p.serve(&p.address, p.listener, mux, manager.Stamp, http.Config{MaxBody: maxRequest, TooLarge: manager.TooLarge, Mounts: []http.Mount{http.Health(health)}})()
	_, _ = fmt.Fprintf(s.err, "League %s at %s %s.\nAdmin token for start_league: %s\n",
		p.leagueID, p.address.url(p.listener.Addr().String()), p.situation(manager.Status(), manager.Resumed()), manager.AdminToken())
	p.log.Info().Str("system_id", p.systemID).Str("display_name", options.DisplayName).
		Str("game_type", options.GameType).Stringer("calls", p.calls).Str("event_type", protocol.EventListening).Msg("listening")
	_, err = manager.Run(ctx)
	switch {
	case printed != nil:
		return printed
	case !over && ctx.Err() != nil:
		return &interruptedError{howToResume(manager.Status(), p.data)}
	case !over:
		return err
	}
	if !p.exitWhenDone {
		_, _ = fmt.Fprintln(s.err, "The league is over; the manager answers queries until it is interrupted.")
		manager.Linger(ctx)
		p.log.Info().Str("event_type", protocol.EventInterrupted).Msg("interrupted after the end of the league")
	}
	if p.strict {
		return technicalLosses(manager.Standings())
	}
	return nil
}

// callerAddress is the address from which a request came, "" when it is not known.
func callerAddress(ctx context.Context) string {
	if from := http.CallerAddress(ctx); from.IsValid() {
		return from.String()
	}
	return ""
}

// situation describes the state of the league to the operator.
func (o *managerOptions) situation(status league.Status, resumed bool) string {
	switch {
	case status.State == decide.StateLeagueCompleted:
		return fmt.Sprintf("is over already: %d of %d matches recorded. A new one needs --new-league or another --league-id", status.Recorded, status.Matches)
	case status.Matches > 0:
		return fmt.Sprintf("resumes: round %d of %d, %d of %d matches recorded", max(status.Round, 1), status.Rounds, status.Recorded, status.Matches)
	case resumed:
		return fmt.Sprintf("resumes: %d of %d players and %d of %d referees have registered%s",
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

// howToResume tells the operator how to resume an interrupted league.
func howToResume(status league.Status, data string) string {
	recorded := "The league has not begun."
	if status.Matches > 0 {
		recorded = fmt.Sprintf("%d of %d matches were recorded.", status.Recorded, status.Matches)
	}
	if data == "" {
		return recorded + " The league has no data folder: a new start begins a new league."
	}
	return fmt.Sprintf("%s Run the same command again to resume; the league is in %s.", recorded, data)
}

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

func managerHealth(status league.Status, leagueID, name string) any {
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
