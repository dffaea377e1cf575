package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// resultOf is the result in a report: under result, as GAME_OVER has it, or beside
// the envelope.
func resultOf(report object) object {
	if r := report.object("result"); r != nil {
		return r
	}
	if r := report.object("game_result"); r != nil {
		return r
	}
	return report
}

// settle puts the result of a report as the protocol has it. What it does not say
// stays unsaid, except for the score, which follows from the winner.
func (m *handout) settle(report *object) {
	result := report.object("result")
	if result == nil {
		result = slices.Clone(resultOf(*report))
		m.readSeats(&result)
		if !slices.ContainsFunc(winners, result.names) && result.get("status") == nil {
			return
		}
		result = only(result, "winner", "winner_player_id", "winner_id", "score", "details", "choices", "player_choices", "drawn_number", "status", "reason")
	}
	details := result.object("details")
	for _, name := range []string{"choices", "player_choices", "drawn_number", "status", "reason"} {
		details.adopt(name, result.get(name))
	}
	details.adopt("choices", details.get("player_choices"))
	details.drop("player_choices")
	if s := details.get("status"); s != nil {
		details.drop("status")
		if word := strings.ToUpper(textOf(s)); slices.Contains([]string{protocol.StatusWin, protocol.StatusDraw, protocol.StatusTechnicalLoss}, word) {
			details.set("status", quoted(word))
		}
	}
	score := result.object("score")
	if chosen(score) {
		details.adopt("choices", score.appendTo(nil))
		score = nil
	}
	m.setWinner(&result, details)
	if len(score) == 0 {
		score = m.score(result, details)
	}
	result.set("score", score.appendTo(nil))
	details = told(details)
	m.setStatus(&details, result)
	for _, name := range []string{"details", "choices", "player_choices", "drawn_number", "status", "reason"} {
		result.drop(name)
	}
	if len(details) > 0 {
		result.set("details", details.appendTo(nil))
	}
	report.set("result", result.appendTo(nil))
}

// readSeats adds the choices, the status and the winner that a flat report has under names
// of seats: player_a_choice, player_a_result.
func (m *handout) readSeats(result *object) {
	var choices object
	outcomes := map[string]string{} // the player, by its outcome
	for i, seat := range []string{"player_a", "player_b"} {
		id := cmp.Or(m.player(result.text(seat+"_id")), m.players[i])
		if choice := result.get(seat + "_choice"); choice != nil {
			choices.set(id, choice)
		}
		outcomes[strings.ToUpper(result.text(seat+"_result"))] = id
	}
	if len(choices) > 0 {
		result.adopt("choices", choices.appendTo(nil))
	}
	for _, status := range []string{protocol.StatusTechnicalLoss, protocol.StatusDraw, protocol.StatusWin} {
		if outcomes[status] == "" {
			continue
		}
		result.adopt("status", quoted(status))
		if slices.ContainsFunc(winners, result.names) {
			return
		}
		winner := jsontext.Value("null")
		if id := outcomes[protocol.StatusWin]; id != "" {
			winner = quoted(id)
		}
		result.set("winner", winner)
	}
}

// setStatus says that a match was played to its end, where both have chosen: without
// a number it would look like a technical loss.
func (m *handout) setStatus(details *object, result object) {
	choices := details.object("choices")
	if details.get("status") != nil || details.get("drawn_number") != nil || choices.get(m.players[0]) == nil || choices.get(m.players[1]) == nil {
		return
	}
	status := protocol.StatusDraw
	if result.get("winner") != nil && result.text("winner") != drawn {
		status = protocol.StatusWin
	}
	details.set("status", quoted(status))
}

var winners = []string{"winner", "winner_player_id", "winner_id"}

// setWinner has the winner stand under its name, by the id that the league knows.
func (m *handout) setWinner(result *object, details object) {
	said := result.first(winners...)
	null := said == nil && slices.ContainsFunc(winners, result.names)
	for _, name := range winners[1:] {
		result.drop(name)
	}
	name := textOf(said)
	switch {
	case isDraw(name), said == nil && details.text("status") == protocol.StatusDraw:
		result.set("winner", quoted(drawn))
	case m.player(name) != "":
		result.set("winner", quoted(m.player(name)))
	case null, name == "" && said.Kind() == '"':
		result.set("winner", jsontext.Value("null"))
	case said != nil:
		result.set("winner", said)
	}
}

// drawn is the winner of a draw, where it is not null.
const drawn = "DRAW"

// isDraw tells whether a winner is none.
func isDraw(name string) bool {
	switch strings.ToUpper(name) {
	case drawn, "TIE", "NONE", "NULL":
		return true
	}
	return false
}

// told are the particulars of a result that say something: a match without choices
// had no draw that anybody told of.
func told(details object) object {
	if len(details.object("choices")) == 0 {
		details.drop("choices")
	}
	if n := details.get("drawn_number"); n == nil || string(n) == "0" {
		details.drop("drawn_number")
	}
	return details
}

// chosen tells whether a score holds choices in place of points.
func chosen(score object) bool {
	return len(score) > 0 && !slices.ContainsFunc(score, func(m member) bool {
		k := m.value.Kind()
		_, err := strconv.Atoi(textOf(m.value))
		return k != '"' && k != 'n' || k == '"' && err == nil
	})
}

// score is what the result is worth by the league's scoring. Players that both lost
// technically get the points of a loss.
func (m *handout) score(result, details object) object {
	points := [2]jsontext.Value{m.worth("loss_points"), m.worth("loss_points")}
	switch winner := result.text("winner"); winner {
	case m.players[0]:
		points[0] = m.worth("win_points")
	case m.players[1]:
		points[1] = m.worth("win_points")
	default:
		if details.text("status") != protocol.StatusTechnicalLoss {
			points = [2]jsontext.Value{m.worth("draw_points"), m.worth("draw_points")}
		}
	}
	return object{{m.players[0], points[0]}, {m.players[1], points[1]}}
}

func (m *handout) worth(outcome string) jsontext.Value {
	if v := m.scoring.get(outcome); v.Kind() == '0' {
		return v
	}
	return jsontext.Value("0")
}

// player is the id of a player of the match; "" for anybody else.
func (m *handout) player(name string) string {
	if slices.Contains(m.players[:], name) {
		return name
	}
	return ""
}

// only are some members of an object.
func only(o object, names ...string) object {
	return slices.DeleteFunc(o, func(m member) bool { return !slices.Contains(names, m.name) })
}
