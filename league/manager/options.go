package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Options are the rules of a league and the dependencies of its manager. A league that
// resumes keeps the rules it began with: the game, the tournament, the legs, the scoring,
// the authentication, the signatures, the evidence, the token length and the grace period of
// registrations.
type Options struct {
	LeagueID    string // see protocol.ValidLeagueID
	DisplayName string // of the league; may be empty
	GameType    string // a game of Games
	Games       rules.Registry

	MinPlayers  int  // fewest players to start with when the registration window ends; 0 means 2
	Players     int  // start when so many have registered, with the referees; 0: only by start_league
	Referees    int  // referees to wait for, from 1
	MaxPlayers  int  // most players admitted; 0 means Players, or 10,000 without
	MaxReferees int  // most referees admitted; 0 means 100
	Legs        int  // how often each pair of a round-robin meets; 0 means 1
	SameNames   bool // admit players with equal display names

	Tournament *journal.Tournament // nil for a round-robin

	Roster *decide.Roster // the agents that may register; nil: any
	// then no new agent may register, and the league starts unless StartAt is set; zero: until the start
	RegistrationUntil time.Time
	// start with the agents that have answered then, MinPlayers and one referee at least; zero: none
	StartAt time.Time

	// start after it with the agents that are there, MinPlayers and Referees at least; 0: none
	RegistrationWindow time.Duration
	RegistrationGrace  time.Duration // time that a registered agent has to answer before it can be replaced; 0 means 30 s

	// Listening tells that agents listen before they register, as in a simulation
	// and on the memory bus: they count as answered, and none is pinged.
	Listening bool

	// CheckHost refuses a host and port of an endpoint when the host does not exist,
	// all of its addresses are forbidden, or the manager itself listens there. The
	// error says why, for the applicant. Nil allows all. It must return when ctx ends.
	CheckHost func(ctx context.Context, hostPort string) error

	// AllowedEndpoints are the networks in which the manager calls agents, in CIDR
	// notation. Assignments tell them to our referees; nil tells nothing.
	AllowedEndpoints []string

	// CallerAddress is the address from which a request came, "" when it is not
	// known. The bound on logged refusals is per address. Nil knows none.
	CallerAddress func(ctx context.Context) string

	Scoring  league.Scoring // the zero value means table.DefaultScoring; without tie-breakers, those of the tournament
	Timeouts protocol.Timeouts
	Retry    protocol.RetryPolicy

	// StrictReplies has referees refuse every reply of a player that is not
	// spec-compliant; else a reply counts if its meaning is clear.
	StrictReplies bool

	// Sign has the manager sign the journal's heads, and gives agents what they need to sign
	// moves. A resumed league signs if it has signed from its beginning.
	Sign bool

	// RequireSignatures admits only players with keys, and referees that relay signatures.
	// It needs Sign.
	RequireSignatures bool

	// RequireEvidence refuses each WIN and DRAW below journal.GradeRecomputed.
	RequireEvidence bool

	// SigningKey signs heads; nil: it derives from the manager's secret.
	SigningKey *protocol.SigningKey

	// LenientAuth lets third-party agents do without tokens: the manager believes
	// the sender of reports and queries that show none.
	LenientAuth bool

	Concurrency          int           // matches at once in the whole league; 0: the capacity of the referees
	MaxConcurrentMatches int           // most matches at once that a referee may offer; 0 means 10 (002 §3.1.2)
	AnnounceLead         time.Duration // wait between announcement and first match
	Pace                 time.Duration // wait before each round
	StopWithin           time.Duration // when Run is told to stop, running matches may go on for so long
	// most time for a match before another referee gets it; 0: computed from the timeouts
	LongestMatch time.Duration
	// pause between two checks that the referee of a running match is there; 0 means 5 s
	Glance       time.Duration
	SuspendAfter int // failures in a row after which an agent is suspended; 0 means 3, below 0 never
	// failures in a row after which its part in the league is over; 0 means 10, below 0 never
	ShutdownAfter int
	EveryMatch    bool     // broadcast the standings after every result as well (002 §7.2)
	Schemes       []string // of endpoints; nil means http and https

	TokenLength int           // characters of a token's secret part, 22 to 43; 0 means 43
	TokenTTL    time.Duration // how long a token lasts; 0: as long as the league

	AsksPerSecond int // queries of one agent per second; 0 means 20
	AsksAtOnce    int // the same, at once; 0 means 100

	Files      *Files    // the league's data folder; nil: a new league, in memory only
	KeepEvents bool      // keep the events in memory, if Files is nil
	Secret     *[32]byte // the manager's keys derive from it; nil: that of Files, or a random one
	Caller     protocol.Caller
	Clock      *protocol.Clock
	Log        zerolog.Logger
	Simulation *journal.Simulation // the origin of a simulated league; nil for a real one

	RoundBegins func()                      // called before the manager decides about a round; may be nil
	Progress    func(recorded, matches int) // called after every result, one at a time; may be nil
	Over        func()                      // called when the table is final, before the agents are told; may be nil
}

