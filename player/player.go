// Package player is the player agent: it registers, accepts invitations to matches,
// lets its strategy decide, and stores the results. It must not
// depend on the manager, the referee or a carrier.
//
// Messages may arrive more than once, and from several attempts at the same match.
// Every handler is idempotent: a repeated invitation gets the same acknowledgement, a
// repeated question the same decision, and a repeated result changes nothing.
package player

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// The states of a player.
const (
	stateUnregistered     = "UNREGISTERED"
	stateRegistered       = "REGISTERED"
	stateWaitingForRound  = "WAITING_FOR_ROUND"
	stateInMatch          = "IN_MATCH"
	stateWaitingForResult = "WAITING_FOR_RESULT"
)

// Options configure a player.
type Options struct {
	membership.Options

	Games    []string // game types it plays
	Strategy strategy.Strategy

	// StrictReferees refuses every referee that does not prove itself, even if the
	// manager announced such a referee. In a league whose manager does not prove itself
	// no referee can, so the player refuses all of them.
	StrictReferees bool

	// Rules are the games whose secrets the player checks when a match is over, and Programs what asks those that are
	// programs, by type.
	Rules    rules.Registry
	Programs map[string]Asker

	// Past holds the matches played before, instead of the history in the folder; nil for
	// none. The player does not write them to its file, which is evidence of its own.
	Past []store.HistoryMatch

	// Heads verifies the signed heads of the journal; nil for a player alone in its process.
	Heads *protocol.HeadVerifier

	// SlowHistory has history.json written from time to time also while it is short, because the process has many
	// players.
	SlowHistory bool

	// Entropy returns the player's part in the draw of an attempt at a match. Nil derives
	// it from the player's secret, so that a player that restarts during a match can
	// still reveal the value that it committed to.
	Entropy func(matchID string, attempt int) protocol.Secret
	// Ended, if not nil, is called with each match that has got a result, and with its reason, "" for none. It must
	// neither wait nor call the player.
	Ended func(m *protocol.PlayedMatch, reason string)
	// Random returns the random source of one decision; nil means a source with a seed
	// from the system.
	Random func(playerID, matchID string) *rand.Rand
}

// A Player is one player agent. Safe for concurrent use.
type Player struct {
	*membership.Agent

	options   Options
	watcher   strategy.Watcher // the strategy, if it follows matches; else nil
	applicant string           // the sender of a player without an id
	file      historyFile
	returned  atomic.Bool        // the last registration confirmed the known identity
	unproven  protocol.LineQuota // of the log lines about referees without access token

	mu        sync.Mutex
	state     string
	restarted bool              // it may have accepted invitations before the restart
	recalls   bool              // after a restart: its history has each decision that it had signed
	current   map[string]*match // accepted and not over
	asked     askedAttempts
	sure      int // after a restart: the first round in which nothing can have reached it before; 0 before an announcement
	history   *history
	unsaved   []any // lines that the file of the history lacks
	round     *protocol.RoundAnnouncement
	rematch   bool           // round announces rematches of a round that is over
	over      int            // the last round known to be over
	acks      []protocol.Ack // for later messages
	quiet     sync.Cond      // signals that the player may be in no match
	standings *protocol.StandingsUpdate
	table     []protocol.StandingRow             // after the last completed round, for the strategy
	tally     tally                              // of the last table
	recent    func(n int) []protocol.PlayedMatch // recentMatches
	memory    func() *strategy.Memory            // remembered
	totals    *protocol.PlayerStats              // of a returning player in the whole league; nil if unknown
	completed *protocol.LeagueCompleted

	wasMisnamed bool           // see misnamed
	telling     sync.WaitGroup // of the goroutine that tells the manager

	signed    map[questionKey]*store.HistoryDecision // see forgetDecisions
	forgotten int                                    // the last round of which it lacks some in attempts without a result
	started   string                                 // of the last signed decision on disk; "" for none
	head      string                                 // of the journal, the last that was stored
}

