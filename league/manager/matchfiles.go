package manager

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// writeMatches writes the missing match files of some rounds: their referee has its files
// elsewhere, writes none, or stopped before it wrote them. It replaces those with a result
// that an organiser has annulled, and, if damaged is set, incomplete files, as a power cut may
// leave them.
func (m *Manager) writeMatches(from, to int, damaged bool) {
	m.writeMissing(damaged, func(yield func(protocol.MatchID) bool) {
		for round := max(from, 1); round <= to; round++ {
			for i := range m.state.Pairings(round) {
				if !yield(protocol.MatchID{Round: round, Number: i + 1}) {
					return
				}
			}
		}
	})
}

// writeMissing is writeMatches for some matches.
func (m *Manager) writeMissing(damaged bool, matches iter.Seq[protocol.MatchID]) {
	if m.files == nil {
		return
	}
	recorded := &results{folder: m.files.Folder, leagueID: m.options.LeagueID, open: map[string]*store.ResultsIndex{}}
	defer recorded.close()
	for id := range matches {
		path := m.files.Folder.Match(m.options.LeagueID, id.String())
		write := toWrite(path, damaged)
		if write == nil && m.isOutdated(id, path) {
			write = store.WriteDerived
		}
		if write == nil {
			continue
		}
		if doc := m.rebuilt(id, recorded); doc != nil {
			m.writeMatchFile(id.String(), write, doc)
		}
	}
}

// writeDecided writes the files of the matches whose result an organiser has changed.
func (m *Manager) writeDecided() {
	m.mu.Lock()
	decided := slices.Collect(maps.Keys(m.organiser.decided))
	m.mu.Unlock()
	m.writeMissing(false, slices.Values(decided))
}

// isOutdated tells whether the file of a match has another result than the one that counts,
// because an organiser has annulled it.
func (m *Manager) isOutdated(id protocol.MatchID, path string) bool {
	m.mu.Lock()
	match := m.state.Match(id)
	r, decided := match.Report, match.Annulled != nil || match.Ruled != nil
	m.mu.Unlock()
	if r == nil || !decided {
		return false
	}
	doc, err := store.Read[store.Match](path)
	if err != nil {
		return false
	}
	want := &store.MatchResult{GameResult: r.GameResult, Score: r.Score}
	return doc.Attempt != r.Number || doc.RefereeID != r.RefereeID || !reflect.DeepEqual(doc.Result, want)
}

// toWrite returns the function that writes a match file; nil if the file is there. It does
// not replace a file that the referee writes meanwhile.
func toWrite(path string, damaged bool) func(path string, document any) error {
	if _, err := os.Lstat(path); err != nil {
		return store.Add
	}
	if damaged {
		if raw, err := os.ReadFile(path); err == nil && !jsontext.Value(raw).IsValid() {
			return store.WriteDerived
		}
	}
	return nil
}

// rebuilt makes the file of a match from the referee's record, or from the journal if there
// is none. If the record lacks the acknowledgement, the file lacks it too, until the referee
// reports again. It returns nil for a match without a result.
func (m *Manager) rebuilt(id protocol.MatchID, recorded *results) *store.Match {
	m.mu.Lock()
	match, playerA, playerB, _ := m.state.Find(id)
	report, event, a, b := match.Report, match.Event, m.agents[playerA], m.agents[playerB]
	lost := report != nil && match.IsLost(report.Number) // the referee's record has the report that does not count
	m.mu.Unlock()
	if report == nil {
		return nil
	}
	if doc := recorded.find(report.RefereeID, id.String(), report.Number); doc != nil && !lost {
		return doc
	}
	if report.Draw == nil { // the state keeps no draws of old rounds
		if lines, _, _, err := m.files.journal.Events(event, 1); err == nil && len(lines) > 0 {
			if e, err := journal.Decode(lines[0]); err == nil {
				if recorded, ok := e.Data.(*journal.MatchReported); ok {
					report = recorded
				}
			}
		}
	}
	return m.matchFileOf(report, a, b)
}

// matchFileOf makes the file of a match from its report.
func (m *Manager) matchFileOf(r *journal.MatchReported, a, b *agent) *store.Match {
	now := m.clock.Timestamp()
	return &store.Match{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: m.options.LeagueID, RoundID: r.MatchID.Round,
		MatchID: r.MatchID.String(), GameType: m.options.GameType, Attempt: r.Number,
		RefereeID: r.RefereeID, WrittenBy: store.WrittenByManager,
		PlayerA:    store.MatchPlayer{PlayerID: a.id, DisplayName: a.name},
		PlayerB:    store.MatchPlayer{PlayerID: b.id, DisplayName: b.name},
		Lifecycle:  store.Lifecycle{State: store.StateAcknowledged, States: []store.StateEntry{{State: store.StateAcknowledged, At: now}}},
		Transcript: []store.Exchange{}, Draw: r.Draw,
		Result:   &store.MatchResult{GameResult: r.GameResult, Score: r.Score},
		Scoring:  scoringOf(m.options.Scoring),
		Evidence: protocol.Evidence{Signatures: r.Signatures, Moves: r.Evidence.Moves},
	}
}

// writeMatchFile writes the file of a match.
func (m *Manager) writeMatchFile(id string, write func(path string, document any) error, doc *store.Match) {
	if m.files == nil {
		return
	}
	path := m.files.Folder.Match(m.options.LeagueID, id)
	err := write(path, doc)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if m.files.remember(path, err); err != nil {
		m.options.Log.Error().Err(err).Str("file", path).
			Str("event_type", protocol.EventResultFileNotWritten).Msg("a match file could not be written; the journal has the result")
	}
}

// results finds records in the results files of a league. It opens a file when it is first
// needed.
type results struct {
	folder   store.Folder
	leagueID string
	open     map[string]*store.ResultsIndex // by path; nil for a file that cannot be read
}

// find returns an attempt without its transcript; nil if there is no such record.
func (r *results) find(refereeID, matchID string, attempt int) *store.Match {
	for _, path := range []string{r.folder.Results(r.leagueID, refereeID), r.folder.Delivered(r.leagueID, refereeID)} {
		x, known := r.open[path]
		if !known {
			x, _ = store.IndexResults(path) // an error leaves the journal
			r.open[path] = x
		}
		if x == nil {
			continue
		}
		if a := x.Find(matchID, attempt); a != nil {
			if doc, err := x.Load(a); err == nil && doc.Result != nil {
				return derivedFrom(doc, path)
			}
		}
	}
	return nil
}

// derivedFrom is the match file of a match in a results file.
func derivedFrom(doc *store.Match, path string) *store.Match {
	doc.Transcript, doc.TranscriptFile = nil, filepath.Base(path)
	return doc
}

func (r *results) close() {
	for _, x := range r.open {
		if x != nil {
			_ = x.Close()
		}
	}
}
