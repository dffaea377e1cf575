package audit

import (
	"cmp"
	"errors"
	"io/fs"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
	"evenodd/league/words"
)

// clockTolerance is how much earlier than the event before it an event may be
// without a note: events get their times before their order.
const clockTolerance = 5 * time.Second

// longSetBack is the step back in time from which each is noted by itself.
const longSetBack = time.Hour

// A chain is the position in the walk over the journal.
type chain struct {
	next     int    // the seq that the next line must have
	head     string // the hash of the last line
	lines    int
	at       time.Time
	setBacks int  // steps back in time
	stopped  bool // nothing more is folded
}

// readJournal makes one walk over the journal: it checks the chain of hashes and
// the times of all lines, and folds the events up to the first that cannot be
// folded.
func (a *auditor) readJournal() {
	path := a.dir.Journal(a.id)
	file, err := disk.Open(a.dir.Disk, path)
	if err != nil {
		problem := "it cannot be read: " + cause(err)
		if errors.Is(err, fs.ErrNotExist) {
			problem = "there is no journal: no file says what happened in league " + a.id
		}
		a.find(RuleSchema, a.inJournal(0), "%s", problem)
		a.chain.stopped = true
		return
	}
	defer func() { _ = file.Close() }()
	a.chain = chain{next: 1, head: journal.Origin}
	_, torn, err := appendfile.Lines(file, a.readLine)
	a.chain.stopped = a.chain.stopped || err != nil || a.state.Created == nil
	here := a.inJournal(a.chain.lines + 1)
	switch {
	case err != nil:
		a.find(RuleEvent, here, "the rest cannot be read: %s", cause(err))
	case torn > 0:
		a.note(RuleEvent, here,
			"the last line is incomplete (%d bytes): the manager was stopped while it wrote it, and told nobody of that event",
			torn)
	case a.chain.lines == 0:
		a.find(RuleEvent, a.inJournal(0), "the journal is empty")
	}
	if a.chain.setBacks > 0 {
		a.note(RuleTime, a.inJournal(0), "the clock was set back %s", words.Counted(a.chain.setBacks, "time"))
	}
}

// readLine reads a line of the journal. It returns nil: what is wrong with the line is a finding.
func (a *auditor) readLine(number int, text []byte) error {
	c, here := &a.chain, a.inJournal(number)
	e, err := journalfile.ReadLine(number, text)
	before := c.head
	c.head, c.lines = journal.Hash(text), number
	if a.options.Head == c.head {
		a.heads.pinned = number
	}
	if err != nil {
		c.next++
		a.stop(RuleEvent, here, Reason(err))
	} else {
		if err := e.Follows(c.next, before); err != nil {
			a.find(RuleHashChain, here, "%v", err)
		}
		c.next = e.Seq + 1
		a.checkEventTime(e, here)
		if id := journal.MatchOf(e.Data); id != (league.MatchID{}) {
			here.MatchID = id.String()
		}
		a.fold(e, here.of(journal.AgentOf(e.Data)))
	}
	if a.signs() {
		a.heads.add(a.state, c.head, number)
	}
	for _, d := range a.derived {
		d.meet(a, c.head, number)
	}
	return nil
}

func (a *auditor) checkEventTime(e *journal.Event, here Location) {
	at, err := protocol.ParseTimestamp(e.At)
	if err != nil {
		a.find(RuleTime, here, "at: %v", err)
		return
	}
	if back := a.chain.at.Sub(at); back > clockTolerance {
		a.chain.setBacks++
		if back > longSetBack {
			a.note(RuleTime, here,
				"this event is %s earlier than the one before: the clock was set back, or the times were changed", back)
		}
	}
	a.chain.at = at
}

// fold checks an event and applies it. An event that cannot have happened ends the
// fold.
func (a *auditor) fold(e *journal.Event, here Location) {
	s := a.state
	if a.chain.stopped {
		return
	}
	if _, first := e.Data.(*journal.Created); s.Created == nil && !first {
		a.stop(RuleEvent, here, "the journal does not begin with the rules of the league (event created)")
		return
	}
	a.checkEvent(e, here)
	numbered := *e
	numbered.Seq = s.Events + 1 // the chain was checked
	rule := a.brokenRule(e.Data)
	if err := s.Apply(&numbered); err != nil {
		a.stop(rule, here, err.Error())
		return
	}
	a.remember(e, here)
}

// stop reports the event that ends the fold.
func (a *auditor) stop(rule string, here Location, problem string) {
	if !a.chain.stopped {
		a.find(rule, here, "%s; the league is judged only up to this line", problem)
		a.chain.stopped = true
	}
}

// brokenRules are the rules that events break if they cannot be folded; RuleEvent for others.
var brokenRules = map[string]string{
	"decided": RuleDecision, "created": RuleSchema, "registered": RuleRegistration, "agent_answered": RuleRegistration,
	"registration_dropped": RuleRegistration, "agent_returned": RuleLifecycle, "agent_suspended": RuleLifecycle,
	"agent_shutdown": RuleLifecycle, "started": RuleSchedule, "round_announced": RuleRounds, "round_completed": RuleRounds,
	"completed": RuleStandings, "match_accepted": RuleCommitment, "match_forfeited": RuleLifecycle,
}

