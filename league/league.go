// Package league is the league manager: it registers agents, draws up the
// schedule, hands matches to referees, records their reports and keeps the
// table (spec 003 §2.2.1, §8). It cannot tell what carries its calls.
package league

import (
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/schedule"
	"evenodd/league/table"
	"evenodd/rules"
)

// The states of a manager (004 §9.2).
const (
	StateWaitingForRegistrations = "WAITING_FOR_REGISTRATIONS"
	StateCreatingSchedule        = "CREATING_SCHEDULE"
	StateRunningLeague           = "RUNNING_LEAGUE"
	StateLeagueCompleted         = "LEAGUE_COMPLETED"
)

// Options are the rules of a league and what its manager needs.
type Options struct {
	LeagueID string // see protocol.ValidLeagueID
	GameType string // a game of Games
	Games    rules.Registry

	Players     int  // start when so many have registered, with the referees; 0: only by start_league
	Referees    int  // referees to wait for, from 1
	MaxPlayers  int  // most players admitted; 0 means Players, or 10,000 without
	MaxReferees int  // most referees admitted; 0 means 100
	Legs        int  // how often each pair meets; 0 means 1
	SameNames   bool // admit players with equal display names

	Scoring  table.Scoring // the zero value means table.DefaultScoring
	Timeouts protocol.Timeouts
	Retry    protocol.RetryPolicy

	Concurrency          int           // matches at once in the whole league; 0: as many as referees can
	MaxConcurrentMatches int           // most a referee may offer; 0 means 10 (002 §3.1.2)
	AnnounceLead         time.Duration // wait between announcement and first match
	EveryMatch           bool          // broadcast the standings after every result as well (002 §7.2)
	Schemes              []string      // of endpoints; nil means http and https

	Secret   *[32]byte // tokens are derived from it; nil: a random one
	Caller   protocol.Caller
	Clock    *protocol.Clock
	Log      zerolog.Logger
	Progress func(recorded, matches int) // called after every result, one at a time; may be nil
	Over     func()                      // called when the table is final, before the agents are told; may be nil
}

// A Manager runs one league. Safe for concurrent use.
type Manager struct {
	options    Options
	voice      *protocol.Voice
	secret     [32]byte
	adminToken string
	started    chan struct{} // closed when the league may begin
	begin      func()
	maxMoves   int         // the most moves one seat makes in a match
	dispatch   chan func() // matches on their way to the conductors

	mu        sync.Mutex
	life      context.Context //nolint:containedctx // of Run, for broadcasts that a report causes
	state     string
	agents    map[string]*agent // by id, players and referees, reservations too
	players   []*agent          // in order of ids, once started
	referees  []*agent
	schedule  schedule.Schedule
	table     *table.Table
	results   []result // in schedule order; Status "" while a match has none
	recorded  int
	round     int      // the current one, from 1; 0 before the first
	matches   []*match // of the current round
	assigned  map[string]int
	completed *protocol.LeagueCompleted
}

// New makes a manager; Mount it, and Run it.
func New(o Options) (*Manager, error) {
	if s := o.Scoring; s.Tiebreakers == nil && s.Win == 0 && s.Draw == 0 && s.Loss == 0 && s.TechnicalLoss == 0 {
		o.Scoring = table.DefaultScoring()
	}
	if err := errors.Join(o.validate(), o.Scoring.Validate()); err != nil {
		return nil, err
	}
	o.Legs = max(o.Legs, 1)
	o.Referees = max(o.Referees, 1)
	if o.MaxPlayers == 0 {
		o.MaxPlayers = o.Players
	}
	if o.MaxPlayers == 0 {
		o.MaxPlayers = 10_000
	}
	if o.MaxReferees == 0 {
		o.MaxReferees = 100
	}
	if o.MaxConcurrentMatches == 0 {
		o.MaxConcurrentMatches = 10
	}
	if o.Schemes == nil {
		o.Schemes = []string{"http", "https"}
	}
	m := &Manager{
		options:  o,
		voice:    protocol.NewVoice(protocol.ManagerSender, o.Clock),
		started:  make(chan struct{}),
		dispatch: make(chan func()),
		state:    StateWaitingForRegistrations,
		agents:   map[string]*agent{},
		assigned: map[string]int{},
	}
	game, err := o.Games.Game(o.GameType)
	if err != nil {
		return nil, err
	}
	m.maxMoves = game.Info().MaxMoves
	m.begin = sync.OnceFunc(func() { close(m.started) })
	if o.Secret != nil {
		m.secret = *o.Secret
	} else {
		_, _ = crand.Read(m.secret[:]) // never fails
	}
	var admin [24]byte
	_, _ = crand.Read(admin[:]) // never fails
	m.adminToken = "adm-" + base64.RawURLEncoding.EncodeToString(admin[:])
	return m, nil
}

