package referee

import (
	"context"
	"time"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// address completes a report of the match. Members are those of its assignment.
func (m *match) address(report *protocol.MatchResultReport, members string) {
	report.Envelope = m.referee.Stamp().Envelope(protocol.TypeMatchResultReport, m.conversation)
	report.LeagueID, report.MatchID, report.Attempt = m.member.LeagueID, m.matchID, m.attempt
	report.AuthToken = m.member.Token
	report.SetPlain(members == protocol.MembersPlain)
}

// report reports the result to the manager again, unless a report is under way. A manager that asks is there: the
// next report no longer waits.
func (m *match) report() {
	m.mu.Lock()
	busy := m.reporting
	m.reporting = true
	if m.again != nil {
		m.again()
	}
	m.mu.Unlock()
	if !busy {
		m.deliver()
	}
}

// pause waits for d, but no longer than until the manager asks for the result.
func (m *match) pause(ctx context.Context, d time.Duration) error {
	waits, again := context.WithCancel(ctx)
	defer again()
	m.mu.Lock()
	m.again = again
	m.mu.Unlock()
	_ = m.referee.options.Clock.Sleep(waits, d)
	return ctx.Err()
}

// deliver reports the result to the manager until the manager acknowledges it or
// refuses it for good, or the referee stops.
func (m *match) deliver() {
	ctx, o := m.referee.life, &m.referee.options
	to := protocol.Peer{Endpoint: o.Manager}
	if o.large(m.final.GameType) { // the manager reads a long report only with a credential that it knows before
		to.Bearer = m.member.Token
	}
	err := membership.Retry(ctx, m.pause, func(ctx context.Context) error {
		_, err := protocol.ReportMatchResult.Call(ctx, o.Caller, to, m.final)
		return err
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Str("conversation_id", m.conversation).Dur("wait_ms", wait).
			Str("event_type", "REPORT_RETRY").Msg("cannot report yet, trying again")
	})
	refusal := protocol.AsError(err)
	switch {
	case err == nil:
		m.fileReply(nil)
	case ctx.Err() != nil: // another process may report it later
		m.fileEnding()
	default:
		o.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("event_type", "REPORT_REFUSED").
			Msg("the manager refuses the report")
		if refusal != nil && refusal.Remote {
			m.fileReply(refusal)
		}
	}
	m.mu.Lock()
	m.reporting = false
	m.outdated = refusal != nil && refusal.Remote && refusal.Code == protocol.ErrInvalidMatchState
	first := err == nil && !m.reported
	m.reported = m.reported || first
	m.mu.Unlock()
	if first {
		m.referee.mu.Lock()
		m.referee.remember(m)
		m.referee.mu.Unlock()
		if o.Reported != nil {
			result := m.final.Result.Result
			o.Reported(m.final.MatchID, &result, [2]league.Ref{
				{ID: m.players[0], Name: m.names[0]}, {ID: m.players[1], Name: m.names[1]},
			})
		}
	}
	if err == nil {
		o.Log.Info().Str("conversation_id", m.conversation).Str("match_id", m.final.MatchID).
			Str("reason", m.final.Result.Reason).Str("event_type", "MATCH_REPORTED").Msg("match reported")
	}
}

// failed returns how the program of the game failed in the attempt; "" if it did not.
func (m *match) failed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}

// hasResult tells whether there is a result to report.
func (m *match) hasResult() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.final != nil
}

// isOutdated tells whether the manager has refused the result because of the state of the match.
func (m *match) isOutdated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outdated
}

// mayBeOutdated tells whether the manager may refuse the result so: a technical loss does not count any more if another
// referee has got the match since.
func (m *match) mayBeOutdated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.reported && m.final.Result.Status == league.StatusTechnicalLoss
}

// matchState answers get_match_state.
func (m *match) matchState() *protocol.MatchState {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := &protocol.MatchState{MatchID: m.matchID, State: m.state, Attempt: m.attempt, PlayerAID: m.players[0],
		PlayerBID: m.players[1]}
	if m.views && m.conduct != nil {
		state.Turn = m.conduct.Turn()
	}
	if m.final != nil && (m.reported || !m.hidden) { // the draw and the choices of a hidden game are secret until then
		state.Draw, state.GameResult = m.final.Draw, &m.final.Result.Result
	}
	return state
}

// A Progress is the state of a match with the steps of its conduct (spec 003 §5.4.1).
type Progress struct {
	*protocol.MatchState
	Chosen     []string // ids of the players that have made a legal move
	Commitment string   // to the nonce of the draw
	Reported   bool     // the manager has acknowledged the report
}

// Progress returns how far a match is, to a caller with the referee's own token or its manager's credential.
// The error is E011 or E012 without it, and E006 for a match that the referee does not know.
func (r *Referee) Progress(bearer, matchID string) (*Progress, error) {
	if err := r.CheckOwner(bearer, bearer); err != nil {
		return nil, err
	}
	m, err := r.match(matchID)
	if err != nil {
		return nil, err
	}
	p := &Progress{MatchState: m.matchState(), Chosen: []string{}, Commitment: m.commitment}
	m.mu.Lock()
	p.Reported = m.reported
	defer m.mu.Unlock()
	for i, id := range m.players {
		played := m.conduct != nil && m.conduct.Record(rules.Side(i)).Move != ""
		if m.final != nil { // it may be from a file
			choice, _ := m.final.Result.Choices.Get(id)
			played = choice != nil
		}
		if played {
			p.Chosen = append(p.Chosen, id)
		}
	}
	return p, nil
}

// A Registration is that of a referee at its manager, without the token.
type Registration struct {
	Status    string `json:"status"`
	RefereeID string `json:"referee_id"`
	LeagueID  string `json:"league_id"`
	Manager   string `json:"manager"` // its URL
	protocol.RefereeMeta
}

// Registration returns the registration that the referee has, to a caller with the credential of
// its manager. The error is E011 or E012 without it.
func (r *Referee) Registration(bearer string) (*Registration, error) {
	if err := r.CheckOwner(bearer, bearer); err != nil {
		return nil, err
	}
	m := r.Membership()
	return &Registration{protocol.StatusAccepted, m.AgentID, m.LeagueID, r.options.Manager, r.meta()}, nil
}
