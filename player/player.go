// Package player takes part in a league: it registers, joins the matches it is
// invited to, lets its strategy choose, and remembers how they ended (spec 003
// §2.2.3, §6.2). It cannot tell what carries its calls.
package player

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// The states of a player (004 §9.2).
const (
	StateUnregistered     = "UNREGISTERED"
	StateRegistered       = "REGISTERED"
	StateWaitingForRound  = "WAITING_FOR_ROUND"
	StateInMatch          = "IN_MATCH"
	StateWaitingForResult = "WAITING_FOR_RESULT"
)

// Options say who a player is and what it needs.
type Options struct {
	Name     string   // display name, 1 to 50 characters
	ID       string   // the id to ask for; "" for any
	LeagueID string   // the only league to join; "" for any
	Version  string   // of the agent; "" means 1.0.0
	Games    []string // game types it plays
	Endpoint string   // where others reach it
	Manager  string   // endpoint of the league manager
	Strategy strategy.Strategy

	Caller protocol.Caller
	Clock  *protocol.Clock
	Log    zerolog.Logger

	// Entropy is the player's part in a draw, and Random the source of one
	// decision. Nil means from the system's randomness.
	Entropy func(matchID string) protocol.Secret
	Random  func(playerID, matchID string) *rand.Rand
}

// A Player is one agent. Safe for concurrent use.
type Player struct {
	options Options
	voice   *protocol.Voice
	member  membership.Current
	done    chan struct{} // closed by LEAGUE_COMPLETED

	mu        sync.Mutex
	state     string
	current   map[string]*match // matches it was invited to and that are not over
	history   []protocol.PlayedMatch
	played    map[string]played // by match id
	stats     protocol.PlayerStats
	memory    *strategy.Memory
	round     *protocol.RoundAnnouncement
	standings *protocol.StandingsUpdate
	completed *protocol.LeagueCompleted
}

// match is what a player knows of a match it is in.
type match struct {
	id, opponent string
	round        int
	attempt      int
	auth         referee
	entropy      protocol.Secret

	deciding sync.Mutex // held while the strategy thinks, for this match alone
	asked    int        // questions decided so far
	question string     // the last question, to know a repeated one
	choice   string     // what was decided on it
}

// played is where a finished match stands in the history, and which attempt at
// it that was.
type played struct{ place, attempt int }

// referee is who conducts a match, as far as the player knows.
type referee struct {
	sender string
	token  string // the access token it showed; NoToken when none is known
}

// New makes a player.
func New(o Options) (*Player, error) {
	switch {
	case !protocol.ValidName(o.Name):
		return nil, errors.New("a player's name has 1 to 50 characters, and no control characters")
	case o.Strategy == nil:
		return nil, errors.New("a player needs a strategy")
	}
	if o.Version == "" {
		o.Version = "1.0.0"
	}
	if o.Entropy == nil {
		o.Entropy = func(string) (s protocol.Secret) {
			_, _ = crand.Read(s[:]) // never fails
			return s
		}
	}
	if o.Random == nil {
		o.Random = func(string, string) *rand.Rand {
			var seed [32]byte
			_, _ = crand.Read(seed[:])             // never fails
			return rand.New(rand.NewChaCha8(seed)) //nolint:gosec // seeded by crypto/rand
		}
	}
	name := membership.Slug(o.Name)
	if o.ID != "" {
		name = o.ID
	}
	return &Player{
		options: o,
		voice:   protocol.NewVoice(protocol.PlayerSender(name), o.Clock),
		done:    make(chan struct{}),
		state:   StateUnregistered,
		current: map[string]*match{},
		played:  map[string]played{},
		memory:  strategy.NewMemory(),
	}, nil
}