// complete fills in the defaults.
func (o *Options) complete() {
	if s := o.Scoring; s.Tiebreakers == nil && s.MatchPoints == (league.MatchPoints{}) {
		o.Scoring = league.DefaultScoring()
		o.Scoring.Tiebreakers = nil
	}
	if o.Scoring.Tiebreakers == nil {
		o.Scoring.Tiebreakers = league.DefaultScoring().Tiebreakers
		if o.Tournament.IsSwiss() {
			o.Scoring.Tiebreakers = league.SwissTiebreakers()
		}
	}
	o.Legs = max(o.Legs, 1)
	o.Referees = max(o.Referees, 1)
	o.MinPlayers = max(o.MinPlayers, 2)
	o.MaxPlayers = cmp.Or(o.MaxPlayers, o.Players, 10_000)
	o.MaxReferees = cmp.Or(o.MaxReferees, 100)
	o.MaxConcurrentMatches = cmp.Or(o.MaxConcurrentMatches, protocol.MaxConcurrentMatches)
	o.TokenLength = cmp.Or(o.TokenLength, protocol.MaxTokenLength)
	// The journal names these limits even if they are the defaults, so that a resumed
	// league keeps them.
	o.SuspendAfter = max(cmp.Or(o.SuspendAfter, journal.DefaultSuspendAfter), -1)
	o.ShutdownAfter = max(cmp.Or(o.ShutdownAfter, journal.DefaultShutdownAfter), -1)
	o.AsksPerSecond = cmp.Or(o.AsksPerSecond, 20)
	o.AsksAtOnce = cmp.Or(o.AsksAtOnce, 100)
	o.RegistrationGrace = cmp.Or(o.RegistrationGrace, 30*time.Second)
	o.Glance = cmp.Or(o.Glance, 5*time.Second)
	if o.Schemes == nil {
		o.Schemes = []string{"http", "https"}
	}
}

// Validate returns an error that names each value that no league can have. New calls it too.
func (o *Options) Validate() error {
	problems := []error{o.Scoring.Validate()}
	if !protocol.ValidLeagueID(o.LeagueID) {
		problems = append(problems, fmt.Errorf("league id %q: 1 to 64 letters, digits, dots, dashes and underscores",
			o.LeagueID))
	}
	if o.Players == 1 || o.Players < 0 {
		problems = append(problems, fmt.Errorf("a league needs at least 2 players, not %d", o.Players))
	}
	if o.Legs < 0 {
		problems = append(problems, fmt.Errorf("legs cannot be negative: %d", o.Legs))
	}
	if !o.RegistrationUntil.IsZero() && !o.StartAt.IsZero() && o.RegistrationUntil.After(o.StartAt) {
		problems = append(problems, errors.New("registration ends with the start of the league: it cannot end later"))
	}
	if o.Players >= 0 && o.Legs >= 0 {
		problems = append(problems, o.Tournament.CheckMatches(max(o.Players, 2), max(o.Legs, 1)))
	}
	if o.RequireSignatures && !o.Sign {
		problems = append(problems, errors.New("a league that requires signatures must sign"))
	}
	return errors.Join(problems...)
}

// created is the event that begins the journal of a new league.
func (o *Options) created() *journal.Created {
	created := &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: o.LeagueID, DisplayName: o.DisplayName,
		GameType: o.GameType, Legs: o.Legs, Tiebreakers: o.Scoring.Tiebreakers, Scoring: o.Scoring.MatchPoints,
		SuspendAfter: o.SuspendAfter, ShutdownAfter: o.ShutdownAfter, Simulation: o.Simulation, Auth: o.auth(),
		Tournament:    o.Tournament,
		Configuration: o.configuration(),
	}
	if o.Sign {
		created.ManagerKey = o.SigningKey.Public()
	}
	if o.TokenLength != protocol.MaxTokenLength {
		created.TokenLength = o.TokenLength
	}
	if !o.Listening {
		created.RegistrationGrace = int(o.RegistrationGrace / time.Second)
	}
	return created
}

