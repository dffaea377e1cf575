package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// end makes another LEAGUE_COMPLETED of one that was refused because of its
// content, where the manager is one of others: an agent that does not hear it
// waits for ever. False where there is nothing to be made of it.
func (o *own) end(q *incoming, answer []byte) bool {
	at := o.place()
	if q.kind != protocol.TypeLeagueCompleted || at == nil || at.strict {
		return false
	}
	failure := objectOf(errorOf(answer))
	if failure == nil || failure.number("code") != invalidParams {
		return false
	}
	o.fill(q)
	p := &q.params
	rows := standingsIn(*p)
	champion := championIn(*p)
	switch {
	case champion.PlayerID == "" && len(rows) == 0:
		return false
	case champion.PlayerID == "":
		champion = protocol.Champion{PlayerID: rows[0].PlayerID, DisplayName: rows[0].DisplayName, Points: rows[0].Points}
	case len(rows) == 0:
		rows = []protocol.StandingRow{{Rank: 1, PlayerID: champion.PlayerID, DisplayName: champion.DisplayName, Points: champion.Points}}
	}
	if !protocol.ValidName(champion.DisplayName) {
		champion.DisplayName = short(champion.PlayerID)
	}
	p.set("champion", encoded(champion))
	p.set("final_standings", encoded(rows))
	for _, count := range []string{"total_rounds", "total_matches"} {
		if p.number(count) < 1 {
			p.set(count, jsontext.Value("1"))
		}
	}
	p.drop("total_players")
	p.drop("journal_head")
	return true
}

// readOutcome makes a game_result of a GAME_OVER that says how the match ended for this
// player alone: LOSS, with your_choice and opponent_choice.
func (o *own) readOutcome(p *object) (changed bool) {
	at, known := o.place(), o.match(p.text("match_id"))
	word := strings.ToUpper(p.text("result"))
	if at == nil || p.holds("game_result") || slices.ContainsFunc(winners, p.names) {
		return false
	}
	us, them := cmp.Or(known.calledAs, at.agentID), cmp.Or(known.opponent, nameless)
	winner, status := jsontext.Value("null"), word
	switch word {
	case protocol.StatusWin:
		winner = quoted(us)
	case "LOSS":
		winner, status = quoted(them), protocol.StatusWin
	case protocol.StatusDraw, protocol.StatusTechnicalLoss:
	default:
		return false
	}
	result := object{{"status", quoted(status)}, {"winner_player_id", winner}}
	result.adopt("drawn_number", p.get("drawn_number"))
	var choices object
	choices.adopt(us, p.get("your_choice"))
	choices.adopt(them, p.get("opponent_choice"))
	result.set("choices", choices.appendTo(nil))
	p.set("game_result", result.appendTo(nil))
	return true
}

// standingsIn are the lines of the final table, as far as they can be read.
func standingsIn(p object) (rows []protocol.StandingRow) {
	var list []jsontext.Value
	if json.Unmarshal(p.first("final_standings", "standings"), &list) != nil {
		return nil
	}
	for i, raw := range list {
		line := objectOf(raw)
		id := line.text("player_id")
		if id == "" || len(rows) == protocol.MaxStandings {
			continue
		}
		row := protocol.StandingRow{Rank: line.number("rank"), PlayerID: id, DisplayName: line.text("display_name")}
		if row.Rank < 1 {
			row.Rank = i + 1
		}
		if !protocol.ValidName(row.DisplayName) {
			row.DisplayName = short(id)
		}
		for name, into := range map[string]*int{
			"played": &row.Played, "wins": &row.Wins, "draws": &row.Draws, "losses": &row.Losses, "points": &row.Points,
		} {
			*into = max(0, line.number(name))
		}
		rows = append(rows, row)
	}
	return rows
}

// championIn is the champion, as far as it can be read: an object or an id.
func championIn(p object) protocol.Champion {
	if id := p.text("champion"); id != "" {
		return protocol.Champion{PlayerID: id}
	}
	c := p.object("champion")
	return protocol.Champion{PlayerID: c.text("player_id"), DisplayName: c.text("display_name"), Points: max(0, c.number("points"))}
}

// short is an id as a name.
func short(id string) string {
	id = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, id)
	if id == "" {
		return nameless
	}
	return id[:min(len(id), 50)]
}