func (o *Options) validate() error {
	var problems []error
	if !protocol.ValidLeagueID(o.LeagueID) {
		problems = append(problems, fmt.Errorf("league id %q: 1 to 64 letters, digits, dots, dashes and underscores", o.LeagueID))
	}
	if o.Players == 1 || o.Players < 0 {
		problems = append(problems, fmt.Errorf("a league needs at least 2 players, not %d", o.Players))
	}
	if o.Legs < 0 || o.Referees < 0 || o.Concurrency < 0 {
		problems = append(problems, errors.New("legs, referees and concurrency cannot be negative"))
	}
	return errors.Join(problems...)
}

// Voice is who the manager speaks as.
func (m *Manager) Voice() *protocol.Voice { return m.voice }

// AdminToken is what start_league must show. Whoever starts the manager tells
// it to its operator; it stands in no message and no log line.
func (m *Manager) AdminToken() string { return m.adminToken }

// Mount registers the manager's tools (spec 003 §5.5.1, §8.11).
func (m *Manager) Mount(mux protocol.Mux) {
	protocol.RegisterReferee.Handle(mux, m.voice, m.registerReferee)
	protocol.RegisterPlayer.Handle(mux, m.voice, m.registerPlayer)
	protocol.ReportMatchResult.Handle(mux, m.voice, m.reportMatchResult)
	protocol.Query.Handle(mux, m.voice, m.query)
	protocol.GetStandings.Handle(mux, m.voice, m.getStandings)
	protocol.StartLeague.Handle(mux, m.voice, m.startLeague)
	protocol.Ping.Handle(mux, m.voice, m.ping)
	mux.Fallback(protocol.MethodFor)
}

// Run waits until the league may begin, plays it, and returns its final
// message when every agent has it or cannot be told. It ends early with ctx.
func (m *Manager) Run(ctx context.Context) (*protocol.LeagueCompleted, error) {
	select {
	case <-m.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	m.life = ctx
	m.mu.Unlock()
	notifiers, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	if err := m.createSchedule(); err != nil {
		return nil, err
	}
	for _, a := range slices.Concat(m.players, m.referees) {
		running.Go(func() { a.notify(notifiers) })
	}
	for range m.conductors() {
		running.Go(func() {
			for play := range m.dispatch {
				play()
			}
		})
	}
	defer close(m.dispatch)
	var last roundEnd
	for round := 1; round <= m.schedule.Rounds(); round++ {
		if err := m.playRound(ctx, round, last); err != nil {
			return nil, err
		}
		last = m.endOfRound(ctx, round)
	}
	return m.complete(ctx, last)
}

// createSchedule fixes who takes part, and with that who meets whom.
func (m *Manager) createSchedule() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = StateCreatingSchedule
	for _, a := range m.agents {
		switch {
		case !a.registered:
		case a.player:
			m.players = append(m.players, a)
		default:
			m.referees = append(m.referees, a)
		}
	}
	byID := func(a, b *agent) int { return protocol.CompareIDs(a.id, b.id) }
	slices.SortFunc(m.players, byID)
	slices.SortFunc(m.referees, byID)
	for i, p := range m.players {
		p.index = i
	}
	var err error
	if m.schedule, err = schedule.RoundRobin(len(m.players), m.options.Legs); err != nil {
		return err
	}
	if m.table, err = table.New(len(m.players), m.options.Scoring); err != nil {
		return err
	}
	m.results = make([]result, m.schedule.Matches())
	m.state = StateRunningLeague
	m.options.Log.Info().Int("players", len(m.players)).Int("referees", len(m.referees)).
		Int("rounds", m.schedule.Rounds()).Int("matches", m.schedule.Matches()).Msg("the league begins")
	return nil
}

