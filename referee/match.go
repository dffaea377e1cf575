package referee

import (
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/conduct"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A match is one attempt at a match.
type match struct {
	referee      *Referee
	member       *membership.Membership
	assignment   *protocol.MatchAssignment // nil after the match
	matchID      string
	attempt      int
	players      [2]string
	peers        [2]protocol.Peer
	tokens       [2]string // the access tokens
	conversation string
	nonce        protocol.Secret
	program      Program // of the game; nil for none
	game         protocol.GameID
	hidden       bool           // a side does not see all that happens in the game
	views        bool           // the questions of the game have views
	names        [2]string      // of the players, for people; "" for unknown
	commitment   string         // to the nonce; "" in a plain match
	abandoned    atomic.Bool    // a later attempt has replaced it
	forgotten    atomic.Bool    // it is of an earlier league
	givenUp      atomic.Bool    // after too many void attempts, or because the program of the game failed
	returned     bool           // it was given up and may start again; Referee.mu guards it
	others       sync.WaitGroup // the job for a side beside that of the goroutine of the match
	beside       job            // that job
	runBeside    func()         // doBeside
	pending      sync.WaitGroup // GAME_ERRORs without an acknowledgement, for which the file waits
	transcript   *transcript    // nil if no file is written
	doc          *store.Match   // its file, from the result until the manager has it; owned by the goroutine that reports
	recorded     recordCounts   // what the log has of doc
	warned       [2]atomic.Bool // the log has a warning about a wrong token of the side
	clock        steadyClock

	acceptance protocol.Spare[protocol.MatchAssignmentAck]
	outcome    protocol.Spare[protocol.MatchResultReport]

	// mu also orders what the conduct decides with the entries of the transcript, so that an audit repeats it.
	mu        sync.Mutex
	conduct   *conduct.Match // nil after the match
	state     string
	failure   string                      // of the program of the game; "" for none
	final     *protocol.MatchResultReport // once it is finished
	reporting bool                        // a report is under way, or follows GAME_OVER
	reported  bool                        // the manager has acknowledged the report
	outdated  bool                        // it has refused the report because of the state of the match
	again     func()                      // ends the pause before the next report
}

func newMatch(r *Referee, member *membership.Membership, game rules.Game, a *protocol.MatchAssignment,
	nonce protocol.Secret) *match {
	c := conduct.New(conduct.Version, a, game, member.AgentID, nonce, r.format)
	m := &match{
		referee: r, member: member, assignment: a, conduct: c, state: c.State(), nonce: nonce,
		matchID: a.MatchID, attempt: a.Attempt, players: [2]string{a.PlayerA.PlayerID, a.PlayerB.PlayerID},
		names:        [2]string{a.PlayerA.DisplayName, a.PlayerB.DisplayName},
		conversation: c.Conversation(), commitment: c.Commitment(),
		program: r.options.Programs[a.GameType], game: r.gameID(game), hidden: rules.Hides(game), views: rules.HasViews(game),
	}
	m.runBeside = m.doBeside
	networks := r.networks(a)
	for i, p := range [2]*protocol.AssignedPlayer{&a.PlayerA, &a.PlayerB} {
		m.peers[i], m.tokens[i] = protocol.Peer{Endpoint: p.Endpoint, Networks: networks}, p.AccessToken
	}
	if r.hasFile(member, a.MatchID) {
		m.transcript = newTranscript(m.now, member.Token, a.PlayerA.AccessToken, a.PlayerB.AccessToken)
	}
	return m
}

// now is the time of the match.
func (m *match) now() time.Time { return m.clock.at(m.referee.options.Clock.Now()) }

// run is a whole match, from invitation to report: it asks the program of the game, if the match needs it, and the
// conduct which sides are to be asked, has a conversation with each of them, and goes on until none is left.
func (m *match) run() {
	defer m.forget()
	defer m.referee.options.Guard.Tell()
	for m.consult(); !m.over(); m.consult() {
		sides := m.next()
		if len(sides) == 0 {
			break
		}
		m.concurrently(sides, (*match).converse)
	}
	if m.referee.broken.Load() {
		return // the next referee of this folder finds what is on disk
	}
	if m.over() || !m.finish() {
		m.referee.release(false)
		m.fileAbandoned()
		if m.givenUp.Load() {
			m.referee.returnToManager(m)
		}
		return // another attempt, or another referee, plays it again
	}
	m.concurrently(rules.BothSides(), (*match).sendGameOver)
	if m.referee.broken.Load() {
		return
	}
	m.referee.release(true) // the manager may assign the next match while it reads the report
	m.deliver()
}

// next returns the sides that are to be asked now; none if the match is decided.
func (m *match) next() []rules.Side {
	m.mu.Lock()
	defer m.mu.Unlock()
	sides := m.conduct.Next()
	if state := m.conduct.State(); state != m.state {
		m.state = state
		m.transcript.enter(state)
	}
	return sides
}

// concurrently runs a job for one or two sides.
func (m *match) concurrently(sides []rules.Side, do func(m *match, side rules.Side)) {
	if len(sides) > 1 {
		m.beside = job{do, sides[1]}
		m.others.Add(1)
		m.referee.workers.Start(m.runBeside)
	}
	do(m, sides[0])
	m.others.Wait()
}

// A job is something to do for a side.
type job struct {
	do   func(m *match, side rules.Side)
	side rules.Side
}

// doBeside does the job for the second side.
func (m *match) doBeside() {
	defer m.others.Done()
	defer m.referee.options.Guard.Tell()
	m.beside.do(m, m.beside.side)
}

// finish decides the match, makes its report, and writes the match file. It returns false if another attempt has
// replaced this one.
func (m *match) finish() bool {
	a, result := m.assignment, m.conduct.Result()
	report := m.outcome.New()
	score, draw := m.conduct.ScoreAndDraw(result)
	*report = protocol.MatchResultReport{RoundID: a.RoundID, GameType: a.GameType, Draw: draw,
		Result: protocol.ReportedResult{Result: *result, Score: score}, Evidence: m.conduct.Evidence()}
	m.address(report, a.Members)
	m.mu.Lock()
	if m.abandoned.Load() {
		m.mu.Unlock()
		return false
	}
	m.state, m.final, m.reporting = protocol.StateFinished, report, true
	m.mu.Unlock()
	m.fileResult()
	return true
}

// forget releases the memory that only the conduct of the match needed.
func (m *match) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.final != nil {
		m.assignment, m.conduct = nil, nil
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
