package cmd

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/transport/mcp"
)

// leagueURI is the beginning of the URIs of a league's resources.
func leagueURI(leagueID string) string { return "league://" + leagueID + "/" }

// leagueResources are the resources of a league's manager.
func leagueResources(m *manager.Manager, leagueID string) []mcp.Resource {
	uri := leagueURI(leagueID)
	query := func(q protocol.LeagueQuery) func(context.Context, string, string) (any, error) {
		q.LeagueID = leagueID
		return func(ctx context.Context, bearer, _ string) (any, error) {
			return m.Read(ctx, manager.ReadResource, bearer, func(v *decide.View) (any, error) {
				response, err := v.Answer(&q, "")
				if err != nil {
					return nil, err
				}
				return response.Data, nil
			})
		}
	}
	match := func(ctx context.Context, bearer, at string) (any, error) {
		return m.Read(ctx, manager.ReadResource, bearer, func(v *decide.View) (any, error) {
			if x := record.MatchWithResult(v, strings.TrimPrefix(at, uri+"matches/")); x != nil {
				return x, nil
			}
			return nil, mcp.ErrNotFound
		})
	}
	page := func(ctx context.Context, bearer, at string) (any, error) {
		from := 1
		if u, err := url.Parse(at); err == nil && u.Query().Has("from") {
			if from, err = strconv.Atoi(u.Query().Get("from")); err != nil || from < 1 {
				return nil, mcp.ErrNotFound
			}
		}
		return m.ReadJournal(ctx, bearer, from)
	}
	return []mcp.Resource{
		{URI: uri + "standings", Name: "standings", Title: "Standings", Description: "The table of the league." + untrusted,
			Read: query(protocol.LeagueQuery{QueryType: protocol.QueryStandings})},
		{URI: uri + "schedule", Name: "schedule", Title: "Schedule", Description: "The matches of all rounds." + untrusted,
			Read: query(protocol.LeagueQuery{QueryType: protocol.QuerySchedule,
				QueryParams: protocol.QueryParams{RoundID: protocol.AllRounds}})},
		{URI: uri + "matches/{match_id}", Name: "match", Title: "Match",
			Description: "The result of a match, its choices and its draw. Only recorded matches are " +
				"resources." + untrusted, Read: match},
		{URI: uri + "journal", Name: "journal", Title: "Journal", Description: "The first events of the " +
			"league." + untrusted, Read: page},
		{URI: uri + "journal{?from}", Name: "journal page", Title: "Journal page",
			Description: "The events of the league from a number on; next is the number of the next " +
				"page." + untrusted, Read: page},
	}
}

// tellChanges tells MCP clients which resources the events of a league change, until ctx
// ends or the league has no more events.
func tellChanges(ctx context.Context, m *manager.Manager, leagueID string, changed func(uris ...string)) error {
	source := &managerSource{manager: m}
	_, last, _, err := m.Events(1)
	for next := last + 1; err == nil; {
		var events []*journal.Event
		if err = source.Wait(ctx, next); err == nil {
			events, err = source.Events(ctx, next)
		}
		for _, e := range events {
			changed(changedResources(leagueURI(leagueID), e.Data)...)
		}
		next += len(events)
	}
	return err
}

// changedResources are the URIs of the resources that an event changes.
func changedResources(uri string, d journal.Data) []string {
	stale, changed := journal.StaleBy(d), []string{uri + "journal"}
	if stale&journal.StaleStandings != 0 {
		changed = append(changed, uri+"standings")
	}
	if stale&journal.StaleSchedule != 0 {
		changed = append(changed, uri+"schedule")
	}
	if stale&journal.StaleMatch != 0 {
		changed = append(changed, uri+"matches/"+journal.MatchOf(d).String())
	}
	return changed
}
