package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A folderLeague is a league of a data folder.
type folderLeague struct {
	id      string
	running bool   // a process has its journal
	last    string // time of the last event; "" for none
}

// String names the league with its state.
func (l folderLeague) String() string {
	switch {
	case l.running:
		return l.id + " (running)"
	case l.last == "":
		return l.id + " (no entry)"
	}
	return fmt.Sprintf("%s (last entry %s)", l.id, clockTime(l.last))
}

// clockTime is a time of the journal for people in this zone: "10:04", with the day unless it is today.
func clockTime(at string) string {
	t, err := protocol.ParseTimestamp(at)
	if err != nil {
		return "unknown"
	}
	day := "2006-01-02 "
	if t = t.Local(); t.Format(day) == time.Now().Format(day) {
		day = ""
	}
	return t.Format(day + "15:04")
}

// leaguesIn lists the leagues of a data folder: those that run, then the one with the newest entry.
func leaguesIn(dir store.Folder) ([]folderLeague, error) {
	ids, err := audit.Leagues(dir)
	leagues := protocol.Each(ids, func(id string) folderLeague { return folderLeague{id, dir.Running(id), lastEntry(dir, id)} })
	slices.SortStableFunc(leagues, func(a, b folderLeague) int {
		if a.running != b.running {
			return map[bool]int{true: -1, false: 1}[a.running]
		}
		return cmp.Compare(b.last, a.last)
	})
	return leagues, err
}

// lastEntry is the time of the last event of a league; "" for none.
func lastEntry(dir store.Folder, id string) string {
	const most = 4 << 20 // bytes of a line
	file, err := store.Open(dir.Journal(id))
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	size, _ := file.Seek(0, io.SeekEnd)
	text, _ := io.ReadAll(io.NewSectionReader(file, max(size-most, 0), most))
	lines := bytes.Split(text, []byte("\n")) // the last one is empty or incomplete
	e, err := journal.Decode(lines[max(len(lines)-2, 0)])
	if err != nil {
		return ""
	}
	return e.At
}

// namesIn are the names of the leagues of a data folder that a manager runs, by their ids.
func namesIn(dir store.Folder) map[string]string {
	names := map[string]string{}
	ids, _ := audit.Leagues(dir) // a folder without leagues is an error
	for _, id := range ids {
		file, err := store.Open(dir.Journal(id))
		if err != nil {
			continue
		}
		line, _ := bufio.NewReader(file).ReadBytes('\n')
		_ = file.Close() // only read
		if e, err := journal.Decode(bytes.TrimSpace(line)); err == nil {
			if d, ok := e.Data.(*journal.Created); ok && d.Simulation == nil {
				names[id] = d.DisplayName
			}
		}
	}
	return names
}

// idOf returns the id of the league that a manager runs whose user gives none: that of the league of the folder with the
// name, else a new one from the name. Without a name it is the usual one, unless another league is the only one.
func idOf(dir, name, usual string, now time.Time) (string, error) {
	names := namesIn(store.Folder(dir))
	ids := slices.Sorted(maps.Keys(names))
	if _, there := names[usual]; name == "" {
		if !there && len(ids) == 1 {
			return ids[0], nil
		}
		return usual, nil
	}
	for _, id := range ids {
		if names[id] == name {
			return id, nil
		}
	}
	words := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "_")
	if words == "_" {
		words = now.Format("2006_01_02")
	}
	id := "league_" + words
	if other, taken := names[id]; taken {
		return id, usage("--name %.60q: %s has another league with the id %s: %.60q; choose another --league-id", name, dir, id, other)
	}
	return id, nil
}

// chooseLeague returns the id of the league that a command reads: the one that the user has named, else that of the
// data folder that runs, else the one with the newest entry.
func (s streams) chooseLeague(dir store.Folder, leagueID string) (string, error) {
	leagues, err := candidates(dir, leagueID)
	if err != nil {
		return "", err
	}
	if len(leagues) > 1 {
		s.note("League %s; --league-id chooses another of %s: %s", leagues[0], dir, namesOf(leagues[1:]))
	}
	return leagues[0].id, nil
}

