package page

import (
	"cmp"
	"context"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A health is the view of the agents.
type health struct {
	Players  []*agentHealth
	Referees []*agentHealth
	Read     int // transcripts behind the latencies
	Recorded int // matches with a result
	Unread   int // transcripts that could not be read
}

// An agentHealth is the state of one agent.
type agentHealth struct {
	ref
	State    string
	Kind     string // active, waiting, suspended, out or finished: the class of CSS
	Failures int    // in a row
	Lost     int    // technical losses of a player, failed attempts of a referee
	Fallback int
	Matches  int // with a result
	Running  int // matches of a referee now

	P50, P90, P99 string
	Slow          bool // p99 takes more than half of the time that the league gives
	Warnings      []warning
	Deviations    []record.Deviation
}

// A warning is a kind of failure that tries of an agent had, in the transcripts that were read.
type warning struct {
	faultText
	Count int
}

// agentsOf is the view of the agents, with what transcripts tell about them.
func agentsOf(l *record.League, found *record.Health, unread int) *health {
	m := at(l, live)
	v := &health{Recorded: l.Recorded, Read: found.Attempts, Unread: unread}
	agents := map[string]*agentHealth{}
	for _, a := range l.SortedAgents() {
		one := &agentHealth{
			ref: m.agent(a.AgentID), State: shown(l.StateInWords(a)), Kind: kindOf(l, a), Failures: a.Failures,
		}
		one.measure(found.Player(a.AgentID), l.Configuration.Timeouts)
		agents[a.AgentID] = one
		if a.Player {
			v.Players = append(v.Players, one)
		} else {
			v.Referees = append(v.Referees, one)
		}
	}
	for _, row := range l.Standings() {
		one := agents[row.PlayerID]
		one.Lost, one.Matches, one.Fallback = row.TechnicalLosses, row.Played, row.Fallbacks
	}
	for _, match := range l.Matches() {
		if match.Report != nil && match.Report.RefereeID != "" {
			agents[match.Report.RefereeID].Matches++
		}
		for _, a := range match.Attempts {
			if a.Failed {
				agents[a.Referee].Lost++
			}
		}
	}
	for _, r := range l.Running() {
		if r.Attempt > 0 {
			agents[r.RefereeID].Running++
		}
	}
	return v
}

// kindOf is the class of an agent's state.
func kindOf(l *record.League, a *journal.Agent) string {
	switch {
	case a.PartOver() != "":
		return "out"
	case a.Inactive():
		return "suspended"
	case !a.Answered:
		return "waiting"
	case l.Completed != nil:
		return "finished"
	}
	return "active"
}

// measure adds what the transcripts tell of the agent.
func (h *agentHealth) measure(p *record.PlayerHealth, limits protocol.Timeouts) {
	for _, took := range p.Latency(limits) {
		if !protocol.AsksForMove(took.Method) {
			continue // a league asks for moves by one method
		}
		h.P50, h.P90, h.P99 = took.Words(took.P50), took.Words(took.P90), took.Words(took.P99)
		h.Slow = took.Deadline > 0 && took.P99 > 1000*took.Deadline/2
	}
	for cause, n := range p.Failures {
		h.Warnings = append(h.Warnings, warning{fault(cause), n})
	}
	h.Deviations = p.Deviations()
	slices.SortFunc(h.Warnings, func(a, b warning) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Short, b.Short)) })
}

// The limits of what the page of agents reads: the transcripts of the last recorded matches, and
// the time that it may take.
const (
	tracesMost = 200
	tracesTime = 2 * time.Second
)

// health reads the last transcripts. It returns the number of those that cannot be read.
func (b *Board) health(ctx context.Context) (found *record.Health, unread int) {
	var attempts []league.Attempt
	b.View(func(l *record.League) { attempts = lastAttempts(l) })
	ctx, cancel := context.WithTimeout(ctx, tracesTime)
	defer cancel()
	found = record.NewHealth()
	for _, at := range attempts {
		match, err := b.Transcript(ctx, at)
		switch {
		case ctx.Err() != nil:
			return found, unread
		case err != nil:
			unread++
		default:
			found.Add(match)
		}
	}
	return found, unread
}

// lastAttempts are the attempts of the last recorded matches that a referee conducted, the
// latest first.
func lastAttempts(l *record.League) (attempts []league.Attempt) {
	for round := l.Round; round >= 1 && len(attempts) < tracesMost; round-- {
		var of []league.Attempt
		for _, match := range l.MatchesOf(round, round) {
			if match.Report != nil && match.Report.Number > 0 {
				of = append(of, match.Report.Attempt)
			}
		}
		slices.Reverse(of)
		attempts = append(attempts, of...)
	}
	return attempts[:min(len(attempts), tracesMost)]
}

