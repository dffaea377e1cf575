package cmd

import (
	"cmp"
	"context"
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
	table "evenodd/league"
	league "evenodd/league/manager"
	"evenodd/transport/http"
)

// defaultData is the default data folder of agents and of init (spec 003 §11.3).
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
func (d *dataFolder) resolve(settings *config.Settings, command string, flags *pflag.FlagSet) ([]config.Setting, error) {
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

// A layer is what one file says. Members that the file leaves out are not set: their
// values are built in.
type layer struct {
	head   *config.Header
	values map[string]string
}

// add appends the layer of a file.
func (l *layers) add(head *config.Header) layer {
	values := map[string]string{}
	l.all = append(l.all, config.Layer{Path: head.Path(), Values: values})
	return layer{head, values}
}

// failed records the error of reading a file.
func (l *layers) failed(err error) bool {
	l.err = errors.Join(l.err, err)
	return err != nil
}

// set gives a flag its value, if the file has one of the members that the value is
// made of.
func (l layer) set(flag, value string, members ...string) {
	for _, m := range members {
		if l.head.Gives(m) {
			l.values[flag] = value
		}
	}
}

// put gives a flag a value, unless the value is empty.
func (l layer) put(flag, value string) {
	if value != "" {
		l.values[flag] = value
	}
}

// league adds the file of the league.
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
	f := l.add(&file.Header)
	f.set("game", file.GameType, "game_type")
	f.set("tournament", file.Tournament, "tournament")
	f.set("legs", strconv.Itoa(file.Legs), "legs")
	f.set("rounds", strconv.Itoa(file.Rounds), "rounds")
	// The default numbers of agents are those of the program where the file allows
	// them, else the closest that it allows.
	p := file.Participants
	referees := 1
	if l.command != "manager" {
		referees = 2
	}
	if n := min(max(referees, p.MinReferees), p.MaxReferees); n != referees {
		f.put("referees", strconv.Itoa(n))
	}
	players := min(max(usualPlayers, p.MinPlayers), p.MaxPlayers)
	if file.RegistrationWindow > 0 {
		players = p.MaxPlayers // registration ends with the window, or when the league is full
	}
	if players != usualPlayers {
		f.put("players", strconv.Itoa(players))
	}
}

// system adds the system file.
func (l *layers) system() {
	system, err := l.files.System()
	if l.failed(err) {
		return
	}
	f := l.add(&system.Header)
	n := &system.Network
	f.set("host", n.BaseHost, "network.base_host")
	f.set("manager", "http://"+net.JoinHostPort(n.BaseHost, strconv.Itoa(n.ManagerPort))+http.Path,
		"network.base_host", "network.default_league_manager_port")
	switch l.command {
	case "manager", "up":
		f.set("port", strconv.Itoa(n.ManagerPort), "network.default_league_manager_port")
		f.set("league-id", system.DefaultLeagueID, "default_league_id")
	case "simulate":
		f.set("league-id", system.DefaultLeagueID, "default_league_id")
	case "referee":
		f.set("port", n.RefereePortRange.String(), "network.default_referee_port_range")
	case "player":
		f.set("port", n.PlayerPortRange.String(), "network.default_player_port_range")
	}
}

// presets adds the file of presets: the manager's endpoint, and the preset of the
// referee or player with the id.
func (l *layers) presets() {
	agents, err := l.files.Agents()
	if l.failed(err) {
		return
	}
	f := l.add(&agents.Header)
	f.put("manager", agents.LeagueManager.Endpoint)
	switch l.command {
	case "referee":
		id, _ := l.given("id")
		r, _ := l.files.Referee(id) // agents_config.json was read above
		l.preset(f, &r.Preset, r.Endpoint)
		if r.MaxConcurrentMatches > 0 {
			f.put("max-concurrent", strconv.Itoa(r.MaxConcurrentMatches))
		}
	case "player":
		id, _ := l.given("id")
		p, _ := l.files.Player(id)
		l.preset(f, &p.Preset, p.DefaultEndpoint)
		f.put("league-id", strings.Join(p.PreferredLeagues, ","))
	}
}

