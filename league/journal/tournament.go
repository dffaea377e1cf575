package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/pairing"
)

// A Tournament is the format of a league whose pairings depend on its results. It never
// changes.
type Tournament struct {
	Algorithm string `json:"algorithm"` // as package pairing names it; not that of the plain round-robin
	// of a Swiss system: as many as this, or as its players admit; 0 for the usual number
	Rounds int `json:"rounds,omitzero"`
	// of a league of two players that decides between two differences in strength; nil for any other
	Bounds *pairing.Bounds `json:"bounds,omitzero"`
	// of a gauntlet: so many of the first seeds meet all others, or all seeds but one if there are fewer
	Gauntlet int `json:"gauntlet,omitzero"`
	// display names of players, best first; the other players follow in order of ids
	Seeding []string `json:"seeding,omitempty"`
}

// The names of the formats for people and agents. A name of package pairing has the
// version as well.
const (
	FormatRoundRobin        = "round-robin"
	FormatGauntlet          = "gauntlet"
	FormatSwiss             = "swiss"
	FormatKnockout          = "knockout"
	FormatDoubleElimination = "double-elimination"
)

// Formats are the names of all formats.
func Formats() []string {
	return []string{FormatRoundRobin, FormatGauntlet, FormatSwiss, FormatKnockout, FormatDoubleElimination}
}

// IsSwiss tells whether the format is a Swiss system. A nil *Tournament is a round-robin.
func (t *Tournament) IsSwiss() bool { return t.Format() == FormatSwiss }

// IsGauntlet tells whether the format is a gauntlet.
func (t *Tournament) IsGauntlet() bool { return t.Format() == FormatGauntlet }

// HasBracket tells whether the format is a knockout or a double elimination.
func (t *Tournament) HasBracket() bool {
	return t.Format() == FormatKnockout || t.Format() == FormatDoubleElimination
}

// IsFixed tells whether all pairings follow from the players and their seeds, as in a round-robin and in a gauntlet.
func (t *Tournament) IsFixed() bool { return t == nil || t.IsGauntlet() }

// IsSequential tells whether the format is a round-robin that ends when one player is shown to be
// better than every other, or when the results decide between two bounds.
func (t *Tournament) IsSequential() bool {
	return t != nil && (t.Algorithm == pairing.Sequential || t.Algorithm == pairing.SequentialBerger || t.hasBounds())
}

func (t *Tournament) hasBounds() bool { return t.Algorithm == pairing.SPRT }

// ForGame is the tournament with the algorithm that goes with the sides of its game.
func (t *Tournament) ForGame(sidesAlike bool) *Tournament {
	if !t.IsSequential() || t.hasBounds() {
		return t
	}
	return &Tournament{Algorithm: pairing.SequentialFor(sidesAlike)}
}

// AlgorithmOf is the algorithm of new leagues of a format; "" for a round-robin, whose algorithm depends on its game.
func AlgorithmOf(format string) string {
	switch format {
	case FormatGauntlet:
		return pairing.Gauntlet
	case FormatSwiss:
		return pairing.Swiss
	case FormatKnockout:
		return pairing.Knockout
	case FormatDoubleElimination:
		return pairing.DoubleElimination
	}
	return ""
}

// Format is the name of the format; "" for a round-robin.
func (t *Tournament) Format() string {
	if t == nil || t.Algorithm == "" {
		return ""
	}
	for _, format := range Formats() {
		if AlgorithmOf(format) == t.Algorithm {
			return format
		}
	}
	return ""
}

// Format is the format of the league; "" for a round-robin, and before the first event.
func (s *State) Format() string {
	if s.Created == nil {
		return ""
	}
	return s.Created.Tournament.Format()
}

// AtMost tells whether the numbers of rounds and matches are only the largest possible ones: draws of a bracket
// are replayed, and a sequential league ends early.
func (s *State) AtMost() bool {
	return s.Created != nil && s.Completed == nil &&
		(s.Created.Tournament.HasBracket() || s.Created.Tournament.IsSequential())
}

func (t *Tournament) check(legs int) error {
	switch {
	case t == nil:
		return nil
	case t.Format() == "" && !t.IsSequential():
		return fmt.Errorf("tournament: algorithm %.40q is not known: made by another version of evenodd", t.Algorithm)
	case t.Rounds < 0 || t.Rounds > 0 && !t.IsSwiss() || legs != 1 && !t.IsSequential() && !t.IsGauntlet():
		return fmt.Errorf("tournament: %s does not go with %d rounds and %d legs", t.Algorithm, t.Rounds, legs)
	case t.Gauntlet < 0 || t.Gauntlet > 0 != t.IsGauntlet():
		return fmt.Errorf("tournament: %s does not go with a gauntlet of %d players", t.Algorithm, t.Gauntlet)
	}
	if err := t.checkBounds(); err != nil {
		return err
	}
	seen := map[string]bool{"": true}
	for _, name := range t.Seeding {
		if seen[name] {
			return fmt.Errorf("tournament: name %.60q in the seeding is empty or repeated", name)
		}
		seen[name] = true
	}
	return nil
}

