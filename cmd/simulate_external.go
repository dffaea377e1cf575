package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/words"
	"evenodd/transport"
	"evenodd/transport/http"
)

// invite adds the external players of --player to the options.
func (o *simulateOptions) invite() error {
	switch {
	case len(o.urls) == 0:
		return nil
	case o.resume:
		given := "--player"
		if o.entrants != "" {
			given = "a url in --entrants"
		}
		return usage("--resume cannot be used with %s: external players may remember another league", given)
	case !o.given("players"):
		o.Players = max(o.Players, len(o.urls))
	case o.Players < len(o.urls):
		return usage("--players %d: must not be below the number of external players, %d", o.Players, len(o.urls))
	}
	o.External = &simulation.External{Wait: o.wait, Patience: o.patience}
	for _, text := range o.urls {
		whole, err := agentURL(text)
		if err != nil {
			return err
		}
		o.External.Players = append(o.External.Players, whole)
	}
	return nil
}

// reach connects the league with external players: with a client that calls them, and
// an address where they find the manager.
func (o *simulateOptions) reach(ctx context.Context, s streams) (leave func(), err error) {
	n, err := newNode(nodeOptions{maxReply: maxReply, ca: o.ca, log: o.Log})
	if err != nil {
		return nil, err
	}
	o.External.Caller = n.caller
	o.External.Note = s.note
	l, err := o.meet.listen(ctx)
	switch {
	case errors.Is(err, errTaken) && !o.meet.given:
		s.note("%s is %v, so that external players cannot register themselves; the simulation registers them.",
			o.meet.at(), errTaken)
		return n.close, nil
	case err != nil:
		n.close()
		return nil, err
	}
	if o.wait > 0 {
		s.note("External players can register at %s for %s; --wait 0s skips this.", o.meet.urlOf(l), o.wait)
	}
	o.External.Serve = func(mux *transport.Mux, stamp func() *protocol.Stamp) func() {
		stop, _ := n.serve(&o.meet.address, l, "", mux, stamp, // no error without NATS
			http.Config{MaxBody: maxRequest, Mounts: probes(n.metrics, nil)})
		return stop
	}
	return func() { _ = l.Close(); n.close() }, nil
}

// printExternal prints the reason of each technical loss, and how replies of players
// deviated from the protocol.
func printExternal(w io.Writer, r *simulation.Result) error {
	rows := map[string]league.Standing{}
	for _, row := range r.Players {
		rows[row.PlayerID] = row
	}
	var text printout
	for i, loss := range r.Losses {
		if i == 0 {
			text.line("Technical losses:")
		}
		text.line("  %s  %s: %s", loss.MatchID, r.State.Ref(loss.PlayerID), loss.Reason)
		if loss.Code != "" {
			text.line("        %s", strings.TrimSuffix(fmt.Sprintf("%s %s: %s", loss.Code, loss.Name, loss.Detail), ": "))
		}
		if loss.Method != "" {
			text.line("        %s: %s", asked(loss.Method, loss.Failures), loss.Answer)
		}
	}
	suggested := map[string]bool{"": true} // this program's players have no endpoint
	for _, loss := range r.Losses {
		if at := rows[loss.PlayerID].Endpoint; !suggested[at] {
			suggested[at] = true
			text.line("To see what the player should have replied: evenodd check player %s", at)
		}
	}
	for i, b := range r.Breaches {
		if i == 0 {
			text.line("Accepted, with a warning:")
		}
		text.line("  %s: %s, %s", r.State.Ref(b.PlayerID), b.Problem, words.Times(b.Count))
	}
	return text.print(w)
}

// asked names the call of the last answer.
func asked(method string, failures int) string {
	if failures > 1 {
		return fmt.Sprintf("last answer to %s, after %d failures", method, failures)
	}
	return "last answer to " + method
}
