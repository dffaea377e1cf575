package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/rules"
)

// A ReportJudge judges the reports of referees (spec 003 §8.7.6).
type ReportJudge struct {
	LeagueID string
	GameType string
	Game     rules.Game
}

// Pings are what pings of the two players of a match have shown.
type Pings int

// The states of Pings.
const (
	NotPinged  Pings = iota
	PingsSent        // not all pings have an answer yet
	PlayerAway       // at least one player did not answer
	BothAnswer
	NotRunning // this manager has not resumed the match yet, and pings nobody
)

// A Judgement is how a manager treats a report.
type Judgement struct {
	Result    *journal.MatchReported // the report, as far as it could be read; nil if it is about no match of the referee
	Accepted  bool                   // record Result
	Repeated  bool                   // the result is recorded already: acknowledge it again
	Disputed  bool                   // the match has a different result, which stays
	PingFirst bool                   // ping both players, and judge the report again
	Rejected  string                 // why the report is not credible; "" if it is
	Misdrawn  bool                   // nothing but the number is wrong
	Failed    bool                   // the program of the game has failed, and nothing can be said of the report now
	Lost      *journal.AttemptLost   // the referee has lost its attempt: record this first; nil if it has not
	Err       error                  // for the referee; a *protocol.Error
}

// A Claim is a report of a referee about a match that is assigned to it, as far as the
// report could be read.
type Claim struct {
	result *journal.MatchReported
	ids    [2]string

	relays  bool            // the referee relays signatures, in a league that signs
	started string          // the hash of the event that started the league
	keys    [2]string       // of the players whose moves need a signature; "" for a player that needs none
	signed  [2]bool         // players whose signature was verified
	fault   *protocol.Error // why the signatures do not prove the report; nil if they do
	asked   *Inquiry        // of the program of the game; nil for a game of this program

	overtaken bool // see Overtaken

	Late bool // the match has a result already
}

// Read reads a report of a referee. Started is the hash of the event that started the
// league. The error is one for the referee.
func (j *ReportJudge) Read(s *journal.State, q *protocol.MatchResultReport, refereeID, started string) (c Claim,
	err error) {
	id, _ := league.ParseMatchID(q.MatchID) // no match has the zero id
	recorded, idA, idB, ok := s.Find(id)
	switch {
	case s.Started == nil:
		return c, protocol.Fault(protocol.ErrLeagueNotStarted, "the league has not started")
	case ok && recorded.Reopened() && recorded.LastAttempt(refereeID) > 0 && !recorded.IsAssignedTo(refereeID):
		return c, annulled(recorded, id)
	case !ok || id.Round != q.RoundID && q.RoundID != 0 || !recorded.IsAssignedTo(refereeID) ||
		recorded.LostBy(attemptOf(q, id, recorded, refereeID).Number) == journal.CauseDiscarded: // it has declined the match
		return c, protocol.Fault(protocol.ErrMatchNotFound, "match %.40q is not assigned to %s", q.MatchID, refereeID)
	}
	c.ids, c.Late = [2]string{idA, idB}, recorded.Report != nil
	c.result = j.read(q, attemptOf(q, id, recorded, refereeID), refereeID, c.ids)
	c.started, c.fault = started, q.Refusal()
	j.demand(s, &c)
	return c, nil
}

// Match is the id of the match.
func (c *Claim) Match() league.MatchID { return c.result.MatchID }

// Began compares the opening of a report with that of its match, before Asks. With an error, the program of the game
// has failed, so that nothing can be said of the report now.
func (c *Claim) Began(opening []string, err error, j *ReportJudge) {
	switch r := c.result; {
	case err != nil:
		c.asked.fail(err)
	case !slices.Equal(r.Opening, opening):
		c.fault = protocol.Fault(protocol.ErrInvalidFieldType, "opening: it is not that of the assignment, %.300q", opening)
		r.Opening = opening
		c.asked = j.Inquire(r, c.ids)
	}
}

