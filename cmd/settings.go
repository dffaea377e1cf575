package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/transport/http"
)

// defaultData is the default data folder of agents and of init.
const defaultData = "SHARED"

// usualPlayers is how many players a league waits for by default.
const usualPlayers = 4

// A dataFolder gives a command the files of its data folder. The loader is nil
// before resolve.
type dataFolder struct {
	loader   *config.Loader
	settings *config.Settings
	given    map[string]bool // the flags that the user has set, not a file of the data folder

	clock func() time.Time // of this computer

	sources  map[string]string // of the flags
	shadowed map[string]string // values of files of the data folder, by flags that the user has set
}

// resolve sets the flags of a command from the environment, the settings file and
// the files of the data folder, and lists all settings with their sources.
func (d *dataFolder) resolve(settings *config.Settings, command string, flags *pflag.FlagSet) ([]config.Setting,
	error) {
	given := func(flag string) (value, source string) { return settings.Value(command, flags.Lookup(flag)) }
	d.given, d.settings = map[string]bool{}, settings
	flags.VisitAll(func(f *pflag.Flag) {
		_, source := given(f.Name)
		d.given[f.Name] = source != config.SourceDefault
	})
	dir, _ := given("data")
	d.loader = config.NewLoader(dir, known())
	l := &layers{files: d.loader, command: command, dir: dir, clock: d.clock, given: given}
	if slices.Contains([]string{"manager", "simulate", "up"}, command) {
		l.league()
	} else {
		l.presets()
	}
	l.system()
	l.defaults()
	if l.err != nil {
		return nil, l.err
	}
	all, err := settings.Apply(command, flags, l.all...)
	d.sources, d.shadowed = map[string]string{}, map[string]string{}
	for _, s := range all {
		d.sources[s.Name] = s.Source
		for _, layer := range slices.Backward(l.all) {
			if value, there := layer.Values[s.Name]; there && d.given[s.Name] {
				d.shadowed[s.Name] = value
			}
		}
	}
	return all, err
}

// shares returns how many matches at once each of n referees may conduct if all together conduct one for each
// processor, and each at least one; 0 for a referee with the usual number, or with one that the user has set.
func (d *dataFolder) shares(n, processors int) []int {
	shares := make([]int, n)
	for i := range shares {
		share := max(1, (processors+n-1-i)/n)
		if share < usualMatches && !d.sets("max-concurrent", league.RefereeID(i+1), strconv.Itoa(usualMatches)) {
			shares[i] = share
		}
	}
	return shares
}

// sets tells whether the user has set a flag of a referee with an id, in the environment or in a file, where it differs
// from the usual value.
func (d *dataFolder) sets(flag, id, usual string) bool {
	given := func(name string) (value, source string) {
		if name == "id" {
			return id, config.SourceFlag
		}
		return d.settings.Value("referee", &pflag.Flag{Name: name})
	}
	l := &layers{files: d.loader, command: "referee", given: given}
	l.presets()
	l.defaults()
	_, source := given(flag)
	return source != config.SourceDefault || slices.ContainsFunc(l.all, func(l config.Layer) bool {
		return cmp.Or(l.Values[flag], usual) != usual // init writes the usual value
	})
}

// layers collects what the files of a data folder say of a command's flags, the file
// with the highest precedence first. config.Settings ignores values of flags that
// the command does not have.
type layers struct {
	files   *config.Loader
	command string
	dir     string // the data folder; "" for none
	clock   func() time.Time
	given   func(flag string) (value, source string) // without the files of the data folder
	all     []config.Layer
	err     error
}

// of adds the layer of a file, and returns its values; nil if the file cannot be read.
func (l *layers) of(f config.File, err error, presets ...any) (values map[string]string) {
	if err != nil {
		l.err = errors.Join(l.err, err)
		return nil
	}
	layer := config.LayerOf(l.command, f, presets...)
	l.all = append(l.all, layer)
	return layer.Values
}

// league adds the file of the league. Numbers of agents that its limits exclude are
// replaced by the closest ones.
func (l *layers) league() {
	id, source := l.given("league-id")
	system, err := l.files.System()
	if err != nil {
		return // l.system reports it
	}
	if source == config.SourceDefault {
		id = l.leagueID(system)
	}
	file, err := l.files.League(id)
	values := l.of(file, err)
	if err != nil {
		return
	}
	p, referees := file.Participants, 2
	if l.command == "manager" {
		referees = 1
	}
	if n := min(max(referees, p.MinReferees), p.MaxReferees); n != referees {
		values["referees"] = strconv.Itoa(n)
	}
	players := min(max(usualPlayers, p.MinPlayers), p.MaxPlayers)
	if file.RegistrationWindow > 0 {
		players = p.MaxPlayers // registration ends with the window, or when the league is full
	}
	if players != usualPlayers {
		values["players"] = strconv.Itoa(players)
	}
}

