package journal

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// A State is the state of a league after its events. Only Apply changes it. It is
// not safe for concurrent use.
type State struct {
	Events  int      // that were applied
	Created *Created // nil before the first event
	Agents  map[string]*Agent
	Dropped map[string]*Agent // by id: those whose registration was dropped

	Configuration *Configuration // in force

	StartPlanned *PlannedStart // the last one; nil for none
	Leader       *Leader       // the manager since the last takeover; nil for none

	Started   *Started // nil before the start
	Table     *league.Table
	Recorded  int                // matches with a result
	Doubts    map[string]*Doubts // by referee
	Round     int                // the last announced, from 1; 0 before the first
	Rounds    []Round            // the announced ones
	Revised   int                // grows when a result stops to count, or that of a match that was played again counts
	Completed *LeagueCompleted

	Paused    *Made            // nil unless an organiser has paused the league
	Rematches []league.MatchID // ordered, or begun without a result yet, in the order of the decisions

	pairer        pairing.Pairer    // of no rounds before the start
	played        [][]league.Played // of the completed rounds; nil in a round-robin
	absent        pairing.Absences  // of rounds of a Swiss system and bracket
	upcoming      upcoming
	playerIndexes map[string]int // of players in pairings and in the table, by id
	// by referee and player: the matches of the player that were announced for the referee and not forfeited
	meetings map[string][]int32

	condensed int                            // rounds that Condense has reduced
	results   map[sharedResult]*sharedResult // of their matches
}

// A Round is a round that was announced.
type Round struct {
	Pairings    []pairing.Pairing
	Matches     []Match  // of the pairings, in the same order; nil after Condense: see State.Match
	Referees    []string // of the matches, in the same order; nil after Condense
	AnnouncedAt string
	CompletedAt string // "" while the round is open
	Summary     protocol.RoundSummary
	Byes        []int // players that got points for a bye

	condensed []condensedMatch // of the pairings; nil before Condense
}

// A Match is the state of one match.
type Match struct {
	Outcome

	Attempts     []Attempt // numbered from 1 without gaps
	LostAttempts []AttemptLost

	RematchOrdered *Made             // nil, or the order to play the match again
	Annulled       []AnnulledOutcome // the results that no longer count, in their order
}

// An Attempt is an attempt at a match, assigned to one referee.
type Attempt struct {
	Number     int
	Referee    string
	Commitment string // to the draw; "" before the referee accepted, and if it gives none
	Accepted   bool   // the referee conducts the match
	Declined   bool   // the referee does not conduct the match
	Erred      bool   // the referee answered with an error after it had invited players; see MatchDeclined.Error
	Failed     bool   // the referee failed
	Round      int    // the last announced one when the attempt was assigned
	Event      int    // that accepted it; 0 for none
}

// NewState returns the state before the first event.
func NewState() *State {
	return &State{Configuration: &Configuration{}, Agents: map[string]*Agent{}, Dropped: map[string]*Agent{},
		pairer:        pairing.RoundRobin{},
		playerIndexes: map[string]int{}, meetings: map[string][]int32{}, results: map[sharedResult]*sharedResult{}, Doubts: map[string]*Doubts{}}
}

// Apply folds one event. An error means that the event cannot have happened; it
// leaves the state unchanged.
func (s *State) Apply(e *Event) error {
	if (e.Seq == 1) != (s.Created == nil) {
		return errors.New("a journal begins with the event created, and has no other")
	}
	if err := e.Data.apply(s, e.At); err != nil {
		return err
	}
	s.Events++
	return nil
}

// Open tells whether a round is announced and not completed.
func (s *State) Open() bool { return s.Round > 0 && s.Rounds[s.Round-1].CompletedAt == "" }

// TotalRounds is the number of rounds of the league; 0 before the start. A bracket can
// end earlier: until then it is the largest possible number.
func (s *State) TotalRounds() int {
	if s.Completed != nil {
		return s.Round
	}
	return s.pairer.Rounds()
}

// TotalMatches is the number of matches of all rounds; 0 before the start. In a bracket
// it is the largest possible number until the end.
func (s *State) TotalMatches() int {
	if s.Completed != nil {
		return s.Recorded
	}
	return s.pairer.Matches()
}

