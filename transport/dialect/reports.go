package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// An Assigned match is what the manager knows of a match that it assigned to a third-party
// referee. It is immutable.
type Assigned struct {
	MatchID string
	Referee string          // its id; "" if it is not known
	known   protocol.Object // the members that a report may lack
	players [2]string
	scoring protocol.Object
}

// ReadAssignment returns the match of a MATCH_ASSIGNMENT.
func ReadAssignment(assignment protocol.Object) Assigned {
	a := Assigned{
		MatchID: assignment.Text("match_id"), Referee: assignment.Text("referee_id"), scoring: assignment.Object("scoring"),
	}
	for _, name := range []string{"match_id", "round_id", "league_id", "game_type"} {
		a.known.Fill(name, assignment.Get(name))
	}
	if a.Referee != "" {
		a.known.SetText("sender", protocol.RefereeSender(a.Referee))
	}
	a.players = [2]string{assignment.Object("player_A").Text("player_id"), assignment.Object("player_B").Text("player_id")}
	return a
}

// Reporter is the id in the sender of a report; "" if there is none.
func Reporter(report protocol.Object) string {
	if id := protocol.AgentOf(report.Text("sender")); id != Unknown {
		return id
	}
	return ""
}

// IsReportedBy tells whether a reporter can be the referee of the match.
func (a *Assigned) IsReportedBy(reporter string) bool {
	return reporter == "" || a.Referee == "" || strings.EqualFold(reporter, a.Referee)
}

// playerID matches an id of a player as the name or the value of a member.
var playerID = words.Pattern(`"(P[0-9]{2,6})"`)

// HasPlayers tells whether all players that a report names are those of the match.
func (a *Assigned) HasPlayers(report protocol.Object) bool {
	return !slices.ContainsFunc(playerID().FindAllSubmatch(report.Append(nil), -1), func(id [][]byte) bool {
		return !slices.Contains(a.players[:], string(id[1]))
	})
}

// Complete adds the members that a report of the match lacks, and puts its result into the
// form of the specification. It tells whether it changed the report.
func (a *Assigned) Complete(report *protocol.Object) bool {
	before := slices.Clone(*report)
	if protocol.AgentOf(report.Text("sender")) == Unknown {
		report.Drop("sender")
	}
	for _, one := range a.known {
		report.Fill(one.Name, one.Value)
	}
	a.completeResult(report)
	return !same(*report, before)
}

// The members of a result under their third-party positions.
var (
	winnerNames = []string{"winner", "winner_player_id", "winner_id"}
	detailNames = []string{"choices", "player_choices", "drawn_number", "status", "reason"}
)

// completeResult puts the result of a report into the form of the specification. It adds
// only the score, which follows from the winner.
func (a *Assigned) completeResult(report *protocol.Object) {
	result := report.Object("result")
	if result == nil {
		result = slices.Clone(*report)
		a.readSides(&result)
		if !slices.ContainsFunc(winnerNames, result.Has) && result.Get("status") == nil {
			return
		}
		result = only(result, slices.Concat(winnerNames, detailNames, []string{"score", "details"})...)
	}
	details := result.Object("details")
	for _, name := range detailNames {
		details.Fill(name, result.Get(name))
		result.Drop(name)
	}
	details.Fill("choices", details.Get("player_choices"))
	details.Drop("player_choices")
	status := statusOf(details.Text("status"))
	details.Drop("status")
	if status != "" {
		details.SetText("status", status)
	}
	score := result.Object("score")
	if holdsChoices(score) {
		details.Fill("choices", score.Append(nil))
		score = nil
	}
	setWinner(&result, status)
	if len(score) == 0 {
		score = a.score(result, status)
	}
	result.Set("score", score.Append(nil))
	dropEmpty(&details)
	a.setStatus(&details, result)
	result.Drop("details")
	if len(details) > 0 {
		result.Set("details", details.Append(nil))
	}
	report.Set("result", result.Append(nil))
}

// readSides reads the choices and the status that a flat report has by side:
// player_a_choice, player_a_result. Without a number there is no winner_id.
func (a *Assigned) readSides(result *protocol.Object) {
	var choices protocol.Object
	for i, side := range []string{"player_a", "player_b"} {
		choices.Fill(cmp.Or(result.Text(side+"_id"), a.players[i]), result.Get(side+"_choice"))
	}
	if len(choices) > 0 {
		result.Fill("choices", choices.Append(nil))
	}
	switch status := strings.ToUpper(result.Text("player_a_result")); status {
	case "LOSS":
		result.FillText("status", league.StatusWin)
	case league.StatusTechnicalLoss:
		result.Add("winner", jsontext.Value("null"))
		fallthrough
	case league.StatusWin, league.StatusDraw:
		result.FillText("status", status)
	}
}

// setStatus adds the status of a match in which both players have chosen: without a number
// it would look like a technical loss.
func (a *Assigned) setStatus(details *protocol.Object, result protocol.Object) {
	choices := details.Object("choices")
	bothChose := choices.Get(a.players[0]) != nil && choices.Get(a.players[1]) != nil
	if details.Get("status", "drawn_number") != nil || !bothChose {
		return
	}
	status := league.StatusDraw
	if winner := result.Text("winner"); winner != "" && winner != draw {
		status = league.StatusWin
	}
	details.SetText("status", status)
}

// setWinner moves the winner to its member in the specification.
func setWinner(result *protocol.Object, status string) {
	said, named := result.Get(winnerNames...), slices.ContainsFunc(winnerNames, result.Has)
	for _, name := range winnerNames[1:] {
		result.Drop(name)
	}
	switch id := protocol.Unquote(said); {
	case isDraw(id), said == nil && status == league.StatusDraw:
		result.SetText("winner", draw)
	case said == nil && named, said.Kind() == '"' && id == "":
		result.Set("winner", jsontext.Value("null"))
	case said != nil:
		result.Set("winner", said)
	}
}

// draw is the winner of a draw, if it is not null.
const draw = "DRAW"

func isDraw(winner string) bool { return strings.EqualFold(winner, draw) }

// dropEmpty drops empty choices and the number 0: no number was drawn.
func dropEmpty(details *protocol.Object) {
	if len(details.Object("choices")) == 0 {
		details.Drop("choices")
	}
	if n := details.Get("drawn_number"); n == nil || string(n) == "0" {
		details.Drop("drawn_number")
	}
}

// holdsChoices tells whether a score holds choices in place of points.
func holdsChoices(score protocol.Object) bool {
	return len(score) > 0 && !slices.ContainsFunc(score, func(m member) bool {
		_, err := strconv.Atoi(protocol.Unquote(m.Value))
		return m.Value.Kind() != '"' && m.Value.Kind() != 'n' || m.Value.Kind() == '"' && err == nil
	})
}

// score follows from the winner and the scoring of the league. Two players with a
// technical loss get the points of a loss.
func (a *Assigned) score(result protocol.Object, status string) protocol.Object {
	points := func(name string) jsontext.Value { return encoded(a.scoring.Integer(name)) }
	lost := points("loss_points")
	score := protocol.Object{{Name: a.players[0], Value: lost}, {Name: a.players[1], Value: lost}}
	winner := result.Text("winner")
	switch side := slices.Index(a.players[:], winner); {
	case winner != "" && side >= 0:
		score[side].Value = points("win_points")
	case status != league.StatusTechnicalLoss:
		score[0].Value, score[1].Value = points("draw_points"), points("draw_points")
	}
	return score
}
