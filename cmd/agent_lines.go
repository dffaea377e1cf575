package cmd

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/player"
)

// agentLines print on a terminal what an agent does, in place of its log: a line for each match.
type agentLines struct {
	print func(format string, args ...any)
	ask   func(ctx context.Context) map[string]string // the names of players, by id; nil for none

	mu      sync.Mutex
	waiting []func() // lines that are not printed yet
	more    chan struct{}
	names   map[string]string // only run uses it
}

func newAgentLines(s streams, ask func(ctx context.Context) map[string]string) *agentLines {
	return &agentLines{print: s.note, ask: ask, more: make(chan struct{}, 1), names: map[string]string{}}
}

// add has a line printed, without waiting for that.
func (l *agentLines) add(line func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, line)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// run prints lines until ctx ends. Then it prints the last ones.
func (l *agentLines) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-l.more:
		case <-ctx.Done():
		}
		l.mu.Lock()
		lines := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		for _, line := range lines {
			line()
		}
	}
}

// named is a player as people know it. If its name is unknown, the manager is asked.
func (l *agentLines) named(ctx context.Context, id string) string {
	if l.names[id] == "" && l.ask != nil {
		for id, name := range l.ask(ctx) {
			l.names[id] = name
		}
	}
	return league.Ref{ID: id, Name: l.names[id]}.String()
}

// played has the result of a player's match printed.
func (l *agentLines) played(ctx context.Context, m protocol.PlayedMatch, reason string) {
	result := map[string]string{
		store.ResultWin: "won against", store.ResultDraw: "drew with", store.ResultLoss: "lost to",
		store.Technical + store.ResultWin:  "won, for technical reasons, against",
		store.Technical + store.ResultLoss: "lost, for technical reasons, to",
	}[m.Result]
	l.add(func() {
		l.print("%s: %s %s%s", m.MatchID, result, l.named(ctx, m.OpponentID), record.ReasonAfter(reason))
	})
}

// conducted has the result of a referee's match printed.
func (l *agentLines) conducted(matchID string, r *league.Result, players [2]league.Ref) {
	l.add(func() { l.print("%s: %s", matchID, outcomeOf(r, players[0], players[1])) })
}

// outcomeOf describes the result of a match in a few words.
func outcomeOf(r *league.Result, a, b league.Ref) string {
	text, winner := "%s and %s both lost", protocol.ValueOf(r.WinnerPlayerID)
	switch {
	case winner != "":
		text = "%s won against %s"
	case r.Status == league.StatusDraw:
		text = "%s and %s drew"
	}
	if winner == b.ID {
		a, b = b, a
	}
	return fmt.Sprintf(text, a, b) + record.ReasonAfter(r.Reason)
}

// printLastTable prints the last table of a player's league, as much as fits the terminal.
func printLastTable(s streams, r *player.Record) error {
	table := make([]league.Standing, len(r.Table))
	for i := range r.Table {
		table[i] = r.Table[i].Standing()
	}
	if len(table) == 0 {
		return nil
	}
	first, more := fitting(table, heightOf(s.out))
	if err := printTableOf(s.out, first, nil); err != nil {
		return err
	}
	if more += r.Players - len(table); more > 0 {
		return printLine(s.out, "and %d more", more)
	}
	return nil
}

// prints tells whether the agent prints lines for people: it is alone in its process, and on a terminal.
func (o *agentOptions) prints(s streams) bool {
	return !o.several && o.host == nil && isTerminal(s.err)
}

// logLevelOn is the level of the log on the standard error: a terminal shows lines for people in place of details.
func (o *agentOptions) logLevelOn(s streams) string {
	if !o.given["log-level"] && o.logLevel == zerolog.InfoLevel.String() && o.prints(s) {
		return zerolog.WarnLevel.String()
	}
	return o.logLevel
}
