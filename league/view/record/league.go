// Package record reads what is recorded of a league: it folds the journal, and makes of it the
// documents that commands, pages and reports show: status, table, schedule, agents and decisions.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A League is a league as its journal tells it. It is not safe for concurrent use.
type League struct {
	*journal.State

	Decisions []DecisionMade            // of organisers, in order
	Begun     map[league.MatchID]string // when the last attempt was assigned, as Event.At
	At        string                    // time of the last event
	Games     rules.Registry            // words for their moves; may lack the game of the league
	Hide      func(journal.Data)        // removes from each event what readers must not see; nil for nothing
	Head      string                    // hash of the last line
	Longest   Longest                   // match
	Stopped   bool                      // nobody runs it: the reader knows that the manager has gone
	Listed    []string                  // names of the players of the roster, if the reader knows them
}

// Longest is the match of the most moves, or of those with one turn the one that took the most time.
type Longest struct {
	MatchID league.MatchID // the zero value for none
	Moves   int            // of both players; 0 for one turn, and if the referee has not shown them
	Took    time.Duration  // from the assignment to the report
}

// isLonger tells whether a match is longer than another.
func (m *Longest) isLonger(than *Longest) bool {
	return cmp.Or(m.Moves-than.Moves, cmp.Compare(m.Took, than.Took)) > 0
}

// NewLeague returns a league before its first event.
func NewLeague() *League {
	return &League{State: journal.NewState(), Begun: map[league.MatchID]string{}, Head: journal.Origin}
}

// Say is a move in the words of the league's game: "column 4".
func (l *League) Say(move string) string {
	if game, err := l.Games.Game(l.Created.GameType); err == nil {
		return game.Info().Say(move)
	}
	return move
}

// Update folds the events that are new in the source, and calls news, which may be nil, with each
// of them and its line. The error is that of the source, or names a damaged line.
func (l *League) Update(ctx context.Context, from Source, news func(e *journal.Event, line string)) error {
	for {
		lines, err := from.Lines(ctx, l.Events+1)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, line := range lines {
			e, err := l.foldLine([]byte(line))
			if err != nil {
				return damaged(l.Events+1, err)
			}
			if news != nil {
				news(e, line)
			}
		}
	}
}

// foldLine folds the event of a line, which must follow the last one.
func (l *League) foldLine(line []byte) (*journal.Event, error) {
	e, err := journal.Decode(line)
	switch {
	case err != nil:
		return nil, err
	case e.Prev != l.Head && e.Prev != "": // a league without a journal has no hashes
		return nil, errors.New("it does not follow the line before")
	}
	if err := l.Fold(e); err != nil {
		return nil, err
	}
	l.Head = journal.Hash(line)
	return e, nil
}

// Fold folds the event that follows the last one. An error means that another event follows, or
// that this one cannot have happened; the league is unchanged then.
func (l *League) Fold(e *journal.Event) error {
	if e.Seq != l.Events+1 {
		return fmt.Errorf("event %d stands where event %d belongs", e.Seq, l.Events+1)
	}
	if l.Hide != nil {
		l.Hide(e.Data)
	}
	if err := l.Apply(e); err != nil {
		return err
	}
	l.At = e.At
	switch d := e.Data.(type) {
	case *journal.MatchAssigned:
		l.Begun[d.MatchID] = e.At
	case *journal.MatchReported:
		begun, _ := protocol.ParseTimestamp(l.Begun[d.MatchID])
		end, err := protocol.ParseTimestamp(e.At)
		one := &Longest{d.MatchID, 0, end.Sub(begun)}
		if n := len(d.Evidence.Moves); n > 2 {
			one.Moves = n
		}
		if err == nil && d.Status != league.StatusTechnicalLoss && one.isLonger(&l.Longest) {
			l.Longest = *one
		}
	case *journal.RoundCompleted:
		l.Condense(l.CompletedRounds())
	case *journal.Decided:
		l.Decisions = append(l.Decisions, DecisionMade{Event: e.Seq, At: e.At, Type: d.Command, By: d.By, Reason: d.Reason,
			Matter: d.Matter(), About: d.About()})
	}
	return nil
}

// Points are the points of the players of a league that has started, by index: before round 1, and
// after each round, also after an open one. Byes are included. Results of an annulled player do not
// count.
func (l *League) Points() [][]int {
	all := [][]int{make([]int, len(l.Started.Players))}
	for round := 1; round <= l.CompletedRounds() || round == l.Round && l.Open(); round++ {
		points := slices.Clone(all[round-1])
		for _, player := range l.Rounds[round-1].Byes {
			points[player] += l.Created.Scoring.Win
		}
		for _, score := range l.counted(round, round) {
			for _, of := range score {
				player, _ := l.PlayerIndex(of.Name)
				points[player] += of.Value
			}
		}
		all = append(all, points)
	}
	return all
}

// counted returns the results of announced rounds from one to another that count, with the points of
// both sides: not those of an annulled player.
func (l *League) counted(first, last int) iter.Seq2[*journal.MatchReported, [2]league.Member[int]] {
	return func(yield func(*journal.MatchReported, [2]league.Member[int]) bool) {
		for _, m := range l.MatchesOf(first, last) {
			if m.Report == nil {
				continue
			}
			score, _ := l.Score(m.Report) // the journal has checked it
			if !l.Agents[score[0].Name].Annulled && !l.Agents[score[1].Name].Annulled && !yield(m.Report, score) {
				return
			}
		}
	}
}
