package cmd

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"evenodd/league/decide"
	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/transport/mcp"
)

// leagueURI is the beginning of the URIs of a league's resources.
func leagueURI(leagueID string) string { return "league://" + leagueID + "/" }

// A leagueReader is the part of a manager that MCP clients read.
type leagueReader interface {
	Read(ctx context.Context, bearer string, document func(*decide.View) (any, error)) (any, error)
	ReadJournal(ctx context.Context, bearer string, from int) (*league.JournalPage, error)
	Authenticate(ctx context.Context, bearer string) error
	Subscribe(from int) (*league.Subscription, error)
}

var _ leagueReader = (*league.Manager)(nil)

// leagueResources are the resources of a league's manager.
func leagueResources(m leagueReader, leagueID string) []mcp.Resource {
	uri := leagueURI(leagueID)
	query := func(q protocol.LeagueQuery) func(context.Context, string, string) (any, error) {
		q.LeagueID = leagueID
		return func(ctx context.Context, bearer, _ string) (any, error) {
			return m.Read(ctx, bearer, func(v *decide.View) (any, error) {
				response, err := v.Answer(&q, "")
				if err != nil {
					return nil, err
				}
				return response.Data, nil
			})
		}
	}
	match := func(ctx context.Context, bearer, at string) (any, error) {
		return m.Read(ctx, bearer, func(v *decide.View) (any, error) {
			if x := v.RecordedMatch(strings.TrimPrefix(at, uri+"matches/")); x != nil {
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
			Read: query(protocol.LeagueQuery{QueryType: protocol.QuerySchedule, QueryParams: protocol.QueryParams{RoundID: protocol.AllRounds}})},
		{URI: uri + "matches/{match_id}", Name: "match", Title: "Match",
			Description: "The result of a match, its choices and its draw. Only recorded matches are resources." + untrusted, Read: match},
		{URI: uri + "journal", Name: "journal", Title: "Journal", Description: "The first events of the league." + untrusted, Read: page},
		{URI: uri + "journal{?from}", Name: "journal page", Title: "Journal page",
			Description: "The events of the league from a number on; next is the number of the next page." + untrusted, Read: page},
	}
}

// tellChanges tells MCP clients which resources the events of a league change, until ctx
// ends or the league has no more events.
func tellChanges(ctx context.Context, m leagueReader, leagueID string, changed func(uris ...string)) error {
	events, err := m.Subscribe(0)
	for err == nil {
		var e *journal.Event
		e, err = events.Next(ctx)
		switch {
		case err == nil:
			changed(changedResources(leagueURI(leagueID), e.Data)...)
		case errors.Is(err, league.ErrSlow):
			events, err = m.Subscribe(events.Position())
		}
	}
	return err
}

// changedResources are the URIs of the resources that an event changes.
func changedResources(uri string, d journal.Data) []string {
	journalURI, standings, schedule := uri+"journal", uri+"standings", uri+"schedule"
	match := func(id protocol.MatchID) string { return uri + "matches/" + id.String() }
	switch d := d.(type) {
	case *journal.AgentRegistered, *journal.RegistrationDropped:
		return []string{journalURI, standings}
	case *journal.Started, *journal.RoundAnnounced:
		return []string{journalURI, standings, schedule}
	case *journal.AgentReturned, *journal.AgentFailed, *journal.MatchAssigned, *journal.MatchDeclined, // the endpoints of referees
		*journal.RoundCompleted: // the pairings of the next round, if they depend on results
		return []string{journalURI, schedule}
	case *journal.MatchReported:
		return []string{journalURI, standings, schedule, match(d.MatchID)}
	case *journal.MatchForfeited:
		return []string{journalURI, standings, schedule, match(d.MatchID)}
	case *journal.MatchDisputed:
		return []string{journalURI, match(d.MatchID)}
	}
	return []string{journalURI}
}
