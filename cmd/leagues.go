package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// A folderLeague is a league of a data folder.
type folderLeague struct {
	id      string
	created *journal.Created // the first event; nil for none
	running bool             // a process has its journal
	over    bool             // it is completed
	begun   string           // time of the first event; "" for none
	last    string           // time of the last event; "" for none
}

// String names the league with its state.
func (l folderLeague) String() string {
	if l.running {
		return l.id + " (running)"
	}
	return fmt.Sprintf("%s (last entry %s)", l.id, cmp.Or(localTimes(l.last), "none"))
}

// localTimes is a text for people, whose times are in the zone of this computer.
func localTimes(text string) string { return record.LocalTimes(text, time.Local) }

// leaguesIn lists the leagues of a data folder: those that run, then the one with the newest entry.
func leaguesIn(dir store.Folder) ([]folderLeague, error) {
	ids, err := audit.Leagues(dir)
	leagues := lists.Map(ids, func(id string) folderLeague { return readEnds(dir, id) })
	order := func(l *folderLeague) string {
		if l.running {
			return "~" // behind all times
		}
		return l.last
	}
	slices.SortStableFunc(leagues, func(a, b folderLeague) int { return cmp.Compare(order(&b), order(&a)) })
	return leagues, err
}

// readEnds reads the first and the last event of a league.
func readEnds(dir store.Folder, id string) folderLeague {
	const most = 4 << 20 // bytes of a line
	l := folderLeague{id: id, running: dir.Running(id)}
	file, err := disk.Open(dir.Disk, dir.Journal(id))
	if err != nil {
		return l
	}
	defer func() { _ = file.Close() }()                                    // only read
	_, _, _ = appendfile.Lines(file, func(number int, text []byte) error { // other errors are those of commands that read more
		if first, err := journalfile.ReadLine(number, text); err == nil {
			l.created, _ = first.Data.(*journal.Created)
			l.begun = first.At
		}
		return io.EOF
	})
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, max(size-most, 0), most))
	lines := bytes.Split(text, []byte("\n")) // the last one is empty or incomplete
	if last, err := journal.Decode(lines[max(len(lines)-2, 0)]); err == nil {
		l.last = last.At
	}
	for _, line := range slices.Backward(lines) { // few events follow the end of a league
		if !l.over && bytes.Contains(line, []byte(`"completed"`)) {
			if e, err := journal.Decode(line); err == nil {
				_, l.over = e.Data.(*journal.LeagueCompleted)
			}
		}
	}
	return l
}

// continued is the id of the league that a manager continues whose user gives none; "" for a new league. It is the last
// unfinished one in the folder, of the name unless that is "". A league that ended on this day is shown again, because
// the user has to say that another one begins on the same day. Fresh asks for a new league.
func continued(dir store.Folder, name string, now time.Time, fresh bool) string {
	if fresh {
		return ""
	}
	leagues := leaguesNamed(dir, name)
	if l := lastUnfinished(leagues); l != nil {
		return l.id
	}
	for i := range leagues { // those with the newest entry come first
		ended, err := protocol.ParseTimestamp(leagues[i].last)
		if err == nil && ended.In(now.Location()).Format(time.DateOnly) == now.Format(time.DateOnly) {
			return leagues[i].id
		}
	}
	return ""
}

// leaguesNamed lists the leagues of managers in a data folder that have a name, or all of them for "".
func leaguesNamed(dir store.Folder, name string) []folderLeague {
	leagues, _ := leaguesIn(dir) // a folder without leagues is an error
	return lists.Filter(leagues, func(l folderLeague) bool {
		return l.created != nil && l.created.Simulation == nil && (name == "" || l.created.DisplayName == name)
	})
}

// lastUnfinished is the league that has begun last of those that are not over; nil for none.
func lastUnfinished(leagues []folderLeague) (last *folderLeague) {
	for i := range leagues {
		if l := &leagues[i]; !l.over && (last == nil || l.begun > last.begun) {
			last = l
		}
	}
	return last
}

