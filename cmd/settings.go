package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/table"
	"evenodd/transport/http"
)

// defaultData is the data folder of agents and of init (spec 003 §11.3).
const defaultData = "SHARED"

// A dataFolder holds what the files of a command's data folder say, from when
// its settings are known.
type dataFolder struct{ loader *config.Loader }

// settle gives a command's flags their values, and lists them.
func (d *dataFolder) settle(settings *config.Settings, command string, flags *pflag.FlagSet) ([]config.Setting, error) {
	given := func(flag string) (value, source string) { return settings.Value(command, flags.Lookup(flag)) }
	dir, _ := given("data")
	d.loader = config.NewLoader(dir, known())
	layers := map[string]func(*config.Loader, lookup) ([]config.Layer, error){
		"manager": managerLayers, "referee": refereeLayers, "player": playerLayers, "simulate": simulateLayers, "query": queryLayers,
	}[command]
	of, err := layers(d.loader, given)
	if err != nil {
		return nil, err
	}
	return settings.Apply(command, flags, of...)
}

// lookup is what stands above the files of the data folder.
type lookup = func(flag string) (value, source string)

// A layer collects what a file says of flags. What the file leaves out is left
// to what is built in: there its value comes from.
type layer struct {
	head   *config.Header
	values map[string]string
}

func newLayer(h *config.Header) *layer { return &layer{h, map[string]string{}} }

// set gives a flag a value that stands in a member, or is made of several, if any
// of them is there.
func (l *layer) set(flag, value string, members ...string) {
	for _, m := range members {
		if l.head.Gives(m) {
			l.values[flag] = value
		}
	}
}

func (l *layer) done() config.Layer { return config.Layer{Path: l.head.Path(), Values: l.values} }

func managerLayers(files *config.Loader, given lookup) ([]config.Layer, error) {
	system, err := files.System()
	if err != nil {
		return nil, err
	}
	ofLeague, err := leagueLayer(files, system, given, 1)
	if err != nil {
		return nil, err
	}
	s := newLayer(&system.Header)
	s.set("league-id", system.DefaultLeagueID, "default_league_id")
	s.set("host", system.Network.BaseHost, "network.base_host")
	s.set("port", strconv.Itoa(system.Network.ManagerPort), "network.default_league_manager_port")
	return []config.Layer{ofLeague, s.done()}, nil
}

func simulateLayers(files *config.Loader, given lookup) ([]config.Layer, error) {
	system, err := files.System()
	if err != nil {
		return nil, err
	}
	ofLeague, err := leagueLayer(files, system, given, 2)
	if err != nil {
		return nil, err
	}
	defaults, err := files.PlayerDefaults()
	if err != nil {
		return nil, err
	}
	s, p := newLayer(&system.Header), newLayer(&defaults.Header)
	s.set("league-id", system.DefaultLeagueID, "default_league_id")
	p.set("strategies", defaults.Strategy, "strategy")
	return []config.Layer{ofLeague, s.done(), p.done()}, nil
}

// usualPlayers is how many players a league waits for when nobody says how
// many.
const usualPlayers = 4

// leagueLayer is what the league's file says. Referees is how many the command
// has when nobody says how many.
func leagueLayer(files *config.Loader, system *config.System, given lookup, referees int) (config.Layer, error) {
	id, source := given("league-id")
	if source == config.SourceDefault {
		id = system.DefaultLeagueID
	}
	file, err := files.League(id)
	if err != nil {
		return config.Layer{}, err
	}
	p := file.Participants
	l := newLayer(&file.Header)
	l.set("game", file.GameType, "game_type")
	l.set("legs", strconv.Itoa(file.Legs), "legs")
	// Where the usual numbers are among those that the file admits, they do not
	// come from it.
	if n := min(max(referees, p.MinReferees), p.MaxReferees); n != referees {
		l.put("referees", strconv.Itoa(n))
	}
	players := min(max(usualPlayers, p.MinPlayers), p.MaxPlayers)
	if file.RegistrationWindow > 0 {
		players = p.MaxPlayers // the window ends the registration, or a league that is full
	}
	if players != usualPlayers {
		l.put("players", strconv.Itoa(players))
	}
	return l.done(), nil
}

func refereeLayers(files *config.Loader, given lookup) ([]config.Layer, error) {
	defaults, err := files.RefereeDefaults()
	if err != nil {
		return nil, err
	}
	ofSystem, presets, err := agentLayers(files, func(n *config.Network) string { return n.RefereePortRange.String() }, "network.default_referee_port_range")
	if err != nil {
		return nil, err
	}
	id, _ := given("id")
	switch preset, err := files.Referee(id); {
	case err == nil:
		presets.ofAgent(given, preset.DisplayName, preset.Endpoint)
		presets.put("max-concurrent", zeroless(preset.MaxConcurrentMatches))
	case !errors.Is(err, config.ErrNoPreset):
		return nil, err
	}
	d := newLayer(&defaults.Header)
	d.set("max-concurrent", strconv.Itoa(defaults.MaxConcurrentMatches), "max_concurrent_matches")
	d.set("log-level", defaults.LogLevel, "log_level")
	return []config.Layer{presets.done(), ofSystem, d.done()}, nil
}