// complete tells everybody that the league is over.
func (m *Manager) complete(ctx context.Context, last roundEnd) (*protocol.LeagueCompleted, error) {
	m.mu.Lock()
	m.state = StateLeagueCompleted
	rows := m.standings(0, protocol.MaxStandings)
	champion := rows[0]
	m.completed = &protocol.LeagueCompleted{
		Envelope:    m.voice.Envelope(protocol.TypeLeagueCompleted, "conv-league-complete"),
		LeagueID:    m.options.LeagueID,
		TotalRounds: m.schedule.Rounds(), TotalMatches: m.schedule.Matches(),
		Champion: protocol.Champion{
			PlayerID: champion.PlayerID, DisplayName: champion.DisplayName, Points: champion.Points,
		},
		FinalStandings: rows, TotalPlayers: len(m.players),
	}
	completed := m.completed
	m.mu.Unlock()
	m.options.Log.Info().Str("champion", champion.PlayerID).Int("points", champion.Points).Msg("the league is over")
	if m.options.Over != nil {
		m.options.Over()
	}
	m.tellCompleted(ctx, last, completed)
	return completed, ctx.Err()
}

// standings are limit rows of the table from offset; m.mu is held.
func (m *Manager) standings(offset, limit int) []protocol.StandingRow {
	if m.table == nil {
		return m.unplayed(offset, limit)
	}
	ranked := m.table.Standings()
	ranked = ranked[min(offset, len(ranked)):min(offset+limit, len(ranked))]
	rows := make([]protocol.StandingRow, len(ranked))
	for i := range ranked {
		rows[i] = m.row(&ranked[i])
	}
	return rows
}

func (m *Manager) row(r *table.Row) protocol.StandingRow {
	p := m.players[r.Player]
	return protocol.StandingRow{
		Rank: r.Rank, PlayerID: p.id, DisplayName: p.name,
		Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
	}
}

// unplayed are the standings before the start: everybody at nothing, in order
// of ids.
func (m *Manager) unplayed(offset, limit int) []protocol.StandingRow {
	var registered []*agent
	for _, a := range m.agents {
		if a.player && a.registered {
			registered = append(registered, a)
		}
	}
	slices.SortFunc(registered, func(a, b *agent) int { return protocol.CompareIDs(a.id, b.id) })
	rows := make([]protocol.StandingRow, 0, len(registered))
	for i, a := range registered {
		rows = append(rows, protocol.StandingRow{Rank: i + 1, PlayerID: a.id, DisplayName: a.name})
	}
	return rows[min(offset, len(rows)):min(offset+limit, len(rows))]
}

// A Status is how far the league is.
type Status struct {
	State    string
	Round    int
	Rounds   int
	Matches  int
	Recorded int
	Players  int
	Referees int
}

// Status tells how far the league is.
func (m *Manager) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status()
}

func (m *Manager) status() Status {
	players, referees := m.registeredCounts()
	return Status{
		State: m.state, Round: m.round, Rounds: m.schedule.Rounds(), Matches: m.schedule.Matches(),
		Recorded: m.recorded, Players: players, Referees: referees,
	}
}

// A Standing is a row of the final table with what broadcasts leave out.
type Standing struct {
	protocol.StandingRow
	TechnicalLosses int
}

// Standings is the whole table as it is now; nil before the start.
func (m *Manager) Standings() []Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.table == nil {
		return nil
	}
	ranked := m.table.Standings()
	rows := make([]Standing, len(ranked))
	for i := range ranked {
		rows[i] = Standing{m.row(&ranked[i]), ranked[i].TechnicalLosses}
	}
	return rows
}
