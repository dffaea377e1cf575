package league

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A Keep is where a league is kept, and what is known of it: an open journal,
// with the league locked, so that no other manager runs it.
type Keep struct {
	Folder store.Folder
	State  *journal.State // what has happened until now
	Torn   *journal.Torn  // what was cut off the journal's end; nil nearly always

	journal *journal.Journal
	secret  [32]byte
	unlock  func() error
	lost    string // the head that standings.json knows and the journal does not; "" nearly always
}

// OpenKeep opens a league in a folder, or begins one there. Fresh moves a league
// that is there into the archive first, and tells where that is. The errors name
// the file and what to do: the league is locked (*store.LockedError), the
// journal is damaged (*journal.DamageError), a file cannot be read or written.
func OpenKeep(folder store.Folder, leagueID string, fresh bool, now func() time.Time) (k *Keep, archived string, err error) {
	unlock, err := folder.Lock(leagueID)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	if fresh {
		if archived, err = folder.Archive(leagueID, journal.FormatTime(now())); err != nil {
			return nil, archived, fmt.Errorf("cannot move the old league to the archive: %w", err)
		}
	}
	known, err := store.Read[store.Standings](folder.Standings(leagueID))
	if err != nil || known.LeagueID != leagueID {
		known = &store.Standings{} // they are written again
	}
	k = &Keep{Folder: folder, unlock: unlock, lost: known.JournalHead}
	k.journal, k.State, k.Torn, err = journal.Open(folder.Journal(leagueID), func(_ int, _ *journal.Event, hash string) {
		if hash == k.lost {
			k.lost = ""
		}
	})
	if err != nil {
		return nil, archived, err
	}
	if err = k.missed(leagueID); err != nil {
		return nil, archived, errors.Join(err, k.journal.Close())
	}
	if k.secret, err = folder.Secret(leagueID, len(k.State.Agents) > 0); err != nil {
		return nil, archived, errors.Join(err, k.journal.Close())
	}
	return k, archived, nil
}

// missed is an error when the journal is gone while other files of its league
// are there: to begin anew in silence would be to lose it.
func (k *Keep) missed(leagueID string) error {
	traces := k.Folder.Traces(leagueID)
	if k.State.Events > 0 || len(traces) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no event, but there is %s: restore the journal, or begin again with --new-league",
		k.Folder.Journal(leagueID), strings.Join(traces, " and "))
}

// LostTail tells whether events are missing at the journal's end that were on
// disk before: not by a crash, which loses nothing that was said. The league
// goes on from what the journal has.
func (k *Keep) LostTail() bool { return k.lost != "" }

// Close writes what is queued and lets other managers in.
func (k *Keep) Close() error { return errors.Join(k.journal.Close(), k.unlock()) }

// writePause is the least time between two writes of the derived files, but for
// those at the end of a round.
const writePause = 200 * time.Millisecond

// changed has the derived files written soon, if an event changes them. M.mu is
// held.
func (m *Manager) changed(d journal.Data) {
	switch d.(type) {
	case *journal.AgentRegistered, *journal.AgentAnswered, *journal.RegistrationDropped, *journal.AgentReturned,
		*journal.AgentSuspended, *journal.AgentShutdown, *journal.AgentInformed,
		*journal.Started, *journal.MatchReported, *journal.MatchForfeited:
	default:
		return
	}
	select {
	case m.stale <- struct{}{}:
	default: // they are written anyway
	}
}

// writeWhenChanged writes the derived files after changes, until ctx ends.
func (m *Manager) writeWhenChanged(ctx context.Context) {
	if m.options.Keep == nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-m.stale:
			m.writeFiles()
		case <-ctx.Done():
		}
		pause := time.NewTimer(writePause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	select {
	case <-m.stale:
		m.writeFiles()
	default:
	}
}