func playerLayers(files *config.Loader, given lookup) ([]config.Layer, error) {
	defaults, err := files.PlayerDefaults()
	if err != nil {
		return nil, err
	}
	ofSystem, presets, err := agentLayers(files, func(n *config.Network) string { return n.PlayerPortRange.String() }, "network.default_player_port_range")
	if err != nil {
		return nil, err
	}
	id, _ := given("id")
	switch preset, err := files.Player(id); {
	case err == nil:
		presets.ofAgent(given, preset.DisplayName, preset.DefaultEndpoint)
		presets.put("league-id", strings.Join(preset.PreferredLeagues, ","))
	case !errors.Is(err, config.ErrNoPreset):
		return nil, err
	}
	d := newLayer(&defaults.Header)
	d.set("strategy", defaults.Strategy, "strategy")
	d.set("log-level", defaults.LogLevel, "log_level")
	return []config.Layer{presets.done(), ofSystem, d.done()}, nil
}

// agentLayers are what the system file and the file of presets say of every
// referee, or every player, whose ports stand in the member.
func agentLayers(files *config.Loader, ports func(*config.Network) string, member string) (config.Layer, *layer, error) {
	system, systemErr := files.System()
	agents, agentsErr := files.Agents()
	if err := errors.Join(systemErr, agentsErr); err != nil {
		return config.Layer{}, nil, err
	}
	n := &system.Network
	s := newLayer(&system.Header)
	s.set("host", n.BaseHost, "network.base_host")
	s.set("port", ports(n), member)
	s.set("manager", "http://"+net.JoinHostPort(n.BaseHost, strconv.Itoa(n.ManagerPort))+http.Path,
		"network.base_host", "network.default_league_manager_port")
	presets := newLayer(&agents.Header)
	presets.put("manager", agents.LeagueManager.Endpoint)
	return s.done(), presets, nil
}

// put gives a flag a value, unless that is empty.
func (l *layer) put(flag, value string) {
	if value != "" {
		l.values[flag] = value
	}
}

// ofAgent is what presets of referees and players have in common. An agent
// listens where its endpoint says; when it is sent to another port, the endpoint
// is no longer true.
func (l *layer) ofAgent(given lookup, name, endpoint string) {
	l.put("name", name)
	u, err := url.Parse(endpoint)
	if err != nil {
		return // checked when the file was read
	}
	port, source := given("port")
	if source == config.SourceDefault || port == u.Port() {
		l.put("endpoint", endpoint)
		l.put("port", u.Port())
	}
}

func zeroless(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// leagueOptions are a league's rules as its manager takes them, with the game and
// so many players and referees as the flags say.
func leagueOptions(files *config.Loader, id, game string, players, referees, legs int) (league.Options, *config.Rules, error) {
	if _, err := games().Game(game); err != nil {
		return league.Options{}, nil, usage("--game: %v", err)
	}
	r, err := files.Rules(id, game)
	if err != nil {
		return league.Options{}, nil, &usageError{err}
	}
	registered, err := registeredGames(files)
	if err != nil {
		return league.Options{}, nil, &usageError{err}
	}
	l, p := r.League, r.League.Participants
	if l.Status != config.StatusActive {
		return league.Options{}, nil, fmt.Errorf("league %s is not run: %s says its status is %q; set it to %q",
			id, l.Path(), l.Status, config.StatusActive)
	}
	where := cmp.Or(l.Path(), "what is built in")
	switch {
	case players > 1 && (players < p.MinPlayers || players > p.MaxPlayers): // none is start_league's, fewer are no league
		return league.Options{}, nil, usage("--players %d: league %s has %d to %d, as %s says", players, id, p.MinPlayers, p.MaxPlayers, where)
	case referees > p.MaxReferees:
		return league.Options{}, nil, usage("--referees %d: league %s has %d at most, as %s says", referees, id, p.MaxReferees, where)
	}
	admitted := p.MaxPlayers
	if players > 0 {
		admitted = players // who comes later is too late
	}
	s := l.Scoring
	return league.Options{
		LeagueID: id, DisplayName: l.DisplayName, GameType: l.GameType, Games: registered,
		MinPlayers: p.MinPlayers, Players: players, MaxPlayers: admitted,
		Referees: referees, MaxReferees: p.MaxReferees,
		Legs: legs, SameNames: !l.UniqueDisplayNames,
		RegistrationWindow: inSeconds(l.RegistrationWindow), RegistrationGrace: inSeconds(l.RegistrationGrace),
		AnnounceLead: inSeconds(l.AnnounceLead),
		Scoring: table.Scoring{
			Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss, Tiebreakers: s.Tiebreakers,
		},
		Timeouts: r.Timeouts.Protocol(), Retry: r.Retry.Protocol(), LongestMatch: r.LongestMatch(),
		SuspendAfter: failuresOf(l.Lifecycle.SuspendAfter), ShutdownAfter: failuresOf(l.Lifecycle.ShutdownAfter),
		AsksPerSecond: l.Limits.RequestsPerSecond, AsksAtOnce: l.Limits.Burst,
		EveryMatch: l.Broadcast == config.BroadcastMatch, StrictReplies: l.Replies == config.RepliesStrict,
		LenientAuth: l.Auth == config.AuthLenient,
		TokenLength: r.System.Security.TokenLength,
		TokenTTL:    time.Duration(r.System.Security.TokenTTLHours) * time.Hour,
	}, r, nil
}

// failuresOf is a limit as a manager takes it, for whom 0 is the usual one, and
// never is below.
func failuresOf(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}

func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }

// inactive tells whoever starts an agent that must not be started.
func inactive(files *config.Loader, role, id string) error {
	agents, err := files.Agents()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s is not active: %s says so; set \"active\" to true there, or start it with another --id", role, id, agents.Path())
}
