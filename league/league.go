// Package league is the league manager: it registers agents, draws up the
// schedule, hands matches to referees, records their reports and keeps the
// table (spec 003 §2.2.1, §8). It cannot tell what carries its calls.
package league

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
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

// Options are the rules of a league and what its manager needs. A league that
// goes on keeps the rules it began with: the game, the legs, the scoring and the
// grace period of registrations.
type Options struct {
	LeagueID    string // see protocol.ValidLeagueID
	DisplayName string // of the league; may be empty
	GameType    string // a game of Games
	Games       rules.Registry

	MinPlayers  int  // fewest to start with when the registration window ends; 0 means 2
	Players     int  // start when so many have registered, with the referees; 0: only by start_league
	Referees    int  // referees to wait for, from 1
	MaxPlayers  int  // most players admitted; 0 means Players, or 10,000 without
	MaxReferees int  // most referees admitted; 0 means 100
	Legs        int  // how often each pair meets; 0 means 1
	SameNames   bool // admit players with equal display names

	RegistrationWindow time.Duration // start after it with who is there, MinPlayers and Referees at least; 0: none
	RegistrationGrace  time.Duration // time that a registered agent has to answer before it can be replaced; 0 means 30 s

	// Listening tells that agents listen before they register, as in a simulation
	// and on the memory bus: they count as answered, and none is pinged.
	Listening bool

	// CheckHost refuses a host and port of an endpoint when the host does not exist,
	// all of its addresses are forbidden, or the manager itself listens there. The
	// error says why, for the applicant. Nil allows all. It must return when ctx ends.
	CheckHost func(ctx context.Context, hostPort string) error

	// CallerAddress is the address from which a request came, "" when it is not
	// known. The bound on logged refusals is per address. Nil knows none.
	CallerAddress func(ctx context.Context) string

	Scoring  table.Scoring // the zero value means table.DefaultScoring
	Timeouts protocol.Timeouts
	Retry    protocol.RetryPolicy

	// StrictReplies has referees refuse every reply of a player that is not as the
	// protocol has it; else one counts whose meaning is clear.
	StrictReplies bool

	// LenientAuth has agents of other makers go without tokens: reports and queries
	// that show none are believed to be from whom they say. A league that goes on
	// keeps what it began with.
	LenientAuth bool

	Concurrency          int           // matches at once in the whole league; 0: as many as referees can
	MaxConcurrentMatches int           // most a referee may offer; 0 means 10 (002 §3.1.2)
	AnnounceLead         time.Duration // wait between announcement and first match
	Pace                 time.Duration // wait before each round
	RoundBegins          func()        // called before each round; may be nil
	StopWithin           time.Duration // when Run is told to stop, running matches may go on for so long
	LongestMatch         time.Duration // most a match may take before another referee gets it; 0: computed from the timeouts
	Glance               time.Duration // how often it is looked whether the referee of a running match is still there; 0 means 5 s
	SuspendAfter         int           // failures in a row after which an agent is suspended; 0 means 3, below 0 never
	ShutdownAfter        int           // failures in a row after which its part in the league is over; 0 means 10, below 0 never
	EveryMatch           bool          // broadcast the standings after every result as well (002 §7.2)
	Schemes              []string      // of endpoints; nil means http and https

	TokenLength int           // characters of a token's secret part, 22 to 43; 0 means 43
	TokenTTL    time.Duration // how long a token lasts; 0: as long as the league

	AsksPerSecond int // what one agent may ask that changes nothing; 0 means 20
	AsksAtOnce    int // the same, at once; 0 means 100

	Keep       *Keep     // what is known of the league, and where it is kept; nil: a new league, in memory only
	Secret     *[32]byte // tokens are derived from it; nil: that of Keep, or a random one
	Caller     protocol.Caller
	Clock      *protocol.Clock
	Log        zerolog.Logger
	Simulation *journal.Simulation // what a simulated league derives from; nil for a real one

	Progress func(recorded, matches int) // called after every result, one at a time; may be nil
	Over     func()                      // called when the table is final, before the agents are told; may be nil
}

