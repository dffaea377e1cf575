package league

import (
	"slices"

	"evenodd/league/journal"
)

// A candidate is a referee that may conduct matches of a round.
type candidate struct {
	id       string
	capacity int // matches at once
	assigned int // matches of the whole league
	load     int // matches of this round
}

// A workload counts the matches that were announced for each referee and not
// forfeited, in completed rounds.
type workload struct {
	rounds  int // those counted
	matches map[string]int
}

// update counts the rounds that have been completed since the last update.
func (w *workload) update(s *journal.State) {
	if w.matches == nil {
		w.matches = map[string]int{}
	}
	for ; w.rounds < len(s.Rounds) && s.Rounds[w.rounds].CompletedAt != ""; w.rounds++ {
		forfeited := forfeits(s, w.rounds+1)
		for i, id := range s.Rounds[w.rounds].Referees {
			if !forfeited[i] {
				w.matches[id]++
			}
		}
	}
}

// chooseReferees returns the referee of each match of a round that has not been
// announced, as the manager would choose them now. For a later round than the
// next it first makes the choices for those before it. Before counts the matches
// of the completed rounds. It changes nothing.
func chooseReferees(s *journal.State, before map[string]int, round int) (chosen []string) {
	candidates := candidatesFor(s, before)
	if s.Open() { // announced, and not in before
		forfeited := forfeits(s, s.Round)
		for i, id := range s.Rounds[s.Round-1].Referees {
			at := slices.IndexFunc(candidates, func(c candidate) bool { return c.id == id })
			if at >= 0 && !forfeited[i] {
				candidates[at].assigned++
			}
		}
	}
	for r := s.Round + 1; r <= round; r++ {
		chosen = choose(candidates, forfeits(s, r))
	}
	return chosen
}

// expectedReferees are the referees of a round that has not been announced, as
// the manager would choose them now. M.mu is held.
func (m *Manager) expectedReferees(round int) []string {
	m.assigned.update(m.state)
	return chooseReferees(m.state, m.assigned.matches, round)
}

// candidatesFor are the referees of a league that are not suspended, in order of
// ids. If all are suspended, it returns those whose part in the league is not over:
// one of them may be back in time.
func candidatesFor(s *journal.State, assigned map[string]int) (candidates []candidate) {
	add := func(absent func(*journal.Agent) bool) {
		for _, id := range s.Started.Referees {
			if a := s.Agents[id]; !absent(a) {
				candidates = append(candidates, candidate{id: id, capacity: a.Capacity, assigned: assigned[id]})
			}
		}
	}
	add((*journal.Agent).Absent)
	if len(candidates) == 0 {
		add(func(a *journal.Agent) bool { return a.Shutdown != "" })
	}
	return candidates
}

// forfeits tells of each match of a round whether players forfeit it: as recorded
// if the round has been announced, else as it would be now.
func forfeits(s *journal.State, round int) []bool {
	pairs := s.Pairings(round)
	forfeited := make([]bool, len(pairs))
	for i, p := range pairs {
		if round <= s.Round {
			forfeited[i] = s.Rounds[round-1].Matches[i].Forfeited != nil
		} else {
			forfeited[i] = len(s.Forfeiting(s.Started.Players[p.A], s.Started.Players[p.B])) > 0
		}
	}
	return forfeited
}

// choose picks a referee for each match of a round: the one with the least to do
// in this round for what it can do at once, then in the whole league, then with
// the lower id. A match that is forfeited gives its referee nothing to do. It
// counts what it chooses in the candidates.
func choose(candidates []candidate, forfeited []bool) []string {
	for i := range candidates {
		candidates[i].load = 0
	}
	chosen := make([]string, len(forfeited))
	for i := range chosen {
		best := &candidates[0]
		for k := range candidates[1:] {
			c := &candidates[k+1]
			x, y := c.load*best.capacity, best.load*c.capacity
			if x < y || x == y && c.assigned < best.assigned {
				best = c
			}
		}
		chosen[i] = best.id
		if !forfeited[i] {
			best.load++
			best.assigned++
		}
	}
	return chosen
}
