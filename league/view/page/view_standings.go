package page

import (
	"slices"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/protocol"
)

// The standings are the view of the table. Columns that are the same for all players are left
// out.
type standings struct {
	Caption string
	Rows    []standingsRow

	Ranked   bool // the league has begun
	Moves    bool // a round before has standings to compare with
	Form     bool
	Deciders bool
	Columns  []league.Column // without those of rank, player, points and tie-breaks

	Evidence []string // see decide.Evidence
	Missing  []string // before the start: names of the roster that have not registered
}

// A standingsRow is a row of the standings.
type standingsRow struct {
	ref
	league.Standing

	Move  int    // places up, negative for down
	Moved string // the same in words

	Cells    []string // of the Columns
	Decider  string   // the tie-break that separated the player from the row above
	Form     []mark   // recent results
	Inactive string   // why the player gets no matches now; "" if it does
	Colour   colour
}

// The limits of the column of recent results: how many it has, and in how large a league.
const (
	formLength  = 5
	formPlayers = 60
)

// standings are those of the moment, with the movement since the round before.
func (m *moment) standings() *standings {
	rows := m.Standings()
	if m.round != live {
		rows = m.StandingsAfter(m.round)
	}
	s := &standings{Caption: "Standings " + m.name(), Ranked: m.Started != nil, Rows: make([]standingsRow, len(rows))}
	if m.round == live {
		s.Evidence = decide.Evidence(m.State)
	}
	if m.Started == nil {
		s.Missing = protocol.Each(protocol.Select(m.Listed, func(name string) bool { return len(m.Named(true, name)) == 0 }), shown)
	}
	before := m.ranksBefore()
	s.Moves, s.Form = before != nil, m.Started != nil && m.last() > 0 && len(rows) <= formPlayers
	form := map[string][]mark{}
	if s.Form {
		form = m.form()
	}
	for i := range rows {
		row := m.standingsRow(&rows[i])
		if s.Moves {
			row.Move, row.Moved = move(before[row.ID], row.Rank)
		}
		row.Form = form[row.ID]
		s.Deciders = s.Deciders || row.Decider != ""
		s.Rows[i] = row
	}
	s.fill()
	return s
}

// fill sets the columns that have no form of their own on a page, without the rare ones in which
// every player has 0, and their cells.
func (s *standings) fill() {
	rows := protocol.Each(s.Rows, func(r standingsRow) league.Standing { return r.Standing })
	own := []string{"", "rank", "player_id", "display_name", "points", "remark"} // "" of tie-breaks
	s.Columns = slices.DeleteFunc(league.Columns(rows), func(c league.Column) bool {
		return slices.Contains(own, c.Name) ||
			c.Rare && !slices.ContainsFunc(rows, func(r league.Standing) bool { return c.Text(&r) != "0" })
	})
	for i := range s.Rows {
		s.Rows[i].Cells = protocol.Each(s.Columns, func(c league.Column) string { return c.Text(&rows[i]) })
	}
}

func (m *moment) standingsRow(r *league.Standing) standingsRow {
	row := standingsRow{ref: m.agent(r.PlayerID), Standing: *r, Decider: r.DeciderText(), Colour: m.colour(r.PlayerID)}
	if a := m.Agents[r.PlayerID]; a != nil && a.Inactive() && !r.Withdrawn && m.round == live {
		_, row.Inactive = m.Lifecycle(a)
		row.Inactive = shown(row.Inactive)
	}
	return row
}

// ranksBefore are the ranks to which the standings are compared: those after the last completed
// round while a round is open, else those after the round before it; nil for none.
func (m *moment) ranksBefore() map[string]int {
	round := m.last() - 1
	if m.Started == nil || round < 1 {
		return nil
	}
	ranks := map[string]int{}
	for _, row := range m.StandingsAfter(round) {
		ranks[row.PlayerID] = row.Rank
	}
	return ranks
}

// move is the movement from a rank to another one, in places and in words.
func move(before, now int) (places int, words string) {
	switch places = before - now; {
	case before == 0 || places == 0:
		return 0, "same rank"
	case places > 0:
		return places, "up " + protocol.Counted(places, "place")
	}
	return places, "down " + protocol.Counted(-places, "place")
}

// form are the last results by player, the latest last.
func (m *moment) form() map[string][]mark {
	form := map[string][]mark{}
	for id, match := range m.MatchesOf(max(1, m.last()-formLength+1), m.last()) {
		if match.Report == nil {
			continue
		}
		pair := m.Rounds[id.Round-1].Pairings[id.Number-1]
		for _, player := range [2]string{m.Started.Players[pair.A], m.Started.Players[pair.B]} {
			form[player] = append(form[player], markOf(&match.Report.Result, player))
		}
	}
	return form
}

// Down is the number of places down.
func (r *standingsRow) Down() int { return -r.Move }
