package page

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A cross is the view of the cross table, or of the bracket of a knockout.
type cross struct {
	Round    int
	Timeline *timeline
	Caption  string

	Knockout bool
	Bracket  []bracketRound // of a knockout; nil before the start

	Columns []standingsRow
	Rows    []crossRow
	Windows []crossWindow // to choose the rows and the columns from; nil if all players fit
	From    int           // the first rank of the rows, from 1
	Against int           // the first rank of the columns
}

// A crossRow is the row of one player.
type crossRow struct {
	standingsRow
	Results []crossCell // against the players of the columns
}

// A crossCell is what one player did against another.
type crossCell struct {
	Self    bool
	Text    string // W, D, L or T; of several matches the wins of both: "5–2"; "" for no result
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
	if l.Created.Tournament.IsKnockout() {
		c.Caption, c.Knockout = titleBracket+" "+m.name(), true
		if l.Started != nil {
			c.Bracket = m.bracket()
		}
		return c
	}
	c.Caption = "Cross table " + m.name()
	if l.Started == nil {
		return c
	}
	rows := m.standings().Rows
	if len(rows) > crossWidth {
		for n := 1; n <= len(rows); n += crossWidth {
			c.Windows = append(c.Windows, crossWindow{n, min(n+crossWidth-1, len(rows))})
		}
	}
	var shown []standingsRow
	c.From, shown = window(rows, from)
	c.Against, c.Columns = window(rows, against)
	lines, columns := map[string]bool{}, map[string]bool{}
	for i := range shown {
		lines[shown[i].ID] = true
	}
	for i := range c.Columns {
		columns[c.Columns[i].ID] = true
	}
	met := m.Meetings(m.last(), func(player, opponent string) bool { return lines[player] && columns[opponent] })
	for _, row := range shown {
		c.Rows = append(c.Rows, crossRow{row, protocol.Each(c.Columns, func(column standingsRow) crossCell {
			return m.crossCell(row.ID, column.ID, met[[2]string{row.ID, column.ID}])
		})})
	}
	return c
}

// titleBracket is the title of the page for a knockout.
const titleBracket = "Bracket"

func (c *cross) title() string {
	if c.Knockout {
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
		cell.Text = fmt.Sprintf("%d–%d", h.Wins, h.Losses)
		cell.Title = fmt.Sprintf("%s against %s: %s, %s, %s", player, opponent, protocol.Counted(h.Wins, "win"),
			protocol.Counted(h.Draws, "draw"), protocol.Counted(h.Losses, "loss"))
		return cell
	}
	id, _ := league.ParseMatchID(cell.Match)
	r := m.result(id)
	cell.Text, cell.Title = string(cell.Class), r.Sentence()
	return cell
}
