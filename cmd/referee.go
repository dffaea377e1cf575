package cmd

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/metrics"
	"evenodd/config"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/words"
	"evenodd/referee"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
)

// usualMatches is how many matches at once a referee conducts by default.
const usualMatches = 2

type refereeOptions struct {
	agentOptions

	maxConcurrent int
	league        string // --league-id
	game          string // --game
	programs      program.Programs
}

func newReferee(s streams, data *dataFolder) *cobra.Command {
	o := &refereeOptions{}
	c := &cobra.Command{
		Use:   "referee",
		Short: "Take part in a league as a referee",
		Long: `Run a referee agent. It registers with the league manager, and repeats that until the manager runs. It
conducts the assigned matches until the league is over, prints its record and ends.`,
		Example: examples(
			"Conduct matches of the league on this machine", "evenodd referee",
			"Conduct up to 4 matches at once", "evenodd referee --port 8001 --max-concurrent 4",
			"Conduct matches of a league on another machine", "evenodd referee --manager http://192.0.2.7:8000/",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.program = c.Root().Version
			return o.run(c.Context(), s, data)
		},
	}
	o.flags(c.Flags())
	return c
}

// run runs a referee, whose flags are set.
func (o *refereeOptions) run(ctx context.Context, s streams, data *dataFolder) error {
	o.given = data.given
	return debugged(ctx, o.address.debug, func() error { return runReferee(ctx, s, data.loader, o) })
}

// flags defines the flags of a referee.
func (o *refereeOptions) flags(f *pflag.FlagSet) {
	o.address.ports = ports{8001, 8010}
	o.agentFlags(f, "referee-id", "REF01", "8001 to 8099")
	f.StringVar(&o.league, "league-id", "", "join only this league")
	f.IntVar(&o.maxConcurrent, "max-concurrent", usualMatches, "matches at once, 1 to 10")
	gameFlag(f, &o.game, "a further game to conduct: "+program.GamePrefix+"PROGRAM, your program (testdata/games)")
	programFlags(f, &o.programs, programsOfGames)
}

func runReferee(ctx context.Context, s streams, files *config.Loader, o *refereeOptions) error {
	if o.maxConcurrent < 1 || o.maxConcurrent > protocol.MaxConcurrentMatches {
		return usage("--max-concurrent %d: must be from 1 to %d", o.maxConcurrent, protocol.MaxConcurrentMatches)
	}
	types, err := o.preset(files, protocol.RoleReferee)
	if err != nil {
		return err
	}
	defaults, _ := files.RefereeDefaults() // the flags needed it already
	if o.league != "" {
		o.Leagues = []string{o.league}
	}
	if err := o.prepare(ctx, s); err != nil {
		return err
	}
	l, err := o.listen(ctx)
	if err != nil {
		return err
	}
	p, err := o.open(s, files, protocol.RoleReferee, maxReply, l)
	if err != nil {
		return err
	}
	defer p.close()
	own, err := openGame(ctx, o.host, &o.game, &o.programs, o.Log)
	if err != nil {
		return err
	}
	defer own.close()
	stalls := referee.WatchStalls()
	defer stalls.Stop()
	calls := playerGuard(&o.address, defaults.AllowedEndpoints)
	options := referee.Options{Options: o.Options, MaxConcurrent: o.maxConcurrent, Games: own.of(types),
		Programs: own.referees(), Stalls: stalls.Longest, UsualNetworks: calls.networks, CheckPlayer: p.user.checkPlayer}
	if calls.set {
		options.Networks = calls.networks
	}
	if o.given["seed"] {
		options.Nonce = func(matchID string) protocol.Secret { return simulation.Nonce(o.seed, matchID) }
	}
	if o.prints(s) {
		lines := newAgentLines(s, nil)
		defer background(lines.run)()
		options.Reported = lines.conducted
	}
	r, err := referee.New(options)
	if err != nil {
		return asUsage(err)
	}
	defer r.Close()
	matchMetrics(p.metrics, func(emit metrics.Emit) {
		done := r.Record()
		emit(float64(done.Running), "running", "")
		emit(float64(done.Conducted), "conducted", "")
	})
	progress := func() (string, any) { return "conducted", r.Record().Conducted }
	describe := func(mux *transport.Mux) mcp.Options { return refereeMCP(mux, o.Name, o.program, r) }
	served := http.Config{MaxBody: maxRequest, MaxBearerBody: maxFromManager, Identify: r.Identify}
	if err := p.run(ctx, r, served, progress, describe); err != nil {
		return err
	}
	var text printout
	done := r.Record()
	conducted := words.Counted(done.Conducted, "match")
	text.line("%s: %s conducted. %s", done.RefereeID, conducted, championOf(done.Champion))
	for _, id := range slices.Sorted(maps.Keys(done.Warnings)) {
		text.line("%s: %d replies did not conform to the protocol", id, done.Warnings[id])
	}
	return text.print(s.out)
}
