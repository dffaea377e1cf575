package journal

import (
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A condensedMatch is a match of a completed round in a few bytes. It lacks the draw, the commitment
// to it and the evidence, which the events of the match have.
type condensedMatch struct {
	whole      *Match        // nil if the other members describe the match
	result     *sharedResult // of all matches that ended so
	reportedAt string
	moves      uint64 // as Outcome has them
	referee    int32  // in Started.Referees
	event      int32  // that reported the result
}

// A sharedResult is a result of player A and player B, without technical failures. A league has few
// different ones, whatever the number of its matches. It is comparable: finding equal results by
// their JSON took 2 s of a league of 1,000 players, in which no match was played.
type sharedResult struct {
	status, grade, reason string
	winner                int // the index of the player; -1 for none
	drawn                 bool
	number                int    // if drawn
	parity                string // if drawn
	choices               [2]string
	score                 [2]int
}

// sides stand for the players in the reason of a shared result.
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
	if r == nil || len(m.Attempts) != 1 || m.Forfeited != nil || m.Disputed != nil || m.Refuted != nil || m.LostAttempts != nil ||
		m.Ruled != nil || m.RematchOrdered != nil || m.Annulled != nil || r.Number != 1 ||
		m.Attempts[0] != (Attempt{Number: 1, Referee: r.RefereeID, Commitment: m.Attempts[0].Commitment, Accepted: true,
			Round: id.Round, Event: m.Attempts[0].Event}) {
		return keep(m)
	}
	idA, idB, _ := s.players(id)
	shared, ok := share(r, [2]string{idA, idB})
	referee := slices.Index(s.Started.Referees, r.RefereeID)
	if !ok || referee < 0 {
		return keep(m)
	}
	known := s.results[shared]
	if known == nil {
		known = &shared
		s.results[shared] = known
	}
	//nolint:gosec // a journal has fewer events, and a league fewer referees
	return condensedMatch{nil, known, m.ReportedAt, m.Moves, int32(referee), int32(m.Event)}
}

// share returns the shared form of a result; false if it has none.
func share(r *MatchReported, ids [2]string) (c sharedResult, ok bool) {
	drawn := r.DrawnNumber != nil
	if len(r.Choices) != 2 || len(r.Score) != 2 || r.Faults != nil || r.Fallbacks != nil ||
		drawn != (r.NumberParity != nil) || strings.Contains(r.Reason, "\x00") {
		return c, false
	}
	c = sharedResult{status: r.Status, grade: r.Grade, reason: r.Reason, winner: -1, drawn: drawn,
		number: protocol.ValueOf(r.DrawnNumber), parity: protocol.ValueOf(r.NumberParity)}
	for i, id := range ids {
		if r.Choices[i].Name != id || r.Choices[i].Value == nil || r.Score[i].Name != id {
			return c, false
		}
		c.reason = strings.ReplaceAll(c.reason, id, sides[i])
		c.choices[i], c.score[i] = *r.Choices[i].Value, r.Score[i].Value
		if r.WinnerPlayerID != nil && *r.WinnerPlayerID == id {
			c.winner = i
		}
	}
	return c, true
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
	r := c.result.between([2]string{idA, idB})
	r.Attempt, r.RefereeID = league.Attempt{MatchID: id, Number: 1}, s.Started.Referees[c.referee]
	return &Match{Outcome: Outcome{Report: r, Event: int(c.event), ReportedAt: c.reportedAt, Moves: c.moves},
		Attempts: []Attempt{{Number: 1, Referee: r.RefereeID, Accepted: true, Round: id.Round}}}
}

// between is the result between two players.
func (c *sharedResult) between(ids [2]string) *MatchReported {
	r := &MatchReported{Grade: c.grade, Score: league.Both(ids[0], c.score[0], ids[1], c.score[1])}
	r.Status, r.Reason = c.status, strings.ReplaceAll(strings.ReplaceAll(c.reason, sides[0], ids[0]), sides[1], ids[1])
	r.Choices = league.Both(ids[0], &c.choices[0], ids[1], &c.choices[1])
	if c.winner >= 0 {
		r.WinnerPlayerID = &ids[c.winner]
	}
	if c.drawn {
		r.DrawnNumber, r.NumberParity = &c.number, &c.parity
	}
	return r
}

// restore is Find for an event that changes the match.
func (s *State) restore(id league.MatchID) (m *Match, playerA, playerB string, ok bool) {
	m, playerA, playerB, ok = s.Find(id)
	if ok && id.Round <= s.condensed {
		s.Rounds[id.Round-1].condensed[id.Number-1].whole = m
	}
	return m, playerA, playerB, ok
}
