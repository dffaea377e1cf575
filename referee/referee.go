// Package referee conducts matches (spec 003 §2.2.2, §3.2, §5.4).
//
// First a referee registers, by package membership. Then the manager assigns it matches (assignment.go). For each it
// makes a value of package conduct, which says what is to be done, and does that (match.go, converse.go): it calls the
// players, pauses, measures where time went and whether this process stalled (stall.go), and verifies signatures. It
// tells the conduct what came, and writes both into the transcript (transcript.go). When the match is decided, the
// result is made durable (matchfile.go, results.go), the players are told, and the manager gets the report
// (report.go). A referee that is restarted reports the results that it finds on its disk (recovery.go).
//
// The package must not depend on the manager, on players or on a carrier.
package referee

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// Options configure a referee.
type Options struct {
	membership.Options

	MaxConcurrent int // matches at once, from 1
	Games         rules.Registry

	// Programs are those of the games that are programs (rules.Program), by game type.
	Programs map[string]Program

	// Networks are those in which the referee calls players, against SSRF, because
	// players choose their endpoints. Nil means the networks of each assignment, and
	// UsualNetworks for an assignment that names none; nil there too means all.
	Networks, UsualNetworks []netip.Prefix

	// CheckPlayer refuses an assignment with the endpoint of a player that the referee does not call. Nil refuses none.
	CheckPlayer func(leagueID, endpoint string) error

	// Nonce returns the referee's secret for the draw of a match; for simulations and tests. The
	// id of a rematch has a slash and the number of annulled attempts behind it. Nil
	// derives it from the referee's stored secret, so that a restarted referee is
	// still bound by its commitment.
	Nonce func(matchID string) protocol.Secret

	// Stalls returns the longest stall of this process that reaches into a span,
	// because a missing answer is then no failure of the player. Nil reports none;
	// see WatchStalls.
	Stalls func(from, to time.Time) time.Duration

	// Instant tells whether the answers of a player take no time from its time bank: the clock stands still while it
	// decides, so that no simulation depends on the speed of the machine. Nil: those of all players take time.
	Instant func(playerID string) bool

	// Reported, if not nil, is called with each result that the manager has acknowledged, and the players of the match,
	// whose names a restart loses. It is called from any goroutine, and must not wait.
	Reported func(matchID string, r *league.Result, players [2]league.Ref)

	// Warned, if not nil, is called for every reply that does not conform although
	// its meaning is clear, from any goroutine.
	Warned func(playerID, what string)
}

// A Referee is one agent. It is safe for concurrent use.
type Referee struct {
	*membership.Agent

	options Options
	life    context.Context //nolint:containedctx // ends with Close, and ends all matches
	stop    context.CancelFunc
	broken  atomic.Bool       // a goroutine has panicked: nothing is written any more
	workers *protocol.Workers // of all jobs
	results results
	format  func(time.Time) string // of the clock

	mu          sync.Mutex
	matches     map[string]*match // by match id: the newest attempt of each
	reported    []*match          // the last keptMatches acknowledged matches
	busy        int               // matches being conducted
	conducted   int               // matches with a result
	working     int               // jobs: matches being conducted or reported, and registrations
	returns     int               // matches that were ever returned to the manager
	registering bool              // it is registering again because of these
	rested      *sync.Cond        // signals that working has decreased
	stopping    bool              // it accepts no new match
	warnings    map[string]int    // nonconforming replies by player
	completed   *protocol.LeagueCompleted
}

// New makes a referee. An error means that MaxConcurrent is less than 1, that the program of a game is missing, or that
// the stored identity cannot be read.
func New(o Options) (*Referee, error) {
	if o.MaxConcurrent < 1 {
		return nil, errors.New("a referee conducts at least one match at once")
	}
	if err := o.checkPrograms(); err != nil {
		return nil, err
	}
	o.Large = slices.ContainsFunc(o.Games.Types(), o.large)
	r := &Referee{options: o, format: o.Clock.Format, matches: map[string]*match{}, warnings: map[string]int{}}
	var err error
	if r.Agent, err = membership.NewAgent(protocol.RoleReferee, &r.options.Options); err != nil {
		return nil, err
	}
	r.life, r.stop = context.WithCancel(context.Background())
	if guard := o.Guard; guard != nil {
		r.options.Guard = func(reason any, stack []byte) {
			r.broken.Store(true) // before a match goes on without what a goroutine of it has left undone
			r.stop()
			guard(reason, stack)
		}
	}
	r.workers = protocol.NewWorkers(r.options.Guard)
	r.rested = sync.NewCond(&r.mu)
	return r, nil
}

