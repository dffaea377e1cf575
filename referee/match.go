package referee

import (
	"sync"
	"sync/atomic"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A match is one attempt at a match.
type match struct {
	referee      *Referee
	member       *membership.Membership
	game         rules.Game
	assignment   *protocol.MatchAssignment // nil when it is over
	matchID      string
	attempt      int
	players      [2]string
	conversation string
	nonce        protocol.Secret
	commitment   string
	abandoned    atomic.Bool // a later attempt has taken its place
	givenUp      atomic.Bool // it could not be played, by no fault of a player
	handedBack   bool        // it was given up, and may be begun again; the referee's mu guards it
	seats        [2]seat
	result       *protocol.GameResult // what GAME_OVER says
	second       chan struct{}        // tells that the second seat is done
	chronicle    *chronicle           // nil where nothing is written
	doc          *store.Match         // its file, from the result until the manager has that; whoever reports may touch it

	mu        sync.Mutex
	state     string
	final     *protocol.MatchResultReport // once it is finished
	reporting bool                        // the report is on its way, or will be when the players know the result
	reported  bool                        // the manager has acknowledged it
}

// A seat is a player in a match. Only the goroutine that asks it writes to it.
type seat struct {
	player            *protocol.AssignedPlayer
	peer              protocol.Peer
	role              string
	opponent          string
	entropyCommitment string
	committer         string // the player_id in the commitment; under a third-party manager, which gives no access tokens, the player's own
	entropy           protocol.Secret
	move              string        // the last legal one
	lost              string        // why it lost technically, "" while it has not
	fault             protocol.Code // the failure by which it lost; "" for none
}

func newMatch(r *Referee, member *membership.Membership, game rules.Game, a *protocol.MatchAssignment, nonce protocol.Secret) *match {
	m := &match{
		referee: r, member: member, game: game, assignment: a,
		matchID: a.MatchID, attempt: a.Attempt, players: [2]string{a.PlayerA.PlayerID, a.PlayerB.PlayerID},
		conversation: protocol.MatchConversation(a.MatchID, a.Attempt),
		nonce:        nonce,
		state:        store.StateWaitingForPlayers,
		second:       make(chan struct{}, 1),
	}
	m.commitment = protocol.DrawCommitment(a.LeagueID, a.MatchID, a.Attempt, member.AgentID, m.nonce)
	for i, p := range [2]*protocol.AssignedPlayer{&a.PlayerA, &a.PlayerB} {
		m.seats[i] = seat{player: p, peer: protocol.Peer{Endpoint: p.Endpoint}}
	}
	m.seats[0].role, m.seats[0].opponent = protocol.RolePlayerA, a.PlayerB.PlayerID
	m.seats[1].role, m.seats[1].opponent = protocol.RolePlayerB, a.PlayerA.PlayerID
	if r.files(a.LeagueID, a.MatchID, member.AgentID) {
		m.chronicle = newChronicle(r.options.Clock, member.Token, a.PlayerA.AccessToken, a.PlayerB.AccessToken)
	}
	return m
}

// conduct is a whole match, from invitation to report.
func (m *match) conduct() {
	defer m.referee.rest()
	defer m.forget()
	m.chronicle.enter(store.StateWaitingForPlayers)
	m.ask([]rules.Side{rules.SideA, rules.SideB}, m.assignment.Timeouts.GameJoinAck, m.invite)
	position := m.game.Start()
	if !m.forfeited() {
		position = m.play(position)
	}
	if m.over() || !m.finish(position) {
		m.referee.release(false)
		m.keepAbandoned()
		if m.givenUp.Load() {
			m.referee.handBack(m)
		}
		return // another attempt, or another referee, plays it again
	}
	m.announce()
	m.referee.release(true) // the manager may hand over the next match while it reads the report
	m.deliver(m.referee.life)
}

// play asks for moves until the game is over, or a player has lost it
// otherwise.
func (m *match) play(position rules.Position) rules.Position {
	m.enter(store.StateCollectingChoices)
	for {
		seats := position.ToMove()
		if len(seats) == 0 {
			m.enter(store.StateDrawingNumber)
			return position
		}
		now := position
		m.ask(seats, m.assignment.Timeouts.Move, func(w *window, s rules.Side) error { return m.askMove(w, now, s) })
		if m.forfeited() {
			return position
		}
		position = position.Play([2]string{m.seats[0].move, m.seats[1].move})
	}
}

// forget drops what only the conduct of the match needed; the report stays.
func (m *match) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final != nil {
		m.assignment, m.game, m.result, m.seats = nil, nil, nil, [2]seat{}
	}
}

// over tells whether the attempt need not go on: another has taken its place, it
// was given up, or the referee stops.
func (m *match) over() bool {
	return m.abandoned.Load() || m.givenUp.Load() || m.referee.life.Err() != nil
}

// abandon ends an attempt whose place another takes; false when it has a
// result, which then is that of the match.
func (m *match) abandon() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final == nil {
		m.abandoned.Store(true)
	}
	return m.final == nil
}

func (m *match) enter(state string) {
	m.mu.Lock()
	m.state = state
	m.mu.Unlock()
	m.chronicle.enter(state)
}

// forfeited tells whether the match is over before its game is: a player has
// lost technically, or the attempt was abandoned.
func (m *match) forfeited() bool {
	return m.seats[0].lost != "" || m.seats[1].lost != "" || m.over()
}

// ask puts a question to the seats, to all at the same time, and returns when
// the outcome of each is known: it answered, or it lost.
func (m *match) ask(seats []rules.Side, timeout float64, question func(*window, rules.Side) error) {
	m.both(len(seats), func(i int) { m.insist(m.openWindow(timeout), seats[i], question) })
}

// both does the same for one or two seats at the same time.
func (m *match) both(n int, do func(i int)) {
	if n == 2 && m.referee.crew.run(func() { do(1); m.second <- struct{}{} }) {
		defer func() { <-m.second }()
	}
	do(0)
}

// envelope begins a message to a player: the token in it is worth something
// only between these two, in this attempt.
func (m *match) envelope(messageType string, s *seat) protocol.Envelope {
	e := m.referee.stamp.Envelope(messageType, m.conversation)
	e.AuthToken = s.player.AccessToken
	if e.AuthToken == "" {
		e.AuthToken = protocol.NoToken
	}
	return e
}
