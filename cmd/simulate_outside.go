package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/transport"
	"evenodd/transport/http"
)

// invite adds the external players of --player to the options.
func (o *simulateOptions) invite() error {
	switch {
	case len(o.urls) == 0:
		return nil
	case o.resume:
		return usage("--resume cannot be used with --player: external players may remember another league")
	case !o.many:
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
	if !o.quiet {
		o.External.Note = func(text string) { _, _ = fmt.Fprintln(s.err, oneLine(text)) }
	}
	l, err := o.meet.listen(ctx)
	switch {
	case errors.Is(err, errTaken) && !o.meet.given:
		if !o.quiet {
			_, _ = fmt.Fprintf(s.err, "%s is %v, so that external players cannot register themselves; the simulation registers them.\n", o.meet.at, errTaken)
		}
		return n.client.Close, nil
	case err != nil:
		n.client.Close()
		return nil, err
	}
	own := &address{host: o.meet.host(), local: true}
	if !o.quiet && o.wait > 0 {
		_, _ = fmt.Fprintf(s.err, "External players can register at %s for %s; --wait 0s skips this.\n", o.meet.url(l), o.wait)
	}
	o.External.Serve = func(mux *transport.Mux, stamp func() *protocol.Stamp) func() {
		return n.serve(own, l, mux, stamp, http.Config{MaxBody: maxRequest, Mounts: []http.Mount{http.Health(nil)}})
	}
	return func() { _ = l.Close(); n.client.Close() }, nil
}

// printOutside prints the reason of each technical loss, and how replies of players
// deviated from the protocol.
func printOutside(w io.Writer, r *simulation.Result) error {
	names := map[string]string{}
	endpoints := map[string]string{}
	for _, row := range r.Standings {
		names[row.PlayerID], endpoints[row.PlayerID] = row.DisplayName, row.Endpoint
	}
	var text strings.Builder
	line := func(format string, args ...any) { text.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n") }
	for i, loss := range r.Losses {
		if i == 0 {
			line("Technical losses:")
		}
		line("  %s  %s (%s): %s", loss.MatchID, loss.PlayerID, names[loss.PlayerID], loss.Reason)
		if loss.Code != "" {
			why := ""
			if loss.Detail != "" {
				why = ": " + loss.Detail
			}
			line("        %s %s%s", loss.Code, loss.Code.Name(), why)
		}
		if loss.Method != "" {
			line("        %s: %s", asked(loss.Method, loss.Failures), loss.Answer)
		}
	}
	suggested := map[string]bool{"": true} // this program's players have no endpoint
	for _, loss := range r.Losses {
		if at := endpoints[loss.PlayerID]; !suggested[at] {
			suggested[at] = true
			line("To see what the player should have replied: evenodd check player %s", at)
		}
	}
	for i, b := range r.Breaches {
		if i == 0 {
			line("Accepted, but not spec-compliant:")
		}
		line("  %s (%s): %s, %s", b.PlayerID, names[b.PlayerID], b.Problem, times(b.Count))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// asked names the call of the last answer.
func asked(method string, failures int) string {
	if failures > 1 {
		return fmt.Sprintf("last answer to %s, after %d failures", method, failures)
	}
	return "last answer to " + method
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

type (
	lossJSON struct {
		MatchID   string `json:"match_id"`
		RoundID   int    `json:"round_id"`
		PlayerID  string `json:"player_id"`
		ErrorCode string `json:"error_code,omitzero"` // none for a refusal or a forfeit
		ErrorName string `json:"error_name,omitzero"`
		Reason    string `json:"reason"`
		Detail    string `json:"detail,omitzero"`
		Method    string `json:"method,omitzero"`   // of the last call
		Failures  int    `json:"failures,omitzero"` // reported to the player by GAME_ERROR
		Answer    string `json:"answer,omitzero"`   // last answer, or why there was none
	}
	breachJSON struct {
		PlayerID string `json:"player_id"`
		Problem  string `json:"problem"`
		Count    int    `json:"count"`
	}
)

func outsideJSON(r *simulation.Result) (losses []lossJSON, breaches []breachJSON) {
	for _, l := range r.Losses {
		losses = append(losses, lossJSON{
			l.MatchID, l.RoundID, l.PlayerID, string(l.Code), l.Code.Name(), l.Reason, l.Detail, l.Method, l.Failures, l.Answer,
		})
	}
	for _, b := range r.Breaches {
		breaches = append(breaches, breachJSON(b))
	}
	return losses, breaches
}
