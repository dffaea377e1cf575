package dialect

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// The functions here correct one deviation each, and tell whether they changed the object.

// correctInvitation reads the names of the opponent and the role, and game_invitation.
func correctInvitation(p *protocol.Object) (changed bool) {
	if inner := p.Object(nested[protocol.TypeGameInvitation]); inner != nil {
		for _, name := range nestedInvitation {
			Fill(p, name, inner.Get(name))
		}
		changed = true
	}
	changed = rename(p, "opponent", "opponent_id") || changed
	if role := p.Text("role_in_match"); role != strings.ToUpper(role) {
		p.Set("role_in_match", protocol.Quote(strings.ToUpper(role)))
		changed = true
	}
	return changed
}

// clearContext drops members of a question's context that say nothing: null, the
// empty string, an empty object, and a round 0. Nulls in your_standings become zeros.
func clearContext(p *protocol.Object) (changed bool) {
	context := protocol.ParseObject(p.Get("context"))
	if context == nil {
		return false
	}
	before := len(context)
	standings := protocol.ParseObject(context.Get("your_standings"))
	for i := range standings {
		if v := &standings[i].Value; v.Kind() == 'n' || string(*v) == `""` {
			*v = jsontext.Value("0")
			changed = true
		}
	}
	if changed {
		context.Set("your_standings", standings.Append(nil))
	}
	context = slices.DeleteFunc(context, func(m member) bool {
		return m.Value.Kind() == 'n' || string(m.Value) == `""` || string(m.Value) == "{}" || m.Name == "round_id" && string(m.Value) == "0"
	})
	if changed = changed || len(context) < before; changed {
		p.Set("context", context.Append(nil))
	}
	return changed
}

// correctRound corrects notices about rounds: round 0 counts as round 1, ROUND_COMPLETED may
// lack next_round_id, and an incomplete summary is dropped.
func correctRound(p *protocol.Object, messageType string) (changed bool) {
	if string(p.Get("round_id")) == "0" {
		p.Set("round_id", jsontext.Value("1"))
		changed = true
	}
	if messageType != protocol.TypeRoundCompleted {
		return changed
	}
	changed = p.Add("next_round_id", jsontext.Value("null")) || changed
	summary := p.Object("summary")
	for _, name := range []string{"total_matches", "wins", "draws", "technical_losses"} {
		if p.Has("summary") && summary.Get(name) == nil {
			p.Drop("summary")
			changed = true
		}
	}
	return changed
}

// correctNumber reads a number in a text: "1", "R1" or "ROUND_1".
func correctNumber(p *protocol.Object, name string) bool {
	digits := strings.TrimLeft(p.Text(name), "ROUNDround_")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && digits == strconv.Itoa(n) {
		p.Set(name, encoded(n))
		return true
	}
	return false
}

// correctTime reads the times 20261120T170342Z and 2026-11-20T17:03:42+00:00Z.
func correctTime(p *protocol.Object, name string) bool {
	s := p.Text(name)
	if s == "" || protocol.ValidTimestamp(s) {
		return false
	}
	if local, ok := strings.CutSuffix(s, "+00:00Z"); ok && protocol.ValidTimestamp(local+"Z") {
		p.Set(name, protocol.Quote(local+"Z"))
		return true
	}
	const compact = "20060102T150405Z"
	if t, err := time.Parse(compact, s); err == nil && len(s) <= len("20060102T150405.000000000Z") {
		p.Set(name, protocol.Quote(protocol.FormatTimestamp(t)))
		return true
	}
	return false
}

// statusOf returns a status of a result in capitals; "" for any other text.
func statusOf(word string) string {
	switch word = strings.ToUpper(word); word {
	case protocol.StatusWin, protocol.StatusDraw, protocol.StatusTechnicalLoss:
		return word
	}
	return ""
}

// readOwnResult makes a game_result of a GAME_OVER that has only the result of this
// player: LOSS, with your_choice and opponent_choice.
func readOwnResult(p *protocol.Object, f *Facts) bool {
	if f.AgentID == "" || p.Get("game_result") != nil || slices.ContainsFunc(winnerNames, p.Has) {
		return false
	}
	player, opponent := f.AgentID, Unknown
	if f.Match.CalledAs != "" {
		player = f.Match.CalledAs
	}
	if f.Match.Opponent != "" {
		opponent = f.Match.Opponent
	}
	word := strings.ToUpper(p.Text("result"))
	winner, status := jsontext.Value("null"), statusOf(word)
	switch word {
	case protocol.StatusWin:
		winner = protocol.Quote(player)
	case "LOSS":
		winner, status = protocol.Quote(opponent), protocol.StatusWin
	}
	if status == "" {
		return false
	}
	result := protocol.Object{{Name: "status", Value: protocol.Quote(status)}, {Name: "winner_player_id", Value: winner}}
	Fill(&result, "drawn_number", p.Get("drawn_number"))
	var choices protocol.Object
	Fill(&choices, player, p.Get("your_choice"))
	Fill(&choices, opponent, p.Get("opponent_choice"))
	result.Set("choices", choices.Append(nil))
	p.Set("game_result", result.Append(nil))
	return true
}

// correctResult adds members to the result in a GAME_OVER that follow from others. The
// result may be beside the envelope, and a winner or a status is enough. A result
// without both stays as it is.
func correctResult(p *protocol.Object) bool {
	result := protocol.ParseObject(p.Get("game_result"))
	if result == nil {
		result = only(slices.Clone(*p), append([]string{"status", "choices", "drawn_number", "number_parity"}, winnerNames...)...)
	}
	before := string(result.Append(nil))
	for _, name := range winnerNames {
		if v := result.Raw(name); v != nil {
			result.Add("winner_player_id", v)
		}
	}
	if isDraw(result.Text("winner_player_id")) {
		result.Set("winner_player_id", jsontext.Value("null"))
	}
	switch status := statusOf(result.Text("status")); {
	case status != "":
		result.Set("status", protocol.Quote(status))
	case result.Get("winner_player_id") != nil:
		result.Set("status", protocol.Quote(protocol.StatusWin))
	case result.Has("winner_player_id"):
		result.Set("status", protocol.Quote(protocol.StatusDraw))
	default:
		return false
	}
	if result.Get("choices") == nil {
		result.Set("choices", jsontext.Value("{}"))
	}
	after := result.Append(nil)
	if string(after) == before && p.Get("game_result") != nil {
		return false
	}
	p.Set("game_result", after)
	return true
}
