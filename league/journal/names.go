package journal

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/words"
)

// People name an agent by its id or its name, and see both. Data have the display name of its registration.

// Ref is an agent as people know it. It knows those too whose registration has ended, and has no name for an unknown
// id.
func (s *State) Ref(id string) league.Ref {
	a := cmp.Or(s.Agents[id], s.Dropped[id])
	if a == nil {
		return league.Ref{ID: id}
	}
	return a.Ref()
}

// Ref is the agent as people know it.
func (a *Agent) Ref() league.Ref {
	r := league.Ref{ID: a.AgentID, Name: a.Name, Role: a.Role}
	if a.Name != a.DisplayName {
		r.Former = a.DisplayName
	}
	return r
}

// NamesOf are agents as people know them, for lists in sentences.
func (s *State) NamesOf(ids []string) []string {
	return lists.Map(ids, func(id string) string { return s.Ref(id).String() })
}

// Refs are the registered agents as people know them, players first, in order of ids.
func (s *State) Refs() []league.Ref {
	return lists.Map(slices.SortedFunc(maps.Values(s.Agents), func(a, b *Agent) int {
		return league.CompareIDs(a.AgentID, b.AgentID)
	}), (*Agent).Ref)
}

// FindAgent returns the id of the agent that a person means: see league.FindAgent.
func (s *State) FindAgent(text string) (id string, err error) {
	if s.Dropped[text] != nil {
		return "", fmt.Errorf("agent %s lost its registration before the start", s.Ref(text))
	}
	found, err := league.FindAgent(text, s.Refs())
	return found.ID, err
}

// FindPlayer is FindAgent among the players. If some of these names fit, it prefers them to others.
func (s *State) FindPlayer(text string, preferred ...string) (id string, err error) {
	all := lists.Filter(s.Refs(), func(r league.Ref) bool { return s.Agents[r.ID].Player })
	first := lists.Filter(all, func(r league.Ref) bool { return slices.Contains(preferred, r.ID) })
	if found, err := league.FindAgent(text, first); err == nil {
		return found.ID, nil
	}
	found, err := league.FindAgent(text, all)
	return found.ID, err
}

// betweenPlayers separates two players and a round that name a match.
const betweenPlayers = " / "

// MatchOfPlayers is the name of a match by its players and its round, from 1, as FindMatch reads it.
func MatchOfPlayers(a, b, round string) string {
	return a + betweenPlayers + b + betweenPlayers + round
}

// CheckMatch returns an error for a text that names no match of any league.
func CheckMatch(text string) error {
	if _, ok := matchID(text); ok || strings.Count(text, betweenPlayers) > 1 {
		return nil
	}
	return fmt.Errorf("match %q: want an id such as R1M2, or two players and a round: Ann / Bob / 1", words.Clip(text, 60))
}

// matchID reads the id of a match in any case.
func matchID(text string) (league.MatchID, bool) {
	return league.ParseMatchID(strings.ToUpper(words.NameKey(text)))
}

// FindMatch returns the id of the match that a person means: R1M2, or two players and a round, "Ann / Bob / 1". The
// match of an id may be unknown. The error says what is wrong, or what the players have in the round.
func (s *State) FindMatch(text string) (league.MatchID, error) {
	if err := CheckMatch(text); err != nil {
		return league.MatchID{}, err
	}
	if id, ok := matchID(text); ok {
		return id, nil
	}
	parts := strings.Split(text, betweenPlayers)
	last := len(parts) - 1
	round, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(parts[last])), "R"))
	if err != nil || round < 1 || round > s.KnownRounds() {
		return league.MatchID{}, fmt.Errorf("round %q: the league has %d rounds with known matches",
			words.Clip(parts[last], 60), s.KnownRounds())
	}
	var pair [2]string
	for cut := 1; cut < last; cut++ { // names can have the separator
		for i, of := range [][]string{parts[:cut], parts[cut:last]} {
			id, wrong := s.FindPlayer(strings.Join(of, betweenPlayers))
			pair[i], err = id, cmp.Or(err, wrong)
		}
		if err == nil {
			return s.matchOf(pair, round)
		}
		if cut < last-1 {
			err = nil
		}
	}
	return league.MatchID{}, err
}

// matchOf finds the match of two players in a round.
func (s *State) matchOf(pair [2]string, round int) (league.MatchID, error) {
	index, _ := s.PlayerIndex(pair[0]) // without matches before the start
	opponent, number, plays := s.Opponent(round, index)
	switch {
	case plays && s.Started.Players[opponent] == pair[1]:
		return league.MatchID{Round: round, Number: number}, nil
	case plays:
		return league.MatchID{}, fmt.Errorf("%s and %s do not meet in round %d: there %s plays %s in %s", s.Ref(pair[0]),
			s.Ref(pair[1]), round, s.Ref(pair[0]), s.Ref(s.Started.Players[opponent]),
			league.MatchID{Round: round, Number: number})
	}
	return league.MatchID{}, fmt.Errorf("%s has no match in round %d", s.Ref(pair[0]), round)
}

// NameOf is the name for people of a player with a display name. A player of a simulation to which no name was given
// has that of its strategy, with the number of its display name: "perfect 1". The simulation may be nil.
func (in *Simulation) NameOf(displayName string) string {
	number, numbered := strings.CutPrefix(strings.TrimSuffix(displayName, " (built-in)"), "Player ")
	n, err := strconv.Atoi(number)
	if in == nil || !numbered || err != nil || len(in.Entrants) > 0 || n <= in.ExternalPlayers || n > in.Players {
		return displayName
	}
	strategy := "random"
	if len(in.Strategies) > 0 {
		strategy = in.Strategies[(n-1-in.ExternalPlayers)%len(in.Strategies)]
	}
	if command, isProgram := strings.CutPrefix(strategy, "exec:"); isProgram {
		strategy = programOf(command)
	}
	return fmt.Sprintf("%s %d", words.Clip(strategy, longestStrategy), n)
}

// longestStrategy is the length in bytes at which a strategy in a name is cut.
const longestStrategy = 40

// programOf is the program of a command line, without its folder: the script behind an interpreter such as python3.
func programOf(command string) string {
	bases := lists.Map(strings.Fields(command), func(part string) string { return path.Base(strings.Trim(part, `"'`)) })
	if len(bases) == 0 {
		return command
	}
	interpreters := []string{
		"python", "node", "ruby", "perl", "php", "lua", "java", "deno", "bun", "sh", "bash", "uv", "go",
	}
	if slices.Contains(interpreters, strings.TrimRight(bases[0], "0123456789.")) {
		script := slices.IndexFunc(bases, func(base string) bool {
			return len(path.Ext(base)) > 1 && unicode.IsLetter(rune(path.Ext(base)[1]))
		})
		return bases[max(script, 0)]
	}
	return bases[0]
}
