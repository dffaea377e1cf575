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

// leagueFlags are the flags that select the rules of a league.
type leagueFlags struct {
	id, game                string
	players, referees, legs int
	tournament              tournamentOptions
}

// leagueOptions returns the options of a league from its files and the flags.
func leagueOptions(files *config.Loader, f leagueFlags) (manager.Options, *config.Rules, error) {
	id, game, players, referees := f.id, f.game, f.players, f.referees
	if _, err := chosenGame(game); err != nil {
		return manager.Options{}, nil, err
	}
	r, err := files.Rules(id, game)
	if err != nil {
		return manager.Options{}, nil, asUsage(err)
	}
	registered, err := registeredGames(files)
	if err != nil {
		return manager.Options{}, nil, asUsage(err)
	}
	l, p := r.League, r.League.Participants
	if l.Status != config.StatusActive {
		return manager.Options{}, nil, fmt.Errorf("league %s cannot be played: its status in %s is %q; set it to %q",
			id, l.Path(), l.Status, config.StatusActive)
	}
	where := cmp.Or(l.Path(), "the built-in rules")
	switch {
	// 0 leaves the start to start_league; league.New refuses fewer than 2
	case players > 1 && (players < p.MinPlayers || players > p.MaxPlayers):
		return manager.Options{}, nil, usage("--players %d: league %s takes %d to %d players (%s)", players, id,
			p.MinPlayers, p.MaxPlayers, where)
	case referees > p.MaxReferees:
		return manager.Options{}, nil, usage("--referees %d: league %s takes at most %d referees (%s)", referees, id,
			p.MaxReferees, where)
	}
	admitted := p.MaxPlayers
	if players > 0 {
		admitted = players // the league is full then
	}
	tournament, err := f.tournament.tournament(players, f.legs, l.Seeding)
	if err != nil {
		return manager.Options{}, nil, err
	}
	s := l.Scoring
	if !l.Gives("scoring.tiebreakers") {
		s.Tiebreakers = nil // those of the tournament
	}
	return manager.Options{
		LeagueID: id, DisplayName: l.DisplayName, GameType: l.GameType, Games: registered,
		MinPlayers: p.MinPlayers, Players: players, MaxPlayers: admitted,
		Referees: referees, MaxReferees: p.MaxReferees,
		Legs: f.legs, Tournament: tournament, SameNames: !l.UniqueDisplayNames,
		RegistrationWindow: inSeconds(l.RegistrationWindow), RegistrationGrace: inSeconds(l.RegistrationGrace),
		AnnounceLead: inSeconds(l.AnnounceLead),
		Scoring: league.Scoring{Tiebreakers: s.Tiebreakers, MatchPoints: league.MatchPoints{Win: s.Win, Draw: s.Draw,
			Loss: s.Loss, TechnicalLoss: s.TechnicalLoss}},
		Timeouts: r.Timeouts.Protocol(), Retry: r.Retry.Protocol(), LongestMatch: r.LongestMatch(),
		// In a file 0 means never; here -1 does, and 0 the default.
		SuspendAfter: cmp.Or(l.Lifecycle.SuspendAfter, -1), ShutdownAfter: cmp.Or(l.Lifecycle.ShutdownAfter, -1),
		AsksPerSecond: l.Limits.RequestsPerSecond, AsksAtOnce: l.Limits.Burst,
		EveryMatch: l.Broadcast == config.BroadcastMatch, StrictReplies: l.Replies == config.RepliesStrict,
		LenientAuth: l.Auth == config.AuthLenient, RequireSignatures: l.Signatures == config.SignaturesRequired,
		RequireEvidence: l.Evidence == config.EvidenceRecomputed,
		TokenLength:     r.System.Security.TokenLength,
		TokenTTL:        time.Duration(r.System.Security.TokenTTLHours) * time.Hour,
	}, r, nil
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