// writeFiles writes what derives from the journal for others to read:
// agents.json, and from the start on standings.json and rounds.json. That it
// cannot is no reason to stop: the journal has it all.
func (m *Manager) writeFiles() {
	k := m.options.Keep
	if k == nil {
		return
	}
	m.files.Lock() // an older state never takes the place of a newer one
	defer m.files.Unlock()
	m.mu.Lock()
	_, head := m.journal.Last()
	now := m.options.Clock.Timestamp()
	id := m.options.LeagueID
	agents := &store.Agents{SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: id}
	agents.Referees, agents.Players = m.state.AgentRecords()
	started := m.state.Started != nil
	standings := &store.Standings{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: id,
		Version: m.state.Recorded, JournalHead: head, Standings: m.state.Standings(),
	}
	rounds := &store.Rounds{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: id,
		TotalRounds: m.state.Schedule.Rounds(), Rounds: m.state.RoundRecords(),
	}
	standings.RoundsCompleted = len(rounds.Rounds)
	newRound := m.roundsWritten != len(rounds.Rounds)
	m.roundsWritten = len(rounds.Rounds)
	m.mu.Unlock()
	if m.durable() != nil {
		return // files never run ahead of the journal
	}
	if known := m.agentsWritten; known == nil || !reflect.DeepEqual(known.Players, agents.Players) || !reflect.DeepEqual(known.Referees, agents.Referees) {
		m.write(k.Folder.Agents(id), agents)
		m.agentsWritten = agents
	}
	if started {
		m.write(k.Folder.Standings(id), standings)
	}
	if newRound {
		m.write(k.Folder.Rounds(id), rounds)
	}
}

func (m *Manager) write(path string, document any) {
	if err := store.Write(path, document); err != nil {
		m.options.Log.Error().Err(err).Str("file", path).
			Str("event_type", protocol.EventFileNotWritten).Msg("a file could not be written; the journal has what belongs in it, and the next start or round writes it again")
	}
}

// filesComplete tells whether standings.json and rounds.json are those of the
// final table.
func (m *Manager) filesComplete() bool {
	k, id := m.options.Keep, m.options.LeagueID
	if k == nil {
		return true
	}
	standings, err := store.Read[store.Standings](k.Folder.Standings(id))
	if err != nil || k.LostTail() {
		return false
	}
	rounds, err := store.Read[store.Rounds](k.Folder.Rounds(id))
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return reflect.DeepEqual(standings.Standings, m.state.Standings()) && standings.JournalHead != "" &&
		standings.Version == m.state.Recorded && standings.RoundsCompleted == len(rounds.Rounds) &&
		reflect.DeepEqual(rounds.Rounds, m.state.RoundRecords())
}

// rewriteFiles is writeFiles for files that may say something else than the state.
func (m *Manager) rewriteFiles() {
	m.files.Lock()
	m.agentsWritten, m.roundsWritten = nil, -1
	m.files.Unlock()
	m.writeFiles()
}

// writeMatches writes the files of the matches of some rounds that have none:
// their referee keeps its own elsewhere, or keeps none.
func (m *Manager) writeMatches(from, to int) {
	if m.options.Keep == nil {
		return
	}
	for round := max(from, 1); round <= to; round++ {
		for number := 1; number <= m.state.Schedule.MatchesPerRound(); number++ {
			pair, _ := m.state.Schedule.Pair(round, number)
			report := m.state.Matches[m.state.Schedule.Index(round, number)].Report
			m.writeMatch(round, report, m.players[pair.A], m.players[pair.B])
		}
	}
}

// writeMatch writes the file of a match, if there is none.
func (m *Manager) writeMatch(round int, r *journal.MatchReported, a, b *agent) {
	if m.options.Keep == nil {
		return
	}
	path := m.options.Keep.Folder.Match(m.options.LeagueID, r.MatchID)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	if err := store.Add(path, m.matchFile(round, r, a, b)); err != nil && !errors.Is(err, fs.ErrExist) {
		m.options.Log.Error().Err(err).Str("file", path).Str("event_type", protocol.EventResultFileNotWritten).Msg("a match file could not be written; the journal has the result")
	}
}

// matchFile is what a manager knows of a match: what was reported.
func (m *Manager) matchFile(round int, r *journal.MatchReported, a, b *agent) *store.Match {
	now := m.options.Clock.Timestamp()
	scoring := m.options.Scoring
	return &store.Match{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: m.options.LeagueID, RoundID: round,
		MatchID: r.MatchID, GameType: m.options.GameType, Attempt: r.Attempt,
		RefereeID: r.RefereeID, WrittenBy: store.WrittenByManager,
		PlayerA:    store.MatchPlayer{PlayerID: a.id, DisplayName: a.name},
		PlayerB:    store.MatchPlayer{PlayerID: b.id, DisplayName: b.name},
		Lifecycle:  store.Lifecycle{State: store.StateAcknowledged, States: []store.StateEntry{{State: store.StateAcknowledged, At: now}}},
		Transcript: []store.Exchange{}, Draw: r.Draw,
		Result:  &store.MatchResult{GameResult: r.Outcome, Score: r.Score},
		Scoring: scoringOf(scoring),
	}
}