// A match is one that the player has accepted.
type match struct {
	id, opponent      string
	round             int
	role              string // of the player; "" for unknown
	attempt           int
	calledAs          string // the player_id of the last question, if the manager does not prove itself
	chosen            string // the last choice, "" before the first
	auth              referee
	entropy           string // as it is revealed
	entropyCommitment string
	restored          bool                        // after a restart, without its invitation
	commitment        string                      // of the referee to its nonce; "" for none
	opening           []string                    // that of the questions that were signed
	signs             bool                        // there was such a question since the last start
	plain             bool                        // its invitation has no commitment: replies are plain, see protocol.Plain
	anew              bool                        // see isAnew; false when some of its decisions are forgotten
	announced         *protocol.RoundAnnouncement // the last one when it began

	accepts bool // true and never written, because acknowledgements that are being encoded refer to it
	join    protocol.Spare[protocol.GameJoinAck]
	parity  protocol.Spare[protocol.ChooseParityResponse]
	over    protocol.Spare[protocol.Ack]

	deciding sync.Mutex // held while the strategy decides in this match
	fallback bool       // of the decision that is being made; deciding guards it
	decided  []decision // the last decisions; changed only with the player's mu held as well
	first    [1]decision
	answered []strategy.Answered
	shown    map[int]shown // by turns; the player's mu guards it
	rules    string        // of the game, as the referee has said them; deciding guards it
	spoken   *spoken       // the last question for free text, with the answer; the player's mu guards it
}

// A spoken is a question for a move in free text, and its last answer.
type spoken struct {
	question string
	choice   string              // "" until there is one that was not refused
	refused  []store.RefusedText // earlier answers
}

// newMatch returns a match with the player's part in the draw.
func (p *Player) newMatch(id, opponent string, round, attempt int, auth referee) *match {
	m := &match{id: id, opponent: opponent, round: round, attempt: attempt, auth: auth, announced: p.round, accepts: true}
	m.decided = m.first[:0]
	m.entropy, m.entropyCommitment = protocol.CommittedEntropy(id, p.ID(), p.options.Entropy(id, attempt))
	return m
}

// A decision is the answer to a question. It is stored to answer a repeated question.
type decision struct {
	question, choice string
	fallback         bool // as in strategy.View
}

// A referee conducts a match.
type referee struct {
	sender string
	token  string // the access token that it sent; NoToken for none
}

// New returns a player. It reads the identity in the folder; an identity that cannot be
// used is an error.
func New(o Options) (*Player, error) {
	if o.Strategy == nil {
		return nil, errors.New("a player needs a strategy")
	}
	if o.Random == nil {
		o.Random = func(string, string) *rand.Rand {
			var seed [32]byte
			_, _ = crand.Read(seed[:])             // never fails
			return rand.New(rand.NewChaCha8(seed)) //nolint:gosec // seeded by crypto/rand
		}
	}
	p := &Player{
		options: o,
		state:   stateUnregistered,
		current: map[string]*match{},
		signed:  map[questionKey]*store.HistoryDecision{},
		history: newHistory(o.Past),
	}
	p.watcher, _ = o.Strategy.(strategy.Watcher)
	p.quiet.L, p.recent, p.memory = &p.mu, p.recentMatches, p.remembered
	var err error
	if p.Agent, err = membership.NewAgent(protocol.RolePlayer, &p.options.Options); err != nil {
		return nil, err
	}
	p.applicant = p.Stamp().Sender()
	if o.Entropy == nil {
		p.options.Entropy = func(matchID string, attempt int) protocol.Secret {
			return p.Derive(fmt.Sprintf("entropy/%s/%s/%d", p.Membership().LeagueID, matchID, attempt))
		}
	}
	return p, nil
}

// Mount registers the player's tools.
func (p *Player) Mount(mux protocol.Mux) {
	protocol.NotifyRound.Handle(mux, p.Stamp(), fromManager(p, p.notifyRound))
	protocol.Invite.Handle(mux, p.Stamp(), p.invite)
	protocol.ChooseParity.Handle(mux, p.Stamp(), p.chooseParity)
	protocol.MakeMove.Handle(mux, p.Stamp(), p.makeMove)
	protocol.NotifyMatchResult.Handle(mux, p.Stamp(), p.gameOver)
	protocol.NotifyGameError.Handle(mux, p.Stamp(), p.gameError)
	protocol.UpdateStandings.Handle(mux, p.Stamp(), fromManager(p, p.updateStandings))
	protocol.NotifyRoundCompleted.Handle(mux, p.Stamp(), fromManager(p, p.roundCompleted))
	protocol.NotifyLeagueCompleted.Handle(mux, p.Stamp(), fromManager(p, p.leagueCompleted))
	protocol.GetPlayerState.Handle(mux, p.Stamp(), p.getState)
	protocol.Ping.Handle(mux, p.Stamp(), p.ping)
	protocol.HandleLeagueError(mux, p.Stamp(), p.LeagueError)
	mux.Fallback(protocol.MethodFor)
}

