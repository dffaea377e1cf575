package cmd

import (
	"fmt"
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

func printQueriedStandings(s streams, data jsontext.Value) error {
	return readAs(s, data, "standings", func(d protocol.StandingsData) error {
		further := furtherColumns(d.Standings)
		header := append([]string{"Rank", "Player", "Name", "Played", "W", "D", "L", "Points"}, further.header()...)
		rows := make([][]any, len(d.Standings))
		for i := range d.Standings {
			r := &d.Standings[i]
			rows[i] = append([]any{r.ShownRank(), r.PlayerID, r.DisplayName, r.Played, r.Wins, r.Draws, r.Losses, r.Points}, further.cells(r)...)
		}
		return printTable(s.out, header, rows)
	})
}

func printSchedule(s streams, data jsontext.Value) error {
	return readAs(s, data, "matches", func(d protocol.ScheduleData) error {
		rows := protocol.Each(d.Matches, func(m protocol.ScheduledMatch) []any {
			referee, winner := textOr(m.RefereeEndpoint, ""), textOr(m.WinnerPlayerID, "")
			return []any{m.RoundID, m.MatchID, m.PlayerAID, m.PlayerBID, referee, m.Status, winner}
		})
		if err := printTable(s.out, []string{"Round", "Match", "Player A", "Player B", "Referee", "Status", "Winner"}, rows); err != nil || d.KnownRounds == nil {
			return err
		}
		return printLine(s.out, "Round %d and later rounds depend on results: their matches are not known yet.", *d.KnownRounds+1)
	})
}

func printNextMatch(s streams, data jsontext.Value) error {
	return readAs(s, data, "next_match", func(d protocol.NextMatchData) error {
		m := d.NextMatch
		switch {
		case m == nil && d.Undecided:
			return printLine(s.out, "The next match is not known yet: it depends on results.")
		case m == nil:
			return printLine(s.out, "No match is left.")
		}
		referee := textOr(m.RefereeEndpoint, "")
		if m.RefereeExpected {
			referee = strings.TrimSpace(referee + " (expected)")
		}
		return printTable(s.out, []string{"Round", "Match", "Opponent", "Referee"}, [][]any{{m.RoundID, m.MatchID, m.OpponentID, referee}})
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
			return printTable(s.out, []string{"Referee", "Name", "State", "Failures"}, [][]any{{d.RefereeID, d.DisplayName, state, d.Failures}})
		}
		return printTable(s.out, []string{"Rank", "Player", "Name", "Played", "W", "D", "L", "Points", "Technical", "State"},
			[][]any{{d.ShownRank(), d.PlayerID, d.DisplayName, d.Played, d.Wins, d.Draws, d.Losses, d.Points, d.TechnicalLosses, state}})
	})
}

func printStatus(s streams, data jsontext.Value) error {
	type status struct {
		CurrentRound int `json:"current_round"`
		protocol.StatusData
	}
	return readAs(s, data, "state", func(d status) error {
		most := atMost(d.Tournament, d.State)
		rows := [][]any{
			{"State", d.State}, {"Games", strings.Join(d.Games, ", ")},
			{"Players", textOr(d.Players, "")}, {"Referees", textOr(d.Referees, "")},
			{"Round", fmt.Sprintf("%d of %s%s", d.CurrentRound, most, textOr(d.Rounds, "?"))},
			{"Matches recorded", fmt.Sprintf("%s of %s%s", textOr(d.Recorded, "?"), most, textOr(d.Matches, "?"))},
		}
		for _, a := range d.Inactive {
			rows = append(rows, []any{a.AgentID, a.State + ": " + a.Reason})
		}
		return printTable(s.out, []string{"League", ""}, rows)
	})
}
