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

// Options are the rules of a league, what its operator has set, and the dependencies of its manager. A league that
// resumes keeps the rules it began with: those of journal.Created that are not in its Configuration, and the rules
// for signatures, evidence and members.
type Options struct {
	// Of its Configuration, 0 stands for a default of MinPlayers (2), MaxPlayers (Players, or 10,000 without),
	// Referees (1), MaxReferees (100) and Limits (20 and 100), and "" for the first value of Replies,
	// Evidence and Broadcast. A scoring of only zeros means league.DefaultScoring; without tie-breakers, those of the
	// tournament. The manager sets SchemaVersion, ManagerKey and the size of the roster.
	journal.Created

	Games rules.Registry // with the GameType

	Program Program // of the game, if it is a rules.Program; nil for any other game

	Config map[string]string // the digests of the files below config, for journal.Started

	Roster *decide.Roster // the agents that may register; nil: any

	// CheckEndpoint refuses an endpoint that the carrier of its scheme does not call: its host does not exist,
	// all of its addresses are forbidden, the manager itself listens there, or its subject is not that of the
	// caller. The error says why, for the applicant. Nil allows all. It must return when ctx ends.
	CheckEndpoint func(ctx context.Context, endpoint string) error

	// CallerAddress is the address from which a request came, or on a carrier without addresses the name of the
	// caller; "" when it is not known. The bound on logged refusals is per address. Nil knows none.
	CallerAddress func(ctx context.Context) string

	// CalledFrom tells whether a request certainly comes from an address at which the manager has reached an endpoint.
	// It must not block. Nil: none does, as among agents without addresses.
	CalledFrom func(ctx context.Context, endpoint string) bool

	SigningKey *protocol.SigningKey // signs heads; nil: it derives from the manager's secret

	Concurrency          int           // matches at once in the whole league; 0: the capacity of the referees
	MaxConcurrentMatches int           // most matches at once that a referee may offer; 0 means 10 (002 §3.1.2)
	StopWithin           time.Duration // when Run is told to stop, running matches may go on for so long
	// pause between two checks that the referee of a running match is there; 0 means 5 s
	Glance  time.Duration
	Schemes []string // of endpoints; nil means http and https

	// TakesOver is set when other processes may have led the league before this one. New then records it, and
	// returns when it is durable: the manager calls and answers nobody before. Its term may be that of the lease,
	// and grows if the journal has a later one. Nil for a manager without standby.
	TakesOver  *journal.ManagerTookOver
	Files      *Files    // the league's data folder; nil: a new league, in memory only
	KeepEvents bool      // keep the events in memory, if Files is nil
	Secret     *[32]byte // the manager's keys derive from it; nil: that of Files, or a random one
	Caller     protocol.Caller
	Clock      *protocol.Clock
	Log        zerolog.Logger
	Guard      protocol.Guard // of the manager's goroutines; nil: a panic ends the process

	// Stuck is called, once or more often and with locks held, in place of a pause of the league after failures of the
	// game's program. It must make Run end, for a league without an organiser who could resume it. Nil: the league pauses.
	Stuck func(reason string)
	// called before the manager decides about a round, again if decisions of an organiser come first; may be nil
	RoundBegins func(round int)
	Progress    func(recorded, matches int) // called after every result, one at a time; may be nil
	// called when the table is final, before the agents are told by this message, which it must not change; may be nil
	Over func(*protocol.LeagueCompleted)
}

// A Program is a running game that is a program. It is safe for concurrent use.
type Program interface {
	// Ask returns what the program says of the history of a match. It has its own limits of time and size; an error says
	// how the program failed.
	Ask(ctx context.Context, history []rules.Entry) (*rules.State, error)
	// Digest is the SHA-256 of the files of the program, in hexadecimal digits.
	Digest() string
}

// game is the game of the league. The error names a game that is unknown, or a program that nobody runs.
func (o *Options) game() (rules.Game, error) {
	game, err := o.Games.Game(o.GameType)
	if _, is := game.(*rules.Program); is && o.Program == nil {
		return nil, fmt.Errorf("game %s is a program, which the manager needs to run", o.GameType)
	}
	return game, err
}

// isLarge tells whether messages of the game can have up to 64 KB.
func (o *Options) isLarge() bool {
	game, err := o.Games.Game(o.GameType)
	return err == nil && game.Info().Large
}

// gameID identifies the program of the game; it is empty for any other game.
func (o *Options) gameID() (id protocol.GameID) {
	if game, err := o.game(); err == nil {
		if program, is := game.(*rules.Program); is {
			id = protocol.GameID{Version: program.Info().Version, Digest: o.Program.Digest()}
		}
	}
	return id
}

