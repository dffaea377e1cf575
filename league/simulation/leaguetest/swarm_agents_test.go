package leaguetest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/transport"
)

// agentLives are the processes of one agent, one after the other.
type agentLives struct {
	*timedLeague
	host, id   string
	live       func(*agentLives, *process) error // one process, to its end
	machine    *machine
	standby    *machine          // of the next process; nil for the same one
	folder     string            // of its data, on the machine
	traits     *leaguetest.Agent // its clock and its pauses
	crashes    []crash           // of the processes to come
	over       bool              // it knows that the league is over
	gone       bool              // it cannot come back
	registered bool              // with the manager
	written    bool              // the last process of the manager has written all files
}

// repair does what an operator does about the error of a process.
func (a *agentLives) repair(err error) {
	kind := strings.Trim(a.host, "0123456789") + " ended by an error"
	refusal, refused := errors.AsType[*membership.RefusedError](err)
	if refused && !a.registered && a.started.Load() {
		a.count("agents that were late for the league")
		a.gone = true
	} else if refused && refusal.Code == string(protocol.ErrLateRegistration) && a.forgets() {
		a.count("agents whose registration the manager has lost")
		a.leaves()
	} else if a.machine.isFlawed() {
		kind += " after faults of its disk"
		if refused { // its identity could not be stored, as its log said: the league goes on without it
			a.count("agents that lost their identity")
			a.leaves()
		} else if !strings.Contains(err.Error(), a.folder) && !strings.Contains(err.Error(), "sync "+filepath.Dir(a.folder)+":") &&
			transport.KindOf(err) == transport.Unknown {
			a.problem("%s ends, and names no file: %v", a.host, err)
		}
	} else if !strings.HasSuffix(err.Error(), "no JSON") { // three unreadable answers in a row are those of another program
		a.problem("%s ends, and its disk had no fault: %v", a.host, err)
	}
	restored := a.machine.disk.RestoreFlippedBits() > 0
	if restored {
		a.count("bits that were restored")
	}
	if !restored && strings.Contains(err.Error(), "Without a copy, move the file away") {
		a.count("logs of referees that were moved away")
		if !a.machine.isFlawed() {
			a.problem("a crash alone has damaged the log of %s: %v", a.id, err)
		}
		if err := a.moveLog(); err != nil {
			a.problem("moving the log of %s: %v", a.id, err)
		}
	}
	damage, is := errors.AsType[*journalfile.DamageError](err)
	empty := strings.Contains(err.Error(), " has no event, but there is ")
	switch {
	case !is && !empty, restored: // the next start tells whether the restored line is still damaged
	case a.machine.disk.Injected()[faults.FailedSync.String()] > 0:
		// The process after that of the sync that failed found the lines in the cache, and continued. Nothing but a copy
		// helps now, as the start says.
		a.count("leagues with a journal that was lost")
		a.lost.Store(true)
		a.completed(nil)
	case empty:
		a.problem("events that other files have are lost: %v", err)
	default:
		a.count("journals that were cut before a damaged line")
		a.shortened.Store(true)
		if err := a.cutJournal(damage.Line); err != nil {
			a.problem("cutting the journal: %v", err)
		}
	}
	a.count(kind)
}

// forgets tells whether the manager may have dropped an agent that had registered: the journal lost the event, or the
// manager paused, and with it its pings to agents that it had not reached yet, whose time was over then.
func (l *timedLeague) forgets() bool {
	return l.started.Load() && (l.shortened.Load() || l.plan.pauses[leaguetest.ManagerHost].For > 0)
}

// leaves notes that an agent cannot go on. The league can without it, if it is a player and the league has started.
func (a *agentLives) leaves() {
	a.gone = true
	if _, player := league.ParsePlayerID(a.id); !player || !a.started.Load() {
		a.lost.Store(true)
		a.completed(nil)
	}
}

// moveLog renames the log of a referee: the referee plays again what the log alone had.
func (a *agentLives) moveLog() error {
	d := a.machine.disk.Process()
	defer d.Kill()
	name := store.Folder{Disk: d, Path: a.folder}.MatchLog(leaguetest.LeagueID, a.id)
	return errors.Join(d.Rename(name, name+".damaged"), d.SyncFolder(filepath.Dir(name)))
}

