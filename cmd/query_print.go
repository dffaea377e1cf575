package cmd

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
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
		rows := protocol.Each(d.Standings, func(r protocol.StandingRow) league.Standing { return r.Standing() })
		titles, cells := league.Cells(slices.DeleteFunc(league.Columns(rows), func(c league.Column) bool {
			return c.Name == "technical_losses" // the message does not have them
		}), rows)
		return printTable(s.out, titles, cells)
	})
}

func printSchedule(s streams, data jsontext.Value) error {
	return readAs(s, data, "matches", func(d protocol.ScheduleData) error {
		unknown := 0
		if d.KnownRounds != nil {
			unknown = *d.KnownRounds + 1
		}
		return printMatches(s.out, protocol.Each(d.Matches, func(m protocol.ScheduledMatch) []any {
			return []any{m.RoundID, m.MatchID, m.PlayerAID, m.PlayerBID, m.RefereeEndpoint, m.Status, m.WinnerPlayerID, ""}
		}), unknown)
	})
}

// printMembers prints the members of the data of a response, those of objects with their paths.
func printMembers(s streams, data jsontext.Value) error {
	var rows [][]any
	var add func(path string, value jsontext.Value)
	add = func(path string, value jsontext.Value) {
		switch members := protocol.ParseObject(value); {
		case members != nil:
			for _, m := range members {
				add(strings.TrimPrefix(path+"."+m.Name, "."), m.Value)
			}
		case value.Kind() == '"':
			rows = append(rows, []any{path, protocol.Unquote(value)})
		default:
			rows = append(rows, []any{path, string(value)})
		}
	}
	add("", data)
	return printTable(s.out, []string{"Member", "Value"}, rows)
}
