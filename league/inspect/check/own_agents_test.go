package check_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
)

// serveOwn serves one of this program's agents as cmd does, or through a tamper.
func (n *network) serveOwn(l net.Listener, bad *tamper, mount func(protocol.Mux), config http.Config) {
	n.Helper()
	mux := transport.NewMux(zerolog.Nop())
	mount(mux)
	if bad != nil {
		n.serveAt(l, bad.handler(mux))
		return
	}
	server := http.NewServer(mux, config)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	n.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ended)
		<-served
	})
}

func (n *network) caller(bad *tamper, config http.ClientConfig) protocol.Caller {
	n.Helper()
	config.Dial = n.dial
	c := http.NewClient(config)
	n.Cleanup(c.Close)
	if bad != nil {
		return tamperedCaller{c, bad}
	}
	return c
}

// ownManager runs a league for so many players and referees. A tamper that is not nil
// plants a defect. The game is even_odd unless another is given.
func ownManager(n *network, players, referees int, bad *tamper, game ...rules.Game) (url string, running *manager.Manager) {
	n.Helper()
	game = append(game, evenodd.Game{})
	l := n.open()
	secret := [32]byte{1}
	o := manager.Options{Created: leaguetest.Rules("league_check", game[0].Info().Type, players, referees),
		Games:  rules.NewRegistry(game[0]),
		Secret: &secret, Caller: n.caller(bad, http.ClientConfig{MaxReply: 64 << 10}), Clock: protocol.SystemClock(), Log: zerolog.Nop(),
	}
	if n.program != nil {
		o.Program = n.program
	}
	m, err := manager.New(o)
	require.NoError(n, err)
	life, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	n.serveOwn(l, bad, m.Mount, http.Config{MaxBody: 10 << 10})
	go func() { defer close(over); _, _ = m.Run(life) }()
	n.Cleanup(func() { end(); <-over })
	return urlOf(l), m
}

// programs are what a referee asks; nil for a game of this program.
func (n *network) programs() map[string]referee.Program {
	if n.program == nil {
		return nil
	}
	return map[string]referee.Program{n.program.Rules().Info().Type: n.program}
}

// ownReferee runs a referee that finds its manager at an address. A tamper that is not nil
// plants a defect. The game is even_odd unless another is given.
func ownReferee(n *network, manager net.Listener, atOnce int, bad *tamper, game ...rules.Game) (url string) {
	n.Helper()
	game = append(game, evenodd.Game{})
	l := n.open()
	r, err := referee.New(referee.Options{
		Options: membership.Options{
			Name: "Referee", Endpoint: urlOf(l), Manager: urlOf(manager),
			Caller: n.caller(bad, http.ClientConfig{MaxReply: 64 << 10}), Clock: protocol.SystemClock(), Log: zerolog.Nop(),
		},
		MaxConcurrent: atOnce, Games: rules.NewRegistry(game[0]), Programs: n.programs(),
	})
	require.NoError(n, err)
	n.serveOwn(l, bad, r.Mount, http.Config{MaxBody: 10 << 10})
	life, end := context.WithCancel(context.Background())
	registered := make(chan struct{})
	go func() { defer close(registered); _ = r.Register(life) }()
	n.Cleanup(func() { end(); <-registered; r.Close() })
	return urlOf(l)
}

