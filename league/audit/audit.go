package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// Options say what is audited.
type Options struct {
	LeagueID string         // "" for all leagues of the folder
	Games    rules.Registry // that can be judged again
}

// Run audits the leagues of a folder. The error is that there is nothing to
// audit; whatever is wrong with what there is, is a finding.
func Run(dir store.Folder, o Options) (*Report, error) {
	ids, err := Leagues(dir)
	if err != nil {
		return nil, err
	}
	known := ids
	if o.LeagueID != "" {
		if !slices.Contains(ids, o.LeagueID) {
			return nil, fmt.Errorf("there is no league %.64q in %s; there is %s", o.LeagueID, dir, strings.Join(ids, ", "))
		}
		ids = []string{o.LeagueID}
	}
	report := &Report{SchemaVersion: SchemaVersion, Dir: string(dir), Leagues: make([]League, 0, len(ids))}
	for i, id := range ids {
		report.Leagues = append(report.Leagues, examine(dir, id, o.Games, known, i == 0))
	}
	report.OK = report.Findings() == 0
	return report, nil
}

// maxLooks is how often a league is looked at that does not stand still.
const maxLooks = 5

// examine audits one league. What was found while the manager was writing may
// come from files of different moments: then it looks again.
func examine(dir store.Folder, id string, games rules.Registry, known []string, lostAndFound bool) (l League) {
	for range maxLooks {
		before := moment(dir, id)
		x := newExamination(dir, id, games)
		x.known, x.lostAndFound = known, lostAndFound
		l = x.run()
		if len(l.Findings) == 0 || moment(dir, id) == before {
			break
		}
	}
	return l
}

// moment changes when the manager writes.
func moment(dir store.Folder, id string) (m [3]struct {
	size int64
	at   time.Time
}) {
	for i, path := range []string{dir.Journal(id), dir.Standings(id), dir.Rounds(id)} {
		if info, err := os.Stat(path); err == nil {
			m[i].size, m[i].at = info.Size(), info.ModTime()
		}
	}
	return m
}

// Leagues lists the leagues that a folder has anything of, in order.
func Leagues(dir store.Folder) ([]string, error) {
	switch info, err := os.Stat(string(dir)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &noFolderError{string(dir)}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no folder: give the one that --data of the league named, in which data/leagues is", dir)
	}
	var ids []string
	for _, parent := range []string{
		filepath.Dir(filepath.Dir(dir.Journal("x"))), filepath.Dir(dir.Matches("x")),
	} {
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() && protocol.ValidLeagueID(e.Name()) && !slices.Contains(ids, e.Name()) {
				ids = append(ids, e.Name())
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no league in %s: it has no folder data/leagues/…", dir)
	}
	slices.Sort(ids)
	return ids, nil
}

// A noFolderError says that there is nothing at all where a league should be.
type noFolderError struct{ dir string }

func (e *noFolderError) Error() string {
	return fmt.Sprintf("there is no folder %s: give the one that --data of the league named, in which data/leagues is", e.dir)
}

func (*noFolderError) Is(target error) bool { return target == fs.ErrNotExist }

// An examination is the audit of one league.
type examination struct {
	dir   store.Folder
	id    string
	games rules.Registry

	state     *journal.State
	journal   string // the file, as findings name it
	chain     chain
	known     []string        // the leagues of the folder
	lost      map[string]bool // heads of the journal that it has lost
	places    map[protocol.MatchID]*places
	starts    int               // the line of the start
	ends      int               // the line of the completion
	nonces    map[string]string // the match that each nonce was first seen in
	manners   map[string]*manner
	oddEvents int // that could not be folded

	lostAndFound bool // findings that belong to no league go here
	league       League
}

// places are the lines of the journal that say what happened to a match.
type places struct {
	report   int32
	accepted []int32 // by index of the attempt; 0 where it was not
}

func newExamination(dir store.Folder, id string, games rules.Registry) *examination {
	return &examination{
		dir: dir, id: id, games: games,
		state: journal.NewState(), journal: relative(dir, dir.Journal(id)),
		lost: map[string]bool{}, places: map[protocol.MatchID]*places{}, nonces: map[string]string{}, manners: map[string]*manner{},
		league: League{LeagueID: id, Findings: []Finding{}, Notes: []Finding{}},
	}
}

// run audits. The order in which files are read matters while the league goes
// on: whatever documents say was in the journal before.
func (x *examination) run() League {
	matches := x.listed(x.dir.Matches(x.id))
	attempts := x.listed(x.dir.Attempts(x.id))
	standings := x.standings()
	rounds := x.rounds()

	x.readJournal(standings)
	x.checkSchedule()
	x.checkStandings(standings)
	x.checkRounds(rounds)
	x.checkMatches(matches)
	x.checkAttempts(attempts)
	x.checkHistories()
	x.mannersNoted()

	x.league.State = x.condition()
	x.league.Matches, x.league.Recorded = x.state.TotalMatches(), x.state.Recorded
	x.league.Findings, x.league.Notes = sorted(x.league.Findings), sorted(x.league.Notes)
	return x.league
}

func (x *examination) condition() string {
	switch {
	case x.state.Created == nil:
		return StateUnreadable
	case x.state.Completed != nil:
		return StateCompleted
	case x.state.Started != nil:
		return StateRunning
	}
	return StateRegistration
}

func (x *examination) completed() bool { return x.state.Completed != nil }

// A spot is where something was found, and about whom.
type spot struct {
	file    string
	line    int
	matchID string
	agentID string
}

func (x *examination) find(rule string, at spot, format string, args ...any) {
	x.league.Findings = append(x.league.Findings, at.finding(SeverityFinding, rule, format, args))
}

func (x *examination) note(rule string, at spot, format string, args ...any) {
	x.league.Notes = append(x.league.Notes, at.finding(SeverityNote, rule, format, args))
}

// weigh is a finding about a league that is over, and a note about one that
// goes on.
func (x *examination) weigh(rule string, at spot, format string, args ...any) {
	if x.completed() {
		x.find(rule, at, format, args...)
	} else {
		x.note(rule, at, format, args...)
	}
}

func (s spot) finding(severity, rule, format string, args []any) Finding {
	return Finding{
		Severity: severity, Rule: rule, File: s.file, Line: s.line, MatchID: clip(s.matchID), AgentID: clip(s.agentID),
		Detail: strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"),
	}
}

// clip shortens an identifier that anybody may have written.
func clip(id string) string {
	const limit = 40
	if len(id) > limit {
		id = id[:limit] + "…"
	}
	return strings.ToValidUTF8(id, "\uFFFD")
}

// unreadable makes a finding of a document that could not be loaded.
func (x *examination) unreadable(path string, err error, at spot) {
	at.file = relative(x.dir, path)
	var bad *unreadableError
	if errors.As(err, &bad) {
		at.line = bad.line
	}
	x.find(RuleSchema, at, "%v", err)
}

// listed is the names of the JSON files of a folder.
func (x *examination) listed(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.find(RuleSchema, spot{file: relative(x.dir, path)}, "the folder cannot be read: %v", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}