func (t *Tournament) checkBounds() error {
	switch {
	case t.hasBounds() != (t.Bounds != nil):
		return fmt.Errorf("tournament: %s has bounds without the algorithm %s, or lacks them", t.Algorithm, pairing.SPRT)
	case t.Bounds == nil:
		return nil
	}
	return t.Bounds.Check()
}

// newPairer returns the pairer of a start. Exactly one event names its algorithm: the
// start of a round-robin, and the first event of any other league.
func (s *State) newPairer(d *Started) (pairing.Pairer, error) {
	t := s.Created.Tournament
	switch {
	case t == nil && d.Algorithm != pairing.Circle && d.Algorithm != pairing.Berger && d.Algorithm != pairing.BergerMirrored:
		return nil, fmt.Errorf("algorithm %.40q is not known: made by another version of evenodd", d.Algorithm)
	case t != nil && d.Algorithm != "":
		return nil, fmt.Errorf("the league starts with the algorithm %.40q, but was created with %.40q", d.Algorithm,
			t.Algorithm)
	}
	f := t.For(len(d.Players), s.Created.Legs)
	f.Name = cmp.Or(f.Name, d.Algorithm)
	f.Seeds, f.Points = s.seeds(d.Players), s.Created.Scoring
	return pairing.New(f)
}

// For returns the format for so many players, without seeds and points. Legs are those
// of a round-robin, whose algorithm its start names.
func (t *Tournament) For(players, legs int) pairing.Format {
	if t == nil {
		return pairing.Format{Players: players, Legs: legs}
	}
	f := pairing.Format{
		Name: t.Algorithm, Players: players, Legs: legs,
		Rounds: min(t.Rounds, pairing.MaxSwissRounds(players)), Gauntlet: min(t.Gauntlet, players-1),
	}
	if t.Bounds != nil {
		f.Bounds = *t.Bounds
	}
	return f
}

// seeds are the indexes of players, best first; nil in a round-robin.
func (s *State) seeds(players []string) []int {
	if s.Created.Tournament == nil {
		return nil
	}
	seeds := make([]int, 0, len(players))
	listed := make([]bool, len(players))
	byName := map[string]int{}
	for i, id := range players {
		byName[league.SeedID(id)] = i
		byName[s.Agents[id].Name] = i
	}
	for i, id := range slices.Backward(players) { // the first of several players with a name
		byName[s.Agents[id].DisplayName] = i
	}
	for _, name := range s.Created.Tournament.Seeding {
		if i, ok := byName[name]; ok && !listed[i] { // a player can be there by its id and its name
			seeds, listed[i] = append(seeds, i), true
		}
	}
	for i := range players {
		if !listed[i] {
			seeds = append(seeds, i)
		}
	}
	return seeds
}

// GauntletSeeds are the players of a gauntlet that meet all others, best first; nil for another format, and before the
// start.
func (s *State) GauntletSeeds() (ids []string) {
	if s.Started == nil || !s.Created.Tournament.IsGauntlet() {
		return nil
	}
	players := s.Started.Players
	for _, i := range s.seeds(players)[:s.Created.Tournament.For(len(players), 1).Gauntlet] {
		ids = append(ids, players[i])
	}
	return ids
}

// MissingSeeds are the names of the seeding that no player has, after the start.
func (s *State) MissingSeeds() []string {
	if s.Created.Tournament == nil {
		return nil
	}
	names := map[string]bool{}
	for _, id := range s.Started.Players {
		a := s.Agents[id]
		names[a.DisplayName], names[a.Name], names[league.SeedID(id)] = true, true, true
	}
	return lists.Filter(s.Created.Tournament.Seeding, func(name string) bool { return !names[name] })
}

// An upcoming holds the pairings of the round after the last announced one. They are
// computed when they are first needed.
type upcoming struct {
	round    int // 0 if none were computed
	pairings []pairing.Pairing
}

// pairingsOf returns the pairings of a round that is not announced. They depend on the
// results of all earlier rounds, unless the format has fixed pairings.
func (s *State) pairingsOf(round int) []pairing.Pairing {
	switch {
	case s.Started == nil:
		return nil
	case s.Created.Tournament.IsFixed():
		return s.pairer.Round(round, nil, nil)
	case round != s.Round+1 || s.Open():
		return nil
	case s.upcoming.round != round:
		s.upcoming = upcoming{round, s.pairer.Round(round, s.played, s.absent)}
	}
	return s.upcoming.pairings
}

// remember adds the results of a completed round to those from which later rounds follow.
func (s *State) remember(r *Round) {
	if s.Created.Tournament.IsFixed() {
		return
	}
	results := make([]league.Played, len(r.Pairings))
	for i := range results {
		results[i], _ = s.TableResult(r.Matches[i].Report) // addResult has checked it
	}
	s.played = append(s.played, results)
}

