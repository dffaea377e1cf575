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
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/words"
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
	Zone      *time.Location            // of the times in sentences; nil is UTC
}

// Longest is the match of the most moves, or of those with one turn the one that took the most time.
type Longest struct {
	MatchID league.MatchID // the zero value for none
	Moves   int            // of both players; 0 for one turn, and if the referee has not shown them
	Took    time.Duration  // from the assignment to the report
}

// NewLeague returns a league before its first event.
func NewLeague() *League {
	return &League{State: journal.NewState(), Begun: map[league.MatchID]string{}, Head: journal.Origin}
}

// longestSaid is the length in bytes at which a move in free text is cut between others.
const longestSaid = 80

// Say is a move in the words of the league's game: "column 4", or “Good morning.”
func (l *League) Say(move string) string {
	if isSpeech(move) {
		return quoted(words.Clip(move, longestSaid))
	}
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
		one := Longest{d.MatchID, 0, end.Sub(begun)}
		if n := movesMade(&d.Evidence); n > 2 {
			one.Moves = n
		}
		longer := cmp.Or(one.Moves-l.Longest.Moves, cmp.Compare(one.Took, l.Longest.Took)) > 0
		if err == nil && d.Status != league.StatusTechnicalLoss && longer {
			l.Longest = one
		}
	case *journal.RoundCompleted:
		l.Condense(l.CompletedRounds())
	case *journal.Decided:
		l.Decisions = append(l.Decisions, DecisionMade{Event: e.Seq, At: e.At, Type: d.Command, By: d.By, Reason: d.Reason,
			Matter: d.Matter(), About: d.About(), Shown: d.InWords(l.State)})
	}
	return nil
}

// movesMade is the number of moves of a match, without those of the ready turn.
func movesMade(e *protocol.Evidence) int {
	made := e.Moves
	for len(e.Draws) > 0 && len(made) > 0 && made[0].Turn == 1 && made[0].Move == rules.Ready {
		made = made[1:]
	}
	return len(made)
}

