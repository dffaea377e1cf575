package thirdparty

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

// Our agents understand every captured answer, through their bridge. The answering agent
// refuses every request that its capture does not have.
func TestEachCapturedReplyIsUnderstood(t *testing.T) {
	// Our agents do not request a schedule (003 §5.5.1).
	never := map[string]int{"/create_schedule": 1}
	asked := map[string]int{}
	for _, m := range captures {
		t.Run(m.name, func(t *testing.T) {
			all := captured(t, m.name)
			understood := 0
			inAWorld(t, func(w *world) {
				for _, port := range portsOf(all) {
					w.replay(m.name, all, port, port)
				}
				ours := &askers{
					w: w, manager: w.asker(""), referee: w.asker(at(refereePort)), all: all,
				}
				for _, e := range all {
					if never[e.method()] > 0 {
						asked[e.method()]++
						understood++
						continue
					}
					ours.ask(e)
					understood++
				}
			})
			assert.Equal(t, m.exchanges, understood, "not all exchanges were tried")
		})
	}
	assert.Equal(t, never, asked)
}

// asker is the carrier of one of our agents.
func (w *world) asker(endpoint string) protocol.Caller {
	_, c := w.edge(endpoint, large)
	return c
}

// askers are the carriers of our agents, by role.
type askers struct {
	w                *world
	manager, referee protocol.Caller
	all              []*exchange
}

// voiced is the envelope of a message of our agent.
func (a *askers) voiced(sender, messageType string, e *exchange) protocol.Envelope {
	conversation := text(e.Request, "params", "conversation_id")
	if conversation == "" {
		conversation = "conv-" + a.match(e)
	}
	envelope := protocol.NewStamp(sender, a.w.clock).Envelope(messageType, conversation)
	envelope.AuthToken = protocol.NoToken
	return envelope
}

// match is the match of an exchange. A report may name none.
func (a *askers) match(e *exchange) string {
	if id := text(e.Request, "params", "match_id") + text(e.Request, "match_id"); id != "" {
		return id
	}
	return "R1M1"
}

// ask makes the call of the exchange.
func (a *askers) ask(e *exchange) {
	t := a.w.t
	to := protocol.Peer{Endpoint: e.endpoint()}
	id, sender := a.match(e), protocol.RefereeSender("REF01")
	switch e.method() {
	case "register_referee":
		a.registerReferee(e, to)
	case "register_player":
		a.registerPlayer(e, to)
	case "handle_game_invitation", "game_invitation":
		q := &protocol.GameInvitation{
			Envelope: a.voiced(sender, protocol.TypeGameInvitation, e), LeagueID: leagueID, RoundID: 1, MatchID: id, GameType: "even_odd",
			RoleInMatch: protocol.RolePlayerA, OpponentID: "P02", Attempt: 1,
		}
		r, err := protocol.Invite.Call(a.w.life, a.referee, to, q)
		if assert.NoError(t, err, "%s", e) && assert.NotNil(t, r.Accept, "%s", e) {
			assert.True(t, *r.Accept, "%s", e)
			assert.Empty(t, r.Broken(), "%s", e)
		}
	case "choose_parity":
		q := &protocol.ChooseParityCall{
			Envelope: a.voiced(sender, protocol.TypeChooseParityCall, e), MatchID: id, PlayerID: "P01", GameType: "even_odd",
			Context: protocol.ChoiceContext{OpponentID: "P02", RoundID: 1, YourStandings: &protocol.Record{}}, Deadline: a.w.clock.Timestamp(),
		}
		r, err := protocol.ChooseParity.Call(a.w.life, a.referee, to, q)
		var chosen string
		for _, at := range [][]string{{"result", "parity_choice"}, {"result", "choice"}, {"params", "parity_choice"}} {
			chosen += text(e.Response, at...)
		}
		require.NotEmpty(t, chosen)
		if assert.NoError(t, err, "%s", e) {
			assert.Equal(t, chosen, r.ParityChoice, "%s", e)
			assert.Empty(t, r.Broken(), "%s", e)
		}
	case "notify_match_result", "game_over":
		even, number, winner := "even", 7, (*string)(nil)
		q := &protocol.GameOver{
			Envelope: a.voiced(sender, protocol.TypeGameOver, e), MatchID: id, GameType: "even_odd",
			GameResult: &protocol.GameResult{
				Status: protocol.StatusDraw, WinnerPlayerID: winner, DrawnNumber: &number, NumberParity: &even,
				Choices: protocol.Both("P01", &even, "P02", &even), Reason: "a draw",
			},
		}
		_, err := protocol.NotifyMatchResult.Call(a.w.life, a.referee, to, q)
		assert.NoError(t, err, "%s", e)
	case "report_match_result", "match_result_report":
		number, even := 7, "even"
		q := &protocol.MatchResultReport{
			Envelope: a.voiced(sender, protocol.TypeMatchResultReport, e), LeagueID: leagueID, RoundID: 1, MatchID: id, GameType: "even_odd", Attempt: 1,
			Result: protocol.MatchResult{
				Score:   protocol.Both("P01", 1, "P02", 1),
				Details: &protocol.ResultDetails{DrawnNumber: &number, Choices: protocol.Both("P01", &even, "P02", &even), Status: protocol.StatusDraw},
			},
		}
		_, err := protocol.ReportMatchResult.Call(a.w.life, a.referee, to, q)
		assert.NoError(t, err, "%s", e)
	case "assign_match", "start_match_command", "/run_match":
		a.start(e, to)
	default:
		require.Fail(t, "no agent makes this call: "+e.method(), "%s", e)
	}
}

