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

// checkRoundRobin returns an error unless every pair meets once in each leg, no
// player plays twice in a round, and all players have as many matches.
func checkRoundRobin(s schedule.Schedule, legs int) error {
	n := s.Players()
	ring := n - 1 + n%2
	if s.Rounds() != ring*legs {
		return fmt.Errorf("%d players and %d legs make %d rounds, not %d", n, legs, ring*legs, s.Rounds())
	}
	met := make([]uint64, (n*n+63)/64) // in this leg
	last := make([]int, n)             // the round of a player's last match
	played := make([]int, n)
	for round := 1; round <= s.Rounds(); round++ {
		if (round-1)%ring == 0 {
			clear(met)
		}
		for match := 1; match <= s.MatchesPerRound(); match++ {
			pair, ok := s.Pair(round, match)
			a, b := min(pair.A, pair.B), max(pair.A, pair.B)
			if !ok || a < 0 || b >= n || a == b {
				return fmt.Errorf("round %d has no match %d", round, match)
			}
			if last[a] == round || last[b] == round {
				return fmt.Errorf("a player of match %d of round %d plays twice in it", match, round)
			}
			bit := a*n + b
			if met[bit/64]&(1<<(bit%64)) != 0 {
				return fmt.Errorf("match %d of round %d: the two have met in this leg", match, round)
			}
			met[bit/64] |= 1 << (bit % 64)
			last[a], last[b] = round, round
			played[a]++
			played[b]++
		}
	}
	for player, matches := range played {
		if matches != (n-1)*legs {
			return fmt.Errorf("player %d of %d has %d matches, not %d", player+1, n, matches, (n-1)*legs)
		}
	}
	return nil
}