// cutJournal removes the lines of the journal from a number on: a power cut has left only parts of them, because they
// were not durable yet. checkJournal then finds whether a result is missing that was acknowledged.
func (a *agentLives) cutJournal(from int) error {
	d := a.machine.disk.Process()
	path := store.Folder{Disk: d, Path: a.folder}.Journal(leaguetest.LeagueID)
	file, err := d.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	kept := 0
	for line := range bytes.Lines(text) {
		if from--; from == 0 {
			break
		}
		kept += len(line)
	}
	return errors.Join(err, file.Truncate(int64(kept)), file.Sync(), file.Close())
}

const (
	mostLives    = 100             // bounds the processes of an agent
	sharedOutage = 5 * time.Second // until the process of a machine is back that has crashed because of another one
)

// run begins a process again after each crash, and as an operator does after each error.
func (a *agentLives) run() {
	for range mostLives {
		p := a.begin(a.world.Context)
		a.note("%s begins", a.host)
		err := a.live(a, p)
		p.passes() // its disk may have ended it
		p.cancel()
		p.disk.Kill()
		switch {
		case !p.dead.Load() && (err == nil || a.world.Context.Err() != nil):
			a.over = true
			return
		case a.lost.Load():
			return
		case !p.dead.Load():
			a.note("%s ends: %v", a.host, err)
			a.isAway(a.id)
			a.repair(err)
			if a.lost.Load() || a.gone {
				return
			}
			if sleep(a.world.Context, 10*time.Second) != nil {
				return
			}
			continue
		}
		a.count("crashes of " + strings.Trim(a.host, "0123456789"))
		away := sharedOutage
		if c := p.crash; c != nil && int(p.messages.Load()) >= c.after { // else another process of its machine has crashed
			away, a.crashes = c.away, a.crashes[1:]
		}
		if p.mute.Load() {
			a.count("crashes with the machine")
		}
		if away == forever && (a.started.Load() || a.world.Context.Err() != nil) {
			a.count("crashes for ever")
			a.gone = true
			return
		}
		if sleep(a.world.Context, max(away, 0)) != nil {
			return
		}
	}
	a.problem("%s has begun %d times", a.host, mostLives)
}

// A participant is a player or a referee.
type participant interface {
	Mount(mux protocol.Mux)
	Register(ctx context.Context) error
	Done() <-chan struct{}
	Watch(ctx context.Context, changed func(away bool, err error), register func(context.Context) error) error
}