// Mount registers the referee's tools (spec 003 §5.4.1, §8.11).
func (r *Referee) Mount(mux protocol.Mux) {
	protocol.StartMatch.Handle(mux, r.Stamp(), r.startMatch)
	protocol.NotifyRoundCompleted.Handle(mux, r.Stamp(), fromManager(r, r.roundCompleted))
	protocol.NotifyLeagueCompleted.Handle(mux, r.Stamp(), fromManager(r, r.leagueCompleted))
	protocol.GetMatchState.Handle(mux, r.Stamp(), r.getMatchState)
	protocol.GetMatchTranscript.Handle(mux, r.Stamp(), r.getMatchTranscript)
	protocol.Ping.Handle(mux, r.Stamp(), r.ping)
	protocol.HandleLeagueError(mux, r.Stamp(), r.LeagueError)
	mux.Fallback(protocol.MethodFor)
}

// Register registers the referee, or re-registers it with its stored identity. It
// tries again while the manager cannot be reached, until ctx ends. A refusal is a
// *membership.RefusedError.
//
// A referee that re-registers reports the matches that it had finished. One that
// registers moves the match files of an older league of the same name away.
func (r *Referee) Register(ctx context.Context) error {
	unread, err := r.register(ctx)
	return cmp.Or(err, unread)
}

// register is Register. Unread is why a referee that is registered cannot read the matches that it had finished.
func (r *Referee) register(ctx context.Context) (unread, err error) {
	var old *store.OldMatches
	if folder := r.options.Folder; !folder.IsZero() {
		old = folder.OldMatches()
	}
	err = r.Agent.Register(ctx, r.apply, func(m *membership.Membership, back bool) {
		if back {
			unread = r.reportUnacknowledged(m)
			return
		}
		r.forgetMatches()
		if old != nil {
			r.closeLog(false)
			r.archive(old, m.LeagueID)
		}
	})
	return unread, err
}

// apply prepares a registration.
func (r *Referee) apply(e protocol.Envelope, code string) func(context.Context) (*membership.Answer, error) {
	e.MessageType = protocol.TypeRefereeRegisterRequest
	return membership.Send(&r.options.Options, &protocol.RegisterReferee, &protocol.RefereeRegisterRequest{
		Envelope: e, RefereeMeta: r.meta(), RefereeAuth: protocol.RefereeAuthAccessToken, RegistrationCode: code,
	}, func(a *protocol.RefereeRegisterResponse) *membership.Answer {
		return &membership.Answer{AgentID: a.RefereeID, Token: a.AuthToken, Registration: &a.Registration}
	})
}

// meta describes the referee in its registration.
func (r *Referee) meta() protocol.RefereeMeta {
	o := &r.options
	return protocol.RefereeMeta{
		AgentMeta:            o.Meta(o.Games.Types()),
		MaxConcurrentMatches: o.MaxConcurrent, PublicKey: r.PublicKey(), RelaysSignatures: true,
		Features: []string{protocol.FeatureOpenings, protocol.FeatureTimeBank},
	}
}

// forgetMatches forgets the matches of an earlier league, which may have the same name: its
// matches have the same names as those to come. They leave no more records.
func (r *Referee) forgetMatches() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.matches {
		m.forgotten.Store(true)
		m.abandon()
	}
	clear(r.matches)
	r.reported = nil
}

// archive moves the match files of an older league away, because its matches have
// the same names as those to come.
func (r *Referee) archive(old *store.OldMatches, leagueID string) {
	if !protocol.ValidLeagueID(leagueID) {
		return // it has no files
	}
	into, err := old.Archive(leagueID, r.options.Clock.Timestamp())
	switch {
	case err != nil:
		r.options.Log.Error().Err(err).Str("league_id", leagueID).Str("event_type", "OLD_FILES_NOT_MOVED").
			Msg("cannot move the match files of an older league: they may be taken for those of this one")
	case into != "":
		r.options.Log.Warn().Str("league_id", leagueID).Str("folder", into).
			Str("event_type", "OLD_MATCH_FILES_MOVED").Msg("moved the match files of an older league of this name")
	}
}

// Finish accepts no new match. It returns when the matches are conducted and the
// manager has their reports, or ctx ends.
func (r *Referee) Finish(ctx context.Context) {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.Rest(ctx)
}

// Rest returns when the referee is idle and the manager has the reports of all its
// matches, or ctx ends.
func (r *Referee) Rest(ctx context.Context) {
	membership.Wait(ctx, r.rested, func() bool { return r.working == 0 })
}

// Close ends the matches being conducted and waits for them.
func (r *Referee) Close() {
	r.mu.Lock()
	r.stop() // no job starts afterwards
	r.mu.Unlock()
	r.workers.Stop()
	r.closeLog(true)
}