// Judge judges a claim, after Prove. Reporting is idempotent: a report that repeats the
// recorded result is acknowledged again, and a different one is refused.
func (j *ReportJudge) Judge(s *journal.State, c Claim, pings Pings) (v Judgement) {
	r, refereeID := c.result, c.result.RefereeID
	recorded := s.Match(r.MatchID)
	fault := j.discreet(cmp.Or(c.fault, j.check(s, &c, recorded)))
	// One referee may be wrong about both players. A second that says the same is believed.
	doubleLoss := fault == nil && r.Status == league.StatusTechnicalLoss && r.WinnerPlayerID == nil &&
		doubtedLoss(recorded) == nil
	v.Result = r
	switch {
	case c.fault != nil && recorded.Report != nil && recorded.Report.Reason != journal.NotShown:
		v.Err = fault // nothing of the report can be trusted
	case recorded.Report != nil && recorded.Report.RefereeID == refereeID && !recorded.Void(r.Number) &&
		(same(recorded.Report, r) || repeatsMisdrawn(recorded, r)):
		v.Repeated = true
	case repeatsAnnulled(recorded, r):
		v.Repeated = true // its referee need not report it again
	case recorded.Ruled != nil:
		v.Err = protocol.Fault(protocol.ErrInvalidMatchState, "match %s has a result %v: reports of it do not count any more",
			r.MatchID, recorded.Ruled)
	case recorded.Void(r.Number):
		v.Err = annulled(recorded, r.MatchID)
	case recorded.Report != nil && !repeatsLost(recorded, r):
		v.Disputed = !same(recorded.Report, r)
		v.Err = protocol.Fault(protocol.ErrDuplicateReport, "match %s has a result already", r.MatchID).
			With("match_id", r.MatchID.String()).With("previous_report_time", recorded.ReportedAt)
	case recorded.IsLost(r.Number):
		v.Err = protocol.Fault(protocol.ErrInvalidMatchState,
			"report rejected: %s has lost attempt %d at match %s", refereeID, r.Number, r.MatchID)
	case r.Status == league.StatusTechnicalLoss && (c.overtaken || superseded(recorded, r.Number)):
		v.Err = protocol.Fault(protocol.ErrInvalidMatchState,
			"report rejected: another referee has got match %s since, and players refuse the messages of %s", r.MatchID,
			refereeID)
	case c.asked.Failure() != nil:
		v.Failed = true
		v.Err = fmt.Errorf("the program of %s has failed, so match %s cannot be judged: %s", j.GameType, r.MatchID,
			protocol.CauseOf(c.asked.Failure()))
	case pings == PingsSent || pings == NotPinged && doubleLoss:
		v.PingFirst = true
	case fault != nil:
		// A detail may name members of the report, and everybody may read the journal.
		v.Rejected, v.Err = words.Clip(protocol.WithoutTokens(fault.Detail), 300), fault
		v.Misdrawn = c.fault == nil && !c.relays && j.withoutNumber(s, r) != nil
	case doubleLoss && pings == NotRunning:
		v.Err = protocol.Fault(protocol.ErrInvalidMatchState, "the manager has just restarted: report match %s again",
			r.MatchID)
	case doubleLoss && pings == BothAnswer:
		v.Lost = &journal.AttemptLost{
			Attempt: r.Attempt, RefereeID: refereeID, Cause: journal.CauseBothAnswer, Report: r,
			Reason: fmt.Sprintf("it says that %s and %s both failed, but both answer", c.ids[0], c.ids[1]),
		}
		if v.Accepted = !hasOther(s, r.MatchID, refereeID); !v.Accepted {
			v.Err = protocol.Fault(protocol.ErrInvalidMatchState,
				"both players answer the manager's ping: another referee conducts the match")
		}
	default:
		v.Accepted = true
	}
	return v
}

// superseded tells whether a later attempt at a match is under way. Players that it has invited refuse the messages of
// the earlier one, whose referee may have been stopped meanwhile, so that it reports a technical loss of theirs.
func superseded(recorded *journal.Match, attempt int) bool {
	return slices.ContainsFunc(recorded.Current(), func(a journal.Attempt) bool {
		return a.Number > attempt && a.Accepted && !a.Declined && !a.Failed && !recorded.IsLost(a.Number)
	})
}