// A player is the view of one player.
type player struct {
	ref
	State   string        // of its part in the league, in words
	Row     *standingsRow // in the standings; nil before the start
	Players int
	Fails   int // matches without an answer in a row

	Withdrawn *journal.Made
	Held      *journal.Made

	Results []playerResult // the latest first
	Against *ref           // the only opponent of the results; nil for all
	Heads   []head
	Faults  []faultCount
	Next    []nextMatch

	Rating *ratingRow // nil for none
}

// A playerResult is a result as the player sees it.
type playerResult struct {
	result
	Opponent ref
	Mark     mark
	Points   int
}

// A head is what the player did against one opponent.
type head struct {
	ref
	*record.HeadToHead
}

// A faultText explains a technical loss to the owner of an agent.
type faultText struct {
	Code  string
	Short string // follows the name of a player: "did not answer in time"
	Long  string // what it means, and what helps
}

// fault explains a cause.
func fault(c record.Cause) faultText {
	return faultText{c.Code, c.Words, cmp.Or(c.Remedy, "The transcript of the match has the details.")}
}

// A faultCount is how often the player lost technically for one reason.
type faultCount struct {
	faultText
	Matches []string // ids
}

// A nextMatch is a match of the player without a result.
type nextMatch struct {
	Match    string
	Opponent ref
	State    string
}

// playerOf is the view of a player, with its results against one opponent only if against is
// not empty; nil for an unknown player.
func playerOf(l *record.League, id, against string) *player {
	a := l.Agents[id]
	if a == nil || !a.Player {
		return nil
	}
	m := at(l, live)
	v := &player{ref: m.agent(id), Fails: a.Failures, Withdrawn: a.Withdrawn, Held: a.Held}
	v.State = shown(l.StateInWords(a))
	if other := l.Agents[against]; other != nil && other.Player && against != id {
		rival := m.agent(against)
		v.Against = &rival
	}
	if l.Started == nil {
		return v
	}
	rows := m.standings().Rows
	v.Players = len(rows)
	if i := slices.IndexFunc(rows, func(r standingsRow) bool { return r.ID == id }); i >= 0 {
		v.Row = &rows[i]
	}
	v.read(m)
	return v
}

func (v *player) title() string { return v.Name }

// read adds the matches of the player.
func (v *player) read(m *moment) {
	index, ok := m.PlayerIndex(v.ID)
	if !ok {
		return
	}
	for round := m.Round; round >= 1; round-- {
		opponent, number, plays := m.Opponent(round, index)
		if !plays {
			continue
		}
		id := league.MatchID{Round: round, Number: number}
		rival := m.agent(m.Started.Players[opponent])
		match := m.Match(id)
		if match.Report == nil {
			v.Next = append(v.Next, nextMatch{id.String(), rival, m.stateOf(id.String(), len(match.Current()))})
			continue
		}
		one := playerResult{result: m.result(id), Opponent: rival, Mark: markOf(&match.Report.Result, v.ID)}
		one.Points, _ = match.Report.Score.Get(v.ID)
		v.explain(&one, match)
		if v.Against == nil || v.Against.ID == rival.ID {
			v.Results = append(v.Results, one)
		}
	}
	several := false
	for key, sum := range m.Meetings(m.last(), func(player, _ string) bool { return player == v.ID }) {
		v.Heads = append(v.Heads, head{m.agent(key[1]), sum})
		several = several || len(sum.MatchIDs) > 1
	}
	slices.SortFunc(v.Heads, func(a, b head) int { return league.CompareIDs(a.ID, b.ID) })
	if !several {
		v.Heads = nil // the results tell the same
	}
}

// explain adds a technical loss to those for the same reason.
func (v *player) explain(r *playerResult, match *journal.Match) {
	if r.Mark != technical {
		return
	}
	cause := record.CauseIn(&match.Report.Result, v.ID)
	why := fault(cause)
	switch {
	case slices.Contains(match.Forfeited, v.ID):
		why = faultText{"", "forfeited",
			"The player was suspended, shut down or withdrawn when the round began, so the match was not played."}
	case match.Ruled != nil:
		why = faultText{"", "lost by a ruling", "The organiser ruled that the player lost."}
	case cause.Code == "":
		why = faultText{"", "lost without an error code",
			"The referee named no error. The match page has the reason in words."}
	}
	k := slices.IndexFunc(v.Faults, func(f faultCount) bool { return f.Short == why.Short })
	if k < 0 {
		v.Faults, k = append(v.Faults, faultCount{faultText: why}), len(v.Faults)
	}
	v.Faults[k].Matches = append(v.Faults[k].Matches, r.MatchID)
}