// newLeagueID makes the id of a league that begins now: the date and the name, such as 2026-11-29-class-cup, with a
// number if the folder has that league. A letter loses its marks; what is no letter from a to z and no digit becomes a
// dash.
func newLeagueID(dir store.Folder, name string, now time.Time) string {
	const longest = 40 // characters of the name in it
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(name)))
	words := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(plain, "-"), "-")
	words = strings.TrimRight(words[:min(len(words), longest)], "-")
	id := strings.TrimRight(now.Format(time.DateOnly)+"-"+words, "-")
	known, _ := audit.Leagues(dir) // a folder without leagues is an error
	for n, first := 2, id; slices.Contains(known, id); n++ {
		id = fmt.Sprintf("%s-%d", first, n)
	}
	return id
}

// chooseLeague returns the id of the league that a command reads or changes: the one that the user has named, else that
// of the data folder that runs, else, to read, the one with the newest entry.
func (s streams) chooseLeague(dir store.Folder, leagueID string, change bool) (string, error) {
	all, err := leaguesIn(dir)
	if err != nil {
		return "", err
	}
	leagues := lists.Filter(all, func(l folderLeague) bool { return leagueID == "" || l.id == leagueID })
	running := lists.Filter(leagues, func(l folderLeague) bool { return l.running })
	switch {
	case len(leagues) == 0:
		return "", fmt.Errorf("there is no league %.64q in %s; there is %s", leagueID, dir, namesOf(all))
	case change && len(running) == 0:
		return "", fmt.Errorf("no manager runs in %s: start it, or set --manager to its URL; there is %s", dir,
			namesOf(leagues))
	case change && len(running) > 1:
		return "", usage("several leagues run in %s: choose one with --league-id: %s", dir, namesOf(running))
	case len(leagues) > 1:
		s.note("League %s; --league-id chooses another of %s: %s", leagues[0], dir, namesOf(leagues[1:]))
	}
	return leagues[0].id, nil
}

// namesOf lists leagues.
func namesOf(leagues []folderLeague) string {
	return words.Some(lists.Map(leagues, folderLeague.String), 12)
}

// A listedLeague is a league as 'evenodd league list' shows it. Its members are a contract.
type listedLeague struct {
	record.Progress

	Running   bool   `json:"running"` // a manager or a simulation runs it
	LastEntry string `json:"last_entry,omitzero"`
	Problem   string `json:"problem,omitzero"` // why its journal cannot be read
}

// newLeagueList makes 'evenodd league list'.
func newLeagueList(o *leagueCommand) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the leagues of a data folder",
		Long: `List the leagues of the data folder with their states: those that run, then the one with the newest entry,
which commands that read choose without --league-id.`,
		Example: examples("List the leagues of a folder", "evenodd league list --data ./SHARED"),
		RunE: func(c *cobra.Command, _ []string) error {
			leagues, err := leaguesIn(store.In(o.data))
			if err != nil {
				return err
			}
			rows := lists.Map(leagues, func(l folderLeague) listedLeague { return o.listed(c.Context(), l) })
			return show(o.out, o.format, struct {
				SchemaVersion string         `json:"schema_version"`
				Leagues       []listedLeague `json:"leagues"`
			}{outputSchema, rows}, func(w io.Writer) error {
				header := []string{"League", "Name", "State", "Last entry", "Players", "Results"}
				return printTable(w, header, lists.Map(rows, func(l listedLeague) []any {
					return []any{l.LeagueID, l.DisplayName, cmp.Or(l.Problem, stateOf(&l.Progress, l.Running)),
						localTimes(l.LastEntry), l.Players, fmt.Sprintf("%d of %s%d", l.Recorded, atMost(l.AtMost), l.Matches)}
				}))
			})
		},
	}
}

// listed folds the journal of a league.
func (o *leagueCommand) listed(ctx context.Context, l folderLeague) listedLeague {
	one, r := listedLeague{Running: l.running, LastEntry: l.last}, record.NewLeague()
	err := r.Update(ctx, record.NewFolder(store.In(o.data), l.id), nil)
	if err == nil && r.Created == nil {
		err = errors.New("no event yet")
	}
	if err != nil {
		one.Problem = err.Error()
	} else {
		one.Progress = r.Progress()
	}
	one.LeagueID = l.id
	return one
}

// stateOf is the state of a league as people read it.
func stateOf(p *record.Progress, running bool) string {
	switch {
	case p.State == decide.StateLeagueCompleted:
	case !running:
		return "no manager runs"
	case p.Paused != nil:
		return "paused"
	}
	return phases[p.State]
}
