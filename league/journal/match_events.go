package journal

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
)

// MatchAssigned is written before a match is handed to a referee, so that no attempt
// number is used twice.
type MatchAssigned struct {
	league.Attempt
	RefereeID string `json:"referee_id"`
}

func (d *MatchAssigned) apply(s *State, _ string) error {
	m, _, _, ok := s.restore(d.MatchID)
	switch {
	case !ok:
		return fmt.Errorf("match %s is not of an announced round", d.MatchID)
	case d.Number != m.NextAttempt():
		return fmt.Errorf("match %s: attempt %d follows attempt %d", d.MatchID, d.Number, m.NextAttempt()-1)
	}
	if err := s.checkReferee(d.RefereeID); err != nil {
		return err
	}
	m.Attempts = append(m.Attempts, Attempt{Number: d.Number, Referee: d.RefereeID, Round: s.Round})
	return nil
}

// MatchAccepted records that a referee conducts a match, and its commitment to the
// draw. A referee that had begun an earlier attempt may name that one.
type MatchAccepted struct {
	league.Attempt
	RefereeID      string `json:"referee_id"`
	DrawCommitment string `json:"draw_commitment,omitzero"`
}

func (d *MatchAccepted) apply(s *State, _ string) error {
	a, err := s.attempt(d.Attempt, d.RefereeID)
	if err != nil {
		return err
	}
	if a.Commitment != "" && a.Commitment != d.DrawCommitment {
		return fmt.Errorf("match %s attempt %d: %s gives a second, different commitment", d.MatchID, d.Number, d.RefereeID)
	}
	a.Commitment, a.Accepted, a.Declined, a.Event = d.DrawCommitment, true, false, s.Events+1
	return nil
}

// MatchDeclined records that a referee does not conduct a match that was assigned to
// it. It may still accept the same attempt later.
type MatchDeclined struct {
	league.Attempt
	RefereeID string `json:"referee_id"`
	Reason    string `json:"reason,omitzero"`
	// Error tells that it answered with an error although it had invited players, and no other referee could conduct
	// the match. It keeps the attempt, and gets the offer once more.
	Error bool `json:"error,omitzero"`
}

func (d *MatchDeclined) apply(s *State, _ string) error {
	a, err := s.attempt(d.Attempt, d.RefereeID)
	switch {
	case err != nil:
	case d.Error:
		a.Erred = true
	default:
		a.Declined = true
	}
	return err
}

// The grades of evidence of a WIN or DRAW that a referee reports: what its result rests on
// (docs/evidence.md). A technical loss, a forfeit and a ruling have none.
const (
	GradeProven     = "proven"     // all moves and the draw are shown and signed by both players
	GradeRecomputed = "recomputed" // all are shown, but not all moves are signed
	GradeStated     = "stated"     // something is not shown: nothing but the word of the referee
)

// MatchReported is the result of a match: the first that was accepted, and the only
// one, unless an organiser annuls it. Winner, number and parity of the result are null if there is none, and so is
// a choice that a player did not make.
type MatchReported struct {
	league.Attempt
	RefereeID string `json:"referee_id"`
	league.Result
	Grade string                `json:"grade,omitzero"` // GradeProven …; "" for a technical loss
	Score league.PerPlayer[int] `json:"score"`          // by the league's scoring
	Draw  *protocol.Draw        `json:"draw,omitzero"`
	protocol.Evidence
}

