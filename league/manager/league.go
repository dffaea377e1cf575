// Package manager is the league manager (spec 003 §2.2.1, §8).
//
// First, agents register (register.go). When the number of players, or the time, for which the league waits is reached,
// the manager fixes the participants (start.go, run.go). Then it plays the rounds, one after the other: it looks for
// absent agents (attendance.go), announces the pairings (rounds.go), and hands each match to a referee (handover.go,
// offer.go). The referee plays it and reports the result (report.go). The manager judges the report, for which it may
// ping the players first, and records it in the journal; if the report does not count, another referee gets the match.
// Then the manager asks the players whether the match has reached them (pings.go). After the last match of a round it
// tells the table (broadcast.go), and carries out what the organiser has decided meanwhile (rematch.go). Finally it
// tells all agents who has won, until each has heard it or is gone (farewell.go).
//
// Each step is an event in the journal before anybody is told of it, so a manager that starts again continues where
// the journal ends. Package decide makes the decisions as pure functions of the state that the journal gives; this
// package adds time, locks and calls to agents. It must not depend on a carrier: HTTP and memory look the same to it.
package manager

import (
	"context"
	crand "crypto/rand"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
)

// A Manager runs one league. Safe for concurrent use.
type Manager struct {
	options   Options
	clock     *protocol.Clock
	log       zerolog.Logger
	stamp     *protocol.Stamp
	keys      protocol.ManagerKeys
	organiser *organiser
	resumed   bool // the league existed before this manager
	judge     decide.ReportJudge
	refusals  *refusalLog
	unheard   protocol.LineQuota // of the log lines about broadcasts that agents did not get
	journal   *journalfile.File  // nil without a data folder
	kept      *keptEvents        // nil unless a league without a data folder keeps its events
	files     *fileWriter        // nil without a data folder

	due       chan struct{}     // closed when the league may start
	replanned chan struct{}     // tells that an organiser has planned the start
	silent    chan *agent       // agents that nobody pings yet
	late      chan *agent       // agents that returned after the end of the league
	viewed    chan struct{}     // has an element for each call that a viewer causes
	workers   *protocol.Workers // hand matches over and send notices

	mu         sync.Mutex      // guards what follows, and is held only for a short time: never during a call
	state      *journal.State  // the fold of the recorded events
	started    string          // the hash of the event that started the league; "" in a league that does not sign
	ended      string          // the hash of the event that completed the last round; "" without a journal
	recordedAt string          // time of the last event
	recorded   time.Time       // the same, also by the monotonic clock
	life       context.Context //nolint:containedctx // of Run, for broadcasts that a report causes
	applicants decide.Registrations
	guesses    decide.Guesses // at registration codes
	agents     map[string]*agent
	matches    []*match                                      // of the current round
	rematch    *match                                        // that is played again between two rounds; nil for none
	newTable   bool                                          // the players have not been told the table since it changed
	changed    map[league.MatchID]bool                       // the matches whose result has changed in this process
	warned     map[string]bool                               // the referees of which the log has warned; see warnAbout
	silences   map[silence]int                               // see warnAbout
	failures   int                                           // of the game's program since the last pause for that
	completed  *protocol.Broadcast[protocol.LeagueCompleted] // nil before the end

	players, referees []*agent // in order of ids; nil before the league has started
}

// New makes a manager; Mount it, and Run it. An error names the option that is not valid.
func New(o Options) (*Manager, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.complete()
	m := &Manager{
		options: o, clock: o.Clock, log: o.Log, stamp: protocol.NewStamp(protocol.ManagerSender, o.Clock),
		refusals: newRefusalLog(&o), due: make(chan struct{}), replanned: make(chan struct{}, 1),
		silent: make(chan *agent, 2*(o.MaxPlayers+o.MaxReferees)), late: make(chan *agent, 100),
		viewed: make(chan struct{}, viewerCalls), state: journal.NewState(),
		agents: map[string]*agent{}, changed: map[league.MatchID]bool{}, warned: map[string]bool{},
		silences: map[silence]int{},
	}
	var secret [32]byte
	_, _ = crand.Read(secret[:]) // never fails
	if f := o.Files; f != nil {
		m.journal, m.state, m.ended, secret = f.journal, f.State, f.ended, f.secret
		m.options.SecretNonce = f.nonce
		m.files = &fileWriter{Files: f, m: m, stale: make(chan struct{}, 1)}
		if f.State.Events > 0 && f.State.Completed == nil {
			m.files.refresh() // a crash may have damaged them
		}
	} else if o.KeepEvents {
		m.kept = &keptEvents{}
	}
	if o.Secret != nil {
		secret = *o.Secret
	}
	m.deriveKeys(secret)
	err := m.checkSize()
	if err == nil {
		err = m.openLeague()
	}
	if err != nil {
		return nil, err
	}
	game, err := m.options.game()
	if err != nil {
		return nil, err
	}
	m.judge = decide.ReportJudge{LeagueID: m.options.LeagueID, GameType: m.options.GameType, Game: game}
	return m, nil
}

