package decide

import (
	"cmp"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
)

// A candidate is a referee that may conduct matches of a round.
type candidate struct {
	*journal.Agent

	last     bool // it gets matches only while no other is free; see lastChoice
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
	for r := s.Round + 1; r <= round; r++ {
		chosen = chooseAll(candidates, needsOf(s, r))
	}
	return chosen
}

// RematchReferee is the referee that gets a match which is played again: one that did not
// conduct it the last time, if there is another.
func RematchReferee(s *journal.State, id league.MatchID) string {
	fact, a, b, _ := s.Find(id)
	if holder := Holder(s, id); holder != "" {
		return holder
	}
	before := s.Started.Referees[len(s.Started.Referees)-1] // the first one follows it
	for i := range fact.Annulled {
		before = cmp.Or(fact.Annulled[i].Report.RefereeID, before) // "" for a result without a referee
	}
	unable := func(other string) bool { return CannotCall(s, other, a, b) }
	return cmp.Or(NextReferee(s, before, 1, unable), before)
}

// lastChoice tells whether a referee gets matches only while no other is free (journal.Agent.LastChoice). The
// denials of players put no referee that relays signatures below one that proves nothing: two players that agree to lie
// would choose their referee.
func lastChoice(s *journal.State, a *journal.Agent) bool {
	return a.LastChoice() && (a.Tokenless || !Relays(s, a.AgentID) ||
		!slices.ContainsFunc(s.Started.Referees, func(id string) bool {
			return !Relays(s, id) && !s.Agents[id].LastChoice() && !s.Agents[id].Inactive()
		}))
}

// candidatesOf are the referees of a league without the absent ones, in order of ids.
func candidatesOf(s *journal.State, absent func(*journal.Agent) bool) (candidates []candidate) {
	for _, id := range s.Started.Referees {
		if a := s.Agents[id]; !absent(a) {
			candidates = append(candidates, candidate{Agent: a, last: lastChoice(s, a), assigned: a.Assigned})
		}
	}
	return candidates
}

// A need is what a match needs of its referee.
type need struct {
	nothing bool // players would forfeit the match now
	nats    bool // a player is on NATS
}

// needsOf returns the need of each match of a round that has not been announced.
func needsOf(s *journal.State, round int) (needs []need) {
	for _, p := range s.Pairings(round) {
		a, b := s.Started.Players[p.A], s.Started.Players[p.B]
		needs = append(needs, need{len(s.InactivePlayers(a, b)) > 0, onNATS(s, a, b)})
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

// chooseAll chooses a referee for each match of a round: the one with the lowest load
// in this round for its capacity, then in the whole league, then with the lower id. A last
// choice gets a match only while no other is free, and a referee that cannot call the players only if none can. A
// forfeited match adds no load. It counts its choices in the candidates.
func chooseAll(candidates []candidate, needs []need) []string {
	for i := range candidates {
		candidates[i].load = 0
	}
	chosen := make([]string, len(needs))
	for i := range chosen {
		best := &candidates[0]
		for k := range candidates[1:] {
			if c := &candidates[k+1]; c.before(best, needs[i]) {
				best = c
			}
		}
		chosen[i] = best.AgentID
		if !needs[i].nothing {
			best.load++
			best.assigned++
		}
	}
	return chosen
}
