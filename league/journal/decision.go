package journal

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A Decision is the author and the reason of an organiser's decision. Nobody verifies the
// name of the author.
type Decision struct {
	By     string `json:"by"`              // 1 to protocol.MaxOrganiserName characters of printable text
	Reason string `json:"reason,omitzero"` // up to protocol.MaxReason characters of printable text
}

// ByManager is the author of a decision that the manager makes in place of an organiser.
const ByManager = "the manager"

// CommandReopen annuls the result of a match because its ordered rematch begins. The manager
// records it, with the author and the reason of the order; no organiser can send it.
const CommandReopen = "reopen"

// Decided records a decision of an organiser. The command's row in commands tells which
// members it has, when it is possible, and what it changes.
type Decided struct {
	Command string `json:"command"` // protocol.CommandStart …, or CommandReopen
	Decision
	AgentID  string         `json:"agent_id,omitzero"`
	MatchID  league.MatchID `json:"match_id,omitzero"`
	Winner   string         `json:"winner,omitzero"`   // of rule: a player, protocol.WinnerDraw or protocol.WinnerNone
	StartAt  string         `json:"start_at,omitzero"` // of start: RFC 3339
	Annulled bool           `json:"annulled,omitzero"` // of withdraw: the results of the player do not count
}

// A command is what one command of the organiser means for the state of a league. Check
// returns why the command is not possible now, beyond what holds for all commands about an
// agent or a match; nil for nothing more.
type command struct {
	of    protocol.CommandObject
	check func(s *State, d *Decided) error
	apply func(s *State, d *Decided, at *Made)
	done  string                            // what was decided, without author and reason; %s is the agent or the match
	next  func(s *State, d *Decided) string // what happens next, one sentence
	stale Stale

	changesResults bool // results that counted, so that the records of players change
}

// commands are the commands by their names. A new one also needs a row in
// protocol.Commands, and its help in package cmd.
var commands = map[string]command{
	protocol.CommandStart: {
		check: checkStart,
		apply: func(s *State, d *Decided, at *Made) { s.StartPlanned = &PlannedStart{*at, d.StartAt} },
		done:  "the start planned",
		next:  afterStart,
	},
	protocol.CommandPause: {
		check: func(s *State, _ *Decided) error {
			if s.Paused != nil {
				return fmt.Errorf("the league is paused already, %v", s.Paused)
			}
			return nil
		},
		apply: func(s *State, _ *Decided, at *Made) { s.Paused = at },
		done:  "the league paused",
		next:  always("Running matches finish, and no round begins before the league is resumed."),
	},
	protocol.CommandResume: {
		check: func(s *State, _ *Decided) error {
			if s.Paused == nil {
				return errors.New("the league is not paused")
			}
			return nil
		},
		apply: func(s *State, _ *Decided, _ *Made) { s.Paused = nil },
		done:  "the league resumed",
		next:  always("The league goes on at once."),
	},
	protocol.CommandSuspend: {
		of: protocol.OfAgent,
		check: func(s *State, d *Decided) error {
			if a := s.Agents[d.AgentID]; a.Held != nil {
				return fmt.Errorf("%s is suspended already, %v", a.Ref(), a.Held)
			}
			return s.checkRemaining(d.AgentID)
		},
		apply: func(s *State, d *Decided, at *Made) { s.Agents[d.AgentID].Held = at },
		done:  "%s suspended",
		next: ofAgent("It forfeits the matches that begin before it is readmitted.",
			"It gets no match before it is readmitted."),
		stale: StaleAgents,
	},
	protocol.CommandReadmit: {
		of: protocol.OfAgent,
		check: func(s *State, d *Decided) error {
			if a := s.Agents[d.AgentID]; !a.Inactive() {
				return fmt.Errorf("%s is neither suspended nor shut down: it takes part", a.Ref())
			}
			return nil
		},
		apply: func(s *State, d *Decided, _ *Made) {
			a := s.Agents[d.AgentID]
			a.Held, a.SuspendReason, a.ShutdownReason, a.ReturnReason = nil, "", "", "was readmitted by "+d.By
			a.Failures, a.FailuresAtReturn, a.RoundFailures, a.LastFault = 0, 0, 0, ""
			s.rejoin(a)
		},
		done: "%s readmitted",
		next: ofAgent("It plays from the next round on.", "It gets matches again."),
		// A player that is back in a bracket ranks by its place in the bracket again.
		stale: StaleAgents | StaleStandings | StaleSchedule,
	},
	protocol.CommandWithdraw: {
		of: protocol.OfAgent, check: checkWithdrawal, apply: withdraw,
		done: "%s withdrawn",
		next: func(s *State, d *Decided) string {
			if s.Agents[d.AgentID] == nil {
				return "Its registration has ended."
			}
			return ofAgent("It forfeits its remaining matches.", "It gets no match any more.")(s, d)
		},
		stale: StaleAgents | StaleStandings | StaleSchedule, changesResults: true,
	},
	protocol.CommandRematch: {
		of: protocol.OfMatch, check: checkRematch,
		apply: func(s *State, d *Decided, at *Made) {
			m, _, _, _ := s.restore(d.MatchID)
			m.RematchOrdered = at
			s.Rematches = append(s.Rematches, d.MatchID)
		},
		done:  "a rematch of %s ordered",
		next:  afterRematch,
		stale: StaleSchedule | StaleMatch, // the table changes with CommandReopen
	},
	CommandReopen: {
		of: protocol.OfMatch, check: checkReopening,
		apply: func(s *State, d *Decided, _ *Made) {
			m, _, _, _ := s.restore(d.MatchID)
			s.annul(m, *m.RematchOrdered)
			m.RematchOrdered = nil // the match stays in Rematches until it has a result
		},
		done:  "the result of %s annulled for the rematch ordered",
		next:  always("The rematch begins."),
		stale: StaleResult, changesResults: true,
	},
	protocol.CommandRule: {
		of: protocol.OfMatch, check: checkRuling, apply: rule,
		done:  "%s ruled",
		next:  always("The table has the new result. It stands until another decision."),
		stale: StaleResult, changesResults: true,
	},
}

