package journal

import (
	"errors"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
)

// An Outcome is how a match ended. The zero Outcome is that of a match without a result.
type Outcome struct {
	Report     *MatchReported // without a referee, and of attempt 0, if the match was forfeited or ruled
	Event      int            // number of the event of the result
	ReportedAt string         // in the protocol's form, without milliseconds
	// Moves is a number of the opening, the moves and the draws of a game of several turns, which equal ones share; 0
	// without moves.
	Moves     uint64
	Forfeited []string // the players that forfeit it, in the order of the match
	Ruled     *Made    // the decision that made the result; nil if none did
	Disputed  []string // referees that reported another result later, and players that deny the result
	Refuted   []string // players whose denial the transcript contradicts
}

// An AnnulledOutcome is a result that no longer counts.
type AnnulledOutcome struct {
	Outcome

	By       Made // the decision
	Attempts int  // at the match, until then
}

// Reopened tells whether the match is played again and has no result yet.
func (m *Match) Reopened() bool { return m.Report == nil && len(m.Annulled) > 0 }

// Current are the attempts that can get a result: of a reopened match, those since then.
func (m *Match) Current() []Attempt {
	if m.Reopened() {
		return m.Attempts[m.Annulled[len(m.Annulled)-1].Attempts:]
	}
	return m.Attempts
}

// Void tells whether an attempt is from before the last annulled result, so that it can neither get a result nor
// contradict one.
func (m *Match) Void(attempt int) bool {
	last := len(m.Annulled) - 1
	return last >= 0 && attempt <= m.Annulled[last].Attempts
}

// AnnulledOutcome is the annulled result of an attempt; nil for none.
func (m *Match) AnnulledOutcome(attempt int) *AnnulledOutcome {
	for i := range m.Annulled {
		if o := &m.Annulled[i]; attempt > 0 && o.Report.Number == attempt {
			return o
		}
	}
	return nil
}

// OutcomeOf is how the play of the match ended to which an attempt belongs: each annulled result ended one.
func (m *Match) OutcomeOf(attempt int) *Outcome {
	for i := range m.Annulled {
		if o := &m.Annulled[i]; attempt <= o.Attempts {
			return &o.Outcome
		}
	}
	return &m.Outcome
}

func checkRematch(s *State, d *Decided) error {
	m := s.Match(d.MatchID)
	switch {
	case m.Reopened():
		return fmt.Errorf("match %s is being played again: its rematch has no result yet", d.MatchID)
	case m.Report == nil:
		return fmt.Errorf("match %s has no result yet", d.MatchID)
	case m.RematchOrdered != nil:
		return fmt.Errorf("a rematch of %s is ordered already, %v", d.MatchID, m.RematchOrdered)
	}
	return nil
}

func afterRematch(s *State, _ *Decided) string {
	when := "at once"
	if s.Open() {
		when = fmt.Sprintf("after round %d", s.Round)
	}
	if s.Paused != nil {
		when += " when the league is resumed"
	}
	return fmt.Sprintf("The result counts until the rematch begins, %s.", when)
}

func checkReopening(s *State, d *Decided) error {
	switch order := s.Match(d.MatchID).RematchOrdered; {
	case order == nil:
		return fmt.Errorf("match %s is reopened, but no rematch of it is ordered", d.MatchID)
	case order.Decision != d.Decision:
		return fmt.Errorf("match %s is reopened in the name of %s, but its rematch was ordered %v, or for another reason",
			d.MatchID, d.By, order)
	case s.Open():
		return fmt.Errorf("match %s is reopened while round %d is open", d.MatchID, s.Round)
	case s.Paused != nil:
		return fmt.Errorf("match %s is reopened, but the league is paused, %v", d.MatchID, s.Paused)
	}
	return nil
}

// verdict describes the winner of a ruling.
func (d *Decided) verdict(named func(id string) string) string {
	switch d.Winner {
	case protocol.WinnerDraw:
		return "a draw"
	case protocol.WinnerNone:
		return "a loss of both players"
	}
	return "a win of " + named(d.Winner)
}

func checkRuling(s *State, d *Decided) error {
	r, err := s.ruling(d)
	if err != nil {
		return err
	}
	if m := s.Match(d.MatchID); m.Ruled != nil && m.RematchOrdered == nil {
		if before := m.Report; before.Status == r.Status && sameID(before.WinnerPlayerID, r.WinnerPlayerID) {
			return fmt.Errorf("match %s is ruled %s already, %v", d.MatchID,
				d.verdict(func(id string) string { return s.Ref(id).String() }), m.Ruled)
		}
	}
	return nil
}

