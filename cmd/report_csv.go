package cmd

import (
	"strings"

	"evenodd/league/view/record"
	"evenodd/league/view/report"
	"evenodd/league/view/stats"
)

// reportCSV are the rows of a list of a report. Their columns are a contract.
func reportCSV(r *report.Report, list string) [][]string {
	switch list {
	case "standings":
		return standingsCSV(r.Standings)
	case "faults":
		return faultsCSV(r.Faults)
	case "ratings":
		return ratingsCSV(r.Statistics)
	case "decisions":
		return decisionsCSV(r.Decisions)
	}
	return matchesCSV(r.Matches)
}

// sheetCSV are the rows of a list of the sheet of an agent. Their columns are a contract.
func sheetCSV(s *report.Sheet, list string) [][]string {
	switch list {
	case "faults":
		return faultsCSV(s.Faults)
	case "opponents":
		const columns = "opponent_id wins draws losses technical_losses points match_ids"
		return csvRows(columns, s.Opponents, func(h record.HeadToHead) []any {
			return []any{
				h.OpponentID, h.Wins, h.Draws, h.Losses, h.TechnicalLosses, h.Points, strings.Join(h.MatchIDs, " "),
			}
		})
	case "latency":
		const columns = "method answers p50_ms p90_ms p99_ms longest_ms deadline_sec"
		return csvRows(columns, s.Agent.Latency, func(l record.Latency) []any {
			return []any{l.Method, l.Answers, l.P50, l.P90, l.P99, l.Longest, l.Deadline}
		})
	}
	return matchesCSV(s.Matches)
}

func faultsCSV(groups []report.FaultGroup) [][]string {
	const columns = "agent_id kind error_code error_name method count technical_losses " +
		"problem requirement remedy match_ids"
	return csvRows(columns, groups, func(g report.FaultGroup) []any {
		return []any{
			g.AgentID, g.Kind, g.Code, g.Name, g.Method, g.Count, g.Lost,
			g.Problem, g.Requirement, g.Remedy, strings.Join(g.MatchIDs(), " "),
		}
	})
}

func ratingsCSV(s *stats.Analysis) [][]string {
	const columns = "player_id display_name strategy matches rating low high rank best_rank worst_rank legs_to_next"
	var ratings []stats.Player
	if s != nil { // the league has started
		ratings = s.Ratings
	}
	return csvRows(columns, ratings, func(r stats.Player) []any {
		return []any{
			r.PlayerID, r.DisplayName, r.Strategy, r.Matches, r.Rating, r.Low, r.High, r.Rank, r.BestRank, r.WorstRank,
			r.LegsToNext,
		}
	})
}
