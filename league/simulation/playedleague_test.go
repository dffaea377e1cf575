package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/simulation"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
)

// A playedLeague is a finished league with its options and its faults.
type playedLeague struct {
	options   simulation.Options
	result    *simulation.Result
	report    *audit.Report
	injected  map[[2]string][]string // faults by match and player
	took      time.Duration          // of virtual time
	organiser *decider
}

// onDisk tells whether the league has faults of its disk.
func (l *randomLeague) onDisk() bool { return len(l.withoutDisk()) < len(l.Faults) }

// withoutDisk are the faults without those of the disk.
func (l *randomLeague) withoutDisk() []string {
	return lists.Filter(l.Faults, func(fault string) bool { return !strings.HasPrefix(fault, "disk=") })
}

// play plays the league on a disk in memory, and audits it.
func (l *randomLeague) play(ctx context.Context) (played *playedLeague, err error) {
	o := l.options()
	if !l.onDisk() {
		process := memdisk.New(memdisk.Options{Seed: l.Seed}).Process()
		defer process.Kill()
		return playStoredIn(ctx, o, store.Folder{Disk: process, Path: "folder"}, l.Decisions)
	}
	if played, err = playWith(ctx, o, newDecider(o.LeagueID, l.Decisions)); err == nil {
		played.report, err = audit.Run(played.result.Folder(), audit.Options{Games: o.Games})
	}
	return played, err
}

// playStored plays and audits a league that is stored in a folder.
func playStored(t *testing.T, o simulation.Options, folder string) *playedLeague {
	t.Helper()
	l, err := playStoredIn(t.Context(), o, store.In(folder), nil)
	require.NoError(t, err)
	return l
}

// playStoredIn plays and audits a league that is stored in a folder.
func playStoredIn(ctx context.Context, o simulation.Options, folder store.Folder, decisions []decision) (*playedLeague,
	error) {
	files, _, err := manager.OpenFiles(folder, o.LeagueID, false, nil)
	if err != nil {
		return nil, err
	}
	o.Files = files
	d := newDecider(o.LeagueID, decisions)
	d.opened(folder)
	l, err := playWith(ctx, o, d)
	if failed := files.Close(); err == nil {
		err = failed
	}
	if err == nil {
		l.report, err = audit.Run(folder, audit.Options{Games: o.Games})
	}
	return l, err
}

// playWith plays a league with an organiser.
func playWith(ctx context.Context, o simulation.Options, d *decider) (*playedLeague, error) {
	l := &playedLeague{options: o, injected: map[[2]string][]string{}, organiser: d}
	var mu sync.Mutex
	o.Injected = func(i simulation.Injection) {
		mu.Lock()
		defer mu.Unlock()
		l.injected[[2]string{i.MatchID, i.PlayerID}] = append(l.injected[[2]string{i.MatchID, i.PlayerID}], i.Fault)
	}
	o.RoundBegins, o.Opened = d.roundBegins, d.opened
	begin := time.Now()
	var err error
	l.result, err = simulation.RunSeen(ctx, o, d.seen)
	l.took = time.Since(begin)
	d.close()
	return l, err
}

// differences plays a league again without files, faults of its disk and crashes, on the other carrier and with another
// number of matches at once, and returns what differs: a league follows from its seed.
func (l *randomLeague) differences(ctx context.Context, played *playedLeague) []string {
	other := *l
	other.Transport, other.Concurrency = simulation.Wire, 1
	if l.Transport == simulation.Wire {
		other.Transport = simulation.Memory
	}
	if l.Concurrency == 1 {
		other.Concurrency = 16
	}
	other.Faults = l.withoutDisk()
	o := other.options()
	o.Sign, o.Secret = true, &[32]byte{1}
	d := newDecider(o.LeagueID, l.Decisions)
	d.knows(*o.Secret)
	again, err := playWith(ctx, o, d)
	if err != nil {
		return []string{"played again: " + err.Error()}
	}
	plan, _ := faults.Parse(played.options.Faults) // Run has read it
	for _, m := range matchesOf(played.result) {
		if forgetful(played, plan, m, m.PlayerAID) || forgetful(played, plan, m, m.PlayerBID) {
			return nil // without crashes no player forgets
		}
	}
	was, is := followingOf(played.result), followingOf(again.result)
	was.faults, is.faults = "", ""
	if l.onDisk() { // a player that restarted does not know what has reached it, and denies nothing
		for _, o := range []*outcome{was, is} {
			o.evidence = nil
			for i := range o.matches {
				o.matches[i].Disputed, o.matches[i].Doubt = nil, ""
			}
		}
	}
	if !assert.ObjectsAreEqual(was, is) {
		return []string{"played again, it differs:" + comparison(was, is)}
	}
	return nil
}

// comparison shows the parts of two outcomes that differ.
func comparison(was, is *outcome) string {
	var text strings.Builder
	compare := func(was, is any) {
		before, _ := json.Marshal(was, json.Deterministic(true))
		after, _ := json.Marshal(is, json.Deterministic(true))
		if !bytes.Equal(before, after) {
			fmt.Fprintf(&text, "\n  %s\n  %s", before, after)
		}
	}
	for i := range max(len(was.matches), len(is.matches)) {
		compare(was.matches[min(i, len(was.matches)):min(i+1, len(was.matches))],
			is.matches[min(i, len(is.matches)):min(i+1, len(is.matches))])
	}
	compare(was.Results, is.Results)
	compare(was.evidence, is.evidence)
	return text.String()
}

// followingOf is what of a league follows from its seed: not the times, and not which referee conducted a match.
func followingOf(r *simulation.Result) *outcome {
	o := withoutReferees(r)
	o.Disk = nil
	for i := range o.matches {
		m := &o.matches[i]
		if m.Ruled != nil {
			m.Ruled = &journal.Made{Decision: m.Ruled.Decision}
		}
		for k := range m.Annulled {
			a := &m.Annulled[k]
			a.RefereeID, a.Attempt, a.By = "", 0, journal.Made{Decision: a.By.Decision}
		}
	}
	return o
}

// count counts what happened in the league.
func (l *playedLeague) count(tally *leaguetest.Tally) {
	tally.Add("leagues", 1)
	tally.Add("matches", l.result.State.Recorded)
	if l.options.Plain() {
		tally.Add("leagues with plain members", 1)
	}
	crashed := map[string]bool{}
	for key, faults := range l.injected {
		for _, fault := range faults {
			tally.Add("fault: "+fault, 1)
			crashed[fault+key[1]] = true
		}
	}
	for agent := range crashed {
		if id, ok := strings.CutPrefix(agent, "crash"); ok && id != "" {
			tally.Add("crash of a player", 1)
		}
	}
	if l.result.Disk != nil {
		tally.Add("leagues with faults of the disk", 1)
		for kind, number := range l.result.Disk.Injected() {
			tally.Add("disk: "+kind, number)
		}
	}
	plan, _ := faults.Parse(l.options.Faults) // Run has read it
	for _, p := range plan.RefereeCrash {
		if l.result.State.Agents[p.ID].Failures > 0 {
			tally.Add("crash of a referee", 1)
		}
	}
	for _, kind := range l.organiser.kinds() {
		tally.Add("decision: "+kind, 1)
	}
	tally.Add("decision: refused", len(l.organiser.decided)-len(l.organiser.made))
}
