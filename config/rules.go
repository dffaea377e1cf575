package config

import (
	"fmt"
	"maps"
	"slices"

	"evenodd/league/protocol"
)

// Known says what the program has of what files may name. Config knows neither
// games nor strategies.
type Known struct {
	Tiebreakers []string
	Strategies  []string
	Games       map[string]KnownGame // by game type
}

// A KnownGame is a game of the program.
type KnownGame struct {
	DisplayName            string
	Module                 string // such as rules/evenodd
	MoveTypes              []string
	ValidChoices           map[string][]string // by move type, each choice by itself
	MinPlayers, MaxPlayers int                 // of a match
}

func (k Known) gameTypes() []string { return slices.Sorted(maps.Keys(k.Games)) }

func (s *System) name() string { return "system.json" }

func (s *System) rules(Known) check {
	return document(
		field{name: "system_id", check: text("a text", func(s string) bool { return s != "" })},
		field{name: "protocol_version", check: oneOf(protocol.Name)},
		field{name: "default_league_id", check: leagueID()},
		field{name: "network", check: object(
			field{name: "base_host", check: host()},
			field{name: "default_league_manager_port", check: whole(1, 65535)},
			field{name: "default_referee_port_range", check: ports()},
			field{name: "default_player_port_range", check: ports()},
		)},
		field{name: "security", check: object(
			field{name: "enable_auth_tokens", check: must("true: a league without tokens could be ended by anyone",
				func(v any) bool { return v == true })},
			field{name: "token_length", check: whole(22, 43)},
			field{name: "token_ttl_hours", check: whole(0, longest/3600)},
		)},
		field{name: "timeouts", check: timeouts()},
		field{name: "retry_policy", check: retryPolicy()},
	)
}

func (s *System) complete(*report, Known) {}

func (a *Agents) name() string { return "agents/agents_config.json" }

func (a *Agents) rules(known Known) check {
	anID := func(example string, parse func(string) (int, bool)) check {
		return text("an id such as "+example, func(s string) bool {
			_, ok := parse(s)
			return ok
		})
	}
	common := []field{
		{name: "display_name", check: displayName()},
		{name: "version", check: version()},
		{name: "game_types", check: someOf(known.gameTypes())},
		{name: "active", check: boolean()},
	}
	return document(
		field{name: "league_manager", check: object(
			field{name: "display_name", check: displayName()},
			field{name: "endpoint", check: endpoint()},
		)},
		field{name: "referees", check: list(object(append([]field{
			{name: "referee_id", check: anID("REF01", protocol.ParseRefereeID), required: true},
			{name: "endpoint", check: endpoint()},
			{name: "max_concurrent_matches", check: whole(1, protocol.MaxConcurrentMatches)},
		}, common...)...))},
		field{name: "players", check: list(object(append([]field{
			{name: "player_id", check: anID("P01", protocol.ParsePlayerID), required: true},
			{name: "default_endpoint", check: endpoint()},
			{name: "preferred_leagues", check: list(leagueID())},
		}, common...)...))},
	)
}

func (a *Agents) complete(r *report, _ Known) {
	seen := map[string]bool{}
	once := func(member, id string) {
		if seen[id] {
			r.add(member, "must be an id that no other agent has", id)
		}
		seen[id] = true
	}
	for i := range a.Referees {
		once(fmt.Sprintf("referees[%d].referee_id", i), a.Referees[i].RefereeID)
		if !a.item("referees", i, "active") {
			a.Referees[i].Active = true
		}
	}
	for i := range a.Players {
		once(fmt.Sprintf("players[%d].player_id", i), a.Players[i].PlayerID)
		if !a.item("players", i, "active") {
			a.Players[i].Active = true
		}
	}
}

// item tells whether the i-th item of a list has the member.
func (h *Header) item(list string, i int, member string) bool {
	items, _ := h.given[list].([]any)
	if i >= len(items) {
		return true // built in, and whole
	}
	tree, _ := items[i].(map[string]any)
	_, there := tree[member]
	return there
}

func (l *League) name() string { return "leagues/" + l.LeagueID + ".json" }

func (l *League) rules(known Known) check {
	points := whole(0, 1000)
	return document(
		field{name: "league_id", check: text(fmt.Sprintf("%q, like the file's name", l.LeagueID),
			func(s string) bool { return s == l.LeagueID })},
		field{name: "display_name", check: displayName()},
		field{name: "game_type", check: oneOf(known.gameTypes()...)},
		field{name: "status", check: text("a text such as "+StatusActive, func(s string) bool { return s != "" })},
		field{name: "scoring", check: object(
			field{name: "win_points", check: points},
			field{name: "draw_points", check: points},
			field{name: "loss_points", check: points},
			field{name: "technical_loss_points", check: points},
			field{name: "tiebreakers", check: someOf(known.Tiebreakers)},
		)},
		field{name: "participants", check: object(
			field{name: "min_players", check: whole(2, 10_000)},
			field{name: "max_players", check: whole(2, 10_000)},
			field{name: "min_referees", check: whole(1, 1000)},
			field{name: "max_referees", check: whole(1, 1000)},
		)},
		field{name: "legs", check: whole(1, 100)},
		field{name: "broadcast", check: oneOf(BroadcastRound, BroadcastMatch)},
		field{name: "unique_display_names", check: boolean()},
		field{name: "registration_window_sec", check: wholeSeconds(0)},
		field{name: "registration_grace_sec", check: wholeSeconds(1)},
		field{name: "announce_lead_sec", check: wholeSeconds(0)},
		field{name: "lifecycle", check: object(
			field{name: "suspend_after", check: whole(0, 1000)},
			field{name: "shutdown_after", check: whole(0, 1000)},
		)},
		field{name: "replies", check: oneOf(RepliesByMeaning, RepliesStrict)},
		field{name: "auth", check: oneOf(AuthStrict, AuthLenient)},
		field{name: "allowed_endpoints", check: list(network())},
		field{name: "limits", check: object(
			field{name: "requests_per_sec", check: whole(1, 100_000)},
			field{name: "burst", check: whole(1, 1_000_000)},
		)},
		field{name: "timeouts", check: timeouts()},
		field{name: "retry_policy", check: retryPolicy()},
	)
}

