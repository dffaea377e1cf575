package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
)

// The functions here correct one deviation each.

// correctInvitation reads the names of the opponent and the role, and game_invitation.
func correctInvitation(p *protocol.Object) {
	inner := p.Object(byType[protocol.TypeGameInvitation].nested)
	for _, name := range nestedInvitation {
		p.Fill(name, inner.Get(name))
	}
	rename(p, "opponent", "opponent_id")
	if role := p.Text("role_in_match"); role != "" {
		p.SetText("role_in_match", strings.ToUpper(role))
	}
}

// clearContext drops members of a question's context that say nothing: null, the
// empty string, an empty object, and a round 0. Nulls in your_standings become zeros.
func clearContext(p *protocol.Object) {
	context := protocol.ParseObject(p.Get("context"))
	if context == nil {
		return
	}
	if standings := protocol.ParseObject(context.Get("your_standings")); standings != nil {
		for i, m := range standings {
			if m.Value.Kind() == 'n' || string(m.Value) == `""` {
				standings[i].Value = jsontext.Value("0")
			}
		}
		context.Set("your_standings", standings.Append(nil))
	}
	context = slices.DeleteFunc(context, func(m member) bool {
		return m.Value.Kind() == 'n' || string(m.Value) == `""` || string(m.Value) == "{}" ||
			m.Name == "round_id" && string(m.Value) == "0"
	})
	p.Set("context", context.Append(nil))
}

// correctRound corrects notices about rounds: round 0 counts as round 1, ROUND_COMPLETED may
// lack next_round_id, and an incomplete summary is dropped.
func correctRound(p *protocol.Object, messageType string) {
	if string(p.Get("round_id")) == "0" {
		p.Set("round_id", jsontext.Value("1"))
	}
	if messageType != protocol.TypeRoundCompleted {
		return
	}
	p.Add("next_round_id", jsontext.Value("null"))
	summary := p.Object("summary")
	for _, name := range []string{"total_matches", "wins", "draws", "technical_losses"} {
		if summary.Get(name) == nil {
			p.Drop("summary")
		}
	}
}

// correctChampion adds the name and the points of the champion in LEAGUE_COMPLETED, which
// may have total_points: an agent that misses the end of its league waits forever.
func correctChampion(p *protocol.Object) {
	champion := p.Object("champion")
	points := champion.Get("total_points")
	if champion.Text("player_id") == "" || points == nil {
		return
	}
	champion.FillText("display_name", Short(champion.Text("player_id")))
	champion.Fill("points", points)
	p.Set("champion", champion.Append(nil))
}

// correctNumber reads a number in a text: "1", "R1" or "ROUND_1".
func correctNumber(p *protocol.Object, name string) {
	digits := strings.TrimLeft(p.Text(name), "ROUNDround_")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && digits == strconv.Itoa(n) {
		p.Set(name, encoded(n))
	}
}

// correctTime reads the times 20261120T170342Z and 2026-11-20T17:03:42+00:00Z.
func correctTime(p *protocol.Object, name string) {
	s := p.Text(name)
	if s == "" || protocol.ValidTimestamp(s) {
		return
	}
	const compact = "20060102T150405Z"
	if local, ok := strings.CutSuffix(s, "+00:00Z"); ok && protocol.ValidTimestamp(local+"Z") {
		p.SetText(name, local+"Z")
	} else if t, err := time.Parse(compact, s); err == nil && len(s) <= len("20060102T150405.000000000Z") {
		p.SetText(name, protocol.FormatTimestamp(t))
	}
}

// statusOf returns a status of a result in capitals; "" for any other text.
func statusOf(word string) string {
	switch word = strings.ToUpper(word); word {
	case league.StatusWin, league.StatusDraw, league.StatusTechnicalLoss:
		return word
	}
	return ""
}

// readOwnResult makes a game_result of a GAME_OVER that has only the result of this
// player: LOSS, with your_choice and opponent_choice.
func readOwnResult(p *protocol.Object, f *Facts) {
	word := strings.ToUpper(p.Text("result"))
	winner, status := jsontext.Value("null"), statusOf(word)
	player, opponent := f.AgentID, cmp.Or(f.Match.Opponent, Unknown)
	switch word {
	case league.StatusWin:
		winner = protocol.Quote(player)
	case "LOSS":
		winner, status = protocol.Quote(opponent), league.StatusWin
	}
	if status == "" || f.AgentID == "" || p.Get("game_result") != nil || slices.ContainsFunc(winnerNames, p.Has) {
		return
	}
	result := protocol.Object{{Name: "status", Value: protocol.Quote(status)}, {Name: "winner_player_id", Value: winner}}
	result.Fill("drawn_number", p.Get("drawn_number"))
	var choices protocol.Object
	choices.Fill(player, p.Get("your_choice"))
	choices.Fill(opponent, p.Get("opponent_choice"))
	result.Set("choices", choices.Append(nil))
	p.Set("game_result", result.Append(nil))
}

// correctResult adds members to the result in a GAME_OVER that follow from others. The
// result may be beside the envelope, and a winner or a status is enough. A result
// without both stays as it is.
func correctResult(p *protocol.Object) {
	result := protocol.ParseObject(p.Get("game_result"))
	if result == nil {
		names := append([]string{"status", "choices", "drawn_number", "number_parity"}, winnerNames...)
		result = only(*p, names...)
	}
	for _, name := range winnerNames {
		if v := result.Raw(name); v != nil {
			result.Add("winner_player_id", v)
		}
	}
	if isDraw(result.Text("winner_player_id")) {
		result.Set("winner_player_id", jsontext.Value("null"))
	}
	status := statusOf(result.Text("status"))
	switch {
	case status != "":
	case result.Get("winner_player_id") != nil:
		status = league.StatusWin
	case result.Has("winner_player_id"):
		status = league.StatusDraw
	default:
		return
	}
	result.SetText("status", status)
	result.Fill("choices", jsontext.Value("{}"))
	p.Set("game_result", result.Append(nil))
}
