package record

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/view/stats"
	"evenodd/rules"
)

// Results are the results of a league with what the statistics need beside them.
type Results struct {
	LeagueID   string
	SidesAlike bool                 // as rules.Info has it; false for an unknown game
	Format     string               // as journal.Tournament.Format: "" for a round-robin
	Until      int                  // the largest number of legs, if the league ends when one player is shown to be the best
	Players    []league.Standing    // in any order; the strategy is "" if it is not known
	Matches    []decide.MatchRecord // in schedule order
}

// Results are the present results that count.
func (l *League) Results(games rules.Registry) *Results {
	if l.Started == nil {
		return &Results{}
	}
	r := &Results{LeagueID: l.Created.LeagueID, Format: l.Created.Tournament.Format(), Matches: decide.Results(l.State)}
	if game, err := games.Game(l.Created.GameType); err == nil {
		r.SidesAlike = game.Info().SidesAlike
	}
	if l.Created.Tournament.IsSequential() {
		r.Until = l.Created.Legs
	}
	strategies := l.strategies()
	r.Players = l.Standings()
	for i := range r.Players {
		r.Players[i].Strategy = strategies[r.Players[i].PlayerID]
	}
	return r
}

// strategies are the strategies of the players of a simulation, by id; none for another league.
func (l *League) strategies() map[string]string {
	input := l.Created.Simulation
	if input == nil {
		return nil
	}
	strategies := map[string]string{}
	for i := range input.Players {
		id := league.PlayerID(i + 1)
		switch built := i - input.ExternalPlayers; {
		case i < len(input.Entrants):
			strategies[id] = input.Entrants[i].Strategy
		case built < 0:
			strategies[id] = "external"
		case len(input.Strategies) > 0:
			strategies[id] = input.Strategies[built%len(input.Strategies)]
		}
	}
	return strategies
}

// Statistics computes the statistics of the results. It takes about a second for 20,000 matches,
// and less for fewer; callers keep the value while there is no new event. Leagues of equal ids
// and results have equal statistics, wherever they are computed.
func (r *Results) Statistics() *stats.Analysis {
	players, matches, stated := r.rated()
	s := stats.Analyse(players, matches, r.options())
	s.Round()
	s.Stated, s.Matches, s.Sentence = stated, s.Matches+stated, s.Sentence+unrated(stated)
	if c := r.Comparison(); c != nil {
		s.Sentence = c.Sentence()
	}
	return s
}

// Sentence is the sentence of Statistics, which it computes in a small part of the time unless
// the results show differences.
func (r *Results) Sentence() string {
	if c := r.Comparison(); c != nil {
		return c.Sentence()
	}
	players, matches, stated := r.rated()
	return stats.Sentence(players, matches, r.options()) + unrated(stated)
}

func (r *Results) options() stats.Options {
	// All readers of a league know its id, other than the seed of a simulation.
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(r.LeagueID)) // never fails
	return stats.Options{Seed: seed.Sum64(), SidesAlike: r.SidesAlike, PairedByResults: r.Format != "" || r.Until > 0}
}

// unrated tells how many results no rating uses; "" for none.
func unrated(n int) string {
	if n > 0 {
		return " Not rated: " + protocol.Counted(n, "result") + " on the word of a referee alone."
	}
	return ""
}

// rated are the players whose results count, in order of ids, and the rated matches between them.
// Stated is the number of the others between them, which no rating uses, because they rest on the
// word of a referee.
func (r *Results) rated() (players []league.Standing, matches []league.Played, stated int) {
	return r.played(func(m *decide.MatchRecord) bool { return m.Grade != journal.GradeStated })
}

// played are the players whose results count, in order of ids, and the matches between them that are
// wanted; left is the number of the others between them.
func (r *Results) played(wanted func(*decide.MatchRecord) bool) (players []league.Standing, matches []league.Played,
	left int) {
	players = slices.DeleteFunc(slices.Clone(r.Players), func(p league.Standing) bool { return p.Annulled })
	slices.SortFunc(players, func(a, b league.Standing) int { return league.CompareIDs(a.PlayerID, b.PlayerID) })
	index := map[string]int{"": league.None}
	for i := range players {
		index[players[i].PlayerID] = i
	}
	matches = make([]league.Played, 0, len(r.Matches))
	for i := range r.Matches {
		m := &r.Matches[i]
		a, knowsA := index[m.PlayerA]
		b, knowsB := index[m.PlayerB]
		switch {
		case !knowsA || !knowsB:
		case !wanted(m):
			left++
		default:
			matches = append(matches, league.Played{A: a, B: b, Winner: index[m.Winner],
				Technical: m.Status == league.StatusTechnicalLoss})
		}
	}
	return players, matches, left
}

// A Pair sums the results of a player against an opponent.
type Pair struct {
	PlayerID   string `json:"player_id"`
	OpponentID string `json:"opponent_id"`
	league.Tally
}

