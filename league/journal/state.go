package journal

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/table"
)

// A State is a league as its events made it: a pure fold, the same from the
// same events wherever and whenever it is made. Apply is the only thing that
// changes one. Not safe for concurrent use.
type State struct {
	Events  int      // how many were applied
	Created *Created // nil before the first event
	Agents  map[string]*Agent
	Dropped map[string]bool // ids whose registration was dropped

	Started   *Started // nil before the start
	Table     *table.Table
	Recorded  int     // matches with a result
	Round     int     // the last announced, from 1; 0 before the first
	Rounds    []Round // those announced
	Completed *LeagueCompleted

	pairer pairing.Pairer // nil before the start
	places map[string]int // of players in the table, by id
}

// An Agent is a registered player or referee.
type Agent struct {
	ID           string
	Player       bool
	Name         string
	Endpoint     string
	URL          string // Endpoint in the form of protocol.CanonicalURL
	Capacity     int    // matches at once, of a referee
	Registration string // what knows the same registration again
	Generation   int    // of its token
	Since        string // when it got this token
	Confirmed    bool   // it has used this token
	Informed     bool   // it knows that the league is over
	RefereeAuth  string // protocol.RefereeAuthNone for a referee that shows players no access tokens
	Registered   string // when it registered, as Event.At
	Answered     bool   // something answered at its endpoint, or the manager does not ping agents

	Version, ProtocolVersion string   // that it named; "" in a simulation
	GameTypes                []string // likewise

	Suspended string // why it gets nothing to do; "" when it does
	Shutdown  string // why its part in the league is over; "" when it is not
	Returned  string // why its last suspension ended
	Failures  int    // in a row: of a player in matches, of a referee with what it was handed
	Forgiven  int    // the failures it had when it returned: without another it is not suspended again
	Fault     string // the code of a player's last failure
	Failing   int    // failures of a referee in this round
	Reported  bool   // a referee's: results in this round
}

// A Match is what happened to one match of the schedule.
type Match struct {
	Attempts   []Attempt
	Report     *MatchReported // nil while there is no result; of no referee and attempt 0 when it was forfeited
	ReportedAt string         // when it was recorded, as a timestamp of the protocol
	Forfeited  []string       // the players that forfeit it, in its order
	Disputed   []string       // referees that reported another result, later
	Doubts     []MatchDoubted // attempts that were lost by rejected reports
}

// An Attempt is one time that a match was handed to a referee.
type Attempt struct {
	Number     int
	Referee    string
	Commitment string // "" before the referee accepted, and from a referee that gives none
	Accepted   bool   // the referee said that it plays it
	Declined   bool   // the referee does not have it
	Failed     bool   // the referee did not do it
}

// Holds tells whether a referee has, or had, the match.
func (m *Match) Holds(refereeID string) bool {
	return slices.ContainsFunc(m.Attempts, func(a Attempt) bool { return a.Referee == refereeID && !a.Declined })
}

// LastAttempt is the number of the last attempt of a referee; 0 for none.
func (m *Match) LastAttempt(refereeID string) (number int) {
	for _, a := range m.Attempts {
		if a.Referee == refereeID {
			number = a.Number
		}
	}
	return number
}

// Doubted tells whether an attempt was lost by rejected reports.
func (m *Match) Doubted(attempt int) bool {
	return slices.ContainsFunc(m.Doubts, func(d MatchDoubted) bool { return d.Number == attempt })
}

// A Round is one that was announced.
type Round struct {
	Pairings    []pairing.Pairing
	Matches     []Match  // of the pairings, in the same order
	Referees    []string // of its matches, in order
	AnnouncedAt string
	CompletedAt string // "" while it is open
	Summary     protocol.RoundSummary
}

// NewState is the state before the first event.
func NewState() *State {
	return &State{Agents: map[string]*Agent{}, Dropped: map[string]bool{}, places: map[string]int{}}
}

// Open tells whether a round is announced and not completed.
func (s *State) Open() bool { return s.Round > 0 && s.Rounds[s.Round-1].CompletedAt == "" }

// PlayerIndex is the index of a player in pairings and in the table, and false when it does not take part.
func (s *State) PlayerIndex(playerID string) (int, bool) {
	i, ok := s.places[playerID]
	return i, ok
}

