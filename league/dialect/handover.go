package dialect

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// How referees of other makers are told to start a match: all of these were seen,
// or are likely. The last ones announce them the round with this one match in it.
var starts = [...]form{
	{style: styleOwn, name: protocol.StartMatch.Name},
	{style: styleName, name: "assign_match"},
	{style: styleName, name: "START_MATCH"},
	{style: styleName, name: "run_match"},
	{style: styleName, name: "start_match_command"},
	{style: styleType, name: protocol.TypeMatchAssignment},
	{style: styleLower, name: "match_assignment"},
	{style: styleHandle, name: handleMessage},
	{style: styleTool, name: protocol.StartMatch.Name},
	{style: styleBare},
	{style: styleBare, path: "/run_match"},
	{style: styleOwn, name: protocol.NotifyRound.Name},
	{style: styleType, name: protocol.TypeRoundAnnouncement},
}

// announces tells whether a form announces a round.
func (f form) announces() bool {
	return f.name == protocol.NotifyRound.Name || f.name == protocol.TypeRoundAnnouncement
}

// accessToken is in the assignments for referees that have a use for it: for ours.
// So an assignment tells whose its referee is.
const accessToken = `"access_token":"`

// handOver hands a match to a referee.
func (p *peers) handOver(ctx context.Context, endpoint string, body []byte, post postFunc) (status int, answer []byte, err error) {
	asked, readable := cutRequest(body)
	if ours := bytes.Contains(body, []byte(accessToken)); ours || !readable {
		status, answer, err = post(ctx, endpoint, body)
		if err != nil || status == httpOK && plainAnswer(protocol.StartMatch.Name, answer) || !readable {
			return status, answer, err
		}
		if r := readStart(asked.id, "", status, answer); r.verdict == understood || r.verdict == unreadable {
			return r.status, r.body, nil
		}
	}
	assignment := objectOf(asked.message)
	if assignment == nil {
		return post(ctx, endpoint, body)
	}
	match, begin := p.matches.handOut(endpoint, assignment)
	return p.start(ctx, match, begin, asked.id, assignment, post)
}

// start tells a referee of another maker to start a match, in one form after the
// other until it does not refuse. One that answers only when the match is over has
// taken it.
func (p *peers) start(ctx context.Context, match *handout, begin int, id []byte, assignment object, post postFunc) (status int, answer []byte, err error) {
	var first reply
	for i := range starts {
		n := (begin + i) % len(starts)
		f := starts[n]
		message := spelled(assignment)
		if f.announces() {
			message = announcement(assignment, match.endpoint)
		}
		limited, stop := shortly(ctx)
		status, answer, err := post(limited, f.url(match.endpoint), f.encode(message.appendTo(nil), id))
		timedOut := limited.Err() != nil && ctx.Err() == nil
		stop()
		var r reply
		switch {
		case err != nil && !timedOut:
			return 0, nil, err
		case err != nil:
			r = taken(id, match.id, nil)
		default:
			r = readStart(id, match.id, status, answer)
		}
		switch r.verdict {
		case understood:
			p.begun(match, n, f, r)
			return r.status, r.body, nil
		case unreadable: // it asks to wait, or who this is
			return r.status, r.body, nil
		}
		if i == 0 {
			first = r
		}
	}
	return first.status, first.body, nil
}

// begun remembers in which form a referee took a match.
func (p *peers) begun(match *handout, n int, f form, r reply) {
	if p.matches.begun(match, n, r.message.text("status") == protocol.StatusBusy) {
		p.options.Log.Info().Str("endpoint", match.endpoint).Str("match_id", match.id).Stringer("form", f).
			Msg("a referee of another maker: it is told to start matches in its own dialect")
	}
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

// refusedStart are the statuses by which a referee does not take a match; busy of
// them those that pass.
var (
	refusedStart = append([]string{"error", "failed"}, refusals...)
	busy         = []string{"busy", "try_later", "overloaded"}
)

// readStart translates what a referee said to a start: it takes the match unless it
// says otherwise, and whatever it says of its end comes as a report.
func readStart(id []byte, match string, status int, answer []byte) reply {
	q := question{method: protocol.StartMatch.Name, answer: protocol.TypeMatchAssignmentAck, notice: true}
	r := q.read(id, status, answer)
	if match == "" { // ours
		if r.verdict != understood || r.failed.there {
			return r
		}
		return taken(id, match, r.message)
	}
	switch {
	case r.failed.there && slices.Contains(aboutForm, protocol.Code(r.failed.named)), status == httpInternalError:
		r.verdict = puzzled // what it met there it did not expect
	case r.verdict == unreadable && status/100 == 2 && slices.Contains([]jsontext.Kind{'t', '"'}, kindOf(answer)): // true, or "ok"
		return taken(id, match, object{{"status", answer}})
	case r.verdict == unreadable && status/100 == 2:
		r.verdict = puzzled
	case r.verdict == understood && !r.failed.there:
		return taken(id, match, r.message)
	}
	return r
}

// kindOf is the kind of a JSON value; that of none where it is no such.
func kindOf(answer []byte) jsontext.Kind {
	if v := jsontext.Value(answer); v.IsValid() {
		return v.Kind()
	}
	return jsontext.KindInvalid
}

// aboutForm are the errors of the protocol by which a referee may say that it does not
// know what an assignment is.
var aboutForm = []protocol.Code{protocol.ErrInvalidFieldType, protocol.ErrMissingField, protocol.ErrProtocolVersion, protocol.ErrInvalidTimestamp}

// taken is the acknowledgement of a match. What binds a referee to its draw is kept
// if it can.
func taken(id []byte, match string, said object) reply {
	word := strings.ToLower(said.text("status"))
	ack := slices.Clone(said)
	status := protocol.StatusAccepted
	switch {
	case slices.Contains(busy, word):
		status = protocol.StatusBusy
	case slices.Contains(refusedStart, word), said.get("accept").Kind() == 'f', said.get("accepted").Kind() == 'f':
		status = protocol.StatusRejected
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
	q := question{method: protocol.StartMatch.Name, answer: protocol.TypeMatchAssignmentAck}
	return q.result(id, ack)
}

// spelled is an assignment with the players under all names that referees were seen
// to read. What only ours have a use for is not in it.
func spelled(assignment object) object {
	m := slices.Clone(assignment)
	for i, seat := range []string{"A", "B"} {
		player := m.object("player_" + seat)
		player.drop("access_token")
		m.set("player_"+seat, player.appendTo(nil))
		id, at := player.get("player_id"), player.get("endpoint")
		lower, number := strings.ToLower(seat), []string{"1", "2"}[i]
		for _, spelling := range []struct {
			name  string
			value jsontext.Value
		}{
			{"player_" + seat + "_id", id}, {"player_" + seat + "_endpoint", at},
			{"player_" + lower + "_id", id}, {"player_" + lower + "_endpoint", at},
			{"player" + number + "_id", id}, {"player" + number + "_endpoint", at},
			{"player_" + lower, id}, {"player_" + lower + "_url", at},
		} {
			if spelling.value != nil {
				m.set(spelling.name, spelling.value)
			}
		}
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