// leagueID is the id of the league that a command runs whose user gives none. A simulation always has that of the
// files, because its results depend on it. So has a league on NATS: there the id is a part of all addresses, and each
// of its managers has a folder of its own. A league without a name also has it if the file of the system names another
// one than usual.
func (l *layers) leagueID(system *config.System) string {
	usual := system.DefaultLeagueID
	if l.command == "simulate" {
		return usual
	}
	name, _ := l.given("name")
	_, servers := l.given("nats")
	switch {
	case servers != config.SourceDefault, name == "" && usual != defaultLeague:
		return usual
	case name != "" && !protocol.ValidName(name):
		return usual // complete refuses the name
	}
	fresh, _ := l.given("new-league")
	dir, now := store.In(l.dir), l.clock()
	layer := config.Layer{}
	id := continued(dir, name, now, fresh == "true")
	if id != "" {
		layer.Path = dir.Journal(id)
	} else {
		id, layer.Source = newLeagueID(dir, cmp.Or(name, l.usualName(usual)), now), "date and name"
	}
	layer.Values = map[string]string{"league-id": id}
	l.all = append(l.all, layer)
	return id
}

// usualName is the name of a league without a name of its own; "" if only the program of its game knows it.
func (l *layers) usualName(leagueID string) string {
	game, _ := l.given("game")
	if r, err := l.files.Rules(leagueID, game); err == nil { // an error comes again
		return r.League.DisplayName
	}
	return ""
}

// system adds the file of all agents, and the URL of the manager that follows from it.
func (l *layers) system() {
	system, err := l.files.System()
	values := l.of(system, err)
	if err == nil && (system.Gives("network.base_host") || system.Gives("network.default_league_manager_port")) {
		n := &system.Network
		values["manager"] = "http://" + net.JoinHostPort(n.BaseHost, strconv.Itoa(n.ManagerPort)) + http.Path
	}
}

// presets adds the file with the presets of agents.
func (l *layers) presets() {
	agents, err := l.files.Agents()
	if err != nil || l.command != "referee" && l.command != "player" {
		l.of(agents, err)
		return
	}
	id, _ := l.given("id")
	var preset any = agents.Player(id)
	endpoint := agents.Player(id).DefaultEndpoint
	if l.command == "referee" {
		preset, endpoint = agents.Referee(id), agents.Referee(id).Endpoint
	}
	values := l.of(agents, nil, preset)
	u, _ := url.Parse(endpoint) // the loader has checked it
	if port, source := l.given("port"); endpoint != "" && (source == config.SourceDefault || port == u.Port()) {
		values["endpoint"] = endpoint
		if u.Port() != "" {
			values["port"] = u.Port()
		}
	}
}

// defaults adds the defaults of referees or players.
func (l *layers) defaults() {
	switch l.command {
	case "referee":
		l.of(l.files.RefereeDefaults())
	case "player", "simulate":
		l.of(l.files.PlayerDefaults())
	}
}

// complete adds the rules of a league, from its files, to the options that have the flags.
func (l *leagueSettings) complete(files *config.Loader, o *manager.Options) (*config.Rules, error) {
	if l.pace < 0 {
		return nil, usage("--pace %s: must not be negative", l.pace)
	}
	if l.name != "" && !protocol.ValidName(l.name) {
		return nil, usage("--name %.60q: must be 1 to 50 characters without control characters", l.name)
	}
	r, err := files.Rules(o.LeagueID, o.GameType)
	if err != nil {
		return nil, asUsage(err)
	}
	in, p := r.League, r.League.Participants
	if files.Dir() != "" {
		o.Config = store.In(files.Dir()).ConfigDigests(o.LeagueID, in.LeagueID)
	}
	if in.Status != config.StatusActive {
		return nil, fmt.Errorf("league %s cannot be played: its status in %s is %q; set it to %q", o.LeagueID, in.Path(),
			in.Status, config.StatusActive)
	}
	where := cmp.Or(in.Path(), "the built-in rules")
	switch {
	// 0 leaves the start to start_league; manager.New refuses fewer than 2
	case o.Players > 1 && (o.Players < p.MinPlayers || o.Players > p.MaxPlayers):
		return nil, usage("--players %d: league %s takes %d to %d players (%s)", o.Players, o.LeagueID, p.MinPlayers,
			p.MaxPlayers, where)
	case o.Referees > p.MaxReferees:
		return nil, usage("--referees %d: league %s takes at most %d referees (%s)", o.Referees, o.LeagueID, p.MaxReferees,
			where)
	}
	if o.TimeBank, err = protocol.ParseTimeBank(l.time); err != nil {
		return nil, usage("--time: %w", err)
	}
	if o.Tournament, err = l.tournament(o.Players, o.Legs, in.Seeding); err != nil {
		return nil, err
	}
	o.MinPlayers, o.MaxReferees = p.MinPlayers, p.MaxReferees
	o.MaxPlayers = cmp.Or(o.Players, p.MaxPlayers) // the league is full when it starts
	o.DisplayName, o.GameType, o.Games = cmp.Or(l.name, in.DisplayName), in.GameType, l.userGame.of(r.Games)
	s := &in.Scoring
	o.Scoring = league.MatchPoints{Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss}
	if in.Gives("scoring.tiebreakers") { // else those of the tournament
		o.Tiebreakers = s.Tiebreakers
	}
	if o.RegistrationUntil == "" && o.StartAt == "" { // these times replace the window
		o.RegistrationWindow = float64(in.RegistrationWindow)
	}
	o.RegistrationGrace, o.AnnounceLead, o.Pace = in.RegistrationGrace, float64(in.AnnounceLead), l.pace.Seconds()
	o.Timeouts, o.RetryPolicy = r.Timeouts.Protocol(), protocol.RetryPolicy(r.Retry)
	if l.moveTime > 0 {
		o.Timeouts.Move = l.moveTime.Seconds()
	}
	o.LongestMatch = float64(r.Game.MaxRoundTime)
	o.SuspendAfter, o.ShutdownAfter = in.Lifecycle.SuspendAfter, in.Lifecycle.ShutdownAfter
	o.Limits, o.UniqueDisplayNames = journal.Limits(in.Limits), in.UniqueDisplayNames
	o.Broadcast, o.Replies, o.Signatures, o.Evidence = in.Broadcast, in.Replies, in.Signatures, in.Evidence
	if in.Auth == journal.AuthLenient {
		o.Auth = in.Auth
	}
	if o.Members = ""; l.members == protocol.MembersPlain {
		o.Members = l.members
	}
	if err := o.CheckMembers(); err != nil {
		return nil, asUsage(err)
	}
	checked := *o
	if l.userGame != nil {
		checked.Program = l.userGame
	}
	if err := checked.CheckOpenings(); err != nil {
		return nil, usage("--openings %d: %w", o.Openings, err)
	}
	security := &r.System.Security
	o.TokenLength, o.TokenTTL = security.TokenLength, (time.Duration(security.TokenTTLHours) * time.Hour).Seconds()
	return r, nil
}

