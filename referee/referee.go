// Package referee conducts matches: it registers, takes assignments from the
// league manager, and plays each from invitation to report (spec 003 §2.2.2,
// §3.2, §5.4). What a game is, package rules knows; what carries its calls,
// nobody here does.
package referee

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
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

	// Folder is where match files go, and where the referee keeps who it is;
	// "" writes nothing.
	Folder store.Folder

	RegisterTimeout time.Duration // of one registration call; 0 means 10 s

	Caller protocol.Caller
	Clock  *protocol.Clock
	Log    zerolog.Logger

	// Nonce is the referee's part in a draw. Nil derives it from a secret of the
	// referee's own, so that one that was restarted in the middle of a match is
	// still bound by what it committed to; anything else is for simulations and
	// tests.
	Nonce func(matchID string) protocol.Secret

	// Stalls tells the longest time for which this process stood still, of all
	// such times that reach into a span: a player that did not answer then is not
	// to blame. Nil knows of none; see WatchStalls.
	Stalls func(from, to time.Time) time.Duration

	// Warned is told of every reply that was understood although the protocol
	// wants it otherwise, from any goroutine; may be nil.
	Warned func(playerID, what string)
}

// A Referee is one agent. Safe for concurrent use.
type Referee struct {
	options Options
	stamp   *protocol.Stamp
	member  membership.Current
	done    chan struct{} // closed by LEAGUE_COMPLETED

	identities *membership.IdentityStore

	life context.Context //nolint:containedctx // the life of the matches it conducts
	stop context.CancelFunc
	crew *crew

	mu        sync.Mutex
	matches   map[string]*match // by match id: the newest attempt of each
	reported  []string          // acknowledged ones, in order, the last keptMatches
	confirmed int               // all that were ever in reported
	busy      int               // matches being conducted
	conducted int               // matches with a result
	working   int               // matches being conducted or reported
	handed    int               // matches that were handed back, ever
	returning bool              // it is registering again for those
	rested    *sync.Cond        // signals that working is less
	stopping  bool              // takes no new match
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
	name := membership.Slug(o.Name)
	if o.ID != "" {
		name = o.ID
	}
	identities, err := membership.NewIdentityStore(o.Folder, membership.RoleReferee, o.Name, o.Manager, []string{o.LeagueID})
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	r := &Referee{
		options:    o,
		identities: identities,
		stamp:      protocol.NewStamp(protocol.RefereeSender(name), o.Clock),
		done:       make(chan struct{}),
		life:       life,
		stop:       stop,
		crew:       newCrew(),
		matches:    map[string]*match{},
		warnings:   map[string]int{},
	}
	r.rested = sync.NewCond(&r.mu)
	return r, nil
}

// Mount registers the referee's tools (spec 003 §5.4.1, §8.11).
func (r *Referee) Mount(mux protocol.Mux) {
	protocol.StartMatch.Handle(mux, r.stamp, r.startMatch)
	protocol.NotifyRoundCompleted.Handle(mux, r.stamp, r.roundCompleted)
	protocol.NotifyLeagueCompleted.Handle(mux, r.stamp, r.leagueCompleted)
	protocol.GetMatchState.Handle(mux, r.stamp, r.getMatchState)
	protocol.Ping.Handle(mux, r.stamp, r.ping)
	mux.Fallback(protocol.MethodFor)
}

// Register gets the referee into the league, or back into it with what its
// folder has kept, and keeps trying while the manager cannot be reached, until
// ctx ends. A refusal is a *membership.RefusedError.
//
// One that is back reports what it had finished. One that gets a new place
// moves the match files of an older league of the same name out of the way.
func (r *Referee) Register(ctx context.Context) error {
	o := &r.options
	var old *store.OldMatches
	if o.Folder != "" {
		old = o.Folder.OldMatches()
	}
	registration := membership.Registration{
		Identities: r.identities, Current: &r.member, Clock: o.Clock, Log: o.Log,
		Apply: r.apply,
		Joined: func(m *membership.Membership, back bool) {
			r.stamp.SetSender(protocol.RefereeSender(m.AgentID))
			if back {
				r.resume(m)
			} else if old != nil {
				r.archive(old, m.LeagueID)
			}
		},
	}
	if o.LeagueID != "" {
		registration.Leagues = []string{o.LeagueID}
	}
	return registration.Register(ctx)
}

// apply prepares a registration, of the referee that kept says or of a new one.
func (r *Referee) apply(kept *store.Identity, conversation string) func(context.Context) (*membership.Answer, error) {
	o := &r.options
	request := &protocol.RefereeRegisterRequest{
		Envelope: r.stamp.Envelope(protocol.TypeRefereeRegisterRequest, conversation),
		RefereeMeta: protocol.RefereeMeta{
			DisplayName: o.Name, Version: o.Version, ProtocolVersion: protocol.Version,
			GameTypes: o.Games.Types(), ContactEndpoint: o.Endpoint, MaxConcurrentMatches: o.MaxConcurrent,
		},
		RefereeAuth: protocol.RefereeAuthAccessToken,
	}
	if kept != nil {
		request.Sender, request.AuthToken = protocol.RefereeSender(kept.AgentID), kept.AuthToken
	}
	return func(ctx context.Context) (*membership.Answer, error) {
		limit := cmp.Or(o.RegisterTimeout, protocol.RegisterReferee.Timeout)
		response, _, err := protocol.RegisterReferee.CallWithin(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, request, limit)
		if err != nil {
			return nil, err
		}
		return &membership.Answer{AgentID: response.RefereeID, Token: response.AuthToken, Registration: &response.Registration}, nil
	}
}