func (d *MatchReported) apply(s *State, at string) error {
	m, idA, idB, ok := s.restore(d.MatchID)
	switch {
	case !ok:
		return fmt.Errorf("a result of match %s, which is not of an announced round", d.MatchID)
	case m.Report != nil:
		return fmt.Errorf("a second result of match %s", d.MatchID)
	case !m.IsAssignedTo(d.RefereeID):
		return fmt.Errorf("match %s was not assigned to %.40s", d.MatchID, d.RefereeID)
	case m.Void(d.Number):
		return fmt.Errorf("a result of attempt %d at match %s, which is annulled", d.Number, d.MatchID)
	case d.Grade != "" && (d.Status == league.StatusTechnicalLoss ||
		!slices.Contains([]string{GradeProven, GradeRecomputed, GradeStated}, d.Grade)):
		return fmt.Errorf("match %s with status %.40q has the grade %.40q", d.MatchID, d.Status, d.Grade)
	}
	if err := s.checkReferee(d.RefereeID); err != nil {
		return err
	}
	if err := s.addResult(m, d); err != nil {
		return err
	}
	m.ReportedAt = InSeconds(at)
	s.Agents[d.RefereeID].ReportedInRound = true
	s.Agents[d.RefereeID].AcknowledgesAll = false
	s.Agents[idA].countMatch(&d.Result)
	s.Agents[idB].countMatch(&d.Result)
	return nil
}

// addResult adds the result of a match to the match and to the table.
func (s *State) addResult(m *Match, d *MatchReported) error {
	result, err := s.checkResult(d)
	if err == nil {
		err = s.count(d.MatchID, result)
	}
	if err != nil {
		return err
	}
	if m.Reopened() {
		s.cancelRematch(d.MatchID, m)
		s.Revised++
	}
	m.Report, m.Event, m.Moves = d, s.Events+1, hashOf(&d.Evidence)
	s.Recorded++
	s.countFallbacks(d, 1)
	s.doubt(m)
	s.follow(d.MatchID, result)
	return nil
}

// hashOf is a number of the opening, moves and draws of a match, which equal ones share; 0 without moves.
func hashOf(e *protocol.Evidence) uint64 {
	if len(e.Moves) == 0 {
		return 0
	}
	hash := fnv.New64a()
	for _, ply := range e.Opening {
		_, _ = fmt.Fprintf(hash, "%q ", ply) // never fails
	}
	for i := range e.Moves {
		_, _ = fmt.Fprintf(hash, "%s %q ", e.Moves[i].PlayerID, e.Moves[i].Move) // never fails
	}
	for _, d := range e.Draws {
		_, _ = fmt.Fprintf(hash, "%d ", d.Number)
	}
	return hash.Sum64() | 1
}

// countFallbacks counts the fallbacks in a result; -1 takes them back.
func (s *State) countFallbacks(d *MatchReported, times int) {
	for _, f := range d.Fallbacks {
		if player, ok := s.playerIndexes[f.Name]; ok {
			s.Table.AddFallbacks(player, times*f.Value)
		}
	}
}

// checkResult returns a result as the table counts it, or an error for a result that the
// match cannot have.
func (s *State) checkResult(d *MatchReported) (league.Played, error) {
	result, err := s.TableResult(d)
	if err != nil {
		return result, err
	}
	score, _ := s.Score(d) // TableResult has no error
	for _, want := range score {
		if got, ok := d.Score.Get(want.Name); !ok || got != want.Value {
			return result, fmt.Errorf("match %s: the score is %v, by the league's scoring it is %v", d.MatchID, d.Score, score)
		}
	}
	return result, nil
}

// MatchForfeited is the result of a match that is not played, because players of it
// are suspended, shut down or withdrawn. They lose it, and no referee conducts it.
type MatchForfeited struct {
	MatchID league.MatchID `json:"match_id"`
	Players []string       `json:"players"` // that forfeit, in the order of the match
	league.Result
	Score league.PerPlayer[int] `json:"score"` // by the league's scoring
}

