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

// invite makes players that run elsewhere of the URLs, if there are any.
func (o *simulateOptions) invite() error {
	switch {
	case len(o.urls) == 0:
		return nil
	case o.resume:
		return usage("--resume goes on with a league as it was, and players that run elsewhere may remember another: not with --player")
	case !o.many:
		o.Players = max(o.Players, len(o.urls))
	case o.Players < len(o.urls):
		return usage("--players %d: that is all players of the league, and --player names %d", o.Players, len(o.urls))
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

// reach makes what joins the league with players that run elsewhere: a client
// that calls them, and a place where they find the manager.
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
			_, _ = fmt.Fprintf(s.err, "%s is %v: no player can register by itself; all are registered in their place.\n", o.meet.at, errTaken)
		}
		return n.client.Close, nil
	case err != nil:
		n.client.Close()
		return nil, err
	}
	here := &address{host: o.meet.host(), local: true}
	if !o.quiet && o.wait > 0 {
		_, _ = fmt.Fprintf(s.err, "Players may register at %s for %s; --wait 0s spares that.\n", o.meet.url(l), o.wait)
	}
	o.External.Serve = func(mux *transport.Mux, stamp func() *protocol.Stamp) func() {
		return n.serve(here, l, mux, stamp, http.Config{MaxBody: maxRequest, Mounts: []http.Mount{http.Health(nil)}})
	}
	return func() { _ = l.Close(); n.client.Close() }, nil
}

// printOutside says why matches were lost technically, and what in the answers
// of players was not as the protocol has it.
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
	told := map[string]bool{"": true} // our own players are not examined
	for _, loss := range r.Losses {
		if at := endpoints[loss.PlayerID]; !told[at] {
			told[at] = true
			line("What it should have answered: evenodd check player %s", at)
		}
	}
	for i, b := range r.Breaches {
		if i == 0 {
			line("Understood, but not as the protocol has it:")
		}
		line("  %s (%s): %s, %s", b.PlayerID, names[b.PlayerID], b.Problem, times(b.Count))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// asked says what the last answer was to.
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
		ErrorCode string `json:"error_code,omitzero"` // none for a refusal and a forfeit
		ErrorName string `json:"error_name,omitzero"`
		Reason    string `json:"reason"`
		Detail    string `json:"detail,omitzero"`
		Method    string `json:"method,omitzero"`   // that was asked last
		Failures  int    `json:"failures,omitzero"` // that the player was told of
		Answer    string `json:"answer,omitzero"`   // the last, or why there was none
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