// archive moves what an older league has left: its matches have the names of
// those to come.
func (r *Referee) archive(old *store.OldMatches, leagueID string) {
	if !protocol.ValidLeagueID(leagueID) {
		return // it has no files
	}
	into, err := old.Archive(leagueID, r.options.Clock.Timestamp())
	switch {
	case err != nil:
		r.options.Log.Error().Err(err).Str("league_id", leagueID).
			Str("event_type", protocol.EventOldMatchFilesNotMoved).Msg("the match files of an older league cannot be moved: they may be taken for those of this one")
	case into != "":
		r.options.Log.Warn().Str("league_id", leagueID).Str("folder", into).
			Str("event_type", protocol.EventOldMatchFilesMoved).Msg("there were match files of an older league of this name: they are here now")
	}
}

// Membership is the referee's place in the league; nil before it is registered.
func (r *Referee) Membership() *membership.Membership { return r.member.Get() }

// KnowsManager tells whether a credential is that of the league's manager.
func (r *Referee) KnowsManager(bearer string) bool { return r.member.KnowsManager(bearer) }

// Stamp returns the stamp of the agent's messages.
func (r *Referee) Stamp() *protocol.Stamp { return r.stamp }

// Done is closed when the league is over.
func (r *Referee) Done() <-chan struct{} { return r.done }

// Finish takes no new match, and returns when those it has are conducted and
// the manager has their reports, or ctx ends.
func (r *Referee) Finish(ctx context.Context) {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.Rest(ctx)
}

// Rest returns when the referee has nothing to do: the manager has the reports
// of all matches that it has, or ctx ends.
func (r *Referee) Rest(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rested.Broadcast()
	})
	defer stop()
	for r.working > 0 && ctx.Err() == nil {
		r.rested.Wait()
	}
}

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
	if r.options.Folder != "" {
		r.recall(member, q.MatchID)
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
		r.reportAgain(known)
		return ack, nil
	case known != nil && (known.attempt > q.Attempt || known.attempt == q.Attempt && !known.handedBack):
		ack.Status, ack.DrawCommitment = protocol.StatusAccepted, known.commitment
		return ack, nil
	case r.stopping:
		ack.Status, ack.Reason = protocol.StatusRejected, "this referee is stopping"
		return ack, nil
	case r.busy >= r.options.MaxConcurrent:
		ack.Status, ack.Reason = protocol.StatusBusy, "conducting as many matches as it can"
		return ack, nil
	}
	if known != nil && !known.abandon() { // it came to its result this moment, and reports it
		ack.Status, ack.Attempt, ack.DrawCommitment = protocol.StatusAccepted, known.attempt, known.commitment
		return ack, nil
	}
	var nonce protocol.Secret
	if known != nil && known.attempt == q.Attempt { // it was given up, and nobody may draw twice
		nonce = known.nonce
	} else {
		nonce = r.nonce(q.LeagueID, q.MatchID, q.Attempt)
	}
	m := newMatch(r, member, game, q, nonce)
	r.matches[q.MatchID] = m
	r.busy++
	r.work(m.conduct)
	ack.Status, ack.DrawCommitment = protocol.StatusAccepted, m.commitment
	return ack, nil
}

// reportAgain reports a finished match beside everything else; r.mu is held.
func (r *Referee) reportAgain(m *match) {
	r.work(func() {
		defer r.rest()
		m.report(r.life)
	})
}

// work starts a job that ends with rest; r.mu is held.
func (r *Referee) work(job func()) {
	if r.crew.run(job) {
		r.working++
	}
}

// rest tells that a job is done.
func (r *Referee) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working--
	r.rested.Broadcast()
}

// keptMatches is how many acknowledged matches a referee knows without looking
// at its disk.
const keptMatches = 1000

// acknowledged remembers a match whose report the manager has.
func (r *Referee) acknowledged(matchID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remember(matchID)
}

// remember counts an acknowledged match, and forgets the oldest such when there
// are too many; r.mu is held.
func (r *Referee) remember(matchID string) {
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
	if member := r.member.Get(); m == nil && member != nil {
		m = r.find(member, q.MatchID)
	}
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
	if r.options.Warned != nil {
		r.options.Warned(playerID, what)
	}
	if first {
		r.options.Log.Warn().Str("player_id", playerID).Str("problem", what).Str("event_type", protocol.EventRepliesNotConforming).Msg("a player's replies do not conform")
	}
}
