package manager

import (
	"cmp"
	"context"
	"errors"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
)

// errOrganiser is no failure: a decision of the organiser comes before the next round, or
// before the end of the league.
var errOrganiser = errors.New("a decision of the organiser comes first")

// organiserWaits tells whether no round may begin, and the league may not end, because the
// organiser has paused it or a rematch has no result. M.mu is held.
func (m *Manager) organiserWaits() bool { return m.state.Paused != nil || len(m.state.Rematches) > 0 }

// carryOut carries out the organiser's decisions between two rounds: it waits while the league
// is paused, and plays the rematches one after the other. Before it waits or plays, it sends
// what is left to tell about the round before.
func (m *Manager) carryOut(starting, running context.Context, last *roundEnd) error {
	for {
		m.mu.Lock()
		over := m.state.Open() || m.state.Completed != nil
		begun, paused, ordered := m.begunRematch() != nil, m.state.Paused != nil, len(m.state.Rematches) > 0
		newTable := m.newTable && m.state.Round > 0
		m.mu.Unlock()
		if over || !begun && !paused && !ordered && !newTable {
			return nil
		}
		last.post()
		*last = roundEnd{}
		var err error
		switch {
		case newTable && !begun:
			m.tellTable(running)
		case begun, ordered && !paused:
			err = m.playRematch(starting, running)
		default:
			err = m.awaitOrganiser(starting)
		}
		if err != nil {
			return err
		}
	}
}

// awaitOrganiser waits for a decision.
func (m *Manager) awaitOrganiser(starting context.Context) error {
	select {
	case <-m.organiser.news:
		return nil
	case <-starting.Done():
		return starting.Err()
	}
}

// tellTable tells the players the table.
func (m *Manager) tellTable(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.present(m.players)
	post(nil, there, m.standingsUpdate(ctx, m.state.Round, len(there)))
}

// begunRematch is the match that is played again and has no result; nil for none. M.mu is held.
func (m *Manager) begunRematch() *league.MatchID {
	for _, id := range m.state.Rematches {
		if m.state.Match(id).Reopened() {
			return &id
		}
	}
	return nil
}

// playRematch plays the next ordered rematch, or the one that a manager before had begun. It
// begins none if the organiser has paused the league or ruled the match meanwhile.
func (m *Manager) playRematch(starting, running context.Context) error {
	if err := m.atBarrier(starting); err != nil {
		return err
	}
	x, err := m.openRematch()
	if err == nil {
		err = m.durable()
	}
	if err != nil || x == nil {
		return err
	}
	announcement := m.announce(running, []*agent{x.a, x.b}, []*match{x})
	m.tellForfeits(running, x)
	announcement.wait()
	m.log.Info().Stringer("match_id", x.id).Str("event_type",
		"REMATCH_BEGINS").Msg("a match is played again")
	if err := m.wait(starting, m.options.AnnounceLead); err != nil {
		return err
	}
	m.play(starting, running, []*match{x})
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.recorded.Report == nil {
		return cmp.Or(starting.Err(), running.Err())
	}
	m.rematch = nil
	m.correct(x.id)
	post(nil, m.present(m.referees), m.deliverTranscripts(running, m.state.Round))
	return nil
}

// openRematch reopens the match of the next rematch, or finds the one that is open. It
// forfeits the rematch if a player takes no part any more. It returns nil if there is nothing
// to play.
func (m *Manager) openRematch() (*match, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.begunRematch()
	if id == nil {
		event := decide.Reopen(m.state)
		if event == nil || m.state.Paused != nil {
			return nil, nil //nolint:nilnil // there is nothing to play
		}
		if err := m.record(event); err != nil {
			return nil, err
		}
		id = &event.MatchID
		m.correct(*id)
	}
	_, a, b, _ := m.state.Find(*id)
	x, err := m.newMatch(*id, m.agents[a], m.agents[b], decide.RematchReferee(m.state, *id))
	m.rematch = x
	return x, err
}

// forfeits is forfeit for a hand-over: the organiser may have suspended or withdrawn a player
// since the round began. The players that are left learn it by an announcement.
func (m *Manager) forfeits(ctx context.Context, x *match) bool {
	m.mu.Lock()
	if !m.state.Agents[x.a.id].Inactive() && !m.state.Agents[x.b.id].Inactive() {
		m.mu.Unlock()
		return false
	}
	forfeited, err := m.forfeit(x)
	if forfeited {
		x.absent = x.recorded.Forfeited
	}
	m.mu.Unlock()
	if err != nil || !forfeited || m.durable() != nil {
		return false // an error ends the manager
	}
	m.announce(ctx, []*agent{x.a, x.b}, []*match{x})
	m.tellForfeits(ctx, x)
	m.finished(x)
	return true
}

// finished completes a match whose result is on disk. Its hand-over stops.
func (m *Manager) finished(x *match) {
	if m.options.Broadcast == journal.BroadcastMatch {
		m.tellTable(m.life)
	}
	x.done.Store(true)
	x.wake()
}