// A Manager runs one league. Safe for concurrent use.
type Manager struct {
	options    Options
	voice      *protocol.Voice
	journal    *journal.Journal
	secret     [32]byte
	adminToken string
	started    chan struct{} // closed when the league may begin
	begin      func()
	resumed    bool // the league was there before this manager
	game       rules.Game
	turns      int           // the most positions of a match in which somebody is asked
	dispatch   chan func()   // matches on their way to the conductors
	late       chan *agent   // agents that came back when the league was over
	newSilent  chan struct{} // tells that silent has grown
	refusals   *refusalLog

	mu        sync.Mutex
	life      context.Context   //nolint:containedctx // of Run, for broadcasts that a report causes
	state     *journal.State    // what happened; only record changes it
	agents    map[string]*agent // by id, players and referees
	silent    []*agent          // those to be pinged until they answer
	awaited   []string          // ids of agents that have not answered, in order
	waiting   []waiter          // refused applicants, those first that have waited longest
	taken     map[bool]int      // a number up to which no id is free, by applicant.player
	players   []*agent          // in order of ids, once started
	referees  []*agent
	matches   []*match // of the current round
	assigned  workload // matches of the referees in completed rounds
	completed *protocol.LeagueCompleted

	windowOver bool // registration has lasted long enough

	stale         chan struct{} // tells that the derived files are out of date
	files         sync.Mutex    // held while they are written
	agentsWritten *store.Agents // guarded by files, as the next
	roundsWritten int           // how many rounds rounds.json has
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
	o.MinPlayers = max(o.MinPlayers, 2)
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
		o.MaxConcurrentMatches = protocol.MaxConcurrentMatches
	}
	if o.TokenLength == 0 {
		o.TokenLength = protocol.MaxTokenLength
	}
	o.SuspendAfter = limitOf(o.SuspendAfter, journal.DefaultSuspendAfter)
	o.ShutdownAfter = limitOf(o.ShutdownAfter, journal.DefaultShutdownAfter)
	if o.AsksPerSecond == 0 {
		o.AsksPerSecond = 20
	}
	if o.AsksAtOnce == 0 {
		o.AsksAtOnce = 100
	}
	if o.RegistrationGrace == 0 {
		o.RegistrationGrace = 30 * time.Second
	}
	if o.Glance == 0 {
		o.Glance = 5 * time.Second
	}
	if o.Schemes == nil {
		o.Schemes = []string{"http", "https"}
	}
	m := &Manager{
		options:   o,
		voice:     protocol.NewVoice(protocol.ManagerSender, o.Clock),
		started:   make(chan struct{}),
		dispatch:  make(chan func()),
		late:      make(chan *agent, 100),
		newSilent: make(chan struct{}, 1),
		refusals:  newRefusalLog(&o),
		stale:     make(chan struct{}, 1),
		state:     journal.NewState(),
		agents:    map[string]*agent{},
		taken:     map[bool]int{},
	}
	m.begin = sync.OnceFunc(func() { close(m.started) })
	_, _ = crand.Read(m.secret[:]) // never fails
	if k := o.Keep; k != nil {
		m.journal, m.state, m.secret = k.journal, k.State, k.secret
	}
	if o.Secret != nil {
		m.secret = *o.Secret
	}
	if err := m.openLeague(); err != nil {
		return nil, err
	}
	game, err := o.Games.Game(m.options.GameType)
	if err != nil {
		return nil, err
	}
	m.game, m.turns = game, game.Info().MaxTurns
	var admin [24]byte
	_, _ = crand.Read(admin[:]) // never fails
	m.adminToken = "adm-" + base64.RawURLEncoding.EncodeToString(admin[:])
	return m, nil
}

// limitOf is a limit as the journal has it: its default stands there too, so
// that it stays what it was.
func limitOf(given, usual int) int { return max(cmp.Or(given, usual), -1) }

// openLeague begins the journal of a new league, or takes up one that goes on.
func (m *Manager) openLeague() error {
	o := &m.options
	created := m.state.Created
	if created == nil {
		return m.record(m.created())
	}
	if created.LeagueID != o.LeagueID {
		return fmt.Errorf("the journal is that of league %s, not of %s", created.LeagueID, o.LeagueID)
	}
	if (created.Simulation == nil) != (o.Simulation == nil) {
		return errors.New("a simulated league goes on by simulate, and a real one by manager: use another folder or another league id")
	}
	rules := table.Scoring{
		Win: created.Scoring.Win, Draw: created.Scoring.Draw, Loss: created.Scoring.Loss,
		TechnicalLoss: created.Scoring.TechnicalLoss, Tiebreakers: created.Tiebreakers,
	}
	lenient := created.Auth == journal.AuthLenient
	grace := o.RegistrationGrace
	if created.RegistrationGrace > 0 { // older journals have none
		grace = time.Duration(created.RegistrationGrace) * time.Second
	}
	if o.GameType != created.GameType || o.Legs != created.Legs || !o.Scoring.Equal(rules) || o.LenientAuth != lenient || o.RegistrationGrace != grace {
		o.Log.Warn().Str("game_type", created.GameType).Int("legs", created.Legs).Bool("lenient", lenient).Dur("registration_grace_ms", grace).
			Msg("the settings of game, legs, scoring, auth or registration_grace_sec have changed: this league keeps those it began with")
	}
	o.LenientAuth, o.RegistrationGrace = lenient, grace
	o.GameType, o.Legs, o.Scoring = created.GameType, created.Legs, rules
	if o.TokenLength = created.TokenLength; o.TokenLength == 0 {
		o.TokenLength = protocol.MaxTokenLength
	}
	m.resumed = true
	if k := o.Keep; k != nil && k.lost != "" {
		if err := m.record(&journal.TailLost{Head: k.lost}); err != nil {
			return err
		}
	}
	for id := range m.state.Agents {
		m.agents[id] = m.known(m.state.Agents[id])
		m.expectAnswer(m.agents[id]) // the grace period starts again
	}
	switch players, referees := m.answeredCounts(); {
	case m.state.Started != nil, o.Players > 0 && players >= o.Players && referees >= o.Referees:
		m.begin()
	}
	return nil
}