// resume takes over the rules with which a league was created.
func (o *Options) resume(created *journal.Created) error {
	if created.LeagueID != o.LeagueID {
		return fmt.Errorf("the journal is that of league %s, not of %s", created.LeagueID, o.LeagueID)
	}
	if (created.Simulation == nil) != (o.Simulation == nil) {
		return errors.New(
			"a simulated league continues with simulate, a real one with manager: use another folder or another league id")
	}
	scoring := created.TableScoring()
	lenient := created.Auth == journal.AuthLenient
	grace := o.RegistrationGrace
	if created.RegistrationGrace > 0 { // older journals have none
		grace = time.Duration(created.RegistrationGrace) * time.Second
	}
	if created.Signs() && created.ManagerKey != o.SigningKey.Public() {
		return errors.New(
			"the manager's secret is not that of this league, whose first event has another manager_key: restore its key file in private")
	}
	same := reflect.DeepEqual(o.Tournament, created.Tournament) &&
		(!created.Signs() || o.RequireSignatures == created.RequiresSignatures()) &&
		o.RequireEvidence == created.RequiresEvidence()
	if !same || o.GameType != created.GameType || o.Legs != created.Legs || !o.Scoring.Equal(scoring) ||
		o.LenientAuth != lenient || o.RegistrationGrace != grace {
		o.Log.Warn().Str("game_type", created.GameType).Int("legs", created.Legs).Bool("lenient",
			lenient).Dur("registration_grace_ms", grace).
			Str("event_type", "SETTINGS_CHANGED").Msg(
			"the settings of game, tournament, legs, scoring, auth, signatures, evidence or registration_grace_sec have changed: this league keeps those it began with")
	}
	o.LenientAuth, o.RegistrationGrace = lenient, grace
	o.Sign, o.RequireSignatures = created.Signs(), created.RequiresSignatures()
	o.RequireEvidence = created.RequiresEvidence()
	o.GameType, o.Legs, o.Scoring, o.Tournament = created.GameType, created.Legs, scoring, created.Tournament
	o.TokenLength = cmp.Or(created.TokenLength, protocol.MaxTokenLength)
	return nil
}

// configuration is what the journal records of the options that a resumed league does not
// keep.
func (o *Options) configuration() *journal.Configuration {
	c := &journal.Configuration{
		Timeouts: o.Timeouts, RetryPolicy: o.Retry, LongestMatch: o.LongestMatch.Seconds(),
		Replies: journal.RepliesByMeaning, Broadcast: journal.BroadcastRound, Evidence: journal.GradeStated,
		AnnounceLead: o.AnnounceLead.Seconds(), Pace: o.Pace.Seconds(), RegistrationWindow: o.RegistrationWindow.Seconds(),
		Participants: journal.Participants{
			Players: o.Players, MinPlayers: o.MinPlayers, MaxPlayers: o.MaxPlayers, Referees: o.Referees,
			MaxReferees: o.MaxReferees,
		},
		RegistrationUntil: protocol.OptionalTimestamp(o.RegistrationUntil),
		StartAt:           protocol.OptionalTimestamp(o.StartAt), Roster: o.Roster.Size(),
		UniqueDisplayNames: !o.SameNames, AllowedEndpoints: o.AllowedEndpoints, TokenTTL: o.TokenTTL.Seconds(),
		Limits: journal.Limits{RequestsPerSecond: o.AsksPerSecond, Burst: o.AsksAtOnce},
	}
	if o.StrictReplies {
		c.Replies = protocol.RepliesStrict
	}
	if o.EveryMatch {
		c.Broadcast = journal.BroadcastMatch
	}
	if o.RequireEvidence {
		c.Evidence = journal.GradeRecomputed
	}
	switch {
	case o.RequireSignatures:
		c.Signatures = journal.SignaturesRequired
	case o.Sign:
		c.Signatures = journal.SignaturesOptional
	}
	return c
}

// auth is the name of the authentication in the journal and in assignments.
func (o *Options) auth() string {
	if o.LenientAuth {
		return journal.AuthLenient
	}
	return ""
}
