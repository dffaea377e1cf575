package page

import (
	"fmt"
	"html/template"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A cross is the view of the cross table, or of the bracket of a knockout.
type cross struct {
	League   string
	Round    int
	Timeline *timeline
	Caption  string
	Query    template.URL

	Bracket []bracketRound // of a knockout; nil else

	Columns []crossPlayer
	Rows    []crossRow
	Windows []crossWindow // to choose the rows and the columns from; nil if all players fit
	From    int           // the first rank of the rows, from 1
	Against int           // the first rank of the columns
}

// A crossPlayer is the heading of a row or of a column.
type crossPlayer struct {
	ref
	Rank int
}

// A crossRow is the row of one player.
type crossRow struct {
	crossPlayer
	Points int
	Cells  []crossCell
}

// A crossCell is what one player did against another.
type crossCell struct {
	Self  bool
	Text  string // W, D, L or T; of several matches the wins of both: "5–2"; "" for no result
	Class mark   // of the colour
	Title string // "P01 won against P02 in R3M1"
	Match string // the id of the only match
	Rival string // the id of the other player, for the list of several matches
}

// A crossWindow is a choice of rows or columns: the ranks from From to To.
type crossWindow struct{ From, To int }

// crossWidth is the number of players of one window: its square is the number of cells of a
// page.
const crossWidth = 40

// crossOf is the cross table of a league, now or after a completed round, with the rows from one
// rank on and the columns from another.
func crossOf(l *record.League, p *past, round, from, against int) *cross {
	m := at(l, p, round)
	c := &cross{League: leagueName(l), Round: m.round, Timeline: m.timeline("/cross"), Query: m.query()}
	if l.Created.Tournament.IsKnockout() {
		c.Caption, c.Bracket = "Bracket "+m.name(), m.bracket()
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
	c.From, c.Against = windowStart(from, len(rows)), windowStart(against, len(rows))
	columns := map[int]int{} // of players in pairings
	for _, row := range rows[c.Against-1 : min(c.Against-1+crossWidth, len(rows))] {
		player, _ := l.PlayerIndex(row.ID)
		columns[player] = len(c.Columns)
		c.Columns = append(c.Columns, crossPlayer{row.ref, row.Rank})
	}
	lines := map[int]int{}
	for _, row := range rows[c.From-1 : min(c.From-1+crossWidth, len(rows))] {
		player, _ := l.PlayerIndex(row.ID)
		lines[player] = len(c.Rows)
		c.Rows = append(c.Rows, crossRow{crossPlayer{row.ref, row.Rank}, row.Points, make([]crossCell, len(columns))})
	}
	m.fillCross(c, lines, columns)
	return c
}

func (c *cross) title() string {
	if c.Bracket != nil {
		return "Bracket"
	}
	return "Cross table"
}

// Key are the marks that the key of the table explains.
func (*cross) Key() []mark { return []mark{won, drawn, lost, technical} }

// windowStart is the first rank of the window that has a rank.
func windowStart(rank, players int) int {
	if rank < 1 || rank > players {
		return 1
	}
	return (rank-1)/crossWidth*crossWidth + 1
}

// fillCross writes the cells of players in pairings, whose lines and columns are given.
func (m *moment) fillCross(c *cross, lines, columns map[int]int) {
	type meeting struct{ won, drawn, lost int }
	met := map[*crossCell]*meeting{}
	add := func(line, column int, rival string, k mark, r *result) {
		cell := &c.Rows[line].Cells[column]
		sum := met[cell]
		if sum == nil {
			sum = &meeting{}
			met[cell] = sum
			*cell = crossCell{Text: string(k), Class: k, Match: r.Match, Title: r.Sentence(), Rival: rival}
		} else {
			cell.Match = ""
		}
		switch k {
		case won:
			sum.won++
		case drawn:
			sum.drawn++
		default:
			sum.lost++
		}
		if cell.Match == "" {
			cell.summarise(c.Rows[line].ID, sum.won, sum.drawn, sum.lost)
		}
	}
	for round := 1; round <= m.last(); round++ {
		for i, pair := range m.Rounds[round-1].Pairings {
			lineA, rowA := lines[pair.A]
			columnB, toB := columns[pair.B]
			lineB, rowB := lines[pair.B]
			columnA, toA := columns[pair.A]
			id := protocol.MatchID{Round: round, Number: i + 1}
			if (!rowA || !toB) && (!rowB || !toA) || m.Match(id).Report == nil {
				continue
			}
			r := m.result(id)
			if rowA && toB {
				add(lineA, columnB, r.B.ID, r.MarkA, &r)
			}
			if rowB && toA {
				add(lineB, columnA, r.A.ID, r.MarkB, &r)
			}
		}
	}
	for player, line := range lines {
		if column, ok := columns[player]; ok {
			c.Rows[line].Cells[column].Self = true
		}
	}
}

// summarise makes the cell of several matches.
func (c *crossCell) summarise(player string, wins, draws, losses int) {
	c.Text, c.Class = fmt.Sprintf("%d–%d", wins, losses), drawn
	switch {
	case wins > losses:
		c.Class = won
	case wins < losses:
		c.Class = lost
	}
	c.Title = strings.Join([]string{
		player + " against " + c.Rival + ": " + protocol.Counted(wins, "win"), protocol.Counted(draws, "draw"), protocol.Counted(losses, "loss"),
	}, ", ")
}

// A bracketRound is a column of the bracket.
type bracketRound struct {
	Round   int
	Matches []bracketMatch
	Byes    []ref // players without a match that are still in
}

// A bracketMatch is a match of the bracket. Marks are "" without a result.
type bracketMatch struct {
	Match        string
	A, B         ref
	MarkA, MarkB mark
	Title        string
}

// bracket are the announced rounds of a knockout as columns.
func (m *moment) bracket() []bracketRound {
	rounds := []bracketRound{}
	for round := 1; round <= m.last(); round++ {
		column := bracketRound{Round: round}
		for i, pair := range m.Rounds[round-1].Pairings {
			id := protocol.MatchID{Round: round, Number: i + 1}
			one := bracketMatch{Match: id.String(), A: m.agent(m.Started.Players[pair.A]), B: m.agent(m.Started.Players[pair.B])}
			one.Title = one.A.ID + " plays " + one.B.ID
			if m.Match(id).Report != nil {
				r := m.result(id)
				one.MarkA, one.MarkB, one.Title = r.MarkA, r.MarkB, r.Sentence()
			}
			column.Matches = append(column.Matches, one)
		}
		rounds = append(rounds, column)
	}
	return rounds
}