// Mount registers the player's tools (spec 003 §5.3.1, §8.11).
func (p *Player) Mount(mux protocol.Mux) {
	protocol.NotifyRound.Handle(mux, p.voice, p.notifyRound)
	protocol.Invite.Handle(mux, p.voice, p.invite)
	protocol.ChooseParity.Handle(mux, p.voice, p.chooseParity)
	protocol.MakeMove.Handle(mux, p.voice, p.makeMove)
	protocol.NotifyMatchResult.Handle(mux, p.voice, p.gameOver)
	protocol.NotifyGameError.Handle(mux, p.voice, p.gameError)
	protocol.UpdateStandings.Handle(mux, p.voice, p.updateStandings)
	protocol.NotifyRoundCompleted.Handle(mux, p.voice, p.roundCompleted)
	protocol.NotifyLeagueCompleted.Handle(mux, p.voice, p.leagueCompleted)
	protocol.GetPlayerState.Handle(mux, p.voice, p.getState)
	protocol.Ping.Handle(mux, p.voice, p.ping)
	mux.Fallback(protocol.MethodFor)
}

// Register gets the player into the league, and keeps trying while the manager
// cannot be reached, until ctx ends. A refusal is a *membership.RefusedError.
func (p *Player) Register(ctx context.Context) error {
	o := &p.options
	request := &protocol.LeagueRegisterRequest{
		Envelope: p.voice.Envelope(protocol.TypeLeagueRegisterRequest, membership.Conversation("player", o.Name)),
		PlayerMeta: protocol.PlayerMeta{
			DisplayName: o.Name, Version: o.Version, ProtocolVersion: protocol.Version,
			GameTypes: o.Games, ContactEndpoint: o.Endpoint,
		},
	}
	return membership.Insist(ctx, o.Clock, func(ctx context.Context) error {
		answered := p.member.Registering()
		defer answered()
		response, err := protocol.RegisterPlayer.Call(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, request)
		if err != nil {
			return err
		}
		return p.join(response)
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Dur("wait_ms", wait).Msg("cannot register yet, trying again")
	})
}

// join takes the place in the league that the manager gave.
func (p *Player) join(r *protocol.LeagueRegisterResponse) error {
	if err := membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken); err != nil {
		return err
	}
	if want := p.options.LeagueID; want != "" && r.LeagueID != want {
		return &membership.RefusedError{Reason: "the manager runs league " + r.LeagueID + ", not " + want}
	}
	p.mu.Lock()
	p.state = StateRegistered
	p.mu.Unlock()
	p.voice.Rename(protocol.PlayerSender(*r.PlayerID))
	p.member.Set(membership.New(*r.PlayerID, r.AuthToken, &r.Registration))
	p.options.Log.Info().Str("player_id", *r.PlayerID).Str("league_id", r.LeagueID).Msg("registered")
	return nil
}

// Voice is who the agent speaks as.
func (p *Player) Voice() *protocol.Voice { return p.voice }

// Done is closed when the league is over.
func (p *Player) Done() <-chan struct{} { return p.done }

// ID is the player's id, "" before it is registered.
func (p *Player) ID() string {
	if m := p.member.Get(); m != nil {
		return m.AgentID
	}
	return ""
}

// A Record is how a player's league went.
type Record struct {
	PlayerID string
	State    string
	Stats    protocol.PlayerStats
	Rank     int // 0 when unknown
	Points   int
	Players  int // how many took part; 0 when unknown
	Champion protocol.Champion
}

// Record tells how the player stands, in the end or until now.
func (p *Player) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Record{PlayerID: p.ID(), State: p.state, Stats: p.stats}
	var rows []protocol.StandingRow
	switch {
	case p.completed != nil:
		rows, r.Champion, r.Players = p.completed.FinalStandings, p.completed.Champion, p.completed.TotalPlayers
	case p.standings != nil:
		rows, r.Players = p.standings.Standings, p.standings.TotalPlayers
	}
	for i := range rows {
		if rows[i].PlayerID == r.PlayerID {
			r.Rank, r.Points = rows[i].Rank, rows[i].Points
		}
	}
	if r.Players == 0 {
		r.Players = len(rows)
	}
	return r
}