func (d *MatchForfeited) apply(s *State, _ string) error {
	m, idA, idB, ok := s.restore(d.MatchID)
	switch {
	case !ok || !m.Reopened() && (d.MatchID.Round != s.Round || !s.Open()):
		return fmt.Errorf("match %s is forfeited, which is not of an open round", d.MatchID)
	case m.Report != nil:
		return fmt.Errorf("match %s is forfeited, but has a result", d.MatchID)
	}
	inactive := s.InactivePlayers(idA, idB)
	if len(inactive) == 0 || !slices.Equal(d.Players, inactive) {
		return fmt.Errorf("match %s is forfeited by %.80v; suspended or shut down: %v", d.MatchID, d.Players, inactive)
	}
	if d.Status != league.StatusTechnicalLoss || !sameID(d.WinnerPlayerID, ForfeitWinner(idA, idB, inactive)) {
		return fmt.Errorf("match %s is forfeited by %v, and is no technical loss of them alone", d.MatchID, inactive)
	}
	again := m.Reopened()
	report := &MatchReported{Attempt: league.Attempt{MatchID: d.MatchID}, Result: d.Result, Score: d.Score}
	if err := s.addResult(m, report); err != nil {
		return err
	}
	m.Forfeited = d.Players
	if !again {
		r := &s.Rounds[s.Round-1]
		announced := r.Referees[d.MatchID.Number-1]
		s.Agents[announced].Assigned--
		s.countMeeting(announced, r.Pairings[d.MatchID.Number-1], -1)
	}
	for _, id := range inactive {
		if a := s.Agents[id]; a.Held == nil && a.Withdrawn == nil { // else it did not fail
			a.Failures++
		}
	}
	return nil
}

// MatchDisputed is another result of a match that has one. The first result stays.
type MatchDisputed struct {
	league.Attempt
	RefereeID string `json:"referee_id"`
	league.Result
}

func (d *MatchDisputed) apply(s *State, _ string) error {
	m, _, _, ok := s.restore(d.MatchID)
	if !ok || m.Report == nil {
		return fmt.Errorf("a dispute about %s, which has no result", d.MatchID)
	}
	m.Disputed = append(m.Disputed, d.RefereeID)
	return nil
}

// ResultDenied records that a player denies the result of an attempt: nothing of the attempt
// reached it. The result stays.
type ResultDenied struct {
	league.Attempt
	PlayerID string `json:"player_id"`
	// Answered tells that the transcript of the referee, whose digest is that of the result, has an answer of the
	// player. Then the denial does not count.
	Answered bool `json:"answered,omitzero"`
}

func (d *ResultDenied) apply(s *State, _ string) error {
	m, idA, idB, ok := s.restore(d.MatchID)
	switch {
	case !ok || d.PlayerID != idA && d.PlayerID != idB:
		return fmt.Errorf("%.40s denies a result of %s, which it does not play", d.PlayerID, d.MatchID)
	case m.Report == nil || m.Report.Attempt != d.Attempt || d.Number == 0: // that of a forfeit or a ruling
		return fmt.Errorf("%s denies attempt %d at %s, which has no result", d.PlayerID, d.Number, d.MatchID)
	}
	if d.Answered {
		m.Refuted = append(m.Refuted, d.PlayerID)
		return nil
	}
	if !slices.Contains(m.Disputed, d.PlayerID) {
		m.Disputed = append(m.Disputed, d.PlayerID)
	}
	if r := s.Agents[m.Report.RefereeID]; !slices.Contains(r.DeniedBy, d.PlayerID) {
		r.DeniedBy = append(r.DeniedBy, d.PlayerID)
	}
	s.deny(m.Report, d.PlayerID)
	return nil
}

// AttemptLost records that a referee lost its attempt at a match without a failure of the
// connection: the manager does not record what it reports, or the referee discarded the attempt. Another referee
// gets the match.
type AttemptLost struct {
	league.Attempt
	RefereeID string `json:"referee_id"`
	Reason    string `json:"reason,omitzero"`
	Cause     string `json:"cause"`
	// Report is the double technical loss of CauseBothAnswer, and of CauseRejected a report of which only the
	// number is wrong. Its result is recorded, the latter without the number, if no other referee conducts the
	// match. The public form of the event lacks it.
	Report *MatchReported `json:"report,omitzero"`
}

// The causes for which an attempt is lost.
const (
	CauseRejected   = "rejected"    // the report contradicts itself, or does not show its result
	CauseBothAnswer = "both_answer" // it says that both players failed, but both answer a ping
	CauseNoToken    = "no_token"    // it was sent without a token
	CauseDiscarded  = "discarded"   // its referee declined it after it had invited players
)

