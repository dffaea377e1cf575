package cmd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// readAs decodes the data of a response for show. It prints data without the member,
// or of another form, as JSON.
func readAs[T any](s streams, data jsontext.Value, member string, show func(T) error) error {
	var members map[string]jsontext.Value
	var read T
	if json.Unmarshal(data, &members) != nil || members[member] == nil || json.Unmarshal(data, &read) != nil {
		return printJSON(s.out, data)
	}
	return show(read)
}

// printRows prints a table of values from a manager, each on one line.
func printRows(s streams, header []string, rows [][]string, numeric ...int) error {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	return printTable(s.out, header, rows, numeric...)
}

func printQueriedStandings(s streams, data jsontext.Value) error {
	return readAs(s, data, "standings", func(d protocol.StandingsData) error {
		rows := make([][]string, len(d.Standings))
		for i, r := range d.Standings {
			rows[i] = append([]string{strconv.Itoa(r.Rank), r.PlayerID, r.DisplayName}, tally(r)...)
		}
		return printRows(s, []string{"Rank", "Player", "Name", "Played", "W", "D", "L", "Points"}, rows, 0, 3, 4, 5, 6, 7)
	})
}

// tally returns the columns that standings and statistics share.
func tally(r protocol.StandingRow) []string {
	return []string{
		strconv.Itoa(r.Played), strconv.Itoa(r.Wins), strconv.Itoa(r.Draws), strconv.Itoa(r.Losses), strconv.Itoa(r.Points),
	}
}

func printSchedule(s streams, data jsontext.Value) error {
	return readAs(s, data, "matches", func(d protocol.ScheduleData) error {
		rows := make([][]string, len(d.Matches))
		for i, m := range d.Matches {
			rows[i] = []string{strconv.Itoa(m.RoundID), m.MatchID, m.PlayerAID, m.PlayerBID, textOr(m.RefereeEndpoint), m.Status, textOr(m.WinnerPlayerID)}
		}
		return printRows(s, []string{"Round", "Match", "Player A", "Player B", "Referee", "Status", "Winner"}, rows, 0)
	})
}

// textOr returns a text that may be null.
func textOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func printNextMatch(s streams, data jsontext.Value) error {
	return readAs(s, data, "next_match", func(d protocol.NextMatchData) error {
		m := d.NextMatch
		if m == nil {
			_, err := fmt.Fprintln(s.out, "No match is left.")
			return err
		}
		referee := textOr(m.RefereeEndpoint)
		if m.RefereeExpected {
			referee = strings.TrimSpace(referee + " (expected)")
		}
		return printRows(s, []string{"Round", "Match", "Opponent", "Referee"},
			[][]string{{strconv.Itoa(m.RoundID), m.MatchID, m.OpponentID, referee}}, 0)
	})
}

func printStats(s streams, data jsontext.Value) error {
	type stats struct {
		protocol.PlayerStatsData
		RefereeID string `json:"referee_id"`
	}
	return readAs(s, data, "display_name", func(d stats) error {
		state := d.State
		if d.StateReason != "" {
			state += ": " + d.StateReason
		}
		if d.RefereeID != "" {
			return printRows(s, []string{"Referee", "Name", "State", "Failures"},
				[][]string{{d.RefereeID, d.DisplayName, state, strconv.Itoa(d.Failures)}}, 3)
		}
		row := append([]string{strconv.Itoa(d.Rank), d.PlayerID, d.DisplayName}, tally(d.StandingRow)...)
		row = append(row, strconv.Itoa(d.TechnicalLosses), state)
		return printRows(s, []string{"Rank", "Player", "Name", "Played", "W", "D", "L", "Points", "Technical", "State"},
			[][]string{row}, 0, 3, 4, 5, 6, 7, 8)
	})
}

func printStatus(s streams, data jsontext.Value) error {
	type status struct {
		CurrentRound int `json:"current_round"`
		protocol.StatusData
	}
	return readAs(s, data, "state", func(d status) error {
		rows := [][]string{
			{"State", d.State}, {"Games", strings.Join(d.Games, ", ")},
			{"Players", count(d.Players)}, {"Referees", count(d.Referees)},
			{"Round", fmt.Sprintf("%d of %s", d.CurrentRound, cmp.Or(count(d.Rounds), "?"))},
			{"Matches recorded", fmt.Sprintf("%s of %s", cmp.Or(count(d.Recorded), "?"), cmp.Or(count(d.Matches), "?"))},
		}
		for _, a := range d.Inactive {
			rows = append(rows, []string{a.AgentID, a.State + ": " + a.Reason})
		}
		return printRows(s, []string{"League", ""}, rows)
	})
}

// count returns a number that may be missing.
func count(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
