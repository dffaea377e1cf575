package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// defaultData is the default data folder of agents and of init.
const defaultData = "SHARED"

// usualPlayers is how many players a league waits for by default.
const usualPlayers = 4

// A dataFolder gives a command the files of its data folder. The loader is nil
// before resolve.
type dataFolder struct {
	loader *config.Loader
	given  map[string]bool // the flags that the user has set, not a file of the data folder
}

// resolve sets the flags of a command from the environment, the settings file and
// the files of the data folder, and lists all settings with their sources.
func (d *dataFolder) resolve(settings *config.Settings, command string, flags *pflag.FlagSet) ([]config.Setting,
	error) {
	given := func(flag string) (value, source string) { return settings.Value(command, flags.Lookup(flag)) }
	d.given = map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		_, source := given(f.Name)
		d.given[f.Name] = source != config.SourceDefault
	})
	dir, _ := given("data")
	d.loader = config.NewLoader(dir, known())
	l := &layers{files: d.loader, command: command, given: given}
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
	return settings.Apply(command, flags, l.all...)
}

// layers collects what the files of a data folder say of a command's flags, the file
// with the highest precedence first. config.Settings ignores values of flags that
// the command does not have.
type layers struct {
	files   *config.Loader
	command string
	given   func(flag string) (value, source string) // without the files of the data folder
	all     []config.Layer
	err     error
}

// of begins the layer of a file. The returned function gives a flag a value that is not
// "", if the file has one of the members, when there are any: the values of other members are built in.
func (l *layers) of(head *config.Header) (set func(flag, value string, members ...string)) {
	values := map[string]string{}
	l.all = append(l.all, config.Layer{Path: head.Path(), Values: values})
	return func(flag, value string, members ...string) {
		if value != "" && (members == nil || slices.ContainsFunc(members, head.Gives)) {
			values[flag] = value
		}
	}
}

func (l *layers) failed(err error) bool {
	l.err = errors.Join(l.err, err)
	return err != nil
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
		id = system.DefaultLeagueID
	}
	file, err := l.files.League(id)
	if l.failed(err) {
		return
	}
	set := l.of(&file.Header)
	set("game", file.GameType, "game_type")
	set("tournament", file.Tournament, "tournament")
	set("legs", strconv.Itoa(file.Legs), "legs")
	set("rounds", strconv.Itoa(file.Rounds), "rounds")
	p, referees := file.Participants, 2
	if l.command == "manager" {
		referees = 1
	}
	if n := min(max(referees, p.MinReferees), p.MaxReferees); n != referees {
		set("referees", strconv.Itoa(n))
	}
	players := min(max(usualPlayers, p.MinPlayers), p.MaxPlayers)
	if file.RegistrationWindow > 0 {
		players = p.MaxPlayers // registration ends with the window, or when the league is full
	}
	if players != usualPlayers {
		set("players", strconv.Itoa(players))
	}
}

func (l *layers) system() {
	system, err := l.files.System()
	if l.failed(err) {
		return
	}
	set, n := l.of(&system.Header), &system.Network
	const port = "network.default_league_manager_port"
	set("host", n.BaseHost, "network.base_host")
	set("manager", "http://"+net.JoinHostPort(n.BaseHost, strconv.Itoa(n.ManagerPort))+http.Path, "network.base_host", port)
	switch l.command {
	case "manager", "up", "simulate":
		set("port", strconv.Itoa(n.ManagerPort), port)
		set("league-id", system.DefaultLeagueID, "default_league_id")
	case "referee":
		set("port", n.RefereePortRange.String(), "network.default_referee_port_range")
	case "player":
		set("port", n.PlayerPortRange.String(), "network.default_player_port_range")
	}
}

// presets adds the file with the presets of agents.
func (l *layers) presets() {
	agents, err := l.files.Agents()
	if l.failed(err) {
		return
	}
	set := l.of(&agents.Header)
	set("manager", agents.LeagueManager.Endpoint)
	preset := func(p *config.Preset, endpoint string) {
		set("name", p.DisplayName)
		set("registration-code", p.RegistrationCode)
		u, _ := url.Parse(endpoint) // the loader has checked it
		if port, source := l.given("port"); source == config.SourceDefault || port == u.Port() {
			set("endpoint", endpoint)
			set("port", u.Port())
		}
	}
	switch l.command { // agents_config.json was read above
	case "referee":
		id, _ := l.given("id")
		r, _ := l.files.Referee(id)
		preset(&r.Preset, r.Endpoint)
		set("max-concurrent", textOr(protocol.NonZero(r.MaxConcurrentMatches), ""))
	case "player":
		id, _ := l.given("id")
		p, _ := l.files.Player(id)
		preset(&p.Preset, p.DefaultEndpoint)
		set("league-id", strings.Join(p.PreferredLeagues, ","))
	}
}