// HeadToHead sums all results by player and opponent, in order of ids. Each pair that has met is
// there twice, once for each of the two.
func (r *Results) HeadToHead() []Pair {
	players, matches, _ := r.played(func(*decide.MatchRecord) bool { return true })
	sums := map[[2]int]*Pair{}
	for _, m := range matches {
		for _, key := range [][2]int{{m.A, m.B}, {m.B, m.A}} {
			if sums[key] == nil {
				sums[key] = &Pair{PlayerID: players[key[0]].PlayerID, OpponentID: players[key[1]].PlayerID}
			}
			sums[key].Add(m.Outcome(key[0]), 1)
		}
	}
	pairs := make([]Pair, 0, len(sums))
	for _, key := range slices.SortedFunc(maps.Keys(sums), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		pairs = append(pairs, *sums[key])
	}
	return pairs
}

// A HeadToHead sums the results of a player against an opponent.
type HeadToHead struct {
	OpponentID string `json:"opponent_id"`
	league.Tally
	Points   int      `json:"points"`
	MatchIDs []string `json:"match_ids"`
}

// Meetings sums the results of the rounds up to one by player and opponent, for the pairs that
// are wanted. The results of an annulled player do not count.
func (l *League) Meetings(last int, wanted func(player, opponent string) bool) map[[2]string]*HeadToHead {
	sums := map[[2]string]*HeadToHead{}
	for r, score := range l.counted(1, last) {
		for side, player := range score {
			key := [2]string{player.Name, score[1-side].Name}
			if !wanted(key[0], key[1]) {
				continue
			}
			if sums[key] == nil {
				sums[key] = &HeadToHead{OpponentID: key[1]}
			}
			sum := sums[key]
			sum.Add(r.Outcome(player.Name), 1)
			sum.Points += player.Value
			sum.MatchIDs = append(sum.MatchIDs, r.MatchID.String())
		}
	}
	return sums
}

// A Comparison tells what stopped a league that ends when one player is shown to be better than
// every other, and which players it could not tell apart.
type Comparison struct {
	StoppedBy string         `json:"stopped_by"` // StoppedBySignificance or StoppedByLegs; "" for a league that goes on
	Legs      int            `json:"legs"`       // the complete ones
	MostLegs  int            `json:"most_legs"`
	Best      string         `json:"best_player_id,omitzero"` // better than every other; "" for none
	Threshold float64        `json:"threshold"`               // the evidence from which on a player is better
	Pairs     []ComparedPair `json:"pairs"`
}

// A ComparedPair compares two players by their double legs.
type ComparedPair struct {
	PlayerID   string `json:"player_id"`
	OpponentID string `json:"opponent_id"`
	pairing.Duel
	Evidence float64 `json:"evidence"`
	Better   string  `json:"better_player_id,omitzero"` // "" if they could not be told apart
}

// What stopped a league.
const (
	StoppedBySignificance = "significance"
	StoppedByLegs         = "legs"
)

// Comparison compares the players, if the league ends when one is shown to be the best; else nil.
func (r *Results) Comparison() *Comparison {
	if r.Until == 0 {
		return nil
	}
	var in []int // the rounds of the matches
	players, matches, _ := r.played(func(m *decide.MatchRecord) bool { in = append(in, m.RoundID); return true })
	var rounds [][]league.Played
	for i, m := range matches {
		if i == 0 || in[i] != in[i-1] {
			rounds = append(rounds, nil)
		}
		last := len(rounds) - 1
		rounds[last] = append(rounds[last], m)
	}
	of := pairing.Compare(len(players), rounds)
	c := &Comparison{Legs: of.Legs(), MostLegs: r.Until, Threshold: of.Threshold(), Pairs: []ComparedPair{}}
	if best := of.Best(); best != league.None {
		c.StoppedBy, c.Best = StoppedBySignificance, players[best].PlayerID
	} else if c.Legs >= c.MostLegs {
		c.StoppedBy = StoppedByLegs
	}
	for i := range players {
		for j := i + 1; j < len(players); j++ {
			one := ComparedPair{PlayerID: players[i].PlayerID, OpponentID: players[j].PlayerID, Duel: of.Duel(i, j)}
			one.Evidence = stats.Significant(one.Duel.Evidence())
			if of.Better(i, j) {
				one.Better = one.PlayerID
			} else if of.Better(j, i) {
				one.Better = one.OpponentID
			}
			c.Pairs = append(c.Pairs, one)
		}
	}
	return c
}

// Sentence says what stopped the league, and which players could not be told apart.
func (c *Comparison) Sentence() string {
	text := fmt.Sprintf("After %d of at most %d legs no player is shown to be better than every other.", c.Legs, c.MostLegs)
	switch c.StoppedBy {
	case StoppedBySignificance:
		text = fmt.Sprintf("Stopped after %d of at most %d legs: %s is shown to be better than every other player.", c.Legs,
			c.MostLegs, c.Best)
	case StoppedByLegs:
		text = fmt.Sprintf("Stopped after all %d legs: no player is shown to be better than every other.", c.Legs)
	}
	const most = 6
	level := protocol.Select(c.Pairs, func(p ComparedPair) bool { return p.Better == "" })
	pairs := protocol.Each(level, func(p ComparedPair) string { return p.PlayerID + " and " + p.OpponentID })
	if n := len(pairs); n > most {
		pairs = append(pairs[:most-1], fmt.Sprintf("%d further pairs", n-most+1))
	}
	if len(pairs) > 0 {
		text += " Not told apart: " + strings.Join(pairs, "; ") + "."
	}
	return text
}
