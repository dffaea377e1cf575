package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/player"
)

// mostPlayers is the largest number of players in one process. Each has a port, a client
// and open files.
const mostPlayers = 1000

// checkCount returns an error for a --count that does not fit the other flags.
func (o *playerOptions) checkCount() error {
	first, last := o.address.ports.first, o.address.ports.last
	switch {
	case o.count < 1 || o.count > mostPlayers:
		return usage("--count %d: must be from 1 to %d", o.count, mostPlayers)
	case o.count == 1:
		return nil
	case o.id != "":
		return usage("--id %s: belongs to one player; leave it out with --count %d", o.id, o.count)
	case o.address.endpoint != "":
		return usage("--endpoint %s: belongs to one player; leave it out with --count %d, and set --host", o.address.endpoint, o.count)
	case first > 0 && last-first+1 < o.count && first+o.count-1 <= 65535:
		return usage("--count %d: needs as many ports, and --port %s has %d: set --port %d-%d, or 0 for any free ones",
			o.count, &o.address.ports, last-first+1, first, first+o.count-1)
	case first > 0 && last-first+1 < o.count:
		return usage("--count %d: needs as many ports, and --port %s has %d: set a larger range, or 0 for any free ones",
			o.count, &o.address.ports, last-first+1)
	case o.name != "" && !protocol.ValidName(o.nameOf(o.count)):
		return usage("--name %q: the names of the players are %s to %s, and a name has 1 to 50 characters and no control characters",
			o.name, o.nameOf(1), o.nameOf(o.count))
	}
	return nil
}

// nameOf returns the display name of the player with a number from 1; "" for one after its
// port.
func (o *playerOptions) nameOf(number int) string {
	if o.name == "" {
		return ""
	}
	return fmt.Sprintf("%s-%d", o.name, number)
}

// called returns how messages on the screen call a player.
func (o *playerOptions) called(name string) string {
	if o.several {
		return name
	}
	return "this player"
}

// runPlayers runs --count players until their league is over, and prints their records. A
// player that fails stops no other. It opens all ports before the first player registers.
func runPlayers(ctx context.Context, s streams, files *config.Loader, o *playerOptions, options player.Options) error {
	o.several = true
	all := make([]playerOptions, o.count)
	listeners := make([]net.Listener, 0, o.count)
	for i := range all {
		all[i] = *o
		all[i].name = o.nameOf(i + 1)
		l, err := all[i].listen(ctx)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return fmt.Errorf("player %d of %d: %w", i+1, o.count, err)
		}
		listeners = append(listeners, l)
	}
	records, problems := make([]played, o.count), make([]error, o.count)
	var playing sync.WaitGroup
	for i := range all {
		playing.Go(func() {
			records[i], problems[i] = all[i].play(ctx, s, files, options, listeners[i])
			if problems[i] != nil && ctx.Err() == nil {
				printError(s.err, fmt.Errorf("%s has failed: %w", records[i].name, problems[i]))
			}
		})
	}
	playing.Wait()
	var done []played
	var failed []string
	var stopped error
	for i, err := range problems {
		switch {
		case err == nil:
			done = append(done, records[i])
		case exitCode(err) == exitInterrupted:
			stopped = err
		default:
			failed = append(failed, records[i].name)
		}
	}
	if err := printPlayers(s, done); err != nil || stopped != nil {
		return cmp.Or(err, stopped)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d players failed: %s", len(failed), o.count, strings.Join(failed, ", "))
	}
	return nil
}

// printPlayers prints the records of players and the champion.
func printPlayers(s streams, records []played) error {
	if len(records) == 0 {
		return nil
	}
	rows := make([][]any, len(records))
	for i, r := range records {
		stats := r.Stats
		if r.League != nil {
			stats = *r.League
		}
		rows[i] = []any{r.PlayerID, r.name, stats.TotalMatches, stats.Wins, stats.Draws, stats.Losses, r.Rank, r.Points}
	}
	if err := printTable(s.out, []string{"Player", "Name", "Played", "W", "D", "L", "Rank", "Points"}, rows); err != nil {
		return err
	}
	var text page
	for _, r := range records {
		if r.account != "" {
			text.line("%s: %s", r.name, r.account)
		}
	}
	text.line("%s", championOf(records[0].Champion))
	return text.print(s.out)
}
