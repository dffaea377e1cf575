package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/league/words"
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

	Evidence []string // see decide.EvidenceInWords
	Crowd    *crowd   // before the start; then nil
	Missing  []string // names of the roster that were not there at the start
	More     int      // names that Missing lacks
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
	State    string   // of a player that gets none: suspended or shutdown
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
		s.Evidence = decide.EvidenceInWords(m.State)
	}
	switch {
	case m.Started == nil:
		s.Crowd = m.crowd()
	case m.round == live:
		s.Missing, s.More = atMost(m.missing(), mostShown)
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
	rows := lists.Map(s.Rows, func(r standingsRow) league.Standing { return r.Standing })
	own := []string{"", "rank", "player_id", "display_name", "points", "remark"} // "" of tie-breaks
	s.Columns = slices.DeleteFunc(league.Columns(rows), func(c league.Column) bool {
		return slices.Contains(own, c.Name) ||
			c.Rare && !slices.ContainsFunc(rows, func(r league.Standing) bool { return c.Text(&r) != "0" })
	})
	for i := range s.Rows {
		s.Rows[i].Cells = lists.Map(s.Columns, func(c league.Column) string { return c.Text(&rows[i]) })
	}
}

func (m *moment) standingsRow(r *league.Standing) standingsRow {
	row := standingsRow{ref: m.agent(r.PlayerID), Standing: *r, Decider: r.DeciderText(), Colour: m.colour(r.PlayerID)}
	if a := m.Agents[r.PlayerID]; a != nil && a.Inactive() && !r.Withdrawn && m.round == live {
		state, reason := m.Lifecycle(a)
		row.State, row.Inactive = strings.ToLower(state), shown(reason)
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
func move(before, now int) (places int, text string) {
	switch places = before - now; {
	case before == 0 || places == 0:
		return 0, "same rank"
	case places > 0:
		return places, "up " + words.Counted(places, "place")
	}
	return places, "down " + words.Counted(-places, "place")
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

// A cross is the view of the cross table, or of the bracket.
type cross struct {
	Round    int
	Timeline *timeline
	Caption  string

	Bracket *bracket // nil for a format without one

	Columns []standingsRow
	Rows    []crossRow
	Windows []crossWindow // to choose the rows and the columns from; nil if all players fit
	From    int           // the first rank of the rows, from 1
	Against int           // the first rank of the columns

	Superior []superiorRow // nil for an earlier round, and without a rated match
}

// A superiorRow has the likelihoods that one player is stronger than those of the columns.
type superiorRow struct {
	ref
	Likelihoods []string // "" against itself, and against a player without a rated match
}

// addSuperiority adds the likelihoods of superiority by what the results of the completed rounds show.
func (c *cross) addSuperiority(s *statistics) {
	if s.Analysis == nil || s.Used == 0 || len(c.Rows) < 2 {
		return
	}
	index := map[string]int{}
	for i := range s.Players {
		if s.Players[i].Matches > 0 {
			index[s.Players[i].PlayerID] = i
		}
	}
	for _, row := range c.Rows {
		one, rated := index[row.ID]
		c.Superior = append(c.Superior, superiorRow{row.ref, lists.Map(c.Columns, func(column standingsRow) string {
			other, ratedToo := index[column.ID]
			if !rated || !ratedToo || one == other {
				return ""
			}
			return stats.Percent(s.Superiority(one, other))
		})})
	}
}

// A crossRow is the row of one player.
type crossRow struct {
	standingsRow
	Results []crossCell // against the players of the columns
}

// A crossCell is what one player did against another.
type crossCell struct {
	Self    bool
	Text    string // W, D, L or T; of several matches the wins, draws and losses: "5–1–2"; "" for no result
	Class   mark   // of the colour
	Title   string // "P01 won against P02 in R3M1"
	Match   string // the id of the first match
	Several bool   // matches
	Rival   string // the id of the other player
}

// A crossWindow is a choice of rows or columns: the ranks from From to To.
type crossWindow struct{ From, To int }

// crossWidth is the number of players of one window: its square is the number of cells of a
// page.
const crossWidth = 40

// crossOf is the cross table of a league, now or after a completed round, with the rows from one
// rank on and the columns from another.
func crossOf(l *record.League, round, from, against int) *cross {
	m := at(l, round)
	c := &cross{Round: m.round, Timeline: m.timeline("/cross")}
	if c.Bracket = m.bracket(math.MaxInt); c.Bracket != nil {
		if len(c.Bracket.Parts) == 1 {
			c.Bracket.Parts[0].Hidden = true
		}
		return c
	}
	c.Caption = "Cross table " + m.name()
	if l.Started == nil {
		return c
	}
	rows := m.standings().Rows
	columns := rows
	if seeds := l.GauntletSeeds(); seeds != nil && len(rows) <= crossWidth { // all other cells are empty
		isSeed := func(row standingsRow) bool { return slices.Contains(seeds, row.ID) }
		columns, rows = lists.Filter(rows, isSeed), slices.DeleteFunc(slices.Clone(rows), isSeed)
	}
	if len(rows) > crossWidth {
		for n := 1; n <= len(rows); n += crossWidth {
			c.Windows = append(c.Windows, crossWindow{n, min(n+crossWidth-1, len(rows))})
		}
	}
	var shown []standingsRow
	c.From, shown = window(rows, from)
	c.Against, c.Columns = window(columns, against)
	lines, rivals := map[string]bool{}, map[string]bool{}
	for i := range shown {
		lines[shown[i].ID] = true
	}
	for i := range c.Columns {
		rivals[c.Columns[i].ID] = true
	}
	met := m.Meetings(m.last(), func(player, opponent string) bool { return lines[player] && rivals[opponent] })
	for _, row := range shown {
		c.Rows = append(c.Rows, crossRow{row, lists.Map(c.Columns, func(column standingsRow) crossCell {
			return m.crossCell(row.ID, column.ID, met[[2]string{row.ID, column.ID}])
		})})
	}
	return c
}

// titleBracket is the title of the page of a bracket.
const titleBracket = "Bracket"

func (c *cross) title() string {
	if c.Bracket != nil {
		return titleBracket
	}
	return "Cross table"
}

// Key are the marks that the key of the table explains.
func (*cross) Key() []mark { return []mark{won, drawn, lost, technical} }

// window are the rows of the window that has a rank, and the first rank of it.
func window(rows []standingsRow, rank int) (first int, shown []standingsRow) {
	if rank < 1 || rank > len(rows) {
		rank = 1
	}
	start := (rank - 1) / crossWidth * crossWidth
	return start + 1, rows[start:min(start+crossWidth, len(rows))]
}

// crossCell is the cell of a player and an opponent, who met as the sum tells; nil for never.
func (m *moment) crossCell(player, opponent string, h *record.HeadToHead) crossCell {
	if h == nil {
		return crossCell{Self: player == opponent}
	}
	cell := crossCell{Rival: opponent, Match: h.MatchIDs[0], Several: len(h.MatchIDs) > 1, Class: drawn}
	switch {
	case h.Wins > h.Losses:
		cell.Class = won
	case h.Wins < h.Losses && h.TechnicalLosses > 0 && !cell.Several:
		cell.Class = technical
	case h.Wins < h.Losses:
		cell.Class = lost
	}
	if cell.Several {
		cell.Text = fmt.Sprintf("%d–%d–%d", h.Wins, h.Draws, h.Losses)
		cell.Title = fmt.Sprintf("%s against %s: %s, %s, %s", player, opponent, words.Counted(h.Wins, "win"),
			words.Counted(h.Draws, "draw"), words.Counted(h.Losses, "loss"))
		return cell
	}
	id, _ := league.ParseMatchID(cell.Match)
	r := m.result(id)
	cell.Text, cell.Title = string(cell.Class), r.Sentence()
	return cell
}