// A Record is a referee's part in a league.
type Record struct {
	RefereeID string
	Conducted int            // matches played to a result
	Running   int            // matches being conducted
	Warnings  map[string]int // nonconforming replies by player
	Champion  league.Champion
}

// Record returns the record of the referee.
func (r *Referee) Record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := Record{RefereeID: r.ID(), Conducted: r.conducted, Running: r.busy, Warnings: maps.Clone(r.warnings)}
	if r.completed != nil {
		record.Champion = r.completed.Champion
	}
	return record
}

// fromManager returns the handler of a message that only the manager may send. Handle is called with r.mu held,
// and returns the round of the message, 0 for none.
func fromManager[Q any](r *Referee, handle func(q *Q) (round int)) func(context.Context, string, *Q) (*protocol.Ack,
	error) {
	return func(ctx context.Context, bearer string, q *Q) (*protocol.Ack, error) {
		if err := r.CheckManager(ctx, bearer); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return &protocol.Ack{Status: protocol.StatusAcknowledged, RefereeID: r.ID(), RoundID: handle(q)}, nil
	}
}

func (r *Referee) roundCompleted(q *protocol.RoundCompleted) (round int) {
	r.work(nil, func(*match) { r.checkpoint() })
	return q.RoundID
}

func (r *Referee) leagueCompleted(q *protocol.LeagueCompleted) (round int) {
	if r.completed == nil {
		r.completed = q
		r.End()
	}
	return 0
}

// getMatchState answers with the state of a match (spec 003 §8.11.2), with choices
// and nonce only when it is finished.
func (r *Referee) getMatchState(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.MatchState,
	error) {
	if err := r.CheckOwner(bearer, q.AuthToken); err != nil {
		return nil, err
	}
	m, err := r.match(q.MatchID)
	if err != nil {
		return nil, err
	}
	return m.matchState(), nil
}

// known returns the newest attempt at a match in memory; nil for none.
func (r *Referee) known(matchID string) *match {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.matches[matchID]
}

// match finds the newest attempt at a match, also in the files.
func (r *Referee) match(matchID string) (*match, error) {
	m := r.known(matchID)
	if member := r.Membership(); m == nil && member != nil {
		m = r.find(member, matchID)
	}
	if m == nil {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "this referee does not know match %q", matchID)
	}
	return m, nil
}

// Running returns the states of the matches that are not over, in order of their ids, to
// a caller with the referee's own token or its manager's credential. Any other credential is
// an error.
func (r *Referee) Running(bearer string) ([]*protocol.MatchState, error) {
	if err := r.CheckOwner(bearer, bearer); err != nil {
		return nil, err
	}
	r.mu.Lock()
	matches := slices.Collect(maps.Values(r.matches))
	r.mu.Unlock()
	running := []*protocol.MatchState{}
	for _, m := range matches {
		if !m.hasResult() {
			running = append(running, m.matchState())
		}
	}
	slices.SortFunc(running, func(a, b *protocol.MatchState) int { return cmp.Compare(a.MatchID, b.MatchID) })
	return running, nil
}

func (r *Referee) ping(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	return &protocol.Pong{Status: "ok", Role: protocol.RoleReferee}, nil
}

// warn counts a reply that does not conform although its meaning is clear.
func (r *Referee) warn(playerID, what string) {
	r.mu.Lock()
	r.warnings[playerID]++
	first := r.warnings[playerID] == 1
	r.mu.Unlock()
	if r.options.Warned != nil {
		r.options.Warned(playerID, what)
	}
	if first {
		r.options.Log.Warn().Str("player_id", playerID).Str("problem", what).
			Str("event_type", "REPLIES_NONCONFORMING").Msg("a player's replies do not conform")
	}
}

// Identify names the caller of an encoded request by a valid credential, as that of an agent
// does: also the player that shows the access token of a running match, with an answer that it
// posts later.
func (r *Referee) Identify(bearer string, body []byte) string {
	if name := r.Agent.Identify(bearer, body); name != "" {
		return name
	}
	claim := protocol.ClaimOf(body)
	m := r.known(claim.MatchID)
	if m == nil || claim.Token == "" {
		return ""
	}
	m.mu.Lock()
	a := m.assignment
	m.mu.Unlock()
	switch {
	case a == nil: // the match is over
	case protocol.SameToken(claim.Token, a.PlayerA.AccessToken):
		return a.PlayerA.PlayerID
	case protocol.SameToken(claim.Token, a.PlayerB.AccessToken):
		return a.PlayerB.PlayerID
	}
	return ""
}
