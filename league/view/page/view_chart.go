package page

import (
	"slices"

	"evenodd/league/protocol"
)

// A chart has the points of players over the rounds.
type chart struct {
	Rounds []int    `json:"rounds"` // of the points, from 0
	Series []series `json:"series"` // in order of ranks
	Round  int      `json:"round"`  // that the page shows, for the marker; -1 for now
	More   int      `json:"more"`   // players without a series
}

// chartColumns is the largest number of columns of the table of points.
const chartColumns = 12

// columns are the indexes of Rounds that the table has: evenly spread, with the first and the
// last.
func (c *chart) columns() (indexes []int) {
	step := max(1, (len(c.Rounds)+chartColumns-2)/(chartColumns-1))
	for i := range c.Rounds {
		if i%step == 0 && i < len(c.Rounds)-1 || i == len(c.Rounds)-1 {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// Columns are the rounds of the table of points.
func (c *chart) Columns() []int {
	return protocol.Each(c.columns(), func(i int) int { return c.Rounds[i] })
}

// Lines are the lines of the table of points: those that the chart shows at first.
func (c *chart) Lines() (lines []series) {
	for _, s := range c.Series {
		if !s.Shown {
			continue
		}
		points := protocol.Each(c.columns(), func(i int) int { return s.Points[i] })
		lines = append(lines, series{ID: s.ID, Name: s.Name, Points: points})
	}
	return lines
}

// A series is the line of one player.
type series struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Points []int  `json:"points"`
	Shown  bool   `json:"shown"` // at first
}

// The numbers of players whose lines the chart has, and that it shows at first, and the number
// of points of a line.
const (
	chartSeries = 30
	chartShown  = 10
	chartPoints = 400
)

// chart is the chart of all rounds, also of those after the moment, with its marker there. More
// are ids of players that have a line whatever their ranks.
func (m *moment) chart(more ...string) *chart {
	c := &chart{Rounds: []int{}, Series: []series{}, Round: m.round}
	if m.Started == nil {
		return c
	}
	points := m.past.points
	if m.Open() {
		now := slices.Clone(points[m.past.rounds])
		m.AddPoints(m.Round, now)
		points = append(slices.Clip(points), now)
	}
	step := (len(points) + chartPoints - 1) / chartPoints
	for round := range points {
		if round%step == 0 || round == len(points)-1 {
			c.Rounds = append(c.Rounds, round)
		}
	}
	for place, row := range m.Standings() {
		if place >= chartSeries && !slices.Contains(more, row.PlayerID) {
			c.More++
			continue
		}
		player, _ := m.PlayerIndex(row.PlayerID)
		c.Series = append(c.Series, series{
			ID: row.PlayerID, Name: m.agent(row.PlayerID).Name, Shown: place < chartShown || place >= chartSeries,
			Points: protocol.Each(c.Rounds, func(round int) int { return points[round][player] }),
		})
	}
	return c
}
