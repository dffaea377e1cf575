package conversations

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/transport"
)

// A part is what a scripted agent does when one of its methods is called: what
// it returns is the answer as JSON.
type part func(c *call) (jsontext.Value, error)

// A call is one that reached a scripted agent.
type call struct {
	ctx     context.Context
	bearer  string
	message jsontext.Value
	n       int // how many times the method has been called, from 1

	honest func(ctx context.Context) (any, error)
}

// answer is what the agent would have answered without the script.
func (c *call) answer() (jsontext.Value, error) {
	answer, err := c.honest(c.ctx)
	if err != nil {
		return nil, err
	}
	return written(answer), nil
}

// A script holds the parts of an agent by method.
type script map[string]part

// scripted lets parts take the place of handlers.
type scripted struct {
	*transport.Mux
	parts script
}

func (s scripted) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	play, ok := s.parts[method]
	if !ok {
		s.Mux.Handle(method, decode, handle)
		return
	}
	type decoded struct {
		raw    []byte
		params any
	}
	var mu sync.Mutex
	calls := 0
	s.Mux.Handle(method, func(raw []byte) (any, error) {
		params, err := decode(raw)
		return decoded{append([]byte(nil), raw...), params}, err
	}, func(ctx context.Context, bearer string, params any) (any, error) {
		mu.Lock()
		calls++
		c := &call{ctx: ctx, bearer: bearer, n: calls}
		mu.Unlock()
		if d, ok := params.(decoded); ok {
			c.message, params = d.raw, d.params
		} else {
			c.message = written(params)
		}
		c.honest = func(ctx context.Context) (any, error) { return handle(ctx, bearer, params) }
		return play(c)
	})
}

// stage makes the mux of an agent that has no other code than its script.
func (w *world) stage(parts script) *transport.Mux {
	mux := transport.NewMux(w.log)
	for method := range parts {
		scripted{mux, parts}.Handle(method,
			func(raw []byte) (any, error) { return jsontext.Value(raw), nil },
			func(context.Context, string, any) (any, error) { return nil, errors.New("nobody but the script") })
	}
	return mux
}

// honestly does what the agent does without a script.
func honestly(c *call) (jsontext.Value, error) { return c.answer() }

// silent does not answer as long as anybody waits.
func silent(c *call) (jsontext.Value, error) {
	<-c.ctx.Done()
	time.Sleep(time.Millisecond)
	return nil, c.ctx.Err()
}

// failing answers with an error; see errHangUp for the broken connections.
func failing(err error) part { return func(*call) (jsontext.Value, error) { return nil, err } }

// refusing answers with a LEAGUE_ERROR.
func refusing(code protocol.Code) part {
	e := protocol.Fault(code, "as the script wants it")
	message := protocol.LeagueError{
		Envelope:  protocol.Envelope{Protocol: protocol.Name, MessageType: protocol.TypeLeagueError, Sender: "player:script"},
		ErrorCode: string(code), ErrorName: code.Name(), ErrorDescription: code.Name(),
	}
	return failing(&transport.Error{Code: e.RPC, Message: code.Name(), Data: written(message)})
}

// saying answers the same always.
func saying(v any) part { return func(*call) (jsontext.Value, error) { return written(v), nil } }

// editing changes a member of the honest answer; with nil it takes it away.
func editing(member string, value any) part {
	return func(c *call) (jsontext.Value, error) {
		answer, err := c.answer()
		if err != nil {
			return nil, err
		}
		return edited(answer, member, value), nil
	}
}

// null is the value of a member that is there and null.
func null() jsontext.Value { return jsontext.Value("null") }

func edited(raw jsontext.Value, member string, value any) jsontext.Value {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(raw, &members); err != nil {
		panic(err) // an answer of ours is an object
	}
	if value == nil {
		delete(members, member)
	} else {
		members[member] = written(value)
	}
	return written(members)
}

// after takes its time first, whether or not the caller waits for it.
func after(pause time.Duration, then part) part {
	return func(c *call) (jsontext.Value, error) {
		time.Sleep(pause)
		c.ctx = context.WithoutCancel(c.ctx)
		return then(c)
	}
}

// inTurn plays one part for each call, and the last for all that follow.
func inTurn(parts ...part) part {
	return func(c *call) (jsontext.Value, error) { return parts[min(c.n, len(parts))-1](c) }
}

// nTimes plays a part for the first n calls, and then another.
func nTimes(n int, play, then part) part {
	return func(c *call) (jsontext.Value, error) {
		if c.n <= n {
			return play(c)
		}
		return then(c)
	}
}

// An actor is an agent of a world.
type actor struct {
	host    string
	id      string // asked for, and its host in lower case
	parts   script
	mux     *transport.Mux
	stop    func()
	caller  protocol.Caller
	player  *player.Player
	referee *referee.Referee

	name     string
	strategy string
	decide   strategy.Strategy // in place of a named one
	capacity int
	league   string
	chance   bool // its secrets come from the system, not from its name
	wantsID  bool
	strict   bool // plays only with referees that prove themselves
}

// A trait is how an agent differs from an ordinary one.
type trait func(*actor)

func does(method string, play part) trait { return func(a *actor) { a.parts[method] = play } }
func choosing(strategy string) trait      { return func(a *actor) { a.strategy = strategy } }
func named(name string) trait             { return func(a *actor) { a.name = name } }
func capacity(matches int) trait          { return func(a *actor) { a.capacity = matches } }
func onlyLeague(id string) trait          { return func(a *actor) { a.league = id } }
func byChance(a *actor)                   { a.chance = true }
func withoutID(a *actor)                  { a.wantsID = false }
func strictOfReferees(a *actor)           { a.strict = true }

func newActor(id string, traits []trait) *actor {
	a := &actor{
		id: id, host: strings.ToLower(id), parts: script{}, name: "Agent " + id, strategy: "random",
		capacity: 10, wantsID: true,
	}
	for _, set := range traits {
		set(a)
	}
	return a
}

// keyed is a random source of its own for every decision.
func keyed(parts ...string) *rand.Rand {
	key := secretOf(parts...)
	return rand.New(rand.NewChaCha8(key))
}