// ChangesResults tells whether a decision can change results that counted, and with them the records of players.
func (d *Decided) ChangesResults() bool { return commands[d.Command].changesResults }

func always(text string) func(*State, *Decided) string {
	return func(*State, *Decided) string { return text }
}

// Check returns why a decision is not possible now; nil if it is. The error tells what
// holds now, and since which decision.
func (s *State) Check(d *Decided) error {
	if err := d.CheckText(); err != nil {
		return err
	}
	if s.Completed != nil {
		return errors.New("the league is completed: its results are final")
	}
	c, known := commands[d.Command]
	var err error
	switch {
	case !known:
		return fmt.Errorf("command %.40q is not known", d.Command)
	case (d.AgentID != "") != (c.of == protocol.OfAgent) || (d.MatchID != league.MatchID{}) != (c.of == protocol.OfMatch):
		return fmt.Errorf("command %s names an agent or a match that it is not about, or lacks it", d.Command)
	case c.of == protocol.OfAgent:
		err = s.checkTakesPart(d.AgentID)
	case c.of == protocol.OfMatch:
		err = s.checkDecidable(d.MatchID)
	}
	if err != nil {
		return err
	}
	return c.check(s, d)
}

// CheckText returns an error for an author or a reason that an event cannot have.
func (d Decision) CheckText() error {
	switch {
	case strings.TrimSpace(d.By) == "" || !printable(d.By, protocol.MaxOrganiserName):
		return fmt.Errorf("by %.80q: 1 to %d characters of printable text name the author of a decision",
			d.By, protocol.MaxOrganiserName)
	case !printable(d.Reason, protocol.MaxReason):
		return fmt.Errorf("reason %.80q: up to %d characters of printable text", d.Reason, protocol.MaxReason)
	}
	return nil
}

