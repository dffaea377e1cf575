package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/dialect/bridge"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/transport"
	"evenodd/transport/http"
)

type refereeOptions struct {
	agentOptions
	leagueID      string
	maxConcurrent int
}

func newReferee(s streams, data *dataFolder) *cobra.Command {
	o := &refereeOptions{agentOptions: agentOptions{address: address{ports: ports{8001, 8010}}}}
	c := &cobra.Command{
		Use:   "referee",
		Short: "Take part in a league as a referee",
		Long: `Run a referee agent. It registers with the league manager, and keeps trying while
that is not up yet; it conducts the matches it is given until the league is over,
prints its record and ends.`,
		Example: "  evenodd referee --port 8001 --max-concurrent 4",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.seeded = c.Flags().Lookup("seed").Changed
			return runReferee(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	o.flags(f, "referee-id", "REF01", "8001 to 8099")
	f.StringVar(&o.leagueID, "league-id", "", "join only this league")
	f.IntVar(&o.maxConcurrent, "max-concurrent", 2, "matches at once, 1 to 10")
	return c
}

func runReferee(ctx context.Context, s streams, files *config.Loader, o *refereeOptions) error {
	if o.maxConcurrent < 1 || o.maxConcurrent > protocol.MaxConcurrentMatches {
		return usage("--max-concurrent %d: 1 to %d", o.maxConcurrent, protocol.MaxConcurrentMatches)
	}
	if !httpURL(o.manager) {
		return usage("--manager %q: a URL such as http://localhost:8000/mcp", o.manager)
	}
	options, err := refereePreset(files, o.id)
	if err != nil {
		return err
	}
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	var r *referee.Referee
	name := defaultName(o.name, "Referee", listener)
	file := openAgentLog(o.data, "referee", "referee-"+membership.Slug(name), s.err)
	defer func() { _ = file.Close() }() // a log that cannot be written has said so
	log, err := newLogger(s.err, o.logLevel, func() string { return senderOf(r) }, file)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	speak := bridge.New(bridge.Options{Endpoint: o.address.endpoint, Clock: protocol.SystemClock(), Log: log})
	client, err := newClient(maxReply, o.ca, nil, speak)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer client.Close()
	stalls := referee.WatchStalls()
	defer stalls.Stop()
	options.Name, options.ID, options.LeagueID = name, o.wantedID(8000, protocol.RefereeID), o.leagueID
	options.Endpoint, options.Manager, options.MaxConcurrent = o.address.endpoint, o.manager, o.maxConcurrent
	options.Caller, options.Clock, options.Log = transport.Logged(sparing(client, log), log), protocol.SystemClock(), log
	options.Folder, options.Stalls = store.Folder(o.data), stalls.Longest
	if o.seeded {
		options.Nonce = func(matchID string) protocol.Secret { return simulation.Nonce(o.seed, matchID) }
	}
	r, err = referee.New(options)
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	mux := transport.NewMux(log)
	r.Mount(mux)
	stop := o.address.serve(listener, mux, r.Stamp, http.Config{MaxBody: maxRequest, MaxBearerBody: maxFromManager, Trusts: r.KnowsManager, Dialect: speak, Health: func() any {
		return map[string]any{"status": "ok", "role": "referee", "agent_id": r.ID(), "conducted": r.Record().Conducted}
	}})
	defer stop()
	defer r.Close()
	log.Info().Str("endpoint", o.address.endpoint).Str("manager", o.manager).Str("event_type", protocol.EventListening).Msg("listening")
	l := &life{
		agent: r, endpoint: options.Endpoint, caller: options.Caller, manager: o.manager,
		clock: options.Clock, log: log, file: file, data: o.data,
	}
	err = l.takePart(ctx)
	if err != nil {
		return err
	}
	return printReferee(s, r.Record())
}

// refereePreset is what the files say of a referee that no flag does.
func refereePreset(files *config.Loader, id string) (referee.Options, error) {
	system, systemErr := files.System()
	defaults, defaultsErr := files.RefereeDefaults()
	if err := errors.Join(systemErr, defaultsErr); err != nil {
		return referee.Options{}, &usageError{err}
	}
	version, types := defaults.Version, defaults.GameTypes
	switch preset, err := files.Referee(id); {
	case errors.Is(err, config.ErrNoPreset):
	case err != nil:
		return referee.Options{}, &usageError{err}
	case !preset.Active:
		return referee.Options{}, inactive(files, "referee", id)
	default:
		version = cmp.Or(preset.Version, version)
		if preset.GameTypes != nil {
			types = preset.GameTypes
		}
	}
	chosen, err := gamesOf(types)
	return referee.Options{
		Version: version, Games: chosen, RegisterTimeout: inSeconds(system.Timeouts.RegisterReferee),
	}, err
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
