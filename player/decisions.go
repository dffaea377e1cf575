package player

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// chooseParity answers CHOOSE_PARITY_CALL. It is idempotent: a repeated question gets
// the same choice, also by the other message, GAME_MOVE_CALL.
func (p *Player) chooseParity(ctx context.Context, _ string,
	q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
	m, err := p.matchOf(ctx, question{&q.Envelope, q.MatchID, q.PlayerID, q.Context.OpponentID, q.Context.RoundID})
	if err != nil {
		return nil, err
	}
	timeLeft := inBank(q.TimeLeft)
	view := ownView(protocol.MoveFormBy(protocol.ChooseParity.Name), max(q.Context.RoundID, m.round),
		inTime(p.within(q.Timestamp, q.Deadline), timeLeft))
	view.TimeLeft = timeLeft
	a, err := p.answer(ctx, m, ownQuestion, view, &q.SignatureRequest)
	if err != nil {
		return nil, err
	}
	r := m.parity.New()
	*r = protocol.ChooseParityResponse{
		Envelope: protocol.Envelope{AuthToken: m.auth.token},
		MatchID:  q.MatchID, PlayerID: p.ID(), ParityChoice: a.choice, MoveProof: a.MoveProof,
	}
	r.SetPlain(m.plain)
	return r, nil
}

// ownQuestion is the question of a game with messages of its own, of which a match has one.
const ownQuestion = ""

// ownView is what the strategy sees of it, by whatever message it was asked.
func ownView(form *protocol.MoveForm, round int, within time.Duration) strategy.View {
	return strategy.View{GameType: form.GameType, MoveType: form.Method.Name, Options: form.Options,
		RoundID: round, Within: within}
}

// asksOwn tells whether a question for a move is that of a game with messages of its own, in any spelling of its
// options.
func asksOwn(form *protocol.MoveForm, q *protocol.MoveRequest) bool {
	unlike := func(choice string) bool { return spelling(q.ValidOptions, choice) == "" }
	return form.Own() && len(q.ValidOptions) == len(form.Options) && !slices.ContainsFunc(form.Options, unlike)
}

// spelling is a choice as the options of a question spell it; "" if it is none of them.
func spelling(options []string, choice string) string {
	if i := slices.IndexFunc(options, func(option string) bool { return strings.EqualFold(option, choice) }); i >= 0 {
		return options[i]
	}
	return ""
}

// makeMove answers GAME_MOVE_CALL. It is idempotent: a repeated question gets the same move.
func (p *Player) makeMove(ctx context.Context, _ string, q *protocol.GameMoveCall) (*protocol.GameMoveResponse, error) {
	opponent, _ := q.MoveRequest.Context["opponent_id"].(string)
	m, err := p.matchOf(ctx, question{envelope: &q.Envelope, matchID: q.MatchID, playerID: q.PlayerID, opponent: opponent})
	if err != nil {
		return nil, err
	}
	timeLeft, form := inBank(q.TimeLeft), protocol.MoveFormOf(q.GameType)
	within := inTime(p.within(q.Timestamp, q.Deadline), timeLeft)
	asked, view, own := ownQuestion, ownView(form, m.round, within), asksOwn(form, &q.MoveRequest)
	if !own {
		asked = digestOf(&q.MoveRequest)
		view = strategy.View{
			GameType: q.GameType, MoveType: q.MoveRequest.MoveType, Options: q.MoveRequest.ValidOptions,
			Text: q.MoveRequest.Text, Context: q.MoveRequest.Context, RoundID: m.round, Within: within,
		}
	}
	view.TimeLeft = timeLeft
	a, err := p.answer(ctx, m, asked, view, &q.SignatureRequest)
	if err != nil {
		return nil, err
	}
	if view.Text > 0 {
		p.speak(m, asked, a.choice)
	}
	p.keepShown(m, &view, &q.SignatureRequest, a.choice)
	if own {
		a.choice = cmp.Or(spelling(q.MoveRequest.ValidOptions, a.choice), a.choice)
	}
	r := &protocol.GameMoveResponse{
		MatchID: q.MatchID, PlayerID: p.ID(), GameType: q.GameType,
		MoveData: protocol.MoveData{MoveType: q.MoveRequest.MoveType, Choice: a.choice}, MoveProof: a.MoveProof,
	}
	r.AuthToken = m.auth.token
	return r, nil
}

// digestOf identifies a question, on every carrier, by a short text. Random choices of players follow from it, so its
// input has the same three members as ever; a question for a text differs from others by the turn in its context.
func digestOf(q *protocol.MoveRequest) string {
	input := struct {
		moveType string
		options  []string
		context  map[string]any
	}{q.MoveType, q.ValidOptions, q.Context}
	digest := sha256.Sum256([]byte(fmt.Sprint(input))) // fmt sorts the keys of maps
	return hex.EncodeToString(digest[:])
}

// maxDecisions is how many decisions of a match are stored: one for each of two turns for each of 400 moves, and the
// ready turn. A referee may ask any number of questions.
const maxDecisions = 801

// isReady tells whether a question is that of the ready turn of a game with draws, which asks nothing but the player's
// entropy. No strategy decides it.
func isReady(v *strategy.View) bool {
	return v.MoveType == rules.Ready && len(v.Options) == 1 && v.Options[0] == rules.Ready
}