func printable(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (d *Decided) apply(s *State, at string) error {
	if err := s.Check(d); err != nil {
		return err
	}
	commands[d.Command].apply(s, d, &Made{Decision: d.Decision, At: at, Event: s.Events + 1})
	return nil
}

// Matter is the agent or the match that the decision is about; "" for the league.
func (d *Decided) Matter() string {
	if d.AgentID != "" || d.MatchID == (league.MatchID{}) {
		return d.AgentID
	}
	return d.MatchID.String()
}

// About describes the decision in one line, with its author and its reason, and agents by their ids, as data have them.
func (d *Decided) About() string { return d.about(shortID) }

// InWords is About for people, with names beside the ids. The state is the one before the decision, or a later one.
func (d *Decided) InWords(s *State) string {
	return d.about(func(id string) string { return s.Ref(shortID(id)).String() })
}

func (d *Decided) about(named func(id string) string) string {
	done := strings.Replace(commands[d.Command].done, "%s", named(d.Matter()), 1)
	if d.StartAt != "" {
		done += fmt.Sprintf(" for %.40s", d.StartAt)
	}
	if d.Winner != "" {
		done += " " + d.verdict(named)
	}
	text := d.describe(done)
	if d.Annulled {
		text += "; its results are annulled"
	}
	return text
}

// describe appends author and reason to what was done.
func (d Decision) describe(done string) string {
	text := done + " by " + d.By
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// Next tells what happens next because of the decision, which was just made.
func (d *Decided) Next(s *State) string { return commands[d.Command].next(s, d) }

// A Made is a decision that is in force. The members of the documents that have it are a contract.
type Made struct {
	Decision
	At    string `json:"since"` // as Event.At
	Event int    `json:"event"` // its number
}

// String names author and time.
func (m *Made) String() string {
	at := m.At
	if day, clock, ok := strings.Cut(at, "T"); ok && len(clock) >= len("15:04") {
		at = day + " " + clock[:len("15:04")] + " UTC"
	}
	return fmt.Sprintf("by %s at %s", m.By, at)
}

// A PlannedStart is when the league starts, with the agents that have answered then, by an
// organiser's decision. A time in the past means as soon as enough of them have. It replaces
// the numbers of agents and the times of the manager's configuration.
type PlannedStart struct {
	Made
	StartAt string // RFC 3339
}

func checkStart(s *State, d *Decided) error {
	if _, err := protocol.ParseTimestamp(d.StartAt); err != nil {
		return fmt.Errorf("start_at: %w", err)
	}
	if s.Started != nil {
		return errors.New("the league has started: its start cannot be planned again")
	}
	return nil
}

func afterStart(s *State, d *Decided) string {
	switch {
	case s.Started != nil:
		return fmt.Sprintf("The league starts now: players %d, referees %d.", len(s.Started.Players), len(s.Started.Referees))
	case d.StartAt > InSeconds(s.StartPlanned.At):
		return "The league starts at " + d.StartAt + " with the agents that have answered then."
	}
	return "The league starts as soon as enough players and a referee have answered."
}

// ofAgent tells what happens to a player, or to a referee.
func ofAgent(player, referee string) func(s *State, d *Decided) string {
	return func(s *State, d *Decided) string {
		if s.Agents[d.AgentID].Player {
			return player
		}
		return referee
	}
}

// checkRemaining returns an error for the only referee of a started league that is left.
func (s *State) checkRemaining(id string) error {
	if a := s.Agents[id]; s.Started != nil && !a.Player && !a.Out() && !s.HasReferee(id) {
		return fmt.Errorf("%s is the only referee that is left: the league cannot continue without one", a.Ref())
	}
	return nil
}

func checkWithdrawal(s *State, d *Decided) error {
	if d.Annulled != s.Annuls(d.AgentID) {
		played, scheduled := s.playedMatches(d.AgentID)
		return fmt.Errorf(
			"%s has played %d of its %d matches, which annuls its results if it is less than half: the event says annulled=%t",
			d.AgentID, played, scheduled, d.Annulled)
	}
	return s.checkRemaining(d.AgentID)
}

// withdraw ends the part of an agent. Before the start its registration ends. A player
// forfeits its remaining matches.
func withdraw(s *State, d *Decided, at *Made) {
	a := s.Agents[d.AgentID]
	if s.Started == nil {
		s.drop(a)
		return
	}
	a.Withdrawn, a.Held = at, nil
	s.leave(a)
	for _, id := range s.Rematches {
		if m, idA, idB, _ := s.Find(id); (idA == a.AgentID || idB == a.AgentID) && m.RematchOrdered != nil {
			s.cancelRematch(id, m)
		}
	}
	if d.Annulled {
		s.annulResults(a)
	}
}

// checkTakesPart returns an error for an agent that is not registered or is withdrawn.
func (s *State) checkTakesPart(id string) error {
	a, err := s.agent(id)
	if err == nil && a.Withdrawn != nil {
		err = fmt.Errorf("%s is withdrawn, %v", a.Ref(), a.Withdrawn)
	}
	return err
}

// playedMatches are the numbers of matches that a player of a round-robin or gauntlet has played, and
// of those that the schedule has for it. A match counts as played if it has a result and
// nobody forfeits it.
func (s *State) playedMatches(id string) (played, scheduled int) {
	player, ok := s.PlayerIndex(id)
	if !ok || !s.Created.Tournament.IsFixed() {
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
		if m := s.Match(league.MatchID{Round: round, Number: number}); m.Report != nil && m.Forfeited == nil {
			played++
		}
	}
	return played, scheduled
}

// Annuls tells whether the results of an agent are annulled if it is withdrawn now: it is a
// player that has played less than half of its matches of a round-robin.
func (s *State) Annuls(id string) bool {
	played, scheduled := s.playedMatches(id)
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
		if m := s.Match(league.MatchID{Round: round, Number: number}); m.Report != nil {
			s.uncount(m.Report)
		}
	}
	a.Annulled = true
}

// shortID shortens an id, which anybody may have written.
func shortID(id string) string { return fmt.Sprintf("%.40s", id) }
