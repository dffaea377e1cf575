package cmd

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/player/strategy/person"
	"evenodd/transport/http"
)

// playLeague is the id of the league of evenodd play. A new one moves the one before to the archive of the folder.
const playLeague = "play"

// playPort is the default port of the page of a person.
const playPort = 8500

// The times that --move-time allows: those of a person, and of move_timeout_sec.
const (
	leastMoveTime = 5 * time.Second
	mostMoveTime  = 24 * time.Hour
)

type playOptions struct {
	upOptions // of the league

	against  []string // strategies, programs and URLs
	names    []string // of the persons
	people   int
	terminal bool
	noOpen   bool
	web      address // of the page
}

func newPlay(s streams, data *dataFolder) *cobra.Command {
	o := &playOptions{people: 1}
	var league, bots pflag.FlagSet
	c := &cobra.Command{
		Use:   "play",
		Short: "Play yourself, in a browser or in the terminal",
		Long: `Play a game yourself, against strategies, programs, agents at a URL, or another person. The command starts a
league on this machine and prints a link, which opens the board in one browser, once. When the league is over, the page
offers another one, until Ctrl-C.

Without --against the opponent is the strategy that plays the game best, else random. n and Enter print a new link,
which ends the old one: for a browser that has lost the board, or another device.

Only this machine reaches the page. --host 0.0.0.0 opens it to the network, and shows the link as a QR code for a
phone.`,
		Example: examples(
			"Play Connect Four in the browser", "evenodd play",
			"Play Tic-Tac-Toe in the terminal", "evenodd play --game tic_tac_toe --terminal",
			"Play against a strategy and your own program", "evenodd play --against 'random,exec:python3 bot.py'",
			"Play against somebody with a phone", "evenodd play --people 2 --host 0.0.0.0",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.version, o.LeagueID = c.Root().Version, playLeague
			shared := []string{"--log-level=" + o.logLevel}
			o.passed = map[string][]string{"referee": shared, "player": append(givenFlags(&bots), shared...),
				"manager": append([]string{"--league-id=" + o.LeagueID, "--game=" + o.GameType, "--page=false",
					"--legs=" + strconv.Itoa(o.Legs)}, shared...)}
			return runPlay(c.Context(), s, data, o)
		},
	}
	o.commonFlags(&league)
	league.Lookup("log-level").Usage = "least level of the lines in the log files"
	botFlags(&bots, &o.tools, new(string))
	f := c.Flags()
	for _, name := range strings.Fields("data game log-level legs tls-ca") {
		f.AddFlag(league.Lookup(name))
	}
	for _, name := range strings.Fields("bot-timeout exec-cpu exec-env exec-memory exec-sandbox") {
		f.AddFlag(bots.Lookup(name))
	}
	replaceFlag(&league, "game", games().Types()[0], league.Lookup("game").Usage)
	f.Var(&strategyList{list: &o.against}, "against", "opponents: `strategies`, exec:PROGRAM, or URLs of agents that "+
		"register themselves; may be repeated")
	f.Lookup("against").DefValue = "" // the game decides
	f.IntVar(&o.people, "people", o.people, "persons who play, 1 or 2, each with a link")
	f.StringSliceVar(&o.names, "name", nil, "`name` of the person, or names of both (default: Person, or Person-1 and "+
		"Person-2)")
	f.BoolVar(&o.terminal, "terminal", false, "play in the terminal, without a page")
	f.DurationVar(&o.moveTime, "move-time", 2*time.Minute, "time for a move, after which the match is lost")
	o.web.ports = ports{playPort, playPort + 99}
	hostFlags(f, &o.web, "of the page; 0.0.0.0 lets other machines connect")
	f.StringVar(&o.web.files.cert, "tls-cert", "", "PEM `file` with the certificate: serve the page by HTTPS")
	f.StringVar(&o.web.files.key, "tls-key", "", "PEM `file` with the key of the certificate")
	f.StringSliceVar(&o.web.allowed, "allowed-host", nil, "further host `name` that browsers may use for the page; may "+
		"be repeated")
	f.BoolVar(&o.noOpen, "no-open", false, "do not open the browser of this machine")
	return c
}

