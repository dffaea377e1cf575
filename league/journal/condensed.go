package journal

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// A condensedMatch is a match of a completed round in a few bytes. It lacks the draw and
// the commitment to it, which the event of the result has.
type condensedMatch struct {
	result     *sharedResult // nil: the round keeps the whole match
	reportedAt string
	referee    int32 // in Started.Referees
	event      int32 // that reported the result
}

// A sharedResult is the result of a match with sides instead of players. A league has few
// different ones, whatever the number of its matches.
type sharedResult struct {
	status, reason   string // the reason has markers instead of ids
	grade            string
	winner           int // a side; -1 for none
	number           int
	parity           string
	numbered, evened bool // number and parity are not null
	moves            [2]string
	moved            [2]bool   // the choice is not null
	faults           [2]string // "" for none
	fallbacks        [2]int    // 0 for none
}

// The markers of the sides in a reason.
const (
	marker  = "\x00"
	markerA = marker + "A"
	markerB = marker + "B"
)

// Condense reduces the memory of the rounds up to a completed one. Their matches lose
// the draw; everything else stays. A match that was not played in one accepted attempt
// is kept as it is.
func (s *State) Condense(through int) {
	for ; s.condensed < through; s.condensed++ {
		r := &s.Rounds[s.condensed]
		r.condensed = make([]condensedMatch, len(r.Matches))
		for i := range r.Matches {
			m := &r.Matches[i]
			if i > 0 && m.ReportedAt == r.Matches[i-1].ReportedAt {
				m.ReportedAt = r.Matches[i-1].ReportedAt // the same bytes
			}
			c, ok := s.condense(m, s.condensed+1, i+1)
			if r.condensed[i] = c; !ok {
				whole := *m
				whole.Attempts = slices.Clone(m.Attempts) // not the attempts of all matches
				r.keep(i+1, &whole)
			}
		}
		r.Matches, r.Referees = nil, nil
	}
}

// keep keeps a whole match in a condensed round.
func (r *Round) keep(number int, m *Match) {
	if r.kept == nil {
		r.kept = map[int]*Match{}
	}
	r.kept[number] = m
}

// condense returns a match in few bytes; false if they cannot describe it.
func (s *State) condense(m *Match, round, number int) (c condensedMatch, ok bool) {
	idA, idB, _ := s.players(protocol.MatchID{Round: round, Number: number})
	r := m.Report
	if r == nil || len(m.Attempts) != 1 || m.Forfeited != nil || m.Disputed != nil || m.LostAttempts != nil ||
		m.Ruled != nil || m.RematchOrdered != nil || m.Annulled != nil {
		return c, false
	}
	first := Attempt{Number: 1, Referee: r.RefereeID, Commitment: m.Attempts[0].Commitment, Accepted: true}
	shared, ok := share(&r.GameResult, [2]string{idA, idB})
	shared.grade = r.Grade
	if !ok || m.Attempts[0] != first || r.Number != first.Number {
		return c, false
	}
	known := s.results[shared]
	if known == nil {
		known = new(sharedResult)
		*known = shared
		s.results[shared] = known
	}
	referee := slices.Index(s.Started.Referees, r.RefereeID)
	return condensedMatch{known, m.ReportedAt, int32(referee), int32(m.Event)}, true //nolint:gosec // a journal has fewer
}

// share returns a result without the ids of its players; false if it would not be the
// same with them again.
func share(r *protocol.GameResult, ids [2]string) (shared sharedResult, ok bool) {
	if len(r.Choices) != 2 || strings.Contains(r.Reason, marker) || r.Faults != nil && len(r.Faults) == 0 || r.Fallbacks != nil && len(r.Fallbacks) == 0 {
		return shared, false
	}
	shared = sharedResult{status: r.Status, winner: -1}
	shared.reason = strings.ReplaceAll(strings.ReplaceAll(r.Reason, ids[0], markerA), ids[1], markerB)
	if w := r.WinnerPlayerID; w != nil {
		if shared.winner = slices.Index(ids[:], *w); shared.winner < 0 {
			return shared, false
		}
	}
	if n := r.DrawnNumber; n != nil {
		shared.number, shared.numbered = *n, true
	}
	if p := r.NumberParity; p != nil {
		shared.parity, shared.evened = *p, true
	}
	for i, c := range r.Choices {
		if c.Name != ids[i] {
			return shared, false
		}
		if c.Value != nil {
			shared.moves[i], shared.moved[i] = *c.Value, true
		}
	}
	last := -1
	for _, f := range r.Faults {
		side := slices.Index(ids[:], f.Name)
		if side <= last || f.Value == "" {
			return shared, false
		}
		shared.faults[side], last = f.Value, side
	}
	last = -1
	for _, f := range r.Fallbacks {
		side := slices.Index(ids[:], f.Name)
		if side <= last || f.Value == 0 {
			return shared, false
		}
		shared.fallbacks[side], last = f.Value, side
	}
	return shared, true
}

// A wholeMatch is what whole returns, in one allocation.
type wholeMatch struct {
	Match

	attempts [1]Attempt
	report   MatchReported
	ids      [2]string
	choices  [2]protocol.Member[*string]
	score    [2]protocol.Member[int]
}

// fill adds the result, with the ids of the players.
func (c *sharedResult) fill(w *wholeMatch) {
	r, ids := &w.report.GameResult, &w.ids
	r.Status, w.report.Grade = c.status, c.grade
	r.Reason = strings.ReplaceAll(strings.ReplaceAll(c.reason, markerB, ids[1]), markerA, ids[0])
	if c.winner >= 0 {
		r.WinnerPlayerID = &ids[c.winner]
	}
	if c.numbered {
		r.DrawnNumber = &c.number
	}
	if c.evened {
		r.NumberParity = &c.parity
	}
	for i, id := range ids {
		w.choices[i].Name = id
		if c.moved[i] {
			w.choices[i].Value = &c.moves[i]
		}
		if c.faults[i] != "" {
			r.Faults = append(r.Faults, protocol.Member[string]{Name: id, Value: c.faults[i]})
		}
		if c.fallbacks[i] != 0 {
			r.Fallbacks = append(r.Fallbacks, protocol.Member[int]{Name: id, Value: c.fallbacks[i]})
		}
	}
	r.Choices = w.choices[:]
}

// whole returns a match of a condensed round in its usual form.
func (s *State) whole(id protocol.MatchID) *Match {
	r := &s.Rounds[id.Round-1]
	if m := r.kept[id.Number]; m != nil {
		return m
	}
	c := &r.condensed[id.Number-1]
	idA, idB, _ := s.players(id)
	referee := s.Started.Referees[c.referee]
	w := &wholeMatch{
		Match:    Match{Outcome: Outcome{Event: int(c.event), ReportedAt: c.reportedAt}},
		attempts: [1]Attempt{{Number: 1, Referee: referee, Accepted: true}},
		report:   MatchReported{Attempt: protocol.Attempt{MatchID: id, Number: 1}, RefereeID: referee},
		ids:      [2]string{idA, idB},
	}
	c.result.fill(w)
	w.score, _ = s.Score(&w.report) // record has checked it
	w.Attempts, w.Report, w.report.Score = w.attempts[:], &w.report, w.score[:]
	return &w.Match
}

// restore is Find for an event that changes the match.
func (s *State) restore(id protocol.MatchID) (m *Match, playerA, playerB string, ok bool) {
	m, playerA, playerB, ok = s.Find(id)
	if r := id.Round; ok && r <= s.condensed {
		s.Rounds[r-1].keep(id.Number, m)
	}
	return m, playerA, playerB, ok
}