// Register registers the player, with its token if it has one. While the manager is
// unreachable it retries, until ctx ends. A refusal is a *membership.RefusedError.
func (p *Player) Register(ctx context.Context) error {
	if err := p.Agent.Register(ctx, p.apply, p.joined); err != nil {
		return err
	}
	p.askTotals(ctx)
	return nil
}

// apply prepares a registration.
func (p *Player) apply(e protocol.Envelope, code string) func(context.Context) (*membership.Answer, error) {
	o := &p.options
	if e.MessageType = protocol.TypeLeagueRegisterRequest; e.AuthToken == "" {
		e.Sender = p.applicant
	}
	return membership.Send(&o.Options, &protocol.RegisterPlayer, &protocol.LeagueRegisterRequest{
		Envelope: e, RegistrationCode: code,
		PlayerMeta: protocol.PlayerMeta{AgentMeta: o.Meta(o.Games), PublicKey: p.PublicKey()},
	}, func(a *protocol.LeagueRegisterResponse) *membership.Answer {
		return &membership.Answer{AgentID: a.PlayerID, Token: a.AuthToken, Registration: &a.Registration}
	})
}

// joined processes a new membership. A returning player continues with its matches and
// its history; a new one starts without any.
func (p *Player) joined(m *membership.Membership, back bool) {
	before := p.Membership()
	p.returned.Store(back)
	if before != nil && back { // the same process registered again
		return
	}
	p.file.mu.Lock() // no write while file and history belong to different leagues
	defer p.file.mu.Unlock()
	past, decisions, complete := p.open(m, back)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.restarted, p.recalls = stateRegistered, back, complete
	if !back {
		p.tally = tally{known: true}
	}
	if before != nil { // the previous league has ended
		p.history, p.rematch = newHistory(nil), false
		p.current, p.round, p.standings, p.table, p.over, p.totals = map[string]*match{}, nil, nil, nil, 0, nil
		p.asked, p.forgotten = askedAttempts{}, 0
		p.quiet.Broadcast()
	}
	p.unsaved = nil
	if past != nil && p.options.Past == nil {
		p.history = newHistory(past)
	}
	p.restoreDecisions(decisions)
	p.head = ""
}

// Token returns the player's own token; "" before registration.
func (p *Player) Token() string {
	if m := p.Membership(); m != nil {
		return m.Token
	}
	return ""
}

// A Record is a player's result in its league.
type Record struct {
	PlayerID string
	State    string
	Stats    protocol.PlayerStats  // of the own history
	League   *protocol.PlayerStats // of the whole league, from the manager; nil unless the player returned
	Rank     int                   // 0 when unknown
	Tied     bool                  // another player has the same rank
	Points   int
	Table    []protocol.StandingRow // the last one, or the first rows of it; nil for none
	Players  int                    // in the league; 0 when unknown
	Champion league.Champion
}

// Record returns the final or the current result.
func (p *Player) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Record{PlayerID: p.ID(), State: p.state, Stats: p.history.stats, League: p.totals}
	var rows []protocol.StandingRow
	if p.standings != nil {
		rows, r.Players = p.standings.Standings, p.standings.TotalPlayers
	}
	if c := p.completed; c != nil {
		r.Champion = c.Champion
		if len(c.FinalStandings) > 0 {
			rows, r.Players = c.Rows(), c.TotalPlayers
		}
	}
	r.Table = rows
	for i := range rows {
		if rows[i].PlayerID == r.PlayerID {
			r.Rank, r.Tied, r.Points = rows[i].ShownRank(), rows[i].Tied, rows[i].Points
		}
	}
	r.Players = cmp.Or(r.Players, len(rows))
	return r
}

// Finish waits until the player is in no match, or ctx ends. A process that is asked to
// stop calls it. Meanwhile the player accepts invitations, because it would lose a match
// at once by refusing it.
func (p *Player) Finish(ctx context.Context) {
	membership.Wait(ctx, &p.quiet, func() bool { return !p.engaged() })
}

// engaged tells whether the player is in a match. A match without GAME_OVER ends with
// its round. p.mu is held.
func (p *Player) engaged() bool {
	if p.completed != nil {
		return false
	}
	for _, m := range p.current {
		if m.round > p.over || p.playsAgain(m.id) {
			return true
		}
	}
	return false
}
