package cmd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy/external"
	"evenodd/transport/http"
)

// An upGroup is the processes of a league.
type upGroup struct {
	*upOptions
	streams

	program string        // path of this program
	brief   bool          // standard error is a terminal: lines of logs are only in the files
	roster  []byte        // of the manager; nil for none
	listens chan struct{} // closed when the manager listens

	mu      sync.Mutex
	url     string // of the manager; "" before it listens
	known   bool   // the manager has introduced the league
	wasOver bool   // the league was over when the manager was started
	manager *upMember
	agents  []*upMember
}

func newUpGroup(s streams, o *upOptions, entrants []config.Entrant) (*upGroup, error) {
	program, err := external.Self()
	if err != nil {
		return nil, fmt.Errorf("the system does not tell the path of this program: %w", err)
	}
	g := &upGroup{upOptions: o, streams: s, program: program, brief: isTerminal(s.err), listens: make(chan struct{})}
	err = g.addMembers(entrants)
	return g, err
}

// run starts all processes and waits for the end of the league. It returns the final table
// of the manager. Then no process is left.
func (g *upGroup) run(ctx context.Context) (table string, err error) {
	if err := g.keepRoster(ctx); err != nil {
		return "", err
	}
	ctx, stop := context.WithCancel(ctx)
	var processes sync.WaitGroup
	defer processes.Wait()
	defer stop()
	managed, down := make(chan supervise.State, 1), make(chan *upMember, len(g.agents))
	processes.Go(func() { managed <- g.manager.run(ctx) })
	select {
	case <-g.listens:
	case ended := <-managed:
		return g.over(ended)
	}
	view := g.view(ctx)
	g.detail("League %s: manager at %s, data in %s", g.LeagueID, g.url, g.data)
	var agents sync.WaitGroup
	g.startAgents(ctx, &agents, down)
	defer agents.Wait()
	defer stop()
	for {
		select {
		case <-view.changes:
			view.update(ctx)
		case <-view.enter:
			view.start(ctx)
		case m := <-down:
			if err := g.without(ctx, m); err != nil {
				return "", err
			}
		case ended := <-managed:
			view.update(context.WithoutCancel(ctx))
			if view.over && ended.Phase == supervise.PhaseStopped {
				ended.Phase = supervise.PhaseEnded // only the page was left
			}
			if ended.Phase == supervise.PhaseEnded {
				time.AfterFunc(upFarewell, stop) // for agents that do not end by themselves
				agents.Wait()
			}
			table, err := g.over(ended)
			if view.over {
				table = ""
			}
			return table, err
		}
	}
}

// startAgents starts the processes of the agents, unless the league was over. Those that stay down come by a channel.
func (g *upGroup) startAgents(ctx context.Context, agents *sync.WaitGroup, down chan<- *upMember) {
	g.mu.Lock()
	starting := g.agents
	if g.wasOver {
		starting = nil
	}
	g.mu.Unlock()
	for _, m := range starting {
		if m.elsewhere != "" {
			g.note("%s runs elsewhere: let the agent at %s register with the manager at %s. The league waits for "+
				"it.", m.name, m.elsewhere, g.url)
			continue
		}
		agents.Go(func() {
			if final := m.run(ctx); final.Phase != supervise.PhaseStopped && !m.succeeded(final) {
				down <- m
			}
		})
	}
}

// stays tells whether the page remains when the league is over.
func (g *upGroup) stays() bool { return g.shows && g.page && !g.exitWhenDone }

// detail writes a line about the processes, which a terminal does not show.
func (g *upGroup) detail(format string, args ...any) {
	if !g.shows {
		g.note(format, args...)
	}
}

// keepRoster writes the roster for the manager, if there is one, unless another manager runs the league.
func (g *upGroup) keepRoster(ctx context.Context) error {
	if !g.awaitLeftovers(ctx) || g.roster == nil {
		return nil
	}
	path, err := store.Folder(g.data).KeepRoster(g.LeagueID, g.roster)
	g.manager.args = append(g.manager.args, "--roster="+path)
	return err
}

// awaitLeftovers waits while another manager runs the league, for upPatience at most. After
// evenodd up was killed, its processes end by themselves, but let running matches end first.
// If the manager stays, it returns false: the new one fails and says why.
func (g *upGroup) awaitLeftovers(ctx context.Context) (alone bool) {
	ctx, cancel := context.WithTimeout(ctx, upPatience)
	defer cancel()
	for told := false; ctx.Err() == nil; told = true {
		if !store.Folder(g.data).Running(g.LeagueID) { // or its journal cannot be opened: then the manager says why
			return true
		}
		if !told {
			g.note("Another manager runs league %s in %s. If it is of an 'evenodd up' that was killed, it ends by "+
				"itself: waiting for that, %s at most.", g.LeagueID, g.data, upPatience)
		}
		_ = protocol.SystemClock().Sleep(ctx, 100*time.Millisecond) // fails only when ctx has ended
	}
	return false
}

// over returns the final table, and the error that fits the end of the manager.
func (g *upGroup) over(ended supervise.State) (table string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, problem := g.manager, g.manager.why()
	switch {
	case ended.Phase == supervise.PhaseStopped:
		return "", interrupted("All processes are stopped. Run the same command again to resume; the league is in %s.",
			g.data)
	case m.succeeded(ended) && ended.Exit.Code == exitDone:
		if g.wasOver {
			g.detail("No match was played: the league in %s was over. Add --new-league to play a new one.", g.data)
		}
		return m.output.String(), nil
	case m.succeeded(ended):
		return m.output.String(), exit(exitLosses, "%s", problem)
	case ended.Phase == supervise.PhaseFailed:
		return "", fmt.Errorf("the manager ended too often: %s. Run the same command again to resume; the league is in "+
			"%s", problem, g.data)
	}
	return "", exit(max(ended.Exit.Code, exitFailed), "the manager cannot run: %s", problem)
}

// without returns an error if the league cannot go on without an agent that stays down.
func (g *upGroup) without(ctx context.Context, m *upMember) error {
	begun, err := g.begun(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	reason, code := m.why(), max(m.state.Exit.Code, exitFailed)
	if m.state.Phase == supervise.PhaseFailed {
		code = exitFailed
	}
	if err == nil && !begun {
		return exit(code, "the league cannot start without %s: %s", m.name, reason)
	}
	for _, other := range g.agents {
		if phase := other.state.Phase; other.role == "referee" && phase != supervise.PhaseFailed &&
			phase != supervise.PhaseEnded {
			g.note("The league goes on without %s: %s", m.name, reason)
			return nil
		}
	}
	return fmt.Errorf("no referee is left: %s: %s. Run the same command again to resume; the league is in %s", m.name,
		reason, g.data)
}

// begun tells whether the league has matches. It returns an error if the manager does not answer.
func (g *upGroup) begun(ctx context.Context) (bool, error) {
	g.mu.Lock()
	base := strings.TrimSuffix(g.localURL(), http.Path)
	g.mu.Unlock()
	text, err := askHealth(ctx, base+"/healthz", g.ca)
	var status struct {
		Matches int `json:"matches"`
	}
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	return status.Matches > 0, err
}