// rule makes the result of a match. It replaces any other.
func rule(s *State, d *Decided, at *Made) {
	m, _, _, _ := s.restore(d.MatchID)
	r, err := s.ruling(d)
	if m.Report != nil {
		s.annul(m, *at)
	}
	if err == nil { // checkRuling has returned it
		_ = s.addResult(m, r) // it has the score of ruling
	}
	m.ReportedAt, m.Ruled = InSeconds(at.At), at
	s.cancelRematch(d.MatchID, m)
}

// ErrWinner is the error of a ruling for another agent than a player of the match.
var ErrWinner = errors.New("winner")

// ruling is the result that a ruling makes.
func (s *State) ruling(d *Decided) (*MatchReported, error) {
	_, idA, idB, _ := s.Find(d.MatchID)
	r := &MatchReported{Attempt: league.Attempt{MatchID: d.MatchID}}
	r.Choices, r.Reason = league.Both(idA, (*string)(nil), idB, (*string)(nil)), d.describe("ruled")
	switch d.Winner {
	case idA, idB:
		r.Status, r.WinnerPlayerID = league.StatusWin, &d.Winner
	case protocol.WinnerDraw:
		r.Status = league.StatusDraw
	case protocol.WinnerNone:
		r.Status = league.StatusTechnicalLoss
	default:
		return nil, fmt.Errorf("%w %.40q: want %s or %s, the players of %s, or %s, or %s",
			ErrWinner, d.Winner, s.Ref(idA), s.Ref(idB), d.MatchID, protocol.WinnerDraw, protocol.WinnerNone)
	}
	score, err := s.Score(r)
	r.Score = score[:]
	return r, err
}

func sameID(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// checkDecidable returns an error for a match that an organiser cannot decide about.
func (s *State) checkDecidable(id league.MatchID) error {
	_, idA, idB, ok := s.Find(id)
	switch {
	case !ok:
		return fmt.Errorf("match %s is not of an announced round", id)
	case s.Created.Tournament.HasBracket() && id.Round < s.Round:
		return fmt.Errorf("match %s is of round %d of a bracket, and the pairings of round %d follow from it", id, id.Round,
			s.Round)
	}
	for _, player := range [...]string{idA, idB} {
		if err := s.checkTakesPart(player); err != nil {
			return fmt.Errorf("match %s: %w", id, err)
		}
	}
	return nil
}

// annul takes the result of a match back.
func (s *State) annul(m *Match, by Made) {
	s.uncount(m.Report)
	s.countFallbacks(m.Report, -1)
	s.Recorded--
	s.Revised++
	s.undoubt(m)
	m.Annulled = append(m.Annulled, AnnulledOutcome{m.Outcome, by, len(m.Attempts)})
	m.Outcome = Outcome{}
}

// cancelRematch forgets the ordered or begun rematch of a match; nothing happens if there is
// none.
func (s *State) cancelRematch(id league.MatchID, m *Match) {
	m.RematchOrdered = nil
	s.Rematches = slices.DeleteFunc(slices.Clone(s.Rematches), func(other league.MatchID) bool { return other == id })
}

// count counts the result of a match in the table, unless a player of it is annulled.
func (s *State) count(id league.MatchID, r league.Played) error {
	if s.isAnnulled(r) {
		return nil
	}
	return s.Table.Record(id.Round, r)
}

// uncount takes a result that was counted out of the table.
func (s *State) uncount(d *MatchReported) {
	if r, err := s.TableResult(d); err == nil && !s.isAnnulled(r) { // addResult has checked it
		s.Table.Forget(d.MatchID.Round, r)
	}
}

// isAnnulled tells whether a player of a result is annulled.
func (s *State) isAnnulled(r league.Played) bool {
	players := s.Started.Players
	return s.Agents[players[r.A]].Annulled || s.Agents[players[r.B]].Annulled
}

// follow changes the results from which later rounds follow, if those of the round are known
// already.
func (s *State) follow(id league.MatchID, r league.Played) {
	if id.Round > len(s.played) {
		return
	}
	s.played[id.Round-1][id.Number-1] = r
	s.upcoming = upcoming{}
}
