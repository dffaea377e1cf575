package referee

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// The states of a match (spec 003 §3.3).
const (
	StateWaitingForPlayers = "WAITING_FOR_PLAYERS"
	StateCollectingChoices = "COLLECTING_CHOICES"
	StateDrawingNumber     = "DRAWING_NUMBER"
	StateFinished          = "FINISHED"
)

// A match is one attempt at a match.
type match struct {
	referee      *Referee
	member       *membership.Membership
	game         rules.Game
	assignment   *protocol.MatchAssignment // nil when it is over
	matchID      string
	attempt      int
	players      [2]string
	conversation string
	nonce        protocol.Secret
	commitment   string
	abandoned    atomic.Bool // a later attempt has taken its place
	seats        [2]seat
	result       *protocol.GameResult // what GAME_OVER says
	second       chan struct{}        // tells that the second seat is done
	chronicle    *chronicle           // nil where nothing is written
	doc          *store.Match         // its file, from the result until the manager has that; whoever reports may touch it

	mu        sync.Mutex
	state     string
	final     *protocol.MatchResultReport // once it is finished
	reporting bool                        // the report is on its way, or will be when the players know the result
	reported  bool                        // the manager has acknowledged it
}

// A seat is a player in a match. Only the goroutine that asks it writes to it.
type seat struct {
	player            *protocol.AssignedPlayer
	peer              protocol.Peer
	role              string
	opponent          string
	entropyCommitment string
	entropy           protocol.Secret
	move              string // the last legal one
	lost              string // why it lost technically, "" while it has not
}

func newMatch(r *Referee, member *membership.Membership, game rules.Game, a *protocol.MatchAssignment) *match {
	m := &match{
		referee: r, member: member, game: game, assignment: a,
		matchID: a.MatchID, attempt: a.Attempt, players: [2]string{a.PlayerA.PlayerID, a.PlayerB.PlayerID},
		conversation: protocol.MatchConversation(a.MatchID, a.Attempt),
		nonce:        r.nonce(a.LeagueID, a.MatchID, a.Attempt),
		state:        StateWaitingForPlayers,
		second:       make(chan struct{}, 1),
	}
	m.commitment = protocol.DrawCommitment(a.LeagueID, a.MatchID, a.Attempt, member.AgentID, m.nonce)
	for i, p := range [2]*protocol.AssignedPlayer{&a.PlayerA, &a.PlayerB} {
		m.seats[i] = seat{player: p, peer: protocol.Peer{Endpoint: p.Endpoint}}
	}
	m.seats[0].role, m.seats[0].opponent = protocol.RolePlayerA, a.PlayerB.PlayerID
	m.seats[1].role, m.seats[1].opponent = protocol.RolePlayerB, a.PlayerA.PlayerID
	if r.files(a.LeagueID, a.MatchID, member.AgentID) {
		m.chronicle = newChronicle(r.options.Clock, member.Token, a.PlayerA.AccessToken, a.PlayerB.AccessToken)
	}
	return m
}

// conduct is a whole match, from invitation to report.
func (m *match) conduct() {
	defer m.referee.rest()
	defer m.forget()
	m.chronicle.enter(StateWaitingForPlayers)
	m.ask([]rules.Seat{rules.SeatA, rules.SeatB}, m.assignment.Timeouts.GameJoinAck, m.invite)
	position := m.game.Start()
	if !m.forfeited() {
		position = m.play(position)
	}
	if m.over() || !m.finish(position) {
		m.referee.release(false)
		m.keepAbandoned()
		return // another attempt, or another referee, plays it again
	}
	m.announce()
	m.referee.release(true) // the manager may hand over the next match while it reads the report
	m.deliver(m.referee.life)
}

// play asks for moves until the game is over, or a player has lost it
// otherwise.
func (m *match) play(position rules.Position) rules.Position {
	m.enter(StateCollectingChoices)
	for {
		seats := position.ToMove()
		if len(seats) == 0 {
			m.enter(StateDrawingNumber)
			return position
		}
		now := position
		m.ask(seats, m.assignment.Timeouts.Move, func(w *window, s rules.Seat) error { return m.askMove(w, now, s) })
		if m.forfeited() {
			return position
		}
		position = position.Play([2]string{m.seats[0].move, m.seats[1].move})
	}
}