// prepareAll checks the options, and returns the players: the persons first.
func (o *playOptions) prepareAll() (players []config.Entrant, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Referees, o.exitWhenDone, o.address = 1, true, address{host: localhost, local: true}
	o.admission.given = map[string]bool{"players": true} // all of them take part
	if o.data, err = filepath.Abs(o.data); err != nil {
		return nil, err
	}
	if len(o.names) == 0 {
		o.names = []string{"Person"}
		if o.people == 2 {
			o.names = []string{"Person-1", "Person-2"}
		}
	}
	if len(o.against) == 0 && o.people == 1 {
		o.against = []string{strategy.For(o.GameType)}
	}
	players = lists.Map(o.names, func(name string) config.Entrant {
		return config.Entrant{Name: name, Kind: config.KindStrategy, Value: person.Name}
	})
	for _, text := range o.against {
		e, err := o.opponentOf(text)
		if err != nil {
			return nil, err
		}
		taken := lists.Filter(players, func(other config.Entrant) bool {
			return other.Name == e.Name || strings.HasPrefix(other.Name, e.Name+"-")
		})
		if len(taken) > 0 {
			e.Name = fmt.Sprintf("%s-%d", e.Name, len(taken)+1)
		}
		if at, err := url.Parse(e.Value); e.Kind == config.KindURL && err == nil && !loopback(at.Hostname()) {
			o.address.host = o.web.host // the agent has to reach the manager
		}
		players = append(players, e)
	}
	o.Players = len(players)
	if computing(o.own(players)) {
		o.shares = []int{max(1, runtime.GOMAXPROCS(0))}
	}
	if len(players) > mostPlayers {
		return nil, usage("--against: at most %d players take part", mostPlayers)
	}
	return players, nil
}

// check returns an error for options that exclude each other, or have no meaning.
func (o *playOptions) check() error {
	switch {
	case o.people != 1 && o.people != 2:
		return usage("--people %d: must be 1 or 2", o.people)
	case o.terminal && o.people > 1:
		return usage("--terminal: one person plays in the terminal; leave --people out")
	case slices.ContainsFunc(o.names, func(name string) bool { return league.CheckNewName(name) != nil }):
		return usage("--name %s: a name must not look like an id (P03, REF01, R1M1)", strings.Join(o.names, ","))
	case len(o.names) > 0 && len(o.names) != o.people:
		return usage("--name %s: must be as many names as --people, %d", strings.Join(o.names, ","), o.people)
	case o.moveTime < leastMoveTime || o.moveTime > mostMoveTime:
		return usage("--move-time %s: must be from %s to %s", o.moveTime, leastMoveTime, mostMoveTime)
	case o.data == "":
		return usage("--data must name a folder: the league is stored there")
	}
	return nil
}

// opponentOf is the player that a text of --against stands for.
func (o *playOptions) opponentOf(text string) (e config.Entrant, err error) {
	command, runs := strings.CutPrefix(text, "exec:")
	switch {
	case runs:
		e = config.Entrant{Name: "program", Kind: config.KindExec, Value: command, Where: "--against " + text}
		return e, asUsage(external.Check(e.Strategy(), o.tools, o.GameType))
	case strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://"):
		whole, err := agentURL(text)
		if err != nil {
			return e, err
		}
		at, err := url.Parse(whole)
		if err != nil {
			return e, err
		}
		return config.Entrant{Name: at.Host, Kind: config.KindURL, Value: whole}, nil
	}
	switch built := strategy.Names(); {
	case text == person.Name:
		return e, usage("--against %s: --people 2 lets two persons play", text)
	case !slices.Contains(built, text):
		return e, usage("--against %.60q: must be one of %s, exec:PROGRAM, or the URL of an agent%s; a model is such an "+
			"agent: see 'evenodd player --help'", text, strings.Join(built, ", "), words.DidYouMean(text, built))
	}
	e = config.Entrant{Name: text, Kind: config.KindStrategy, Value: text}
	return e, asUsage(external.Check(text, o.tools, o.GameType))
}

// playing is a run of evenodd play: persons, their pages, and one league after the other.
type playing struct {
	*playOptions
	streams

	settings *config.Settings
	players  []config.Entrant
	persons  []*person.Person // the first players
	again    chan struct{}    // of one element: another league is asked for
	game     string           // as --game has it
	gameType string
}

