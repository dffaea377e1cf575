package journal

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"evenodd/league/protocol"
)

// A Decision is what each event of an organiser's decision contains. Nobody verifies the
// name of the author.
type Decision struct {
	By     string `json:"by"`              // 1 to protocol.MaxOrganiserName characters of printable text
	Reason string `json:"reason,omitzero"` // up to protocol.MaxReason characters of printable text
}

// ByManager is the author of a decision that the manager makes in place of an organiser.
const ByManager = "the manager"

// Decided returns the decision of an event.
func (d Decision) Decided() Decision { return d }

// CheckText returns an error for an author or a reason that an event cannot have.
func (d Decision) CheckText() error {
	switch {
	case strings.TrimSpace(d.By) == "" || !printable(d.By, protocol.MaxOrganiserName):
		return fmt.Errorf("by %.80q: 1 to %d characters of printable text name the author of a decision", d.By, protocol.MaxOrganiserName)
	case !printable(d.Reason, protocol.MaxReason):
		return fmt.Errorf("reason %.80q: up to %d characters of printable text", d.Reason, protocol.MaxReason)
	}
	return nil
}

func printable(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// A DecisionEvent is an event of an organiser's decision.
type DecisionEvent interface {
	Data
	Decided() Decision
	// Matter is the agent or the match that the event is about; "" for the league.
	Matter() string
	// About describes the decision in one line, with its author and its reason.
	About() string

	check(s *State) error
}

// Check returns why a decision is not possible now; nil if it is. The error tells what
// holds now, and since which decision.
func (s *State) Check(d DecisionEvent) error {
	if err := d.Decided().CheckText(); err != nil {
		return err
	}
	if s.Completed != nil {
		return errors.New("the league is completed: its results are final")
	}
	return d.check(s)
}

// A Made is a decision that is in force.
type Made struct {
	Decision
	At    string // as Event.At
	Event int    // its number
}

// made is the decision of the event that is applied.
func (s *State) made(d Decision, at string) *Made {
	return &Made{Decision: d, At: at, Event: s.Events + 1}
}

// String names author and time.
func (m *Made) String() string {
	at := m.At
	if day, clock, ok := strings.Cut(at, "T"); ok && len(clock) >= len("15:04") {
		at = day + " " + clock[:len("15:04")] + " UTC"
	}
	return fmt.Sprintf("by %s at %s", m.By, at)
}

// describe appends author and reason to what was done.
func (d Decision) describe(done string) string {
	text := done + " by " + d.By
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// Paused records that no round begins until an Unpaused event. Running matches finish.
type Paused struct{ Decision }

// Matter implements DecisionEvent.
func (*Paused) Matter() string { return "" }

// About implements DecisionEvent.
func (d *Paused) About() string { return d.describe("the league paused") }

func (*Paused) check(s *State) error {
	if s.Paused != nil {
		return fmt.Errorf("the league is paused already, %v", s.Paused)
	}
	return nil
}

func (d *Paused) apply(s *State, at string) error {
	s.Paused = s.made(d.Decision, at)
	return nil
}

// Unpaused ends a pause.
type Unpaused struct{ Decision }

// Matter implements DecisionEvent.
func (*Unpaused) Matter() string { return "" }

// About implements DecisionEvent.
func (d *Unpaused) About() string { return d.describe("the league resumed") }

func (*Unpaused) check(s *State) error {
	if s.Paused == nil {
		return errors.New("the league is not paused")
	}
	return nil
}

func (*Unpaused) apply(s *State, _ string) error {
	s.Paused = nil
	return nil
}

// AgentHeld records that an agent gets nothing to do until it is readmitted, whatever it
// answers. A player forfeits its matches meanwhile.
type AgentHeld struct {
	Decision
	AgentID string `json:"agent_id"`
}

// Matter implements DecisionEvent.
func (d *AgentHeld) Matter() string { return d.AgentID }

// About implements DecisionEvent.
func (d *AgentHeld) About() string { return d.describe(shortID(d.AgentID) + " suspended") }

func (d *AgentHeld) check(s *State) error {
	a, err := s.takingPart(d.AgentID)
	switch {
	case err != nil:
		return err
	case a.Held != nil:
		return fmt.Errorf("%s is suspended already, %v", d.AgentID, a.Held)
	case s.isLastReferee(a):
		return fmt.Errorf("%s is the only referee that is left: the league cannot continue without one", d.AgentID)
	}
	return nil
}

func (d *AgentHeld) apply(s *State, at string) error {
	s.Agents[d.AgentID].Held = s.made(d.Decision, at)
	return nil
}

// AgentReadmitted ends the suspension or the shutdown of an agent, whether an organiser or
// its failures caused it. Its failures start at 0.
type AgentReadmitted struct {
	Decision
	AgentID string `json:"agent_id"`
}

// Matter implements DecisionEvent.
func (d *AgentReadmitted) Matter() string { return d.AgentID }

// About implements DecisionEvent.
func (d *AgentReadmitted) About() string { return d.describe(shortID(d.AgentID) + " readmitted") }

func (d *AgentReadmitted) check(s *State) error {
	a, err := s.takingPart(d.AgentID)
	if err == nil && !a.Inactive() {
		err = fmt.Errorf("%s is neither suspended nor shut down: it takes part", d.AgentID)
	}
	return err
}

func (d *AgentReadmitted) apply(s *State, _ string) error {
	a := s.Agents[d.AgentID]
	a.Held, a.SuspendReason, a.ShutdownReason, a.ReturnReason = nil, "", "", "was readmitted by "+d.By
	a.Failures, a.FailuresAtReturn, a.RoundFailures, a.LastFault = 0, 0, 0, ""
	return nil
}

// AgentWithdrawn records that an agent takes no part any more. Before the start its
// registration ends. A player forfeits its remaining matches. The results of a player of a
// round-robin that has played less than half of its matches are annulled.
type AgentWithdrawn struct {
	Decision
	AgentID  string `json:"agent_id"`
	Annulled bool   `json:"annulled"`
}

// Matter implements DecisionEvent.
func (d *AgentWithdrawn) Matter() string { return d.AgentID }

// About implements DecisionEvent.
func (d *AgentWithdrawn) About() string {
	text := d.describe(shortID(d.AgentID) + " withdrawn")
	if d.Annulled {
		text += "; its results are annulled"
	}
	return text
}

func (d *AgentWithdrawn) check(s *State) error {
	a, err := s.takingPart(d.AgentID)
	switch {
	case err != nil:
		return err
	case s.isLastReferee(a):
		return fmt.Errorf("%s is the only referee that is left: the league cannot continue without one", d.AgentID)
	case d.Annulled == s.Annuls(a):
	case d.Annulled:
		return fmt.Errorf("the results of %s are annulled, but it is no player that has played less than half of its matches", d.AgentID)
	default:
		played, scheduled := s.playedMatches(a)
		return fmt.Errorf("%s has played %d of its %d matches, but its results are not annulled", d.AgentID, played, scheduled)
	}
	return nil
}

func (d *AgentWithdrawn) apply(s *State, at string) error {
	a := s.Agents[d.AgentID]
	if s.Started == nil {
		s.drop(a)
		return nil
	}
	a.Withdrawn, a.Held = s.made(d.Decision, at), nil
	for _, id := range s.Rematches {
		if m, idA, idB, _ := s.Find(id); (idA == a.AgentID || idB == a.AgentID) && m.RematchOrdered != nil {
			s.cancelRematch(id, m)
		}
	}
	if d.Annulled {
		s.annulResults(a)
	}
	return nil
}

// takingPart returns a registered agent that is not withdrawn.
func (s *State) takingPart(id string) (*Agent, error) {
	a, err := s.agent(id)
	if err == nil && a.Withdrawn != nil {
		err = fmt.Errorf("%s is withdrawn, %v", id, a.Withdrawn)
	}
	return a, err
}

// isLastReferee tells whether an agent is the only referee of a started league that is
// left.
func (s *State) isLastReferee(a *Agent) bool {
	return s.Started != nil && !a.Player && !a.Out() && s.lastReferee(a)
}

// playedMatches are the numbers of matches that a player of a round-robin has played, and
// of those that the schedule has for it. A match counts as played if it has a result and
// nobody forfeits it.
func (s *State) playedMatches(a *Agent) (played, scheduled int) {
	player, ok := s.PlayerIndex(a.AgentID)
	if !ok || s.Created.Tournament != nil {
		return 0, 0
	}
	for round := 1; round <= s.TotalRounds(); round++ {
		_, number, plays := s.Opponent(round, player)
		if !plays {
			continue
		}
		scheduled++
		if round > s.Round {
			continue
		}
		if m := s.Match(protocol.MatchID{Round: round, Number: number}); m.Report != nil && m.Forfeited == nil {
			played++
		}
	}
	return played, scheduled
}

// Annuls tells whether the results of a player are annulled if it is withdrawn now: it has
// played less than half of its matches of a round-robin.
func (s *State) Annuls(a *Agent) bool {
	played, scheduled := s.playedMatches(a)
	return 2*played < scheduled
}

// annulResults takes the results of a player out of the table, for ever.
func (s *State) annulResults(a *Agent) {
	player := s.playerIndexes[a.AgentID]
	for round := 1; round <= s.Round; round++ {
		_, number, plays := s.Opponent(round, player)
		if !plays {
			continue
		}
		if m := s.Match(protocol.MatchID{Round: round, Number: number}); m.Report != nil {
			s.uncount(m.Report)
		}
	}
	if s.annulled == nil {
		s.annulled = make([]bool, len(s.Started.Players))
	}
	s.annulled[player], a.Annulled = true, true
}

// shortID shortens an id, which anybody may have written.
func shortID(id string) string { return fmt.Sprintf("%.40s", id) }
