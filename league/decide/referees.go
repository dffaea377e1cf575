package decide

import (
	"cmp"
	"math"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
)

// A candidate is a referee that may conduct matches of a round.
type candidate struct {
	*journal.Agent

	last     bool // it gets matches only while no other is free; see LastChoice
	assigned int  // matches of the whole league
	load     int  // matches of this round
}

// ChooseReferees returns the referee of each match of a round that has not been
// announced, as chosen by the state of now. For a later round than the next it first
// makes the choices for the rounds before.
func ChooseReferees(s *journal.State, round int) (chosen []string) {
	candidates := candidatesOf(s, (*journal.Agent).Inactive)
	if len(candidates) == 0 { // one of the suspended referees may return in time
		candidates = candidatesOf(s, (*journal.Agent).Out)
	}
	met := meetingsOf(s, candidates)
	for r := s.Round + 1; r <= round; r++ {
		needs := needsOf(s, r)
		at := chooseAll(candidates, needs)
		met.alternate(needs, at)
		met.count(needs, at)
		chosen = make([]string, len(at))
		for i, c := range at {
			chosen[i] = candidates[c].AgentID
		}
	}
	return chosen
}

// RematchReferee is the referee that gets a match which is played again: one that did not
// conduct it the last time, if there is another.
func RematchReferee(s *journal.State, id league.MatchID) string {
	recorded, a, b, _ := s.Find(id)
	if holder := Holder(s, id); holder != "" {
		return holder
	}
	before := s.Started.Referees[len(s.Started.Referees)-1] // the first one follows it
	for i := range recorded.Annulled {
		before = cmp.Or(recorded.Annulled[i].Report.RefereeID, before) // "" for a result without a referee
	}
	unable := func(other string) bool { return CannotCall(s, other, a, b) }
	return cmp.Or(NextReferee(s, before, 1, unable), before)
}

// LastChoice tells whether an agent is a referee that gets matches only while no other is free: it sends no token to a
// league that demands one, or two players deny its results. The denials put no referee that relays signatures below one
// that proves nothing: two players that agree to lie would choose their referee.
func LastChoice(s *journal.State, a *journal.Agent) bool {
	denied := func(a *journal.Agent) bool { return len(a.DeniedBy) > 1 }
	return a.Tokenless || denied(a) && (!Relays(s, a.AgentID) ||
		!slices.ContainsFunc(s.Started.Referees, func(id string) bool {
			other := s.Agents[id]
			return !Relays(s, id) && !other.Tokenless && !denied(other) && !other.Inactive()
		}))
}

// candidatesOf are the referees of a league without the absent ones, in order of ids.
func candidatesOf(s *journal.State, absent func(*journal.Agent) bool) (candidates []candidate) {
	for _, id := range s.Started.Referees {
		if a := s.Agents[id]; !absent(a) {
			candidates = append(candidates, candidate{Agent: a, last: LastChoice(s, a), assigned: a.Assigned})
		}
	}
	return candidates
}

// A need is what a match needs of its referee.
type need struct {
	players [2]int // by index
	nothing bool   // players would forfeit the match now
	nats    bool   // a player is on NATS
}

// needsOf returns the need of each match of a round that has not been announced.
func needsOf(s *journal.State, round int) (needs []need) {
	for _, p := range s.Pairings(round) {
		a, b := s.Started.Players[p.A], s.Started.Players[p.B]
		needs = append(needs, need{[2]int{p.A, p.B}, len(s.InactivePlayers(a, b)) > 0, onNATS(s, a, b)})
	}
	return needs
}

func onNATS(s *journal.State, players ...string) bool {
	return slices.ContainsFunc(players, func(id string) bool { return s.Agents[id].OnNATS() })
}

// CannotCall tells whether a referee cannot call a player of a match: it has no connection to NATS, where the
// player answers.
func CannotCall(s *journal.State, refereeID string, players ...string) bool {
	return onNATS(s, players...) && !s.Agents[refereeID].OnNATS()
}

// before tells whether a referee gets a match rather than another one with a lower id.
func (c *candidate) before(other *candidate, of need) bool {
	switch {
	case of.nats && c.OnNATS() != other.OnNATS():
		return c.OnNATS()
	case other.last && !c.last && c.load < c.Capacity:
		return true
	case c.last && !other.last && other.load < other.Capacity:
		return false
	}
	x, y := c.load*other.Capacity, other.load*c.Capacity
	return x < y || x == y && c.assigned < other.assigned
}