func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }

// leagueSettings are settings of the commands that run a league.
type leagueSettings struct {
	name      string // of the league; "" for that in its file
	format    string // --tournament; "" for a round-robin
	rounds    int
	gauntlet  int
	seeding   string // path of a file; "" for the list in the file of the league
	time      string // bank of each side of a match; "" for none
	members   string // membersAll or protocol.MembersPlain
	data      string
	ca        string
	logLevel  string
	strict    bool
	newLeague bool
	pace      time.Duration
	moveTime  time.Duration // limit of a move; 0 for that in the files

	userGame *userGame // that --game names; nil for none

	untilSignificant bool            // a round-robin ends by its results
	bounds           *pairing.Bounds // between which they decide; nil for none
}

// membersAll lets messages have members that the specification lacks.
const membersAll = "all"

// flags defines the flags of l, and those of o that both commands have.
func (l *leagueSettings) flags(f *pflag.FlagSet, o *manager.Options, folder, level string) {
	dataFlag(f, &l.data, folder)
	tlsCAFlag(f, &l.ca)
	logLevelFlag(f, &l.logLevel, level)
	f.StringVar(&o.LeagueID, "league-id", defaultLeague, "identifier of the league")
	f.StringVar(&l.name, "name", "", "`name` of the league, for page, report and exports (default: that in its file); "+
		"manager and up make the id of a new league of the date and it")
	anyGameFlag(f, &o.GameType, "game of the league")
	choiceFlag(f, &l.format, "tournament", journal.FormatRoundRobin, "format of the league", journal.Formats()...)
	f.IntVar(&l.gauntlet, "gauntlet", 0, "`number` of seeds that meet all others in a gauntlet (default: 1)")
	f.IntVar(&o.Legs, "legs", 1, "matches of each pair of players in a round-robin or gauntlet; a league has at most "+
		"134,217,728 matches")
	f.IntVar(&o.Openings, "openings", 0, "random plies with which both matches of a pair in two legs begin, 1 to 32; "+
		"for games without chance, with an even number of legs (default: none)")
	f.IntVar(&l.rounds, "rounds", 0, "rounds of a Swiss system (default: log2 of the players, rounded up)")
	f.StringVar(&l.seeding, "seeding", "",
		"`file` with names or ids of players, one a line, best first: the seeds of other formats than round-robin "+
			"(default: registration)")
	f.StringVar(&l.time, "time", "", "`time` of each player for all moves of a match, such as 60s, or 60s+1s with one "+
		"second more after each move (default: a limit for each move)")
	choiceFlag(f, &l.members, "members", membersAll, "members of messages: all that this program has, or plain, those of "+
		"chapter 4 of the specification alone", membersAll, protocol.MembersPlain)
	f.BoolVar(&l.strict, "strict", false, "exit with code 3 if there are technical losses, or choices that a model "+
		"or host left to its fallback")
	f.BoolVar(&l.newLeague, "new-league", false, "start a new league; the one that the command would continue moves "+
		"to the archive of the data folder")
}
