package journal

import (
	"fmt"
	"slices"

	table "evenodd/league"
	"evenodd/league/protocol"
)

// An Outcome is how a match ended. The zero Outcome is that of a match without a result.
type Outcome struct {
	Report     *MatchReported // without a referee, and of attempt 0, if the match was forfeited or ruled
	Event      int            // number of the event of the result
	ReportedAt string         // in the protocol's form, without milliseconds
	Forfeited  []string       // the players that forfeit it, in the order of the match
	Ruled      *Made          // the decision that made the result; nil if none did
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

// Void tells whether an attempt cannot get a result, because the match was reopened after
// it. A match with a result has no such attempt.
func (m *Match) Void(attempt int) bool {
	return m.Reopened() && attempt <= m.Annulled[len(m.Annulled)-1].Attempts
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

// RematchOrdered records that a match with a result is played again between two rounds. Its
// result counts until then.
type RematchOrdered struct {
	Decision
	MatchID protocol.MatchID `json:"match_id"`
}

// Matter implements DecisionEvent.
func (d *RematchOrdered) Matter() string { return d.MatchID.String() }

// About implements DecisionEvent.
func (d *RematchOrdered) About() string {
	return d.describe(fmt.Sprintf("a rematch of %s ordered", d.MatchID))
}

func (d *RematchOrdered) check(s *State) error {
	m, err := s.decidable(d.MatchID)
	switch {
	case err != nil:
		return err
	case m.Reopened():
		return fmt.Errorf("match %s is being played again: its rematch has no result yet", d.MatchID)
	case m.Report == nil:
		return fmt.Errorf("match %s has no result yet", d.MatchID)
	case m.RematchOrdered != nil:
		return fmt.Errorf("a rematch of %s is ordered already, %v", d.MatchID, m.RematchOrdered)
	}
	return nil
}

func (d *RematchOrdered) apply(s *State, at string) error {
	m, _, _, _ := s.restore(d.MatchID)
	m.RematchOrdered = s.made(d.Decision, at)
	s.Rematches = append(s.Rematches, d.MatchID)
	return nil
}

// MatchReopened annuls the result of a match because its ordered rematch begins. Author and
// reason are those of the order.
type MatchReopened struct {
	Decision
	MatchID protocol.MatchID `json:"match_id"`
}

// Matter implements DecisionEvent.
func (d *MatchReopened) Matter() string { return d.MatchID.String() }

// About implements DecisionEvent.
func (d *MatchReopened) About() string {
	return fmt.Sprintf("the result of %s annulled: the rematch begins that %s ordered", d.MatchID, d.By)
}

func (d *MatchReopened) check(s *State) error {
	m, err := s.decidable(d.MatchID)
	switch {
	case err != nil:
		return err
	case m.RematchOrdered == nil:
		return fmt.Errorf("match %s is reopened, but no rematch of it is ordered", d.MatchID)
	case m.RematchOrdered.Decision != d.Decision:
		return fmt.Errorf("match %s is reopened in the name of %s, but its rematch was ordered %v, or for another reason", d.MatchID, d.By, m.RematchOrdered)
	case s.Open():
		return fmt.Errorf("match %s is reopened while round %d is open", d.MatchID, s.Round)
	case s.Paused != nil:
		return fmt.Errorf("match %s is reopened, but the league is paused, %v", d.MatchID, s.Paused)
	}
	return nil
}

func (d *MatchReopened) apply(s *State, _ string) error {
	m, _, _, _ := s.restore(d.MatchID)
	s.annul(m, *m.RematchOrdered)
	m.RematchOrdered = nil // the match stays in Rematches until it has a result
	return nil
}

// MatchRuled is the result of a match by an organiser. It replaces any other result. The
// status is TECHNICAL_LOSS if both players lose.
type MatchRuled struct {
	Decision
	MatchID        protocol.MatchID        `json:"match_id"`
	Status         string                  `json:"status"`
	WinnerPlayerID *string                 `json:"winner_player_id"`
	Score          protocol.PerPlayer[int] `json:"score"` // by the league's scoring
}

// Matter implements DecisionEvent.
func (d *MatchRuled) Matter() string { return d.MatchID.String() }

// About implements DecisionEvent.
func (d *MatchRuled) About() string {
	return d.describe(fmt.Sprintf("%s ruled %s", d.MatchID, d.verdict()))
}

func (d *MatchRuled) verdict() string {
	switch {
	case d.WinnerPlayerID != nil:
		return "a win of " + shortID(*d.WinnerPlayerID)
	case d.Status == protocol.StatusDraw:
		return "a draw"
	}
	return "a loss of both players"
}

func (d *MatchRuled) check(s *State) error {
	m, err := s.decidable(d.MatchID)
	if err != nil {
		return err
	}
	if d.Status == protocol.StatusTechnicalLoss && d.WinnerPlayerID != nil {
		return fmt.Errorf("match %s is ruled a technical loss with a winner: both players lose, or one wins", d.MatchID)
	}
	r := s.ruling(d)
	if m.Ruled != nil && m.RematchOrdered == nil {
		if before := m.Report; before.Status == r.Status && sameID(before.WinnerPlayerID, r.WinnerPlayerID) {
			return fmt.Errorf("match %s is ruled %s already, %v", d.MatchID, d.verdict(), m.Ruled)
		}
	}
	_, err = s.checkResult(r)
	return err
}

func (d *MatchRuled) apply(s *State, at string) error {
	m, _, _, _ := s.restore(d.MatchID)
	made := s.made(d.Decision, at)
	if m.Report != nil {
		s.annul(m, *made)
	}
	if err := s.record(m, s.ruling(d)); err != nil {
		return err
	}
	m.ReportedAt, m.Ruled = withoutMilliseconds(at), made
	s.cancelRematch(d.MatchID, m)
	return nil
}

// ruling is the result that a ruling makes.
func (s *State) ruling(d *MatchRuled) *MatchReported {
	r := &MatchReported{Attempt: protocol.Attempt{MatchID: d.MatchID}, Score: d.Score}
	_, idA, idB, _ := s.Find(d.MatchID)
	r.Status, r.WinnerPlayerID, r.Choices = d.Status, d.WinnerPlayerID, protocol.Both(idA, (*string)(nil), idB, (*string)(nil))
	r.Reason = d.describe("ruled")
	return r
}

func sameID(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// decidable returns a match that an organiser may decide about.
func (s *State) decidable(id protocol.MatchID) (*Match, error) {
	m, idA, idB, ok := s.Find(id)
	switch {
	case !ok:
		return nil, fmt.Errorf("match %s is not of an announced round", id)
	case s.Created.Tournament.IsKnockout() && id.Round < s.Round:
		return nil, fmt.Errorf("match %s is of round %d of a knockout, and the pairings of round %d follow from it", id, id.Round, s.Round)
	}
	for _, player := range [...]string{idA, idB} {
		if _, err := s.takingPart(player); err != nil {
			return nil, fmt.Errorf("match %s: %w", id, err)
		}
	}
	return m, nil
}

// annul takes the result of a match back.
func (s *State) annul(m *Match, by Made) {
	s.uncount(m.Report)
	s.Recorded--
	if r := m.Report; r.Grade == GradeStated {
		s.Stated[r.RefereeID]--
	}
	m.Annulled = append(m.Annulled, AnnulledOutcome{m.Outcome, by, len(m.Attempts)})
	m.Outcome = Outcome{}
}

// cancelRematch forgets the ordered or begun rematch of a match; nothing happens if there is
// none.
func (s *State) cancelRematch(id protocol.MatchID, m *Match) {
	m.RematchOrdered = nil
	s.Rematches = slices.DeleteFunc(slices.Clone(s.Rematches), func(other protocol.MatchID) bool { return other == id })
}

// count counts a result in the table, unless a player of it is annulled.
func (s *State) count(r table.Result) error {
	if s.isAnnulled(r) {
		return nil
	}
	return s.Table.Record(r)
}

// uncount takes a result that was counted out of the table.
func (s *State) uncount(d *MatchReported) {
	if r, err := s.TableResult(d); err == nil && !s.isAnnulled(r) { // record has checked it
		s.Table.Forget(r)
	}
}

// isAnnulled tells whether a player of a result is annulled.
func (s *State) isAnnulled(r table.Result) bool {
	return len(s.annulled) > 0 && (s.annulled[r.A] || s.annulled[r.B])
}

// follow changes the results from which later rounds follow, if those of the round are known
// already.
func (s *State) follow(id protocol.MatchID, r table.Result) {
	if id.Round > len(s.played) {
		return
	}
	result := &s.played[id.Round-1][id.Number-1]
	result.Winner, result.Technical = r.Winner, r.Technical
	s.upcoming = upcoming{}
}
