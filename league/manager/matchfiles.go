package manager

import (
	"maps"
	"os"
	"reflect"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// writeMatches writes the missing match files of some rounds, and of the matches whose result an organiser has
// changed: their referee has its files elsewhere, writes none, or stopped before it wrote them. It replaces
// those with a result that an organiser has annulled, and, if damaged is set, incomplete files, as a power
// cut may leave them.
func (m *Manager) writeMatches(from, to int, damaged bool) {
	if m.files == nil {
		return
	}
	m.mu.Lock()
	matches := slices.Collect(maps.Keys(m.changed))
	for round := max(from, 1); round <= to; round++ {
		for i := range m.state.Pairings(round) {
			matches = append(matches, league.MatchID{Round: round, Number: i + 1})
		}
	}
	m.mu.Unlock()
	logs := map[string]*store.LoggedMatches{}
	for _, id := range matches {
		if write := m.needsFile(id, damaged); write != nil {
			if doc := m.rebuilt(id, logs); doc != nil {
				m.writeMatchFile(doc, write)
			}
		}
	}
}

// needsFile returns the function that writes the file of a match; nil if the file is there. It
// does not replace a file that the referee writes meanwhile. It keeps a result that no longer counts in
// a file of its own, and renames that of the attempt that does.
func (m *Manager) needsFile(id league.MatchID, damaged bool) (write func(path string, doc *store.Match) error) {
	m.mu.Lock()
	match := m.state.Match(id)
	r, decided := match.Report, match.Annulled != nil || match.Ruled != nil
	m.mu.Unlock()
	folder, name := m.files.Folder, id.String()
	path := folder.Match(m.options.LeagueID, name)
	write = store.AddMatch
	if _, err := os.Lstat(path); err == nil {
		if !decided && !damaged {
			return nil
		}
		doc, err := store.Read[store.Match](path)
		switch {
		case err != nil && !damaged, err == nil && (!decided || r != nil && isFileOf(doc, r)):
			return nil // the audit finds other errors
		case err == nil && doc.WrittenBy == store.WrittenByReferee:
			if err = folder.KeepAttempt(doc); err != nil {
				m.files.written(path, err)
				return nil
			}
		}
		write = store.WriteMatch
	}
	if r == nil {
		return nil
	}
	own := folder.Attempt(m.options.LeagueID, name, r.Number)
	if doc, err := store.Read[store.Match](own); err == nil && isFileOf(doc, r) {
		m.files.written(path, os.Rename(own, path))
		return nil
	}
	return write
}

// isFileOf tells whether a file has a result.
func isFileOf(doc *store.Match, r *journal.MatchReported) bool {
	return doc.Attempt == r.Number && doc.RefereeID == r.RefereeID &&
		reflect.DeepEqual(doc.Result, &store.MatchResult{Result: r.Result, Score: r.Score})
}

// rebuilt makes the file of a match from the log of the referee, if this is in the folder, or from
// the journal. If the log lacks the acknowledgement, the file lacks it too, until the referee
// reports again. It returns nil for a match without a result.
func (m *Manager) rebuilt(id league.MatchID, logs map[string]*store.LoggedMatches) *store.Match {
	m.mu.Lock()
	match, playerA, playerB, _ := m.state.Find(id)
	report, event, a, b := match.Report, match.Event, m.agents[playerA], m.agents[playerB]
	lost := report != nil && match.IsLost(report.Number) // the referee's record has the report that does not count
	m.mu.Unlock()
	if report == nil {
		return nil
	}
	logged, known := logs[report.RefereeID]
	if !known {
		// an error leaves the journal
		logged, _ = store.ReadMatchLog(m.files.Folder.MatchLog(m.options.LeagueID, report.RefereeID))
		logs[report.RefereeID] = logged
	}
	if logged != nil && !lost {
		if doc := logged.Find(id.String(), report.Number); doc != nil && doc.Result != nil {
			return doc.Match
		}
	}
	return m.matchFileOf(m.recordedReport(report, event), a, b)
}

// matchFileOf makes the file of a match from its report.
func (m *Manager) matchFileOf(r *journal.MatchReported, a, b *agent) *store.Match {
	now := m.clock.Timestamp()
	return &store.Match{
		Header: store.NewHeader(now), LeagueID: m.options.LeagueID, RoundID: r.MatchID.Round,
		MatchID: r.MatchID.String(), GameType: m.options.GameType, Attempt: r.Number,
		RefereeID: r.RefereeID, WrittenBy: store.WrittenByManager,
		PlayerA: store.MatchPlayer{PlayerID: a.id, DisplayName: a.name},
		PlayerB: store.MatchPlayer{PlayerID: b.id, DisplayName: b.name},
		Lifecycle: store.Lifecycle{State: store.StateAcknowledged,
			States: []store.StateEntry{{State: store.StateAcknowledged, At: now}}},
		Transcript: []store.Exchange{}, Draw: r.Draw,
		Result:   &store.MatchResult{Result: r.Result, Score: r.Score},
		Scoring:  m.options.Scoring,
		Evidence: protocol.Evidence{Signatures: r.Signatures, Moves: r.Evidence.Moves},
	}
}

// writeMatchFile writes the file of a match. It does not replace a file with a transcript by one
// without.
func (m *Manager) writeMatchFile(doc *store.Match, write func(path string, doc *store.Match) error) {
	if m.files == nil {
		return
	}
	path := m.files.Folder.Match(doc.LeagueID, doc.MatchID)
	if there, err := store.Read[store.Match](path); err == nil && there.Attempt == doc.Attempt &&
		len(there.Transcript) > len(doc.Transcript) {
		return
	}
	m.files.written(path, write(path, doc))
}
