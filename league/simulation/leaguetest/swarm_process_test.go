package leaguetest_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
	"evenodd/transport"
)

// A machine has a disk, and one agent or all.
type machine struct {
	disk *memdisk.Disk

	mu        sync.Mutex
	processes []*process    // that run, or have ended by themselves
	slow      time.Duration // the time of the World at which the last slow sync is over
}

// isSlow notes until when a sync takes. The goroutine that syncs must not sleep: it may hold a mutex, and virtual time
// does not pass while another goroutine waits for a mutex. Instead no message leaves the machine before.
func (m *machine) isSlow(until time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = max(m.slow, until)
}

// awaitSyncs waits until no sync of the machine lasts.
func (p *process) awaitSyncs() {
	m := p.machine
	for {
		m.mu.Lock()
		left := m.slow - p.world.Now()
		m.mu.Unlock()
		if left <= 0 || sleep(p.ctx, left) != nil {
			return
		}
	}
}

// A process is one life of an agent. When it crashes, nothing leaves it any more: its calls and answers do not
// arrive, and its disk refuses all that it still does. Then its goroutines are ended.
type process struct {
	*timedLeague
	agent    *agentLives
	host     string
	machine  *machine
	ctx      context.Context // ends with the process
	network  context.Context // of its calls: ends after ctx and the contexts of the agent, which stem from it
	cancel   context.CancelFunc
	disk     *memdisk.Process
	folder   store.Folder
	crash    *crash // nil for none
	messages atomic.Int64
	mute     atomic.Bool // the machine has no power
	dead     atomic.Bool // it has crashed
}

// begin starts the next process of an agent, which ends with ctx at the latest.
func (a *agentLives) begin(ctx context.Context) *process {
	l := a.timedLeague
	a.written = false
	l.mu.Lock()
	if a.standby != nil && l.processes[a.host] != nil {
		a.machine, a.standby = a.standby, a.machine
		l.counts["managers that took over on another machine"]++
	}
	l.mu.Unlock()
	p := &process{timedLeague: l, agent: a, host: a.host, machine: a.machine, disk: a.machine.disk.Process()}
	p.folder = store.Folder{Disk: p.disk, Path: a.folder}
	var end, cut context.CancelFunc
	p.ctx, end = context.WithCancel(ctx)
	p.network, cut = context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = func() { end(); cut() }
	if len(a.crashes) > 0 {
		p.crash = &a.crashes[0]
	}
	l.mu.Lock()
	l.processes[a.host] = p
	l.mu.Unlock()
	l.world.Background.Go(func() {
		select {
		case <-p.disk.Ended():
			p.passes()
		case <-p.ctx.Done():
		}
	})
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	running := func(q *process) bool { return q.ctx.Err() == nil }
	a.machine.processes = append(lists.Filter(a.machine.processes, running), p)
	return p
}

// isFlawed tells whether the disk had a fault, apart from crashes.
func (m *machine) isFlawed() bool {
	for kind, n := range m.disk.Injected() {
		switch kind {
		case faults.FailedSync.String(), faults.SlowSync.String(), faults.FullDisk.String(), faults.ReadError.String(),
			faults.FlippedBit.String():
			if n > 0 {
				return true
			}
		}
	}
	return false
}

func (l *timedLeague) processAt(host string) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.processes[host]
}

// passes counts a message, with which the process may crash. It returns false if the message must not pass.
func (p *process) passes() bool {
	passes, _ := p.step()
	return passes
}

// step is passes. Dies tells that the process crashes with this message.
func (p *process) step() (passes, dies bool) {
	select {
	case <-p.disk.Ended():
		p.losesUnsynced(p.machine)
		p.die(func() {}) // during a sync
	default:
	}
	if p.dead.Load() {
		return false, false
	}
	if p.crash == nil || p.messages.Add(1) != int64(p.crash.after) {
		return true, false
	}
	if p.crash.later > 0 {
		p.later(p.crash.later, p.kill)
		return true, false
	}
	p.kill()
	return false, true
}

// kill crashes the process by its plan, or all processes of its machine.
func (p *process) kill() {
	if p.ctx.Err() != nil || p.dead.Load() { // it has ended before
		return
	}
	if !p.crash.mute {
		p.die(p.disk.Kill)
		return
	}
	m := p.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.processes { // no message leaves any of them once the power is off
		q.mute.Store(q.ctx.Err() == nil)
		q.die(func() {})
	}
	p.losesUnsynced(m)
	m.disk.PowerCut()
	for _, q := range m.processes {
		q.cancel()
	}
}

// losesUnsynced notes that the players of a machine may lose decisions, also those that do not run.
func (l *timedLeague) losesUnsynced(m *machine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.agents {
		if a.machine == m {
			l.seen.cut[id] = true
		}
	}
}

// die ends the process. Its disk ends before its goroutines do.
func (p *process) die(end func()) {
	if p.ctx.Err() != nil || p.dead.Swap(true) {
		return
	}
	p.isAway(p.agent.id)
	p.note("%s crashes, mute %v", p.host, p.mute.Load())
	end()
	if !p.mute.Load() {
		p.cancel()
	}
}

// caller is the network of the process.
func (p *process) caller() protocol.Caller {
	return p.world.Pausing(p.agent.traits, &processCaller{p, p.world.Network.Caller(1 << 20)})
}

// listen serves the calls to the process until stop, which waits for its handlers.
func (p *process) listen(mount func(protocol.Mux)) (stop func()) {
	mux := transport.NewMux(p.log())
	mount(p.world.PausingMux(p.agent.traits, &mortalMux{mux, p}))
	return p.world.Network.Listen(p.host, mux, false)
}

// A mortalMux is the mux of a process that can crash.
type mortalMux struct {
	protocol.Mux
	*process
}

func (m *mortalMux) Handle(method string, decode func([]byte) (any, error),
	handle func(context.Context, string, any) (any, error)) {
	m.Mux.Handle(method, decode, func(ctx context.Context, bearer string, params any) (any, error) {
		if !m.passes() {
			return nil, leaguetest.ErrHangUp
		}
		if method == protocol.NotifyRound.Name {
			m.started.Store(true)
		}
		m.think(method, params)
		answer, err := handle(ctx, bearer, params)
		m.awaitSyncs()
		if !m.passes() {
			return nil, leaguetest.ErrHangUp
		}
		if err == nil {
			m.answered(m.host, params, answer)
		}
		return answer, err
	})
}

// think lets a player decide for a while.
func (p *process) think(method string, params any) {
	most := p.plan.thinks[p.host]
	if most == 0 || method != protocol.ChooseParity.Name && method != protocol.MakeMove.Name {
		return
	}
	random := leaguetest.KeyedRandom(strconv.FormatUint(p.plan.seed, 10), "thinks", p.host, aboutOf(params))
	_ = sleep(p.ctx, upTo(random, most))
}
