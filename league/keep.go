package league

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"evenodd/league/journal"
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

// writeFiles writes what derives from the journal for others to read:
// standings.json and rounds.json. That it cannot is no reason to stop: the
// journal has it all.
func (m *Manager) writeFiles() {
	k := m.options.Keep
	if k == nil {
		return
	}
	m.mu.Lock()
	_, head := m.journal.Last()
	now := m.options.Clock.Timestamp()
	id := m.options.LeagueID
	standings := &store.Standings{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: id,
		Version: m.state.Recorded, JournalHead: head, Standings: m.state.Standings(),
	}
	rounds := &store.Rounds{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: id,
		TotalRounds: m.state.Schedule.Rounds(), Rounds: m.state.RoundRecords(),
	}
	standings.RoundsCompleted = len(rounds.Rounds)
	m.mu.Unlock()
	if m.durable() != nil {
		return // standings never run ahead of the journal
	}
	m.write(k.Folder.Standings(id), standings)
	m.write(k.Folder.Rounds(id), rounds)
}

func (m *Manager) write(path string, document any) {
	if err := store.Write(path, document); err != nil {
		m.options.Log.Error().Err(err).Str("file", path).
			Msg("a file could not be written; the journal has what belongs in it, and the next start or round writes it again")
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

// writeMatches writes the files of the matches of some rounds that have none:
// their referee keeps its own elsewhere, or keeps none.
func (m *Manager) writeMatches(from, to int) {
	k := m.options.Keep
	if k == nil {
		return
	}
	for round := max(from, 1); round <= to; round++ {
		for number := 1; number <= m.state.Schedule.MatchesPerRound(); number++ {
			pair, _ := m.state.Schedule.Pair(round, number)
			report := m.state.Matches[m.state.Schedule.Index(round, number)].Report
			path := k.Folder.Match(m.options.LeagueID, report.MatchID)
			if _, err := os.Lstat(path); err == nil {
				continue
			}
			err := store.Add(path, m.matchFile(round, report, m.players[pair.A], m.players[pair.B]))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				m.options.Log.Error().Err(err).Str("file", path).Msg("a match file could not be written; the journal has the result")
			}
		}
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
