package conversations

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// A conductor plays the referee towards one player, message by message.
type conductor struct {
	w       *world
	to      *actor
	sender  string // who it says it is
	token   string // what it shows; "" for nothing
	matchID string
	attempt int
	free    bool // it binds itself to nothing in the draw
}

// conducts is REF01 in an attempt at a match of P01, with the right token.
func (w *world) conducts(to *actor, matchID string, attempt int) *conductor {
	return &conductor{w, to, "REF01", w.access(to.id, matchID, attempt, "REF01"), matchID, attempt, false}
}

// commitment is what the caller is bound to in the draw.
func (c *conductor) commitment() string {
	if c.free {
		return ""
	}
	return protocol.DrawCommitment(leagueID, c.matchID, c.attempt, "REF01", secretOf("nonce", c.matchID))
}

func (c *conductor) envelope(messageType string) protocol.Envelope {
	e := protocol.NewStamp(protocol.RefereeSender(c.sender), c.w.clock).
		Envelope(messageType, protocol.MatchConversation(c.matchID, c.attempt))
	e.AuthToken = c.token
	return e
}

func (c *conductor) peer() protocol.Peer { return protocol.Peer{Endpoint: endpointOf(c.to.host)} }

func (c *conductor) invite() (*protocol.GameJoinAck, error) {
	id, _ := protocol.ParseMatchID(c.matchID)
	return protocol.Invite.Call(c.w.life, c.w.stranger, c.peer(), &protocol.GameInvitation{
		Envelope: c.envelope(protocol.TypeGameInvitation), LeagueID: leagueID, RoundID: id.Round, MatchID: c.matchID,
		GameType: evenodd.Type, RoleInMatch: protocol.RolePlayerA, OpponentID: "P02", Attempt: c.attempt,
		DrawCommitment: c.commitment(),
	})
}

func (c *conductor) choose() (*protocol.ChooseParityResponse, error) {
	return protocol.ChooseParity.Call(c.w.life, c.w.stranger, c.peer(), &protocol.ChooseParityCall{
		Envelope: c.envelope(protocol.TypeChooseParityCall), MatchID: c.matchID, PlayerID: c.to.id, GameType: evenodd.Type,
		Context: protocol.ChoiceContext{OpponentID: "P02", RoundID: 1}, Deadline: c.w.clock.Timestamp(),
	})
}

func (c *conductor) move(deadline string, options ...string) (*protocol.GameMoveResponse, error) {
	return protocol.MakeMove.Call(c.w.life, c.w.stranger, c.peer(), &protocol.GameMoveCall{
		Envelope: c.envelope(protocol.TypeGameMoveCall), MatchID: c.matchID, PlayerID: c.to.id, GameType: "another",
		MoveRequest: protocol.MoveRequest{MoveType: "pick", ValidOptions: options}, Deadline: deadline,
	})
}

// over tells that a number was drawn: with 8 the player that chose even wins.
func (c *conductor) over(number int) (*protocol.Ack, error) {
	even, odd, parity, winner := "even", "odd", evenodd.Parity(number), c.to.id
	if parity == odd {
		winner = "P02"
	}
	return protocol.NotifyMatchResult.Call(c.w.life, c.w.stranger, c.peer(), &protocol.GameOver{
		Envelope: c.envelope(protocol.TypeGameOver), MatchID: c.matchID, GameType: evenodd.Type,
		GameResult: &protocol.GameResult{
			Status: protocol.StatusWin, WinnerPlayerID: &winner, DrawnNumber: &number, NumberParity: &parity,
			Choices: protocol.Both(c.to.id, &even, "P02", &odd),
		},
	})
}

func (c *conductor) complain() (*protocol.Ack, error) {
	return protocol.NotifyGameError.Call(c.w.life, c.w.stranger, c.peer(), &protocol.GameError{
		Envelope: c.envelope(protocol.TypeGameError), MatchID: c.matchID, AffectedPlayer: c.to.id, ErrorCode: "E001",
		ErrorDescription: "TIMEOUT_ERROR", ActionRequired: protocol.TypeGameJoinAck,
	})
}

func TestTheSameQuestionGetsTheSameAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", byChance)
		var commitments, choices []string
		for attempt := 1; attempt <= 40; attempt++ {
			c := w.conducts(p, "R1M1", attempt)
			for range 3 {
				joined, err := c.invite()
				require.NoError(t, err)
				chosen, err := c.choose()
				require.NoError(t, err)
				assert.True(t, *joined.Accept)
				entropy, ok := protocol.ParseSecret(chosen.Entropy)
				require.True(t, ok)
				assert.Equal(t, joined.EntropyCommitment, protocol.EntropyCommitment("R1M1", "P01", entropy))
				commitments, choices = append(commitments, joined.EntropyCommitment), append(choices, chosen.ParityChoice)
			}
			n := 3 * (attempt - 1)
			assert.Len(t, slices.Compact(slices.Clone(commitments[n:])), 1, "the same within an attempt")
			assert.Len(t, slices.Compact(slices.Clone(choices[n:])), 1)
		}
		slices.Sort(commitments)
		assert.Len(t, slices.Compact(commitments), 40, "fresh entropy for every attempt")
		slices.Sort(choices)
		assert.Equal(t, []string{"even", "odd"}, slices.Compact(choices), "and a fresh choice: 40 equal ones come up once in 500 billion times")
	})
}