// forget drops what only the conduct of the match needed; the report stays.
func (m *match) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final != nil {
		m.assignment, m.game, m.result, m.seats = nil, nil, nil, [2]seat{}
	}
}

// over tells whether the attempt need not go on: another has taken its place,
// or the referee stops.
func (m *match) over() bool { return m.abandoned.Load() || m.referee.life.Err() != nil }

// abandon ends an attempt whose place another takes; false when it has a
// result, which then is that of the match.
func (m *match) abandon() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final == nil {
		m.abandoned.Store(true)
	}
	return m.final == nil
}

func (m *match) enter(state string) {
	m.mu.Lock()
	m.state = state
	m.mu.Unlock()
	m.chronicle.enter(state)
}

// forfeited tells whether the match is over before its game is: a player has
// lost technically, or the attempt was abandoned.
func (m *match) forfeited() bool {
	return m.seats[0].lost != "" || m.seats[1].lost != "" || m.over()
}

// ask puts a question to the seats, to all at the same time, and returns when
// the outcome of each is known: it answered, or it lost.
func (m *match) ask(seats []rules.Seat, timeout float64, question func(*window, rules.Seat) error) {
	first := m.openWindow(timeout)
	defer first.ctx.Stop()
	m.both(len(seats), func(i int) { m.insist(first, seats[i], question) })
}

// both does the same for one or two seats at the same time.
func (m *match) both(n int, do func(i int)) {
	if n == 2 && m.referee.crew.run(func() { do(1); m.second <- struct{}{} }) {
		defer func() { <-m.second }()
	}
	do(0)
}

// judgeJoin decides what a GAME_JOIN_ACK means.
func (m *match) judgeJoin(s *seat, a *protocol.GameJoinAck) error {
	m.conformance(s, &a.Envelope, a.PlayerID)
	if err := m.sameMatch(&a.Envelope, protocol.TypeGameJoinAck, a.MatchID); err != nil {
		return err
	}
	if f, broken := a.BrokenField("accept"); broken {
		return protocol.Fault(protocol.ErrInvalidFieldType, "accept must be true or false, got %s", f.Got)
	}
	if a.Accept == nil {
		return protocol.Fault(protocol.ErrMissingField, "accept must be true or false")
	}
	if _, digest := protocol.ParseSecret(a.EntropyCommitment); a.EntropyCommitment != "" && !digest {
		return protocol.Fault(protocol.ErrInvalidFieldType, "entropy_commitment must be 64 hexadecimal digits")
	}
	if !*a.Accept {
		s.lost = "refused the invitation"
	}
	s.entropyCommitment = a.EntropyCommitment
	return nil
}

// put asks a seat something and waits for the answer.
func put[Q, R any](m *match, w *window, s *seat, method *protocol.Method[Q, R], q *Q) (*R, error) {
	if w.turn != nil {
		w.turn.method, w.turn.answer = method.Name, nil
		m.chronicle.sent(s.player.PlayerID, method.Name, w.turn.try, q)
	}
	answer, err := method.Call(w.ctx, m.referee.options.Caller, s.peer, q)
	if err != nil {
		return nil, unanswered(err)
	}
	if w.turn != nil {
		w.turn.answer = answer
	}
	return answer, nil
}

// invite sends GAME_INVITATION (spec 003 §8.7.1).
func (m *match) invite(w *window, side rules.Seat) error {
	s, a := &m.seats[side], m.assignment
	w.action = protocol.TypeGameJoinAck
	ack, err := put(m, w, s, &protocol.Invite, &protocol.GameInvitation{
		Envelope: m.envelope(protocol.TypeGameInvitation, s),
		LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		RoleInMatch: s.role, OpponentID: s.opponent, Attempt: a.Attempt, DrawCommitment: m.commitment,
	})
	if err != nil {
		return err
	}
	return m.judgeJoin(s, ack)
}