// TotalRounds is the number of rounds of the league; 0 before the start.
func (s *State) TotalRounds() int {
	if s.pairer == nil {
		return 0
	}
	return s.pairer.Rounds()
}

// TotalMatches is the number of matches of all rounds; 0 before the start.
func (s *State) TotalMatches() int {
	if s.pairer == nil {
		return 0
	}
	return s.pairer.Matches()
}

// Pairings returns the pairings of a round, announced or not, in the order of their
// match numbers. It returns nil before the start, for a round that the league does
// not have, and for one whose pairings are not known yet. All code that needs a
// round gets it here. The caller must not change the result.
func (s *State) Pairings(round int) []pairing.Pairing {
	switch {
	case s.pairer == nil:
		return nil
	case round >= 1 && round <= s.Round:
		return s.Rounds[round-1].Pairings
	}
	return s.pairer.Round(round)
}

// Opponent returns the opponent of a player in a round, and the number of their
// match. Players are indexes as in pairings. It returns false if the player has a
// bye, and where Pairings returns nil.
func (s *State) Opponent(round, player int) (opponent, number int, ok bool) {
	for i, p := range s.Pairings(round) {
		switch player {
		case p.A:
			return p.B, i + 1, true
		case p.B:
			return p.A, i + 1, true
		}
	}
	return 0, 0, false
}

// Matches returns the matches of all announced rounds, in order.
func (s *State) Matches() iter.Seq[*Match] {
	return func(yield func(*Match) bool) {
		for i := range s.Rounds {
			for k := range s.Rounds[i].Matches {
				if !yield(&s.Rounds[i].Matches[k]) {
					return
				}
			}
		}
	}
}

// Find is a match of an announced round, with its two players.
func (s *State) Find(id protocol.MatchID) (m *Match, playerA, playerB string, ok bool) {
	if id.Round < 1 || id.Round > s.Round {
		return nil, "", "", false
	}
	r, players := &s.Rounds[id.Round-1], s.Started.Players
	if id.Number < 1 || id.Number > len(r.Matches) {
		return nil, "", "", false
	}
	pair := r.Pairings[id.Number-1]
	return &r.Matches[id.Number-1], players[pair.A], players[pair.B], true
}

// Referee is the referee of a match of an announced round: the one that reported
// its result, else the last one that has it, else the announced one. "" for a match
// that was forfeited.
func (s *State) Referee(round, number int) string {
	m := &s.Rounds[round-1].Matches[number-1]
	if m.Report != nil {
		return m.Report.RefereeID
	}
	for i := len(m.Attempts) - 1; i >= 0; i-- {
		if a := &m.Attempts[i]; !a.Declined && !a.Failed {
			return a.Referee
		}
	}
	return s.Rounds[round-1].Referees[number-1]
}

// Attempt is an attempt that was assigned to a referee; nil if there is no such.
func (m *Match) Attempt(number int, refereeID string) *Attempt {
	for i := range m.Attempts {
		if a := &m.Attempts[i]; a.Number == number && a.Referee == refereeID {
			return a
		}
	}
	return nil
}

// NextAttempt is the number that the next attempt at a match gets.
func (m *Match) NextAttempt() int {
	next := 1
	for _, a := range m.Attempts {
		next = max(next, a.Number+1)
	}
	return next
}

// Apply folds one event. An event that cannot have happened is an error, and
// changes nothing.
func (s *State) Apply(e *Event) error {
	if (e.Seq == 1) != (s.Created == nil) {
		return errors.New("a journal begins with the event created, and has no other")
	}
	err := s.apply(e)
	if err == nil {
		s.Events++
	}
	return err
}