// chooseAll chooses a candidate, by index, for each match of a round: the one with the lowest load
// in this round for its capacity, then in the whole league, then with the lower id. A last
// choice gets a match only while no other is free, and a referee that cannot call the players only if none can. A
// forfeited match adds no load. It counts its choices in the candidates.
func chooseAll(candidates []candidate, needs []need) []int {
	for i := range candidates {
		candidates[i].load = 0
	}
	chosen := make([]int, len(needs))
	for i := range chosen {
		best := 0
		for k := range candidates[1:] {
			if candidates[k+1].before(&candidates[best], needs[i]) {
				best = k + 1
			}
		}
		chosen[i] = best
		if !needs[i].nothing {
			candidates[best].load++
			candidates[best].assigned++
		}
	}
	return chosen
}

// meetings count the matches of players with referees.
type meetings struct {
	counts [][]int // by player and candidate
	least  []int   // by player: the least of its counts
}

// meetingsOf counts the announced matches that were not forfeited; nil if there is one candidate.
func meetingsOf(s *journal.State, candidates []candidate) *meetings {
	if len(candidates) < 2 {
		return nil
	}
	players := len(s.Started.Players)
	m := &meetings{make([][]int, players), make([]int, players)}
	counts := make([]int, players*len(candidates))
	for player := range players {
		m.counts[player], counts = counts[:len(candidates)], counts[len(candidates):]
	}
	for i := range candidates {
		for player, n := range s.Meetings(candidates[i].AgentID) {
			m.counts[player][i] = int(n)
		}
	}
	for player := range players {
		m.least[player] = slices.Min(m.counts[player])
	}
	return m
}

// cost is what a choice costs: more, the more often a player has met a referee beyond the one that it met least.
func (m *meetings) cost(of need, candidate int) (sum int) {
	for _, player := range of.players {
		beyond := m.counts[player][candidate] - m.least[player]
		sum += beyond * beyond
	}
	return sum
}

func (m *meetings) count(needs []need, chosen []int) {
	for i := range needs {
		if m != nil && !needs[i].nothing {
			for _, player := range needs[i].players {
				m.counts[player][chosen[i]]++
				m.least[player] = slices.Min(m.counts[player])
			}
		}
	}
}

// alternate exchanges the choices of a round between its matches, so that players meet the referees as evenly as
// possible. The load of each referee stays. First it moves all choices by as many matches as lower the cost most, then
// it exchanges them in pairs. The matches of a player on NATS, and forfeited ones, keep their referees.
func (m *meetings) alternate(needs []need, chosen []int) {
	if m == nil {
		return
	}
	var free []int // the matches whose choices may be exchanged
	for i := range needs {
		if !needs[i].nothing && !needs[i].nats {
			free = append(free, i)
		}
	}
	m.shift(needs, free, chosen)
	referees := len(m.counts[0])
	matches := make([][]int, referees) // the free ones of each referee, in order
	for _, match := range free {
		matches[chosen[match]] = append(matches[chosen[match]], match)
	}
	for again := true; again; {
		again = false
		for one := range referees {
			for other := range one {
				again = m.exchange(needs, matches, one, other) || again
			}
		}
	}
	for referee, of := range matches {
		for _, match := range of {
			chosen[match] = referee
		}
	}
}

// shift moves the choices of the free matches by as many matches as lower the cost most.
func (m *meetings) shift(needs []need, free, chosen []int) {
	before, least := slices.Clone(chosen), math.MaxInt
	for by := range min(len(m.counts[0]), len(free)) {
		sum := 0
		for i, match := range free {
			sum += m.cost(needs[match], before[free[(i+by)%len(free)]])
		}
		if sum < least {
			least = sum
			for i, match := range free {
				chosen[match] = before[free[(i+by)%len(free)]]
			}
		}
	}
}

// exchange exchanges as many matches of two referees as lower the cost, and tells whether there was one.
func (m *meetings) exchange(needs []need, matches [][]int, one, other int) (changed bool) {
	type move struct{ match, gain int }
	moves := func(from, to int) []move {
		list := make([]move, len(matches[from]))
		for i, match := range matches[from] {
			list[i] = move{match, m.cost(needs[match], from) - m.cost(needs[match], to)}
		}
		slices.SortStableFunc(list, func(a, b move) int { return cmp.Compare(b.gain, a.gain) })
		return list
	}
	a, b := moves(one, other), moves(other, one)
	for i := range min(len(a), len(b)) {
		if a[i].gain+b[i].gain <= 0 {
			break
		}
		a[i], b[i], changed = b[i], a[i], true
	}
	if changed {
		for i := range a {
			matches[one][i] = a[i].match
		}
		for i := range b {
			matches[other][i] = b[i].match
		}
		slices.Sort(matches[one])
		slices.Sort(matches[other])
	}
	return changed
}
