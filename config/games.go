package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Games is config/games/games_registry.json: the games that leagues may play (spec
// 003 §9.3.4).
type Games struct {
	Header
	Games []Game `json:"games"`
}

// A Game is the entry of one game (spec 003 §3.8.3, §9.3.4). ValidChoices lists the
// choices by kind of move; 0-8 stands for nine numbers.
type Game struct {
	GameType     string              `json:"game_type" rule:"game" required:"true"`
	DisplayName  string              `json:"display_name" rule:"name"`
	MoveTypes    []string            `json:"move_types" rule:"texts"`
	ValidChoices map[string][]string `json:"valid_choices" rule:"choices"`
	RulesModule  string              `json:"rules_module" rule:"text"`
	MaxRoundTime int                 `json:"max_round_time_sec" rule:"seconds0"` // longest match; 0: it depends on the timeouts
	MinPlayers   int                 `json:"min_players" rule:"1..10000"`        // of a match
	MaxPlayers   int                 `json:"max_players" rule:"1..10000"`
}

func (g *Games) name() string { return "games/games_registry.json" }

// assume registers all games of the program.
func (g *Games) assume(known Known) {
	for _, t := range known.gameTypes() {
		game := Game{GameType: t}
		game.follow(&report{}, "", known.Games[t])
		g.Games = append(g.Games, game)
	}
}

// complete compares the registry with the games of the program: it must not
// promise what the program does not do.
func (g *Games) complete(r *report, known Known) {
	for i := range g.Games {
		one := &g.Games[i]
		member := fmt.Sprintf("games[%d].", i)
		if slices.ContainsFunc(g.Games[:i], func(other Game) bool { return other.GameType == one.GameType }) {
			r.add(member+"game_type", "must be a game that is not listed before", one.GameType)
		}
		one.follow(r, member, known.Games[one.GameType])
	}
}

// follow takes what the entry leaves out from the program, and reports what differs
// from it.
func (g *Game) follow(r *report, prefix string, in KnownGame) {
	if g.DisplayName == "" {
		g.DisplayName = in.DisplayName
	}
	choices := compacted(in.ValidChoices)
	players := "must be %d, as many as play a match of " + g.GameType
	agree(r, prefix+"move_types", fmt.Sprintf("must be %s, the kinds of move of %s", quoted(in.MoveTypes), g.GameType), &g.MoveTypes, in.MoveTypes, slices.Equal)
	agree(r, prefix+"valid_choices", fmt.Sprintf("must be %s, the choices of %s", quoted(choices), g.GameType), &g.ValidChoices, choices, sameChoices)
	agree(r, prefix+"rules_module", fmt.Sprintf("must be %q, the module that has this game", in.Module), &g.RulesModule, in.Module, equal)
	agree(r, prefix+"min_players", fmt.Sprintf(players, in.MinPlayers), &g.MinPlayers, in.MinPlayers, equal)
	agree(r, prefix+"max_players", fmt.Sprintf(players, in.MaxPlayers), &g.MaxPlayers, in.MaxPlayers, equal)
}

// agree sets a value that the file leaves out, and reports one that differs.
func agree[T any](r *report, member, rule string, value *T, want T, same func(a, b T) bool) {
	switch {
	case reflect.ValueOf(*value).IsZero():
		*value = want
	case !same(*value, want):
		r.add(member, rule, *value)
	}
}

func equal[T comparable](a, b T) bool { return a == b }

// maxRange is the largest number of choices that a range such as 0-8 may stand for.
const maxRange = 1000

// compact writes three or more consecutive numbers as a range, as the specification
// does: 0-8 (spec 003 §3.8.3).
func compact(choices []string) []string {
	var out []string
	for i := 0; i < len(choices); {
		first, isNumber := number(choices[i])
		n := 1
		for isNumber && i+n < len(choices) && choices[i+n] == strconv.Itoa(first+n) {
			n++
		}
		if n < 3 {
			out, i = append(out, choices[i]), i+1
			continue
		}
		out, i = append(out, fmt.Sprintf("%d-%d", first, first+n-1)), i+n
	}
	return out
}

// spread is the reverse of compact. It sorts the choices.
func spread(choices []string) []string {
	var out []string
	for _, c := range choices {
		from, to, _ := strings.Cut(c, "-")
		first, ok1 := number(from)
		last, ok2 := number(to)
		if !ok1 || !ok2 || last < first || last-first >= maxRange {
			out = append(out, c)
			continue
		}
		for n := first; n <= last; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	slices.Sort(out)
	return out
}

// number parses a whole number from 0 without leading zeros.
func number(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s && n >= 0
}

// sameChoices tells whether two tables of choices, by kind of move, allow the same.
func sameChoices(a, b map[string][]string) bool {
	return maps.EqualFunc(a, b, func(a, b []string) bool { return slices.Equal(spread(a), spread(b)) })
}

// compacted returns a table of choices with ranges.
func compacted(choices map[string][]string) map[string][]string {
	out := make(map[string][]string, len(choices))
	for move, list := range choices {
		out[move] = compact(list)
	}
	return out
}
