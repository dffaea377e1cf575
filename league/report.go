package league

import (
	"context"
	"slices"

	"evenodd/league/protocol"
	"evenodd/league/table"
)

// A result is what is recorded of a match. It is small, because a league keeps
// all of them.
type result struct {
	status  string // "" while there is none
	winner  *agent // nil for a draw and a double loss
	number  int    // 0 when none was drawn
	choiceA string // "" when none was made
	choiceB string
	reason  string
	referee *agent
	others  []*agent // who had the match too; nil nearly always
}

// same tells whether two reports say the same of a match.
func (r *result) same(o *result) bool {
	return r.status == o.status && r.winner == o.winner && r.number == o.number &&
		r.choiceA == o.choiceA && r.choiceB == o.choiceB
}

// reportMatchResult records a result (spec 003 §8.7.6). The same report again
// is acknowledged again; a different one of the same match is refused.
func (m *Manager) reportMatchResult(_ context.Context, _ string, q *protocol.MatchResultReport) (*protocol.Ack, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	referee, err := m.identify(&q.Envelope)
	if err != nil {
		return nil, err
	}
	if referee.player {
		return nil, protocol.Fault(protocol.ErrRefereeNotRegistered, "%s is no referee", referee.id)
	}
	if q.LeagueID != m.options.LeagueID {
		return nil, m.otherLeague(q.LeagueID)
	}
	ack := &protocol.Ack{Status: protocol.StatusAccepted, MatchID: q.MatchID, RoundID: q.RoundID}
	x, index, err := m.reported(q, referee)
	if err != nil {
		return nil, err
	}
	r, err := m.read(q, referee)
	if err != nil {
		return nil, err
	}
	if known := &m.results[index]; known.status != "" {
		if known.referee == referee && known.same(&r) {
			return ack, nil
		}
		m.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
			Str("referee_id", referee.id).Str("status", r.status).Msg("disputed: a different result of a match that has one")
		return nil, protocol.Fault(protocol.ErrDuplicateReport, "match %s has a result already", q.MatchID)
	}
	if err := m.table.Record(r.outcome(x.a, x.b)); err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	m.checkScore(q, x, &r)
	for other := range x.holders {
		if other != referee {
			r.others = append(r.others, other)
		}
	}
	m.results[index] = r
	m.recorded++
	if m.options.Progress != nil {
		m.options.Progress(m.recorded, len(m.results))
	}
	if m.options.EveryMatch {
		m.post(m.players, m.standingsUpdate(m.life, m.round, m.standings(0, protocol.MaxStandings)))
	}
	m.options.Log.Info().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
		Str("status", r.status).Str("reason", r.reason).Msg("result recorded")
	close(x.done)
	return ack, nil
}

// reported finds the match of a report, and whether the referee may report it.
// Of a finished round only the place of the result is left.
func (m *Manager) reported(q *protocol.MatchResultReport, referee *agent) (*match, int, error) {
	if m.table == nil {
		return nil, 0, protocol.Fault(protocol.ErrLeagueNotStarted, "the league has not started")
	}
	unknown := func() error {
		return protocol.Fault(protocol.ErrMatchNotFound, "match %.40q is not assigned to %s", q.MatchID, referee.id)
	}
	round, number, ok := protocol.ParseMatchID(q.MatchID)
	if !ok || round != q.RoundID || round > m.round {
		return nil, 0, unknown()
	}
	if _, ok := m.schedule.Pair(round, number); !ok {
		return nil, 0, unknown()
	}
	index := m.schedule.Index(round, number)
	if round < m.round || m.state == StateLeagueCompleted {
		if r := &m.results[index]; r.referee != referee && !slices.Contains(r.others, referee) {
			return nil, 0, unknown()
		}
		return nil, index, nil
	}
	x := m.matches[number-1]
	if !x.holders[referee] {
		return nil, 0, unknown()
	}
	return x, index, nil
}

