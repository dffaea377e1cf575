package cmd

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// recorded answers a query from the data folder, for a server whose manager does not answer. It is false for a folder
// that has no league, or several of which none is the last one.
func (d *desktop) recorded(ctx context.Context, queryType string, params protocol.QueryParams) (jsontext.Value, bool) {
	dir := store.In(d.query.data)
	id, err := d.chooseLeague(dir, d.query.leagueID, false)
	if err != nil {
		return nil, false
	}
	l := record.NewLeague()
	if err := l.Update(ctx, record.NewFolder(dir, id), nil); err != nil || l.Created == nil {
		return nil, false
	}
	if params.PlayerID != "" {
		if found, err := l.FindAgent(params.PlayerID); err == nil {
			params.PlayerID = found
		}
	}
	v := &decide.View{State: l.State, Phase: decide.Phase(l.State, false)}
	answer, err := v.Answer(&protocol.LeagueQuery{LeagueID: id, QueryType: queryType, QueryParams: params},
		cmp.Or(params.PlayerID, d.query.id))
	if err != nil {
		return nil, false
	}
	data, err := json.Marshal(answer.Data, json.Deterministic(true))
	return data, err == nil
}
