package conformance_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// ourReferee runs a referee of ours that finds its manager at an address; a
// tamper that is not nil makes a bad one of it. Its game is even_odd unless another is
// given.
func ourReferee(t *testing.T, manager net.Listener, atOnce int, bad *tamper, game ...rules.Game) (url string) {
	t.Helper()
	game = append(game, evenodd.Game{})
	l := openPort(t)
	var caller protocol.Caller = outward(t)
	if bad != nil {
		caller = tamperedCaller{caller, bad}
	}
	r, err := referee.New(referee.Options{
		Name: "Referee", Endpoint: at(l), Manager: at(manager), MaxConcurrent: atOnce,
		Games: rules.NewRegistry(game[0]), Caller: caller, Clock: protocol.SystemClock(), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	serve(t, l, bad, r.Mount)
	life, end := context.WithCancel(context.Background())
	registered := make(chan struct{})
	go func() { defer close(registered); _ = r.Register(life) }()
	t.Cleanup(func() { end(); <-registered; r.Close() })
	return at(l)
}

func TestOurRefereeConforms(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]int{"one match at once": 1, "several": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openPort(t)
			report, err := conformance.Check(context.Background(), conformance.Options{
				Role: conformance.Referee, URL: ourReferee(t, l, atOnce, nil), Listener: l,
			})
			require.NoError(t, err)
			holds(t, report)
			assert.Less(t, report.TookMS, time.Minute.Milliseconds())
			t.Logf("took %d ms", report.TookMS)
		})
	}
}

// Some referees answer the start of a match when the match is over.
func TestRefereeThatAnswersTheStartLateConductsMatches(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	late := &tamper{response: func(method string, _, _ object) {
		if method == protocol.StartMatch.Name {
			<-over
		}
	}}
	l := openPort(t)
	r, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Referee, URL: ourReferee(t, l, 1, late), Listener: l, Patience: time.Second,
		Selection: conformance.Selection{Only: []string{"R-STA-01"}},
	})
	require.NoError(t, err)
	holds(t, r)
}
