package audit

import (
	"fmt"

	"evenodd/league/pairing"
)

// checkSchedule checks the schedule itself, so that the audit does not trust the
// algorithm that made it.
func (a *auditor) checkSchedule() {
	s := a.state
	if s.Started == nil {
		return
	}
	if err := checkRoundRobin(s.Pairings, len(s.Started.Players), s.TotalRounds(), s.Created.Legs); err != nil {
		a.find(RuleSchedule, location{file: a.journal, line: a.started}, "%v", err)
	}
}

// checkRoundRobin returns an error unless every pair meets once in each leg and no
// player plays twice in a round.
func checkRoundRobin(pairings func(round int) []pairing.Pairing, n, rounds, legs int) error {
	ring := n - 1 + n%2
	if rounds != ring*legs {
		return fmt.Errorf("%d players and %d legs make %d rounds, not %d", n, legs, ring*legs, rounds)
	}
	met := map[[2]int]bool{} // in this leg
	last := make([]int, n)   // the round of a player's last match
	for round := 1; round <= rounds; round++ {
		if (round-1)%ring == 0 {
			clear(met)
		}
		all := pairings(round)
		if len(all) != n/2 {
			return fmt.Errorf("round %d has %d matches, not %d", round, len(all), n/2)
		}
		for i, pair := range all {
			match, a, b := i+1, min(pair.A, pair.B), max(pair.A, pair.B)
			switch {
			case a < 0 || b >= n || a == b:
				return fmt.Errorf("match %d of round %d is none of two players", match, round)
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