func (s *State) apply(e *Event) error {
	switch d := e.Data.(type) {
	case *Created:
		return s.create(d)
	case *AgentRegistered:
		return s.register(d, e.At)
	case *AgentAnswered:
		a := s.Agents[d.AgentID]
		if a == nil {
			return unregistered(d.AgentID)
		}
		if a.Answered {
			return fmt.Errorf("%s has answered before", d.AgentID)
		}
		a.Answered = true
	case *RegistrationDropped:
		return s.drop(d)
	case *AgentReturned:
		return s.welcomeBack(d, e.At)
	case *AgentConfirmed:
		a := s.Agents[d.AgentID]
		if a == nil {
			return unregistered(d.AgentID)
		}
		a.Confirmed = a.Confirmed || d.Generation == a.Generation
	case *AgentSuspended:
		a := s.Agents[d.AgentID]
		if a == nil {
			return unregistered(d.AgentID)
		}
		if a.Shutdown != "" {
			return gone(a)
		}
		a.Suspended = d.Reason
	case *AgentFailed:
		return s.fail(d)
	case *AgentShutdown:
		a := s.Agents[d.AgentID]
		if a == nil {
			return unregistered(d.AgentID)
		}
		if a.Shutdown != "" {
			return gone(a)
		}
		a.Shutdown = d.Reason
	case *Started:
		return s.start(d)
	case *RoundAnnounced:
		return s.announce(d, e.At)
	case *MatchAssigned:
		return s.assign(d)
	case *MatchAccepted:
		return s.accept(d)
	case *MatchDeclined:
		a, err := s.attempt(d.Attempt, d.RefereeID)
		if err != nil {
			return err
		}
		a.Declined = true
	case *MatchReported:
		return s.report(d, e.At)
	case *MatchForfeited:
		return s.forfeit(d)
	case *MatchDisputed:
		m, _, _, ok := s.Find(d.MatchID)
		if !ok || m.Report == nil {
			return fmt.Errorf("a dispute about %s, which has no result", d.MatchID)
		}
		m.Disputed = append(m.Disputed, d.RefereeID)
	case *MatchDoubted:
		if _, err := s.attempt(d.Attempt, d.RefereeID); err != nil {
			return err
		}
		m, _, _, _ := s.Find(d.MatchID) // the attempt was found
		if m.Report != nil {
			return fmt.Errorf("a doubt about %s, which has a result", d.MatchID)
		}
		m.Doubts = append(m.Doubts, *d)
	case *RoundCompleted:
		return s.completeRound(d, e.At)
	case *LeagueCompleted:
		return s.complete(d)
	case *TailLost: // changes nothing
	case *AgentInformed:
		a := s.Agents[d.AgentID]
		if a == nil {
			return unregistered(d.AgentID)
		}
		if s.Completed == nil {
			return errors.New("nobody can know that a league is over that is not")
		}
		a.Informed = true
	default:
		return fmt.Errorf("events of type %s are not folded", d.kind())
	}
	return nil
}

func unregistered(id string) error { return fmt.Errorf("agent %.40q is not registered", id) }

func (s *State) create(d *Created) error {
	if s.Created != nil {
		return errors.New("a league is created once")
	}
	if err := store.CheckSchema(d.SchemaVersion); err != nil {
		return err
	}
	if d.Legs < 1 {
		return fmt.Errorf("legs: %d", d.Legs)
	}
	if err := d.TableScoring().Validate(); err != nil {
		return err
	}
	if d.Auth != "" && d.Auth != protocol.AuthLenient {
		return fmt.Errorf("auth: %.40q", d.Auth)
	}
	s.Created = d
	return nil
}

// TableScoring is the scoring with its tie-breaks.
func (d *Created) TableScoring() table.Scoring {
	return table.Scoring{
		Win: d.Scoring.Win, Draw: d.Scoring.Draw, Loss: d.Scoring.Loss, TechnicalLoss: d.Scoring.TechnicalLoss,
		Tiebreakers: d.Tiebreakers,
	}
}

// maxMatches limits the time that a journal of a few lines can cost.
const maxMatches = 1 << 27

func (s *State) start(d *Started) error {
	if s.Started != nil {
		return errors.New("a league starts once")
	}
	for _, group := range []struct {
		ids    []string
		player bool
	}{{d.Players, true}, {d.Referees, false}} {
		for i, id := range group.ids {
			a := s.Agents[id]
			if a == nil || a.Player != group.player {
				return unregistered(id)
			}
			if !a.Answered {
				return fmt.Errorf("%s takes part, but has not answered", id)
			}
			if i > 0 && protocol.CompareIDs(group.ids[i-1], id) >= 0 {
				return fmt.Errorf("%s stands behind %s: ids are in ascending order", id, group.ids[i-1])
			}
		}
	}
	if len(d.Players)+len(d.Referees) != len(s.Agents) || len(d.Referees) == 0 {
		return fmt.Errorf("%d players and %d referees start, but %d agents are registered", len(d.Players), len(d.Referees), len(s.Agents))
	}
	pairer, err := pairing.New(d.Algorithm, len(d.Players), s.Created.Legs)
	if err != nil {
		return err
	}
	if pairer.Matches() > maxMatches {
		return fmt.Errorf("%d players and %d legs make %d matches: more than the %d that fit", len(d.Players), s.Created.Legs, pairer.Matches(), maxMatches)
	}
	counts, err := table.New(len(d.Players), s.Created.TableScoring())
	if err != nil {
		return err
	}
	s.Started, s.pairer, s.Table = d, pairer, counts
	for i, id := range d.Players {
		s.places[id] = i
	}
	return nil
}