// runningLeague returns the id of the league that a command changes: it runs.
func (s streams) runningLeague(dir store.Folder, leagueID string) (string, error) {
	leagues, err := candidates(dir, leagueID)
	if err != nil {
		return "", err
	}
	switch running := protocol.Select(leagues, func(l folderLeague) bool { return l.running }); {
	case len(running) == 0:
		return "", fmt.Errorf("no manager runs in %s: start it, or set --manager to its URL; there is %s", dir, namesOf(leagues))
	case len(running) > 1:
		return "", usage("several leagues run in %s: choose one with --league-id: %s", dir, namesOf(running))
	case len(leagues) > 1:
		s.note("League %s", running[0])
	}
	return leagues[0].id, nil
}

// candidates are the leagues of a data folder, or the one that the user has named, in the order of leaguesIn.
func candidates(dir store.Folder, leagueID string) ([]folderLeague, error) {
	leagues, err := leaguesIn(dir)
	named := protocol.Select(leagues, func(l folderLeague) bool { return leagueID == "" || l.id == leagueID })
	if err == nil && len(named) == 0 {
		err = fmt.Errorf("there is no league %.64q in %s; there is %s", leagueID, dir, namesOf(leagues))
	}
	return named, err
}

// namesOf lists leagues.
func namesOf(leagues []folderLeague) string {
	const most = 10
	shown := protocol.Each(leagues[:min(most, len(leagues))], folderLeague.String)
	if further := len(leagues) - len(shown); further > 0 {
		shown = append(shown, fmt.Sprintf("%d more", further))
	}
	return strings.Join(shown, ", ")
}

// A listedLeague is a league as 'evenodd league list' shows it. Its members are a contract.
type listedLeague struct {
	record.Progress

	Running   bool   `json:"running"` // a manager or a simulation runs it
	LastEntry string `json:"last_entry,omitzero"`
	Problem   string `json:"problem,omitzero"` // why its journal cannot be read
}

// newLeagueList makes 'evenodd league list'.
func newLeagueList(o organiser) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the leagues of a data folder",
		Long: `List the leagues of the data folder with their states: those that run, then the
one with the newest entry, which commands that read choose without --league-id.`,
		Example: examples("List the leagues of a folder", "evenodd league list --data ./SHARED"),
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			leagues, err := leaguesIn(store.Folder(o.data))
			if err != nil {
				return err
			}
			rows := protocol.Each(leagues, func(l folderLeague) listedLeague { return o.listed(c.Context(), l) })
			return show(o.out, o.format, struct {
				SchemaVersion string         `json:"schema_version"`
				Leagues       []listedLeague `json:"leagues"`
			}{outputSchema, rows}, func(w io.Writer) error {
				return printTable(w, []string{"League", "Name", "State", "Last entry", "Players", "Results"},
					protocol.Each(rows, listedLeague.row))
			})
		},
	}
}

// listed folds the journal of a league.
func (o *organiser) listed(ctx context.Context, l folderLeague) listedLeague {
	one, r := listedLeague{Running: l.running, LastEntry: l.last}, record.NewLeague()
	err := r.Update(ctx, record.NewFolder(store.Folder(o.data), l.id), nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		one.Problem = "no journal"
	case err != nil:
		one.Problem = err.Error()
	case r.Created == nil:
		one.Problem = "no event yet"
	default:
		one.Progress = r.Progress()
	}
	one.LeagueID = l.id
	return one
}

func (l listedLeague) row() []any {
	if l.Problem != "" {
		return []any{l.LeagueID, "", l.Problem, "", "", ""}
	}
	return []any{l.LeagueID, l.DisplayName, stateOf(&l.Progress, l.Running), clockTime(l.LastEntry), l.Players,
		fmt.Sprintf("%d of %s%d", l.Recorded, atMost(l.Tournament, l.State), l.Matches)}
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
