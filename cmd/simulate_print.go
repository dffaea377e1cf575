package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/lists"
	"evenodd/league/simulation"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// print prints a result as --format, --list and --ratings say.
func (o *simulateOptions) print(s streams, r *simulation.Result) error {
	switch {
	case o.output == formatJSON:
		return printJSON(s.out, jsonOf(r))
	case o.output == formatCSV && o.list == "standings":
		return printCSV(s.out, standingsCSV(r.Players))
	case o.output == formatCSV:
		return writeMatchesCSV(s, r)
	}
	var err error
	if o.quiet && o.drawnSeed { // else a note has it
		err = printLine(s.out, "Seed: %d", o.Seed)
	}
	if o.rated {
		return cmp.Or(err, printRated(s, r))
	}
	return cmp.Or(err, printSimulation(s, r))
}

func printSimulation(s streams, r *simulation.Result) error {
	return cmp.Or(printStandings(s, r.Players, decide.EvidenceInWords(r.State), r.State.Champion()),
		printLine(s.out, "%s", r.Told()), printFailures(s.out, r), printExternal(s.out, r))
}

// printFailures prints a line for each program and model that failed: the number of failures, the consequence
// and the last cause.
func printFailures(w io.Writer, r *simulation.Result) error {
	var text printout
	for i := range r.Players {
		row := &r.Players[i]
		t := r.Totals[row.PlayerID]
		switch {
		case t.Failed == 0:
			continue
		case t.Fallback == "":
			text.line("%s: %s (%s)", row.Ref(), words.Counted(row.TechnicalLosses, "technical loss"), t.Cause)
			continue
		}
		how := "by chance"
		if t.Fallback != "random" {
			how = "by the strategy " + t.Fallback
		}
		champion := ""
		if t.Failed == t.Questions && r.State.Champion().PlayerID == row.PlayerID {
			champion = ": a champion " + how
		}
		text.line("%s: %d of %d moves %s (%s)%s", row.Ref(), t.Failed, t.Questions, how, t.Cause, champion)
	}
	return text.print(w)
}

// noteModels prints the requests, tokens and times of the models.
func noteModels(s streams, r *simulation.Result) {
	for i := range r.Players {
		if m := r.Totals[r.Players[i].PlayerID].Model; m != nil {
			s.note("%s (%s): %s", r.Players[i].Ref(), m.Name, m.Words())
		}
	}
}

// mostColumns is the largest number of opponents in the second table of printRated.
const mostColumns = 10

// printRated prints what printSimulation does, and a table of the players by rating with their results
// against the first ones of it.
func printRated(s streams, r *simulation.Result) error {
	all, met := r.Statistics(), map[[2]string]league.Tally{}
	for p := range r.HeadToHead() {
		met[[2]string{p.PlayerID, p.OpponentID}] = p.Tally
	}
	header := []string{"Player", "Name", "Rating (95%)", "Ranks"}
	opponents := all.Ratings[:min(len(all.Ratings), mostColumns)]
	header = append(header, lists.Map(opponents, func(o stats.Player) string { return o.PlayerID })...)
	rows := lists.Map(all.Ratings, func(p stats.Player) []any {
		return append([]any{p.PlayerID, p.Shown(), p.Interval(), p.Ranks()}, lists.Map(opponents,
			func(o stats.Player) any { return winsDrawsLosses(met[[2]string{p.PlayerID, o.PlayerID}]) })...)
	})
	note := "Columns of opponents: wins–draws–losses against them."
	if n := len(all.Ratings) - len(opponents); n > 0 {
		note += fmt.Sprintf(" Those of %d further opponents are in --format json.", n)
	}
	return cmp.Or(printSimulation(s, r), printTable(s.out, header, rows), printLine(s.out, "%s", note),
		printSuperiority(s, all, opponents))
}