// deriveKeys derives the manager's keys from its secret. A resumed league signs if it has
// signed from its beginning.
func (m *Manager) deriveKeys(secret [32]byte) {
	m.keys = protocol.ManagerKeysOf(secret)
	o := &m.options
	m.organiser = newOrganiser(m.keys.Admin, o)
	signs := o.Signatures != ""
	if created := m.state.Created; created != nil {
		if signs = created.Signs(); signs || created.Openings > 0 {
			m.started = o.Files.started
		}
	}
	if !signs {
		return
	}
	if o.SigningKey == nil {
		o.SigningKey = protocol.NewSigningKey(m.keys.Signature)
	}
	o.ManagerKey = o.SigningKey.Public()
}

// openLeague begins the journal of a new league, or resumes a league.
func (m *Manager) openLeague() error {
	o, created := &m.options, m.state.Created
	if created != nil {
		if err := o.resume(created); err != nil {
			return err
		}
	}
	m.applicants = decide.Registrations{
		Roster: o.Roster, Grace: protocol.Seconds(float64(o.RegistrationGrace)), Large: o.isLarge(),
	}
	if created == nil {
		return m.record(new(o.Created))
	}
	m.resumed = true
	if err := m.takeOver(); err != nil {
		return err
	}
	if f := o.Files; f != nil && f.LostTail() {
		if err := m.record(&journal.TailLost{Head: f.lost}); err != nil {
			return err
		}
	}
	if now := o.Configuration; m.state.Completed == nil && !reflect.DeepEqual(&now, m.state.Configuration) {
		if err := m.record(&journal.Configured{Configuration: &now}); err != nil {
			return err
		}
	}
	for _, known := range m.state.Agents {
		m.expectAnswer(m.addAgent(known)) // the grace period starts again
	}
	if m.state.Started != nil {
		m.stamp.SetPlain(m.state.Created.Plain())
		m.closeRegistration()
	} else {
		m.startIfComplete()
	}
	return nil
}

// takeOver records that this manager leads the league from here on. Only then the journal refuses the events of the
// manager before.
func (m *Manager) takeOver() error {
	if m.options.TakesOver == nil {
		return nil
	}
	event := *m.options.TakesOver
	event.Term = max(event.Term, protocol.ValueOf(m.state.Leader).Term+1)
	if err := m.record(&event); err != nil {
		return err
	}
	return m.durable()
}

// Stamp is the envelope stamp of the manager.
func (m *Manager) Stamp() *protocol.Stamp { return m.stamp }

// AdminToken is the token for start_league. The caller shows it to the operator; it is
// in no message and no log line.
func (m *Manager) AdminToken() string { return m.organiser.token }

// Resumed tells whether the league existed before this manager.
func (m *Manager) Resumed() bool { return m.resumed }

// Mount registers the manager's tools (spec 003 §5.5.1, §8.11).
func (m *Manager) Mount(mux protocol.Mux) {
	m.stamp.OnRefusal(m.refusals.refusedRequest)
	mux.OnUnread(m.refusals.unread)
	protocol.RegisterReferee.Handle(mux, m.stamp, m.registerReferee)
	protocol.RegisterPlayer.Handle(mux, m.stamp, m.registerPlayer)
	protocol.ReportMatchResult.Handle(mux, m.stamp, m.reportMatchResult)
	protocol.Query.Handle(mux, m.stamp, m.query)
	protocol.NotifyGameError.Handle(mux, m.stamp, m.playerError)
	protocol.GetStandings.Handle(mux, m.stamp, m.getStandings)
	protocol.GetMatchTranscript.Handle(mux, m.stamp, m.getMatchTranscript)
	protocol.StartLeague.Handle(mux, m.stamp, m.startLeague)
	protocol.OrganiseLeague.Handle(mux, m.stamp, m.organiseLeague)
	protocol.Ping.Handle(mux, m.stamp, m.pong)
	protocol.HandleLeagueError(mux, m.stamp, m.leagueError)
	mux.Fallback(protocol.MethodFor)
}

// TooLarge returns the error that answers a request of more than limit bytes, which was not
// read, and logs the refusal.
func (m *Manager) TooLarge(ctx context.Context, limit int64) error {
	err := protocol.TooLarge(m.stamp, limit)
	m.refusals.unread(ctx, "", err)
	return err
}

