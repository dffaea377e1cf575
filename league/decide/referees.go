package decide

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

// A Workload chooses the referees of rounds. It remembers how many matches of completed
// rounds were announced for each referee and not forfeited, so that a choice does not
// count all rounds again. The zero Workload is ready to use.
type Workload struct {
	rounds  int            // completed rounds that were counted
	matches map[string]int // by referee
}

// count counts the rounds that have been completed since the last call.
func (w *Workload) count(s *journal.State) {
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

// Choose returns the referee of each match of a round that has not been announced, as
// chosen by the state of now. For a later round than the next it first makes the
// choices for the rounds before.
func (w *Workload) Choose(s *journal.State, round int) (chosen []string) {
	w.count(s)
	candidates := candidatesOf(s, w.matches)
	if s.Open() { // announced, but not completed
		forfeited := forfeits(s, s.Round)
		for i, id := range s.Rounds[s.Round-1].Referees {
			at := slices.IndexFunc(candidates, func(c candidate) bool { return c.id == id })
			if at >= 0 && !forfeited[i] {
				candidates[at].assigned++
			}
		}
	}
	for r := s.Round + 1; r <= round; r++ {
		chosen = chooseAll(candidates, forfeits(s, r))
	}
	return chosen
}

// candidatesOf are the referees of a league that are not suspended, in order of ids.
// If all are suspended, it returns those whose part in the league is not over: one of
// them may return in time.
func candidatesOf(s *journal.State, assigned map[string]int) (candidates []candidate) {
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

// forfeits tells of each match of a round whether players forfeit it: as recorded if
// the round has been announced, else by the state of now.
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

// chooseAll chooses a referee for each match of a round: the one with the lowest load
// in this round for its capacity, then in the whole league, then with the lower id. A
// forfeited match adds no load. It counts its choices in the candidates.
func chooseAll(candidates []candidate, forfeited []bool) []string {
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