// record makes something happen: it is folded into the state and queued for the
// journal. Whoever tells others of it waits for durable first. M.mu is held.
func (m *Manager) record(data journal.Data) error {
	at := m.options.Clock.Timestamp() // which costs nothing, for a league that is kept nowhere
	if m.journal != nil {
		at = journal.FormatTime(m.options.Clock.Now())
	}
	e := journal.Event{Seq: m.state.Events + 1, At: at, Data: data}
	if err := m.state.Apply(&e); err != nil {
		return err
	}
	if err := m.journal.Append(e.At, data); err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	m.changed(data)
	return nil
}

// durable waits until what was recorded is on disk. M.mu is not held.
func (m *Manager) durable() error {
	seq, _ := m.journal.Last()
	return m.journal.Sync(seq)
}

func (o *Options) validate() error {
	var problems []error
	if !protocol.ValidLeagueID(o.LeagueID) {
		problems = append(problems, fmt.Errorf("league id %q: 1 to 64 letters, digits, dots, dashes and underscores", o.LeagueID))
	}
	if o.Players == 1 || o.Players < 0 {
		problems = append(problems, fmt.Errorf("a league needs at least 2 players, not %d", o.Players))
	}
	for _, limit := range []struct {
		name  string
		value int
	}{{"legs", o.Legs}, {"referees", o.Referees}, {"concurrency", o.Concurrency}} {
		if limit.value < 0 {
			problems = append(problems, fmt.Errorf("%s cannot be negative: %d", limit.name, limit.value))
		}
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
	m.voice.OnRefusal(m.logRefusal)
	mux.OnUnread(m.logUnread)
	protocol.RegisterReferee.Handle(mux, m.voice, m.registerReferee)
	protocol.RegisterPlayer.Handle(mux, m.voice, m.registerPlayer)
	protocol.ReportMatchResult.Handle(mux, m.voice, m.reportMatchResult)
	protocol.Query.Handle(mux, m.voice, m.query)
	protocol.GetStandings.Handle(mux, m.voice, m.getStandings)
	protocol.StartLeague.Handle(mux, m.voice, m.startLeague)
	protocol.Ping.Handle(mux, m.voice, m.ping)
	mux.Fallback(protocol.MethodFor)
}

// created are the rules of a new league.
func (m *Manager) created() *journal.Created {
	o := &m.options
	length := o.TokenLength
	if length == protocol.MaxTokenLength {
		length = 0
	}
	created := &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: o.LeagueID, DisplayName: o.DisplayName,
		GameType: o.GameType, Legs: o.Legs, Tiebreakers: o.Scoring.Tiebreakers, Scoring: scoringOf(o.Scoring),
		TokenLength: length, SuspendAfter: o.SuspendAfter, ShutdownAfter: o.ShutdownAfter, Simulation: o.Simulation,
		Auth: authName(o.LenientAuth),
	}
	if !o.Listening {
		created.RegistrationGrace = int(o.RegistrationGrace / time.Second)
	}
	return created
}

// authName is what the journal says of who needs a token.
func authName(lenient bool) string {
	if lenient {
		return journal.AuthLenient
	}
	return ""
}

// Resumed tells whether the league was there before this manager.
func (m *Manager) Resumed() bool { return m.resumed }

// standings are limit rows of the table from offset; m.mu is held.
func (m *Manager) standings(offset, limit int) []protocol.StandingRow {
	all := m.state.Standings()
	all = all[min(offset, len(all)):min(offset+limit, len(all))]
	rows := make([]protocol.StandingRow, len(all))
	for i := range all {
		rows[i] = all[i].StandingRow
	}
	return rows
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
	Agents   protocol.AgentStates // players and referees together
	Awaited  []string             // ids of agents that have not answered yet, before the start
}

// Status tells how far the league is.
func (m *Manager) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status()
}

func (m *Manager) status() Status {
	players, referees := m.registeredCounts()
	s := m.state
	return Status{
		Awaited: m.firstAwaited(len(m.awaited)),
		State:   m.phase(), Round: s.Round, Rounds: s.Schedule.Rounds(), Matches: s.Schedule.Matches(),
		Recorded: s.Recorded, Players: players, Referees: referees, Agents: m.states(),
	}
}

// A Standing is a row of the final table with what broadcasts leave out.
type Standing = store.StandingRow

// Standings is the whole table as it is now; nil before the start.
func (m *Manager) Standings() []Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Started == nil {
		return nil
	}
	return m.state.Standings()
}
