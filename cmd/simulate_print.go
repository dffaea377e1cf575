package cmd

import (
	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

// simulationWriter returns the function for --format and --list.
func simulationWriter(format, list string) (write func(streams, *simulation.Result) error, err error) {
	switch {
	case format == "csv" && list == "standings":
		return func(s streams, r *simulation.Result) error {
			return printCSV(s.out, standingsCSV(r.Standings))
		}, nil
	case list == "standings":
		return nil, usage("--list standings selects the rows of --format csv: set this format")
	}
	return map[string]func(streams, *simulation.Result) error{
		formatTable: printSimulation, formatJSON: writeJSON, formatCSV: writeMatchesCSV,
	}[format], nil
}

func printSimulation(s streams, r *simulation.Result) error {
	if err := printStandings(s, r.Standings, r.Evidence, r.Champion); err != nil {
		return err
	}
	if err := printLine(s.out, "%s", resultsOf(r).Sentence()); err != nil {
		return err
	}
	return printOutside(s.out, r)
}

// resultsOf are the results of a simulation for the statistics.
func resultsOf(r *simulation.Result) *record.Results {
	results := &record.Results{LeagueID: r.LeagueID, Format: r.Format, Players: r.Standings, Matches: r.Results}
	if game, err := games().Game(r.GameType); err == nil {
		results.SidesAlike = game.Info().SidesAlike
	}
	return results
}

// The output of --format json. The members are a contract.
type (
	simulationJSON struct {
		head

		GameType   string              `json:"game_type"`
		Seed       uint64              `json:"seed"`
		Faults     string              `json:"faults,omitzero"`
		Tournament string              `json:"tournament,omitzero"` // swiss or knockout
		Players    int                 `json:"players"`
		Rounds     int                 `json:"rounds"`
		Matches    int                 `json:"matches"`
		Champion   league.Champion     `json:"champion"`
		Standings  []league.Standing   `json:"standings"`
		Statistics *stats.Analysis     `json:"statistics"`
		Results    []resultJSON        `json:"results"`
		Losses     []simulation.Loss   `json:"losses,omitempty"`
		Breaches   []simulation.Breach `json:"breaches,omitempty"`
	}
	resultJSON struct {
		MatchID        string                    `json:"match_id"`
		RoundID        int                       `json:"round_id"`
		PlayerAID      string                    `json:"player_A_id"`
		PlayerBID      string                    `json:"player_B_id"`
		Status         string                    `json:"status"`
		WinnerPlayerID *string                   `json:"winner_player_id"`
		DrawnNumber    *int                      `json:"drawn_number"`
		Choices        league.PerPlayer[*string] `json:"choices"`
		Reason         string                    `json:"reason"`
		Faults         league.PerPlayer[string]  `json:"faults,omitzero"`
		Fallbacks      league.PerPlayer[int]     `json:"fallbacks,omitzero"`
	}
)

func writeJSON(s streams, r *simulation.Result) error { return printJSON(s.out, jsonOf(r)) }

func jsonOf(r *simulation.Result) *simulationJSON {
	document := &simulationJSON{
		head: headOf(r.LeagueID), GameType: r.GameType, Seed: r.Seed,
		Faults: r.Faults, Tournament: r.Format, Players: r.Players, Rounds: r.Rounds, Matches: len(r.Results),
		Champion: r.Champion,
		Losses:   r.Losses, Breaches: r.Breaches, Standings: r.Standings, Statistics: resultsOf(r).Statistics(),
	}
	for _, m := range r.Results {
		document.Results = append(document.Results, resultJSON{
			MatchID: m.MatchID, RoundID: m.RoundID, PlayerAID: m.PlayerA, PlayerBID: m.PlayerB, Status: m.Status,
			WinnerPlayerID: protocol.NonZero(m.Winner), DrawnNumber: protocol.NonZero(m.Number),
			Choices: league.Both(m.PlayerA, protocol.NonZero(m.ChoiceA), m.PlayerB, protocol.NonZero(m.ChoiceB)),
			Reason:  m.Reason, Faults: m.Faults, Fallbacks: m.Fallbacks,
		})
	}
	return document
}

// writeMatchesCSV writes the matches. Its columns are a contract; those of fallbacks exist
// only if there are any.
func writeMatchesCSV(s streams, r *simulation.Result) error {
	fallbacks := anyFallback(r.Standings)
	columns := "match_id round_id player_A_id player_B_id status winner_player_id drawn_number choice_A choice_B reason"
	if fallbacks {
		columns += " fallbacks_A fallbacks_B"
	}
	return printCSV(s.out, csvRows(columns, r.Results, func(m manager.MatchRecord) []any {
		row := []any{
			m.MatchID, m.RoundID, m.PlayerA, m.PlayerB, m.Status, m.Winner,
			protocol.NonZero(m.Number), m.ChoiceA, m.ChoiceB, m.Reason,
		}
		if fallbacks {
			a, _ := m.Fallbacks.Get(m.PlayerA)
			b, _ := m.Fallbacks.Get(m.PlayerB)
			row = append(row, a, b)
		}
		return row
	}))
}
