package conformance_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
	"evenodd/league/dialect"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
	"evenodd/transport/http"
)

// openPort opens a port that nobody has.
func openPort(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	return l
}

// at is the URL of whoever listens.
func at(l net.Listener) string { return "http://" + l.Addr().String() + http.Path }

// examineOurPlayer examines the player of this repository, wired as the command wires it.
func examineOurPlayer(t *testing.T, game rules.Game) *conformance.Report {
	t.Helper()
	door, desk := openPort(t), openPort(t)
	speak := dialect.New(dialect.Options{Endpoint: at(door), Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	client := http.NewClient(http.ClientConfig{MaxReply: 1 << 20, Dialect: speak})
	defer client.Close()
	decide, err := strategy.New("random")
	require.NoError(t, err)
	p, err := player.New(player.Options{
		Name: "Ours", Games: []string{game.Info().Type}, Endpoint: at(door), Manager: at(desk), Strategy: decide,
		Caller: client, Clock: protocol.SystemClock(), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	mux := transport.NewMux(zerolog.Nop())
	p.Mount(mux)
	server := http.NewServer(mux, http.Config{MaxBody: 1 << 20, Trusts: p.KnowsManager, Dialect: speak})
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, server.Serve(door)) })
	running.Go(func() { assert.NoError(t, p.Register(t.Context())) })

	r, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Player, URL: at(door), Game: game, Listener: desk, Wait: time.Minute,
	})
	require.NoError(t, err)
	select {
	case <-p.Done():
	default:
		assert.Fail(t, "the examination ends the player's league")
	}
	require.NoError(t, server.Shutdown(context.WithoutCancel(t.Context())))
	running.Wait()
	assert.NoError(t, p.Close())
	return r
}

func TestOurPlayerConforms(t *testing.T) {
	holds(t, examineOurPlayer(t, evenodd.Game{}))
}

// What a game does not have is skipped; the rest holds in every game.
func TestOurAgentsConformInEveryGame(t *testing.T) {
	t.Parallel()
	inTurn := []string{"R-CHO-03", "R-CHO-04", "R-CHO-07"} // the other's choice is no secret
	undrawn := []string{"P-MET-02", "P-CHO-09", "R-OVR-03", "R-DRW-01", "M-END-06"}
	for _, test := range []struct {
		game    rules.Game
		skipped []string
	}{
		{rockpaperscissors.Game{}, undrawn},
		{tictactoe.Game{}, append(inTurn, undrawn...)},
	} {
		t.Run(test.game.Info().Type, func(t *testing.T) {
			t.Parallel()
			holds(t, examineOurPlayer(t, test.game), test.skipped...)
			l := openPort(t)
			r, err := conformance.Check(t.Context(), conformance.Options{
				Role: conformance.Referee, URL: ourReferee(t, l, 4, nil, test.game), Game: test.game, Listener: l,
			})
			require.NoError(t, err)
			holds(t, r, test.skipped...)
			url, _ := ourManager(t, 4, 1, nil, test.game)
			r, err = conformance.Check(t.Context(), conformance.Options{Role: conformance.Manager, URL: url, Game: test.game, Listener: openPort(t)})
			require.NoError(t, err)
			holds(t, r, test.skipped...)
		})
	}
}