// brokenRule is the rule that an event breaks if it cannot be folded.
func (a *auditor) brokenRule(d journal.Data) string {
	switch d := d.(type) {
	case *journal.MatchReported:
		return a.brokenResult(d)
	case *journal.MatchForfeited:
		if m, _, _, ok := a.state.Find(d.MatchID); !ok || m.Report != nil {
			return RuleOneResult
		}
	}
	return cmp.Or(brokenRules[journal.Kind(d)], RuleEvent)
}

func (a *auditor) brokenResult(d *journal.MatchReported) string {
	m, idA, idB, ok := a.state.Find(d.MatchID)
	if !ok || m.Report != nil || !m.IsAssignedTo(d.RefereeID) || m.Void(d.Number) {
		return RuleOneResult
	}
	_, okA := d.Score.Get(idA)
	_, okB := d.Score.Get(idB)
	switch _, err := a.state.TableResult(d); {
	case err != nil:
		return RuleVerdict
	case !okA || !okB:
		return RuleSchedule
	}
	return RulePoints
}

// remember stores what later checks need of an event that the fold has accepted.
func (a *auditor) remember(e *journal.Event, here Location) {
	switch d := e.Data.(type) {
	case *journal.Created, *journal.Configured:
		a.configured = append(a.configured, configuration{a.state.Configuration, a.state.Events})
	case *journal.Started:
		a.started, a.startHash = here.Line, a.chain.head
	case *journal.RoundAnnounced:
		a.announced = append(a.announced, a.state.Events)
		a.before = append(a.before, [][]protocol.Record{a.records()})
	case *journal.MatchReported, *journal.MatchForfeited:
		if !a.state.Open() {
			a.addRecords() // for the other rematches
		}
	case *journal.Decided:
		a.note(RuleDecision, here, "%s", d.About())
		if d.ChangesResults() {
			a.changed++
			a.addRecords()
		}
	}
}

// checkEvent checks an event by the state before it: it contradicts another fact, or is worth a note.
func (a *auditor) checkEvent(e *journal.Event, here Location) {
	switch d := e.Data.(type) {
	case *journal.Created:
		if d.LeagueID != a.id {
			a.find(RuleEvent, here, "the journal is that of league %s, but it is in the folder of %s", quoted(&d.LeagueID), a.id)
		}
	case *journal.RegistrationDropped:
		a.checkDrop(d, e.At, here)
	case *journal.AgentSuspended:
		a.checkSuspension(d.AgentID, suspended, here)
	case *journal.AgentShutdown:
		a.checkSuspension(d.AgentID, shutDown, here)
	case *journal.RoundAnnounced:
		a.checkRound(d, here)
	case *journal.MatchAssigned:
		a.checkPlayers(d.MatchID, here, assigned, isOrdered)
	case *journal.MatchReported:
		a.checkPlayers(d.MatchID, here, played, isAbsent)
	case *journal.MatchForfeited:
		a.checkForfeit(d, here)
	case *journal.AttemptLost:
		if d.Cause == journal.CauseBothAnswer && d.Report == nil {
			a.find(RuleEvent, here, "attempt %d at %s is lost by a report of a double loss, which the event lacks", d.Number,
				d.MatchID)
		}
	case *journal.AgentReturned:
		if agent := a.state.Agents[d.AgentID]; agent != nil && d.PublicKey != "" {
			a.note(RuleKeys, here, "%s returned with its registration code and another key: %s; before it was %s",
				clip(d.AgentID), clip(d.PublicKey), orNone(agent.PublicKey))
		}
	case *journal.TailLost:
		a.lostHeads[d.Head] = true
		a.note(RuleJournalHead, here,
			"the journal's tail was cut off before line %d: the manager did not find %.12q…, the head that "+
				"standings.json named, in it", here.Line, d.Head)
	case *journal.ManagerTookOver:
		a.note(RuleEvent, here, "manager %s took the league over (term %d)", quoted(&d.Manager), d.Term)
	case *journal.MatchDisputed:
		a.note(RuleDispute, here, "%s reported another result of match %s: %s, winner %s", clip(d.RefereeID), d.MatchID,
			clip(d.Status), quoted(d.WinnerPlayerID))
	case *journal.ResultDenied:
		text := "%s says that nothing of attempt %d at match %s reached it"
		if d.Answered {
			text += "; the denial does not count, because the transcript has its answer"
		}
		a.note(RuleDispute, here, text, clip(d.PlayerID), d.Number, d.MatchID)
	case *journal.LeagueCompleted:
		if agent := a.state.Agents[d.Champion.PlayerID]; agent != nil && agent.DisplayName != d.Champion.DisplayName {
			a.find(RuleStandings, here.of(agent.AgentID), "the champion %s is called %s, but registered as %s", agent.AgentID,
				quoted(&d.Champion.DisplayName), quoted(&agent.DisplayName))
		}
	case *journal.AgentInformed:
		if agent := a.state.Agents[d.AgentID]; agent != nil && agent.Informed {
			a.note(RuleEvent, here, "%s learns a second time that the league is over", clip(d.AgentID))
		}
	}
}
