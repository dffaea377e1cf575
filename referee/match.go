package referee

import (
	"cmp"
	"sync"
	"sync/atomic"

	"evenodd/league"
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
	assignment   *protocol.MatchAssignment // nil after the match
	matchID      string
	attempt      int
	players      [2]string
	conversation string
	nonce        protocol.Secret
	plain        bool        // its messages are plain: see protocol.Plain
	commitment   string      // to the nonce; "" in a plain match
	abandoned    atomic.Bool // a later attempt has replaced it
	forgotten    atomic.Bool // it is of an earlier league
	givenUp      atomic.Bool // after too many void attempts
	returned     bool        // it was given up and may start again; Referee.mu guards it
	sides        [2]matchSide
	position     rules.Position           // of the game
	turn         int                      // of the question for a move, from 1
	commitments  league.PerPlayer[string] // of the players' entropies; nil in a league that does not sign
	moves        []protocol.PlayerMove    // legal ones of a game of several turns
	result       *league.Result           // as GAME_OVER has it
	others       sync.WaitGroup           // jobs for a side beside that of the goroutine of the match
	pending      sync.WaitGroup           // GAME_ERRORs without an acknowledgement, for which the file waits
	transcript   *transcript              // nil if no file is written
	doc          *store.Match             // its file, from the result until the manager has it; owned by the goroutine that reports
	recorded     recorded                 // what the log has of doc

	mu        sync.Mutex
	state     string
	chosen    [2]bool                     // the side has made a legal move
	warned    [2]bool                     // the log has a warning about a wrong token of the side
	final     *protocol.MatchResultReport // once it is finished
	reporting bool                        // a report is under way, or follows GAME_OVER
	reported  bool                        // the manager has acknowledged the report
	again     func()                      // ends the pause before the next report
}

// A matchSide is one player of a match. Only the goroutine that asks the player
// writes to it.
type matchSide struct {
	window            window            // of the last question
	deadline          protocol.Deadline // that the last question says; none for an invitation
	player            *protocol.AssignedPlayer
	peer              protocol.Peer
	role              string
	opponent          string
	entropyCommitment string
	// the player_id in the commitment; under a third-party manager, which gives no access tokens, the player's own
	committer   string
	entropy     protocol.Secret
	entropyText string
	move        string                 // the last legal one
	moved       int                    // its turn
	fallbacks   int                    // among the legal moves
	signed      protocol.MoveSignature // of move; empty without one
	lost        string                 // why it lost technically; "" while it has not
	fault       protocol.Code          // the failure by which it lost; "" for none
}

func newMatch(r *Referee, member *membership.Membership, game rules.Game, a *protocol.MatchAssignment,
	nonce protocol.Secret) *match {
	m := &match{
		referee: r, member: member, game: game, assignment: a,
		matchID: a.MatchID, attempt: a.Attempt, players: [2]string{a.PlayerA.PlayerID, a.PlayerB.PlayerID},
		conversation: protocol.MatchConversation(a.MatchID, a.Attempt), // that of a third-party manager may differ
		nonce:        nonce,
		state:        protocol.StateWaitingForPlayers,
	}
	if m.plain = a.Members == protocol.MembersPlain; !m.plain {
		m.commitment = protocol.DrawCommitment(a.LeagueID, a.MatchID, a.Attempt, member.AgentID, nonce)
	}
	networks := r.networks(a)
	for i, p := range [2]*protocol.AssignedPlayer{&a.PlayerA, &a.PlayerB} {
		m.sides[i] = matchSide{
			player: p, peer: protocol.Peer{Endpoint: p.Endpoint, Networks: networks}, opponent: m.players[1-i],
			role: [2]string{protocol.RolePlayerA, protocol.RolePlayerB}[i],
		}
	}
	if r.hasFile(member, a.MatchID) {
		m.transcript = newTranscript(r.options.Clock, member.Token, a.PlayerA.AccessToken, a.PlayerB.AccessToken)
	}
	return m
}

// run is a whole match, from invitation to report.
func (m *match) run() {
	defer m.forget()
	m.transcript.enter(protocol.StateWaitingForPlayers)
	both := []rules.Side{rules.SideA, rules.SideB}
	m.ask(both, m.assignment.Timeouts.GameJoinAck, (*match).invite)
	m.position = m.game.Start()
	if !m.decided() {
		m.play()
	}
	if m.over() || !m.finish() {
		m.referee.release(false)
		m.fileAbandoned()
		if m.givenUp.Load() {
			m.referee.returnToManager(m)
		}
		return // another attempt, or another referee, plays it again
	}
	m.concurrently(both, m.sendGameOver)
	m.referee.release(true) // the manager may assign the next match while it reads the report
	m.deliver()
}

// play asks for moves until the game is over or a player has lost technically.
func (m *match) play() {
	m.enter(protocol.StateCollectingChoices)
	m.commitEntropies()
	for m.turn = 1; ; m.turn++ {
		sides := m.position.ToMove()
		if len(sides) == 0 {
			m.enter(protocol.StateDrawingNumber)
			return
		}
		m.ask(sides, m.assignment.Timeouts.Move, (*match).askMove)
		m.collectMoves()
		if m.decided() {
			return
		}
		m.position = m.position.Play([2]string{m.sides[0].move, m.sides[1].move})
	}
}

// forget releases the memory that only the conduct of the match needed.
func (m *match) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final != nil {
		m.assignment, m.game, m.position, m.result, m.sides = nil, nil, nil, nil, [2]matchSide{}
	}
}

// over tells whether the attempt ends without a result: another has replaced it,
// it was given up, or the referee stops.
func (m *match) over() bool {
	return m.abandoned.Load() || m.givenUp.Load() || m.referee.life.Err() != nil
}

// abandon ends an attempt that another replaces. It returns false if the attempt
// has a result, which is then that of the match.
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
	m.transcript.enter(state)
}

// decided tells whether the match is over before its game: a player has lost
// technically, or the attempt ends without a result.
func (m *match) decided() bool {
	return m.sides[0].lost != "" || m.sides[1].lost != "" || m.over()
}

// A question is one of the referee's questions to a side. It returns nil for a correct
// answer.
type question func(m *match, side rules.Side) error

// ask asks the sides a question concurrently. It returns when each has answered or
// lost.
func (m *match) ask(sides []rules.Side, seconds float64, ask question) {
	m.concurrently(sides, func(side rules.Side) { m.askWithRetries(side, seconds, ask) })
}

// concurrently runs a job for one or two sides.
func (m *match) concurrently(sides []rules.Side, do func(side rules.Side)) {
	for _, side := range sides[1:] {
		m.others.Add(1)
		m.referee.workers.Start(func() {
			defer m.others.Done()
			do(side)
		})
	}
	do(sides[0])
	m.others.Wait()
}

// envelope begins a message to a player. Its token is valid only between the
// referee and this player, in this attempt.
func (m *match) envelope(messageType string, s *matchSide) protocol.Envelope {
	e := m.referee.Stamp().Envelope(messageType, m.conversation)
	e.AuthToken = cmp.Or(s.player.AccessToken, protocol.NoToken)
	e.SetPlain(m.plain)
	return e
}
