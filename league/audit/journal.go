package audit

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
)

// maxOddEvents is how many events that cannot be folded are named: after some
// damage nothing fits any more, and the first places are those that matter.
const maxOddEvents = 20

// setBack is how much later than the next an event may be without a word:
// events are stamped before they are put in order.
const setBack = 5 * time.Second

// longSetBack is how far back no clock is set that only goes wrong a little.
const longSetBack = time.Hour

// A chain is how far the journal was read.
type chain struct {
	next     int    // the seq that belongs to the next line
	head     string // the hash of the last line as it is
	at       time.Time
	steps    int  // back in time
	lost     bool // nothing more can be folded
	skipped  []int
	standing *standingHead
}

// A standingHead is the event up to which standings.json says it was made.
type standingHead struct {
	hash  string
	line  int // 0 while it was not met
	stale int // the line of the first event of weight after it
	done  func(line int)
}

// readJournal follows the chain from line to line and folds the events. It
// goes on after damage with the hash of the line as it is, and with the state
// as the event would have it.
func (x *examination) readJournal(standings *standingsFile) {
	path := x.dir.Journal(x.id)
	file, err := os.Open(path)
	if err != nil {
		x.chain.lost = true
		if errors.Is(err, fs.ErrNotExist) {
			x.find(RuleSchema, spot{file: x.journal}, "there is no journal: nothing says what happened in league %s", x.id)
			return
		}
		x.unreadable(path, err, spot{})
		return
	}
	defer func() { _ = file.Close() }()
	x.chain = chain{next: 1, head: journal.Origin}
	if standings != nil {
		x.chain.standing = &standingHead{hash: standings.JournalHead, done: func(line int) { x.compareStandings(standings, line) }}
	}
	lines := 0
	_, torn, err := journalfile.Lines(file, func(number int, text []byte) error {
		lines = number
		x.readLine(number, text)
		return nil
	})
	x.chain.lost = x.chain.lost || x.state.Created == nil
	here := spot{file: x.journal, line: lines + 1}
	switch {
	case err != nil:
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the finding names the file
		}
		x.find(RuleEvent, here, "it cannot be read any further: %v", err)
	case torn > 0:
		x.note(RuleEvent, here, "the last line is not finished (%d bytes): the manager was stopped in it, and told nobody of that event", torn)
	case lines == 0:
		here.line = 0
		x.find(RuleEvent, here, "the journal is empty")
	}
	if n := len(x.chain.skipped); n > 0 {
		x.find(RuleEvent, spot{file: x.journal, line: x.chain.skipped[0]},
			"%s more, from this line on, do not follow from what was before", counted(n, "event", "events"))
	}
	if x.chain.steps > 0 {
		x.note(RuleTime, spot{file: x.journal}, "the clock was set back %s", counted(x.chain.steps, "time", "times"))
	}
}

func (x *examination) readLine(number int, text []byte) {
	c, here := &x.chain, spot{file: x.journal, line: number}
	e, err := journal.Decode(text)
	before := c.head
	c.head = journal.Hash(text)
	if err != nil {
		x.find(RuleEvent, here, "%s", reason(err))
		c.next++
	} else {
		switch {
		case e.Seq != c.next:
			x.find(RuleHashChain, here, "event %d stands where event %d belongs: a line was removed, added or moved", e.Seq, c.next)
		case e.Prev != before:
			x.find(RuleHashChain, here, "it does not follow the line before: prev is %.12s…, the hash of that line is %.12s…", e.Prev, before)
		}
		c.next = e.Seq + 1
		x.readTime(e, here)
		x.look(e, here)
		x.checkDrop(e, here)
		x.lookAtLife(e.Data, here)
		x.fold(e, here)
	}
	if s := c.standing; s != nil {
		switch {
		case s.line == 0 && s.hash == c.head:
			s.line = number
			s.done(number)
		case s.line > 0 && s.stale == 0 && (err != nil || weighs(e.Data)):
			s.stale = number
		}
	}
}

// look sees what in an event is worth a word before it is folded.
func (x *examination) look(e *journal.Event, here spot) {
	switch d := e.Data.(type) {
	case *journal.AgentInformed:
		if a := x.state.Agents[d.AgentID]; a != nil && a.Informed {
			here.agentID = d.AgentID
			x.note(RuleEvent, here, "%s is said once more to know that the league is over", clip(d.AgentID))
		}
	case *journal.TailLost:
		x.lost[d.Head] = true
		x.note(RuleJournalHead, here, "the journal's tail was cut off before line %d: its manager found that %.12q…, the head that standings.json named, was not in it", here.line, d.Head)
	}
}

