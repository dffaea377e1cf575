package player

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// keepTable stores the standings if their round is complete. p.mu is held.
func (p *Player) keepTable() {
	if s := p.standings; s != nil && s.RoundID <= p.over {
		p.table = s.Standings[:min(len(s.Standings), protocol.MaxStandings)]
	}
}

// askTotals queries a returning player's totals in the whole league, because its own
// history may have gaps. It does so only at a manager that proves itself, which is one
// of this program. A failure changes nothing.
func (p *Player) askTotals(ctx context.Context) {
	m := p.Membership()
	if m == nil || !m.Strict() || !p.returned.Load() {
		return
	}
	var row protocol.PlayerStatsData
	err := p.query(ctx, m, protocol.QueryPlayerStats, protocol.QueryParams{PlayerID: m.AgentID}, &row)
	if err != nil {
		p.options.Log.Warn().Err(err).Str("event_type", "TOTALS_MISSING").Msg("manager did not return this player's totals")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.totals = totalsOf(&row.StandingRow)
}

// query asks the manager.
func (p *Player) query(ctx context.Context, m *membership.Membership, kind string, q protocol.QueryParams,
	into any,
) error {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(kind, "GET_")), "_", "-")
	request := &protocol.LeagueQuery{
		Envelope: p.Stamp().Envelope(protocol.TypeLeagueQuery, "conv-"+name+"-"+strings.ToLower(m.AgentID)),
		LeagueID: m.LeagueID, QueryType: kind, QueryParams: q,
	}
	request.AuthToken = m.Token
	r, err := protocol.Query.Call(ctx, p.options.Caller, protocol.Peer{Endpoint: p.options.Manager}, request)
	if err == nil && r.Error != nil {
		err = errors.New(r.Error.ErrorCode + " " + r.Error.ErrorName)
	}
	if err != nil {
		return err
	}
	raw, err := json.Marshal(r.Data) // its type depends on the carrier
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// Names asks the manager for the names of the players in the table, by their ids; nil if it does not tell. A manager
// that does not prove itself, which may be of another program, is not asked: then the names are those of the last
// table that it has sent.
func (p *Player) Names(ctx context.Context) map[string]string {
	var table protocol.StandingsData
	if m := p.Membership(); m != nil && m.Strict() {
		_ = p.query(ctx, m, protocol.QueryStandings, protocol.QueryParams{}, &table) // ids remain
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standings != nil {
		table.Standings = append(table.Standings, p.standings.Standings...)
	}
	names := map[string]string{}
	for i := range table.Standings {
		names[table.Standings[i].PlayerID] = table.Standings[i].DisplayName
	}
	return names
}

// totalsOf returns the counts of a row.
func totalsOf(r *protocol.StandingRow) *protocol.PlayerStats {
	return &protocol.PlayerStats{TotalMatches: r.Wins + r.Draws + r.Losses, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}
}

// A tally tells how many results more than its history at that time the table of a round has of a player.
type tally struct {
	known bool // false if there was no such table
	round int
	more  protocol.PlayerStats
}

// infer adds a match whose GAME_OVER is missing or unreadable, with the result that
// follows from the player's row in the table of a round. It does so only without doubt:
// the player has exactly one match without a result, and it is of this round; the table
// before is of this round or the previous one; and since then the row has gained one
// match more than the history. p.mu is held.
func (p *Player) infer(round int, rows []protocol.StandingRow) {
	id := p.ID()
	i := slices.IndexFunc(rows, func(r protocol.StandingRow) bool { return r.PlayerID == id })
	if i < 0 {
		return
	}
	if p.totals != nil {
		p.totals = totalsOf(&rows[i])
	}
	before, table, own := p.tally, totalsOf(&rows[i]), &p.history.stats
	if table.TotalMatches < own.TotalMatches {
		return // the table is late: the next one would seem to gain what the history has already
	}
	p.tally = tally{true, round, protocol.PlayerStats{
		TotalMatches: table.TotalMatches - own.TotalMatches,
		Wins:         table.Wins - own.Wins, Draws: table.Draws - own.Draws, Losses: table.Losses - own.Losses,
	}}
	if !before.known || len(p.current) != 1 {
		return
	}
	result := missing(before.more, p.tally.more)
	for matchID, m := range p.current {
		if result == "" || m.round != round || before.round != round && before.round != round-1 {
			return
		}
		known := store.HistoryMatch{Attempt: m.attempt, PlayedMatch: protocol.PlayedMatch{
			MatchID: matchID, OpponentID: m.opponent, Result: result, MyChoice: m.chosen, FromStandings: true,
		}}
		if !p.add(&known, "") {
			return
		}
		p.tally.more = before.more
		p.options.Log.Info().Str("match_id", matchID).Str("result", result).Str("event_type", "RESULT_FROM_STANDINGS").
			Msg("no readable GAME_OVER: the result follows from the standings")
		delete(p.current, matchID)
		p.idle()
	}
}

// missing returns the result of the one match that the table has gained beyond the
// history; "" unless it is exactly one.
func missing(before, now protocol.PlayerStats) string {
	for _, result := range []string{store.ResultWin, store.ResultDraw, store.ResultLoss} {
		more := before
		if store.Count(&more, result, 1); more == now {
			return result
		}
	}
	return ""
}
