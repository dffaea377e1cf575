package conduct

import (
	"cmp"
	"crypto/sha256"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A Match is the conversation of one attempt at a match. It is not safe for concurrent use.
type Match struct {
	version      string
	assignment   *protocol.MatchAssignment
	game         rules.Game
	form         *protocol.MoveForm
	referee      string
	sender       string // of its messages
	conversation string
	nonce        protocol.Secret
	revealed     string // the digits of the nonce; "" in a plain match
	commitment   string // to the nonce; "" in a plain match
	plain        bool   // its messages are plain: see protocol.Plain
	views        bool   // the game has views: see rules.HasViews
	ready        bool   // turn 1 is the ready turn, whose answers are no moves
	hidden       bool   // a side does not see all that has happened
	format       func(time.Time) string

	state       string
	course      rules.Course
	turn        int // of the questions for a move, from 1
	sides       [2]side
	commitments league.PerPlayer[string] // of the players' entropies; nil in a league that does not sign
	moves       []protocol.PlayerMove    // legal ones of a game of several turns
	listed      int                      // bytes of moves and draws in a message
	boards      []Board                  // that the program of the game has shown
	givenUp     bool                     // after too many void attempts
	strayed     bool                     // a move counts that is not legal
}

// A side is one player of a match.
type side struct {
	player   *protocol.AssignedPlayer
	role     string
	opponent string
	messages *messages
	owes     bool // an answer
	question question
	first    int    // the turn of the first question for a move; 0 before it
	secret   bool   // the move in this turn is secret
	veiled   int    // bytes of the commitments to secret moves of the opponent in a question
	viewHash string // of what the side is shown in this turn; "" in a game that hides nothing

	entropyCommitment string
	committer         string                 // the player_id in the commitment; under a manager without access tokens the player's own
	entropy           string                 // in hexadecimal digits: a secret has only one text
	move              string                 // the last one that counts
	fallbacks         int                    // among the legal moves
	bank              time.Duration          // the time that is left for moves; 0 without a time bank
	signature         protocol.MoveSignature // of move; empty without one
	lost              string                 // why it has lost technically; "" while it has not
	fault             protocol.Code          // the failure by which it has lost; "" for none
}

// messages are those to and from a side in a match without failures. A copy of a Match shares them.
type messages struct {
	invitation protocol.Spare[protocol.GameInvitation]
	parityCall protocol.Spare[protocol.ChooseParityCall]
	gameOver   protocol.Spare[protocol.GameOver]
	join, move protocol.Spare[Reply]
}

// An ending is what is made of both sides when a match is over. It has an allocation of its own, because a referee
// keeps the result much longer than the match.
type ending struct {
	draw      protocol.Draw
	entropies [2]league.Member[string]
	score     [2]league.Member[int]
}

// New begins an attempt at a match by a version of the rules that the program knows: Version, or that of a match file.
// The referee is the id of the referee, and the nonce its secret for the draw. Format returns a time as messages have
// it: protocol.FormatTimestamp, or that of a clock. The rules must allow the opening of the assignment (see
// rules.BeginAfter), or the match has strayed.
func New(version string, a *protocol.MatchAssignment, game rules.Game, referee string, nonce protocol.Secret,
	format func(time.Time) string) *Match {
	course, err := rules.BeginAfter(game, a.Opening)
	with := &struct {
		Match
		messages [2]messages
	}{}
	m := &with.Match
	*m = Match{
		version: version, assignment: a, game: game, form: protocol.MoveFormOf(a.GameType), referee: referee,
		sender: protocol.RefereeSender(referee), nonce: nonce, format: format,
		conversation: a.ConversationID,
		plain:        a.Members == protocol.MembersPlain,
		state:        protocol.StateAssigned,
		course:       course, strayed: err != nil,
	}
	if protocol.ConversationAttempt(a.MatchID, m.conversation) != a.Attempt { // that of a third-party manager may differ
		m.conversation = protocol.MatchConversation(a.MatchID, a.Attempt)
	}
	for _, ply := range a.Opening {
		m.listed += len(ply) + len(`"",`)
	}
	if m.views = rules.HasViews(game); m.views {
		m.ready, m.hidden = rules.HasDraws(game), rules.Hides(game)
	}
	if !m.plain {
		m.revealed, m.commitment = protocol.CommittedNonce(a.LeagueID, a.MatchID, a.Attempt, referee, nonce)
	}
	m.sides[rules.SideA] = side{player: &a.PlayerA, role: protocol.RolePlayerA, opponent: a.PlayerB.PlayerID,
		messages: &with.messages[rules.SideA]}
	m.sides[rules.SideB] = side{player: &a.PlayerB, role: protocol.RolePlayerB, opponent: a.PlayerA.PlayerID,
		messages: &with.messages[rules.SideB]}
	if a.TimeBank != nil {
		m.sides[0].bank = milliseconds(a.TimeBank.Initial)
		m.sides[1].bank = m.sides[0].bank
	}
	return m
}

// Next goes on when nothing is to be done for any side, and returns the sides that are to be asked now, side A first.
// It returns none if the match is decided or given up, and none before Told if Awaits says that the program is due.
func (m *Match) Next() (asked []rules.Side) {
	if _, due := m.Awaits(); due {
		return nil
	}
	switch m.state {
	case protocol.StateAssigned:
		m.state, asked = protocol.StateWaitingForPlayers, rules.BothSides()
	case protocol.StateWaitingForPlayers:
		if m.Decided() || m.givenUp || m.strayed {
			return nil
		}
		m.state = protocol.StateCollectingChoices
		m.commitEntropies()
		m.turn, asked = 1, m.course.ToMove()
	case protocol.StateCollectingChoices:
		m.collectMoves()
		if m.Decided() || m.givenUp || m.strayed {
			return nil
		}
		m.turn, asked = m.course.Turn(), m.course.ToMove()
	default:
		return nil
	}
	if len(asked) == 0 {
		m.state = protocol.StateDrawingNumber
	}
	for _, of := range asked {
		s := &m.sides[of]
		s.owes, s.question = true, question{}
		if m.views && m.state == protocol.StateCollectingChoices {
			shown := m.course.Ask(of)
			s.first, s.secret = cmp.Or(s.first, m.turn), shown.Secret
			if m.hidden {
				s.viewHash = protocol.ViewHash(shown.View)
			}
		}
	}
	return asked
}

// commitEntropies fixes the entropy commitments that the players are shown and sign.
func (m *Match) commitEntropies() {
	if m.assignment.Started != "" {
		m.commitments = ofSides(m, nil, func(s *side) string { return s.entropyCommitment })
	}
}

// collectMoves adds the moves of the turn, in a game of several turns.
func (m *Match) collectMoves() {
	if !rules.ListsMoves(m.game) {
		return
	}
	for _, move := range m.course.MovesAfter(len(m.moves)) {
		s := &m.sides[move.Side]
		listed := protocol.PlayerMove{PlayerID: s.player.PlayerID, Move: move.Text}
		if m.views {
			listed.Turn, listed.Secret = move.Turn, s.secret
			text, _ := json.Marshal(listed) // texts and numbers have an encoding
			m.listed += len(text) + len(",")
			if s.secret {
				m.sides[move.Side.Other()].veiled += sha256.Size * 2
			}
		}
		m.moves = append(m.moves, listed)
	}
}

// Version is the version of the rules of the match.
func (m *Match) Version() string { return m.version }

// State is the state of the match: protocol.StateAssigned until Next is first called, then that of the specification.
func (m *Match) State() string { return m.state }

// Turn is the number of the turn of the last questions for a move, from 1; 0 before the first ones.
func (m *Match) Turn() int { return m.turn }

// Decided tells whether a side has lost technically.
func (m *Match) Decided() bool { return m.sides[0].lost != "" || m.sides[1].lost != "" }

// GivenUp tells whether the attempt ends without a result, because too many attempts at one question were void.
func (m *Match) GivenUp() bool { return m.givenUp }

// Strayed tells whether Take has made a move count that is not legal, or the opening is not, so that the further course
// of the game is undefined. That is so only for a caller that has changed what Judge said, or has not checked the
// opening.
func (m *Match) Strayed() bool { return m.strayed }

// Commitment is the commitment to the nonce; "" in a plain match.
func (m *Match) Commitment() string { return m.commitment }

// Conversation is the conversation_id of the messages.
func (m *Match) Conversation() string { return m.conversation }

// Strict tells whether an answer counts only if its form has no breach.
func (m *Match) Strict() bool { return m.assignment.Replies == protocol.RepliesStrict }

// Owes tells whether a side owes an answer to a question.
func (m *Match) Owes(of rules.Side) bool { return m.sides[of].owes }

// Moves are the legal moves of a game of several turns, up to the last call of Next. The caller must not change them.
func (m *Match) Moves() []protocol.PlayerMove { return m.moves[:len(m.moves):len(m.moves)] } // appending copies them

// A Record is what one side has done.
type Record struct {
	Move              string        // the last one that counts; "" for none
	Fallbacks         int           // among the moves
	EntropyCommitment string        // "" for none
	Entropy           string        // that it revealed with its last move, in hexadecimal digits; "" for none
	Lost              string        // why it has lost technically, after its id; "" while it has not
	Fault             protocol.Code // the failure by which it has lost; "" for none, and for a refused invitation
}

// Record returns what a side has done so far.
func (m *Match) Record(of rules.Side) Record {
	s := &m.sides[of]
	return Record{s.move, s.fallbacks, s.entropyCommitment, s.entropy, s.lost, s.fault}
}