func runPlay(ctx context.Context, s streams, data *dataFolder, o *playOptions) error {
	o.tools.Hosted, o.newLeague = true, true // programs are tried
	given := o.GameType
	own, err := o.openGame(ctx, data.loader)
	if err != nil {
		return err
	}
	defer own.close()
	players, err := o.prepareAll()
	if err != nil {
		return err
	}
	if err := o.try(ctx, data.loader, players); err != nil {
		return err
	}
	own.close()
	p := &playing{playOptions: o, streams: s, settings: data.settings, players: players, again: make(chan struct{}, 1),
		game: given, gameType: o.GameType}
	for _, name := range o.names {
		p.persons = append(p.persons, person.New(person.Options{Player: name, Games: o.tools.Games, Named: p.named}))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	leave, err := p.seat(ctx, cancel)
	if err != nil {
		return err
	}
	defer leave()
	return p.run(ctx)
}

// named is the display name of a player that this command starts; "" for another one, which may have any id.
func (p *playing) named(id string) string {
	for i := range p.players {
		if league.PlayerID(i+1) == id && p.players[i].Kind != config.KindURL {
			return p.players[i].Name
		}
	}
	return ""
}

// seat gives the persons their places: the terminal, or pages with links. The terminal ends the run by stop.
func (p *playing) seat(ctx context.Context, stop func()) (leave func(), err error) {
	if p.terminal {
		return p.atTerminal(ctx, stop), nil
	}
	log := newLogger(p.err, "warn", "", func() string { return "" }, nil)
	league := page.NewFolder(store.In(p.data), p.LeagueID)
	shown, err := newLeaguePage(league, page.Options{Log: log, Games: p.tools.Games, Zone: time.Local})
	if err != nil {
		return nil, err
	}
	stops, desks := []func(){shown.end}, []*desk(nil)
	leave = func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}
	for _, who := range p.persons {
		d, stop, err := p.serve(ctx, who, page.PlayOptions{Log: log, Pages: "/", Again: p.playAgain}, shown.mounts)
		if err != nil {
			leave()
			return nil, err
		}
		desks, stops = append(desks, d), append(stops, stop)
	}
	for i, d := range desks {
		d.introduce(p.streams)
		if i == 0 && !p.noOpen && p.showsBrowser() {
			stops = append(stops, d.openBrowser(ctx, p.streams, store.In(p.data)))
		}
	}
	renewLinks(ctx, p.streams, desks...)
	return leave, nil
}

// serve serves the page of a person at a port of its own, with the pages of the league.
func (p *playing) serve(ctx context.Context, who *person.Person, o page.PlayOptions, pages []http.Mount) (d *desk,
	stop func(), err error) {
	at := p.web
	at.local = true
	listener, err := at.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	state, _ := who.Now()
	if d, err = openDesk(ctx, who, store.In(p.data), state.Player, &at, listener, o); err != nil {
		closeListener(listener)
		return nil, nil, err
	}
	server := http.NewServer(nil, http.Config{MaxBody: maxRequest, Hosts: at.names(listener), TLS: at.tls,
		Mounts: slices.Concat(d.mounts(), pages)})
	return d, server.ServeUntil(listener, time.Second), nil
}

// playAgain asks for another league.
func (p *playing) playAgain() {
	select {
	case p.again <- struct{}{}:
	default: // it is asked for already
	}
}

// run plays one league after the other, until ctx ends.
func (p *playing) run(ctx context.Context) error {
	for fresh := !p.unfinished(ctx); ; fresh = true {
		end, err := p.playLeague(ctx, fresh)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return interrupted("Run the same command again to resume; the league is in %s.", p.data)
		case end.Code != exitDone && end.Code != exitLosses:
			return exit(end.Code, "%s", strings.Join(end.Problem, ": "))
		}
		if _, err := p.out.Write([]byte(end.Table)); err != nil {
			return fmt.Errorf("cannot print the final table: %w", err)
		}
		for _, who := range p.persons {
			who.End("The league is over.", true)
		}
		select {
		case <-p.again:
		case <-ctx.Done():
			return nil
		}
		for _, who := range p.persons {
			who.Restart()
		}
	}
}

// unfinished tells whether the league in the folder is not over, and has the same game and players.
func (p *playing) unfinished(ctx context.Context) bool {
	source := record.NewFolder(store.In(p.data), p.LeagueID)
	defer source.Close()
	l := record.NewLeague()
	if l.Update(ctx, source, nil) != nil || l.Created == nil || l.Completed != nil || l.Created.GameType != p.gameType {
		return false
	}
	for i := range p.players {
		if id := league.PlayerID(i + 1); p.players[i].Kind != config.KindURL && l.NameOf(id) != p.players[i].Name {
			return false
		}
	}
	return true
}

// playLeague plays a league to its end.
func (p *playing) playLeague(ctx context.Context, fresh bool) (*upEnd, error) {
	o := &p.upOptions
	o.GameType = p.game

	c := &upChild{upOptions: o, settings: p.settings, listens: make(chan struct{}), clock: p.clock, report: p.report,
		plan: upPlan{Shows: true, Brief: true, Silent: true}}
	var err error
	if c.plan.Agents, _, err = o.plan(p.players); err != nil {
		return nil, err
	}
	manager := c.plan.Agents[0]
	manager.Args = append(manager.Args, "--new-league="+strconv.FormatBool(fresh))
	for i, who := range p.persons {
		c.plan.Agents[1+o.Referees+i].person = who
	}
	return c.run(ctx), nil
}

// report shows what the agents of the league have to tell people.
func (p *playing) report(r *upReport) {
	if r.Text != "" {
		p.note("%s", r.Text)
	}
}
