package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
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
	for id := range m.state.MatchesOf(max(from, 1), to) {
		matches = append(matches, id)
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
// a file of its own, and gives the attempt that does the file of the match.
func (m *Manager) needsFile(id league.MatchID, damaged bool) (write func(disk.Disk, string, *store.Match) error) {
	m.mu.Lock()
	match := m.state.Match(id)
	r, decided := match.Report, match.Annulled != nil || match.Ruled != nil
	m.mu.Unlock()
	folder, name := m.files.Folder, id.String()
	path := folder.Match(m.options.LeagueID, name)
	write = store.AddMatch
	if _, err := folder.Disk.Lstat(path); err == nil {
		if !decided && !damaged {
			return nil
		}
		doc, err := store.Read[store.Match](folder.Disk, path)
		switch {
		case err != nil && !damaged, err == nil && (!decided || r != nil && m.isFileOf(doc, r)):
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
	if doc, err := store.Read[store.Match](folder.Disk, own); err == nil && m.isFileOf(doc, r) {
		m.acknowledge(doc)
		m.files.written(path, folder.CountAttempt(doc))
		return nil
	}
	return write
}

// isFileOf tells whether a file has a result. A plain report lacks reason, faults and fallbacks, which the file of
// its referee has.
func (m *Manager) isFileOf(doc *store.Match, r *journal.MatchReported) bool {
	want := &protocol.MatchResult{Result: r.Result, Score: r.Score}
	if got := doc.Result; got != nil && m.options.Plain() {
		want.Reason, want.Faults, want.Fallbacks = got.Reason, got.Faults, got.Fallbacks
	}
	return doc.Attempt == r.Number && doc.RefereeID == r.RefereeID && reflect.DeepEqual(doc.Result, want)
}

// acknowledge changes the file of a result that counts although the manager refused its report: a double
// loss (journal.CauseBothAnswer) that no other referee has contradicted, or one whose second report counts. It tells
// whether the file is one.
func (m *Manager) acknowledge(doc *store.Match) bool {
	if doc.Lifecycle.State != protocol.StateDisputed {
		return false
	}
	doc.Refusal, doc.LastUpdated = nil, m.clock.Timestamp()
	doc.Lifecycle.State = protocol.StateAcknowledged
	doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: protocol.StateAcknowledged, At: doc.LastUpdated})
	return true
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
		logged, _ = store.ReadMatchLog(m.files.Folder.Disk, m.files.Folder.MatchLog(m.options.LeagueID, report.RefereeID))
		logs[report.RefereeID] = logged
	}
	if logged != nil && !lost {
		if doc := logged.Find(id.String(), report.Number); doc != nil && doc.Result != nil {
			m.acknowledge(doc.Match)
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
		MatchID: r.MatchID.String(), GameType: m.options.GameType, GameID: m.options.GameID, Attempt: r.Number,
		RefereeID: r.RefereeID, WrittenBy: store.WrittenByManager,
		PlayerA: store.MatchPlayer{PlayerID: a.id, DisplayName: a.name},
		PlayerB: store.MatchPlayer{PlayerID: b.id, DisplayName: b.name},
		Lifecycle: store.Lifecycle{State: protocol.StateAcknowledged,
			States: []store.StateEntry{{State: protocol.StateAcknowledged, At: now}}},
		Transcript: []store.Exchange{}, Draw: r.Draw,
		Result:   &protocol.MatchResult{Result: r.Result, Score: r.Score},
		Scoring:  m.options.Scoring,
		Evidence: protocol.Evidence{Signatures: r.Signatures, Moves: r.Evidence.Moves, Opening: r.Opening, Draws: r.Draws},
	}
}

// writeMatchFile writes the file of a match. It does not replace a file with a transcript by one
// without.
func (m *Manager) writeMatchFile(doc *store.Match, write func(disk.Disk, string, *store.Match) error) {
	if m.files == nil {
		return
	}
	path := m.files.Folder.Match(doc.LeagueID, doc.MatchID)
	if there, err := store.Read[store.Match](m.files.Folder.Disk, path); err == nil && there.Attempt == doc.Attempt &&
		len(there.Transcript) > len(doc.Transcript) {
		return
	}
	m.files.written(path, write(m.files.Folder.Disk, path, doc))
}

// The limits of the delivery of transcripts. A transcript that does not fit stays with its
// referee.
const (
	deliveryTime = 10 * time.Second // for one referee after a round
	deliveryCall = 5 * time.Second
)

// deliverTranscripts is a notice to a referee: it asks for the files of the matches that
// have ended since the last time. For a player it does nothing. It never delays a match, because
// assignments are no notices; the end of the league waits for it.
func (m *Manager) deliverTranscripts(ctx context.Context, round int) notice {
	return func(a *agent, full bool) {
		if full || a.player || m.files == nil {
			return
		}
		wanted := m.undelivered(a, round)
		ctx, cancel := context.WithTimeout(ctx, deliveryTime)
		defer cancel()
		for i := 0; i < len(wanted) && ctx.Err() == nil; i++ {
			if err := m.deliverTranscript(ctx, a, wanted[i]); err != nil {
				m.log.Info().Err(err).Stringer("match_id", wanted[i].MatchID).Str("referee_id", a.id).
					Str("event_type", "TRANSCRIPT_NOT_DELIVERED").Msg("a referee did not deliver the transcript of a match")
			}
		}
	}
}

// undelivered returns the results of a referee up to a round, annulled ones included, whose files
// are not in the folder: none for a third-party referee, and for one that shares the folder.
func (m *Manager) undelivered(a *agent, round int) (wanted []*journal.MatchReported) {
	if _, err := m.files.Folder.Disk.Stat(m.files.Folder.MatchLog(m.options.LeagueID, a.id)); err == nil {
		return nil
	}
	for _, r := range m.resultsOf(a, round) {
		doc, err := m.files.Folder.LoadAttempt(m.options.LeagueID, r.MatchID.String(), r.Number)
		if err != nil || doc.WrittenBy != store.WrittenByReferee {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// resultsOf returns the results of a referee in the rounds that it was not asked for, and those that
// an organiser has changed.
func (m *Manager) resultsOf(a *agent, round int) (all []*journal.MatchReported) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thirdParty(a.id) {
		return nil
	}
	add := func(match *journal.Match) {
		for i := range match.Annulled {
			all = append(all, match.Annulled[i].Report)
		}
		all = append(all, match.Report)
	}
	for _, match := range m.state.MatchesOf(a.asked+1, round) {
		add(match)
	}
	a.asked = max(a.asked, round)
	for id := range m.changed {
		if id.Round <= a.asked {
			add(m.state.Match(id))
		}
	}
	return slices.DeleteFunc(all, func(r *journal.MatchReported) bool {
		return r == nil || r.RefereeID != a.id || r.Number == 0
	})
}

// deliverTranscript asks for the file of one attempt, and stores it. The referee is not trusted:
// the audit compares it with the journal.
func (m *Manager) deliverTranscript(ctx context.Context, a *agent, r *journal.MatchReported) error {
	doc, err := m.askForTranscript(ctx, a, r.MatchID.String(), r.Number)
	if err != nil {
		return err
	}
	now := locked(m, func() *journal.MatchReported { return m.state.Match(r.MatchID).Report })
	counts := now != nil && now.Attempt == r.Attempt
	if counts && m.isFileOf(doc, now) && (m.acknowledge(doc) || doc.Lifecycle.State == protocol.StateAcknowledged) {
		m.writeMatchFile(doc, store.WriteMatch)
		return nil
	}
	return store.WriteMatch(m.files.Folder.Disk, m.files.Folder.Attempt(doc.LeagueID, doc.MatchID, doc.Attempt), doc)
}

// askForTranscript asks a referee for the file of an attempt. The answer may be an untrue one, but
// it is about this attempt, and has no tokens.
func (m *Manager) askForTranscript(ctx context.Context, referee *agent, matchID string, attempt int) (*store.Match,
	error) {
	q := &protocol.ToolRequest{Envelope: m.stamp.Envelope("", protocol.MatchConversation(matchID, attempt)),
		LeagueID: m.options.LeagueID, MatchID: matchID, Attempt: attempt}
	answer, _, err := protocol.GetMatchTranscript.CallWithin(ctx, m.options.Caller, referee.peer(), q, deliveryCall)
	if err != nil {
		return nil, err
	}
	doc := new(store.Match)
	if err := json.Unmarshal(protocol.HideTokens(answer.Match), doc); err != nil {
		return nil, fmt.Errorf("the file of a match cannot be read: %w", err)
	}
	switch {
	case doc.LeagueID != q.LeagueID, doc.MatchID != matchID, doc.Attempt != attempt, doc.RefereeID != referee.id,
		doc.WrittenBy != store.WrittenByReferee:
		return nil, fmt.Errorf("it delivered attempt %d at %.20q by %.20q", doc.Attempt, doc.MatchID, doc.RefereeID)
	case doc.Result == nil:
		return nil, errors.New("the attempt has no result")
	}
	return doc, nil
}
