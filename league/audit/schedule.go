package audit

import (
	"fmt"

	"evenodd/league/pairing"
)

// checkSchedule counts who meets whom: the algorithm is not believed either.
func (x *examination) checkSchedule() {
	s := x.state
	if s.Started == nil {
		return
	}
	if err := fair(s.Pairings, len(s.Started.Players), s.TotalRounds(), s.Created.Legs); err != nil {
		x.find(RuleSchedule, spot{file: x.journal, line: x.starts}, "%v", err)
	}
}

// fair tells why a schedule is none in which every pair meets once a leg, nobody
// plays twice in a round, and byes are spread evenly.
func fair(pairings func(round int) []pairing.Pairing, n, rounds, legs int) error {
	ring := n - 1 + n%2
	if rounds != ring*legs {
		return fmt.Errorf("%d players and %d legs make %d rounds, not %d", n, legs, ring*legs, rounds)
	}
	met := make([]uint64, (n*n+63)/64) // in this leg
	last := make([]int, n)             // the round of a player's last match
	played := make([]int, n)
	for round := 1; round <= rounds; round++ {
		if (round-1)%ring == 0 {
			clear(met)
		}
		for i, pair := range pairings(round) {
			match, a, b := i+1, min(pair.A, pair.B), max(pair.A, pair.B)
			if a < 0 || b >= n || a == b {
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
