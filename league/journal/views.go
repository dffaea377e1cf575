package journal

import (
	"maps"
	"slices"

	table "evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// Summary counts the results of an announced round.
func (s *State) Summary(round int) protocol.RoundSummary {
	summary := protocol.RoundSummary{TotalMatches: len(s.Rounds[round-1].Pairings)}
	for number := 1; number <= summary.TotalMatches; number++ {
		report := s.Match(protocol.MatchID{Round: round, Number: number}).Report
		switch {
		case report == nil:
		case report.Status == protocol.StatusWin:
			summary.Wins++
		case report.Status == protocol.StatusDraw:
			summary.Draws++
		default:
			summary.TechnicalLosses++
		}
	}
	return summary
}

// Standings are the ranked rows of the table with the players' names. Before the
// start they are all players in order of ids.
func (s *State) Standings() []store.StandingRow {
	if s.Table == nil {
		return s.registeredPlayers()
	}
	shown := []string{table.Bracket, table.TiebreakPoints, table.TiebreakWins, table.TiebreakDraws}
	swiss := s.Created.Tournament.IsSwiss()
	if swiss {
		shown = append(shown, table.TiebreakBuchholz, table.TiebreakSonnebornBerger)
	}
	ranked := s.Ranking()
	rows := make([]store.StandingRow, len(ranked))
	for i := range ranked {
		r := &ranked[i]
		id := s.Started.Players[r.Player]
		a := s.Agents[id]
		rows[i] = store.StandingRow{
			StandingRow: protocol.StandingRow{
				Rank: r.Rank, Tied: r.Tied, PlayerID: id, DisplayName: a.DisplayName,
				Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
				Withdrawn: a.Withdrawn != nil, Annulled: a.Annulled,
			},
			TechnicalLosses: r.TechnicalLosses,
		}
		if r.DecidedBy != table.TiebreakPoints {
			rows[i].DecidedBy = r.DecidedBy
		}
		if swiss {
			rows[i].Byes, rows[i].Buchholz, rows[i].SonnebornBerger = &r.Byes, &r.Buchholz, &r.SonnebornBerger
		}
		for _, name := range r.Deciders {
			if slices.Contains(shown, name) {
				continue
			}
			if rows[i].TiebreakValues == nil {
				rows[i].TiebreakValues = protocol.TiebreakValues{}
			}
			rows[i].TiebreakValues[name] = r.Value(name)
		}
	}
	return rows
}

// StandingsAfter are the standings after a round from 0 to CompletedRounds: those of the results
// that count now, of that round and those before it.
func (s *State) StandingsAfter(round int) []store.StandingRow {
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
		for _, player := range s.Rounds[n-1].byes {
			past.Table.RecordBye(player)
		}
		for i := range s.Rounds[n-1].Pairings {
			report := s.Match(protocol.MatchID{Round: n, Number: i + 1}).Report
			if report == nil {
				continue // it is played again
			}
			if r, err := s.TableResult(report); err == nil { // record has checked it
				_ = past.count(r)
			}
		}
	}
	return past.Standings()
}

// registeredPlayers are the rows of a table before the start, which rank nobody: ranks
// number them.
func (s *State) registeredPlayers() []store.StandingRow {
	rows := []store.StandingRow{}
	for _, a := range s.sortedAgents() {
		if a.Player {
			rows = append(rows, store.StandingRow{StandingRow: protocol.StandingRow{Rank: len(rows) + 1, PlayerID: a.AgentID, DisplayName: a.DisplayName}})
		}
	}
	return rows
}

// sortedAgents are the registered agents in order of ids.
func (s *State) sortedAgents() []*Agent {
	return slices.SortedFunc(maps.Values(s.Agents), func(a, b *Agent) int { return protocol.CompareIDs(a.AgentID, b.AgentID) })
}

// AgentRecords are the registered agents in the form of agents.json, in order of ids.
func (s *State) AgentRecords() (referees, players []store.Agent) {
	referees, players = []store.Agent{}, []store.Agent{}
	for _, a := range s.sortedAgents() {
		if a.Player {
			players = append(players, s.AgentRecord(a))
		} else {
			referees = append(referees, s.AgentRecord(a))
		}
	}
	return referees, players
}

// AgentRecord is an agent in the form of agents.json.
func (s *State) AgentRecord(a *Agent) store.Agent {
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
		RoundID: round, AnnouncedAt: r.AnnouncedAt, CompletedAt: r.CompletedAt, Summary: s.Summary(round),
		Matches: make([]store.RoundMatch, len(r.Pairings)),
	}
	for k, pair := range r.Pairings {
		id := protocol.MatchID{Round: round, Number: k + 1}
		m := s.Match(id)
		x := &record.Matches[k]
		*x = store.RoundMatch{
			MatchID:   id.String(),
			PlayerAID: s.Started.Players[pair.A], PlayerBID: s.Started.Players[pair.B],
			AnnulledResults: len(m.Annulled),
		}
		if report := m.Report; report != nil {
			x.RefereeID, x.Attempt, x.Status, x.WinnerPlayerID = report.RefereeID, report.Number, report.Status, report.WinnerPlayerID
		}
		if m.Ruled != nil {
			x.RuledBy = m.Ruled.By
		}
	}
	return record
}
