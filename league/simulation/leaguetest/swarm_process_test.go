package leaguetest_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/transport"
)

// A process is one life of an agent. When it crashes, nothing leaves it any more: its calls and answers do not
// arrive, and its disk has what was there at that moment. Then its goroutines are ended.
type process struct {
	*timedLeague
	host     string
	ctx      context.Context //nolint:containedctx // ends with the process
	cancel   context.CancelFunc
	folder   store.Folder
	crash    *crash // nil for none
	messages atomic.Int64
	mute     atomic.Bool  // the machine has no power
	dead     atomic.Bool  // it has crashed
	left     store.Folder // what a crash has left; valid when ctx has ended
}

// begin starts the next process of an agent.
func (a *agentLives) begin() *process {
	l := a.timedLeague
	p := &process{timedLeague: l, host: a.host, folder: a.folder}
	p.ctx, p.cancel = context.WithCancel(l.world.Context)
	if len(a.crashes) > 0 {
		p.crash = &a.crashes[0]
	}
	l.mu.Lock()
	l.processes[a.host] = p
	l.mu.Unlock()
	return p
}

func (l *timedLeague) processAt(host string) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.processes[host]
}

// passes counts a message, with which the process may crash. It returns false if the message must not pass.
func (p *process) passes() bool {
	if p.dead.Load() {
		return false
	}
	if p.crash == nil || p.messages.Add(1) != int64(p.crash.after) {
		return true
	}
	if p.crash.later > 0 {
		p.later(p.crash.later, p.kill)
		return true
	}
	p.kill()
	return false
}

// kill crashes the process.
func (p *process) kill() {
	if p.ctx.Err() != nil { // it has ended before
		return
	}
	p.mute.Store(p.crash.mute)
	if p.dead.Swap(true) {
		return
	}
	p.left = p.next()
	if err := copyFolder(string(p.left), string(p.folder)); err != nil {
		p.problem("copying the disk of %s: %v", p.host, err)
	}
	p.isAway(strings.ToUpper(p.host))
	p.note("%s crashes", p.host)
	p.cancel()
}

// next is a new folder for the next process.
func (l *timedLeague) next() store.Folder {
	return store.Folder(filepath.Join(l.base, strconv.FormatInt(l.folders.Add(1), 10)))
}

// copyFolder copies a folder while a process writes to it.
func copyFolder(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, relative := filepath.Rel(from, path)
		if err = errors.Join(err, relative); err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, name), content, 0o600))
	})
}

// caller is the network of the process.
func (p *process) caller() protocol.Caller { return &processCaller{p, p.world.Network.Caller(1 << 20)} }

// listen serves the calls to the process until stop, which waits for its handlers.
func (p *process) listen(mount func(protocol.Mux)) (stop func()) {
	mux := transport.NewMux(p.log())
	mount(&mortalMux{mux, p})
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