// Points are the points of the players of a league that has started, by index: before round 1, and
// after each round, also after an open one. Byes are included. Results of an annulled player do not
// count.
func (l *League) Points() [][]int {
	all := [][]int{make([]int, len(l.Started.Players))}
	for round := 1; round <= l.Round; round++ {
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

// The states of a match that has no result.
const (
	StatusScheduled = "SCHEDULED"
	StatusRunning   = "RUNNING"
)

// A Match is a match, played or planned.
type Match struct {
	MatchID   string `json:"match_id"`
	RoundID   int    `json:"round_id"`
	PlayerAID string `json:"player_A_id"`
	PlayerBID string `json:"player_B_id"`
	RefereeID string `json:"referee_id,omitzero"`
	Attempt   int    `json:"attempt,omitzero"`

	league.Result // its status can be RUNNING or SCHEDULED as well

	Score      league.PerPlayer[int] `json:"score,omitzero"`
	Grade      string                `json:"grade,omitzero"` // of evidence; see journal.GradeProven
	Doubt      string                `json:"doubt,omitzero"` // see journal.Match.Doubt
	ReportedAt string                `json:"reported_at,omitzero"`

	Forfeited []string          `json:"forfeited_by,omitzero"`
	Disputed  []string          `json:"disputed_by,omitzero"` // see journal.Outcome
	Ruled     *journal.Made     `json:"ruled,omitzero"`
	Rematch   *journal.Made     `json:"rematch_ordered,omitzero"`
	Annulled  []AnnulledOutcome `json:"annulled,omitzero"`
	KeyMarks  []string          `json:"key_marks,omitzero"` // as of journal.State.KeyMarks
	Draw      *Draw             `json:"draw,omitzero"`      // only of a report
}

// An AnnulledOutcome is a result that no longer counts.
type AnnulledOutcome struct {
	RefereeID      string       `json:"referee_id,omitzero"`
	Attempt        int          `json:"attempt,omitzero"`
	Status         string       `json:"status"`
	WinnerPlayerID *string      `json:"winner_player_id"`
	Reason         string       `json:"reason,omitzero"`
	Disputed       []string     `json:"disputed_by,omitzero"`
	By             journal.Made `json:"annulled_by"`
}

// Schedule lists the matches of a round from 1, or those of all known rounds for 0. A round that
// is not known yet is an error.
func (l *League) Schedule(only int) ([]Match, error) {
	if l.Started == nil && only > 0 {
		return nil, fmt.Errorf("league %s has not begun: it has no schedule yet", l.Created.LeagueID)
	}
	known := l.KnownRounds()
	if only > known {
		return nil, fmt.Errorf("round %d is not known: the league has %d rounds, of which %d are known", only,
			l.TotalRounds(), known)
	}
	return slices.AppendSeq([]Match{}, l.scheduled(max(only, 1), cmp.Or(only, known))), nil
}

// Scheduled describes the matches of all known rounds, in schedule order.
func (l *League) Scheduled() iter.Seq[Match] { return l.scheduled(1, l.KnownRounds()) }

func (l *League) scheduled(first, last int) iter.Seq[Match] {
	return func(yield func(Match) bool) {
		for round := first; round <= last; round++ {
			for i, pair := range l.Pairings(round) {
				if !yield(l.Row(league.MatchID{Round: round, Number: i + 1}, pair)) {
					return
				}
			}
		}
	}
}

// Played describes the matches that have a result, in schedule order.
func (l *League) Played() iter.Seq[Match] {
	return func(yield func(Match) bool) {
		for m := range l.State.Results() {
			id := m.Report.MatchID
			if !yield(l.Row(id, l.Pairings(id.Round)[id.Number-1])) {
				return
			}
		}
	}
}

// Row describes a match of a known round.
func (l *League) Row(id league.MatchID, pair pairing.Pairing) Match {
	row := Match{
		MatchID: id.String(), RoundID: id.Round, Result: league.Result{Status: StatusScheduled},
		PlayerAID: l.Started.Players[pair.A], PlayerBID: l.Started.Players[pair.B],
	}
	if id.Round > l.Round {
		return row
	}
	m := l.Match(id)
	row.RefereeID = l.Referee(id.Round, id.Number)
	row.Forfeited, row.Disputed = m.Forfeited, m.Disputed
	row.Ruled, row.Rematch = m.Ruled, m.RematchOrdered
	for i := range m.Annulled {
		a := &m.Annulled[i]
		row.Annulled = append(row.Annulled, AnnulledOutcome{
			a.Report.RefereeID, a.Report.Number, a.Report.Status, a.Report.WinnerPlayerID, a.Report.Reason, a.Disputed,
			a.By,
		})
	}
	report := m.Report
	if report == nil {
		row.Status = StatusRunning
		return row
	}
	row.KeyMarks = l.KeyMarks(m, row.PlayerAID, row.PlayerBID)
	row.Attempt, row.Result, row.Score, row.Grade = report.Number, report.Result, report.Score, report.Grade
	row.ReportedAt, row.Doubt = m.ReportedAt, m.Doubt()
	return row
}

// MatchWithResult finds a match that has a result, with its draw; nil for any other id.
func MatchWithResult(v *decide.View, matchID string) *Match {
	id, _ := league.ParseMatchID(matchID)
	m, _, _, ok := v.State.Find(id)
	if !ok || m.Report == nil || id.String() != matchID {
		return nil
	}
	row := (&League{State: v.State}).Row(id, v.State.Pairings(id.Round)[id.Number-1])
	draw := v.Recorded(m.Report, m.Event).Draw
	row.Draw = NewDraw(draw, v.State.Created.LeagueID, matchID, row.Attempt, row.RefereeID)
	return &row
}

// HasResult tells whether the match has a result that counts.
func (m *Match) HasResult() bool { return m.Status != StatusScheduled && m.Status != StatusRunning }

// Stated tells whether the result rests on the word of its referee alone.
func (m *Match) Stated() bool { return m.Grade == journal.GradeStated }

// Word is the outcome of the match in a word or two.
func (m *Match) Word() string {
	return map[string]string{
		StatusScheduled: "planned", StatusRunning: "no result yet", league.StatusWin: "win", league.StatusDraw: "draw",
		league.StatusTechnicalLoss: "technical loss",
	}[m.Status]
}

// Winner is the id of the winner; "" for none.
func (m *Match) Winner() string { return protocol.ValueOf(m.WinnerPlayerID) }

// LastMoves are the choices of both players; "" for a missing one.
func (m *Match) LastMoves() [2]string { return m.Moves([2]string{m.PlayerAID, m.PlayerBID}) }

// Remarks tell what is unusual about the match.
func (m *Match) Remarks() (remarks []string) {
	if m.Ruled != nil {
		remarks = append(remarks, "ruled by "+m.Ruled.By)
	}
	if m.Rematch != nil {
		remarks = append(remarks, "rematch ordered by "+m.Rematch.By)
	}
	if len(m.Forfeited) > 0 {
		remarks = append(remarks, "forfeited by "+strings.Join(m.Forfeited, ", "))
	}
	if len(m.Disputed) > 0 {
		remarks = append(remarks, "disputed by "+strings.Join(m.Disputed, ", "))
	}
	if m.Doubt != "" {
		remarks = append(remarks, m.Doubt)
	}
	if n := len(m.Annulled); n > 0 {
		remarks = append(remarks, words.Counted(n, "annulled result"))
	}
	for i := range m.Annulled {
		if a := &m.Annulled[i]; len(a.Disputed) > 0 {
			remarks = append(remarks, "annulled result disputed by "+strings.Join(a.Disputed, ", "))
		}
	}
	return append(remarks, m.KeyMarks...)
}
