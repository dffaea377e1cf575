// Package referee conducts matches: it registers, takes assignments from the
// league manager, and plays each from invitation to report (spec 003 §2.2.2,
// §3.2, §5.4). What a game is, package rules knows; what carries its calls,
// nobody here does.
package referee

import (
	"context"
	crand "crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Options say who a referee is and what it needs.
type Options struct {
	Name          string // display name, 1 to 50 characters
	ID            string // the id to ask for; "" for any
	LeagueID      string // the only league to join; "" for any
	Version       string // of the agent; "" means 1.0.0
	Endpoint      string // where others reach it
	Manager       string // endpoint of the league manager
	MaxConcurrent int    // matches at once, from 1
	Games         rules.Registry

	Caller protocol.Caller
	Clock  *protocol.Clock
	Log    zerolog.Logger

	// Nonce is the referee's part in a draw. Nil means from the system's
	// randomness; anything else is for simulations and tests.
	Nonce func(matchID string) protocol.Secret
}

// A Referee is one agent. Safe for concurrent use.
type Referee struct {
	options Options
	voice   *protocol.Voice
	member  membership.Current
	done    chan struct{} // closed by LEAGUE_COMPLETED

	life context.Context //nolint:containedctx // the life of the matches it conducts
	stop context.CancelFunc
	crew *crew

	mu        sync.Mutex
	matches   map[string]*match // by match id: the newest attempt of each
	reported  []string          // acknowledged ones, in order, the last keptMatches
	busy      int               // matches being conducted
	conducted int               // matches with a result
	confirmed int               // of these, reports that the manager has
	warnings  map[string]int    // conformance warnings by player
	completed *protocol.LeagueCompleted
}

// New makes a referee.
func New(o Options) (*Referee, error) {
	switch {
	case !protocol.ValidName(o.Name):
		return nil, errors.New("a referee's name has 1 to 50 characters, and no control characters")
	case o.MaxConcurrent < 1:
		return nil, errors.New("a referee conducts at least one match at once")
	}
	if o.Version == "" {
		o.Version = "1.0.0"
	}
	if o.Nonce == nil {
		o.Nonce = func(string) (s protocol.Secret) {
			_, _ = crand.Read(s[:]) // never fails
			return s
		}
	}
	name := membership.Slug(o.Name)
	if o.ID != "" {
		name = o.ID
	}
	life, stop := context.WithCancel(context.Background())
	return &Referee{
		options:  o,
		voice:    protocol.NewVoice(protocol.RefereeSender(name), o.Clock),
		done:     make(chan struct{}),
		life:     life,
		stop:     stop,
		crew:     newCrew(),
		matches:  map[string]*match{},
		warnings: map[string]int{},
	}, nil
}

// Mount registers the referee's tools (spec 003 §5.4.1, §8.11).
func (r *Referee) Mount(mux protocol.Mux) {
	protocol.StartMatch.Handle(mux, r.voice, r.startMatch)
	protocol.NotifyRoundCompleted.Handle(mux, r.voice, r.roundCompleted)
	protocol.NotifyLeagueCompleted.Handle(mux, r.voice, r.leagueCompleted)
	protocol.GetMatchState.Handle(mux, r.voice, r.getMatchState)
	protocol.Ping.Handle(mux, r.voice, r.ping)
	mux.Fallback(protocol.MethodFor)
}

// Register gets the referee into the league, and keeps trying while the
// manager cannot be reached, until ctx ends. A refusal is a
// *membership.RefusedError.
func (r *Referee) Register(ctx context.Context) error {
	o := &r.options
	request := &protocol.RefereeRegisterRequest{
		Envelope: r.voice.Envelope(protocol.TypeRefereeRegisterRequest, membership.Conversation("ref", o.Name)),
		RefereeMeta: protocol.RefereeMeta{
			DisplayName: o.Name, Version: o.Version, ProtocolVersion: protocol.Version,
			GameTypes: o.Games.Types(), ContactEndpoint: o.Endpoint, MaxConcurrentMatches: o.MaxConcurrent,
		},
	}
	return membership.Insist(ctx, o.Clock, func(ctx context.Context) error {
		answered := r.member.Registering()
		defer answered()
		response, err := protocol.RegisterReferee.Call(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, request)
		if err != nil {
			return err
		}
		return r.join(response)
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Dur("wait_ms", wait).Msg("cannot register yet, trying again")
	})
}

// join takes the place in the league that the manager gave.
func (r *Referee) join(a *protocol.RefereeRegisterResponse) error {
	if err := membership.Admitted(&a.Registration, a.RefereeID, a.AuthToken); err != nil {
		return err
	}
	if want := r.options.LeagueID; want != "" && a.LeagueID != want {
		return &membership.RefusedError{Reason: "the manager runs league " + a.LeagueID + ", not " + want}
	}
	r.voice.Rename(protocol.RefereeSender(*a.RefereeID))
	r.member.Set(membership.New(*a.RefereeID, a.AuthToken, &a.Registration))
	r.options.Log.Info().Str("referee_id", *a.RefereeID).Str("league_id", a.LeagueID).Msg("registered")
	return nil
}

// Voice is who the agent speaks as.
func (r *Referee) Voice() *protocol.Voice { return r.voice }

// Done is closed when the league is over.
func (r *Referee) Done() <-chan struct{} { return r.done }

// Close breaks off the matches being conducted and waits for them.
func (r *Referee) Close() {
	r.stop()
	r.crew.dismiss()
}

// ID is the referee's id, "" before it is registered.
func (r *Referee) ID() string {
	if m := r.member.Get(); m != nil {
		return m.AgentID
	}
	return ""
}

// A Record is how a referee's league went.
type Record struct {
	RefereeID string
	Conducted int            // matches played to a result
	Warnings  map[string]int // replies that were understood but not as the protocol has them, by player
	Champion  protocol.Champion
}

// Record tells what the referee has done.
func (r *Referee) Record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := Record{RefereeID: r.ID(), Conducted: r.conducted, Warnings: map[string]int{}}
	for id, n := range r.warnings {
		record.Warnings[id] = n
	}
	if r.completed != nil {
		record.Champion = r.completed.Champion
	}
	return record
}