// HasRound tells whether the league has a round, announced or not, whose pairings are
// known. The round after the last completed one is known: without it the league is over.
func (s *State) HasRound(round int) bool { return len(s.Pairings(round)) > 0 }

// KnownRounds is the number of rounds whose pairings are known: all rounds if the format has fixed pairings.
func (s *State) KnownRounds() int {
	switch {
	case s.Started == nil:
		return 0
	case s.Created.Tournament.IsFixed():
		return s.TotalRounds()
	case s.HasRound(s.Round + 1):
		return s.Round + 1
	}
	return s.Round
}

// Announcement is the event that opens the next round, with the referees of its matches.
func (s *State) Announcement(referees []string) *RoundAnnounced {
	d := &RoundAnnounced{RoundID: s.Round + 1, Referees: referees}
	if s.Created.Tournament != nil {
		pairings := s.Pairings(d.RoundID)
		for _, pair := range pairings {
			d.Pairings = append(d.Pairings, [2]string{s.Started.Players[pair.A], s.Started.Players[pair.B]})
		}
		d.RepeatedPairs, d.RepeatedByes = s.repeated(pairings, s.paidByes(pairings))
	}
	return d
}

// repeated counts the pairs of a round of a Swiss system that begins now which have met before, and its players with a
// bye that had one before.
func (s *State) repeated(pairings []pairing.Pairing, byes []int) (pairs, again int) {
	if !s.Created.Tournament.IsSwiss() {
		return 0, 0
	}
	opponent := make(map[int]int, len(pairings))
	for _, p := range pairings {
		opponent[min(p.A, p.B)] = max(p.A, p.B)
	}
	hadBye := map[int]bool{}
	for _, r := range s.Rounds {
		for _, p := range r.Pairings {
			if opponent[min(p.A, p.B)] == max(p.A, p.B) {
				pairs++
				delete(opponent, min(p.A, p.B))
			}
		}
		for _, player := range r.Byes {
			hadBye[player] = true
		}
	}
	for _, player := range byes {
		if hadBye[player] {
			again++
		}
	}
	return pairs, again
}

// leave records that a player is in no later round of a Swiss system or bracket, unless it is readmitted.
func (s *State) leave(a *Agent) { s.setAbsent(a, true) }

// rejoin records that a player is in the later rounds again. It may have lost a match of a bracket by then.
func (s *State) rejoin(a *Agent) { s.setAbsent(a, false) }

func (s *State) setAbsent(a *Agent, absent bool) {
	if player, ok := s.playerIndexes[a.AgentID]; ok {
		s.absent.Set(player, s.Round+1, absent)
		s.upcoming = upcoming{}
	}
}

// announced are the pairings of an announced round: those of the event, or those of the
// round-robin.
func (s *State) announced(d *RoundAnnounced) ([]pairing.Pairing, error) {
	switch {
	case s.Started == nil:
		return nil, errors.New("a round before the start")
	case s.Created.Tournament == nil && d.Pairings != nil:
		return nil, fmt.Errorf("round %d names its pairings, but those of a round-robin follow from the players", d.RoundID)
	case s.Created.Tournament == nil:
		return s.Pairings(d.RoundID), nil
	case len(d.Pairings) == 0:
		return nil, fmt.Errorf("round %d has no pairings", d.RoundID)
	}
	pairings, plays := make([]pairing.Pairing, len(d.Pairings)), map[string]bool{}
	for i, ids := range d.Pairings {
		for _, id := range ids {
			if _, known := s.playerIndexes[id]; !known || plays[id] {
				return nil, fmt.Errorf("round %d: %.40q is no player of the league, or plays twice", d.RoundID, id)
			}
			plays[id] = true
		}
		pairings[i] = pairing.Pairing{A: s.playerIndexes[ids[0]], B: s.playerIndexes[ids[1]]}
	}
	return pairings, nil
}

// paidByes are the players with a bye in a round that begins now. Byes give points in a Swiss
// system only, and none to a player that is absent.
func (s *State) paidByes(pairings []pairing.Pairing) []int {
	if !s.Created.Tournament.IsSwiss() {
		return nil
	}
	return slices.DeleteFunc(pairing.Byes(len(s.Started.Players), pairings), func(player int) bool {
		return s.absent.Has(player, s.Round+1)
	})
}

// countUnpaired counts the players without a match in a round of a Swiss system: those with a bye that gives points,
// and the absent ones.
func (s *State) countUnpaired(round int, pairings []pairing.Pairing, byes []int) {
	if !s.Created.Tournament.IsSwiss() {
		return
	}
	for _, player := range pairing.Byes(len(s.Started.Players), pairings) {
		if slices.Contains(byes, player) {
			s.Table.RecordBye(round, player)
		} else {
			s.Table.RecordAbsence(round, player)
		}
	}
}
