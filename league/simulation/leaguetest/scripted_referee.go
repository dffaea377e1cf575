package leaguetest

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/rules/evenodd"
)

// NewPlayerIn starts a player with a data folder and random secrets. It does not register.
func (w *World) NewPlayerIn(id string, folder store.Folder, change func(*player.Options), traits ...Option) *Agent {
	w.T.Helper()
	w.Varies = true
	return w.playerWith(id, append([]Option{WithRandomSecrets}, traits...), func(o *player.Options) {
		o.Folder = folder
		if change != nil {
			change(o)
		}
	})
}

// PlayerIn calls NewPlayerIn and registers the player.
func (w *World) PlayerIn(id string, folder store.Folder, traits ...Option) *Agent {
	w.T.Helper()
	a := w.NewPlayerIn(id, folder, nil, traits...)
	require.NoError(w.T, a.Player.Register(w.Context))
	return a
}

// ReadHistory reads the history.jsonl of a player.
func ReadHistory(t *testing.T, folder store.Folder, id string) *store.History {
	t.Helper()
	h, _, torn, err := store.ReadHistoryLines(folder.Disk, store.HistoryLines(folder.History(id)))
	require.NoError(t, err)
	require.Zero(t, torn)
	return h
}

// A ScriptedReferee sends the messages of a referee to one player, one by one.
type ScriptedReferee struct {
	World        *World
	To           *Agent
	Sender       string // the claimed id
	Token        string // "" for none
	MatchID      string
	Attempt      int
	NoCommitment bool // sends no draw commitment

	Opponent string // in the invitation; "" for P02
	AskedAs  string // the player_id in questions; "" for that of the player

	Signature protocol.SignatureRequest // of its questions
	Flipped   bool                      // GAME_OVER says that the player chose odd
	Failed    bool                      // GAME_OVER says that the player lost technically, without a choice
}

// ScriptedReferee is REF01 with a valid access token for one attempt at a match of a
// player.
func (w *World) ScriptedReferee(to *Agent, matchID string, attempt int) *ScriptedReferee {
	return &ScriptedReferee{
		World: w, To: to, Sender: "REF01", Token: w.AccessToken(to.ID, matchID, attempt, "REF01"), MatchID: matchID,
		Attempt: attempt,
	}
}

// AskForSignature invites the player, which is PLAYER_A, and has the questions of a turn ask
// for a signature.
func (c *ScriptedReferee) AskForSignature(started string, turn int, moves ...protocol.PlayerMove) {
	c.World.T.Helper()
	joined, err := c.Invite()
	require.NoError(c.World.T, err)
	c.Signature = protocol.SignatureRequest{
		Sign: true, Started: started, Turn: turn, RoleInMatch: protocol.RolePlayerA, DrawCommitment: c.Commitment(),
		EntropyCommitments: league.Both(c.To.ID, joined.EntropyCommitment, "P02",
			protocol.EntropyCommitment(c.MatchID, "P02", protocol.Secret{})),
		Moves: moves,
	}
}

// Commitment returns the draw commitment, "" for none.
func (c *ScriptedReferee) Commitment() string {
	if c.NoCommitment {
		return ""
	}
	return protocol.DrawCommitment(LeagueID, c.MatchID, c.Attempt, "REF01", SecretOf("nonce", c.MatchID))
}

func (c *ScriptedReferee) envelope(messageType string) protocol.Envelope {
	e := protocol.NewStamp(protocol.RefereeSender(c.Sender), c.World.Clock).
		Envelope(messageType, protocol.MatchConversation(c.MatchID, c.Attempt))
	e.AuthToken = c.Token
	return e
}

func (c *ScriptedReferee) peer() protocol.Peer { return protocol.Peer{Endpoint: EndpointOf(c.To.Host)} }

func (c *ScriptedReferee) Invite() (*protocol.GameJoinAck, error) {
	id, _ := league.ParseMatchID(c.MatchID)
	return protocol.Invite.Call(c.World.Context, c.World.Untrusted, c.peer(), &protocol.GameInvitation{
		Envelope: c.envelope(protocol.TypeGameInvitation), LeagueID: LeagueID, RoundID: id.Round, MatchID: c.MatchID,
		GameType: evenodd.Type, RoleInMatch: protocol.RolePlayerA, OpponentID: cmp.Or(c.Opponent, "P02"), Attempt: c.Attempt,
		DrawCommitment: c.Commitment(),
	})
}

func (c *ScriptedReferee) Choose() (*protocol.ChooseParityResponse, error) {
	return protocol.ChooseParity.Call(c.World.Context, c.World.Untrusted, c.peer(), &protocol.ChooseParityCall{
		Envelope: c.envelope(protocol.TypeChooseParityCall), MatchID: c.MatchID, PlayerID: cmp.Or(c.AskedAs, c.To.ID), GameType: evenodd.Type,
		Context: protocol.ChoiceContext{OpponentID: "P02", RoundID: 1}, Deadline: c.World.Clock.Timestamp(),
		SignatureRequest: c.Signature,
	})
}

