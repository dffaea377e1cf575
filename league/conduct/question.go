package conduct

import (
	"cmp"
	"maps"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A question is what one side is being asked. Its windows are the times in which the side may answer: it may correct a
// wrong answer within a window, and gets another one after a timeout or a broken connection.
type question struct {
	try     int  // of the last call attempt, from 1; 0 before the first
	retries int  // after failures that count
	voids   int  // attempts that count for nothing
	wrong   bool // there was a wrong answer: from then on the window stays the same

	open     bool
	end      time.Time         // of the window, as the message says it
	stamp    string            // end as messages have it
	queued   time.Duration     // at the referee, in all calls of the window: it lasts so much longer than end
	waited   time.Duration     // in the window, for a player that asked the referee to wait
	waits    int               // answers that asked the referee to wait
	deadline protocol.Deadline // by which a late answer is judged; none for an invitation

	// Of a question that takes time from the bank of its side.
	since time.Time     // from then on its time counts; zero before it is asked
	left  time.Duration // in the bank when it was last asked
	full  time.Time     // the end of the window of the league, with the time that the question was queued
	last  bool          // the window ends with the bank, before that

	// What is to be done before the side is asked again, in this order.
	wait     time.Duration // as the player asked the referee to wait
	failure  *Worth        // of which GAME_ERROR tells the player; nil for none
	pause    time.Duration // after the failure
	delivery time.Duration // how long the next attempt waits at most for the delivery of GAME_ERROR
}

// until is the end of the window, moved by the time that the question was queued.
func (q *question) until() time.Time { return q.end.Add(q.queued) }

// gameErrorDelay is how long a question or GAME_OVER waits at most for the delivery of the GAME_ERROR before it.
const gameErrorDelay = time.Second

// A Kind says what a Step is.
type Kind int

// The kinds of steps.
const (
	Done      Kind = iota // nothing is to be done for the side
	Ask                   // send the message, and judge what comes of it
	GameError             // send the message; its delivery is not awaited
	Pause                 // do nothing for a time
)

// A Step is what is to be done for a side now.
type Step struct {
	Kind    Kind
	Message any // of Ask: *protocol.GameInvitation, ChooseParityCall or GameMoveCall; of GameError: *protocol.GameError
	Method  *protocol.MethodRow
	Try     int           // the number of the call attempt that the message begins, or about which it is
	Window  time.Duration // the length of a window that opens now; 0 if none does

	Pause    time.Duration // of a Pause
	Delivery bool          // the delivery of the last GAME_ERROR ends the Pause

	Failure *Worth // of GameError
	Retries int    // of GameError: after failures, with the next one
}

// Step returns what is to be done for a side now, and takes it as done.
func (m *Match) Step(of rules.Side, now time.Time) Step {
	s := &m.sides[of]
	q := &s.question
	switch {
	case m.givenUp:
		return Step{}
	case q.wait > 0:
		wait := q.wait
		q.wait = 0
		return Step{Kind: Pause, Pause: wait}
	case q.failure != nil:
		failure := q.failure
		q.failure = nil
		return Step{Kind: GameError, Message: m.gameError(s, failure, now), Method: &protocol.NotifyGameError.MethodRow,
			Try: q.try, Failure: failure, Retries: q.retries}
	case !s.owes && q.delivery > 0: // what follows, as GAME_OVER, must not overtake it
		limit := q.delivery
		q.delivery = 0
		return Step{Kind: Pause, Pause: limit, Delivery: true}
	case !s.owes:
		return Step{}
	case q.pause > 0:
		pause := q.pause
		q.pause = 0
		return Step{Kind: Pause, Pause: pause}
	}
	var opened time.Duration
	if !q.open {
		opened = m.leagueWindow()
		q.open, q.end, q.queued, q.waited, q.waits = true, now.Add(opened), 0, 0, 0
		q.full, q.last = q.end, false
		q.stamp = m.format(q.end)
	}
	if limit := q.delivery; limit > 0 {
		q.delivery = 0
		if q.wrong { // the window goes on: leave half of its rest for the question
			limit = min(limit, q.until().Sub(now)/2)
		}
		if limit > 0 {
			return Step{Kind: Pause, Pause: limit, Delivery: true, Window: opened}
		}
	}
	q.try++
	if m.Timed() {
		opened = cmp.Or(m.startClock(s, now), opened)
	}
	return Step{Kind: Ask, Method: m.method(), Message: m.ask(s, of, now), Try: q.try, Window: opened}
}

// Asked makes a side owe an answer to the present question as a transcript says, whatever Step would do: with the
// number of the call attempt, and the deadline that the message has; zero for none.
func (m *Match) Asked(of rules.Side, try int, deadline time.Time) {
	s := &m.sides[of]
	q := &s.question
	s.owes, q.failure = true, nil
	if skipped := try - q.try; skipped > 0 {
		q.try, q.retries = try, q.retries+skipped
	}
	if !deadline.IsZero() {
		q.end = deadline
		q.deadline.Ask(deadline)
	}
}

// Window is the length of the windows of the present question to a side. Those of a question that takes time from the
// bank of the side are no longer than what the bank has.
func (m *Match) Window(of rules.Side) time.Duration {
	if m.Timed() {
		return min(m.leagueWindow(), m.sides[of].bank)
	}
	return m.leagueWindow()
}

// leagueWindow is the length of the windows of the present question, whatever the time banks have.
func (m *Match) leagueWindow() time.Duration {
	if m.state == protocol.StateWaitingForPlayers {
		return protocol.Seconds(m.assignment.Timeouts.GameJoinAck)
	}
	return protocol.Seconds(m.assignment.Timeouts.Move)
}

// ask returns the question to a side: GAME_INVITATION (spec 003 §8.7.1), and then the message by which its game asks
// for moves (protocol.MoveFormOf). What a side is shown of the game comes from rules.Course.Ask alone.
func (m *Match) ask(s *side, of rules.Side, now time.Time) any {
	a, q := m.assignment, &s.question
	if m.state == protocol.StateWaitingForPlayers {
		invitation := s.messages.invitation.New()
		*invitation = protocol.GameInvitation{
			Envelope: m.envelope(protocol.TypeGameInvitation, s, now),
			LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
			RoleInMatch: s.role, OpponentID: s.opponent, Attempt: a.Attempt, DrawCommitment: m.commitment,
		}
		return protocol.Plain(invitation)
	}
	q.deadline.Ask(q.end.Truncate(time.Second)) // as the message says it
	if m.form.Method.Name == protocol.ChooseParity.Name {
		call := s.messages.parityCall.New()
		*call = protocol.ChooseParityCall{
			Envelope: m.envelope(protocol.TypeChooseParityCall, s, now),
			MatchID:  a.MatchID, PlayerID: s.player.PlayerID, GameType: a.GameType,
			Context:  protocol.ChoiceContext{OpponentID: s.opponent, RoundID: a.RoundID, YourStandings: &s.player.Standings},
			Deadline: q.stamp, TimeLeft: int(q.left.Milliseconds()), SignatureRequest: m.signatureRequest(s),
		}
		return protocol.Plain(call)
	}
	shown := m.course.Ask(of)
	return protocol.Plain(&protocol.GameMoveCall{
		Envelope: m.envelope(protocol.TypeGameMoveCall, s, now),
		MatchID:  a.MatchID, PlayerID: s.player.PlayerID, GameType: a.GameType,
		MoveRequest: protocol.MoveRequest{MoveType: shown.MoveType, ValidOptions: shown.Options, Text: shown.Text,
			Context: m.context(s, of, &shown)},
		Deadline: q.stamp, TimeLeft: int(q.left.Milliseconds()), SignatureRequest: m.signatureRequest(s),
	})
}

// context is that of a question for a move. In a game with views it has the turn, so that no two questions of a match
// are equal, what the side may see, and, in the first question, the rules.
func (m *Match) context(s *side, of rules.Side, shown *rules.Question) map[string]any {
	context := map[string]any{"opponent_id": s.opponent, "round_id": m.assignment.RoundID}
	maps.Copy(context, shown.Context)
	if !m.views {
		return context
	}
	context["turn"] = m.turn
	if shown.View != nil {
		context["view"] = shown.View
	}
	if board := m.board(of); len(board) > 0 {
		context["board"] = board
	}
	if len(shown.Examples) > 0 {
		context["examples"] = shown.Examples
	}
	if shown.Secret {
		context["secret"] = true
	}
	if m.turn == s.first {
		info := m.game.Info()
		context["rules"] = info.DisplayName + ". " + info.Rules
	}
	return context
}

// board is the board as a side may see it; nil for none.
func (m *Match) board(of rules.Side) [][]string {
	if n := len(m.boards); n > 0 { // that of the program of the game, which may have shown it before an earlier turn
		return m.boards[n-1].Cells
	}
	if drawer, ok := m.course.Position().(rules.Drawer); ok {
		return drawer.Draw(of)
	}
	return nil
}

// envelope begins a message to a player. Its token is valid only between the referee and this player, in this attempt.
func (m *Match) envelope(messageType string, s *side, now time.Time) protocol.Envelope {
	e := protocol.Envelope{
		Protocol: protocol.Name, MessageType: messageType, Sender: m.sender,
		Timestamp: m.format(now), ConversationID: m.conversation,
		AuthToken: cmp.Or(s.player.AccessToken, protocol.NoToken),
	}
	e.SetPlain(m.plain)
	return e
}

// gameError makes the GAME_ERROR about a failure (spec 003 §4.10.2), with the timing of the call in its context.
func (m *Match) gameError(s *side, w *Worth, now time.Time) *protocol.GameError {
	q, fault, most := &s.question, w.Fault, m.assignment.RetryPolicy.MaxRetries
	again, retries := w.Verdict == Again, q.retries
	info := &protocol.RetryInfo{RetryCount: retries, MaxRetries: most}
	consequence := "Technical loss"
	switch {
	case again && pauses(fault.Code):
		info.NextRetryAt = protocol.FormatTimestamp(now.Add(m.assignment.RetryPolicy.Pause(retries)))
		consequence = "Technical loss if max retries exceeded"
	case again:
		remaining := max(q.until().Sub(now).Seconds(), 0)
		info.NextRetryAt, info.TimeRemaining = protocol.FormatTimestamp(now), &remaining
		consequence = "Technical loss if no valid answer is received before the deadline"
	}
	details := map[string]any{"detail": fault.Detail}
	maps.Copy(details, fault.Context)
	if w.timing != nil {
		details["timing"] = *w.timing
	}
	if fault.Code == protocol.ErrTimeout {
		details["deadline"] = protocol.FormatTimestamp(w.until)
	}
	return protocol.Plain(&protocol.GameError{
		Envelope: m.envelope(protocol.TypeGameError, s, now),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, AffectedPlayer: s.player.PlayerID,
		ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(), ErrorDescription: fault.Code.Name(),
		ActionRequired: m.method().Result, GameState: m.state, Retryable: &again,
		RetryCount: &retries, MaxRetries: &most, RetryInfo: info,
		Context: details, Consequence: consequence,
	})
}

// method is that of the present question.
func (m *Match) method() *protocol.MethodRow {
	if m.state == protocol.StateWaitingForPlayers {
		return &protocol.Invite.MethodRow
	}
	return m.form.Method
}

// signs tells whether a side signs its moves: the league does, and the player has a public key.
func (m *Match) signs(s *side) bool {
	return m.assignment.Started != "" && s.player.PublicKey != ""
}

// signatureRequest returns the members of a question that ask a side for a signature, and the opening; only that for a
// side that does not sign.
func (m *Match) signatureRequest(s *side) protocol.SignatureRequest {
	if !m.signs(s) {
		return protocol.SignatureRequest{Opening: m.assignment.Opening}
	}
	return protocol.SignatureRequest{
		Sign: true, Started: m.assignment.Started, Turn: m.turn, RoleInMatch: s.role,
		DrawCommitment: m.commitment, EntropyCommitments: m.commitments, Moves: m.shown(s), ViewHash: s.viewHash,
		Opening: m.assignment.Opening,
	}
}

// shown returns the moves so far as a side may see them.
func (m *Match) shown(s *side) []protocol.PlayerMove {
	if !m.hidden {
		return m.Moves()
	}
	return protocol.ShownMoves(m.Moves(), s.player.PlayerID, m.nonce)
}

// Statement is what a side signs with a move, and its public key. Due is false if no signature is due.
func (m *Match) Statement(of rules.Side, r *Reply) (statement *protocol.MoveStatement, key string, due bool) {
	s := &m.sides[of]
	if m.state != protocol.StateCollectingChoices || !m.signs(s) {
		return nil, "", false
	}
	statement = &protocol.MoveStatement{
		Started: m.assignment.Started, MatchID: m.assignment.MatchID, Attempt: m.assignment.Attempt, RefereeID: m.referee,
		PlayerID: s.player.PlayerID, Turn: m.turn, Move: r.Choice, DrawCommitment: m.commitment,
		EntropyCommitments: [2]string{m.sides[rules.SideA].entropyCommitment, m.sides[rules.SideB].entropyCommitment},
	}
	if s.entropyCommitment != "" {
		statement.Entropy = r.Entropy
	}
	statement.ViewHash = s.viewHash
	switch shown := m.shown(s); {
	case m.turn == 1 && len(m.assignment.Opening) == 0:
	case m.hidden:
		statement.MovesHash = protocol.HiddenMovesHash(shown)
	default:
		statement.MovesHash = protocol.MovesHash(m.assignment.Opening, shown)
	}
	return statement, s.player.PublicKey, true
}
