package record

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/stats"
	"evenodd/rules"
)

// Statistics are what the results of a league show about its players, as docs/statistics.md
// explains. The members are a contract.
type Statistics struct {
	Sentence string `json:"sentence"` // what the results show, in one or two sentences

	Matches int  `json:"matches"`          // all results that count
	Stated  int  `json:"stated,omitzero"`  // not rated: their result rests on the word of a referee
	Played  int  `json:"played"`           // the others without technical losses
	Used    int  `json:"used"`             // matches behind ratings and test
	Sampled bool `json:"sampled,omitzero"` // Used is a sample of Played

	Equality   stats.Equality     `json:"equality"`
	Sides      stats.Sides        `json:"sides"`
	Ratings    []Rating           `json:"ratings"`                // the highest first
	Strategies []stats.Strategy   `json:"strategies,omitempty"`   // if they are known
	HeadToHead []HeadToHeadRecord `json:"head_to_head,omitempty"` // each pair that met
}

// A Rating is what the results show about one player.
type Rating struct {
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name"`
	Strategy    string `json:"strategy,omitzero"`
	stats.Player
}

// A HeadToHeadRecord counts the matches between two players.
type HeadToHeadRecord struct {
	PlayerAID string `json:"player_A_id"`
	PlayerBID string `json:"player_B_id"`
	stats.Pair
}

// Results are the results of a league with what the statistics need beside them.
type Results struct {
	LeagueID   string
	SidesAlike bool                 // as rules.Info has it; false for an unknown game
	Format     string               // as journal.Tournament.Format: "" for a round-robin
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
func (r *Results) Statistics() *Statistics {
	players, index := r.rated()
	matches, stated := r.matches(index)
	s := &Statistics{Stated: stated}
	s.fill(players, stats.Analyse(len(players), matches, r.options(players)))
	s.Matches += stated
	s.Sentence += unrated(stated)
	return s
}

// Sentence is the sentence of Statistics, which it computes in a small part of the time unless
// the results show differences.
func (r *Results) Sentence() string {
	players, index := r.rated()
	matches, stated := r.matches(index)
	return stats.Sentence(len(players), matches, r.options(players)) + unrated(stated)
}

// rated are the players whose results count, in order of ids, and their indexes by id.
func (r *Results) rated() ([]league.Standing, map[string]int) {
	players := slices.DeleteFunc(slices.Clone(r.Players), func(p league.Standing) bool { return p.Annulled })
	slices.SortFunc(players, func(a, b league.Standing) int { return league.CompareIDs(a.PlayerID, b.PlayerID) })
	index := make(map[string]int, len(players))
	for i := range players {
		index[players[i].PlayerID] = i
	}
	return players, index
}

func (r *Results) options(players []league.Standing) stats.Options {
	o := stats.Options{Seed: seedOf(r.LeagueID), SidesAlike: r.SidesAlike, PairedByResults: r.Format != ""}
	known := false
	for i := range players {
		p := &players[i]
		known = known || p.Strategy != ""
		o.Names, o.Points = append(o.Names, p.PlayerID), append(o.Points, p.Points)
		o.Strategies = append(o.Strategies, p.Strategy)
	}
	if !known {
		o.Strategies = nil
	}
	return o
}

// unrated tells how many results no rating uses; "" for none.
func unrated(n int) string {
	if n > 0 {
		return " Not rated: " + protocol.Counted(n, "result") + " on the word of a referee alone."
	}
	return ""
}

// matches are the rated matches between players that have an index. Stated is the number of the
// others between them, which no rating uses, because they rest on the word of a referee.
func (r *Results) matches(index map[string]int) (matches []league.Played, stated int) {
	matches = make([]league.Played, 0, len(r.Matches))
	for i := range r.Matches {
		m := &r.Matches[i]
		a, knowsA := index[m.PlayerA]
		b, knowsB := index[m.PlayerB]
		switch {
		case !knowsA || !knowsB:
			continue
		case m.Grade == journal.GradeStated:
			stated++
			continue
		}
		match := league.Played{A: a, B: b, Winner: league.None, Technical: m.Status == league.StatusTechnicalLoss}
		if m.Winner != "" {
			match.Winner = index[m.Winner]
		}
		matches = append(matches, match)
	}
	return matches, stated
}

// Scale returns the ends of the scale of a picture of the ratings, and the place of a rating in
// a picture of a width.
func (s *Statistics) Scale(width float64) (low, high int, x func(rating float64) float64) {
	least, largest := math.Inf(1), math.Inf(-1)
	for i := range s.Ratings {
		least, largest = min(least, s.Ratings[i].Low), max(largest, s.Ratings[i].High)
	}
	const unit = 100
	low, high = int(math.Floor(least/unit))*unit, int(math.Ceil(largest/unit))*unit
	scale := width / max(float64(high-low), 1)
	return low, high, func(rating float64) float64 { return (rating - float64(low)) * scale }
}

// Ranks is the interval of the rank, such as 1–3.
func (r *Rating) Ranks() string {
	if r.BestRank == r.WorstRank {
		return strconv.Itoa(r.BestRank)
	}
	return fmt.Sprintf("%d–%d", r.BestRank, r.WorstRank)
}

// fill sets the members from the analysis. It rounds numbers: the last bits differ between
// processors.
func (s *Statistics) fill(players []league.Standing, a *stats.Analysis) {
	s.Sentence, s.Matches, s.Played, s.Used, s.Sampled = a.Sentence, a.Matches, a.Played, a.Used, a.Sampled
	s.Strategies, s.Equality, s.Sides = a.Strategies, a.Equality, a.Sides
	round(4, &s.Equality.P, &s.Equality.SmallestP)
	round(2, &s.Equality.Statistic)
	round(1, &s.Sides.Advantage)
	s.Ratings = make([]Rating, len(players))
	for i, player := range a.Order {
		row := &players[player]
		s.Ratings[i] = Rating{row.PlayerID, row.DisplayName, row.Strategy, a.Players[player]}
		round(1, &s.Ratings[i].Rating, &s.Ratings[i].Low, &s.Ratings[i].High)
	}
	for _, p := range a.HeadToHead {
		s.HeadToHead = append(s.HeadToHead, HeadToHeadRecord{players[p.A].PlayerID, players[p.B].PlayerID, p})
	}
}

// seedOf derives the seed of the statistics from the league's id, which all readers of a league
// know, other than the seed of a simulation.
func seedOf(leagueID string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(leagueID)) // never fails
	return h.Sum64()
}

func round(digits int, numbers ...*float64) {
	factor := math.Pow10(digits)
	for _, x := range numbers {
		*x = cmp.Or(math.Round(*x*factor)/factor, 0) // no negative zero
	}
}