func (l *League) complete(r *report, _ Known) {
	p := l.Participants
	if p.MinPlayers > p.MaxPlayers {
		r.add("participants.min_players", fmt.Sprintf("must not be above max_players, %d", p.MaxPlayers), p.MinPlayers)
	}
	if p.MinReferees > p.MaxReferees {
		r.add("participants.min_referees", fmt.Sprintf("must not be above max_referees, %d", p.MaxReferees), p.MinReferees)
	}
}

func (g *Games) name() string { return "games/games_registry.json" }

// assume registers all games of the program.
func (g *Games) assume(known Known) {
	for _, t := range known.gameTypes() {
		in := known.Games[t]
		g.Games = append(g.Games, Game{
			GameType: t, DisplayName: in.DisplayName, MoveTypes: in.MoveTypes, ValidChoices: compacted(in.ValidChoices),
			RulesModule: in.Module, MinPlayers: in.MinPlayers, MaxPlayers: in.MaxPlayers,
		})
	}
}

func (g *Games) rules(known Known) check {
	aText := text("a text", func(s string) bool { return s != "" })
	return document(field{name: "games", check: list(object(
		field{name: "game_type", check: oneOf(known.gameTypes()...), required: true},
		field{name: "display_name", check: displayName()},
		field{name: "move_types", check: list(aText)},
		field{name: "valid_choices", check: members(list(aText))},
		field{name: "rules_module", check: aText},
		field{name: "max_round_time_sec", check: wholeSeconds(0)},
		field{name: "min_players", check: whole(1, 10_000)},
		field{name: "max_players", check: whole(1, 10_000)},
	))})
}

// complete holds the registry against the games of the program: it may not
// promise what no code does.
func (g *Games) complete(r *report, known Known) {
	for i := range g.Games {
		one := &g.Games[i]
		in := known.Games[one.GameType]
		member := func(name string) string { return fmt.Sprintf("games[%d].%s", i, name) }
		for j := range i {
			if g.Games[j].GameType == one.GameType {
				r.add(member("game_type"), "must be a game that is not listed before", one.GameType)
			}
		}
		if one.DisplayName == "" {
			one.DisplayName = in.DisplayName
		}
		switch {
		case one.MoveTypes == nil:
			one.MoveTypes = in.MoveTypes
		case !slices.Equal(one.MoveTypes, in.MoveTypes):
			r.add(member("move_types"), fmt.Sprintf("must be %s, the kinds of move of %s", quoted(in.MoveTypes), one.GameType), one.MoveTypes)
		}
		switch {
		case one.ValidChoices == nil:
			one.ValidChoices = compacted(in.ValidChoices)
		case !sameChoices(one.ValidChoices, in.ValidChoices):
			r.add(member("valid_choices"), fmt.Sprintf("must be %s, the choices of %s", quoted(compacted(in.ValidChoices)), one.GameType), one.ValidChoices)
		}
		switch one.RulesModule {
		case "":
			one.RulesModule = in.Module
		case in.Module:
		default:
			r.add(member("rules_module"), fmt.Sprintf("must be %q, the module that has this game", in.Module), one.RulesModule)
		}
		for _, number := range []struct {
			name      string
			given     *int
			inProgram int
		}{
			{"min_players", &one.MinPlayers, in.MinPlayers},
			{"max_players", &one.MaxPlayers, in.MaxPlayers},
		} {
			switch *number.given {
			case 0:
				*number.given = number.inProgram
			case number.inProgram:
			default:
				r.add(member(number.name), fmt.Sprintf("must be %d, as many as play a match of %s",
					number.inProgram, one.GameType), *number.given)
			}
		}
	}
}

func (d *RefereeDefaults) name() string { return "defaults/referee.json" }

// assume has referees conduct every game of the program.
func (d *RefereeDefaults) assume(known Known) { d.GameTypes = known.gameTypes() }

func (d *RefereeDefaults) rules(known Known) check {
	return document(
		field{name: "version", check: version()},
		field{name: "game_types", check: someOf(known.gameTypes())},
		field{name: "max_concurrent_matches", check: whole(1, protocol.MaxConcurrentMatches)},
		field{name: "log_level", check: logLevel()},
	)
}

func (d *RefereeDefaults) complete(*report, Known) {}

func (d *PlayerDefaults) name() string { return "defaults/player.json" }

// assume has players play every game of the program.
func (d *PlayerDefaults) assume(known Known) { d.GameTypes = known.gameTypes() }

func (d *PlayerDefaults) rules(known Known) check {
	return document(
		field{name: "version", check: version()},
		field{name: "game_types", check: someOf(known.gameTypes())},
		field{name: "strategy", check: oneOf(known.Strategies...)},
		field{name: "log_level", check: logLevel()},
	)
}

func (d *PlayerDefaults) complete(*report, Known) {}