// askMove asks for the move a position wants: CHOOSE_PARITY_CALL in Even/Odd
// (spec 003 §8.7.3), GAME_MOVE_CALL in every other game (§3.8.2).
func (m *match) askMove(w *window, position rules.Position, side rules.Seat) error {
	s := &m.seats[side]
	if m.assignment.GameType == evenOdd {
		return m.askParity(w, position, side, s)
	}
	question := position.Ask(side)
	w.action = protocol.TypeGameMoveResponse
	answer, err := put(m, w, s, &protocol.MakeMove, &protocol.GameMoveCall{
		Envelope: m.envelope(protocol.TypeGameMoveCall, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, GameType: m.assignment.GameType,
		MoveRequest: protocol.MoveRequest{MoveType: question.MoveType, ValidOptions: question.Options, Context: question.Context},
		Deadline:    w.stamp,
	})
	if err != nil {
		return err
	}
	m.conformance(s, &answer.Envelope, answer.PlayerID)
	return m.judgeMove(s, side, position, &answer.Envelope, move{
		messageType: protocol.TypeGameMoveResponse, matchID: answer.MatchID, field: "move_data", choice: answer.MoveData.Choice,
		entropy: answer.Entropy, illegal: protocol.ErrIllegalMove, options: question.Options,
	})
}

// evenOdd is the game whose moves have messages of their own.
const evenOdd = "even_odd"

func (m *match) askParity(w *window, position rules.Position, side rules.Seat, s *seat) error {
	w.action = protocol.TypeChooseParityResponse
	answer, err := put(m, w, s, &protocol.ChooseParity, &protocol.ChooseParityCall{
		Envelope: m.envelope(protocol.TypeChooseParityCall, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, GameType: m.assignment.GameType,
		Context: protocol.ChoiceContext{
			OpponentID: s.opponent, RoundID: m.assignment.RoundID, YourStandings: &s.player.Standings,
		},
		Deadline: w.stamp,
	})
	if err != nil {
		return err
	}
	m.conformance(s, &answer.Envelope, answer.PlayerID)
	return m.judgeMove(s, side, position, &answer.Envelope, move{
		messageType: protocol.TypeChooseParityResponse, matchID: answer.MatchID, field: "parity_choice", choice: answer.ParityChoice,
		entropy: answer.Entropy, illegal: protocol.ErrInvalidParityChoice,
	})
}

// A move is a player's answer, as far as it matters.
type move struct {
	messageType, matchID, field, choice, entropy string
	illegal                                      protocol.Code
	options                                      []string
}

// judgeMove decides whether an answer is a legal move, and keeps it if so.
func (m *match) judgeMove(s *seat, side rules.Seat, position rules.Position, e *protocol.Envelope, a move) error {
	if err := m.sameMatch(e, a.messageType, a.matchID); err != nil {
		return err
	}
	given := a.choice
	err := position.Check(side, a.choice)
	if f, broken := e.BrokenField(a.field); broken {
		given, err = f.Got, fmt.Errorf("%s must be a string", a.field)
	}
	if err != nil {
		fault := protocol.Fault(a.illegal, "%v, got %.60q", err, given).With("invalid_choice", clip(given))
		if options := position.Ask(side).Options; len(options) > 0 {
			fault = fault.With("valid_choices", options)
		}
		return fault
	}
	if s.entropyCommitment != "" {
		entropy, ok := protocol.ParseSecret(a.entropy)
		if !ok || !protocol.SameDigest(protocol.EntropyCommitment(m.assignment.MatchID, s.player.PlayerID, entropy), s.entropyCommitment) {
			return protocol.Fault(protocol.ErrInvalidFieldType, "entropy is not what entropy_commitment promised")
		}
		s.entropy = entropy
	}
	s.move = a.choice
	return nil
}

// clip shortens what a player sent, and makes it text.
func clip(s string) string {
	const limit = 60
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// sameMatch refuses an answer of another type (E002), or about another match
// (E015).
func (m *match) sameMatch(e *protocol.Envelope, messageType, matchID string) error {
	if e.MessageType != "" && e.MessageType != messageType {
		return protocol.Fault(protocol.ErrInvalidFieldType, "message_type must be %s, got %.60q", messageType, e.MessageType)
	}
	if f, broken := e.BrokenField("match_id"); broken {
		return protocol.Fault(protocol.ErrInvalidFieldType, "match_id must be a string, got %s", f.Got)
	}
	if matchID != "" && matchID != m.assignment.MatchID {
		return protocol.Fault(protocol.ErrMatchIDMismatch, "the answer is about match %.60q, not %s", matchID, m.assignment.MatchID)
	}
	return nil
}

// conformance counts what is not as the protocol has it although its meaning
// is clear: replies are judged by meaning.
func (m *match) conformance(s *seat, e *protocol.Envelope, playerID string) {
	switch {
	case e.Protocol != protocol.Name || e.MessageType == "" || e.Sender == "" || e.ConversationID == "":
		m.referee.warn(s.player.PlayerID, "the envelope is not complete")
	case e.ConversationID != m.conversation:
		m.referee.warn(s.player.PlayerID, "conversation_id is not that of the request")
	case playerID != s.player.PlayerID:
		m.referee.warn(s.player.PlayerID, "player_id is not the player's")
	case !protocol.ValidTimestamp(e.Timestamp):
		m.referee.warn(s.player.PlayerID, "the timestamp is not in UTC")
	}
}

// envelope begins a message to a player: the token in it is worth something
// only between these two, in this attempt.
func (m *match) envelope(messageType string, s *seat) protocol.Envelope {
	e := m.referee.voice.Envelope(messageType, m.conversation)
	e.AuthToken = s.player.AccessToken
	if e.AuthToken == "" {
		e.AuthToken = protocol.NoToken
	}
	return e
}

// decide judges the match: by the rules, or by who failed.
func (m *match) decide(position rules.Position) *protocol.GameResult {
	a, b := &m.seats[0], &m.seats[1]
	idA, idB := a.player.PlayerID, b.player.PlayerID
	if a.lost != "" || b.lost != "" {
		result := &protocol.GameResult{
			Status:  protocol.StatusTechnicalLoss,
			Choices: protocol.Both(idA, optional(a.move), idB, optional(b.move)),
		}
		switch {
		case a.lost != "" && b.lost != "":
			result.Reason = fmt.Sprintf("%s %s, %s %s - both lose", idA, a.lost, idB, b.lost)
		case a.lost != "":
			result.WinnerPlayerID = &b.player.PlayerID
			result.Reason = idA + " " + a.lost + " - " + idB + " wins by default"
		default:
			result.WinnerPlayerID = &a.player.PlayerID
			result.Reason = idB + " " + b.lost + " - " + idA + " wins by default"
		}
		return result
	}
	verdict := position.Judge(rules.Chance{Nonce: m.nonce, EntropyA: a.entropy, EntropyB: b.entropy})
	result := &protocol.GameResult{
		Status:  protocol.StatusDraw,
		Choices: protocol.Both(idA, optional(verdict.Moves[0]), idB, optional(verdict.Moves[1])),
		Reason:  verdict.Reason([2]string{idA, idB}),
	}
	if verdict.Winner != rules.NoSeat {
		result.Status, result.WinnerPlayerID = protocol.StatusWin, &m.seats[verdict.Winner].player.PlayerID
	}
	if verdict.Number > 0 {
		result.DrawnNumber, result.NumberParity = &verdict.Number, &verdict.Parity
	}
	return result
}

// optional is nil for a choice that was never made.
func optional(choice string) *string {
	if choice == "" {
		return nil
	}
	return &choice
}

// finish decides the match, makes the report of the result, and brings it to
// the disk. False when another attempt has taken its place.
func (m *match) finish(position rules.Position) bool {
	result := m.decide(position)
	a := m.assignment
	idA, idB := a.PlayerA.PlayerID, a.PlayerB.PlayerID
	score := protocol.Both(idA, m.points(result, &m.seats[0]), idB, m.points(result, &m.seats[1]))
	report := &protocol.MatchResultReport{
		Envelope: m.referee.voice.Envelope(protocol.TypeMatchResultReport, m.conversation),
		LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType, Attempt: a.Attempt,
		Result: protocol.MatchResult{
			Winner: result.WinnerPlayerID,
			Score:  score,
			Details: &protocol.ResultDetails{
				DrawnNumber: result.DrawnNumber, Choices: result.Choices, Status: result.Status, Reason: result.Reason,
			},
		},
		Draw: m.draw(),
	}
	report.AuthToken = m.member.Token
	m.mu.Lock()
	if m.abandoned.Load() {
		m.mu.Unlock()
		return false
	}
	m.state, m.final, m.result, m.reporting = StateFinished, report, result, true
	m.mu.Unlock()
	m.keepResult()
	return true
}

// draw reveals what the number came from, as far as the players have revealed
// their part.
func (m *match) draw() *protocol.Draw {
	draw := &protocol.Draw{Commitment: m.commitment, Nonce: m.nonce.Hex()}
	for i := range m.seats {
		if s := &m.seats[i]; s.entropyCommitment != "" && s.entropy != (protocol.Secret{}) {
			draw.Entropies = append(draw.Entropies, protocol.ForPlayer[string]{ID: s.player.PlayerID, Value: s.entropy.Hex()})
		}
	}
	return draw
}

// points is what the result is worth to a seat by the league's scoring. The
// manager computes it again.
func (m *match) points(result *protocol.GameResult, s *seat) int {
	scoring := &m.assignment.Scoring
	switch {
	case s.lost != "":
		return scoring.TechnicalLoss
	case result.Status == protocol.StatusDraw:
		return scoring.Draw
	case result.WinnerPlayerID != nil && *result.WinnerPlayerID == s.player.PlayerID:
		return scoring.Win
	}
	return scoring.Loss
}

// announce sends GAME_OVER to both players and waits for their
// acknowledgements, 5 s at most; a missing one changes nothing (004 §4.3).
func (m *match) announce() {
	ctx := protocol.Limit(m.referee.life, protocol.Seconds(m.assignment.Timeouts.GameOver))
	defer ctx.Stop()
	m.both(2, func(i int) { m.tellResult(ctx, &m.seats[i]) })
}

// tellResult sends GAME_OVER to a player.
func (m *match) tellResult(ctx context.Context, s *seat) {
	method := &protocol.NotifyMatchResult
	over := &protocol.GameOver{
		Envelope: m.envelope(protocol.TypeGameOver, s),
		MatchID:  m.assignment.MatchID, GameType: m.assignment.GameType,
		GameResult: m.result, Draw: m.final.Draw,
	}
	if m.chronicle != nil {
		m.chronicle.sent(s.player.PlayerID, method.Name, 1, over)
	}
	ack, err := method.Call(ctx, m.referee.options.Caller, s.peer, over)
	if m.chronicle != nil {
		m.chronicle.acknowledged(s.player.PlayerID, method.Name, 1, ack, err)
	}
	if err != nil {
		m.referee.options.Log.Info().Err(err).Str("conversation_id", m.conversation).
			Str("player_id", s.player.PlayerID).Msg("GAME_OVER was not acknowledged")
	}
}

// report tells the manager the result again, unless a report is on its way
// already.
func (m *match) report(ctx context.Context) {
	m.mu.Lock()
	busy := m.reporting
	m.reporting = true
	m.mu.Unlock()
	if !busy {
		m.deliver(ctx)
	}
}

// deliver tells the manager the result until it is acknowledged, refused for
// good, or ctx ends.
func (m *match) deliver(ctx context.Context) {
	o := &m.referee.options
	err := membership.Insist(ctx, o.Clock, func(ctx context.Context) error {
		_, err := protocol.ReportMatchResult.Call(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, m.final)
		return err
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Str("conversation_id", m.conversation).Dur("wait_ms", wait).Msg("cannot report yet, trying again")
	})
	refusal := protocol.AsError(err)
	switch {
	case err == nil:
		m.settle(nil)
	case ctx.Err() != nil: // the next time, perhaps of another process
		m.keepEnding()
	default:
		o.Log.Error().Err(err).Str("conversation_id", m.conversation).Msg("the manager refuses the report")
		if refusal != nil && refusal.Remote {
			m.settle(refusal)
		}
	}
	m.mu.Lock()
	m.reporting = false
	first := err == nil && !m.reported
	m.reported = m.reported || first
	m.mu.Unlock()
	if err != nil {
		return
	}
	if first {
		m.referee.acknowledged(m.matchID)
	}
	o.Log.Info().Str("conversation_id", m.conversation).Str("match_id", m.final.MatchID).Str("reason", m.final.Result.Details.Reason).Msg("match reported")
}

// finished tells whether there is a result to report.
func (m *match) finished() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.final != nil
}

// tell is the match's state for get_match_state.
func (m *match) tell() *protocol.MatchState {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := &protocol.MatchState{MatchID: m.matchID, State: m.state, Attempt: m.attempt, PlayerAID: m.players[0], PlayerBID: m.players[1]}
	if m.final != nil {
		details := m.final.Result.Details
		state.GameResult = &protocol.GameResult{
			Status: details.Status, WinnerPlayerID: m.final.Result.Winner, DrawnNumber: details.DrawnNumber,
			Choices: details.Choices, Reason: details.Reason,
		}
		if n := details.DrawnNumber; n != nil {
			parity := "even"
			if *n%2 != 0 {
				parity = "odd"
			}
			state.GameResult.NumberParity = &parity
		}
		state.Draw = m.final.Draw
	}
	return state
}