func TestAnotherMoveIsAnotherQuestion(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		c := w.conducts(w.player("P01"), "R1M1", 1)
		_, err := c.move("2000-01-01T00:00:30Z", "rock")
		assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = c.invite()
		require.NoError(t, err)
		for _, question := range []struct{ deadline, option string }{
			{"2000-01-01T00:00:30Z", "rock"}, {"2000-01-01T00:01:00Z", "paper"}, {"2000-01-01T00:01:30Z", "paper"},
		} {
			for range 2 {
				r, err := c.move(question.deadline, question.option)
				require.NoError(t, err)
				assert.Equal(t, protocol.MoveData{MoveType: "pick", Choice: question.option}, r.MoveData)
			}
		}
		many := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		first, err := c.move("2000-01-01T00:02:00Z", many...)
		require.NoError(t, err)
		again, err := c.move("2000-01-01T00:02:00Z", many...)
		require.NoError(t, err)
		assert.Equal(t, first.MoveData.Choice, again.MoveData.Choice)
	})
}

func TestAMatchIsCountedOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", choosing("even"))
		c := w.conducts(p, "R1M1", 1)
		_, err := c.invite()
		require.NoError(t, err)
		_, err = c.choose()
		require.NoError(t, err)
		for _, number := range []int{8, 8, 7} {
			ack, err := c.over(number)
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAcknowledged, ack.Status)
			assert.Equal(t, "P01", ack.PlayerID)
			assert.Equal(t, "R1M1", ack.MatchID)
			assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, p.player.Record().Stats)
		}
		_, err = w.conducts(p, "R2M1", 1).over(7)
		require.NoError(t, err, "also of a match whose invitation was lost")
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 2, Wins: 1, Losses: 1}, p.player.Record().Stats)
	})
}

// TestAMatchThatWasPlayedAgain counts as its last attempt ended: the report of
// the first was lost.
func TestAMatchThatWasPlayedAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", choosing("even"))
		_, err := w.conducts(p, "R2M1", 1).over(8)
		require.NoError(t, err)
		for attempt, number := range []int{8, 7} { // won first, then lost
			c := w.conducts(p, "R1M1", attempt+1)
			_, err := c.invite()
			require.NoError(t, err)
			_, err = c.choose()
			require.NoError(t, err)
			_, err = c.over(number)
			require.NoError(t, err)
		}
		_, err = w.conducts(p, "R1M1", 1).over(8)
		require.NoError(t, err, "an old one changes nothing")
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 2, Wins: 1, Losses: 1}, p.player.Record().Stats)
	})
}

func TestAnEarlierAttemptDoesNotDisplaceALaterOne(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", byChance)
		second := w.conducts(p, "R1M1", 2)
		joined, err := second.invite()
		require.NoError(t, err)
		first := w.conducts(p, "R1M1", 1) // its referee was thought to be gone
		_, err = first.invite()
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		_, err = first.choose()
		assertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		_, err = first.over(7)
		assertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		chosen, err := second.choose()
		require.NoError(t, err)
		entropy, ok := protocol.ParseSecret(chosen.Entropy)
		require.True(t, ok)
		assert.Equal(t, joined.EntropyCommitment, protocol.EntropyCommitment("R1M1", "P01", entropy))
	})
}

func TestAQuestionAtTheWrongTime(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		c := w.conducts(w.player("P01"), "R1M1", 1)
		_, err := c.choose()
		assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = c.invite()
		require.NoError(t, err)
		_, err = c.over(8)
		require.NoError(t, err)
		_, err = c.choose()
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
	})
}

func TestThePlayerThatIsNotRegistered(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		c := w.conducts(w.newPlayer("P01"), "R1M1", 1)
		for name, call := range c.everything() {
			err := call()
			if name == "choose" {
				assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
			} else {
				assertRefused(t, err, protocol.ErrPlayerNotRegistered, 4002)
			}
		}
	})
}

// everything is all that a referee can say to a player.
func (c *conductor) everything() map[string]func() error {
	return map[string]func() error{
		"invite":   func() error { _, err := c.invite(); return err },
		"choose":   func() error { _, err := c.choose(); return err },
		"over":     func() error { _, err := c.over(8); return err },
		"complain": func() error { _, err := c.complain(); return err },
	}
}

// announce is ROUND_ANNOUNCEMENT of a manager with the right credential.
func (w *world) announce(to *actor, round int, refereeAuth string) {
	w.t.Helper()
	_, err := protocol.NotifyRound.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(to.host), Bearer: w.credential(to.id)},
		&protocol.RoundAnnouncement{
			Envelope: protocol.NewStamp(protocol.ManagerSender, w.clock).Envelope(protocol.TypeRoundAnnouncement, "conv-round"),
			LeagueID: leagueID, RoundID: round, Matches: []protocol.AnnouncedMatch{{
				MatchID: fmt.Sprintf("R%dM1", round), GameType: evenodd.Type, PlayerAID: to.id, PlayerBID: "P02",
				RefereeEndpoint: endpointOf("ref01"), RefereeID: "REF01", RefereeAuth: refereeAuth,
			}},
		})
	require.NoError(w.t, err)
}

