package record

import (
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/view/stats"
	"evenodd/league/words"
	"evenodd/rules"
)

// Results are the results of a league with what the statistics need beside them.
type Results struct {
	LeagueID   string
	SidesAlike bool              // as rules.Info has it; false for an unknown game
	Format     string            // as journal.Tournament.Format: "" for a round-robin
	Until      int               // the largest number of legs, if the league ends by its results; 0 if it does not
	Bounds     *pairing.Bounds   // between which the results decide; nil for none
	Players    []league.Standing // in any order; the strategy is "" if it is not known
	Meetings   []Meeting         // in schedule order
}

// A Meeting is a match with a result as the statistics need it.
type Meeting struct {
	league.Played // by indexes of Results.Players

	Round   int
	Stated  bool      // the result rests on the word of its referee alone
	Drawn   bool      // a number was drawn
	Choices [2]string // the last ones, of A and B; "" for none
	Moves   uint64    // as journal.Outcome has them
}

// Results are the present results that count.
func (l *League) Results(games rules.Registry) *Results {
	if l.Started == nil {
		return &Results{}
	}
	r := &Results{LeagueID: l.Created.LeagueID, Format: l.Created.Tournament.Format()}
	if game, err := games.Game(l.Created.GameType); err == nil {
		r.SidesAlike = game.Info().SidesAlike
	}
	if l.Created.Tournament.IsSequential() {
		r.Until, r.Bounds = l.Created.Legs, l.Created.Tournament.Bounds
	}
	strategies, index := l.strategies(), map[string]int{}
	r.Players = l.Standings()
	for i := range r.Players {
		id := r.Players[i].PlayerID
		r.Players[i].Strategy, index[id] = strategies[id], i
	}
	r.Meetings = make([]Meeting, 0, l.Recorded)
	for m, ids := range l.State.Results() {
		d := m.Report
		played, _ := d.Played([2]int{index[ids[0]], index[ids[1]]}, ids) // the journal has checked it
		r.Meetings = append(r.Meetings, Meeting{played, d.MatchID.Round, d.Grade == journal.GradeStated,
			protocol.ValueOf(d.DrawnNumber) != 0, d.Result.Moves(ids), m.Moves})
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
	players, matches, left := r.rated()
	s := stats.Analyse(players, matches, r.options())
	s.Round()
	s.Stated, s.Copies = left.stated, left.copies
	s.Matches, s.Sentence = s.Matches+left.stated+left.copies, s.Sentence+left.sentence(byID)
	s.Told += left.sentence(r.inWords)
	if c := r.Comparison(); c != nil {
		s.Sentence, s.Told = c.sentence(byID), c.sentence(r.inWords)
	}
	return s
}

// Told is Statistics().Told, which it computes in a small part of the time unless
// the results show differences.
func (r *Results) Told() string {
	if c := r.Comparison(); c != nil {
		return c.sentence(r.inWords)
	}
	players, matches, left := r.rated()
	return stats.Told(players, matches, r.options()) + left.sentence(r.inWords)
}

func (r *Results) options() stats.Options {
	// All readers of a league know its id, other than the seed of a simulation.
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(r.LeagueID)) // never fails
	gauntlet := r.Format == journal.FormatGauntlet
	return stats.Options{Seed: seed.Sum64(), SidesAlike: r.SidesAlike,
		PairedByResults: r.Format != "" && !gauntlet || r.Until > 0, Gauntlet: gauntlet}
}

// An unratedResults counts the results that no rating uses.
type unratedResults struct {
	stated int // on the word of a referee alone
	copies int // of matches that the players have played before
	pairs  [][2]string
}

// sentence tells how many results no rating uses; "" for none.
func (u *unratedResults) sentence(named naming) (text string) {
	if u.stated > 0 {
		text = " Not rated: " + words.Counted(u.stated, "result") + " on the word of a referee alone."
	}
	if u.copies > 0 {
		text += fmt.Sprintf(" Counted once: the matches of %s are copies of each other, with the same sides and moves (%d).",
			pairsOf(u.pairs, 3, named), u.copies)
	}
	return text
}

// A naming is how a sentence names the player of an id.
type naming func(id string) string

// byID is the naming of documents for programs.
func byID(id string) string { return id }

// inWords is the naming of people: with the name beside the id.
func (r *Results) inWords(id string) string {
	for i := range r.Players {
		if p := &r.Players[i]; p.PlayerID == id {
			return league.Ref{ID: id, Name: p.Name()}.String()
		}
	}
	return id
}

// pairsOf names so many pairs of players, with the number of the others.
func pairsOf(pairs [][2]string, most int, named naming) string {
	further := ""
	if n := len(pairs); n > most {
		pairs, further = pairs[:most-1], fmt.Sprintf("; %d further pairs", n-most+1)
	}
	all := lists.Map(pairs, func(p [2]string) string { return named(p[0]) + " and " + named(p[1]) })
	return strings.Join(all, "; ") + further
}