// weighs tells whether an event changes what standings.json or rounds.json say.
func weighs(d journal.Data) bool {
	switch d.(type) {
	case *journal.Created, *journal.AgentRegistered, *journal.RegistrationDropped, *journal.Started, *journal.MatchReported, *journal.MatchForfeited, *journal.RoundCompleted, *journal.LeagueCompleted:
		return true
	}
	return false
}

func (x *examination) readTime(e *journal.Event, here spot) {
	at, err := protocol.ParseTimestamp(e.At)
	switch {
	case err != nil:
		x.find(RuleTime, here, "at: %v", err)
		return
	case at.Add(setBack).Before(x.chain.at):
		if x.chain.steps++; x.chain.at.Sub(at) > longSetBack {
			x.note(RuleTime, here, "this event is %s earlier than the one before: the clock was set back, or the times were changed", x.chain.at.Sub(at))
		}
	}
	x.chain.at = at
}

// fold applies an event, and remembers where what happened to a match stands.
// An event that cannot have happened is one finding; then the state is mended
// so that it could have, or all events after it would be findings too.
func (x *examination) fold(e *journal.Event, here spot) {
	s := x.state
	if x.chain.lost {
		return
	}
	if _, first := e.Data.(*journal.Created); s.Created == nil && !first {
		x.chain.lost = true
		x.find(RuleEvent, here, "the journal does not begin with the rules of the league (event created): nothing after this can be judged")
		return
	}
	given := *e
	given.Seq = s.Events + 1 // the chain has been looked at
	err := s.Apply(&given)
	if err != nil {
		x.odd(x.broken(e.Data), e, here, err)
		x.mend(&given)
	}
	x.remember(e, here)
}

// odd names an event that cannot be folded.
func (x *examination) odd(rule string, e *journal.Event, here spot, err error) {
	if x.oddEvents++; x.oddEvents > maxOddEvents {
		x.chain.skipped = append(x.chain.skipped, here.line)
		return
	}
	here.matchID = matchOf(e.Data)
	x.find(rule, here, "%v", err)
}

func matchOf(d journal.Data) string {
	switch d := d.(type) {
	case *journal.MatchAssigned:
		return d.MatchID.String()
	case *journal.MatchAccepted:
		return d.MatchID.String()
	case *journal.MatchDeclined:
		return d.MatchID.String()
	case *journal.MatchReported:
		return d.MatchID.String()
	case *journal.MatchForfeited:
		return d.MatchID.String()
	case *journal.AgentFailed:
		return d.MatchID.String()
	case *journal.MatchDisputed:
		return d.MatchID.String()
	case *journal.MatchDoubted:
		return d.MatchID.String()
	}
	return ""
}

// broken is the rule that an event breaks which cannot be folded.
func (x *examination) broken(d journal.Data) string {
	s := x.state
	switch d := d.(type) {
	case *journal.Created:
		return RuleSchema
	case *journal.AgentRegistered:
		if s.Dropped[d.AgentID] {
			return RuleRegistration
		}
	case *journal.AgentAnswered, *journal.RegistrationDropped:
		return RuleRegistration
	case *journal.Started:
		return RuleSchedule
	case *journal.RoundAnnounced, *journal.RoundCompleted:
		return RuleRounds
	case *journal.LeagueCompleted:
		return RuleStandings
	case *journal.MatchAccepted:
		if m, _, _, ok := s.Find(d.MatchID); ok && m.Holds(d.RefereeID) {
			return RuleCommitment
		}
	case *journal.MatchReported:
		m, idA, idB, ok := s.Find(d.MatchID)
		if !ok || m.Report != nil || !m.Holds(d.RefereeID) {
			return RuleOneResult
		}
		return x.brokenResult(d, idA, idB)
	case *journal.AgentReturned:
		if s.Agents[d.AgentID] != nil {
			return RuleLifecycle
		}
	case *journal.AgentSuspended:
		if s.Agents[d.AgentID] != nil {
			return RuleLifecycle
		}
	case *journal.AgentShutdown:
		if s.Agents[d.AgentID] != nil {
			return RuleLifecycle
		}
	case *journal.MatchForfeited:
		m, idA, idB, ok := s.Find(d.MatchID)
		if !ok || m.Report != nil {
			return RuleOneResult
		}
		if absent := s.Forfeiting(idA, idB); len(absent) == 0 || !slices.Equal(absent, d.Players) {
			return RuleLifecycle
		}
		if w := d.WinnerPlayerID; d.Status != protocol.StatusTechnicalLoss || w == nil && len(d.Players) == 1 || w != nil && slices.Contains(d.Players, *w) {
			return RuleVerdict
		}
		return x.brokenResult(&journal.MatchReported{Attempt: protocol.Attempt{MatchID: d.MatchID}, Outcome: d.Outcome, Score: d.Score}, idA, idB)
	}
	return RuleEvent
}

