package record

import (
	"fmt"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

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
	ReportedAt string                `json:"reported_at,omitzero"`

	Forfeited []string          `json:"forfeited_by,omitzero"`
	Disputed  []string          `json:"disputed_by,omitzero"` // as in decide.RecordedMatch
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
	rows := []Match{}
	for round := 1; round <= known; round++ {
		if only > 0 && round != only {
			continue
		}
		for i, pair := range l.Pairings(round) {
			rows = append(rows, l.Row(league.MatchID{Round: round, Number: i + 1}, pair))
		}
	}
	return rows, nil
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
			a.Report.RefereeID, a.Report.Number, a.Report.Status, a.Report.WinnerPlayerID, a.Report.Reason, a.By,
		})
	}
	report := m.Report
	if report == nil {
		row.Status = StatusRunning
		return row
	}
	row.KeyMarks = l.KeyMarks(m, row.PlayerAID, row.PlayerBID)
	row.Attempt, row.Result, row.Score, row.Grade = report.Number, report.Result, report.Score, report.Grade
	row.ReportedAt = m.ReportedAt
	return row
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
	if m.Stated() {
		remarks = append(remarks, "rests on the word of its referee")
	}
	if n := len(m.Annulled); n > 0 {
		remarks = append(remarks, protocol.Counted(n, "annulled result"))
	}
	return append(remarks, m.KeyMarks...)
}
