package cmd

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"evenodd/league/protocol"
	"evenodd/player/strategy/external"
	"evenodd/transport/mcp"
)

// A seat is the player of 'evenodd mcp --play', which its host decides for. The command line alone
// says where it plays and what it writes.
type seat struct {
	playerOptions

	play  bool          // --play
	over  chan struct{} // closed when the player has ended
	final played
	err   error
}

// flags defines the flags.
func (p *seat) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.play, "play", false, "take part in the league of --manager as a player, for whom the host decides; "+
		"--data keeps its identity and history. --name, --host, --port, --endpoint, --registration-code and --fallback are "+
		"for it, as those of evenodd player")
	p.address.ports = ports{8101, 8150}
	var all pflag.FlagSet
	p.playerOptions.flags(&all, "player-id", "P01", "8101 to 8199")
	botFlags(&all, &p.tools, &p.prompt)
	for _, name := range strings.Fields("name host port endpoint registration-code fallback") {
		f.AddFlag(all.Lookup(name))
	}
}

// start starts the player, and returns its tools. The caller must call stop, which lets a running match end.
func (p *seat) start(ctx context.Context, d *desktop) (tools []mcp.Tool, stop func(), err error) {
	o := &p.playerOptions
	o.Manager, o.data, o.ca, o.ID = d.query.manager, d.query.data, d.query.ca, d.query.id
	o.strategy, o.tools.Hosted, o.logLevel, o.count = external.HostName, true, "warn", 1
	if o.verify = verifyAnnounced; d.query.leagueID != "" {
		o.Leagues = []string{d.query.leagueID}
	}
	if o.games, err = o.preset(d.files, protocol.RolePlayer); err != nil {
		return nil, nil, err
	}
	if err := o.prepare(ctx, d.streams); err != nil {
		return nil, nil, err
	}
	l, err := o.address.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	decides, err := external.Open(o.strategy, o.tools)
	if err != nil {
		_ = l.Close()
		return nil, nil, asUsage(err)
	}
	o.seated = decides.(*external.Host)
	p.over = make(chan struct{})
	stop = background(func(ctx context.Context) {
		defer close(p.over)
		p.playUntilOver(ctx, d, l)
	})
	access := &hostAccess{host: o.seated, over: p.over}
	return append(access.openTools(), withArguments(mcp.Tool{
		Name: "read_result", Title: "Result of the player", ReadOnly: true,
		Description: "Waits until the league of this player is over, and returns its record and the champion. Returns " +
			"over: false after timeout_sec." + untrusted,
		Input: waitSchema(), Output: resultSchema[seatResult](),
	}, waitRequest{usualWait}, p.result)), stop, nil
}

// playUntilOver plays. The host reads what happened by read_result; people read it on standard error.
func (p *seat) playUntilOver(ctx context.Context, d *desktop, l net.Listener) {
	p.final, p.err = p.playerOptions.play(ctx, d.streams, d.files, l)
	if p.err != nil && ctx.Err() == nil {
		printError(d.err, p.err)
	}
}

// seatResult is the result of read_result.
type seatResult struct {
	Over     bool   `json:"over"`
	Player   string `json:"player_id,omitzero"`
	Record   string `json:"record,omitzero"`
	Champion string `json:"champion,omitzero"`
}

func (p *seat) result(ctx context.Context, _ string, given *waitRequest) (any, error) {
	select {
	case <-p.over:
	case <-time.After(time.Duration(given.Seconds) * time.Second):
		return seatResult{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.err != nil {
		return nil, p.err
	}
	return seatResult{true, p.final.PlayerID, p.final.summary(), championOf(p.final.Champion)}, nil
}