func TestTheStatesOfAPlayer(t *testing.T) { // 004 §9.2
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.newPlayer("P01", choosing("even"))
		ping := func() string {
			pong, err := protocol.Ping.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf("p01")}, &protocol.ToolRequest{})
			require.NoError(t, err)
			return pong.State
		}
		state := func() string {
			q := &protocol.ToolRequest{}
			q.AuthToken = w.token("P01")
			s, err := protocol.GetPlayerState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf("p01")}, q)
			require.NoError(t, err)
			assert.Equal(t, s.State, ping())
			return s.State
		}
		assert.Equal(t, "UNREGISTERED", ping())
		require.NoError(t, p.player.Register(w.life))
		assert.Equal(t, "REGISTERED", state())
		for round := 1; round <= 2; round++ {
			w.announce(p, round, protocol.RefereeAuthAccessToken)
			assert.Equal(t, "WAITING_FOR_ROUND", state())
			c := w.conducts(p, fmt.Sprintf("R%dM1", round), 1)
			_, err := c.invite()
			require.NoError(t, err)
			assert.Equal(t, "IN_MATCH", state())
			_, err = c.choose()
			require.NoError(t, err)
			assert.Equal(t, "WAITING_FOR_RESULT", state())
			_, err = c.invite()
			require.NoError(t, err, "the referee did not hear the answer")
			_, err = c.over(8)
			require.NoError(t, err)
			assert.Equal(t, "WAITING_FOR_ROUND", state())
		}
	})
}

func TestAMatchWhoseEndGotLostEndsWithTheNextRound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01")
		w.announce(p, 1, protocol.RefereeAuthAccessToken)
		c := w.conducts(p, "R1M1", 1)
		_, err := c.invite()
		require.NoError(t, err)
		_, err = c.choose()
		require.NoError(t, err)
		w.announce(p, 2, protocol.RefereeAuthAccessToken)
		assert.Equal(t, "WAITING_FOR_ROUND", p.player.Record().State)
		w.announce(p, 3, protocol.RefereeAuthAccessToken)
		_, err = c.choose()
		assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = c.over(8)
		require.NoError(t, err, "late is better than never")
		assert.Equal(t, 1, p.player.Record().Stats.TotalMatches)
	})
}

func TestThePlayerTellsItsStateToItsOwner(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", choosing("even"))
		c := w.conducts(p, "R1M1", 1)
		_, err := c.invite()
		require.NoError(t, err)
		chosen, err := c.choose()
		require.NoError(t, err)
		state := func(token, bearer string) (*protocol.PlayerState, error) {
			q := &protocol.ToolRequest{}
			q.AuthToken = token
			return protocol.GetPlayerState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf("p01"), Bearer: bearer}, q)
		}
		_, err = state("", "")
		assertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = state(c.token, "")
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)
		_, err = state(w.token("P02"), w.credential("P02"))
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)

		s, err := state("", w.credential("P01"))
		require.NoError(t, err)
		assert.Empty(t, s.Matches, "the match is not over")
		assert.NotContains(t, string(written(s)), chosen.Entropy)
		_, err = c.over(8)
		require.NoError(t, err)
		s, err = state(w.token("P01"), "")
		require.NoError(t, err)
		assert.Equal(t, []protocol.PlayedMatch{{
			MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8,
		}}, s.Matches)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, s.Stats)
		assert.Equal(t, []string{"P01", "even"}, []string{s.PlayerID, s.Strategy})
	})
}

// A referee that proves itself, and has not bound itself to its part in the
// draw, does not get to know the player's: it could still choose its own.
func TestAPlayerGivesNothingToARefereeThatIsNotBound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.varies = true
		w.startManager(4, 1) // it does not begin
		p := w.player("P01")
		bound := w.conducts(p, "R1M1", 1)
		ack, err := bound.invite()
		require.NoError(t, err)
		assert.NotEmpty(t, ack.EntropyCommitment)
		answer, err := bound.choose()
		require.NoError(t, err)
		assert.Equal(t, ack.EntropyCommitment, protocol.EntropyCommitment("R1M1", "P01", mustSecret(t, answer.Entropy)))

		free := w.conducts(p, "R2M1", 1)
		free.free = true
		ack, err = free.invite()
		require.NoError(t, err)
		assert.Empty(t, ack.EntropyCommitment)
		answer, err = free.choose()
		require.NoError(t, err)
		assert.Empty(t, answer.Entropy)
		assert.NotEmpty(t, answer.ParityChoice, "it plays all the same")
	})
}

func mustSecret(t *testing.T, text string) protocol.Secret {
	t.Helper()
	secret, ok := protocol.ParseSecret(text)
	require.True(t, ok, text)
	return secret
}
