package league

import (
	"slices"
	"strconv"
	"strings"
)

// A Column is a column of the standings. The terminal, CSV, the pages and the report
// show the same columns: a new one is a member of Standing and a row of columns.
type Column struct {
	Name    string // for programs, as in CSV; "" if only people see the column
	Title   string // for people; "" if only programs see the column
	Meaning string // of a title that does not explain itself
	Number  bool   // aligned right
	// Rare columns are left out of pages if no player has more than 0.
	Rare bool

	// Text is the value for people, Value that for programs.
	Text, Value func(r *Standing) string

	shown  func(r *Standing) bool // people see the column if it is true of some row; nil: always
	listed func(r *Standing) bool // the same for programs
}

// columns are all columns but those of tie-breaks, in the order of CSV. Programs rely on the order: add columns behind
// these. In exports RemarkColumn follows them.
func columns() []Column {
	technical := number("technical_losses", "Technical",
		"lost without an answer or with an answer against the rules, among the lost matches",
		func(r *Standing) int { return r.TechnicalLosses })
	technical.Rare = true
	byes := optionalNumber("byes", "Byes", "rounds without an opponent, with the points of a win",
		func(r *Standing) *int { return r.Byes })
	byes.Rare = true
	fallbacks := number("fallbacks", "Fallbacks", "moves that the player's model or host did not choose",
		func(r *Standing) int { return r.Fallbacks })
	fallbacks.Rare, fallbacks.shown = true, func(r *Standing) bool { return r.Fallbacks > 0 }
	fallbacks.listed = fallbacks.shown
	sonnebornBerger := optionalNumber("sonneborn_berger", "Sonneborn–Berger", tiebreakOf(TiebreakSonnebornBerger).meaning,
		func(r *Standing) *float64 { return r.SonnebornBerger })
	sonnebornBerger.Text = func(r *Standing) string { // halves in one column have their points below each other
		if r.SonnebornBerger == nil {
			return ""
		}
		return strconv.FormatFloat(*r.SonnebornBerger, 'f', 1, 64)
	}
	name := text("display_name", "Name", func(r *Standing) string { return r.DisplayName })
	name.Text = (*Standing).Name
	return []Column{
		number("rank", "Rank", "", func(r *Standing) int { return r.Rank }),
		text("tied", "", func(r *Standing) string { return strconv.FormatBool(r.Tied) }),
		text("player_id", "Player", func(r *Standing) string { return r.PlayerID }),
		name,
		ifAny(text("strategy", "Strategy", func(r *Standing) string { return r.Strategy })),
		number("played", "Played", "matches played", func(r *Standing) int { return r.Played }),
		number("wins", "W", "won", func(r *Standing) int { return r.Wins }),
		number("draws", "D", "drawn", func(r *Standing) int { return r.Draws }),
		number("losses", "L", "lost", func(r *Standing) int { return r.Losses }),
		technical,
		number("points", "Points", "", func(r *Standing) int { return r.Points }),
		byes,
		optionalNumber("buchholz", "Buchholz", tiebreakOf(TiebreakBuchholz).meaning,
			func(r *Standing) *int { return r.Buchholz }),
		sonnebornBerger,
		text("decided_by", "", (*Standing).Decider),
		text("decided_value", "", decidedValue),
		fallbacks,
	}
}

// RemarkColumn is the column of remarks: the last one for people, and in exports.
func RemarkColumn() Column { return ifAny(text("remark", "Remark", (*Standing).Remark)) }

// Columns are the columns that people see of standings. Those of strategies, fallbacks, byes,
// tie-breaks and remarks are there if some row has one.
func Columns(rows []Standing) []Column {
	all := columns()
	for _, t := range tiebreaks() {
		all = append(all, t.tableColumn())
	}
	return slices.DeleteFunc(append(all, RemarkColumn()),
		func(c Column) bool { return c.Title == "" || !some(rows, c.shown) })
}

// Fields are the columns that programs see of standings.
func Fields(rows []Standing) []Column {
	return slices.DeleteFunc(columns(), func(c Column) bool { return !some(rows, c.listed) })
}

// A Figure is the text of a number; it may be empty.
type Figure string

// Cells are the titles of columns, and the values of rows for people: of columns of numbers a Figure,
// else a string.
func Cells(columns []Column, rows []Standing) (titles []string, cells [][]any) {
	cells = make([][]any, len(rows))
	for _, c := range columns {
		titles = append(titles, c.Title)
		for i := range rows {
			var cell any = c.Text(&rows[i])
			if c.Number {
				cell = Figure(c.Text(&rows[i]))
			}
			cells[i] = append(cells[i], cell)
		}
	}
	return titles, cells
}

// some tells whether a condition is true of a row. No condition is always true.
func some(rows []Standing, condition func(r *Standing) bool) bool {
	if condition == nil {
		return true
	}
	return slices.ContainsFunc(rows, func(r Standing) bool { return condition(&r) })
}

func text(name, title string, of func(r *Standing) string) Column {
	return Column{Name: name, Title: title, Text: of, Value: of}
}

func number(name, title, meaning string, of func(r *Standing) int) Column {
	c := text(name, title, func(r *Standing) string { return strconv.Itoa(of(r)) })
	c.Meaning, c.Number = meaning, true
	return c
}

// optionalNumber is a column of numbers that rows have or do not have.
func optionalNumber[N int | float64](name, title, meaning string, of func(r *Standing) *N) Column {
	c := ifAny(text(name, title, func(r *Standing) string {
		if value, ok := optional(of(r)); ok {
			return exactly(value)
		}
		return ""
	}))
	c.Meaning, c.Number = meaning, true
	return c
}

// ifAny hides a column from people if it is empty.
func ifAny(c Column) Column {
	c.shown = func(r *Standing) bool { return c.Text(r) != "" }
	return c
}

// tableColumn is the column of a tie-break. A row has its value if it decided between the player
// and others, and no other column has it.
func (t *tiebreak) tableColumn() Column {
	c := ifAny(text("", strings.ToUpper(t.label[:1])+t.label[1:], func(r *Standing) string {
		if value, ok := r.TiebreakValues[t.name]; ok {
			return t.text(value)
		}
		return ""
	}))
	c.Meaning, c.Number = t.meaning, true
	return c
}

// decidedValue is the row's value of its decider; "" if there is none, as of a bracket.
func decidedValue(r *Standing) string {
	if value, ok := r.Value(r.Decider()); ok {
		return exactly(value)
	}
	return ""
}

// DeciderText is the decider with its value for people, such as "losses 2"; "" if the points
// decided, and for the first of level rows.
func (r *Standing) DeciderText() string {
	if r.DecidedBy == "" {
		return ""
	}
	t := tiebreakOf(r.DecidedBy)
	if value, ok := r.TiebreakValues[t.name]; ok {
		return t.label + " " + t.text(value)
	}
	return t.label
}
