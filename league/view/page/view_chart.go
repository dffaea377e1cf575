package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/lists"
)

// The chart in units of its view box.
const (
	chartWidth, chartHeight = 720, 300
	chartLeft, chartRight   = 34, chartWidth - 112 // of the plot: the names of players stand right of it
	chartName, chartShort   = 15, 9                // characters of a name that fit there, and on a phone
	chartTop, chartBottom   = 10, chartHeight - 26
	chartLabel              = 19     // between the names of two players at least
	chartTickX, chartTickY  = 60, 36 // between two labels of an axis at least
)

// The numbers of players whose lines the chart has, and that it shows at first, of the points of
// a line, and of the columns of the table of points.
const (
	chartLines   = 30
	chartShown   = 10
	chartPoints  = 200
	chartColumns = 12
)

// A chart is a picture of the points of players over the rounds, which needs no script.
type chart struct {
	Width, Height, Left, Right, Top, Bottom int

	X, Y    []chartTick
	Marker  string      // place of the round that the page shows; "" for now
	Lines   []chartLine // in order of ranks
	Columns []int       // rounds of the table
	More    int         // players without a line

	rounds []int // of the points of a line, from 0
}

// A chartTick is a label of an axis.
type chartTick struct {
	At    string
	Label int
}

// A chartLine is the line of one player.
type chartLine struct {
	ref

	Colour colour
	Shown  bool   // at first
	Path   string // points of the polyline
	Label  string // its name, if that is short
	Short  string // the label on a phone, whose letters are larger
	LabelY float64
	Cells  []int // of the columns of the table
}

// chart draws all rounds, also those after the moment, with a marker there.
func (m *moment) chart() *chart {
	c := &chart{
		Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartRight, Top: chartTop, Bottom: chartBottom,
	}
	if m.Started == nil {
		return c
	}
	points := m.Points()
	c.rounds, c.Columns = spread(len(points), chartPoints), spread(len(points), chartColumns)
	rows := m.Standings()
	c.More = max(len(rows)-chartLines, 0)
	most := 1
	for _, row := range rows[:len(rows)-c.More] {
		player, _ := m.PlayerIndex(row.PlayerID)
		most = max(most, points[len(points)-1][player])
	}
	last := len(points) - 1
	x := func(round int) float64 {
		return chartLeft + float64(round)*(chartRight-chartLeft)/float64(max(last, 1))
	}
	y := func(points int) float64 { return chartBottom - float64(points)*(chartBottom-chartTop)/float64(most) }
	for i, row := range rows[:len(rows)-c.More] {
		player, _ := m.PlayerIndex(row.PlayerID)
		of := func(round int) int { return points[round][player] }
		path := lists.Map(c.rounds, func(round int) string { return decimal(x(round)) + "," + decimal(y(of(round))) })
		c.Lines = append(c.Lines, chartLine{
			ref: m.agent(row.PlayerID), Colour: m.colour(row.PlayerID), Shown: i < chartShown,
			Path: strings.Join(path, " "), LabelY: y(of(last)), Cells: lists.Map(c.Columns, of),
			Label: label(m.agent(row.PlayerID), chartName), Short: label(m.agent(row.PlayerID), chartShort),
		})
	}
	c.separateLabels()
	c.X = ticks(last, (chartRight-chartLeft)/chartTickX, x)
	c.Y = ticks(most, (chartBottom-chartTop)/chartTickY, y)
	if m.round != live {
		c.Marker = decimal(x(m.round))
	}
	return c
}

// A colour is the colour of a player in the whole league. Dashes tell players of the same colour apart:
// the digits of their number are short and long ones.
type colour struct {
	Class string
	Dash  string // of SVG; "" for a solid line
}

// colours is the number of colours of page.css.
const colours = 10

// colour is the colour of a player: it follows from the id alone.
func (m *moment) colour(playerID string) colour {
	n, _ := league.ParsePlayerID(playerID)
	c := colour{Class: fmt.Sprintf("c%d", max(n-1, 0)%colours)}
	if group := max(n-1, 0) / colours; group > 0 {
		c.Dash = strings.NewReplacer("1", "8 3 ", "0", "2 3 ").Replace(strconv.FormatInt(int64(group), 2)) + "0 4"
	}
	return c
}

// label is the name of a player, or its id if the name has more characters than fit.
func label(r ref, fit int) string {
	if utf8.RuneCountInString(r.Name) > fit {
		return r.ID
	}
	return r.Name
}

// Empty tells that there is nothing to see yet.
func (c *chart) Empty() bool { return len(c.rounds) < 2 }

// spread are at most so many numbers below n at equal distances, with the first and the last.
func spread(n, most int) (some []int) {
	step := max(1, (n+most-2)/(most-1))
	for i := 0; i < n-1; i += step {
		some = append(some, i)
	}
	return append(some, n-1)
}

// separateLabels moves the names apart that would overlap: down from the top, then up from the bottom.
func (c *chart) separateLabels() {
	var shown []*chartLine
	for i := range c.Lines {
		if c.Lines[i].Shown {
			shown = append(shown, &c.Lines[i])
		}
	}
	slices.SortStableFunc(shown, func(a, b *chartLine) int { return cmp.Compare(a.LabelY, b.LabelY) })
	least, largest := float64(chartTop), float64(chartBottom)
	for _, line := range shown {
		line.LabelY = max(line.LabelY, least)
		least = line.LabelY + chartLabel
	}
	for _, line := range slices.Backward(shown) {
		line.LabelY = min(line.LabelY, largest)
		largest = line.LabelY - chartLabel
	}
}

// ticks are at most so many labels of an axis from 0.
func ticks(largest, most int, place func(int) float64) (list []chartTick) {
	step := 1 // 1, 2, 5, 10, 20, 50, …
	for unit, fits := 1, false; !fits; unit *= 10 {
		for _, factor := range []int{1, 2, 5} {
			if step = unit * factor; largest <= step*most {
				fits = true
				break
			}
		}
	}
	for n := 0; n <= largest; n += step {
		list = append(list, chartTick{decimal(place(n)), n})
	}
	return list
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
