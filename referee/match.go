package referee

import (
	"cmp"
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
	assignment   *protocol.MatchAssignment // nil after the match
	matchID      string
	attempt      int
	players      [2]string
	conversation string
	nonce        protocol.Secret
	nonceText    string // nonce as it is revealed
	commitment   string
	abandoned    atomic.Bool // a later attempt has replaced it
	forgotten    atomic.Bool // it is of an earlier league
	givenUp      atomic.Bool // after too many void attempts
	returned     bool        // it was given up and may start again; Referee.mu guards it
	sides        [2]matchSide
	position     rules.Position             // of the game
	turn         int                        // of the question for a move, from 1
	commitments  protocol.PerPlayer[string] // of the players' entropies; nil in a league that does not sign
	moves        []protocol.PlayerMove      // legal ones of a game of several turns
	question     question                   // that is being asked
	seconds      float64                    // to answer it
	second       secondJob                  // of concurrently
	secondDone   sync.WaitGroup
	result       *protocol.GameResult // as GAME_OVER has it
	pending      sync.WaitGroup       // GAME_ERRORs without an acknowledgement, for which the file waits
	transcript   *transcript          // nil if no file is written
	doc          *store.Match         // its file, from the result until the manager has it; owned by the goroutine that reports
	recorded     store.Recorded       // what the results file has of doc

	mu        sync.Mutex
	state     string
	chosen    [2]bool                     // the side has made a legal move
	final     *protocol.MatchResultReport // once it is finished
	reporting bool                        // a report is under way, or follows GAME_OVER
	reported  bool                        // the manager has acknowledged the report
	lines     []int                       // of the results file that have this attempt; nil if unknown
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
	committer         string // the player_id in the commitment; under a third-party manager, which gives no access tokens, the player's own
	entropy           protocol.Secret
	entropyText       string
	move              string                 // the last legal one
	moved             int                    // its turn
	fallbacks         int                    // among the legal moves
	signed            protocol.MoveSignature // of move; empty without one
	lost              string                 // why it lost technically; "" while it has not
	fault             protocol.Code          // the failure by which it lost; "" for none
}

func newMatch(r *Referee, member *membership.Membership, game rules.Game, a *protocol.MatchAssignment, nonce protocol.Secret) *match {
	m := &match{
		referee: r, member: member, game: game, assignment: a,
		matchID: a.MatchID, attempt: a.Attempt, players: [2]string{a.PlayerA.PlayerID, a.PlayerB.PlayerID},
		conversation: a.ConversationID,
		nonce:        nonce,
		state:        store.StateWaitingForPlayers,
	}
	m.nonceText, m.commitment = protocol.CommitDraw(a.LeagueID, a.MatchID, a.Attempt, member.AgentID, nonce)
	if !protocol.IsMatchConversation(m.conversation, m.matchID, m.attempt) { // of a third-party manager
		m.conversation = protocol.MatchConversation(m.matchID, m.attempt)
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
	defer m.referee.finished()
	defer m.forget()
	m.transcript.enter(store.StateWaitingForPlayers)
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
	m.concurrently(both, (*match).sendGameOver)
	m.referee.release(true) // the manager may assign the next match while it reads the report
	m.deliver(m.referee.life)
}

// play asks for moves until the game is over or a player has lost technically.
func (m *match) play() {
	m.enter(store.StateCollectingChoices)
	m.commitEntropies()
	for m.turn = 1; ; m.turn++ {
		sides := m.position.ToMove()
		if len(sides) == 0 {
			m.enter(store.StateDrawingNumber)
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
	m.question, m.seconds = ask, seconds
	m.concurrently(sides, (*match).askWithRetries)
}

// concurrently runs a job for one or two sides. It makes no
// closures, because each allocates.
func (m *match) concurrently(sides []rules.Side, do func(m *match, side rules.Side)) {
	if len(sides) == 2 {
		m.second = secondJob{m, sides[1], do}
		m.secondDone.Add(1)
		if m.referee.workers.start(&m.second) {
			defer m.secondDone.Wait()
		} else {
			m.secondDone.Done()
		}
	}
	do(m, sides[0])
}

// A secondJob is a job for the second of two sides.
type secondJob struct {
	match *match
	side  rules.Side
	do    func(m *match, side rules.Side)
}

func (j *secondJob) run() {
	j.do(j.match, j.side)
	j.match.secondDone.Done()
}

// envelope begins a message to a player. Its token is valid only between the
// referee and this player, in this attempt.
func (m *match) envelope(messageType string, s *matchSide) protocol.Envelope {
	e := m.referee.Stamp().Envelope(messageType, m.conversation)
	e.AuthToken = cmp.Or(s.player.AccessToken, protocol.NoToken)
	return e
}