// Pairings returns the pairings of a round, announced or not, in the order of their
// match numbers. It returns nil before the start, for a round that the league does
// not have, and for one whose pairings are not known yet. All code that needs a
// round gets it here. The caller must not change the result.
func (s *State) Pairings(round int) []pairing.Pairing {
	if round >= 1 && round <= s.Round {
		return s.Rounds[round-1].Pairings
	}
	return s.pairingsOf(round)
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

// Meetings are the matches of each player, by index, that were announced for a referee and not forfeited; nil for
// none. The caller must not change them.
func (s *State) Meetings(refereeID string) []int32 { return s.meetings[refereeID] }

// countMeeting counts a match that is announced for a referee; -1 takes it back.
func (s *State) countMeeting(refereeID string, p pairing.Pairing, times int32) {
	counts := s.meetings[refereeID]
	if counts == nil {
		counts = make([]int32, len(s.Started.Players))
		s.meetings[refereeID] = counts
	}
	counts[p.A] += times
	counts[p.B] += times
}

// PlayerIndex is the index of a player in pairings and in the table. It returns false
// for a player that takes no part, and before the start.
func (s *State) PlayerIndex(playerID string) (int, bool) {
	i, ok := s.playerIndexes[playerID]
	return i, ok
}

// Match returns a match of an announced round. The caller must not change it.
func (s *State) Match(id league.MatchID) *Match {
	r := &s.Rounds[id.Round-1]
	if r.Matches != nil {
		return &r.Matches[id.Number-1]
	}
	return s.expand(id, &r.condensed[id.Number-1])
}

// Matches returns the matches of all announced rounds, in order, with their ids.
func (s *State) Matches() iter.Seq2[league.MatchID, *Match] { return s.MatchesOf(1, s.Round) }

// MatchesOf returns the matches of announced rounds from one to another, in order, with their ids.
func (s *State) MatchesOf(first, last int) iter.Seq2[league.MatchID, *Match] {
	return func(yield func(league.MatchID, *Match) bool) {
		for round := first; round <= last; round++ {
			for i := range s.Rounds[round-1].Pairings {
				if id := (league.MatchID{Round: round, Number: i + 1}); !yield(id, s.Match(id)) {
					return
				}
			}
		}
	}
}

// Results returns the matches that have a result, in schedule order, with the ids of player A and player B.
func (s *State) Results() iter.Seq2[*Match, [2]string] {
	return func(yield func(*Match, [2]string) bool) {
		for id, m := range s.Matches() {
			p := s.Rounds[id.Round-1].Pairings[id.Number-1]
			if m.Report != nil && !yield(m, [2]string{s.Started.Players[p.A], s.Started.Players[p.B]}) {
				return
			}
		}
	}
}

// Find returns a match of an announced round, with its two players. The caller must not
// change it.
func (s *State) Find(id league.MatchID) (m *Match, playerA, playerB string, ok bool) {
	if playerA, playerB, ok = s.players(id); !ok {
		return nil, "", "", false
	}
	return s.Match(id), playerA, playerB, true
}

// players returns the players of a match of an announced round.
func (s *State) players(id league.MatchID) (playerA, playerB string, ok bool) {
	if id.Round < 1 || id.Round > s.Round {
		return "", "", false
	}
	pairings := s.Rounds[id.Round-1].Pairings
	if id.Number < 1 || id.Number > len(pairings) {
		return "", "", false
	}
	pair := pairings[id.Number-1]
	return s.Started.Players[pair.A], s.Started.Players[pair.B], true
}

// Referee is the referee of a match of an announced round: of its result, else of
// the last attempt that the referee did not decline or fail with, else the announced
// one. It is "" for a match that was forfeited or ruled, and for one that is played again
// and has no referee yet.
func (s *State) Referee(round, number int) string {
	m := s.Match(league.MatchID{Round: round, Number: number})
	if m.Report != nil {
		return m.Report.RefereeID
	}
	for _, a := range slices.Backward(m.Current()) {
		if !a.Declined && !a.Failed {
			return a.Referee
		}
	}
	if m.Reopened() {
		return "" // none is chosen yet
	}
	return s.Rounds[round-1].Referees[number-1]
}

// TableResult returns the result of a match as the table counts it. An error means that the
// match is not announced, or that winner and status contradict each other.
func (s *State) TableResult(d *MatchReported) (league.Played, error) {
	idA, idB, ok := s.players(d.MatchID)
	if !ok {
		return league.Played{}, fmt.Errorf("match %s is not of an announced round", d.MatchID)
	}
	r, err := d.Played([2]int{s.playerIndexes[idA], s.playerIndexes[idB]}, [2]string{idA, idB})
	if err != nil {
		return r, fmt.Errorf("match %s: %w", d.MatchID, err)
	}
	return r, nil
}

// Score returns the points of a result by the league's scoring, with the player A first. Its
// errors are those of TableResult.
func (s *State) Score(d *MatchReported) (score [2]league.Member[int], err error) {
	r, err := s.TableResult(d)
	if err != nil {
		return score, err
	}
	for i, player := range [...]int{r.A, r.B} {
		score[i] = league.Member[int]{Name: s.Started.Players[player], Value: s.Created.Scoring.For(r.Outcome(player))}
	}
	return score, nil
}

// IsAssignedTo tells whether an attempt at the match is assigned to a referee that has not
// declined it.
func (m *Match) IsAssignedTo(refereeID string) bool {
	return slices.ContainsFunc(m.Current(), func(a Attempt) bool { return a.Referee == refereeID && !a.Declined })
}

// Attempt returns an attempt that was assigned to a referee; nil for none.
func (m *Match) Attempt(number int, refereeID string) *Attempt {
	if number < 1 || number > len(m.Attempts) || m.Attempts[number-1].Referee != refereeID {
		return nil
	}
	return &m.Attempts[number-1]
}

// LastAttempt is the number of a referee's last attempt; 0 for none.
func (m *Match) LastAttempt(refereeID string) int {
	for _, a := range slices.Backward(m.Attempts) {
		if a.Referee == refereeID {
			return a.Number
		}
	}
	return 0
}

// NextAttempt is the number of the next attempt.
func (m *Match) NextAttempt() int { return len(m.Attempts) + 1 }

// IsLost tells whether an attempt was lost; see AttemptLost.
func (m *Match) IsLost(attempt int) bool { return m.LostBy(attempt) != "" }

// LostBy is the cause for which an attempt was lost; "" if it was not.
func (m *Match) LostBy(attempt int) string {
	for i := range m.LostAttempts {
		if m.LostAttempts[i].Number == attempt {
			return m.LostAttempts[i].Cause
		}
	}
	return ""
}

// InSeconds converts the time of an event to the form of the protocol.
func InSeconds(at string) string {
	if whole, _, found := strings.Cut(at, "."); found {
		return whole + "Z"
	}
	return at
}