func (s *State) announce(d *RoundAnnounced, at string) error {
	pairings := s.Pairings(d.RoundID)
	switch {
	case s.Started == nil:
		return errors.New("a round before the start")
	case s.Open():
		return fmt.Errorf("round %d is announced while round %d is open", d.RoundID, s.Round)
	case d.RoundID != s.Round+1 || d.RoundID > s.TotalRounds():
		return fmt.Errorf("round %d is announced after round %d of %d", d.RoundID, s.Round, s.TotalRounds())
	case len(d.Referees) != len(pairings):
		return fmt.Errorf("round %d has %d matches, but %d referees are named", d.RoundID, len(pairings), len(d.Referees))
	}
	for _, id := range d.Referees {
		if err := s.referee(id); err != nil {
			return err
		}
	}
	s.Round = d.RoundID
	s.Rounds = append(s.Rounds, Round{Pairings: pairings, Matches: make([]Match, len(pairings)), Referees: d.Referees, AnnouncedAt: at})
	return nil
}

func (s *State) referee(id string) error {
	if a := s.Agents[id]; a == nil || a.Player {
		return fmt.Errorf("%.40q is no referee of this league", id)
	}
	return nil
}

func (s *State) assign(d *MatchAssigned) error {
	m, _, _, ok := s.Find(d.MatchID)
	switch {
	case !ok:
		return fmt.Errorf("match %s is not of an announced round", d.MatchID)
	case d.Number != m.NextAttempt():
		return fmt.Errorf("match %s: attempt %d follows attempt %d", d.MatchID, d.Number, m.NextAttempt()-1)
	}
	if err := s.referee(d.RefereeID); err != nil {
		return err
	}
	m.Attempts = append(m.Attempts, Attempt{Number: d.Number, Referee: d.RefereeID})
	return nil
}

func (s *State) accept(d *MatchAccepted) error {
	a, err := s.attempt(d.Attempt, d.RefereeID)
	if err != nil {
		return err
	}
	if a.Commitment != "" && a.Commitment != d.DrawCommitment {
		return fmt.Errorf("match %s attempt %d: %s gives a second, different commitment", d.MatchID, d.Number, d.RefereeID)
	}
	a.Commitment, a.Accepted, a.Declined = d.DrawCommitment, true, false
	return nil
}

