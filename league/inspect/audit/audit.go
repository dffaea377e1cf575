package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// Options select what is audited.
type Options struct {
	LeagueID string         // "" for all leagues of the folder
	Games    rules.Registry // the games whose results can be judged again

	// Programs are the programs of those Games whose rules are not in this one, by type. The audit asks each once about
	// a match; with Views about each history that a match had.
	Programs map[string]Program
	// Views has the audit compare what each side was shown with what it may have seen, by the history of the match, and
	// with what it signed and kept. It is for games with views (rules.HasViews).
	Views bool

	Progress func(checked, matches int) // called after each match of a league; may be nil

	// What the auditor knows from elsewhere. Each needs a league: LeagueID, or a folder with
	// only one.
	Head string            // the hash of an event of the journal; "" for none
	Keys map[string]string // public keys by the id of their agent, or ManagerID
	// a folder with histories of players, read instead of those of the data folder; "" for none
	Histories string
}

// A Program is the program of a game, as an audit asks it.
type Program struct {
	Digest string // of its files
	// Ask returns what the program says of a history. An error ends the audit.
	Ask func(history []rules.Entry) (*rules.State, error)
}

// ManagerID is the name of the manager in Options.Keys.
const ManagerID = "manager"

// Run audits the leagues of a folder. It returns an error if there is no league to
// audit, or if the program of a game fails. Everything that is wrong with a league is a finding.
func Run(dir store.Folder, o Options) (*Report, error) {
	ids, err := Leagues(dir)
	if err != nil {
		return nil, err
	}
	all := ids
	if o.LeagueID != "" {
		if !slices.Contains(ids, o.LeagueID) {
			return nil, fmt.Errorf("there is no league %.64q in %s; there is %s", o.LeagueID, dir, strings.Join(ids, ", "))
		}
		ids = []string{o.LeagueID}
	}
	if len(ids) > 1 && (o.Head != "" || len(o.Keys) > 0 || o.Histories != "") {
		return nil, fmt.Errorf("%s has %d leagues: name the one of the head, the keys or the histories; there is %s", dir,
			len(ids), strings.Join(ids, ", "))
	}
	for _, id := range ids {
		if err := dir.CheckShape(id); err != nil {
			return nil, err
		}
	}
	report := &Report{SchemaVersion: schemaVersion, Dir: dir.Path, Leagues: make([]League, 0, len(ids))}
	for i, id := range ids {
		l, err := audit(dir, id, &o, all, i == 0)
		if err != nil {
			return nil, err
		}
		report.Leagues = append(report.Leagues, l)
	}
	report.OK = report.Findings() == 0
	return report, nil
}

// maxRuns bounds how often the audit of a league that changes is repeated.
const maxRuns = 5

// audit audits one league. Findings that it makes while the manager writes may
// come from files of different moments: then it audits again.
func audit(dir store.Folder, id string, o *Options, leagues []string, first bool) (l League, err error) {
	for range maxRuns {
		before := versions(dir, id)
		a := &auditor{
			dir: dir, id: id, options: o, leagues: leagues, first: first,
			state: journal.NewState(), journal: relative(dir, dir.Journal(id)),
			logged: map[league.Attempt]*matchFile{}, checked: map[string]bool{}, matchFiles: map[string]bool{},
			lostHeads: map[string]bool{}, nonces: map[string]string{},
			heads:  heads{lines: map[string]headLine{}, valid: map[[2]string]bool{}},
			listed: map[Unlisted]int{}, unlisted: map[Unlisted]int{},
			breaches: repetitions{}, unsigned: repetitions{}, views: map[decisionKey][2]string{}, failed: new(error),
			report: League{LeagueID: id, Findings: []Finding{}, Notes: []Finding{}},
		}
		if l = a.run(); *a.failed != nil {
			return l, *a.failed
		}
		if len(l.Findings) == 0 || versions(dir, id) == before {
			break
		}
	}
	return l, nil
}

// versions is a text that changes when the manager writes a file.
func versions(dir store.Folder, id string) string {
	var v strings.Builder
	for _, path := range []string{dir.Journal(id), dir.Standings(id), dir.Rounds(id)} {
		if info, err := dir.Disk.Stat(path); err == nil {
			_, _ = fmt.Fprintln(&v, info.Size(), info.ModTime())
		}
	}
	return v.String()
}

