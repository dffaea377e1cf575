package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/cmd/supervise"
	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
)

// An upParent is the process that the user has started. It keeps one child running, which has all agents of the league,
// and shows what the child reports.
type upParent struct {
	*upOptions
	streams

	plan    upPlan
	screen  *pinned       // that is the standard error, too; nil for none
	joining page.Joining  // of the manager when it has opened; then it does not change
	opened  chan struct{} // closed when the manager has listened

	mu    sync.Mutex // guards what follows, and the ports of the plan
	end   *upEnd     // of the last child; nil if it died
	crash string     // the first line that the last child wrote as it died
}

// run runs children until the league has ended. It returns the final table. Then no process is left.
func (p *upParent) run(ctx context.Context, roster []byte) (table string, err error) {
	began := time.Now()
	if err := p.keepRoster(ctx, roster); err != nil {
		return "", err
	}
	task := supervise.Task{Process: p.runChild, Final: p.final, Changed: p.changed, Policy: upPolicy()}
	ended := make(chan supervise.State, 1)
	go func() { ended <- task.Run(ctx) }() // awaited below
	view, opened := &upView{}, p.opened
	defer func() {
		if p.screen != nil {
			p.screen.remove()
		}
	}()
	for {
		select {
		case <-opened:
			view, opened = p.view(ctx, began), nil
		case <-view.changes:
			view.update(ctx)
		case line := <-view.enter:
			view.typed(ctx, line)
		case state := <-ended:
			view.update(context.WithoutCancel(ctx))
			table, err := p.over(state)
			if view.over {
				table = ""
			}
			return table, err
		}
	}
}

// runChild runs a child until it ends.
func (p *upParent) runChild(ctx context.Context) supervise.Exit {
	p.mu.Lock()
	p.end, p.crash = nil, ""
	plan, err := json.Marshal(&p.plan)
	p.mu.Unlock()
	program, unknown := program.Self()
	if err = errors.Join(err, unknown); err != nil {
		return supervise.Exit{Code: -1, Text: err.Error()}
	}
	command := supervise.Command{Path: program, Args: p.args, Env: withoutKeys(os.Environ(), p.plan.Agents), Input: plan,
		Output: p.receive, Errors: p.complain, Patience: upPatience,
		Started: func(pid int) { p.detail("The agents of the league run in process %d", pid) }}
	return command.Run(ctx)
}

// receive handles the reports of a child.
func (p *upParent) receive(from io.Reader) {
	for reports := jsontext.NewDecoder(from); ; {
		var r upReport
		if json.UnmarshalDecode(reports, &r) != nil { // the child has ended
			return
		}
		p.received(&r)
	}
}

func (p *upParent) received(r *upReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Text != "" {
		p.note("%s", r.Text)
	}
	if r.Page != "" {
		p.joining = page.Joining{Manager: r.Manager, Page: r.Page, Local: loopback(p.address.host)}
	}
	if r.Port != "" {
		p.plan.Agents[r.Agent].Port = r.Port
	}
	if r.Opened && !p.plan.Resumed {
		p.plan.Resumed, p.plan.Over = true, r.Over
		close(p.opened)
	}
	if r.End != nil {
		p.end = r.End
	}
}

// complain shows what a child writes as it dies.
func (p *upParent) complain(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		p.detail("%s", lines.Text())
		p.mu.Lock()
		p.crash = cmp.Or(p.crash, strings.TrimPrefix(lines.Text(), "evenodd: "))
		p.mu.Unlock()
	}
}

// final tells whether a child has ended by itself.
func (p *upParent) final(supervise.Exit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end != nil && p.end.Code != exitInterrupted
}

// why is the reason of the death of a child.
func (p *upParent) why(e supervise.Exit) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crash != "" {
		return e.Text + ": " + p.crash
	}
	return e.Text
}

// changed shows a new state.
func (p *upParent) changed(s supervise.State) {
	if s.Phase == supervise.PhasePausing {
		p.note("The process of the league has ended: %s; it starts again in %s", p.why(s.Exit),
			s.Pause.Round(time.Millisecond))
	}
}

// over returns the final table, and the error that fits the end of the league.
func (p *upParent) over(s supervise.State) (table string, err error) {
	switch end := p.end; {
	case end != nil && end.Code != exitInterrupted:
		if len(end.Problem) == 0 {
			return end.Table, nil
		}
		return end.Table, exit(end.Code, "%w", errors.Join(lists.Map(end.Problem, errors.New)...))
	case s.Phase == supervise.PhaseStopped:
		return "", interrupted("All processes are stopped. Run the same command again to resume; the league is in %s.",
			p.data)
	}
	return "", fmt.Errorf("the process of the league ended %d times in a minute: %s. Run the same command again to "+
		"resume; the league is in %s", upPolicy().Most+1, p.why(s.Exit), p.data)
}

// detail writes a line about the processes, which a terminal does not show.
func (p *upParent) detail(format string, args ...any) {
	if !p.shows {
		p.note(format, args...)
	}
}

// keepRoster writes the roster for the manager, if there is one, unless another manager runs the league.
func (p *upParent) keepRoster(ctx context.Context, roster []byte) error {
	if !p.awaitLeftovers(ctx) || roster == nil {
		return nil
	}
	path, err := store.In(p.data).KeepRoster(p.LeagueID, roster)
	manager := p.plan.Agents[0]
	manager.Args = append(manager.Args, "--roster="+path)
	return err
}

// awaitLeftovers waits while another manager runs the league, for upPatience at most. After
// evenodd up was killed, its child ends by itself, but lets running matches end first.
// If the manager stays, it returns false: the new one fails and says why.
func (p *upParent) awaitLeftovers(ctx context.Context) (alone bool) {
	ctx, cancel := context.WithTimeout(ctx, upPatience)
	defer cancel()
	for told := false; ctx.Err() == nil; told = true {
		if !store.In(p.data).Running(p.LeagueID) { // or its journal cannot be opened: then the manager says why
			return true
		}
		if !told {
			p.note("Another manager runs league %s in %s. If it is of an 'evenodd up' that was killed, it ends by "+
				"itself: waiting for that, %s at most.", p.LeagueID, p.data, upPatience)
		}
		_ = protocol.SystemClock().Sleep(ctx, 100*time.Millisecond) // fails only when ctx has ended
	}
	return false
}