// brokenResult is the rule that a result breaks in itself.
func (x *examination) brokenResult(d *journal.MatchReported, idA, idB string) string {
	if _, err := x.state.Outcome(d); err != nil {
		return RuleVerdict
	}
	_, okA := d.Score.Get(idA)
	_, okB := d.Score.Get(idB)
	if !okA || !okB {
		return RuleSchedule
	}
	return RulePoints
}

// remember keeps the lines of what happened.
func (x *examination) remember(e *journal.Event, here spot) {
	s := x.state
	switch d := e.Data.(type) {
	case *journal.Created:
		if d == s.Created && d.LeagueID != x.id {
			x.find(RuleEvent, here, "the journal is that of league %s, but stands in the folder of %s", quoted(&d.LeagueID), x.id)
		}
	case *journal.Started:
		if s.Started == d {
			x.starts = here.line
		}
	case *journal.MatchAccepted:
		if p, i := x.attempt(d.Attempt, d.RefereeID); p != nil {
			for len(p.accepted) <= i {
				p.accepted = append(p.accepted, 0)
			}
			p.accepted[i] = int32(here.line) //nolint:gosec // a journal of two billion lines cannot be read anyway
		}
	case *journal.MatchReported:
		if m, _, _, ok := s.Find(d.MatchID); ok && m.Report == d {
			x.place(d.MatchID).report = int32(here.line) //nolint:gosec // as above
		}
	case *journal.MatchForfeited:
		if m, _, _, ok := s.Find(d.MatchID); ok && m.Forfeited != nil {
			x.place(d.MatchID).report = int32(here.line) //nolint:gosec // as above
		}
	case *journal.MatchDisputed:
		here.matchID, here.agentID = d.MatchID.String(), d.RefereeID
		x.note(RuleDispute, here, "%s reported another result of match %s: %s, winner %s", clip(d.RefereeID), d.MatchID, clip(d.Status), quoted(d.WinnerPlayerID))
	case *journal.LeagueCompleted:
		x.ends = here.line
		x.checkChampion(d, here)
	}
}

func (x *examination) checkChampion(d *journal.LeagueCompleted, here spot) {
	if a := x.state.Agents[d.Champion.PlayerID]; a != nil && a.Name != "" && a.Name != d.Champion.DisplayName {
		here.agentID = a.ID
		x.find(RuleStandings, here, "the champion %s is called %s, but registered as %s", a.ID, quoted(&d.Champion.DisplayName), quoted(&a.Name))
	}
}

// place is where the lines of a match are kept; the match must be known.
func (x *examination) place(id protocol.MatchID) *places {
	if x.places[id] == nil {
		x.places[id] = &places{}
	}
	return x.places[id]
}

// attempt finds an attempt that was assigned, and the place of its match; nil
// when it was not.
func (x *examination) attempt(id protocol.Attempt, refereeID string) (*places, int) {
	m, _, _, ok := x.state.Find(id.MatchID)
	if !ok {
		return nil, 0
	}
	i := slices.IndexFunc(m.Attempts, func(a journal.Attempt) bool { return a.Number == id.Number && a.Referee == refereeID })
	if i < 0 {
		return nil, 0
	}
	return x.place(id.MatchID), i
}

