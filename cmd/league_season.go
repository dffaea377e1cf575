package cmd

import (
	"context"
	"slices"

	"evenodd/config"
	"evenodd/league/inspect/audit"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// exportSeason prints the leagues of the data folder as one CSV. It leaves out a league that cannot be read, and then
// fails behind the others.
func (o *leagueCommand) exportSeason(ctx context.Context, roster string) error {
	listed, err := readRoster(roster)
	if err != nil {
		return err
	}
	ids, err := audit.Leagues(store.In(o.data))
	if err != nil {
		return err
	}
	leagues := lists.Map(ids, func(id string) record.SeasonLeague {
		return record.ReadSeasonLeague(ctx, store.In(o.data), id, games())
	})
	season := record.NewSeason(leagues, record.NameOf)
	names := lists.Map(lists.Filter(listed, func(e config.RosterEntry) bool { return e.Role == protocol.RolePlayer }),
		func(e config.RosterEntry) string { return e.Name })
	if err := printCSV(o.out, seasonCSV(season, names)); err != nil {
		return err
	}
	unread := lists.Filter(leagues, func(l record.SeasonLeague) bool { return l.Problem != nil })
	if len(unread) == 0 {
		return nil
	}
	for _, l := range unread {
		o.note("League %s: %v", l.LeagueID, l.Problem)
	}
	return exit(exitFailed, "%s of %s cannot be read", words.Counted(len(unread), "league"), o.data)
}

// seasonCSV has a row for each name, without names for each player. Ratings are those of the leagues of one game: with
// several, no player has one.
func seasonCSV(s *record.Season, names []string) [][]string {
	rows := [][]string{{"name", "points", "matches", "rating", "low", "high"}}
	var met []string
	for _, t := range s.Tables {
		for i := range t.Leagues {
			rows[0] = append(rows[0], t.Leagues[i].LeagueID)
		}
		for i := range t.Players {
			if name := t.Players[i].Player; !slices.Contains(met, name) {
				met = append(met, name)
			}
		}
	}
	if len(names) == 0 {
		names = met
	}
	for _, name := range names {
		rows = append(rows, seasonRow(s, name))
	}
	return rows
}

// seasonRow is the row of a player in the CSV of a season.
func seasonRow(s *record.Season, name string) []string {
	points, matches, rating, places := 0, 0, []any{"", "", ""}, []any{}
	for _, t := range s.Tables {
		p := record.RatedPlayer{Places: make([]record.Place, len(t.Leagues))} // that took no part
		if at := slices.IndexFunc(t.Players, func(p record.RatedPlayer) bool { return p.Player == name }); at >= 0 {
			p = t.Players[at]
		}
		for _, place := range p.Places {
			if place.Rank == 0 {
				places = append(places, "")
			} else {
				places = append(places, place.Points)
			}
		}
		points, matches = points+p.Points, matches+p.Matches
		if len(s.Tables) == 1 {
			rating = p.RatingCells()[:3]
		}
	}
	return lists.Map(append(append([]any{name, points, matches}, rating...), places...), cellText)
}