// attempt finds one that was assigned.
func (s *State) attempt(at protocol.Attempt, refereeID string) (*Attempt, error) {
	if m, _, _, ok := s.Find(at.MatchID); ok {
		if a := m.Attempt(at.Number, refereeID); a != nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("attempt %d at match %s was not assigned to %.40s", at.Number, at.MatchID, refereeID)
}

func (s *State) report(d *MatchReported, at string) error {
	m, idA, idB, ok := s.Find(d.MatchID)
	switch {
	case !ok:
		return fmt.Errorf("a result of match %s, which is not of an announced round", d.MatchID)
	case m.Report != nil:
		return fmt.Errorf("a second result of match %s", d.MatchID)
	case !m.Holds(d.RefereeID):
		return fmt.Errorf("match %s was not assigned to %.40s", d.MatchID, d.RefereeID)
	}
	if err := s.referee(d.RefereeID); err != nil {
		return err
	}
	if err := s.result(m, d, idA, idB); err != nil {
		return err
	}
	m.ReportedAt = seconds(at)
	s.Agents[d.RefereeID].Reported = true
	s.Agents[idA].played(&d.Outcome)
	s.Agents[idB].played(&d.Outcome)
	return nil
}

// seconds is the time of an event as messages have it: without milliseconds.
func seconds(at string) string {
	whole, _, found := strings.Cut(at, ".")
	if !found {
		return at
	}
	return whole + "Z"
}

// result counts the result of a match between two players.
func (s *State) result(m *Match, d *MatchReported, idA, idB string) error {
	outcome, err := s.Outcome(d)
	if err != nil {
		return err
	}
	pointsA, pointsB := s.Table.Points(outcome)
	gotA, okA := d.Score.Get(idA)
	gotB, okB := d.Score.Get(idB)
	if !okA || !okB {
		return fmt.Errorf("match %s: the score is not that of %s and %s", d.MatchID, idA, idB)
	}
	if gotA != pointsA || gotB != pointsB {
		return fmt.Errorf("match %s: the score is %d to %d, by the league's scoring it is %d to %d", d.MatchID, gotA, gotB, pointsA, pointsB)
	}
	if err := s.Table.Record(outcome); err != nil {
		return err
	}
	m.Report = d
	s.Recorded++
	return nil
}

// Outcome is a result as the table counts it.
func (s *State) Outcome(d *MatchReported) (table.Outcome, error) {
	_, idA, idB, ok := s.Find(d.MatchID)
	if !ok {
		return table.Outcome{}, fmt.Errorf("match %s is not of an announced round", d.MatchID)
	}
	o := table.Outcome{A: s.places[idA], B: s.places[idB], Winner: table.None}
	switch d.Status {
	case protocol.StatusWin, protocol.StatusDraw:
	case protocol.StatusTechnicalLoss:
		o.Technical = true
	default:
		return o, fmt.Errorf("match %s: unknown status %.40q", d.MatchID, d.Status)
	}
	if w := d.WinnerPlayerID; w != nil {
		if *w != idA && *w != idB {
			return o, fmt.Errorf("match %s: the winner %.40s did not play", d.MatchID, *w)
		}
		o.Winner = s.places[*w]
	}
	if d.Status == protocol.StatusWin && o.Winner == table.None || d.Status == protocol.StatusDraw && o.Winner != table.None {
		return o, fmt.Errorf("match %s: status %s does not go with that winner", d.MatchID, d.Status)
	}
	return o, nil
}

// Score is the points of a result by the league's scoring.
func (s *State) Score(d *MatchReported) (protocol.PerPlayer[int], error) {
	outcome, err := s.Outcome(d)
	if err != nil {
		return nil, err
	}
	_, idA, idB, _ := s.Find(d.MatchID)
	pointsA, pointsB := s.Table.Points(outcome)
	return protocol.Both(idA, pointsA, idB, pointsB), nil
}

func (s *State) completeRound(d *RoundCompleted, at string) error {
	if !s.Open() || d.RoundID != s.Round {
		return fmt.Errorf("round %d is completed, but it is not open", d.RoundID)
	}
	want := s.Summary(d.RoundID)
	if want.Wins+want.Draws+want.TechnicalLosses != want.TotalMatches {
		return fmt.Errorf("round %d is completed while matches of it have no result", d.RoundID)
	}
	if d.Summary != want {
		return fmt.Errorf("round %d: the summary is %s, by its results it is %s", d.RoundID, counts(d.Summary), counts(want))
	}
	r := &s.Rounds[s.Round-1]
	r.CompletedAt, r.Summary = at, d.Summary
	for _, id := range s.Started.Referees {
		s.Agents[id].conducted()
	}
	return nil
}

func counts(s protocol.RoundSummary) string {
	return fmt.Sprintf("%d matches, %d won, %d drawn, %d technical losses", s.TotalMatches, s.Wins, s.Draws, s.TechnicalLosses)
}

func (s *State) complete(d *LeagueCompleted) error {
	switch {
	case s.Completed != nil:
		return errors.New("a league is completed once")
	case s.Started == nil || s.Round != s.TotalRounds() || s.Open():
		return errors.New("the league is completed before its last round is")
	}
	first := s.Table.Standings()[0]
	if id := s.Started.Players[first.Player]; d.Champion.PlayerID != id || d.Champion.Points != first.Points {
		return fmt.Errorf("the champion is %s with %d points, by the table it is %s with %d",
			d.Champion.PlayerID, d.Champion.Points, id, first.Points)
	}
	s.Completed = d
	return nil
}