// Later returns the later attempts that another referee may have begun since the one of a technical loss, and the
// players that lost it. The answers of that referee may be lost, and it counts as failed then; only the players know.
// It returns none for a third-party referee, which may name no attempt to players.
func (c *Claim) Later(s *journal.State) (attempts []league.Attempt, losers []string) {
	r := c.result
	if r.Status != league.StatusTechnicalLoss || !s.Agents[r.RefereeID].ShowsAccessTokens() {
		return nil, nil
	}
	recorded := s.Match(r.MatchID)
	for _, a := range recorded.Current() {
		if a.Number > r.Number && a.Referee != r.RefereeID && !a.Declined && !recorded.IsLost(a.Number) {
			attempts = append(attempts, league.Attempt{MatchID: r.MatchID, Number: a.Number})
		}
	}
	won := func(id string) bool { return id == protocol.ValueOf(r.WinnerPlayerID) }
	return attempts, slices.DeleteFunc(slices.Clone(c.ids[:]), won)
}

// Overtaken notes that a player which lost knows one of the Later attempts: it may have refused the messages of the
// earlier one because of it.
func (c *Claim) Overtaken() { c.overtaken = true }

// discreet is the error of a report without its details if the game hides something: logs and the journal have it, and
// no card may leave referee and manager before the match is recorded.
func (j *ReportJudge) discreet(fault *protocol.Error) *protocol.Error {
	if fault == nil || !rules.Hides(j.Game) {
		return fault
	}
	member, _, _ := strings.Cut(fault.Detail, ":")
	return protocol.Fault(fault.Code, "%.60s: it contradicts the rest of the report, the rules or the draw; %s hides "+
		"the details", member, j.GameType)
}

// doubtedLoss is the double technical loss by which a referee has lost its attempt, since the match
// was last reopened; nil for none.
func doubtedLoss(recorded *journal.Match) *journal.MatchReported {
	for i := range recorded.LostAttempts {
		if l := &recorded.LostAttempts[i]; l.Cause == journal.CauseBothAnswer && !recorded.Void(l.Number) {
			return l.Report
		}
	}
	return nil
}

// hasOther tells whether another referee can conduct a match than the one that has it.
func hasOther(s *journal.State, id league.MatchID, refereeID string) bool {
	recorded, a, b, _ := s.Find(id)
	return NextReferee(s, refereeID, 1, func(other string) bool {
		failed := func(at journal.Attempt) bool {
			return at.Referee == other && (at.Failed || recorded.IsLost(at.Number))
		}
		return other == refereeID || CannotCall(s, other, a, b) || slices.ContainsFunc(recorded.Current(), failed)
	}) != ""
}

// annulled is the error of a report of an attempt from before a rematch.
func annulled(recorded *journal.Match, id league.MatchID) *protocol.Error {
	return protocol.Fault(protocol.ErrInvalidMatchState,
		"the earlier attempts at match %s are annulled %v: it is played again", id,
		&recorded.Annulled[len(recorded.Annulled)-1].By)
}

// repeatsAnnulled tells whether a report repeats a result that an organiser has annulled.
func repeatsAnnulled(recorded *journal.Match, r *journal.MatchReported) bool {
	before := recorded.AnnulledOutcome(r.Number)
	return before != nil && before.Report.RefereeID == r.RefereeID && same(before.Report, r)
}

// repeatsMisdrawn tells whether a report repeats the one whose result counts without its number.
func repeatsMisdrawn(recorded *journal.Match, r *journal.MatchReported) bool {
	return slices.ContainsFunc(recorded.LostAttempts, func(l journal.AttemptLost) bool {
		return l.Number == r.Number && l.Cause == journal.CauseRejected && l.Report != nil && same(l.Report, r)
	})
}

// repeatsLost tells whether a report repeats the double technical loss by which its referee has lost the attempt: the
// answer to the first one was lost.
func repeatsLost(recorded *journal.Match, r *journal.MatchReported) bool {
	return slices.ContainsFunc(recorded.LostAttempts, func(l journal.AttemptLost) bool {
		return l.Number == r.Number && l.RefereeID == r.RefereeID && l.Cause == journal.CauseBothAnswer && same(l.Report, r)
	})
}

// same tells whether two reports say the same about a match.
func same(a, b *journal.MatchReported) bool {
	for _, c := range a.Choices {
		other, _ := b.Choices.Get(c.Name)
		if protocol.ValueOf(c.Value) != protocol.ValueOf(other) {
			return false
		}
	}
	return a.Status == b.Status && protocol.ValueOf(a.WinnerPlayerID) == protocol.ValueOf(b.WinnerPlayerID) &&
		protocol.ValueOf(a.DrawnNumber) == protocol.ValueOf(b.DrawnNumber)
}

