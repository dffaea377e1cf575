// Package player takes part in a league: it registers, joins the matches it is
// invited to, lets its strategy choose, and remembers how they ended (spec 003
// §2.2.3, §6.2). It cannot tell what carries its calls.
package player

import (
	"cmp"
	"context"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
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
	Leagues  []string // where LeagueID is "": the only leagues to join; none means any
	Version  string   // of the agent; "" means 1.0.0
	Games    []string // game types it plays
	Endpoint string   // where others reach it
	Manager  string   // endpoint of the league manager
	Strategy strategy.Strategy

	// StrictReferees refuses every referee that does not prove itself, also where
	// the manager announces that it will not, and where the manager does not prove
	// itself either: there nobody can.
	StrictReferees bool

	RegisterTimeout time.Duration // of one registration call; 0 means 10 s

	// Folder is where the player keeps who it is and what it has played, so
	// that it can be restarted; "" keeps nothing.
	Folder store.Folder
	// Past is what it has played before, where the caller knows that better
	// than the player's own file does; nil where it does not.
	Past []store.HistoryMatch

	Caller protocol.Caller
	Clock  *protocol.Clock
	Log    zerolog.Logger

	// Entropy is the player's part in the draw of one attempt at a match. Nil
	// derives it from a secret of the player's own, so that one that was
	// restarted in the middle of a match can still reveal what it committed to.
	Entropy func(matchID string, attempt int) protocol.Secret
	// Random is the source of one decision. Nil means from the system's
	// randomness.
	Random func(playerID, matchID string) *rand.Rand
}

// A Player is one agent. Safe for concurrent use.
type Player struct {
	options    Options
	applicant  string // the sender of a player that has no id yet
	stamp      *protocol.Stamp
	identities *membership.IdentityStore
	member     membership.Current
	diary      diary
	done       chan struct{} // closed by LEAGUE_COMPLETED
	returned   atomic.Bool   // the last registration was one with a token

	mu        sync.Mutex
	state     string
	restarted bool              // it may have been invited to matches that it does not remember
	current   map[string]*match // matches it was invited to and that are not over
	history   *history
	unsaved   bool // the history is not on disk as it is here
	round     *protocol.RoundAnnouncement
	over      int           // the last round that is over, as far as known
	quiet     chan struct{} // when somebody waits for it: closed when the player is in no match
	standings *protocol.StandingsUpdate
	table     []protocol.StandingRow // after the last completed round, for the strategy
	tally     *tally                 // of the last table; nil where nothing is known of the tables before
	totals    *protocol.PlayerStats  // in the whole league, of a player that came back; nil where they are not known
	completed *protocol.LeagueCompleted
}

// match is what a player knows of a match it is in.
type match struct {
	id, opponent string
	round        int
	attempt      int
	calledAs     string // the player_id of the last question, where the manager does not prove itself
	chosen       string // the last choice, "" before the first
	auth         referee
	entropy      protocol.Secret
	restored     bool   // after a restart, without its invitation
	commitment   string // of the referee to its part in the draw; "" when it gave none

	deciding sync.Mutex // held while the strategy thinks, for this match alone
	decided  []decision // the last ones
	one      [1]decision
}

// A decision is what was decided on a question, to know a repeated one.
type decision struct{ question, choice string }

// referee is who conducts a match, as far as the player knows.
type referee struct {
	sender string
	token  string // the access token it showed; NoToken when none is known
}

// New makes a player. With a folder it reads who it was; an identity that is of
// no use is an error.
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
	identities, err := membership.NewIdentityStore(o.Folder, membership.RolePlayer, o.Name, o.Manager, append([]string{o.LeagueID}, o.Leagues...))
	if err != nil {
		return nil, err
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
	p := &Player{
		options:    o,
		applicant:  protocol.PlayerSender(name),
		stamp:      protocol.NewStamp(protocol.PlayerSender(name), o.Clock),
		identities: identities,
		done:       make(chan struct{}),
		state:      StateUnregistered,
		current:    map[string]*match{},
		history:    newHistory(o.Past),
		unsaved:    len(o.Past) > 0,
	}
	if o.Entropy == nil {
		p.options.Entropy = p.entropy
	}
	return p, nil
}

// entropy is the player's part in a draw, made of its secret and of what is
// drawn for.
func (p *Player) entropy(matchID string, attempt int) protocol.Secret {
	secret := p.identities.Secret()
	mac := hmac.New(sha256.New, secret[:])
	_, _ = fmt.Fprintf(mac, "entropy/%s/%s/%d", p.member.Get().LeagueID, matchID, attempt) // a hash takes everything
	return protocol.Secret(mac.Sum(nil))
}

// Mount registers the player's tools (spec 003 §5.3.1, §8.11).
func (p *Player) Mount(mux protocol.Mux) {
	protocol.NotifyRound.Handle(mux, p.stamp, p.notifyRound)
	protocol.Invite.Handle(mux, p.stamp, p.invite)
	protocol.ChooseParity.Handle(mux, p.stamp, p.chooseParity)
	protocol.MakeMove.Handle(mux, p.stamp, p.makeMove)
	protocol.NotifyMatchResult.Handle(mux, p.stamp, p.gameOver)
	protocol.NotifyGameError.Handle(mux, p.stamp, p.gameError)
	protocol.UpdateStandings.Handle(mux, p.stamp, p.updateStandings)
	protocol.NotifyRoundCompleted.Handle(mux, p.stamp, p.roundCompleted)
	protocol.NotifyLeagueCompleted.Handle(mux, p.stamp, p.leagueCompleted)
	protocol.GetPlayerState.Handle(mux, p.stamp, p.getState)
	protocol.Ping.Handle(mux, p.stamp, p.ping)
	mux.Fallback(protocol.MethodFor)
}

