package page

import (
	"sync"

	"evenodd/league/view/record"
)

// A past has the sums of the completed rounds of a league that several views show. Its slices
// are indexed by round, the first for the time before round 1, and by player as in pairings.
// Nobody changes it.
type past struct {
	rounds    int // completed
	points    [][]int
	fallbacks [][]int

	decisions int // that it includes
	rematches int // without a result
	ranks     map[int]map[string]int
}

// pastOf computes the past of a league.
func pastOf(l *record.League) *past {
	p := &past{rounds: l.CompletedRounds(), decisions: len(l.Decisions), rematches: len(l.Rematches), ranks: map[int]map[string]int{}}
	players := 0
	if l.Started != nil {
		players = len(l.Started.Players)
	}
	p.points, p.fallbacks = make([][]int, p.rounds+1), make([][]int, p.rounds+1)
	p.points[0], p.fallbacks[0] = make([]int, players), make([]int, players)
	for round := 1; round <= p.rounds; round++ {
		points, fallbacks := append([]int(nil), p.points[round-1]...), append([]int(nil), p.fallbacks[round-1]...)
		l.AddPoints(round, points)
		l.AddFallbacks(round, fallbacks)
		p.points[round], p.fallbacks[round] = points, fallbacks
	}
	return p
}

// ranksAfter are the shown ranks after a completed round, by player id.
func (p *past) ranksAfter(l *record.League, round int) map[string]int {
	if ranks, ok := p.ranks[round]; ok {
		return ranks
	}
	rows := l.StandingsAfter(round)
	ranks := make(map[string]int, len(rows))
	for i := range rows {
		ranks[rows[i].PlayerID] = rows[i].ShownRank()
	}
	return ranks
}

// A memory keeps the past of one league until a round ends, an organiser decides, or a rematch
// has a result. It is safe
// for concurrent use, also by readers that hold only a read lock of the league.
type memory struct {
	mu      sync.Mutex
	past    *past
	league  *record.League // of the past
	started bool           // the league had players
}

// of returns the past of the league.
func (m *memory) of(l *record.League) *past {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := l.Started != nil
	if m.past == nil || m.league != l || m.started != started || m.past.rounds != l.CompletedRounds() ||
		m.past.decisions != len(l.Decisions) || m.past.rematches != len(l.Rematches) {
		m.past, m.league, m.started = pastOf(l), l, started
		if last := m.past.rounds; last > 0 { // what most pages ask for
			m.past.ranks[last] = m.past.ranksAfter(l, last)
			m.past.ranks[last-1] = m.past.ranksAfter(l, last-1)
		}
	}
	return m.past
}