func (a *askers) registerReferee(e *exchange, to protocol.Peer) {
	endpoint := contact(e.Request)
	q := &protocol.RefereeRegisterRequest{
		Envelope: protocol.NewStamp(protocol.RefereeSender("our-referee"), a.w.clock).Envelope(protocol.TypeRefereeRegisterRequest, "conv-ref-1"),
		RefereeMeta: protocol.RefereeMeta{
			DisplayName: "Ours", Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{"even_odd"},
			ContactEndpoint: endpoint, MaxConcurrentMatches: 2,
		},
	}
	r, err := protocol.RegisterReferee.Call(a.w.life, a.w.asker(endpoint), to, q)
	if !assert.NoError(a.w.t, err, "%s", e) ||
		!assert.NoError(a.w.t, membership.Admitted(&r.Registration, r.RefereeID, r.AuthToken), "%s", e) {
		return
	}
	assert.Equal(a.w.t, text(e.Response, "result", "referee_id"), *r.RefereeID, "%s", e)
	a.admitted(e, r.AuthToken, r.LeagueID)
}

func (a *askers) registerPlayer(e *exchange, to protocol.Peer) {
	endpoint := contact(e.Request)
	q := &protocol.LeagueRegisterRequest{
		Envelope: protocol.NewStamp(protocol.PlayerSender("our-player"), a.w.clock).Envelope(protocol.TypeLeagueRegisterRequest, "conv-player-1"),
		PlayerMeta: protocol.PlayerMeta{
			DisplayName: "Ours", Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{"even_odd"}, ContactEndpoint: endpoint,
		},
	}
	r, err := protocol.RegisterPlayer.Call(a.w.life, a.w.asker(endpoint), to, q)
	if !assert.NoError(a.w.t, err, "%s", e) ||
		!assert.NoError(a.w.t, membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken), "%s", e) {
		return
	}
	assert.Equal(a.w.t, text(e.Response, "result", "player_id"), *r.PlayerID, "%s", e)
	a.admitted(e, r.AuthToken, r.LeagueID)
}

// admitted checks that token and league are the captured ones, if there are any.
func (a *askers) admitted(e *exchange, token, league string) {
	if was := text(e.Response, "result", "auth_token"); was != "" {
		assert.Equal(a.w.t, was, token, "%s", e)
	}
	if was := text(e.Response, "result", "league_id"); was != "" {
		assert.Equal(a.w.t, was, league, "%s", e)
	}
}

// start assigns a match to a referee.
func (a *askers) start(e *exchange, to protocol.Peer) {
	entrant := func(id string, port int) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{PlayerID: id, Endpoint: at(port), DisplayName: id, AccessToken: "secret-" + id}
	}
	q := &protocol.MatchAssignment{
		Envelope: a.voiced(protocol.ManagerSender, protocol.TypeMatchAssignment, e), LeagueID: leagueID, RoundID: 1, MatchID: a.match(e), Attempt: 1,
		GameType: "even_odd", PlayerA: entrant("P01", 8101), PlayerB: entrant("P02", 8102),
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: protocol.Scoring{Win: 3, Draw: 1},
	}
	r, err := protocol.StartMatch.Call(a.w.life, a.manager, to, q)
	if assert.NoError(a.w.t, err, "%s", e) {
		assert.Equal(a.w.t, protocol.StatusAccepted, r.Status, "%s", e)
		assert.Equal(a.w.t, a.match(e), r.MatchID, "%s", e)
	}
}
