package journal

import (
	"maps"
	"slices"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// Summary counts how the matches of a round ended.
func (s *State) Summary(round int) protocol.RoundSummary {
	matches := s.Rounds[round-1].Matches
	summary := protocol.RoundSummary{TotalMatches: len(matches)}
	for i := range matches {
		report := matches[i].Report
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

// Standings are the ranked rows of the table with the players' names, or, before
// the start, all players in order of their ids.
func (s *State) Standings() []store.StandingRow {
	if s.Table == nil {
		return s.unplayed()
	}
	ranked := s.Table.Standings()
	rows := make([]store.StandingRow, len(ranked))
	for i, r := range ranked {
		id := s.Started.Players[r.Player]
		rows[i] = store.StandingRow{
			StandingRow: protocol.StandingRow{
				Rank: r.Rank, PlayerID: id, DisplayName: s.Agents[id].Name,
				Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
			},
			TechnicalLosses: r.TechnicalLosses,
		}
	}
	return rows
}

func (s *State) unplayed() []store.StandingRow {
	var ids []string
	for id, a := range s.Agents {
		if a.Player {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, protocol.CompareIDs)
	rows := make([]store.StandingRow, len(ids))
	for i, id := range ids {
		rows[i].StandingRow = protocol.StandingRow{Rank: i + 1, PlayerID: id, DisplayName: s.Agents[id].Name}
	}
	return rows
}

// AgentRecords are the registered agents as agents.json lists them, in order of
// ids.
func (s *State) AgentRecords() (referees, players []store.Agent) {
	referees, players = []store.Agent{}, []store.Agent{}
	for _, id := range slices.SortedFunc(maps.Keys(s.Agents), protocol.CompareIDs) {
		a := s.Agents[id]
		record := store.Agent{
			DisplayName: a.Name, Endpoint: a.Endpoint, Version: a.Version, ProtocolVersion: a.ProtocolVersion,
			GameTypes: a.GameTypes, RegisteredAt: a.Registered, Answered: a.Answered,
		}
		record.State, record.StateReason = s.Life(a)
		if a.Player {
			record.PlayerID = id
			players = append(players, record)
		} else {
			record.RefereeID, record.MaxConcurrent = id, a.Capacity
			referees = append(referees, record)
		}
	}
	return referees, players
}

// RoundRecords are the completed rounds as rounds.json lists them.
func (s *State) RoundRecords() []store.Round {
	records := make([]store.Round, 0, len(s.Rounds))
	for i := range s.Rounds {
		r := &s.Rounds[i]
		if r.CompletedAt == "" {
			break
		}
		record := store.Round{RoundID: i + 1, AnnouncedAt: r.AnnouncedAt, CompletedAt: r.CompletedAt, Summary: r.Summary}
		for k, pair := range r.Pairings {
			report := r.Matches[k].Report
			record.Matches = append(record.Matches, store.RoundMatch{
				MatchID:   report.MatchID.String(),
				PlayerAID: s.Started.Players[pair.A], PlayerBID: s.Started.Players[pair.B],
				RefereeID: report.RefereeID, Attempt: report.Number,
				Status: report.Status, WinnerPlayerID: report.WinnerPlayerID,
			})
		}
		records = append(records, record)
	}
	return records
}
