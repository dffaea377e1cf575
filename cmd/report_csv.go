package cmd

import (
	"strconv"
	"strings"

	"evenodd/league/protocol"
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
		return csvRows(columns, s.Opponents, func(h record.HeadToHead) []string {
			return []string{
				h.OpponentID, strconv.Itoa(h.Wins), strconv.Itoa(h.Draws), strconv.Itoa(h.Losses),
				strconv.Itoa(h.TechnicalLosses), strconv.Itoa(h.Points), strings.Join(h.MatchIDs, " "),
			}
		})
	case "latency":
		const columns = "method answers p50_ms p90_ms p99_ms longest_ms deadline_sec"
		return csvRows(columns, s.Agent.Latency, func(l record.Latency) []string {
			times := protocol.Each([]float64{l.P50, l.P90, l.P99, l.Longest, l.Deadline}, exactly)
			return append([]string{l.Method, strconv.Itoa(l.Answers)}, times...)
		})
	}
	return matchesCSV(s.Matches)
}

func faultsCSV(groups []report.FaultGroup) [][]string {
	const columns = "agent_id kind error_code error_name method count technical_losses " +
		"problem requirement remedy match_ids"
	return csvRows(columns, groups, func(g report.FaultGroup) []string {
		return []string{
			g.AgentID, g.Kind, g.Code, g.Name, g.Method, strconv.Itoa(g.Count), strconv.Itoa(g.Lost),
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
	return csvRows(columns, ratings, func(r stats.Player) []string {
		return []string{
			r.PlayerID, r.DisplayName, r.Strategy, strconv.Itoa(r.Matches),
			exactly(r.Rating), exactly(r.Low), exactly(r.High),
			strconv.Itoa(r.Rank), strconv.Itoa(r.BestRank), strconv.Itoa(r.WorstRank), strconv.Itoa(r.LegsToNext),
		}
	})
}

// exactly formats a number with as many digits as it needs.
func exactly(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
