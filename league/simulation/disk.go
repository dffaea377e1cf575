package simulation

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
	"evenodd/transport"
)

// A machine runs all agents of a league in one process, on a disk in memory that fails. After each crash, and after a
// fault of the disk that ends the league, it starts again with what the disk has, as another machine.
type machine struct {
	disk    *memdisk.Disk
	process *memdisk.Process
	crashes *crashes
}

// crashes are those to come.
type crashes struct {
	mu   sync.Mutex
	left []faults.Crash
}

// maxStarts is the number of starts after which the disk has no more faults. A start needs a few hundred reads and
// syncs, so that with high probabilities none would ever succeed.
const maxStarts = 30

// DataFolder is the folder of the league on Result.Disk.
const DataFolder = "data-folder"

// Folder is the folder of a league with faults of its disk, as a process sees it that starts now.
func (r *Result) Folder() store.Folder { return store.Folder{Disk: r.Disk.Process(), Path: DataFolder} }

// HasFaultyDisk tells whether the faults are also those of a disk.
func (o *Options) HasFaultyDisk() bool {
	plan, err := o.plan()
	return err == nil && plan != nil && plan.Disk > 0
}

// runOnDisk is Run for a league with faults of its disk. It connects the agents of each start.
func runOnDisk(ctx context.Context, o Options, plan *faults.Plan, connect func() network) (*Result, error) {
	rounds, err := o.rounds()
	if err != nil {
		return nil, err
	}
	planned := &crashes{left: faults.CrashesOf(o.Seed, rounds, o.Players/2)}
	disk := memdisk.New(memdisk.Options{
		Seed: o.Seed, Chances: faults.AllDiskFaults(plan.Disk), MaxCrashes: faults.MostCrashes - len(planned.left),
		Strict: true, // an agent that goes on after an error says what a crash would cost now
	})
	for start := 1; ; start++ {
		m := &machine{disk: disk, process: disk.Process(), crashes: planned}
		before := m.faults()
		result, err := m.start(ctx, o, connect)
		ended, hit := m.hasEnded(), m.faults() > before
		m.process.Kill() // what still runs of it does nothing any more
		switch {
		case err == nil && !ended:
			m.disk.Repair() // for readers
			result.Disk = m.disk
			return result, nil
		case ctx.Err() != nil, m.disk.RestoreFlippedBits() == 0 && !hit && !ended:
			return nil, err // a failure of the league, and not of its disk
		case start >= maxStarts:
			m.disk.Repair()
		}
	}
}

// start plays the league from what the disk has, until its end or that of the process.
func (m *machine) start(ctx context.Context, o Options, connect func() network) (result *Result, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-m.process.Ended():
			end(memdisk.ErrKilled)
		case <-ctx.Done():
		}
	}()
	o.Log = o.Log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if m.hasEnded() {
			e.Discard()
		}
	}))
	o.Files, _, err = manager.OpenFiles(store.Folder{Disk: m.process, Path: DataFolder}, o.LeagueID, false, nil)
	if err != nil {
		return nil, err
	}
	if o.Opened != nil {
		o.Opened(o.Files.Folder)
	}
	o.machine, o.StopWithin = m, 0 // a crash waits for no match
	result, err = runOn(ctx, o, connect())
	if err == nil {
		err = result.Unwritten
	}
	return result, errors.Join(err, o.Files.Close())
}

// hasEnded tells whether the process has ended.
func (m *machine) hasEnded() bool {
	select {
	case <-m.process.Ended():
		return true
	default:
		return false
	}
}

// faults is how many faults the disk has had.
func (m *machine) faults() (count int) {
	for _, n := range m.disk.Injected() {
		count += n
	}
	return count
}

// A machineCaller makes the calls of an agent while the process of the machine runs. At some calls the machine crashes.
type machineCaller struct {
	protocol.Caller
	machine *machine
}

// moments are those before the calls of a method.
var moments = map[string]faults.Moment{
	protocol.StartMatch.Name:        faults.BeforeStart,
	protocol.Invite.Name:            faults.BeforeInvitation,
	protocol.NotifyMatchResult.Name: faults.BeforeResult,
	protocol.ReportMatchResult.Name: faults.BeforeReport,
}

// Call makes a call. The end of the process ends it without an answer.
func (c machineCaller) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	before, watched := moments[q.Method]
	if watched {
		c.machine.reaches(topicOf(q.Params).matchID, before)
	}
	if c.machine.hasEnded() {
		return nil, nil, memdisk.ErrKilled
	}
	answer, timing, err := c.Caller.Call(ctx, q)
	if watched && err == nil {
		c.machine.reaches(topicOf(q.Params).matchID, before+1)
	}
	if c.machine.hasEnded() {
		return nil, nil, memdisk.ErrKilled
	}
	return answer, timing, err
}

// reaches crashes the machine if it does so at this moment of a match.
func (m *machine) reaches(matchID string, moment faults.Moment) {
	if m.hasEnded() { // the crash would be that of a later start
		return
	}
	switch c, crashes := m.crashes.take(matchID, moment); {
	case !crashes:
	case c.Kill:
		m.process.Kill()
	default:
		m.disk.PowerCut()
	}
}

// take takes the crash at a moment of a match from the list, if there is one.
func (c *crashes) take(matchID string, moment faults.Moment) (taken faults.Crash, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.left, func(f faults.Crash) bool { return f.Moment == moment && f.Match.String() == matchID })
	if i < 0 {
		return taken, false
	}
	taken = c.left[i]
	c.left = slices.Delete(c.left, i, i+1)
	return taken, true
}