// causes are the causes, each with whether it goes with a report.
var causes = map[string]bool{CauseRejected: true, CauseBothAnswer: true, CauseNoToken: false, CauseDiscarded: false}

func (d *AttemptLost) apply(s *State, _ string) error {
	if _, err := s.attempt(d.Attempt, d.RefereeID); err != nil {
		return err
	}
	m, _, _, _ := s.restore(d.MatchID) // attempt has found it
	reports, known := causes[d.Cause]
	switch {
	case m.Report != nil:
		return fmt.Errorf("attempt %d at %s is lost, but the match has a result", d.Number, d.MatchID)
	case !known, !reports && d.Report != nil:
		return fmt.Errorf("attempt %d at %s is lost by the cause %.40q, or with a report that does not go with it", d.Number,
			d.MatchID, d.Cause)
	}
	if d.Cause == CauseNoToken {
		s.Agents[d.RefereeID].Tokenless = true
	}
	m.LostAttempts = append(m.LostAttempts, *d)
	return nil
}

// attempt returns an attempt that was assigned to a referee.
func (s *State) attempt(id league.Attempt, refereeID string) (*Attempt, error) {
	if m, _, _, ok := s.restore(id.MatchID); ok {
		if a := m.Attempt(id.Number, refereeID); a != nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("attempt %d at match %s was not assigned to %.40s", id.Number, id.MatchID, refereeID)
}

// A SignedMove is the last move of a player in a match, as far as its place in the match
// is concerned. The last signature of the player is over this move.
type SignedMove struct {
	Player int // index of the player in ids
	Turn   int // from 1
	Before int // the number of moves in earlier turns, in Moves
}

// Statement is what the player signs if the result is true.
func (d *MatchReported) Statement(started string, ids [2]string, at SignedMove) protocol.MoveStatement {
	id := ids[at.Player]
	s := protocol.MoveStatement{
		Started: started, MatchID: d.MatchID.String(), Attempt: d.Number, RefereeID: d.RefereeID, PlayerID: id, Turn: at.Turn,
	}
	if choice, _ := d.Choices.Get(id); choice != nil {
		s.Move = *choice
	} else if rest := d.Evidence.Moves[min(at.Before, len(d.Evidence.Moves)):]; at.Turn == 1 {
		// The match ended before the player's first turn: it has answered the ready turn only, which is no choice.
		if i := slices.IndexFunc(rest, func(m protocol.PlayerMove) bool { return m.PlayerID == id }); i >= 0 {
			s.Move = rest[i].Move
		}
	}
	if d.Draw != nil {
		s.DrawCommitment = d.Draw.Commitment
		s.Entropy, _ = d.Draw.Entropies.Get(id)
		for i := range ids {
			s.EntropyCommitments[i], _ = d.Draw.EntropyCommitments.Get(ids[i])
		}
	}
	signature, _ := d.Signatures.Get(id)
	switch s.ViewHash = signature.ViewHash; {
	case at.Turn <= 1 && len(d.Opening) == 0:
	case s.ViewHash == "":
		s.MovesHash = protocol.MovesHash(d.Opening, d.Evidence.Moves[:at.Before])
	default:
		nonce, _ := protocol.ParseSecret(protocol.ValueOf(d.Draw).Nonce) // a wrong one proves nothing
		s.MovesHash = protocol.HiddenMovesHash(protocol.ShownMoves(d.Evidence.Moves[:at.Before], id, nonce))
	}
	return s
}

// CheckSignature returns an error unless the result has a valid signature of the player
// over this move.
func (d *MatchReported) CheckSignature(started string, ids [2]string, key string, at SignedMove) error {
	signature, ok := d.Signatures.Get(ids[at.Player])
	statement := d.Statement(started, ids, at)
	switch {
	case !ok:
		return errors.New("it is missing")
	case signature.Turn != at.Turn:
		return errors.New("it is of another turn than the last move")
	case !statement.Verify(key, signature.Signature):
		return errors.New("it is not over this match, draw, entropy and move")
	}
	return nil
}