// printSuperiority prints how likely each player is stronger than the first ones by rating.
func printSuperiority(s streams, all *stats.Analysis, opponents []stats.Player) error {
	if all.Used == 0 {
		return nil
	}
	index := map[string]int{}
	for i := range all.Players {
		index[all.Players[i].PlayerID] = i
	}
	ids := lists.Map(opponents, func(o stats.Player) string { return o.PlayerID })
	header := append([]string{"Player", "Name"}, ids...)
	rows := lists.Map(all.Ratings, func(p stats.Player) []any {
		return append([]any{p.PlayerID, p.Shown()}, lists.Map(opponents, func(o stats.Player) any {
			if o.PlayerID == p.PlayerID || o.Matches == 0 || p.Matches == 0 {
				return ""
			}
			return stats.Percent(all.Superiority(index[p.PlayerID], index[o.PlayerID]))
		})...)
	})
	return cmp.Or(printTable(s.out, header, rows),
		printLine(s.out, "Likelihood that the player of the row is stronger than that of the column."))
}

func winsDrawsLosses(t league.Tally) string {
	if t.Played == 0 {
		return ""
	}
	return fmt.Sprintf("%d–%d–%d", t.Wins, t.Draws, t.Losses)
}

// The output of --format json. The members are a contract.
type (
	simulationJSON struct {
		head

		GameType   string              `json:"game_type"`
		Seed       uint64              `json:"seed"`
		Faults     string              `json:"faults,omitzero"`
		Tournament string              `json:"tournament,omitzero"` // "" for a round-robin
		Players    int                 `json:"players"`
		Rounds     int                 `json:"rounds"`
		Matches    int                 `json:"matches"`
		Champion   league.Champion     `json:"champion"`
		Standings  []league.Standing   `json:"standings"`
		Statistics *stats.Analysis     `json:"statistics"`
		Results    rows[resultJSON]    `json:"results"`
		Models     []modelJSON         `json:"models,omitempty"`
		Losses     []simulation.Loss   `json:"losses,omitempty"`
		Breaches   []simulation.Breach `json:"breaches,omitempty"`
		HeadToHead rows[record.Pair]   `json:"head_to_head"`
		Comparison *record.Comparison  `json:"comparison,omitzero"` // of a league until a significant result
	}
	modelJSON struct {
		PlayerID string `json:"player_id"`
		strategy.Totals
	}
	resultJSON struct { // a part of record.Match
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

func jsonOf(r *simulation.Result) *simulationJSON {
	created, input := r.State.Created, r.State.Created.Simulation
	document := &simulationJSON{
		head: headOf(r.LeagueID), GameType: created.GameType, Seed: input.Seed, Faults: input.Faults, Tournament: r.Format,
		Players: input.Players, Rounds: r.State.TotalRounds(), Matches: r.State.Recorded, Champion: r.State.Champion(),
		Losses: r.Losses, Breaches: r.Breaches, Standings: r.Players, Statistics: r.Statistics(),
		Results: func(yield func(resultJSON) bool) {
			for m := range r.Matches() {
				if !yield(resultJSON{m.MatchID, m.RoundID, m.PlayerAID, m.PlayerBID, m.Status, m.WinnerPlayerID, m.DrawnNumber,
					m.Choices, m.Reason, m.Faults, m.Fallbacks}) {
					return
				}
			}
		},
		HeadToHead: rows[record.Pair](r.HeadToHead()), Comparison: r.Comparison(),
	}
	for i := range r.Players {
		if t := r.Totals[r.Players[i].PlayerID]; t.Model != nil {
			document.Models = append(document.Models, modelJSON{r.Players[i].PlayerID, t})
		}
	}
	return document
}

// writeMatchesCSV writes the matches. Its columns are a contract; those of fallbacks exist
// only if there are any.
func writeMatchesCSV(s streams, r *simulation.Result) error {
	fallbacks := slices.ContainsFunc(r.Players, func(row league.Standing) bool { return row.Fallbacks > 0 })
	columns := "match_id round_id player_A_id player_B_id status winner_player_id drawn_number choice_A choice_B reason"
	if fallbacks {
		columns += " fallbacks_A fallbacks_B"
	}
	return printCSV(s.out, csvRows(columns, r.Matches(), func(m record.Match) []any {
		choices := m.LastMoves()
		row := []any{
			m.MatchID, m.RoundID, m.PlayerAID, m.PlayerBID, m.Status, m.Winner(), m.DrawnNumber, choices[0], choices[1], m.Reason,
		}
		if fallbacks {
			a, _ := m.Fallbacks.Get(m.PlayerAID)
			b, _ := m.Fallbacks.Get(m.PlayerBID)
			row = append(row, a, b)
		}
		return row
	}))
}