// read makes a result of a report. Points are the manager's to compute, so only
// the status, the winner and the particulars count; a report without details,
// or with winner "DRAW", is understood.
func (m *Manager) read(q *protocol.MatchResultReport, referee *agent) (result, error) {
	round, number, _ := protocol.ParseMatchID(q.MatchID)
	pair, _ := m.schedule.Pair(round, number)
	a, b := m.players[pair.A], m.players[pair.B]
	r := result{referee: referee}
	drawn := q.Result.Winner != nil && *q.Result.Winner == "DRAW"
	switch w := q.Result.Winner; {
	case w == nil || drawn:
	case *w == a.id:
		r.winner = a
	case *w == b.id:
		r.winner = b
	default:
		return r, protocol.Fault(protocol.ErrInvalidFieldType, "result.winner: %s, %s or null", a.id, b.id)
	}
	if d := q.Result.Details; d != nil {
		r.status, r.reason = d.Status, d.Reason
		if d.DrawnNumber != nil {
			r.number = *d.DrawnNumber
		}
		r.choiceA, r.choiceB = choiceOf(d.Choices, a.id), choiceOf(d.Choices, b.id)
	}
	switch {
	case r.status != "":
	case drawn:
		r.status = protocol.StatusDraw
	default:
		r.status = inferStatus(q.Result.Details, r.winner != nil)
	}
	if (r.status == protocol.StatusWin) != (r.winner != nil) && r.status != protocol.StatusTechnicalLoss {
		return r, protocol.Fault(protocol.ErrInvalidFieldType, "result: status %s does not go with that winner", r.status)
	}
	return r, nil
}

// inferStatus is the status of a report that names none (spec 003 §8.7.6).
func inferStatus(d *protocol.ResultDetails, won bool) string {
	switch {
	case won && (d == nil || d.DrawnNumber != nil):
		return protocol.StatusWin
	case d != nil && d.DrawnNumber == nil && d.Choices != nil:
		return protocol.StatusTechnicalLoss
	case won:
		return protocol.StatusWin
	}
	return protocol.StatusDraw
}

func choiceOf(choices protocol.PerPlayer[*string], id string) string {
	if c, _ := choices.Get(id); c != nil {
		return *c
	}
	return ""
}

// outcome is the result as the table counts it.
func (r *result) outcome(a, b *agent) table.Outcome {
	o := table.Outcome{A: a.index, B: b.index, Winner: table.None, Technical: r.status == protocol.StatusTechnicalLoss}
	if r.winner != nil {
		o.Winner = r.winner.index
	}
	return o
}

// checkScore warns when a referee counts points otherwise than the league.
func (m *Manager) checkScore(q *protocol.MatchResultReport, x *match, r *result) {
	a, b := m.table.Points(r.outcome(x.a, x.b))
	gotA, _ := q.Result.Score.Get(x.a.id)
	gotB, _ := q.Result.Score.Get(x.b.id)
	if gotA != a || gotB != b {
		m.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
			Int("reported_A", gotA).Int("reported_B", gotB).Int("counted_A", a).Int("counted_B", b).
			Msg("the reported score differs from the league's scoring, which counts")
	}
}

func (m *Manager) otherLeague(id string) *protocol.Error {
	return protocol.Fault(protocol.ErrLeagueNotFound, "this manager runs league %s, not %.60q", m.options.LeagueID, id)
}

// A MatchRecord is a recorded result with its match.
type MatchRecord struct {
	MatchID   string
	RoundID   int
	PlayerA   string
	PlayerB   string
	RefereeID string
	Status    string
	Winner    string // "" for a draw and a double loss
	Number    int    // 0 when none was drawn
	ChoiceA   string // "" when none was made
	ChoiceB   string
	Reason    string
}

// Results are all recorded results in schedule order.
func (m *Manager) Results() []MatchRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	records := make([]MatchRecord, 0, m.recorded)
	for round := 1; round <= m.schedule.Rounds(); round++ {
		for i, p := range m.schedule.Round(round) {
			r := &m.results[m.schedule.Index(round, i+1)]
			if r.status == "" {
				continue
			}
			record := MatchRecord{
				MatchID: protocol.MatchID(round, i+1), RoundID: round,
				PlayerA: m.players[p.A].id, PlayerB: m.players[p.B].id, RefereeID: r.referee.id,
				Status: r.status, Number: r.number, ChoiceA: r.choiceA, ChoiceB: r.choiceB, Reason: r.reason,
			}
			if r.winner != nil {
				record.Winner = r.winner.id
			}
			records = append(records, record)
		}
	}
	return records
}
