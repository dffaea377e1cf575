package leaguetest

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// AssertRefused checks the code of an error that another agent returned.
func AssertRefused(t *testing.T, err error, code protocol.Code, rpc int) {
	t.Helper()
	e := protocol.AsError(err)
	if assert.NotNil(t, e, "an error was expected, got %v", err) {
		assert.Equal(t, code, e.Code, e.Error())
		assert.Equal(t, rpc, e.RPC, e.Error())
	}
}

// ContradictoryReport is a report of R1M1 with the wrong winner: P01 chose even, P02 odd,
// the number was 8, and P02 wins.
func (w *World) ContradictoryReport(refereeID string) *protocol.MatchResultReport {
	q := w.WinReport(refereeID)
	other := "P02"
	q.Result.WinnerPlayerID = &other
	return q
}

// A Query is a LEAGUE_QUERY that is not yet sent.
type Query struct {
	protocol.LeagueQuery
	W *World
}

func (w *World) Query(id, queryType string) *Query {
	sender := protocol.PlayerSender(id)
	if _, ok := league.ParseRefereeID(id); ok {
		sender = protocol.RefereeSender(id)
	}
	q := &Query{protocol.LeagueQuery{
		Envelope: protocol.NewStamp(sender, w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-query"),
		LeagueID: LeagueID, QueryType: queryType,
	}, w}
	q.AuthToken = w.Token(id)
	return q
}

func (q *Query) Send() (*protocol.LeagueQueryResponse, error) {
	return protocol.Query.Call(q.W.Context, q.W.Untrusted, q.W.ManagerPeer(), &q.LeagueQuery)
}

// AcceptMatch accepts a match and does not conduct it.
func (w *World) AcceptMatch(c *Call) (jsontext.Value, error) {
	q := Decode[protocol.MatchAssignment](c.Message)
	return Encode(protocol.MatchAssignmentAck{
		Envelope: protocol.NewStamp("referee:script", w.Clock).Envelope(protocol.StartMatch.Result, q.ConversationID),
		Status:   protocol.StatusAccepted, MatchID: q.MatchID, Attempt: q.Attempt,
	}), nil
}

// OnlyAccepting is the option of a referee that accepts matches and does not conduct them.
func (w *World) OnlyAccepting() Option { return On(protocol.StartMatch.Name, w.AcceptMatch) }

// ReportOf is a report of a referee that is not yet sent.
func (w *World) ReportOf(refereeID, matchID string, winner *string, a, b string, scoreA,
	scoreB int) *protocol.MatchResultReport {
	id, _ := league.ParseMatchID(matchID)
	q := &protocol.MatchResultReport{
		Envelope: protocol.NewStamp(protocol.RefereeSender(refereeID), w.Clock).Envelope(protocol.TypeMatchResultReport,
			"conv-report"),
		LeagueID: LeagueID, RoundID: id.Round, MatchID: matchID, GameType: evenodd.Type,
		Result: protocol.ReportedResult{Result: league.Result{WinnerPlayerID: winner}, Score: league.Both(a, scoreA, b, scoreB)},
	}
	q.AuthToken = w.Token(refereeID)
	return q
}

// WinReport is the report that P01 wins R1M1 against P02.
func (w *World) WinReport(refereeID string) *protocol.MatchResultReport {
	winner, number, even, odd := "P01", 8, "even", "odd"
	q := w.ReportOf(refereeID, "R1M1", &winner, "P01", "P02", 3, 0)
	q.Result.Status, q.Result.DrawnNumber, q.Result.Choices = league.StatusWin, &number, league.Both("P01", &even, "P02", &odd)
	return q
}

func (w *World) Report(q *protocol.MatchResultReport) (*protocol.Ack, error) {
	return protocol.ReportMatchResult.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

// StartReporting starts a league of four players. Its two referees accept matches and
// leave the reports to the test: R1M1 belongs to REF01, R1M2 to REF02.
func (w *World) StartReporting() {
	w.T.Helper()
	w.StartManager(4, 2)
	w.Referee("REF01", w.OnlyAccepting())
	w.Referee("REF02", w.OnlyAccepting())
	w.Players(4)
	w.WaitUntil(Second)
	require.Equal(w.T, "RUNNING_LEAGUE", w.Manager.Status().State)
}

// Application is a registration of a player that the manager accepts.
func (w *World) Application(name string) *protocol.LeagueRegisterRequest {
	host := strings.ToLower(name)
	return &protocol.LeagueRegisterRequest{
		Envelope: protocol.NewStamp(protocol.PlayerSender(host), w.Clock).
			Envelope(protocol.TypeLeagueRegisterRequest, "conv-"+host),
		PlayerMeta: protocol.PlayerMeta{
			AgentMeta: protocol.AgentMeta{DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{evenodd.Type}, ContactEndpoint: EndpointOf(host)},
		},
	}
}

// RefereeApplication is a registration of a referee that the manager accepts.
func (w *World) RefereeApplication(name string) *protocol.RefereeRegisterRequest {
	host := strings.ToLower(name)
	if league.CheckNewName(name) != nil { // the test names it by its id
		name = "Referee " + name
	}
	return &protocol.RefereeRegisterRequest{
		Envelope: protocol.NewStamp(protocol.RefereeSender(host), w.Clock).
			Envelope(protocol.TypeRefereeRegisterRequest, "conv-"+host),
		RefereeMeta: protocol.RefereeMeta{
			AgentMeta:            protocol.AgentMeta{DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{evenodd.Type}, ContactEndpoint: EndpointOf(host)},
			MaxConcurrentMatches: 1,
		},
	}
}

// PingOnly starts an agent that answers ping and nothing else.
func (w *World) PingOnly(host string) *Agent {
	a := NewAgent(host, nil)
	a.Script = Script{protocol.Ping.Name: AnswerWith(map[string]string{"message_type": "PONG", "status": "ok"})}
	w.Open(a, w.ScriptMux(a.Script))
	return a
}

func (w *World) ManagerPeer() protocol.Peer { return protocol.Peer{Endpoint: EndpointOf(ManagerHost)} }

func (w *World) Apply(q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	return protocol.RegisterPlayer.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

func (w *World) ApplyReferee(q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	return protocol.RegisterReferee.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

// RunAt calls do at a time of the World.
func (w *World) RunAt(moment time.Duration, do func()) {
	w.Background.Go(func() {
		time.Sleep(moment - w.Now())
		do()
	})
}