// isReadyMove tells whether a move is that of a ready turn.
func isReadyMove(turn int, move string) bool { return turn == 1 && move == rules.Ready }

// contextRules is the member of the context that has the rules of the game, in the first question of a match.
const contextRules = "rules"

// choose lets the strategy decide a question once. The random source depends only on the
// question and not on earlier ones, so that a player decides the same after a restart.
func (p *Player) choose(ctx context.Context, m *match, question string, v strategy.View) (decision, error) {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	for _, d := range m.decided {
		if d.question == question {
			return d, nil
		}
	}
	if text, ok := v.Context[contextRules].(string); ok {
		m.rules = text
	}
	if isReady(&v) {
		d := decision{question: question, choice: rules.Ready}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state, m.decided = stateWaitingForResult, append(m.decided, d)
		return d, nil
	}
	key := m.id
	if question != "" {
		key += "/" + question
	}
	id := p.ID()
	v.MatchID, v.PlayerID, v.OpponentID, v.Earlier, v.Rules = m.id, id, m.opponent, m.answered, m.rules
	v.Random, v.Recent, v.Memory = p.options.Random(id, key), p.recent, p.memory
	p.mu.Lock()
	v.Table = p.table
	p.mu.Unlock()
	if n := len(m.answered); v.Refused != nil && n > 0 && m.answered[n-1].Choice == v.Refused.Choice {
		m.answered = m.answered[:n-1]
		v.Earlier = m.answered
	}
	m.fallback = false
	v.Fallback = &m.fallback
	choice, err := p.options.Strategy.Choose(ctx, v)
	if err != nil {
		p.options.Log.Error().Err(err).Str("match_id", m.id).Str("event_type", "STRATEGY_FAILED").
			Msg("the strategy cannot decide")
		return decision{}, undecided(err)
	}
	if v.Context != nil && len(m.answered) < maxDecisions { // a game of one turn does not need it
		m.answered = append(m.answered, strategy.Answered{Options: v.Options, Context: v.Context, Choice: choice})
	}
	d := decision{question, choice, m.fallback}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(m.decided) == maxDecisions {
		m.decided = m.decided[1:]
	}
	p.state, m.chosen, m.decided = stateWaitingForResult, choice, append(m.decided, d)
	return d, nil
}

const (
	longestWindow = 365 * 24 * time.Hour // of a league, for a move
	// agreement is how much later than a request the clock of this machine may be when the player reads it, if it agrees
	// with that of the referee: messages have whole seconds, and take some time.
	agreement  = 2 * time.Second
	oldRequest = 24 * time.Hour // its referee sends the same time with each request
)

// within returns the time until a deadline; 0 for a deadline that says nothing. That is one within a second of the
// request, because many third-party referees send their own time as the deadline. Request and deadline have times of
// the referee's clock, and their difference is the time of the move, whatever the clock of this machine shows. This one
// is only more precise, if it agrees. A referee that sends the same time with each request leaves no other clock.
func (p *Player) within(asked, deadline string) time.Duration {
	end, err := protocol.ParseTimestamp(deadline)
	if err != nil {
		return 0
	}
	left := end.Sub(p.options.Clock.Now())
	since, err := protocol.ParseTimestamp(asked)
	switch window := end.Sub(since); {
	case err != nil, window > longestWindow:
		return max(left, 0)
	case window < time.Second:
		return 0
	case 0 < left && left <= window && (window-left < agreement || window-left > oldRequest):
		return left
	default:
		return window
	}
}

// mostInBank is more milliseconds than any time bank has: a duration of so many does not overflow.
const mostInBank = 1 << 40

// inBank is the time that a question shows of the player's time bank; 0 for none.
func inBank(ms int) time.Duration {
	return time.Duration(min(max(int64(ms), 0), mostInBank)) * time.Millisecond
}

// inTime is the time until a deadline that has whole seconds, or until the end of the time bank, which is exact and may
// be the same; 0 if neither is known.
func inTime(within, timeLeft time.Duration) time.Duration {
	switch {
	case timeLeft == 0:
		return within
	case within == 0: // the deadline may be within a second: a bank alone says nothing of the limit of a move
		return min(timeLeft, protocol.Seconds(protocol.DefaultTimeouts().Move))
	case timeLeft < within+time.Second:
		return timeLeft
	}
	return within
}

// recentMatches returns the last finished matches, n at most, oldest first, without those whose
// result was inferred from the standings: they contain no choices.
func (p *Player) recentMatches(n int) []protocol.PlayedMatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	past := make([]protocol.PlayedMatch, 0, min(n, len(p.history.entries)))
	for i := len(p.history.entries) - 1; i >= 0 && len(past) < n; i-- {
		if m := p.history.match(i); !m.FromStandings {
			past = append(past, m.PlayedMatch)
		}
	}
	slices.Reverse(past)
	return past
}

// remembered returns the counts of all finished matches.
func (p *Player) remembered() *strategy.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.history.remembered()
}

// undecided returns the error that the referee receives. It names the cause, so that the transcript
// shows it, and says nothing of an error without one: it may tell of the player's machine.
func undecided(err error) error {
	failed, ok := errors.AsType[*strategy.FailedError](err)
	if !ok {
		return err
	}
	return &protocol.Error{RPC: protocol.RPCInternal, Detail: failed.Cause}
}
