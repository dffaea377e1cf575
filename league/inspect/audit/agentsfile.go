package audit

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// An agentsCheck compares agents.json with the journal. The file shows the agents of one
// moment, which may be earlier than the end of the journal: each row must be that of an
// agent after some event, and all rows must be those after the same event.
type agentsCheck struct {
	document[store.Agents]
	rows    map[string]*agentRow // by agent
	changes []agentsChange       // in the order of the events
}

// An agentRow is a row of agents.json.
type agentRow struct {
	*store.Agent
	member jsontext.Pointer
	equals bool // the agent as it is after the last event
	ever   bool // the agent as it was after some event
}

// An agentsChange is what an event changes: the number of registered agents, and the number
// of rows that are equal to their agents.
type agentsChange struct{ agents, equal int }

// openAgents reads agents.json. Earlier versions wrote none.
func (a *auditor) openAgents() {
	c := &a.agents
	c.document = openDerived[store.Agents](a, a.dir.Agents(a.id))
	if c.value == nil {
		return
	}
	c.rows = map[string]*agentRow{}
	for i := range c.value.Referees {
		row := &c.value.Referees[i]
		c.rows[row.RefereeID] = &agentRow{Agent: row, member: jsontext.Pointer("/referees").AppendToken(strconv.Itoa(i))}
	}
	for i := range c.value.Players {
		row := &c.value.Players[i]
		c.rows[row.PlayerID] = &agentRow{Agent: row, member: jsontext.Pointer("/players").AppendToken(strconv.Itoa(i))}
	}
}

// follow compares the rows with the agents that an event changes.
func (c *agentsCheck) follow(s *journal.State, d journal.Data) {
	if c.rows == nil {
		return
	}
	change := agentsChange{}
	switch d := d.(type) {
	case *journal.AgentRegistered:
		change.agents = 1
		change.equal = c.compare(s, d.AgentID)
	case *journal.RegistrationDropped:
		change.agents = -1
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentAnswered:
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentReturned:
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentSuspended:
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentShutdown:
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentInformed:
		change.equal = c.compare(s, d.AgentID)
	case *journal.AgentHeld, *journal.AgentReadmitted:
		change.equal = c.compare(s, d.(journal.DecisionEvent).Matter())
	case *journal.AgentWithdrawn:
		change.equal = c.compare(s, d.AgentID)
		if s.Started == nil { // it has lost its registration
			change.agents = -1
		}
	case *journal.Started:
		for id := range s.Agents {
			change.equal += c.compare(s, id)
		}
	default:
		return
	}
	c.changes = append(c.changes, change)
}

// compare returns by how much an agent changes the number of rows that are equal to their
// agents.
func (c *agentsCheck) compare(s *journal.State, id string) int {
	row := c.rows[id]
	if row == nil {
		return 0
	}
	was := row.equals
	row.equals = false
	if agent := s.Agents[id]; agent != nil {
		want := s.AgentRecord(agent)
		row.equals = reflect.DeepEqual(row.Agent, &want)
	}
	row.ever = row.ever || row.equals
	switch {
	case row.equals == was:
		return 0
	case was:
		return -1
	}
	return 1
}

// checkAgentsFile checks agents.json.
func (a *auditor) checkAgentsFile() {
	c := &a.agents
	d := c.value
	if d == nil || a.chain.next == 0 {
		return
	}
	checkHeader(a, &c.document, RuleAgents, location{})
	at := func(member jsontext.Pointer, id string) location {
		return location{file: c.file, line: c.line(member), agentID: id}
	}
	if d.LeagueID != a.id {
		a.find(RuleAgents, at("/league_id", ""), "league_id is %s, not %s", quoted(&d.LeagueID), a.id)
	}
	if !a.completed() {
		return // the manager that resumes the league writes it again
	}
	found := 0
	for _, row := range slices.SortedFunc(maps.Values(c.rows), func(x, y *agentRow) int { return cmp.Compare(x.member, y.member) }) {
		if row.ever || found == maxMissing {
			continue
		}
		found++
		id := row.RefereeID + row.PlayerID
		agent := a.state.Agents[id]
		if agent == nil {
			a.find(RuleAgents, at(row.member, id), "%s is not registered", quoted(&id))
			continue
		}
		want := a.state.AgentRecord(agent)
		for _, diff := range differences(row.Agent, &want) {
			a.find(RuleAgents, at(row.member+diff.member, id), "%s of %s is %s; by the journal it is %s", name(diff.member), id, diff.got, diff.want)
		}
	}
	if found > 0 {
		return
	}
	if last := c.lastMoment(); last == 0 {
		a.find(RuleAgents, at("", ""), "it has %s, but after no event of the journal these were the agents: a row was removed, added or changed",
			protocol.Counted(len(d.Referees)+len(d.Players), "agent"))
	} else if last < len(c.changes) {
		a.note(RuleAgents, at("", ""), "it does not have the last changes of agents%s", writtenAgain)
	}
	for _, rows := range [][]store.Agent{d.Referees, d.Players} {
		for i := range rows[min(1, len(rows)):] {
			if id, before := rows[i+1].RefereeID+rows[i+1].PlayerID, rows[i].RefereeID+rows[i].PlayerID; protocol.CompareIDs(before, id) >= 0 {
				a.find(RuleAgents, at(c.rows[id].member, id), "%s stands behind %s: agents are in order of their ids", clip(id), clip(before))
				return
			}
		}
	}
}

// lastMoment is the number of changes after which the rows are the agents of the league; 0
// for never.
func (c *agentsCheck) lastMoment() (last int) {
	rows, agents, equal := len(c.value.Referees)+len(c.value.Players), 0, 0
	for i, change := range c.changes {
		agents, equal = agents+change.agents, equal+change.equal
		if agents == rows && equal == rows {
			last = i + 1
		}
	}
	return last
}