// complete fills in the defaults. The journal has them, so that a resumed league keeps those that are rules.
func (o *Options) complete() {
	usual := league.DefaultScoring()
	if o.Tiebreakers == nil {
		o.Scoring = cmp.Or(o.Scoring, usual.MatchPoints)
		o.Tiebreakers = usual.Tiebreakers
		switch {
		case o.Tournament.IsSwiss():
			o.Tiebreakers = league.SwissTiebreakers()
		case o.Tournament.IsGauntlet():
			o.Tiebreakers = league.GauntletTiebreakers()
		}
	}
	o.Tournament = o.Tournament.ForGame(o.sidesAlike())
	o.SchemaVersion, o.GameID = journal.SchemaVersion, o.gameID()
	o.Legs = max(o.Legs, 1)
	o.Referees = max(o.Referees, 1)
	o.MinPlayers = max(o.MinPlayers, 2)
	o.MaxPlayers = cmp.Or(o.MaxPlayers, o.Players, 10_000)
	o.MaxReferees = cmp.Or(o.MaxReferees, 100)
	o.Configuration.Roster = o.Roster.Size()
	o.MaxConcurrentMatches = cmp.Or(o.MaxConcurrentMatches, protocol.MaxConcurrentMatches)
	o.TokenLength = cmp.Or(o.TokenLength, protocol.MaxTokenLength)
	o.Limits.RequestsPerSecond = cmp.Or(o.Limits.RequestsPerSecond, 20)
	o.Limits.Burst = cmp.Or(o.Limits.Burst, 100)
	o.Replies = cmp.Or(o.Replies, journal.RepliesByMeaning)
	o.Evidence = cmp.Or(o.Evidence, journal.GradeStated)
	o.Broadcast = cmp.Or(o.Broadcast, journal.BroadcastRound)
	o.Glance = cmp.Or(o.Glance, 5*time.Second)
	if o.Schemes == nil {
		o.Schemes = []string{"http", "https"}
	}
}

// sidesAlike tells whether the rules of the game treat both sides alike; false for an unknown game.
func (o *Options) sidesAlike() bool {
	game, err := o.Games.Game(o.GameType)
	return err == nil && game.Info().SidesAlike
}

// Validate returns an error that names each value that no league can have. New calls it too.
func (o *Options) Validate() error {
	problems := []error{o.TableScoring().Validate()}
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
	problems = append(problems, o.CheckMembers(), o.checkGame(), o.CheckOpenings(), o.TimeBank.Check())
	if o.StartAt != "" && o.RegistrationUntil > o.StartAt {
		problems = append(problems, errors.New("registration ends with the start of the league: it cannot end later"))
	}
	if o.Players >= 0 && o.Legs >= 0 {
		problems = append(problems, o.Tournament.CheckMatches(max(o.Players, 2), max(o.Legs, 1)))
	}
	return errors.Join(problems...)
}

// checkGame returns an error for members: plain with a game whose messages need what chapter 4 of the specification
// lacks.
func (o *Options) checkGame() error {
	game, err := o.Games.Game(o.GameType)
	if err != nil || !o.Plain() || !rules.HasDraws(game) && !game.Info().Hidden {
		return nil //nolint:nilerr // New returns the error of an unknown game
	}
	return fmt.Errorf("members: plain and the game %s exclude each other, because chapter 4 has no draws and signs no "+
		"views: remove members: plain from the league's file", o.GameType)
}

// resume takes over the rules with which a league was created.
func (o *Options) resume(created *journal.Created) error {
	switch {
	case created.LeagueID != o.LeagueID:
		return fmt.Errorf("the journal is that of league %s, not of %s", created.LeagueID, o.LeagueID)
	case (created.Simulation == nil) != (o.Simulation == nil):
		return errors.New(
			"a simulated league continues with simulate, a real one with manager: use another folder or another league id")
	case created.Signs() && created.ManagerKey != o.SigningKey.Public():
		return errors.New(
			"the manager's secret is not that of this league, whose first event has another manager_key: restore its key " +
				"file in private, or the file of --secret-file")
	}
	if created.Digest != "" && (created.GameType != o.GameType || created.GameID != o.GameID) {
		return fmt.Errorf("league %s plays %s, version %s, which is a program with the digest %s: name that program with "+
			"--game%s", created.LeagueID, created.GameType, created.Version, created.Digest, o.otherProgram(created))
	}
	given := o.Created
	o.Created, o.Configuration = *created, given.Configuration
	o.Signatures, o.Evidence, o.Members = created.Signatures, created.Evidence, created.Members
	given.SchemaVersion, given.DisplayName, given.Simulation = o.SchemaVersion, o.DisplayName, o.Simulation
	given.ManagerKey, given.SecretNonce = o.ManagerKey, o.SecretNonce
	if !reflect.DeepEqual(given, o.Created) {
		o.Log.Warn().Str("game_type", o.GameType).Int("legs", o.Legs).Str("auth", o.Auth).
			Int("registration_grace_sec", o.RegistrationGrace).Str("event_type", "SETTINGS_CHANGED").Msg(
			"the settings of game, tournament, legs, time, scoring, auth, signatures, evidence, members, token_length, " +
				"lifecycle or registration_grace_sec have changed: this league keeps those it began with")
	}
	return nil
}

// otherProgram says which other program was named than that of a league; "" for none.
func (o *Options) otherProgram(created *journal.Created) string {
	switch {
	case o.Digest == "":
		return ""
	case o.GameType != created.GameType:
		return "; the one named plays " + o.GameType
	case o.Version != created.Version:
		return "; the one named has version " + o.Version
	}
	return "; the one named has the digest " + o.Digest
}
