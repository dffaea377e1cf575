package audit

import (
	"fmt"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// checkPairings compares the pairings that an event announces with those that follow
// from the results of the rounds before.
func (a *auditor) checkPairings(e *journal.Event, here location) {
	d, ok := e.Data.(*journal.RoundAnnounced)
	if !ok || d.Pairings == nil || a.state.Started == nil {
		return
	}
	want := a.state.Announcement(nil).Pairings
	if d.RoundID != a.state.Round+1 || slices.Equal(d.Pairings, want) {
		return
	}
	for i := range max(len(want), len(d.Pairings)) {
		if i < len(want) && i < len(d.Pairings) && want[i] == d.Pairings[i] {
			continue
		}
		at := here
		at.matchID = protocol.MatchID{Round: d.RoundID, Number: i + 1}.String()
		a.find(RuleSchedule, at, "match %d of round %d is %s; by the results before it is %s", i+1, d.RoundID, pairAt(d.Pairings, i), pairAt(want, i))
		return
	}
}

// pairAt describes the players of a match for people.
func pairAt(pairings [][2]string, i int) string {
	if i >= len(pairings) {
		return "not played"
	}
	return clip(pairings[i][0]) + " against " + clip(pairings[i][1])
}

// checkSchedule checks the schedule of a round-robin itself, so that the audit does not
// trust the algorithm that made it.
func (a *auditor) checkSchedule() {
	s := a.state
	if s.Started == nil || s.Created.Tournament != nil {
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
