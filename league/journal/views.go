package journal

import (
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// Summary counts the results of an announced round.
func (s *State) Summary(round int) protocol.RoundSummary {
	n := len(s.Rounds[round-1].Pairings)
	summary := protocol.RoundSummary{TotalMatches: n}
	for k := range n {
		r := s.Match(league.MatchID{Round: round, Number: k + 1}).Report
		switch {
		case r == nil:
		case r.Status == league.StatusWin:
			summary.Wins++
		case r.Status == league.StatusDraw:
			summary.Draws++
		default:
			summary.TechnicalLosses++
		}
	}
	return summary
}

// Standings are the ranked rows of the table with the players' names. Before the
// start they are all players in order of ids.
func (s *State) Standings() []league.Standing {
	if s.Table == nil {
		return s.registeredPlayers()
	}
	rows := s.Ranking()
	for i := range rows {
		r := &rows[i]
		a := s.Agents[s.Started.Players[r.Player]]
		r.PlayerID, r.DisplayName, r.ShownName = a.AgentID, a.DisplayName, a.Name
		r.Withdrawn, r.Annulled = a.Withdrawn != nil, a.Annulled
	}
	return rows
}

// StandingsAfter are the standings after a round from 0 to CompletedRounds: those of the results
// that count now, of that round and those before it.
func (s *State) StandingsAfter(round int) []league.Standing {
	if s.Table == nil {
		return s.registeredPlayers()
	}
	past := *s
	var err error
	if past.Table, err = s.Created.newTable(len(s.Started.Players)); err != nil {
		return nil // the event Started has checked it
	}
	past.played = s.played[:min(round, len(s.played))]
	for n := 1; n <= round; n++ {
		past.countUnpaired(n, s.Rounds[n-1].Pairings, s.Rounds[n-1].Byes)
		for _, m := range s.MatchesOf(n, n) {
			if m.Report == nil {
				continue // it is played again
			}
			if r, err := s.TableResult(m.Report); err == nil { // addResult has checked it
				_ = past.count(m.Report.MatchID, r)
			}
			past.countFallbacks(m.Report, 1)
		}
	}
	return past.Standings()
}

// registeredPlayers are the rows of a table before the start, which rank nobody: ranks
// number them.
func (s *State) registeredPlayers() []league.Standing {
	rows := []league.Standing{}
	for _, a := range s.registered(true) {
		rows = append(rows, league.Standing{Rank: len(rows) + 1, PlayerID: a.AgentID, DisplayName: a.DisplayName,
			ShownName: a.Name})
	}
	return rows
}

// AgentRecords are the registered agents in the form of agents.json, in order of ids.
func (s *State) AgentRecords() (referees, players []store.Agent) {
	return append([]store.Agent{}, lists.Map(s.registered(false), s.agentRecord)...),
		append([]store.Agent{}, lists.Map(s.registered(true), s.agentRecord)...)
}

// agentRecord is an agent in the form of agents.json.
func (s *State) agentRecord(a *Agent) store.Agent {
	record := store.Agent{
		DisplayName: a.DisplayName, Endpoint: a.Endpoint, Version: a.Version, ProtocolVersion: a.ProtocolVersion,
		GameTypes: a.GameTypes, RegisteredAt: a.RegisteredAt, Answered: a.Answered,
	}
	record.State, record.StateReason = s.Lifecycle(a)
	if a.Player {
		record.PlayerID = a.AgentID
	} else {
		record.RefereeID, record.MaxConcurrent = a.AgentID, a.Capacity
	}
	return record
}

// CompletedRounds is the number of completed rounds.
func (s *State) CompletedRounds() int {
	if s.Open() {
		return s.Round - 1
	}
	return s.Round
}

// RoundRecords are the completed rounds in the form of rounds.json.
func (s *State) RoundRecords() []store.Round {
	records := make([]store.Round, s.CompletedRounds())
	for i := range records {
		records[i] = *s.RoundRecord(i + 1)
	}
	return records
}

// RoundRecord is a completed round in the form of rounds.json, with the results that count
// now. A match that is played again has no status until it has a result.
func (s *State) RoundRecord(round int) *store.Round {
	r := &s.Rounds[round-1]
	record := &store.Round{
		RoundID: round, AnnouncedAt: r.AnnouncedAt, CompletedAt: r.CompletedAt,
		Matches: make([]store.RoundMatch, len(r.Pairings)), Summary: s.Summary(round),
	}
	for k, pair := range r.Pairings {
		id := league.MatchID{Round: round, Number: k + 1}
		m, x := s.Match(id), &record.Matches[k]
		x.MatchID, x.PlayerAID, x.PlayerBID = id.String(), s.Started.Players[pair.A], s.Started.Players[pair.B]
		x.AnnulledResults = len(m.Annulled)
		if r := m.Report; r != nil {
			x.RefereeID, x.Attempt, x.Status, x.WinnerPlayerID = r.RefereeID, r.Number, r.Status, r.WinnerPlayerID
		}
		if m.Ruled != nil {
			x.RuledBy = m.Ruled.By
		}
	}
	return record
}
