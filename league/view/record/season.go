package record

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/store"
	"evenodd/league/view/stats"
	"evenodd/rules"
)

// A SeasonLeague is a league among several.
type SeasonLeague struct {
	LeagueID    string `json:"league_id"`
	Folder      string `json:"folder"`
	DisplayName string `json:"display_name,omitzero"`
	Begun       string `json:"begun,omitzero"`      // time of its first event
	Ended       string `json:"ended,omitzero"`      // time at which the table became final; "" before
	Champions   string `json:"champions,omitzero"`  // names of all that share the first rank of a league that is over
	Start       string `json:"start_hash,omitzero"` // of the event that started it, by which it counts once; "" before
	Results     int    `json:"results"`             // that count in it, rated or not

	GameType string `json:"-"`
	State    string `json:"-"` // as decide.Phase
	Problem  error  `json:"-"` // why its journal cannot be read whole; all but the id may be empty then

	results *Results
}

// NewSeasonLeague is a league in a folder, with the hash of its event started; "" before the start.
func NewSeasonLeague(l *League, folder, start string, r *Results) SeasonLeague {
	one := SeasonLeague{LeagueID: l.Created.LeagueID, Folder: folder, DisplayName: l.Created.DisplayName, Start: start,
		Results: len(r.Meetings), GameType: l.Created.GameType, State: decide.Phase(l.State, false), results: r}
	if l.Completed != nil {
		first := lists.Filter(r.Players, func(p league.Standing) bool { return p.Rank == 1 })
		one.Champions = strings.Join(lists.Map(first, func(p league.Standing) string { return p.DisplayName }), ", ")
	}
	return one
}

// ReadSeasonLeague reads a league of a data folder.
func ReadSeasonLeague(ctx context.Context, folder store.Folder, leagueID string, games rules.Registry) SeasonLeague {
	from := NewFolder(folder, leagueID)
	defer from.Close()
	l, start, begun, ended := NewLeague(), "", "", ""
	err := l.Update(ctx, from, func(e *journal.Event, line string) {
		switch e.Data.(type) {
		case *journal.Created:
			begun = e.At
		case *journal.Started:
			start = journal.Hash([]byte(line))
		case *journal.LeagueCompleted:
			ended = e.At
		}
	})
	if err != nil || l.Created == nil {
		one := SeasonLeague{LeagueID: leagueID, Folder: folder.Path, Begun: begun, Problem: err, results: &Results{}}
		if l.Created != nil {
			one.DisplayName = l.Created.DisplayName
		}
		return one
	}
	one := NewSeasonLeague(l, folder.Path, start, l.Results(games))
	one.Begun, one.Ended = begun, ended
	return one
}

// A Season is several leagues, and a table over those of each game.
type Season struct {
	Leagues []SeasonLeague // the first one first
	Tables  []*Ratings     // in the order of the types of games
}

// NewSeason makes the tables over leagues. Players of equal key are one.
func NewSeason(leagues []SeasonLeague, key func(*league.Standing) string) *Season {
	s := &Season{Leagues: slices.SortedStableFunc(slices.Values(leagues), byBegin)}
	games := map[string][]SeasonLeague{}
	for _, l := range s.Leagues {
		if l.Start != "" {
			games[l.GameType] = append(games[l.GameType], l)
		}
	}
	for _, game := range slices.Sorted(maps.Keys(games)) {
		s.Tables = append(s.Tables, Rate(games[game], key))
	}
	return s
}

// byBegin compares leagues by the time of their begin.
func byBegin(a, b SeasonLeague) int {
	return cmp.Or(strings.Compare(a.Begun, b.Begun), strings.Compare(a.Start, b.Start),
		strings.Compare(a.LeagueID, b.LeagueID))
}

// A Place is what the table of a league says of a player.
type Place struct {
	Rank   int `json:"rank"` // 0 for a player that took no part
	Points int `json:"points"`
}

// NameOf is the name of a player, by which players of several leagues are one.
func NameOf(p *league.Standing) string { return norm.NFC.String(p.DisplayName) }

// Interval is the rating with its interval; "" without a rating.
func (p *RatedPlayer) Interval() string {
	if p.Rank == 0 {
		return ""
	}
	return p.shown().Interval()
}

// Ranks are the possible ranks; "" without a rating.
func (p *RatedPlayer) Ranks() string {
	if p.Rank == 0 {
		return ""
	}
	return p.shown().Ranks()
}

func (p *RatedPlayer) shown() *stats.Player {
	return &stats.Player{Rating: p.Rating, Low: p.Low, High: p.High, BestRank: p.Best, WorstRank: p.Worst}
}

// RatingCells are the rating, its interval, the rank and the possible ranks, all empty without a rating.
func (p *RatedPlayer) RatingCells() []any {
	if p.Rank == 0 {
		return []any{"", "", "", "", "", ""}
	}
	return []any{p.Rating, p.Low, p.High, p.Rank, p.Best, p.Worst}
}

// PlacesInWords are the ranks in the leagues, with a dash for one without the player: "1 – 3".
func (p *RatedPlayer) PlacesInWords() string {
	return strings.Join(lists.Map(p.Places, func(at Place) string {
		if at.Rank == 0 {
			return "–"
		}
		return strconv.Itoa(at.Rank)
	}), " ")
}

// place adds the tables of the leagues to the ratings: points, matches and places of each player, also of those without
// a rating.
func (r *Ratings) place(key func(*league.Standing) string) {
	index := map[string]int{}
	for i := range r.Players {
		index[r.Players[i].Player] = i
	}
	for n := range r.Leagues {
		for i := range r.Leagues[n].results.Players {
			p := &r.Leagues[n].results.Players[i]
			name := key(p)
			if name == "" {
				continue
			}
			at, known := index[name]
			if !known {
				at, index[name] = len(r.Players), len(r.Players)
				r.Players = append(r.Players, RatedPlayer{Player: name})
			}
			one := &r.Players[at]
			if one.Places == nil {
				one.Places = make([]Place, len(r.Leagues))
			}
			place := &one.Places[n]
			if place.Rank == 0 || p.Rank < place.Rank { // the best of several that count as one
				place.Rank = p.Rank
			}
			place.Points += p.Points
			one.Points += p.Points
			one.Matches += p.Played
		}
	}
	rated := slices.IndexFunc(r.Players, func(p RatedPlayer) bool { return p.Rank == 0 })
	if rated >= 0 {
		slices.SortStableFunc(r.Players[rated:], func(a, b RatedPlayer) int {
			return cmp.Or(b.Points-a.Points, strings.Compare(a.Player, b.Player))
		})
	}
}