func (c *ScriptedReferee) Move(deadline string, options ...string) (*protocol.GameMoveResponse, error) {
	return c.MoveIn("another", deadline, options...)
}

// MoveIn is Move in a game.
func (c *ScriptedReferee) MoveIn(game, deadline string, options ...string) (*protocol.GameMoveResponse, error) {
	return c.Ask(game, deadline, &protocol.MoveRequest{MoveType: "pick", ValidOptions: options})
}

// Ask asks for a move in a game.
func (c *ScriptedReferee) Ask(game, deadline string, q *protocol.MoveRequest) (*protocol.GameMoveResponse, error) {
	return protocol.MakeMove.Call(c.World.Context, c.World.Untrusted, c.peer(), &protocol.GameMoveCall{
		Envelope: c.envelope(protocol.TypeGameMoveCall), MatchID: c.MatchID, PlayerID: cmp.Or(c.AskedAs, c.To.ID), GameType: game,
		MoveRequest: *q, Deadline: deadline, SignatureRequest: c.Signature,
	})
}

// SendGameOver sends a result with a drawn number: with 8, the player that chose even
// wins.
func (c *ScriptedReferee) SendGameOver(number int) (*protocol.Ack, error) {
	mine, odd, parity, winner, other := "even", "odd", evenodd.Parity(number), c.To.ID, "P02"
	if parity == odd {
		winner = other
	}
	if c.Flipped {
		mine = odd
	}
	result := league.Result{
		Status: league.StatusWin, WinnerPlayerID: &winner, DrawnNumber: &number, NumberParity: &parity,
		Choices: league.Both(c.To.ID, &mine, other, &odd),
	}
	if c.Failed {
		result = league.Result{
			Status: league.StatusTechnicalLoss, WinnerPlayerID: &other, Choices: league.Both(c.To.ID, nil, other, &odd),
		}
	}
	return c.SendResult(&protocol.GameOver{GameType: evenodd.Type, GameResult: &result})
}

// SendResult sends a GAME_OVER of the match.
func (c *ScriptedReferee) SendResult(q *protocol.GameOver) (*protocol.Ack, error) {
	q.Envelope, q.MatchID = c.envelope(protocol.TypeGameOver), c.MatchID
	return protocol.NotifyMatchResult.Call(c.World.Context, c.World.Untrusted, c.peer(), q)
}

func (c *ScriptedReferee) SendError() (*protocol.Ack, error) {
	return protocol.NotifyGameError.Call(c.World.Context, c.World.Untrusted, c.peer(), &protocol.GameError{
		Envelope: c.envelope(protocol.TypeGameError), MatchID: c.MatchID, AffectedPlayer: c.To.ID, ErrorCode: "E001",
		ErrorDescription: "TIMEOUT_ERROR", ActionRequired: protocol.TypeGameJoinAck,
	})
}

// Refuse sends a GAME_ERROR that refuses a move.
func (c *ScriptedReferee) Refuse(move, detail string) {
	c.World.T.Helper()
	_, err := protocol.NotifyGameError.Call(c.World.Context, c.World.Untrusted, c.peer(), &protocol.GameError{
		Envelope: c.envelope(protocol.TypeGameError), MatchID: c.MatchID, AffectedPlayer: c.To.ID, ErrorCode: "E010",
		ErrorDescription: "ILLEGAL_MOVE", ActionRequired: protocol.TypeGameMoveResponse,
		Context: map[string]any{"detail": detail, "invalid_choice": move},
	})
	require.NoError(c.World.T, err)
}

// AllCalls returns all calls of a referee to a player.
func (c *ScriptedReferee) AllCalls() map[string]func() error {
	return map[string]func() error{
		"invite":     func() error { _, err := c.Invite(); return err },
		"choose":     func() error { _, err := c.Choose(); return err },
		"over":       func() error { _, err := c.SendGameOver(8); return err },
		"GAME_ERROR": func() error { _, err := c.SendError(); return err },
	}
}

// Announce sends ROUND_ANNOUNCEMENT with the credential of the manager.
func (w *World) Announce(to *Agent, round int, refereeAuth string) {
	w.T.Helper()
	w.AnnounceStarted(to, round, refereeAuth, "")
}

// AnnounceStarted calls Announce in a league that signs.
func (w *World) AnnounceStarted(to *Agent, round int, refereeAuth, started string) {
	w.T.Helper()
	_, err := protocol.NotifyRound.Call(w.Context, w.Untrusted,
		protocol.Peer{Endpoint: EndpointOf(to.Host), Bearer: w.ManagerCredential(to.ID)},
		&protocol.RoundAnnouncement{
			Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(protocol.TypeRoundAnnouncement, "conv-round"),
			LeagueID: LeagueID, RoundID: round, Started: started, Matches: []protocol.AnnouncedMatch{{
				MatchID: fmt.Sprintf("R%dM1", round), GameType: evenodd.Type, PlayerAID: to.ID, PlayerBID: "P02",
				RefereeEndpoint: EndpointOf("ref01"), RefereeID: "REF01", RefereeAuth: refereeAuth,
			}},
		})
	require.NoError(w.T, err)
}
