package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Games is config/games/games_registry.json: the games that leagues may play.
type Games struct {
	Header
	Games []Game `json:"games"`

	// Registry is the form of spec 003 §3.8.3, an object by game type, in place of Games. It is nil after reading.
	Registry map[string]Game `json:"game_registry,omitzero" rule:"registry"`
}

// registry checks the form of spec 003 §3.8.3.
func registry(r *report, member string, value any) {
	games, ok := value.(map[string]any)
	if !ok || len(games) == 0 {
		r.add(member, "must be an object with a member for each game", value)
		return
	}
	for _, gameType := range slices.Sorted(maps.Keys(games)) {
		at := member + "." + gameType
		entry, isObject := games[gameType].(map[string]any)
		if isObject && entry["game_type"] == nil {
			entry = maps.Clone(entry)
			entry["game_type"] = gameType
		}
		switch {
		case !isObject:
			r.add(at, "must be an object", games[gameType])
		case entry["game_type"] != gameType:
			r.add(at+".game_type", "must be the name of the member, "+strconv.Quote(gameType), entry["game_type"])
		default:
			r.object(r.compile(reflect.TypeFor[Game]()), at, entry)
		}
	}
}

// A Game is the entry of one game. ValidChoices lists the
// choices by kind of move; 0-8 stands for nine numbers.
type Game struct {
	GameType     string              `json:"game_type" rule:"required,game"`
	DisplayName  string              `json:"display_name" rule:"name,min=1"`
	MoveTypes    []string            `json:"move_types" rule:"ignored"`
	ValidChoices map[string][]string `json:"valid_choices" rule:"ignored"`
	RulesModule  string              `json:"rules_module" rule:"ignored"` // such as rules/evenodd
	// longest match; 0: it depends on the timeouts
	MaxRoundTime int `json:"max_round_time_sec" rule:"max=31536000"`
	MinPlayers   int `json:"min_players" rule:"ignored"` // of a match
	MaxPlayers   int `json:"max_players" rule:"ignored"`
}

func (g *Games) name() string { return "games/games_registry.json" }

// assume lists every game of the program.
func (g *Games) assume(known Known) {
	for _, t := range known.gameTypes() {
		game := Game{GameType: t}
		game.describe(known)
		g.Games = append(g.Games, game)
	}
}

func (g *Games) complete(r *report, known Known) {
	if g.Registry != nil {
		if g.head().given["games"] != nil {
			r.refuse("game_registry", "and games name the games twice: keep one of them")
		}
		g.Games = nil
		for _, gameType := range slices.Sorted(maps.Keys(g.Registry)) {
			game := g.Registry[gameType]
			game.GameType = gameType
			g.Games = append(g.Games, game)
		}
		g.Registry = nil
	}
	for i := range g.Games {
		one := &g.Games[i]
		if slices.ContainsFunc(g.Games[:i], func(other Game) bool { return other.GameType == one.GameType }) {
			r.add(fmt.Sprintf("games[%d].game_type", i), "must be a game that is not listed before", one.GameType)
		}
		one.describe(known)
	}
}

// describe sets the members that follow from the program's game. In a file they are for people.
func (g *Game) describe(known Known) {
	game := known.Games[g.GameType]
	game.GameType, game.MaxRoundTime = g.GameType, g.MaxRoundTime
	game.DisplayName = cmp.Or(g.DisplayName, game.DisplayName)
	game.ValidChoices = maps.Clone(game.ValidChoices)
	for move, choices := range game.ValidChoices {
		game.ValidChoices[move] = compact(choices)
	}
	*g = game
}

// compact writes a list of consecutive numbers as spec 003 §3.8.3 does: 0-8.
func compact(choices []string) []string {
	for i, choice := range choices {
		if first, err := strconv.Atoi(choices[0]); err != nil || choice != strconv.Itoa(first+i) || len(choices) < 3 {
			return choices
		}
	}
	return []string{choices[0] + "-" + choices[len(choices)-1]}
}