// Misdirected logs a request over HTTP that is no call, because it has another method or path. Calls go
// to endpoint, a URL.
func (m *Manager) Misdirected(ctx context.Context, method, path, endpoint string) {
	m.refusals.unread(ctx, method+" "+path, &protocol.Error{Detail: "send JSON-RPC 2.0 by POST to " + endpoint})
}

// pong answers a ping.
func (m *Manager) pong(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &protocol.Pong{
		Status: "ok", Role: protocol.RoleManager, State: decide.Phase(m.state, m.applicants.Closed),
		LeagueID: m.options.LeagueID,
	}, nil
}

// startLeague starts the league by hand, with the admin token (spec 003 §8.5).
func (m *Manager) startLeague(_ context.Context, _ string, q *protocol.ToolRequest) (*protocol.LeagueStarted, error) {
	if err := m.organiser.authenticate(protocol.StartLeague.Name, q.AuthToken); err != nil {
		return nil, err
	}
	m.mu.Lock()
	err := m.mayStart()
	if err == nil {
		m.closeRegistration()
		err = m.fixParticipants()
	}
	s := m.view().Status()
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &protocol.LeagueStarted{
		Status: "STARTED", LeagueID: m.options.LeagueID, Players: s.Players, Referees: s.Referees, Rounds: s.Rounds,
		Matches: s.Matches,
	}, m.durable()
}

// query answers LEAGUE_QUERY (spec 003 §4.9). A query without an answer gets a response
// with success false; only a token that is missing or wrong is an error. The token may
// also be the request's bearer credential. The organiser may ask with the admin token.
func (m *Manager) query(ctx context.Context, bearer string, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse,
	error) {
	asking := q.Envelope
	if asking.AuthToken == "" {
		asking.AuthToken = bearer
	}
	if m.organiser.is(asking.AuthToken) {
		return m.answerOrganiser(ctx, q)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	asker, err := m.sender(&asking)
	if err == nil {
		err = asker.queries.allow()
	}
	if err != nil {
		return nil, err
	}
	if !m.knowsEnd(asker) {
		m.tellLate(asker)
	}
	response, err := m.view().Answer(q, asker.id)
	return m.respond(ctx, q, response, err)
}

// getStandings is the tool of spec 003 §5.5.1: GET_STANDINGS without a query.
func (m *Manager) getStandings(ctx context.Context, _ string, q *protocol.ToolRequest) (*protocol.LeagueQueryResponse,
	error) {
	return m.query(ctx, "", &protocol.LeagueQuery{
		Envelope: protocol.Envelope{AuthToken: q.AuthToken}, LeagueID: m.options.LeagueID,
		QueryType: protocol.QueryStandings,
	})
}

// respond completes the response to a query. A query without an answer gets the reason.
func (m *Manager) respond(ctx context.Context, q *protocol.LeagueQuery, response *protocol.LeagueQueryResponse,
	err error) (*protocol.LeagueQueryResponse, error) {
	var no *protocol.Error
	if err != nil && !errors.As(err, &no) {
		return nil, err
	}
	if no != nil {
		m.refusals.refusedRequest(ctx, protocol.Query.Name, &q.Envelope, no)
		response = &protocol.LeagueQueryResponse{Error: &protocol.QueryError{
			ErrorCode: string(no.Code), ErrorName: no.Code.Name(), ErrorDescription: no.Detail,
		}}
	}
	response.Success, response.QueryType = new(err == nil), q.QueryType
	return response, nil
}

// view is the league as queries see it. M.mu is held.
func (m *Manager) view() *decide.View {
	own := m.options.GameType
	others := slices.DeleteFunc(m.options.Games.Types(), func(t string) bool { return t == own })
	silent := &m.applicants
	return &decide.View{
		State: m.state, Games: append([]string{own}, others...),
		Phase: decide.Phase(m.state, silent.Closed), Silent: silent.SilentIDs(silent.Silent()), Recorded: m.recordedReport,
		Obstacle: m.obstacleAt,
	}
}

// A Status is how far a league is.
type Status = decide.Status

// guarded returns the work of a goroutine of the manager; see Options.Guard.
func (m *Manager) guarded(work func()) func() { return m.options.Guard.Of(work) }

// locked returns what a function reads while m.mu is held.
func locked[V any](m *Manager, read func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return read()
}

// Status tells how far the league is.
func (m *Manager) Status() Status { return locked(m, func() Status { return m.view().Status() }) }

// Standings is the whole table as it is now; before the start, all players in order of their ids.
func (m *Manager) Standings() []league.Standing { return locked(m, m.state.Standings) }

// State is the league itself. Read it when Run has returned and no more requests arrive.
func (m *Manager) State() *journal.State { return m.state }

// Evidence tells which results rest on the word of a referee alone: see decide.EvidenceInWords.
func (m *Manager) Evidence() []string {
	return locked(m, func() []string { return decide.EvidenceInWords(m.state) })
}
