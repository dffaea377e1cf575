package manager_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/memory"
)

// A league of two players over the memory bus. Package simulation runs leagues of any size like
// this; the commands do it over HTTP.
func ExampleManager() {
	ctx, log, clock, bus := context.Background(), zerolog.Nop(), protocol.SystemClock(), memory.NewBus()
	games := rules.NewRegistry(evenodd.Game{})
	manager, err := manager.New(manager.Options{
		Created: journal.Created{LeagueID: "example", GameType: evenodd.Type, Configuration: journal.Configuration{
			Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
			Participants: journal.Participants{Players: 2, Referees: 1},
		}},
		Games: games, Schemes: []string{"memory"}, Caller: bus, Clock: clock, Log: log,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var serving []func()
	serve := func(endpoint string, agent interface{ Mount(protocol.Mux) }) {
		mux := transport.NewMux(log)
		agent.Mount(mux)
		serving = append(serving, bus.Listen(endpoint, mux))
	}
	options := func(name string) membership.Options {
		return membership.Options{Name: name, Endpoint: "memory://" + name + "/mcp", Manager: "memory://manager/mcp", Caller: bus, Clock: clock, Log: log}
	}
	serve("memory://manager/mcp", manager)
	var completed *protocol.LeagueCompleted
	var running sync.WaitGroup
	running.Go(func() { completed, err = manager.Run(ctx) })
	judge, refused := referee.New(referee.Options{Options: options("ref"), MaxConcurrent: 1, Games: games})
	if refused != nil {
		fmt.Println(refused)
		return
	}
	serve("memory://ref/mcp", judge)
	problems := []error{judge.Register(ctx)}
	for _, name := range []string{"ann", "bob"} {
		always, _ := strategy.New("even")
		p, err := player.New(player.Options{Options: options(name), Games: games.Types(), Strategy: always})
		if err != nil {
			fmt.Println(err)
			return
		}
		serve("memory://"+name+"/mcp", p)
		problems = append(problems, p.Register(ctx))
	}
	running.Wait()
	fmt.Println(completed.TotalRounds, "round,", completed.TotalMatches, "match,", errors.Join(append(problems, err)...))
	for _, row := range manager.Standings() {
		fmt.Println(row.PlayerID, row.DisplayName, row.Points)
	}
	for _, stop := range serving {
		stop()
	}
	// Output:
	// 1 round, 1 match, <nil>
	// P01 ann 1
	// P02 bob 1
}
