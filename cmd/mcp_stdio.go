package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/transport/mcp"
)

// A desktop serves a desktop host: it is an MCP server on the standard streams, with
// tools that query a manager, show a match, test an agent and simulate a league.
//
// A model calls the tools, and other agents choose text that the model reads (prompt
// injection). The tools therefore start no program, write no file, read no path that an
// argument names, and call only the manager and the agents that its league may call.
type desktop struct {
	streams

	query   agentAccess // of each query
	ca      string      // file of authorities to trust, or ""
	meet    rendezvous  // where an agent under test finds its manager
	files   *config.Loader
	caller  protocol.Caller
	allowed []string      // networks of agents under test, as newGuard has them
	turn    chan struct{} // taken by a test or a simulation: one runs at a time
}

// newMCP makes 'evenodd mcp', the MCP server for a desktop host.
func newMCP(s streams, data *dataFolder) *cobra.Command {
	d := &desktop{streams: s, turn: make(chan struct{}, 1)}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve a desktop assistant on standard input and output (MCP)",
		Long: `Serve one host of the Model Context Protocol, such as a desktop assistant, on standard input and output. The
tools (docs/mcp.md):

    standings, schedule, next_match   query the manager at --manager, or the
                                      folder --data if none answers
    replay_match                      a finished match in the folder --data
    check_agent                       tests an agent, as evenodd check does
    simulate_league                   plays a league of built-in strategies

Queries need the token of a registered agent, as an agent that calls evenodd league does. The tools write no file and start no
program. check_agent calls only this machine, unless the league's file in --data has allowed_endpoints, and never the
manager at --manager.`,
		Example: examples(
			"What a desktop assistant starts", "evenodd mcp",
			"Query the league as player P01", "evenodd mcp --data ./SHARED --id P01",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			d.files = data.loader
			d.query.ofFolder = c.Flags().Changed("id")
			d.meet.isGiven(c.Flags().Changed)
			return d.run(c.Context(), c.InOrStdin(), c.Root().Version)
		},
	}
	f := c.Flags()
	managerFlag(f, &d.query.manager)
	tlsCAFlag(f, &d.ca)
	dataFlag(f, &d.query.data, defaultData)
	f.StringVar(&d.query.id, "id", "", "agent in the data folder whose token to use, such as P01")
	f.StringVar(&d.query.leagueID, "league-id", "", "league of the queries (default: the league of the agent)")
	d.meet.flags(f, "an agent that check_agent tests finds")
	return c
}

// run serves the host until it closes standard input.
func (d *desktop) run(ctx context.Context, in io.Reader, version string) error {
	if err := completeManager(&d.query.manager); err != nil {
		return err
	}
	system, _ := d.files.System() // the flags needed it already
	league, err := d.files.League(cmp.Or(d.query.leagueID, system.DefaultLeagueID))
	if err != nil {
		return asUsage(err)
	}
	d.allowed = league.AllowedEndpoints
	n, err := newNode(nodeOptions{maxReply: maxFromManager, ca: d.ca, log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer n.close()
	d.caller = n.caller
	server := mcp.NewServer(mcp.Options{
		Name: "evenodd", Title: "Leagues of autonomous agents", Version: version,
		Instructions: "This server shows a league of agents: its manager at " + d.query.manager + ", and its files. " +
			"It also tests an agent, and simulates leagues." + untrusted,
		Tools: append(d.queryTools(), d.replayTool(), d.checkTool(), d.simulateTool()),
	})
	err = server.Run(ctx, in, d.out)
	switch {
	case ctx.Err() != nil:
		return interrupted("The MCP server has stopped.")
	case err != nil:
		return fmt.Errorf("standard input and output must be those of an MCP host: %w", err)
	}
	return nil
}

// guard returns the guard of a test, against SSRF: a model chooses the URL.
func (d *desktop) guard(ctx context.Context) *guard {
	g := newGuard("localhost", d.allowed)
	u, _ := url.Parse(d.query.manager) // run has checked it
	host, port, _ := net.SplitHostPort(protocol.HostPort(u))
	if addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // run has checked it
		g.own = netip.AddrPortFrom(addresses[0], uint16(n))
	}
	return g
}

// alone waits until no other test or simulation runs. The caller must call done.
func (d *desktop) alone(ctx context.Context) (done func(), err error) {
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
