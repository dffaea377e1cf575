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
	case o.id != "" || o.address.endpoint != "" || o.code != "":
		return usage("--id, --endpoint and --registration-code belong to one player: leave them out with --count %d",
			o.count)
	case first > 0 && last-first+1 < o.count:
		return usage("--count %d: needs as many ports, and --port %s has %d: set a larger range, or 0 for any free ones",
			o.count, &o.address.ports, last-first+1)
	case o.name != "" && !protocol.ValidName(o.nameOf(o.count)):
		return usage("--name %q: the name %s must have 1 to 50 characters and no control characters", o.name,
			o.nameOf(o.count))
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

// listenAll returns the options of each of --count players, and its open port.
func (o *playerOptions) listenAll(ctx context.Context) ([]playerOptions, []net.Listener, error) {
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
			return nil, nil, fmt.Errorf("player %d of %d: %w", i+1, o.count, err)
		}
		listeners = append(listeners, l)
	}
	return all, listeners, nil
}

// runPlayers runs --count players until their league is over, and prints their records. A
// player that fails stops no other. It opens all ports before the first player registers.
func runPlayers(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	o.several = true
	all, listeners, err := o.listenAll(ctx)
	if err != nil {
		return err
	}
	records, problems := make([]played, o.count), make([]error, o.count)
	var playing sync.WaitGroup
	for i := range all {
		playing.Go(func() {
			records[i], problems[i] = all[i].play(ctx, s, files, listeners[i])
			if problems[i] != nil && ctx.Err() == nil {
				printError(s.err, fmt.Errorf("%s has failed: %w", records[i].name, problems[i]))
			}
		})
	}
	playing.Wait()
	var text printout
	var failed []string
	champion := ""
	for i, err := range problems {
		switch {
		case err == nil:
			champion = cmp.Or(champion, championOf(records[i].Champion))
			text.line("%s: %s", records[i].name, records[i].summary())
			if records[i].account != "" {
				text.line("%s: %s", records[i].name, records[i].account)
			}
		case exitCode(err) == exitInterrupted:
			return err
		default:
			failed = append(failed, records[i].name)
		}
	}
	if champion != "" {
		text.line("%s", champion)
	}
	if err := text.print(s.out); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d players failed: %s", len(failed), o.count, strings.Join(failed, ", "))
	}
	return nil
}