// startMatch takes an assignment and answers at once; the match goes on by
// itself. The same assignment again changes nothing, and one of a match that
// is finished makes it report again.
func (r *Referee) startMatch(ctx context.Context, bearer string, q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
	if err := r.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	member := r.member.Get()
	if q.LeagueID != member.LeagueID {
		return nil, protocol.Fault(protocol.ErrLeagueNotFound, "this referee serves league %s", member.LeagueID)
	}
	ack := &protocol.MatchAssignmentAck{MatchID: q.MatchID, Attempt: q.Attempt, RefereeID: member.AgentID}
	game, err := r.options.Games.Game(q.GameType)
	if err != nil {
		ack.Status, ack.Reason = protocol.StatusRejected, err.Error()
		return ack, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.matches[q.MatchID]
	switch {
	case r.life.Err() != nil:
		ack.Status, ack.Reason = protocol.StatusRejected, "this referee is stopping"
		return ack, nil
	case known != nil && known.finished():
		ack.Status, ack.Attempt, ack.DrawCommitment = protocol.StatusAccepted, known.attempt, known.commitment
		r.crew.run(func() { known.report(r.life) })
		return ack, nil
	case known != nil && known.attempt >= q.Attempt:
		ack.Status, ack.DrawCommitment = protocol.StatusAccepted, known.commitment
		return ack, nil
	case r.busy >= r.options.MaxConcurrent:
		ack.Status, ack.Reason = protocol.StatusBusy, "conducting as many matches as it can"
		return ack, nil
	}
	if known != nil {
		known.abandoned.Store(true)
	}
	m := newMatch(r, member, game, q)
	r.matches[q.MatchID] = m
	r.busy++
	r.crew.run(m.conduct)
	ack.Status, ack.DrawCommitment = protocol.StatusAccepted, m.commitment
	return ack, nil
}

// keptMatches is how many acknowledged matches a referee can still tell of.
const keptMatches = 1000

// acknowledged counts a match whose report the manager has, and forgets the
// oldest such when there are too many.
func (r *Referee) acknowledged(matchID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirmed++
	if len(r.reported) < keptMatches {
		r.reported = append(r.reported, matchID)
		return
	}
	oldest := &r.reported[(r.confirmed-1)%keptMatches]
	delete(r.matches, *oldest)
	*oldest = matchID
}

// release makes room for another match; one that had a result was conducted.
func (r *Referee) release(conducted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if conducted {
		r.conducted++
	}
}

func (r *Referee) ack(round int) *protocol.Ack {
	return &protocol.Ack{Status: protocol.StatusAcknowledged, RefereeID: r.ID(), RoundID: round}
}

func (r *Referee) roundCompleted(ctx context.Context, bearer string, q *protocol.RoundCompleted) (*protocol.Ack, error) {
	if err := r.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	return r.ack(q.RoundID), nil
}

func (r *Referee) leagueCompleted(ctx context.Context, bearer string, q *protocol.LeagueCompleted) (*protocol.Ack, error) {
	if err := r.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.completed == nil {
		r.completed = q
		close(r.done)
	}
	return r.ack(0), nil
}

// getMatchState tells how a match stands (spec 003 §8.11.2); choices and nonce
// only when it is finished.
func (r *Referee) getMatchState(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.MatchState, error) {
	if err := r.member.CheckOwner(bearer, q.AuthToken); err != nil {
		return nil, err
	}
	r.mu.Lock()
	m := r.matches[q.MatchID]
	r.mu.Unlock()
	if m == nil {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "this referee does not know match %q", q.MatchID)
	}
	return m.tell(), nil
}

func (r *Referee) ping(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	return &protocol.Pong{Status: "ok", Role: "referee"}, nil
}

// warn counts a reply that was understood although the protocol wants it
// otherwise.
func (r *Referee) warn(playerID, what string) {
	r.mu.Lock()
	r.warnings[playerID]++
	first := r.warnings[playerID] == 1
	r.mu.Unlock()
	if first {
		r.options.Log.Warn().Str("player_id", playerID).Str("problem", what).Msg("a player's replies do not conform")
	}
}