// Leagues lists the ids of the leagues that a folder has files of, in order.
func Leagues(dir store.Folder) ([]string, error) {
	const hint = "name the --data folder of a league; 'evenodd simulate --data DIR' makes one"
	switch info, err := dir.Disk.Stat(dir.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: %s", dir, hint)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no folder: %s", dir, hint)
	}
	var ids []string
	for _, parent := range []string{filepath.Dir(filepath.Dir(dir.Journal("x"))), filepath.Dir(dir.Matches("x"))} {
		entries, err := dir.Disk.ReadDir(parent)
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
		return nil, fmt.Errorf("no league in %s: it has no folder data/leagues/…: %s", dir, hint)
	}
	slices.Sort(ids)
	return ids, nil
}

// An auditor audits one league once.
type auditor struct {
	dir     store.Folder
	id      string
	options *Options
	reports *decide.ReportJudge // judge reports again; nil for an unknown game
	leagues []string            // ids of all leagues of the folder
	first   bool                // it is the first league: findings that belong to no league go here

	matchFiles   map[string]bool // names without extension
	attemptFiles []string
	logged       map[league.Attempt]*matchFile // in the logs of referees
	order        []league.Attempt              // of logged
	checked      map[string]bool               // files of matches, by their paths
	missing      []Location                    // files of matches with a result
	onlyLogged   int                           // matches without a file, which the referee can write again
	standings    *derived[store.Standings]
	derived      []derivedFile

	configured []configuration
	announced  []int // the events of the rounds

	state    *journal.State // folded up to the first event that cannot be folded
	journal  string         // the file, as findings name it
	doubtful bool           // there are findings in the journal
	chain    chain
	// by announced round: the records of all players before it, and after each decision until the next
	before    [][][]protocol.Record
	changed   int             // results that organisers have changed, and withdrawals
	started   int             // the line of the start; 0 before it
	startHash string          // the hash of the start
	lostHeads map[string]bool // heads of the journal that the manager reported as lost
	heads     heads

	game    rules.Game // of the league; for a program that is not given, nil until a match shows what it needs to know
	program *Program   // of the game; nil for none, and for one that is not that of the league
	failed  *error     // why the program failed

	nonces map[string]string // the match that each nonce was first seen in
	// by question: the hashes of what both sides may have seen, in games that hide something; only with Options.Views
	views map[decisionKey][2]string
	// how many findings and notes about a file are listed, and how many are not; the keys have no counts
	listed, unlisted map[Unlisted]int

	breaches repetitions // by player: answers that do not conform to the protocol
	unsigned repetitions // by referee: results that have choices without a signature

	report League
}

// A configuration is that of the league from an event on.
type configuration struct {
	*journal.Configuration
	event int
}

// run audits. The order matters while the league goes on: it reads files before
// the journal, so that the journal holds everything that they refer to.
func (a *auditor) run() League {
	for _, name := range a.filesIn(a.dir.Matches(a.id), ".json") {
		if _, attempt, _ := store.ParseMatchFile(name + ".json"); attempt > 0 {
			a.attemptFiles = append(a.attemptFiles, name+".json")
		} else {
			a.matchFiles[name] = true
		}
	}
	a.openLogs()
	a.openDerived()
	a.readJournal()
	for _, d := range a.derived {
		d.check(a)
	}
	for _, check := range a.checks() {
		check()
	}
	a.report.State = StateUnreadable
	if a.state.Created != nil {
		a.report.State = decide.Phase(a.state, false)
	}
	a.report.Matches, a.report.Recorded = a.state.TotalMatches(), a.state.Recorded
	a.report.Findings, a.report.Notes, a.report.Unlisted = sorted(a.report.Findings), sorted(a.report.Notes), a.notListed()
	return a.report
}

func (a *auditor) completed() bool { return a.state.Completed != nil }

// filesIn returns the names of the files of a folder with an extension, without it, in
// order.
func (a *auditor) filesIn(path, extension string) (names []string) {
	entries, err := a.dir.Disk.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.find(RuleSchema, Location{File: relative(a.dir, path)}, "the folder cannot be read: %v", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}
