package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
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
	case o.ID != "" || o.address.endpoint != "" || o.RegistrationCode != "":
		return usage("--id, --endpoint and --registration-code belong to one player: leave them out with --count %d",
			o.count)
	case first > 0 && last-first+1 < o.count:
		return usage("--count %d: needs as many ports, and --port %s has %d: set a larger range, or 0 for any free ones",
			o.count, &o.address.ports, last-first+1)
	case o.Name != "" && !protocol.ValidName(o.nameOf(o.count)):
		return usage("--name %q: the name %s must have 1 to 50 characters and no control characters", o.Name,
			o.nameOf(o.count))
	}
	return nil
}

// nameOf returns the display name of the player with a number from 1; "" for one after its
// port.
func (o *playerOptions) nameOf(number int) string {
	if o.Name == "" || o.count == 1 {
		return o.Name
	}
	return fmt.Sprintf("%s-%d", o.Name, number)
}

// listenAll returns the options of each of --count players, and its open port.
func (o *playerOptions) listenAll(ctx context.Context) ([]playerOptions, []net.Listener, error) {
	all := slices.Repeat([]playerOptions{*o}, o.count)
	listeners := make([]net.Listener, 0, o.count)
	for i := range all {
		all[i].Name = o.nameOf(i + 1)
		l, err := all[i].address.listen(ctx)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			if o.several {
				err = fmt.Errorf("player %d of %d: %w", i+1, o.count, err)
			}
			return nil, nil, err
		}
		listeners = append(listeners, l)
	}
	return all, listeners, nil
}

// runPlayers runs --count players until their league is over, and prints their records. A
// player that fails stops no other. It opens all ports before the first player registers.
func runPlayers(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	o.several = o.count > 1
	if err := o.prepare(ctx, s); err != nil {
		return err
	}
	all, listeners, err := o.listenAll(ctx)
	if err != nil {
		return err
	}
	records, problems := make([]played, o.count), make([]error, o.count)
	var playing sync.WaitGroup
	for i := range all {
		playing.Go(func() {
			records[i], problems[i] = all[i].play(ctx, s, files, listeners[i])
			if o.several && problems[i] != nil && ctx.Err() == nil {
				printError(s.err, fmt.Errorf("%s has failed: %w", records[i].name, problems[i]))
			}
		})
	}
	playing.Wait()
	var text printout
	var failed []string
	champion := ""
	for i, err := range problems {
		r := &records[i]
		switch {
		case err != nil && (!o.several || exitCode(err) == exitInterrupted):
			return err
		case err != nil:
			failed = append(failed, r.name)
			continue
		case o.several:
			champion = cmp.Or(champion, championOf(r.Champion))
			text.line("%s: %s", r.name, r.summary())
		default:
			text.line("%s. %s", r.summary(), championOf(r.Champion))
		}
		if r.account != "" && o.several {
			text.line("%s: %s", r.name, r.account)
		} else if r.account != "" {
			text.line("%s", r.account)
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
