package journal

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A condensedMatch is a match of a completed round in a few bytes. It lacks the draw, the commitment
// to it and the evidence, which the events of the match have.
type condensedMatch struct {
	whole      *Match         // nil if the other members describe the match
	result     *MatchReported // of sides; all matches that ended so share it
	reportedAt string
	referee    int32 // in Started.Referees
	event      int32 // that reported the result
}

// sides stand for the players of a match in a shared result. A league has few different ones,
// whatever the number of its matches.
var sides = [2]string{"\x00A", "\x00B"}

// Condense reduces the memory of the rounds up to a completed one. Their matches lose the draw and
// the evidence; everything else stays. A match that was not played in one accepted attempt is kept
// as it is.
func (s *State) Condense(through int) {
	for ; s.condensed < through; s.condensed++ {
		r := &s.Rounds[s.condensed]
		r.condensed = make([]condensedMatch, len(r.Matches))
		for i := range r.Matches {
			m := &r.Matches[i]
			if i > 0 && m.ReportedAt == r.Matches[i-1].ReportedAt {
				m.ReportedAt = r.Matches[i-1].ReportedAt // the same bytes
			}
			r.condensed[i] = s.condense(league.MatchID{Round: s.condensed + 1, Number: i + 1}, m)
		}
		r.Matches, r.Referees = nil, nil
	}
}

func (s *State) condense(id league.MatchID, m *Match) condensedMatch {
	r := m.Report
	if r == nil || len(m.Attempts) != 1 || m.Forfeited != nil || m.Disputed != nil || m.LostAttempts != nil ||
		m.Ruled != nil || m.RematchOrdered != nil || m.Annulled != nil || r.Number != 1 ||
		m.Attempts[0] != (Attempt{Number: 1, Referee: r.RefereeID, Commitment: m.Attempts[0].Commitment, Accepted: true,
			Round: id.Round, Event: m.Attempts[0].Event}) {
		return keep(m)
	}
	idA, idB, _ := s.players(id)
	ids, referee := [2]string{idA, idB}, slices.Index(s.Started.Referees, r.RefereeID)
	shared := r.between(ids, sides)
	shared.Attempt, shared.RefereeID, shared.Draw, shared.Evidence = league.Attempt{}, "", nil, protocol.Evidence{}
	key, err := json.Marshal(shared)
	if err != nil || referee < 0 || strings.Contains(r.Reason, "\x00") { // it could be that of a side
		return keep(m)
	}
	if s.results[string(key)] == nil {
		s.results[string(key)] = shared
	}
	//nolint:gosec // a journal has fewer events, and a league fewer referees
	return condensedMatch{nil, s.results[string(key)], m.ReportedAt, int32(referee), int32(m.Event)}
}

// keep keeps a whole match.
func keep(m *Match) condensedMatch {
	whole := *m
	whole.Attempts = slices.Clone(m.Attempts) // not the attempts of all matches
	return condensedMatch{whole: &whole}
}

// expand returns a condensed match in its usual form.
func (s *State) expand(id league.MatchID, c *condensedMatch) *Match {
	if c.whole != nil {
		return c.whole
	}
	idA, idB, _ := s.players(id)
	r := c.result.between(sides, [2]string{idA, idB})
	r.Attempt, r.RefereeID = league.Attempt{MatchID: id, Number: 1}, s.Started.Referees[c.referee]
	return &Match{Outcome: Outcome{Report: r, Event: int(c.event), ReportedAt: c.reportedAt},
		Attempts: []Attempt{{Number: 1, Referee: r.RefereeID, Accepted: true, Round: id.Round}}}
}

// between returns the result with other ids in place of those of its players.
func (d *MatchReported) between(from, to [2]string) *MatchReported {
	r := *d
	if r.WinnerPlayerID != nil {
		r.WinnerPlayerID = new(renamed(*r.WinnerPlayerID, from, to))
	}
	for i := range from {
		r.Reason = strings.ReplaceAll(r.Reason, from[i], to[i])
	}
	r.Choices, r.Score = renamedAll(r.Choices, from, to), renamedAll(r.Score, from, to)
	r.Faults, r.Fallbacks = renamedAll(r.Faults, from, to), renamedAll(r.Fallbacks, from, to)
	return &r
}

func renamed(id string, from, to [2]string) string {
	if i := slices.Index(from[:], id); i >= 0 {
		return to[i]
	}
	return id
}

func renamedAll[V any](values league.PerPlayer[V], from, to [2]string) league.PerPlayer[V] {
	values = slices.Clone(values)
	for i := range values {
		values[i].Name = renamed(values[i].Name, from, to)
	}
	return values
}

// restore is Find for an event that changes the match.
func (s *State) restore(id league.MatchID) (m *Match, playerA, playerB string, ok bool) {
	m, playerA, playerB, ok = s.Find(id)
	if ok && id.Round <= s.condensed {
		s.Rounds[id.Round-1].condensed[id.Number-1].whole = m
	}
	return m, playerA, playerB, ok
}