// preset sets what presets of referees and players share. The agent listens on the
// port of its endpoint; with another --port the endpoint does not apply.
func (l *layers) preset(f layer, p *config.Preset, endpoint string) {
	f.put("name", p.DisplayName)
	f.put("registration-code", p.RegistrationCode)
	u, _ := url.Parse(endpoint) // the loader has checked it
	if port, source := l.given("port"); source == config.SourceDefault || port == u.Port() {
		f.put("endpoint", endpoint)
		f.put("port", u.Port())
	}
}

// defaults adds the file with the defaults of the role.
func (l *layers) defaults() {
	switch l.command {
	case "referee":
		d, err := l.files.RefereeDefaults()
		if l.failed(err) {
			return
		}
		f := l.add(&d.Header)
		f.set("max-concurrent", strconv.Itoa(d.MaxConcurrentMatches), "max_concurrent_matches")
		f.set("log-level", d.LogLevel, "log_level")
	case "player", "simulate":
		d, err := l.files.PlayerDefaults()
		if l.failed(err) {
			return
		}
		f := l.add(&d.Header)
		f.set("strategies", d.Strategy, "strategy")
		f.set("strategy", d.Strategy, "strategy")
		if l.command == "player" {
			f.set("log-level", d.LogLevel, "log_level")
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
func leagueOptions(ctx context.Context, files *config.Loader, f leagueFlags) (league.Options, *config.Rules, error) {
	id, game, players, referees := f.id, f.game, f.players, f.referees
	if _, err := chosenGame(game); err != nil {
		return league.Options{}, nil, err
	}
	r, err := files.Rules(id, game)
	if err != nil {
		return league.Options{}, nil, asUsage(err)
	}
	registered, err := registeredGames(files)
	if err != nil {
		return league.Options{}, nil, asUsage(err)
	}
	l, p := r.League, r.League.Participants
	if l.Status != config.StatusActive {
		return league.Options{}, nil, fmt.Errorf("league %s cannot be played: its status in %s is %q; set it to %q",
			id, l.Path(), l.Status, config.StatusActive)
	}
	where := cmp.Or(l.Path(), "the built-in rules")
	switch {
	case players > 1 && (players < p.MinPlayers || players > p.MaxPlayers): // 0 leaves the start to start_league; league.New refuses fewer than 2
		return league.Options{}, nil, usage("--players %d: league %s takes %d to %d players (%s)", players, id, p.MinPlayers, p.MaxPlayers, where)
	case referees > p.MaxReferees:
		return league.Options{}, nil, usage("--referees %d: league %s takes at most %d referees (%s)", referees, id, p.MaxReferees, where)
	}
	admitted := p.MaxPlayers
	if players > 0 {
		admitted = players // the league is full then
	}
	tournament, err := f.tournament.tournament(ctx, players, f.legs, l.Seeding)
	if err != nil {
		return league.Options{}, nil, err
	}
	s := l.Scoring
	if !l.Gives("scoring.tiebreakers") {
		s.Tiebreakers = nil // those of the tournament
	}
	return league.Options{
		LeagueID: id, DisplayName: l.DisplayName, GameType: l.GameType, Games: registered,
		MinPlayers: p.MinPlayers, Players: players, MaxPlayers: admitted,
		Referees: referees, MaxReferees: p.MaxReferees,
		Legs: f.legs, Tournament: tournament, SameNames: !l.UniqueDisplayNames,
		RegistrationWindow: inSeconds(l.RegistrationWindow), RegistrationGrace: inSeconds(l.RegistrationGrace),
		AnnounceLead: inSeconds(l.AnnounceLead),
		Scoring: table.Scoring{
			Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss, Tiebreakers: s.Tiebreakers,
		},
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
	return fmt.Errorf("%s %s is not active: set \"active\" to true in %s, or start it with another --id", role, id, agents.Path())
}
