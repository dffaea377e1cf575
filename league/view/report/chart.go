package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evenodd/league/protocol"
)

// The chart in units of its view box.
const (
	chartWidth, chartHeight  = 720, 300
	chartLeft, chartRight    = 40, 12
	chartTop, chartBottom    = 12, 30
	chartSpaceX, chartSpaceY = 60, 36 // between two labels of an axis at least
	chartPlotWidth           = chartWidth - chartLeft - chartRight
	chartPlotHeight          = chartHeight - chartTop - chartBottom
)

// A chart shows the points of the first players over the rounds, as a picture that prints.
type chart struct {
	Width, Height int
	Left, Right   int // of the plot
	Bottom        int
	Lines         []chartLine
	X, Y          []chartTick
	Rounds        []RoundPoints
	Omitted       int // players
}

type chartLine struct {
	Class  string // its colour and dashes
	ID     string
	Points string // of the polyline
	EndX   float64
	EndY   float64
	Last   int
}

type chartTick struct {
	At    float64
	Label string
}

// newChart draws the chart; nil for a league without a completed round.
func newChart(r *Report) *chart {
	if len(r.Progress) == 0 || len(r.Standings) == 0 {
		return nil
	}
	shownRounds := thinned(r.Progress)
	c := &chart{
		Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight, Bottom: chartHeight - chartBottom,
		Rounds: shownRounds, Omitted: max(len(r.Standings)-maxLines, 0),
	}
	shown := r.Standings[:len(r.Standings)-c.Omitted]
	most := 1
	for i := range shown {
		for _, round := range shownRounds {
			points, _ := round.Points.Get(shown[i].PlayerID)
			most = max(most, points)
		}
	}
	x := func(round int) float64 { return chartLeft + float64(round)*chartPlotWidth/float64(len(r.Progress)) }
	y := func(points int) float64 { return chartTop + float64(chartPlotHeight*(1-float64(points)/float64(most))) }
	for i := range shown {
		line := chartLine{Class: fmt.Sprintf("s%d", i), ID: shown[i].PlayerID, EndX: x(0), EndY: y(0)}
		points := []string{fmt.Sprintf("%.1f,%.1f", line.EndX, line.EndY)}
		for _, round := range shownRounds {
			line.Last, _ = round.Points.Get(line.ID)
			line.EndX, line.EndY = x(round.RoundID), y(line.Last)
			points = append(points, fmt.Sprintf("%.1f,%.1f", line.EndX, line.EndY))
		}
		line.Points = strings.Join(points, " ")
		c.Lines = append(c.Lines, line)
	}
	for n := 0; n <= len(r.Progress); n += step(len(r.Progress), chartPlotWidth/chartSpaceX) {
		c.X = append(c.X, chartTick{x(n), strconv.Itoa(n)})
	}
	for n := 0; n <= most; n += step(most, chartPlotHeight/chartSpaceY) {
		c.Y = append(c.Y, chartTick{y(n), strconv.Itoa(n)})
	}
	return c
}

// thinned are at most maxRounds of the rounds, at equal distances, and the last one.
func thinned(rounds []RoundPoints) (some []RoundPoints) {
	every := (len(rounds) + maxRounds - 1) / maxRounds
	for i := len(rounds) - 1; i >= 0; i -= every {
		some = append(some, rounds[i])
	}
	slices.Reverse(some)
	return some
}

// step is the distance of the labels of an axis from 0 to most.
func step(most, labels int) int {
	for unit := 1; ; unit *= 10 {
		for _, factor := range []int{1, 2, 5} {
			if most <= unit*factor*labels {
				return unit * factor
			}
		}
	}
}

// PointsOf are the points of a player after a round.
func (p *RoundPoints) PointsOf(id string) int {
	points, _ := p.Points.Get(id)
	return points
}

// A crossView is the cross table of the first players.
type crossView struct {
	IDs     []string
	Rows    []crossViewRow
	Omitted int
	Single  bool // all pairs met once at most
}

type crossViewRow struct {
	Rank   int
	ID     string
	Cells  []crossCell // of IDs
	Points int
}

// A crossCell is the result against one opponent.
type crossCell struct {
	Own     bool // the player itself
	Text    string
	Class   string
	Match   string // the first one
	Caption string
}

func newCrossView(r *Report) *crossView {
	v := &crossView{Omitted: max(len(r.Standings)-maxCross, 0), Single: true}
	shown := r.Standings[:len(r.Standings)-v.Omitted]
	cells := map[[2]string]*HeadToHead{}
	for i := range r.CrossTable {
		for k := range r.CrossTable[i].Against {
			h := &r.CrossTable[i].Against[k]
			cells[[2]string{r.CrossTable[i].PlayerID, h.OpponentID}] = h
			v.Single = v.Single && len(h.MatchIDs) == 1
		}
	}
	v.IDs = protocol.Each(shown, func(r Row) string { return r.PlayerID })
	for i := range shown {
		row := crossViewRow{Rank: shown[i].ShownRank(), ID: shown[i].PlayerID, Points: shown[i].Points}
		for _, opponent := range v.IDs {
			row.Cells = append(row.Cells, newCrossCell(row.ID, opponent, cells[[2]string{row.ID, opponent}], v.Single))
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

func newCrossCell(id, opponent string, h *HeadToHead, single bool) crossCell {
	if h == nil {
		return crossCell{Own: id == opponent}
	}
	c := crossCell{Match: h.MatchIDs[0], Class: "even"}
	switch {
	case h.Wins > h.Losses:
		c.Class = "won"
	case h.Wins < h.Losses:
		c.Class = "lost"
	}
	switch {
	case !single:
		c.Text = fmt.Sprintf("%d–%d–%d", h.Wins, h.Draws, h.Losses)
	case h.Wins > 0:
		c.Text = "W"
	case h.Draws > 0:
		c.Text = "D"
	case h.TechnicalLosses > 0:
		c.Text = "T"
	default:
		c.Text = "L"
	}
	c.Caption = protocol.Escape(fmt.Sprintf("%s against %s: %d won, %d drawn, %d lost; %s", id, opponent, h.Wins, h.Draws, h.Losses, strings.Join(h.MatchIDs, ", ")))
	return c
}