// attemptOf is the attempt that a report is about: the one it names, if that is the
// referee's, else the referee's last.
func attemptOf(q *protocol.MatchResultReport, id league.MatchID, recorded *journal.Match, refereeID string) league.Attempt {
	if named := q.Named(); recorded.Attempt(named, refereeID) != nil {
		return league.Attempt{MatchID: id, Number: named}
	}
	return league.Attempt{MatchID: id, Number: recorded.LastAttempt(refereeID)}
}

// read makes a result of a report, as far as it can be read. It accepts a report
// without details or with winner "DRAW". It ignores the score, because the manager
// computes the points.
func (j *ReportJudge) read(q *protocol.MatchResultReport, attempt league.Attempt, refereeID string,
	ids [2]string) *journal.MatchReported {
	given := &q.Result.Result
	both := &struct { // one allocation
		journal.MatchReported
		choices [2]league.Member[*string]
		score   [2]league.Member[int]
	}{}
	r := &both.MatchReported
	*r = journal.MatchReported{Attempt: attempt, RefereeID: refereeID, Result: *given, Draw: q.Draw, Evidence: q.Evidence}
	r.Reason = protocol.WithoutTokens(given.Reason) // everybody may read the journal
	r.Choices, r.Faults, r.Fallbacks, r.Score = both.choices[:0], nil, nil, both.score[:0]
	for _, id := range ids {
		choice, _ := given.Choices.Get(id)
		r.Choices = append(r.Choices, league.Member[*string]{Name: id, Value: choice})
		code, ok := given.Faults.Get(id)
		if ok && protocol.Code(code).Name() != "" && given.Status == league.StatusTechnicalLoss {
			r.Faults = append(r.Faults, league.Member[string]{Name: id, Value: code})
		}
		if n, _ := given.Fallbacks.Get(id); n > 0 && n <= rules.MaxTurns(j.Game) {
			r.Fallbacks = append(r.Fallbacks, league.Member[int]{Name: id, Value: n})
		}
	}
	drawn := protocol.ValueOf(given.WinnerPlayerID) == "DRAW"
	if drawn {
		r.WinnerPlayerID = nil
	}
	switch {
	case r.Status != "":
	case drawn:
		r.Status = league.StatusDraw
	default:
		r.Status = inferStatus(given, r, ids)
	}
	moves := r.Result.Moves(ids)
	if protocol.ValueOf(r.DrawnNumber) == 0 && (r.Status == league.StatusTechnicalLoss || moves[0] == "" ||
		moves[1] == "") {
		r.DrawnNumber = nil // third-party referees report 0 if they drew nothing or name no choices
	}
	return r
}

// inferStatus is the status of a report that names none. One without a number is a technical loss if
// no player but the winner has a choice: a player that answered did not fail.
func inferStatus(given *league.Result, r *journal.MatchReported, ids [2]string) string {
	winner, moves := protocol.ValueOf(r.WinnerPlayerID), r.Result.Moves(ids)
	answered := false // a player that did not win
	for i, id := range ids {
		answered = answered || id != winner && moves[i] != ""
	}
	switch {
	case given.DrawnNumber == nil && given.Choices != nil && !answered:
		return league.StatusTechnicalLoss
	case slices.Contains(ids[:], winner):
		return league.StatusWin
	}
	return league.StatusDraw
}

// check completes a result that was read: it adds the score and the grade. It returns an error if
// the result contradicts itself, the rules or the draw, or if the report does not show as much of it
// as the league or the referee's own declaration demands; nil if it counts.
func (j *ReportJudge) check(s *journal.State, c *Claim, recorded *journal.Match) *protocol.Error {
	r, promised, grade, missing := c.result, "", "", ""
	if at := recorded.Attempt(r.Number, r.RefereeID); at != nil {
		promised = at.Commitment
	}
	var err error
	if w := r.WinnerPlayerID; w != nil && !slices.Contains(c.ids[:], *w) {
		r.WinnerPlayerID = nil
		err = fmt.Errorf("result.winner must be %s, %s or null", c.ids[0], c.ids[1])
	} else {
		grade, missing, err = j.Grade(r, promised, c.ids, c.signed, c.asked)
	}
	if err == nil && missing != "" && (c.relays || s.Created.RequiresEvidence()) {
		err = fmt.Errorf("%s: a report shows all moves of both players, and the draw", missing)
	}
	if r.Status == league.StatusTechnicalLoss || err == nil && protocol.ValueOf(r.DrawnNumber) == 0 {
		r.DrawnNumber, r.NumberParity = nil, nil // no draw counts
	}
	if err == nil {
		var score [2]league.Member[int]
		if score, err = s.Score(r); err == nil {
			r.Score, r.Grade = append(r.Score[:0], score[:]...), grade
			return nil
		}
	}
	r.Score = league.Both(c.ids[0], 0, c.ids[1], 0)
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		return fault
	}
	return protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
}

