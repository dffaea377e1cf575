package dialect

import (
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// CompleteEnding completes a LEAGUE_COMPLETED of a third-party manager that our agent
// rejected with response: an agent that misses the end of its league waits forever. It
// reports false if there is nothing to complete.
func (q *Request) CompleteEnding(response []byte, f *Facts) bool {
	if q.Kind != protocol.TypeLeagueCompleted || !f.ThirdPartyManager() || !RefusesField(response) {
		return false
	}
	q.addMissing(f)
	p := &q.Params
	rows, champion := standingsIn(*p), championIn(*p)
	switch {
	case champion.PlayerID == "" && len(rows) == 0:
		return false
	case champion.PlayerID == "":
		champion = protocol.Champion{PlayerID: rows[0].PlayerID, DisplayName: rows[0].DisplayName, Points: rows[0].Points}
	case len(rows) == 0:
		rows = []protocol.StandingRow{{Rank: 1, PlayerID: champion.PlayerID, DisplayName: champion.DisplayName, Points: champion.Points}}
	}
	if !protocol.ValidName(champion.DisplayName) {
		champion.DisplayName = Short(champion.PlayerID)
	}
	p.Set("champion", encoded(champion))
	p.Set("final_standings", encoded(rows))
	for _, count := range []string{"total_rounds", "total_matches"} {
		if p.Integer(count) < 1 {
			p.Set(count, jsontext.Value("1"))
		}
	}
	p.Drop("total_players")
	p.Drop("journal_head")
	return true
}

// standingsIn are the readable rows of the final standings.
func standingsIn(p protocol.Object) (rows []protocol.StandingRow) {
	for i, raw := range list(p.Get("final_standings", "standings")) {
		line := protocol.ParseObject(raw)
		id := line.Text("player_id")
		if id == "" || len(rows) == protocol.MaxStandings {
			continue
		}
		row := protocol.StandingRow{Rank: line.Integer("rank"), PlayerID: id, DisplayName: line.Text("display_name")}
		if row.Rank < 1 {
			row.Rank = i + 1
		}
		if !protocol.ValidName(row.DisplayName) {
			row.DisplayName = Short(id)
		}
		for name, into := range map[string]*int{
			"played": &row.Played, "wins": &row.Wins, "draws": &row.Draws, "losses": &row.Losses, "points": &row.Points,
		} {
			*into = max(0, line.Integer(name))
		}
		rows = append(rows, row)
	}
	return rows
}

// championIn reads the champion: an object or an id.
func championIn(p protocol.Object) protocol.Champion {
	if id := p.Text("champion"); id != "" {
		return protocol.Champion{PlayerID: id}
	}
	c := p.Object("champion")
	return protocol.Champion{PlayerID: c.Text("player_id"), DisplayName: c.Text("display_name"), Points: max(0, c.Integer("points"))}
}