// takePart does what the process of a player or a referee does, until the league is over.
func (a *agentLives) takePart(p *process, as participant) error {
	stop := p.listen(as.Mount)
	defer stop()
	if err := as.Register(p.ctx); err != nil {
		return err
	}
	a.registered = true
	if !p.dead.Load() {
		a.isBack(a.id)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	refused := make(chan error, 1)
	watching.Go(func() {
		if err := as.Watch(ctx, func(bool, error) {}, as.Register); err != nil {
			refused <- err
		}
	})
	select {
	case <-as.Done():
		return nil
	case err := <-refused:
		return err
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// options are what players and referees share.
func (a *agentLives) options(p *process) membership.Options {
	return membership.Options{
		Name: "Agent " + a.id, ID: a.id, Endpoint: leaguetest.EndpointOf(a.host),
		Manager: leaguetest.EndpointOf(leaguetest.ManagerHost), Folder: p.folder,
		Caller: p.caller(), Clock: a.world.ClockOf(a.traits), Log: p.log(), Large: a.plan.game.Info().Large,
	}
}

func playerLife(a *agentLives, p *process) (err error) {
	a.checkHistory(a.id, p.folder)
	decide, err := strategy.New(a.strategy())
	if err != nil {
		return err
	}
	one, err := player.New(player.Options{
		Options: a.options(p), Games: []string{a.plan.game.Info().Type}, Strategy: decide,
		Rules: rules.NewRegistry(a.plan.game),
		Random: func(_, decision string) *rand.Rand {
			return leaguetest.KeyedRandom(fmt.Sprint(a.plan.seed), "choice", decision, a.id)
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	return a.takePart(p, one)
}

// strategy is that of a player.
func (a *agentLives) strategy() string {
	random := leaguetest.KeyedRandom(fmt.Sprint(a.plan.seed), "strategy", a.id)
	return pick(random, "random", "random", "even", "odd", "frequency", "mirror", "contrarian")
}

func refereeLife(a *agentLives, p *process) error {
	one, err := referee.New(referee.Options{
		Options: a.options(p), MaxConcurrent: 1 + int(a.plan.seed)%2, Games: rules.NewRegistry(a.plan.game),
		Stalls: a.world.StallsOf(a.traits),
	})
	if err != nil {
		return err
	}
	defer one.Close()
	return a.takePart(p, one)
}

func managerLife(a *agentLives, p *process) (err error) {
	files, _, err := manager.OpenFiles(p.folder, leaguetest.LeagueID, false, a.shared(p))
	if err != nil {
		_, damaged := errors.AsType[*journalfile.DamageError](err)
		if !damaged && !a.machine.isFlawed() && !errors.Is(err, memdisk.ErrKilled) {
			a.problem("the league cannot be opened: %v", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	a.checkJournal(files.State)
	created := leaguetest.Rules(leaguetest.LeagueID, a.plan.game.Info().Type, a.plan.players, a.plan.referees)
	created.Legs, created.Tournament = a.plan.legs, a.plan.tournament
	created.Signatures, created.Broadcast = a.plan.signatures, a.plan.broadcast
	m, err := manager.New(manager.Options{
		Created: created, Games: rules.NewRegistry(a.plan.game), Files: files, Secret: &a.world.Secret, Caller: p.caller(),
		Clock: a.world.ClockOf(a.traits), Log: p.log(),
	})
	if err != nil {
		return err
	}
	stop := p.listen(m.Mount)
	defer stop()
	final, err := m.Run(p.ctx)
	if err != nil {
		return err
	}
	a.completed(final)
	if err := m.Linger(p.ctx); err != nil || p.dead.Load() {
		return err
	}
	err = m.FinishFiles()
	a.written = err == nil
	return err
}

// finishFiles starts the manager once more, with a disk that has no faults any more, if its last process crashed or
// ended by an error after the league was over: it says that the next start writes the files that derive from the journal.
func (a *agentLives) finishFiles() {
	if a.written {
		return
	}
	a.count("managers that began again to write files")
	a.crashes = nil
	p := a.begin(context.Background())
	defer p.disk.Kill()
	defer p.cancel()
	defer time.AfterFunc(time.Hour, p.cancel).Stop() // it waits for agents until then
	if err := a.live(a, p); err != nil {
		a.problem("the manager ends after its disk was repaired: %v", err)
	}
}

// log is the log of a process. It is empty unless one league is played again.
func (p *process) log() zerolog.Logger {
	if !p.verbose {
		return zerolog.Nop()
	}
	return zerolog.New(p.text).Level(zerolog.InfoLevel).With().Timestamp().Str("host", p.host).Logger()
}

// newAgents are all agents of a league, the manager first.
func (l *timedLeague) newAgents() (all []*agentLives) {
	var common *machine
	for _, host := range l.plan.hosts() {
		a := &agentLives{timedLeague: l, host: host, id: strings.ToUpper(host), folder: "/" + host, live: playerLife}
		if _, referee := league.ParseRefereeID(a.id); referee {
			a.live = refereeLife
		} else if host == leaguetest.ManagerHost {
			a.live = managerLife
		}
		if a.machine = common; a.machine == nil {
			a.machine = l.newMachine(host)
		}
		if host == leaguetest.ManagerHost && l.plan.standby {
			a.standby, l.stream = l.newMachine(host), &sharedStream{}
		}
		switch l.plan.machines {
		case oneFolder:
			a.folder, common = "/data", a.machine
		case oneMachine:
			common = a.machine
		}
		a.traits = leaguetest.NewAgent(a.id, l.plan.traits[host])
		for _, c := range l.plan.crashes {
			if c.host == host {
				a.crashes = append(a.crashes, c)
			}
		}
		all = append(all, a)
	}
	return all
}

func (l *timedLeague) newMachine(host string) *machine {
	seed := binary.BigEndian.Uint64(secretOf(l.plan.seed, "disk", host))
	m := &machine{}
	m.disk = memdisk.New(memdisk.Options{Seed: seed, Sleep: func(d time.Duration) { m.isSlow(l.world.Now() + d) },
		Chances: l.plan.disks[host], MaxCrashes: 1})
	return m
}

// secretOf derives bytes from a seed and names.
func secretOf(seed uint64, names ...string) []byte {
	key := leaguetest.SecretOf(append([]string{strconv.FormatUint(seed, 10)}, names...)...)
	return key[:]
}