// mend makes of a state one in which the event could have happened, as far as
// that is plain: what is missing before it was there. The event was named.
func (x *examination) mend(e *journal.Event) {
	s := x.state
	switch d := e.Data.(type) {
	case *journal.Created:
		x.chain.lost = s.Created == nil
	case *journal.Started:
		if s.Started == nil {
			x.enlist(d)
			x.chain.lost = s.Apply(e) != nil
		}
	case *journal.RoundAnnounced:
		if x.supposeStart(e.Seq) && d.RoundID == s.Round+2 {
			x.supposeRound()
		}
		if s.Started != nil && d.RoundID == s.Round+1 && d.RoundID <= s.TotalRounds() {
			x.supposeRound()
			r := &s.Rounds[s.Round-1]
			r.Referees, r.AnnouncedAt = d.Referees, e.At
		}
	case *journal.MatchAssigned:
		if x.supposeRoundOf(d.MatchID, e.Seq) {
			x.supposeAttempt(d.MatchID, journal.Attempt{Number: d.Number, Referee: d.RefereeID})
		}
	case *journal.MatchAccepted:
		if x.supposeRoundOf(d.MatchID, e.Seq) {
			x.supposeAttempt(d.MatchID, journal.Attempt{Number: d.Number, Referee: d.RefereeID, Commitment: d.DrawCommitment})
		}
	case *journal.MatchReported:
		x.mendReport(d, e.Seq)
	case *journal.MatchForfeited:
		x.mendForfeit(d, e.Seq)
	case *journal.RoundCompleted:
		if s.Open() && d.RoundID == s.Round {
			s.Rounds[s.Round-1].CompletedAt, s.Rounds[s.Round-1].Summary = e.At, d.Summary
		}
	case *journal.LeagueCompleted:
		if s.Completed == nil {
			s.Completed = d
		}
	case *journal.AgentInformed:
		if s.Completed == nil { // the completion is missing
			s.Completed, x.ends = &journal.LeagueCompleted{}, 0
		}
	}
}

// enlist makes the registered agents those that a start names.
func (x *examination) enlist(d *journal.Started) {
	agents := map[string]*journal.Agent{}
	for i, ids := range [][]string{d.Players, d.Referees} {
		for _, id := range ids {
			agents[id] = x.state.Agents[id]
			if agents[id] == nil {
				agents[id] = &journal.Agent{ID: id, Answered: true, Player: i == 0}
			}
		}
	}
	x.state.Agents = agents
}

// supposeStart starts a league with all who registered, where the start is
// missing; false when that cannot be.
func (x *examination) supposeStart(seq int) bool {
	s := x.state
	if s.Started != nil {
		return true
	}
	d := &journal.Started{Algorithm: journal.Algorithm}
	for id, a := range s.Agents {
		if a.Player {
			d.Players = append(d.Players, id)
		} else {
			d.Referees = append(d.Referees, id)
		}
	}
	slices.SortFunc(d.Players, protocol.CompareIDs)
	slices.SortFunc(d.Referees, protocol.CompareIDs)
	x.chain.lost = s.Apply(&journal.Event{Seq: max(seq, 2), Data: d}) != nil
	return !x.chain.lost
}

// supposeRound announces the next round, of which no more is known.
func (x *examination) supposeRound() {
	s := x.state
	if s.Round >= s.TotalRounds() {
		return
	}
	if s.Open() {
		s.Rounds[s.Round-1].CompletedAt = unknownTime
	}
	pairings := s.Pairings(s.Round + 1)
	s.Round++
	s.Rounds = append(s.Rounds, journal.Round{Pairings: pairings, Matches: make([]journal.Match, len(pairings)), AnnouncedAt: unknownTime})
}

// unknownTime is that of an event that is missing.
const unknownTime = "?"

// supposeRoundOf announces the round of a match, if it is the next; false when
// there is no such match in an announced round.
func (x *examination) supposeRoundOf(id protocol.MatchID, seq int) bool {
	if !x.supposeStart(seq) {
		return false
	}
	if id.Round == x.state.Round+1 {
		x.supposeRound()
	}
	_, _, _, ok := x.state.Find(id)
	return ok
}

// supposeAttempt assigns a match, unless that attempt was.
func (x *examination) supposeAttempt(id protocol.MatchID, a journal.Attempt) {
	m, _, _, _ := x.state.Find(id)
	if !slices.ContainsFunc(m.Attempts, func(b journal.Attempt) bool { return a.Number == b.Number && a.Referee == b.Referee }) {
		m.Attempts = append(m.Attempts, a)
	}
}

// mendReport counts a result although its score or its referee is wrong.
func (x *examination) mendReport(d *journal.MatchReported, seq int) {
	s := x.state
	if !x.supposeRoundOf(d.MatchID, seq) {
		return
	}
	m, _, _, _ := s.Find(d.MatchID)
	outcome, err := s.Outcome(d)
	if m.Report != nil || err != nil || s.Table.Record(outcome) != nil {
		return
	}
	x.supposeAttempt(d.MatchID, journal.Attempt{Number: d.Number, Referee: d.RefereeID})
	m.Report = d
	s.Recorded++
}
