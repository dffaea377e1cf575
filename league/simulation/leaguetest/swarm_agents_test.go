package leaguetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
)

// agentLives are the processes of one agent, one after the other.
type agentLives struct {
	*timedLeague
	host, id string
	live     func(*agentLives, *process) error // one process, to its end
	folder   store.Folder
	crashes  []crash // of the processes to come
	over     bool    // it knows that the league is over
}

// mostLives bounds the processes of an agent.
const mostLives = 100

// run begins a process again after each crash, and as an operator does after each error.
func (a *agentLives) run() {
	for range mostLives {
		p := a.begin()
		a.note("%s begins", a.host)
		err := a.live(a, p)
		p.cancel()
		switch {
		case !p.dead.Load() && (err == nil || a.world.Context.Err() != nil):
			a.over = true
			return
		case !p.dead.Load():
			a.note("%s ends: %v", a.host, err)
			a.count("ended: " + strings.Trim(a.host, "0123456789") + " " + err.Error())
			if sleep(a.world.Context, 10*time.Second) != nil {
				return
			}
			continue
		}
		a.folder = p.left
		a.count("crashes of " + strings.Trim(a.host, "0123456789"))
		if p.mute.Load() {
			a.count("crashes of whole machines")
		}
		away := p.crash.away
		a.crashes = a.crashes[1:]
		if away == forever && (a.started.Load() || a.world.Context.Err() != nil) {
			a.count("crashes for ever")
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
		Caller: p.caller(), Clock: a.world.Clock, Log: p.log(), Large: a.plan.game.Info().Large,
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
	})
	if err != nil {
		return err
	}
	defer one.Close()
	return a.takePart(p, one)
}

func managerLife(a *agentLives, p *process) (err error) {
	files, _, err := manager.OpenFiles(p.folder, leaguetest.LeagueID, false, nil)
	if err != nil {
		a.problem("the league cannot be opened: %v", err)
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	a.checkJournal(files.State)
	created := leaguetest.Rules(leaguetest.LeagueID, a.plan.game.Info().Type, a.plan.players, a.plan.referees)
	created.Legs, created.Tournament = a.plan.legs, a.plan.tournament
	created.Signatures, created.Broadcast = a.plan.signatures, a.plan.broadcast
	m, err := manager.New(manager.Options{
		Created: created, Games: rules.NewRegistry(a.plan.game), Files: files, Secret: &a.world.Secret, Caller: p.caller(),
		Clock: a.world.Clock, Log: p.log(),
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
	m.Linger(p.ctx)
	if p.dead.Load() {
		return nil
	}
	return m.FinishFiles()
}

// log is the log of a process. It is empty unless one league is played again.
func (p *process) log() zerolog.Logger {
	if !p.verbose {
		return zerolog.Nop()
	}
	return zerolog.New(p.text).Level(zerolog.InfoLevel).With().Timestamp().Str("host", p.host).Logger()
}

// newAgents are all agents of a league.
func (l *timedLeague) newAgents() (all []*agentLives) {
	for _, host := range l.plan.hosts() {
		a := &agentLives{timedLeague: l, host: host, id: strings.ToUpper(host), folder: l.next(), live: playerLife}
		if _, referee := league.ParseRefereeID(a.id); referee {
			a.live = refereeLife
		} else if host == leaguetest.ManagerHost {
			a.live = managerLife
		}
		for _, c := range l.plan.crashes {
			if c.host == host {
				a.crashes = append(a.crashes, c)
			}
		}
		all = append(all, a)
	}
	return all
}