// Register gets the player into the league, or back into it as who it was, and
// keeps trying while the manager cannot be reached, until ctx ends. A refusal
// is a *membership.RefusedError.
func (p *Player) Register(ctx context.Context) error {
	o := &p.options
	leagues := o.Leagues
	if o.LeagueID != "" {
		leagues = []string{o.LeagueID}
	}
	registration := membership.Registration{
		Identities: p.identities, Current: &p.member, Leagues: leagues,
		Clock: o.Clock, Log: o.Log, Apply: p.apply, Joined: p.joined,
	}
	if err := registration.Register(ctx); err != nil {
		return err
	}
	p.askTotals(ctx)
	return nil
}

// apply prepares a registration.
func (p *Player) apply(kept *store.Identity, conversation string) func(context.Context) (*membership.Answer, error) {
	o := &p.options
	request := &protocol.LeagueRegisterRequest{
		Envelope: p.stamp.Envelope(protocol.TypeLeagueRegisterRequest, conversation),
		PlayerMeta: protocol.PlayerMeta{
			DisplayName: o.Name, Version: o.Version, ProtocolVersion: protocol.Version,
			GameTypes: o.Games, ContactEndpoint: o.Endpoint,
		},
	}
	request.Sender = p.applicant
	if kept != nil {
		request.Sender, request.AuthToken = protocol.PlayerSender(kept.AgentID), kept.AuthToken
	}
	return func(ctx context.Context) (*membership.Answer, error) {
		limit := cmp.Or(o.RegisterTimeout, protocol.RegisterPlayer.Timeout)
		r, _, err := protocol.RegisterPlayer.CallWithin(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, request, limit)
		if err != nil {
			return nil, err
		}
		return &membership.Answer{AgentID: r.PlayerID, Token: r.AuthToken, Registration: &r.Registration}, nil
	}
}

// joined takes the place in the league that the manager gave. A player that
// came back goes on where it was; for a new one everything begins.
func (p *Player) joined(m *membership.Membership, back bool) {
	p.stamp.SetSender(protocol.PlayerSender(m.AgentID))
	before := p.member.Get()
	p.returned.Store(back)
	if before != nil && back { // it was here all the time, and only showed itself again
		return
	}
	p.diary.mu.Lock() // nothing is written while file and history belong to different leagues
	defer p.diary.mu.Unlock()
	past := p.open(m, back)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.restarted = StateRegistered, back
	if !back {
		p.tally = &tally{}
	}
	if before != nil { // the league it was in is no more
		p.history, p.unsaved = newHistory(nil), false
		p.current, p.round, p.standings, p.table, p.over = map[string]*match{}, nil, nil, nil, 0
		p.totals = nil
		p.settle()
	}
	if past != nil && p.options.Past == nil {
		p.history, p.unsaved = past, false
	}
}

// Stamp returns the stamp of the agent's messages.
func (p *Player) Stamp() *protocol.Stamp { return p.stamp }

// Done is closed when the league is over.
func (p *Player) Done() <-chan struct{} { return p.done }

// Membership is the player's place in the league; nil before it is registered.
func (p *Player) Membership() *membership.Membership { return p.member.Get() }

// KnowsManager tells whether a credential is that of the league's manager.
func (p *Player) KnowsManager(bearer string) bool { return p.member.KnowsManager(bearer) }

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
	Stats    protocol.PlayerStats  // of its own history
	League   *protocol.PlayerStats // of the whole league, as the manager told them; nil unless the player came back
	Rank     int                   // 0 when unknown
	Points   int
	Players  int // how many took part; 0 when unknown
	Champion protocol.Champion
}

// Record tells how the player stands, in the end or until now.
func (p *Player) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Record{PlayerID: p.ID(), State: p.state, Stats: p.history.stats, League: p.totals}
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

// Finish returns when the player is in no match any more, or when ctx ends: a
// process that is told to stop waits for it. The player goes on accepting
// invitations meanwhile: it is known to be stopping only when it is gone, and
// to refuse one would lose that match at once.
func (p *Player) Finish(ctx context.Context) {
	for {
		p.mu.Lock()
		if !p.engaged() {
			p.mu.Unlock()
			return
		}
		if p.quiet == nil {
			p.quiet = make(chan struct{})
		}
		quiet := p.quiet
		p.mu.Unlock()
		select {
		case <-quiet:
		case <-ctx.Done():
			return
		}
	}
}

// engaged tells whether the player is in a match. One whose end got lost is
// over with its round. p.mu is held.
func (p *Player) engaged() bool {
	if p.completed != nil {
		return false
	}
	for _, m := range p.current {
		if m.round > p.over {
			return true
		}
	}
	return false
}

// settle tells those who wait for the player to be in no match, when it is.
// p.mu is held.
func (p *Player) settle() {
	if p.quiet != nil && !p.engaged() {
		close(p.quiet)
		p.quiet = nil
	}
}
