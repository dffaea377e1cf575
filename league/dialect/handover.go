package dialect

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
)

// accessToken is in the assignments for referees that have a use for it: for ours.
// So an assignment tells whose its referee is.
const accessToken = `"access_token":"`

// handOver hands a match to a referee. A third-party referee is told to start it in
// one form after the other until it does not refuse; one that answers only when the
// match is over has taken it.
func (p *peers) handOver(ctx context.Context, endpoint, bearer string, body []byte, post postFunc) (status int, answer []byte, err error) {
	asked, readable := cutRequest(body)
	if ours := bytes.Contains(body, []byte(accessToken)); ours || !readable {
		status, answer, err = post(ctx, endpoint, body)
		if err != nil || status == httpOK && plainAnswer(protocol.StartMatch.Name, answer) || !readable {
			return status, answer, err
		}
		switch r := readStart(asked.id, "", status, answer); r.verdict {
		case understood:
			return r.status, r.body, nil
		case refused, unavailable:
			return r.status, conceal(r.body, secretsOf(asked.message, bearer)), nil
		}
	}
	assignment := objectOf(asked.message)
	if assignment == nil {
		return post(ctx, endpoint, body)
	}
	q := &questions[indexOf(protocol.StartMatch.Name)]
	match, fruitless := p.matches.handOut(endpoint, assignment)
	if fruitless != nil {
		p.disprove(endpoint, q, *fruitless)
	}
	c := call{peers: p, endpoint: endpoint, bearer: bearer, q: q, asked: asked, post: post, match: match, assignment: assignment}
	r, err := c.ask(ctx)
	if err == nil && r.verdict == understood {
		p.matches.begun(match, r.form, r.message.text("status") == protocol.StatusBusy)
	}
	return r.status, r.body, err
}

// shortly ends a little before a context does: there is time left to say what came
// of it.
func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	const most = 500 * time.Millisecond
	return context.WithDeadline(ctx, end.Add(-min(most, time.Until(end)/10)))
}

// readStart translates what a referee said to a start: it takes the match unless it
// says otherwise, and whatever it says of its end comes as a report.
func readStart(id []byte, match string, status int, answer []byte) reply {
	q := &questions[indexOf(protocol.StartMatch.Name)]
	r := q.read(id, status, answer)
	switch {
	case match == "": // ours
		if r.verdict == understood {
			return taken(id, match, r.message)
		}
	case r.verdict == refused && slices.Contains(aboutForm, protocol.Code(r.failed.named)):
		r.verdict = rejected // what it met there it did not expect
	case r.verdict == understood:
		return taken(id, match, r.message)
	}
	return r
}

// aboutForm are the errors of the protocol by which a referee may say that it does not
// know what an assignment is.
var aboutForm = []protocol.Code{protocol.ErrInvalidFieldType, protocol.ErrMissingField, protocol.ErrProtocolVersion, protocol.ErrInvalidTimestamp}

// taken is the acknowledgement of a match. What binds a referee to its draw is kept
// if it can.
func taken(id []byte, match string, said object) reply {
	ack := slices.Clone(said)
	status := strings.ToUpper(said.text("status"))
	if status != protocol.StatusBusy && status != protocol.StatusRejected {
		status = protocol.StatusAccepted
	}
	ack.fill("protocol", quoted(protocol.Name))
	ack.fill("message_type", quoted(protocol.TypeMatchAssignmentAck))
	ack.set("status", quoted(status))
	if match != "" {
		ack.set("match_id", quoted(match))
	}
	if _, ok := protocol.ParseSecret(ack.text("draw_commitment")); !ok {
		ack.drop("draw_commitment")
	}
	for _, name := range []string{"result", "game_result"} {
		ack.drop(name)
	}
	return questions[indexOf(protocol.StartMatch.Name)].result(id, ack)
}

// spelled is an assignment with the players under all names that referees were seen
// to read. What only ours have a use for is not in it.
func spelled(assignment object) object {
	m := slices.Clone(assignment)
	for _, names := range sideNames {
		player := m.object(names[0])
		player.drop("access_token")
		m.set(names[0], player.appendTo(nil))
		id, at := player.get("player_id"), player.get("endpoint")
		if id == nil || at == nil {
			continue
		}
		for _, name := range names {
			m.set(name+"_id", id)
			m.set(name+"_endpoint", at)
		}
		m.set(names[1], id)
		m.set(names[1]+"_url", at)
	}
	return m
}

// announcement is an assignment as the announcement of a round: referees pick their
// matches from it by their id or their endpoint.
func announcement(assignment object, endpoint string) object {
	var m object
	for _, name := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "league_id", "round_id"} {
		if v := assignment.get(name); v != nil {
			m.set(name, v)
		}
	}
	m.set("message_type", quoted(protocol.TypeRoundAnnouncement))
	var match object
	copied := func(as string, from object, name string) {
		if v := from.get(name); v != nil {
			match.set(as, v)
		}
	}
	copied("match_id", assignment, "match_id")
	copied("game_type", assignment, "game_type")
	for _, seat := range []string{"player_A", "player_B"} {
		player := assignment.object(seat)
		copied(seat+"_id", player, "player_id")
		copied(seat+"_endpoint", player, "endpoint")
	}
	match.set("referee_endpoint", quoted(endpoint))
	copied("referee_id", assignment, "referee_id")
	m.set("matches", append(match.appendTo([]byte{'['}), ']'))
	return m
}
