package league

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The tie-breakers by which a league may rank its players.
const (
	TiebreakPoints          = "points"
	TiebreakWins            = "wins"
	TiebreakDraws           = "draws"
	TiebreakHeadToHead      = "head_to_head"
	TiebreakBuchholz        = "buchholz"
	TiebreakSonnebornBerger = "sonneborn_berger"
	TiebreakWinRate         = "win_rate"
	TiebreakPointsPerMatch  = "points_per_match"
)

// Bracket is what decided between players on different levels. See Table.Ranking.
const Bracket = "bracket"

// A tiebreak is a tie-breaker: one row of tiebreaks defines it completely.
type tiebreak struct {
	name      string
	label     string // for people
	meaning   string
	ascending bool // the lowest value ranks first
	opponents bool // the counters of a Standing do not suffice
	rate      bool // people see three decimals

	// value is the value of a row, as people see it.
	value func(r *Standing, of *scores) float64
	// column is the value if a column of every row has it; else TiebreakValues have it where it
	// decides. Nil for no such column.
	column func(r *Standing) (value float64, ok bool)
}

// scores are the values that depend on other players, by player. They are nil unless needed.
type scores struct {
	buchholz, sonnebornBerger, headToHead []float64
	byes                                  [][]uint16
}

// tiebreaks are all tie-breakers.
func tiebreaks() []tiebreak {
	return []tiebreak{
		counted(TiebreakPoints, "the total of points", func(r *Standing) int { return r.Points }),
		{
			name: TiebreakWins, label: TiebreakWins,
			meaning: "the matches won, technically too; in a Swiss system with the byes",
			value: func(r *Standing, of *scores) float64 { // C.07, article 7.1
				if of.byes == nil {
					return float64(r.Wins)
				}
				return float64(r.Wins + len(of.byes[r.Player]))
			},
			column: func(r *Standing) (float64, bool) { return float64(r.Wins), r.Byes == nil },
		},
		counted(TiebreakDraws, "the matches drawn", func(r *Standing) int { return r.Draws }),
		{
			name: TiebreakHeadToHead, label: "head-to-head", opponents: true,
			meaning: "the points from matches among the players that all earlier tie-breakers leave level; in a Swiss system " +
				"without forfeits",
			value: func(r *Standing, of *scores) float64 { return of.headToHead[r.Player] },
		},
		{
			name: TiebreakBuchholz, label: "Buchholz", opponents: true,
			meaning: "the sum of the opponents' points, once per match; in a Swiss system an unplayed round has a dummy opponent",
			value:   func(r *Standing, of *scores) float64 { return of.buchholz[r.Player] },
			column:  func(r *Standing) (float64, bool) { return optional(r.Buchholz) },
		},
		{
			name: TiebreakSonnebornBerger, label: "Sonneborn–Berger", opponents: true,
			meaning: "the points of the opponents beaten, and half of those drawn with, once per match",
			value:   func(r *Standing, of *scores) float64 { return of.sonnebornBerger[r.Player] },
			column:  func(r *Standing) (float64, bool) { return optional(r.SonnebornBerger) },
		},
		{
			name: TiebreakWinRate, label: "win rate", rate: true,
			meaning: "wins per match played; 0 before the first match",
			value:   func(r *Standing, _ *scores) float64 { return float64(r.Wins) / float64(max(r.Played, 1)) },
		},
		{
			name: TiebreakPointsPerMatch, label: "points per match", rate: true,
			meaning: "the points per match played; 0 before the first match",
			value:   func(r *Standing, _ *scores) float64 { return float64(r.Points) / float64(max(r.Played, 1)) },
		},
	}
}

// counted is a tie-breaker by a counter that has a column.
func counted(name, meaning string, of func(r *Standing) int) tiebreak {
	return tiebreak{
		name: name, label: name, meaning: meaning,
		value:  func(r *Standing, _ *scores) float64 { return float64(of(r)) },
		column: func(r *Standing) (float64, bool) { return float64(of(r)), true },
	}
}

func optional[N int | float64](value *N) (float64, bool) {
	if value == nil {
		return 0, false
	}
	return float64(*value), true
}

// tiebreakOf finds a tie-breaker. One that is not known has its name as label and no value.
func tiebreakOf(name string) tiebreak {
	for _, t := range tiebreaks() {
		if t.name == name {
			return t
		}
	}
	return tiebreak{name: name, label: name, value: func(*Standing, *scores) float64 { return 0 }}
}

// Tiebreakers are the names of all tie-breakers.
func Tiebreakers() (names []string) {
	for _, t := range tiebreaks() {
		names = append(names, t.name)
	}
	return names
}

// TiebreakLabel is the name of a tie-breaker for people, such as head-to-head.
func TiebreakLabel(name string) string { return tiebreakOf(name).label }

// inColumn tells whether a column has the value of a row.
func (t *tiebreak) inColumn(r *Standing) bool {
	if t.column == nil {
		return false
	}
	_, ok := t.column(r)
	return ok
}

// text is a value for people.
func (t *tiebreak) text(value float64) string {
	if t.rate {
		return fmt.Sprintf("%.3f", value)
	}
	return exactly(value)
}

// exactly formats a number with as many digits as it needs.
func exactly(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// TiebreakValues are numbers by the names of tie-breaks, such as head_to_head.
type TiebreakValues map[string]float64

// MarshalJSONTo writes the members in order of their names, so that a message always has the
// same bytes.
func (v TiebreakValues) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, map[string]float64(v), json.Deterministic(true))
}

// UnmarshalJSONFrom reads an object or null. It ignores members that are no numbers.
func (v *TiebreakValues) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var members PerPlayer[jsontext.Value]
	if err := json.UnmarshalDecode(dec, &members); err != nil {
		return err
	}
	*v = nil
	for _, m := range members {
		var number float64
		if m.Value.Kind() == '0' && json.Unmarshal(m.Value, &number) == nil {
			if *v == nil {
				*v = TiebreakValues{}
			}
			(*v)[m.Name] = number
		}
	}
	return nil
}
