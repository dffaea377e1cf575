package manager_test

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/transport"
	"evenodd/transport/http"
)

// longGame is a game of 20 turns with moves of 2,000 bytes. PLAYER_A wins.
type longGame struct{ turn int }

func (longGame) Info() rules.Info {
	return rules.Info{Type: "long", DisplayName: "Long", MoveTypes: []string{"say"}, MaxMoves: 10, Large: true}
}

func (longGame) MaxTurns() int         { return 20 }
func (longGame) Start() rules.Position { return longGame{} }
func (g longGame) ToMove() []rules.Side {
	if g.turn == 20 {
		return nil
	}
	return []rules.Side{rules.Side(g.turn % 2)}
}

func (g longGame) Ask(rules.Side) rules.Question {
	return rules.Question{MoveType: "say", Options: []string{strings.Repeat("x", protocol.MaxMove)},
		View: strconv.Itoa(g.turn)}
}
func (longGame) Check(rules.Side, string) error   { return nil }
func (g longGame) Play([2]string) rules.Position  { return longGame{g.turn + 1} }
func (longGame) Judge(rules.Chance) rules.Verdict { return rules.Verdict{Explain: explained} }
func explained(rules.Verdict, [2]string) string   { return "so it is" }

// limitedNet is HTTP with the limits that the command manager sets.
type limitedNet struct {
	*leaguetest.PipeNetwork

	w         *leaguetest.World
	maxBearer int64
}

func (n *limitedNet) Listen(host string, mux *transport.Mux, scripted bool) func() {
	if host != leaguetest.ManagerHost {
		return n.PipeNetwork.Listen(host, mux, scripted)
	}
	return n.Serve(host, http.NewServer(mux, http.Config{
		MaxBody: 10 << 10, MaxBearerBody: n.maxBearer,
		Identify: func(bearer string, body []byte) string { return n.w.Manager.Identify(bearer, body) },
		TooLarge: func(ctx context.Context, limit int64) error { return n.w.Manager.TooLarge(ctx, limit) },
	}))
}

func limitTo(w *leaguetest.World, maxBearer int64) {
	w.Network = &limitedNet{w.Network.(*leaguetest.PipeNetwork), w, maxBearer}
	w.Untrusted = w.Caller("untrusted", 1<<20)
}

// The report of a match of long moves has more than 40 KB.
func TestLongReportIsRecordedInALeagueOfALargeGame(t *testing.T) {
	leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
		limitTo(w, 64<<10)
		playsProgram(w, longGame{})
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		w.RefereeWithFiles("REF01", x.Folder)
		w.Players(2)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		state, _ := w.FoldJournal(x.Folder)
		r := state.Match(league.MatchID{Round: 1, Number: 1}).Report
		require.NotNil(t, r)
		assert.Equal(t, league.StatusWin, r.Status)
		assert.Len(t, protocol.ValueOf(r.Choices[0].Value), protocol.MaxMove)
		assert.Greater(t, len(w.OnlyCall(protocol.ReportMatchResult.Name, "manager").Message), 40<<10)
	})
}

// A message of more than 10 KB needs a valid credential that comes before it, and a league of a large game.
func TestLimitsOfAMessage(t *testing.T) {
	const usual, large = 10 << 10, 64 << 10
	for name, tt := range map[string]struct {
		bytes     int    // of a request
		maxBearer int64  // 0 in a league of any other game
		bearer    string // "token" is that of the referee
		refused   bool
	}{
		"the usual limit":              {usual, 0, "", false},
		"more":                         {usual + 1, 0, "", true},
		"more, with a token":           {usual + 1, 0, "token", true},
		"in a large game":              {large, large, "token", false},
		"more in a large game":         {large + 1, large, "token", true},
		"in a large game, no token":    {usual + 1, large, "", true},
		"in a large game, as usual":    {usual, large, "", false},
		"in a large game, wrong token": {usual + 1, large, "wrong", true},
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
				limitTo(w, tt.maxBearer)
				w.StartManager(0, 1)
				w.Referee("REF01")
				body := `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`
				q, err := nethttp.NewRequestWithContext(w.Context, nethttp.MethodPost,
					leaguetest.EndpointOf(leaguetest.ManagerHost),
					strings.NewReader(body+strings.Repeat(" ", tt.bytes-len(body))))
				require.NoError(t, err)
				q.Header.Set("Content-Type", "application/json")
				if tt.bearer == "token" {
					tt.bearer = w.Token("REF01")
				}
				q.Header.Set("Authorization", "Bearer "+tt.bearer)
				dial := w.Network.(*limitedNet).Dial
				client := &nethttp.Client{Transport: &nethttp.Transport{DialContext: dial, DisableKeepAlives: true}}
				response, err := client.Do(q)
				require.NoError(t, err)
				answer, err := io.ReadAll(response.Body)
				require.NoError(t, errors.Join(err, response.Body.Close()))
				assert.Equal(t, tt.refused, response.StatusCode == nethttp.StatusRequestEntityTooLarge, "%s", answer)
				w.WaitUntil(leaguetest.Second) // the server lets a refused caller read the answer before it closes the connection
				assert.Equal(t, tt.refused, strings.Contains(string(answer), string(protocol.ErrMessageTooLarge)), "%s", answer)
			})
		})
	}
}