// rated are the players whose results count, in order of ids, the rated matches between them, and the
// others.
func (r *Results) rated() (players []league.Standing, matches []league.Played, left unratedResults) {
	copies, pairs := r.copies()
	left.pairs = pairs
	players, matches = r.played(func(m *Meeting) bool {
		switch {
		case m.Stated:
			left.stated++
		case copies[m]:
			left.copies++
		default:
			return true
		}
		return false
	})
	return players, matches, left
}

// How many matches of a pair repeat others at least, if they are called copies: in a game of one turn players
// without a plan choose the same now and then.
const leastCopies, leastCopiesOfOneTurn = 2, 4

// copies are the matches that repeat an earlier one of the same players, and the pairs of these players. Two programs
// without chance play the same match again and again in a game without chance. The matches of a pair are copies if all
// of them on the same sides have the same moves, and no number was drawn. Technical losses are none of them.
func (r *Results) copies() (copies map[*Meeting]bool, pairs [][2]string) {
	type pair struct {
		first   [2]*Meeting // with the lower index as player A, and with the higher one
		repeats []*Meeting
		least   int
		differ  bool
	}
	of, order := map[[2]int]*pair{}, [][2]int{}
	for i := range r.Meetings {
		m := &r.Meetings[i]
		if m.Technical {
			continue // it does not show what the players choose
		}
		key, side := [2]int{m.A, m.B}, 0
		if m.A > m.B {
			key, side = [2]int{m.B, m.A}, 1
		}
		met := of[key]
		if met == nil {
			met = &pair{least: leastCopies}
			of[key], order = met, append(order, key)
		}
		if m.Moves == 0 {
			met.least = leastCopiesOfOneTurn
		}
		first := met.first[side]
		switch {
		case m.Drawn || m.Stated || first != nil && !m.repeats(first):
			met.differ = true
		case first != nil:
			met.repeats = append(met.repeats, m)
		default:
			met.first[side] = m
		}
	}
	copies = map[*Meeting]bool{}
	for _, key := range order {
		if met := of[key]; !met.differ && len(met.repeats) >= met.least {
			ids := []string{r.Players[key[0]].PlayerID, r.Players[key[1]].PlayerID}
			pairs = append(pairs, [2]string{min(ids[0], ids[1]), max(ids[0], ids[1])})
			for _, m := range met.repeats {
				copies[m] = true
			}
		}
	}
	return copies, pairs
}

// between is the match with other indexes of its players.
func (m *Meeting) between(a, b int) league.Played {
	p := m.Played
	switch p.Winner {
	case p.A:
		p.Winner = a
	case p.B:
		p.Winner = b
	}
	p.A, p.B = a, b
	return p
}

// repeats tells whether a match has the winner and the moves of another one of the same players on the same sides.
func (m *Meeting) repeats(other *Meeting) bool {
	return m.Winner == other.Winner && m.Choices == other.Choices && m.Moves == other.Moves
}

// played are the players whose results count, in order of ids, and the matches between them that are
// wanted.
func (r *Results) played(wanted func(*Meeting) bool) (players []league.Standing, matches []league.Played) {
	players = slices.DeleteFunc(slices.Clone(r.Players), func(p league.Standing) bool { return p.Annulled })
	slices.SortFunc(players, func(a, b league.Standing) int { return league.CompareIDs(a.PlayerID, b.PlayerID) })
	index := map[string]int{}
	for i := range players {
		index[players[i].PlayerID] = i
	}
	matches = make([]league.Played, 0, len(r.Meetings))
	for i := range r.Meetings {
		m := &r.Meetings[i]
		a, knowsA := index[r.Players[m.A].PlayerID]
		b, knowsB := index[r.Players[m.B].PlayerID]
		if knowsA && knowsB && wanted(m) {
			matches = append(matches, m.between(a, b))
		}
	}
	return players, matches
}

// A Pair sums the results of a player against an opponent.
type Pair struct {
	PlayerID   string `json:"player_id"`
	OpponentID string `json:"opponent_id"`
	league.Tally
}

// HeadToHead sums all results by player and opponent, in order of ids. Each pair that has met is
// there twice, once for each of the two. A league of 1,000 players has a million of them, so they are made one by one.
func (r *Results) HeadToHead() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		players, matches := r.played(func(*Meeting) bool { return true })
		of := make([][]int32, len(players)) // the indexes of the matches of each player
		for i, m := range matches {
			of[m.A], of[m.B] = append(of[m.A], int32(i)), append(of[m.B], int32(i))
		}
		sums := make([]Pair, len(players)) // by opponent
		for player := range players {
			clear(sums)
			for _, i := range of[player] {
				opponent := matches[i].A + matches[i].B - player
				sums[opponent].OpponentID = players[opponent].PlayerID
				sums[opponent].Add(matches[i].Outcome(player), 1)
			}
			for _, sum := range sums {
				sum.PlayerID = players[player].PlayerID
				if sum.OpponentID != "" && !yield(sum) {
					return
				}
			}
		}
	}
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