// LoseAttempt records that a referee lost an attempt by rejected reports, of which this is the last.
func LoseAttempt(v Judgement) *journal.AttemptLost {
	lost := &journal.AttemptLost{Attempt: v.Result.Attempt, RefereeID: v.Result.RefereeID, Reason: v.Rejected,
		Cause: journal.CauseRejected}
	if v.Misdrawn {
		lost.Report = v.Result
	}
	return lost
}

// withoutNumber is the result of a report of which only the number is wrong, without that number: the winner
// follows from the choices and the number. Nil for any other report.
func (j *ReportJudge) withoutNumber(s *journal.State, r *journal.MatchReported) *journal.MatchReported {
	recorded, idA, idB, ok := s.Find(r.MatchID)
	if !ok || r.Draw != nil || r.Status == league.StatusTechnicalLoss || s.Created.RequiresEvidence() {
		return nil
	}
	ids := [2]string{idA, idB}
	if at := recorded.Attempt(r.Number, r.RefereeID); at == nil || at.Commitment != "" {
		return nil
	}
	verdict, decided, err := rules.Follows(j.Game, r.Result.Moves(ids), r.DrawnNumber)
	wrong, misdrawn := errors.AsType[*rules.NumberError](err)
	winner := protocol.ValueOf(r.WinnerPlayerID)
	if !misdrawn || !decided || verdict.WinnerOf(ids) != winner || (r.Status == league.StatusWin) != (winner != "") {
		return nil
	}
	rest := *r
	rest.DrawnNumber, rest.NumberParity, rest.Grade = nil, nil, journal.GradeStated
	rest.Reason = fmt.Sprintf("its referee drew %d; the game draws %d to %d", wrong.Number, wrong.Least, wrong.Most)
	score, err := s.Score(&rest)
	if rest.Score = score[:]; err != nil {
		return nil
	}
	return &rest
}

// ResultOfLostAttempt is the result of a match that no other referee can conduct, by its last lost
// attempt: the double technical loss that it reported, its result without an impossible number, or a draw
// without choices. Nil if the match has a result, or no attempt is lost but those of referees that send no token.
func (j *ReportJudge) ResultOfLostAttempt(s *journal.State, id league.MatchID) (*journal.MatchReported, error) {
	recorded, _, _, _ := s.Find(id)
	var lost *journal.AttemptLost
	for i := range recorded.LostAttempts {
		if l := &recorded.LostAttempts[i]; l.Cause != journal.CauseNoToken && !recorded.Void(l.Number) {
			lost = l
		}
	}
	if lost == nil || recorded.Report != nil {
		return nil, nil //nolint:nilnil // there is no such result
	}
	return j.ResultOf(s, lost)
}

// ResultOf is what is recorded of a lost attempt if no other referee conducts the match.
func (j *ReportJudge) ResultOf(s *journal.State, lost *journal.AttemptLost) (*journal.MatchReported, error) {
	if lost.Report != nil && lost.Cause == journal.CauseBothAnswer {
		return lost.Report, nil
	}
	if lost.Report != nil {
		if rest := j.withoutNumber(s, lost.Report); rest != nil {
			return rest, nil
		}
	}
	_, idA, idB, _ := s.Find(lost.MatchID)
	r := &journal.MatchReported{Attempt: lost.Attempt, RefereeID: lost.RefereeID, Grade: journal.GradeStated,
		Result: league.Result{
			Status: league.StatusDraw, Choices: league.Both[*string](idA, nil, idB, nil), Reason: journal.NotShown,
		}}
	score, err := s.Score(r)
	r.Score = score[:]
	return r, err
}