// defaults adds the defaults of referees or players. No process is a single agent in a simulation.
func (l *layers) defaults() {
	switch l.command {
	case "referee":
		if d, err := l.files.RefereeDefaults(); !l.failed(err) {
			set := l.of(&d.Header)
			set("max-concurrent", strconv.Itoa(d.MaxConcurrentMatches), "max_concurrent_matches")
			set("log-level", d.LogLevel, "log_level")
		}
	case "player", "simulate":
		d, err := l.files.PlayerDefaults()
		if l.failed(err) {
			return
		}
		set := l.of(&d.Header)
		set("strategies", d.Strategy, "strategy")
		set("strategy", d.Strategy, "strategy")
		if l.command == "player" {
			set("log-level", d.LogLevel, "log_level")
		}
	}
}

// complete adds the rules of a league, from its files, to the options that have the flags.
func (l *leagueSettings) complete(files *config.Loader, o *manager.Options) (*config.Rules, error) {
	if o.Pace < 0 {
		return nil, usage("--pace %s: must not be negative", o.Pace)
	}
	if _, err := chosenGame(o.GameType); err != nil {
		return nil, err
	}
	r, err := files.Rules(o.LeagueID, o.GameType)
	if err != nil {
		return nil, asUsage(err)
	}
	in, p := r.League, r.League.Participants
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
	if o.Tournament, err = l.tournament(o.Players, o.Legs, in.Seeding); err != nil {
		return nil, err
	}
	o.MinPlayers, o.MaxReferees = p.MinPlayers, p.MaxReferees
	o.MaxPlayers = cmp.Or(o.Players, p.MaxPlayers) // the league is full when it starts
	o.DisplayName, o.GameType, o.Games = in.DisplayName, in.GameType, gamesOf(r.Games)
	s := &in.Scoring
	o.Scoring.MatchPoints = league.MatchPoints{Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss}
	if in.Gives("scoring.tiebreakers") { // else those of the tournament
		o.Scoring.Tiebreakers = s.Tiebreakers
	}
	if o.RegistrationUntil.IsZero() && o.StartAt.IsZero() { // these times replace the window
		o.RegistrationWindow = inSeconds(in.RegistrationWindow)
	}
	o.RegistrationGrace, o.AnnounceLead = inSeconds(in.RegistrationGrace), inSeconds(in.AnnounceLead)
	o.Timeouts, o.Retry, o.LongestMatch = r.Timeouts.Protocol(), r.Retry.Protocol(), r.LongestMatch()
	// In a file 0 means never; here -1 does, and 0 the default.
	o.SuspendAfter, o.ShutdownAfter = cmp.Or(in.Lifecycle.SuspendAfter, -1), cmp.Or(in.Lifecycle.ShutdownAfter, -1)
	o.AsksPerSecond, o.AsksAtOnce = in.Limits.RequestsPerSecond, in.Limits.Burst
	o.SameNames = !in.UniqueDisplayNames
	o.EveryMatch, o.StrictReplies = in.Broadcast == config.BroadcastMatch, in.Replies == config.RepliesStrict
	o.LenientAuth, o.RequireSignatures = in.Auth == config.AuthLenient, in.Signatures == config.SignaturesRequired
	o.RequireEvidence = in.Evidence == config.EvidenceRecomputed
	security := &r.System.Security
	o.TokenLength, o.TokenTTL = security.TokenLength, time.Duration(security.TokenTTLHours)*time.Hour
	return r, nil
}

func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }

// checkActive returns an error for an agent that must not be started.
func checkActive(files *config.Loader, role, id string, preset *config.Preset) error {
	if !preset.Inactive() {
		return nil
	}
	agents, err := files.Agents()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s is not active: set \"active\" to true in %s, or start it with another --id", role, id,
		agents.Path())
}
