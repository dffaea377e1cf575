package bridge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// An agent is what the bridge knows about our agent.
type agent struct {
	options   Options
	questions questions

	mu          sync.Mutex             // never held during a call
	member      membership             // the zero value before the agent is in a league
	game        string                 // of that league, as its rounds are announced; "" before
	registering chan struct{}          // closed when the last registration has ended
	known       bounded[dialect.Match] // by match id
	waiting     []start                // matches for which the agent, a referee, has no free slot yet
	awaited     []*awaitedReport

	starting sync.Mutex // held by the goroutine that starts waiting matches

	lines protocol.LineQuota // of the log lines that any caller can cause
}

// warn begins a log line that any caller can cause; nil if there are too many.
func (a *agent) warn() *zerolog.Event {
	omitted, ok := a.lines.Take(a.options.Clock.Now())
	if !ok {
		return nil
	}
	return a.options.Log.Warn().Func(func(line *zerolog.Event) { //nolint:zerologlint // the caller adds the message
		if omitted > 0 {
			line.Int("omitted_before", omitted)
		}
	})
}

// A membership in a league.
type membership struct {
	player, referee bool // both are false if the agent is in no league
	leagueID        string
	agentID         string
	thirdParty      bool // the manager does not prove that it is one of our agents
}

func (m *membership) exists() bool { return m.player || m.referee }

func (a *agent) membership() membership {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.member
}

// league is the id of the league that the agent is in or runs; "" for none.
func (a *agent) league() string { return a.facts("").League }

// awaitMembership waits for the response to a registration: a manager may begin the
// league before the agent has read it.
func (a *agent) awaitMembership(ctx context.Context) membership {
	a.mu.Lock()
	registering, joined := a.registering, a.member.exists()
	a.mu.Unlock()
	if registering != nil && !joined {
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		select {
		case <-registering:
		case <-ctx.Done():
		}
	}
	return a.membership()
}

// soon is the longest wait for something that is about to happen.
const soon = 2 * time.Second

// facts are what the agent knows when it translates a request about a match; "" for none.
func (a *agent) facts(matchID string) *dialect.Facts {
	a.mu.Lock()
	defer a.mu.Unlock()
	match := a.known.values[matchID]
	f := &dialect.Facts{
		Now: a.options.Clock.Now(), League: a.options.League, Match: match,
		Game: cmp.Or(match.Game, a.game, a.options.Game, dialect.UsualGame),
	}
	if m := &a.member; m.exists() {
		f.League, f.AgentID, f.OurAgent = m.leagueID, m.agentID, !m.thirdParty
	}
	return f
}

func (a *agent) envelope(messageType, sender, conversation string) protocol.Envelope {
	return protocol.NewStamp(sender, a.options.Clock).Envelope(messageType, conversation)
}

// beforeCall learns from a call of our agent. The caller calls the result when the call has
// ended, with or without a response.
func (a *agent) beforeCall(ctx context.Context, method string, body []byte) (afterCall func()) {
	switch method {
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		registering := make(chan struct{})
		a.mu.Lock()
		a.registering = registering
		a.mu.Unlock()
		return func() { close(registering) }
	case protocol.ReportMatchResult.Name:
		reported := a.beforeReport(body)
		return func() {
			reported()
			a.startWaiting(context.WithoutCancel(ctx))
		}
	}
	return func() {}
}

// registered reads the response to a registration. The agent forgets what it knew about
// another league.
func (a *agent) registered(referee bool, body []byte) {
	r, id := protocol.ParseObject(body).Object("result"), "player_id"
	if referee {
		id = "referee_id"
	}
	if r.Text("status") != protocol.StatusAccepted {
		return
	}
	m := membership{!referee, referee, r.Text("league_id"), r.Text(id), r.Text("manager_auth") != protocol.ManagerAuthBearer}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.member.exists() && a.member != m {
		a.known, a.waiting, a.game = bounded[dialect.Match]{}, nil, ""
	}
	a.member = m
}

// A bounded map evicts the least recently set key when it has too many. The zero value is
// empty.
type bounded[V any] struct {
	values map[string]V
	keys   []string // the most recently set one last
}

func (b *bounded[V]) set(key string, value V, most int) {
	if b.values == nil {
		b.values = map[string]V{}
	}
	key = strings.Clone(key)
	if i := slices.Index(b.keys, key); i >= 0 {
		b.keys = slices.Delete(b.keys, i, i+1)
	} else if len(b.keys) >= most {
		delete(b.values, b.keys[0])
		b.keys = b.keys[1:]
	}
	b.keys = append(b.keys, key)
	b.values[key] = value
}

// maxMatches bounds the matches that are remembered: any caller may name any match.
const maxMatches = 1000

// learnMatch changes what is known about a match.
func (a *agent) learnMatch(id string, change func(*dialect.Match)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.known.values[id]
	change(&m)
	a.known.set(id, m, maxMatches)
}

// learnGame learns the game of the league from the announcement of a round.
func (a *agent) learnGame(announcement protocol.Object) {
	const longest = 200
	for _, m := range dialect.Announced(announcement, maxMatches) {
		if game := m.Text("game_type"); game != "" && len(game) <= longest {
			a.mu.Lock()
			a.game = strings.Clone(game)
			a.mu.Unlock()
			return
		}
	}
}
