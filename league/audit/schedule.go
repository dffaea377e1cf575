package audit

import (
	"fmt"

	"evenodd/league/schedule"
)

// checkSchedule checks the schedule itself, so that the audit does not trust the
// algorithm that made it.
func (a *auditor) checkSchedule() {
	s := a.state
	if s.Started == nil {
		return
	}
	if err := checkRoundRobin(s.Schedule, s.Created.Legs); err != nil {
		a.find(RuleSchedule, location{file: a.journal, line: a.started}, "%v", err)
	}
}

// checkRoundRobin returns an error unless every pair meets once in each leg and no
// player plays twice in a round.
func checkRoundRobin(s schedule.Schedule, legs int) error {
	n := s.Players()
	ring := n - 1 + n%2
	if s.Rounds() != ring*legs {
		return fmt.Errorf("%d players and %d legs make %d rounds, not %d", n, legs, ring*legs, s.Rounds())
	}
	met := map[[2]int]bool{} // in this leg
	last := make([]int, n)   // the round of a player's last match
	for round := 1; round <= s.Rounds(); round++ {
		if (round-1)%ring == 0 {
			clear(met)
		}
		for match := 1; match <= s.MatchesPerRound(); match++ {
			pair, ok := s.Pair(round, match)
			a, b := min(pair.A, pair.B), max(pair.A, pair.B)
			switch {
			case !ok || a < 0 || b >= n || a == b:
				return fmt.Errorf("round %d has no match %d", round, match)
			case last[a] == round || last[b] == round:
				return fmt.Errorf("a player of match %d of round %d plays twice in it", match, round)
			case met[[2]int{a, b}]:
				return fmt.Errorf("match %d of round %d: the two have met in this leg", match, round)
			}
			met[[2]int{a, b}] = true
			last[a], last[b] = round, round
		}
	}
	return nil // all pairs of a leg have met, because none met twice
}