// checkOwnPlayer examines a player of this program, wired as the command wires it.
func checkOwnPlayer(n *network, game rules.Game) *check.Report {
	n.Helper()
	agent, manager := n.open(), n.open()
	speak := bridge.New(bridge.Options{Endpoint: urlOf(agent), Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	decide, err := strategy.New("random")
	require.NoError(n, err)
	p, err := player.New(player.Options{
		Options: membership.Options{
			Name: "Own", Endpoint: urlOf(agent), Manager: urlOf(manager),
			Caller: n.caller(nil, http.ClientConfig{MaxReply: 1 << 20, Dialect: speak}), Clock: protocol.SystemClock(),
			Log: zerolog.Nop(),
		},
		Games: []string{game.Info().Type}, Strategy: decide,
	})
	require.NoError(n, err)
	n.serveOwn(agent, nil, p.Mount, http.Config{MaxBody: 1 << 20, Identify: p.Identify, Dialect: speak})
	registered := make(chan struct{})
	go func() { defer close(registered); assert.NoError(n, p.Register(n.Context())) }()
	r := n.check(check.Options{Role: check.Player, URL: urlOf(agent), Game: game, Listener: manager, Wait: time.Minute})
	select {
	case <-p.Done():
	default:
		assert.Fail(n, "the examination ends the player's league")
	}
	<-registered
	assert.NoError(n, p.Close())
	return r
}

// requirePasses fails with every finding that is not a pass. The requirements in skipped
// may be skipped.
func requirePasses(n *network, r *check.Report, skipped ...string) {
	n.Helper()
	for _, f := range r.Findings {
		allowed := f.Verdict == check.Pass || f.Verdict == check.Skipped && slices.Contains(skipped, f.ID)
		if !allowed {
			assert.Fail(n, f.ID+" "+string(f.Level)+" "+string(f.Verdict)+": "+f.Detail, "%s\n%+v", f.Text, f.Exchanges)
		}
	}
	assert.True(n, r.Conforms())
}

func TestOwnRefereeOfOneMatchAtOnceConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		l := n.open()
		report := n.check(check.Options{Role: check.Referee, URL: ownReferee(n, l, 1, nil), Listener: l})
		requirePasses(n, report)
		assert.Less(n, report.TookMS, time.Minute.Milliseconds())
	})
}

func TestOwnManagerConforms(t *testing.T) {
	t.Parallel()
	t.Run("2 players and 2 referees", func(t *testing.T) {
		inVirtualTime(t, func(n *network) {
			url, _ := ownManager(n, 2, 2, nil)
			report := n.check(check.Options{Role: check.Manager, URL: url, Listener: n.open(), Players: 2, Referees: 2})
			requirePasses(n, report, "M-AUT-04")
			assert.Less(n, report.TookMS, (30 * time.Second).Milliseconds())
		})
	})
	t.Run("started by the operator", func(t *testing.T) {
		inVirtualTime(t, func(n *network) {
			url, manager := ownManager(n, 0, 1, nil)
			report := n.check(check.Options{
				Role: check.Manager, URL: url, Listener: n.open(), Admin: manager.AdminToken(),
			})
			requirePasses(n, report)
			assert.Less(n, report.TookMS, (30 * time.Second).Milliseconds())
		})
	})
}

// A requirement that a game does not have is skipped; the others hold in every game.
func TestOwnAgentsConformInEveryGame(t *testing.T) {
	t.Parallel()
	cells, cards := rulestest.NewProgram("cells", tictactoe.Game{}), rulestest.NewProgram("cards", kuhnpoker.Game{})
	inTurn := []string{"R-CHO-03"} // the choice of the opponent is no secret
	for _, test := range []struct {
		game    rules.Game
		program *rulestest.Program
		skipped []string
	}{
		{evenodd.Game{}, nil, nil},
		{rockpaperscissors.Game{}, nil, nil},
		{tictactoe.Game{}, nil, inTurn},
		{connectfour.Game{}, nil, inTurn},
		{kuhnpoker.Game{}, nil, inTurn},
		{pig.Game{}, nil, inTurn},
		{cells.Rules(), cells, inTurn},
		{cards.Rules(), cards, inTurn},
	} {
		t.Run(test.game.Info().Type, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				n.program = test.program
				requirePasses(n, checkOwnPlayer(n, test.game), test.skipped...)
				l := n.open()
				r := n.check(check.Options{Role: check.Referee, URL: ownReferee(n, l, 4, nil, test.game), Game: test.game, Listener: l})
				requirePasses(n, r, test.skipped...)
				url, _ := ownManager(n, 4, 1, nil, test.game)
				r = n.check(check.Options{Role: check.Manager, URL: url, Game: test.game, Listener: n.open()})
				requirePasses(n, r, test.skipped...)
			})
		})
	}
}
