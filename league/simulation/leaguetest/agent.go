package leaguetest

import (
	"bytes"
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

// A Reply produces the answer of a scripted agent to one method, as JSON.
type Reply func(c *Call) (jsontext.Value, error)

// A Call is a call that reached a scripted agent.
type Call struct {
	Context context.Context
	bearer  string
	Message jsontext.Value
	N       int // number of this call of the method, from 1

	own func(ctx context.Context) (any, error)
}

// OwnAnswer returns what the agent answers without the script.
func (c *Call) OwnAnswer() (jsontext.Value, error) {
	answer, err := c.own(c.Context)
	if err != nil {
		return nil, err
	}
	return Encode(answer), nil
}

// A Script maps methods to scripted replies.
type Script map[string]Reply

// Scripted replaces handlers of a mux by scripted replies.
type Scripted struct {
	*transport.Mux
	parts Script
}

func (s Scripted) Handle(method string, decode func([]byte) (any, error),
	handle func(context.Context, string, any) (any, error)) {
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
		return decoded{bytes.Clone(raw), params}, err
	}, func(ctx context.Context, bearer string, params any) (any, error) {
		mu.Lock()
		calls++
		c := &Call{Context: ctx, bearer: bearer, N: calls}
		mu.Unlock()
		if d, ok := params.(decoded); ok {
			c.Message, params = d.raw, d.params
		} else {
			c.Message = Encode(params)
		}
		c.own = func(ctx context.Context) (any, error) { return handle(ctx, bearer, params) }
		return play(c)
	})
}

// ScriptMux returns the mux of an agent that consists of its script alone.
func (w *World) ScriptMux(parts Script) *transport.Mux {
	mux := transport.NewMux(w.log)
	for method := range parts {
		Scripted{mux, parts}.Handle(method,
			func(raw []byte) (any, error) { return jsontext.Value(raw), nil },
			func(context.Context, string, any) (any, error) {
				return nil, errors.New("this agent has only a script")
			})
	}
	return mux
}

// Normally answers as the agent does without a script.
func Normally(c *Call) (jsontext.Value, error) { return c.OwnAnswer() }

// Silent does not answer before the caller gives up.
func Silent(c *Call) (jsontext.Value, error) {
	<-c.Context.Done()
	time.Sleep(time.Millisecond)
	return nil, c.Context.Err()
}

// FailWith answers with an error; ErrHangUp and its neighbours break the connection.
func FailWith(err error) Reply { return func(*Call) (jsontext.Value, error) { return nil, err } }

// RefuseWith answers with a LEAGUE_ERROR of the given code.
func RefuseWith(code protocol.Code) Reply {
	e := protocol.Fault(code, "refused by the script")
	message := protocol.LeagueError{
		Envelope:  protocol.Envelope{Protocol: protocol.Name, MessageType: protocol.TypeLeagueError, Sender: "player:script"},
		ErrorCode: string(code), ErrorName: code.Name(), ErrorDescription: code.Name(),
	}
	return FailWith(&transport.Error{Code: e.RPC, Message: code.Name(), Data: Encode(message)})
}

// AnswerWith always gives the same answer.
func AnswerWith(v any) Reply { return func(*Call) (jsontext.Value, error) { return Encode(v), nil } }

// EditAnswer sets a member of the agent's own answer; nil removes it.
func EditAnswer(member string, value any) Reply { return ThenEdit(Normally, member, value) }

// ThenEdit sets a member of what another reply answers; nil removes it.
func ThenEdit(play Reply, member string, value any) Reply {
	return func(c *Call) (jsontext.Value, error) {
		answer, err := play(c)
		if err != nil {
			return nil, err
		}
		return Edit(answer, member, value), nil
	}
}

// Null is the JSON value null.
func Null() jsontext.Value { return jsontext.Value("null") }

func Edit(raw jsontext.Value, member string, value any) jsontext.Value {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(raw, &members); err != nil {
		panic(err) // the answers of our agents are objects
	}
	if value == nil {
		delete(members, member)
	} else {
		members[member] = Encode(value)
	}
	return Encode(members)
}

// Delayed waits before it replies, even if the caller has given up.
func Delayed(pause time.Duration, then Reply) Reply {
	return func(c *Call) (jsontext.Value, error) {
		time.Sleep(pause)
		c.Context = context.WithoutCancel(c.Context)
		return then(c)
	}
}

// InTurn uses the n-th reply for the n-th call, and the last one for all later calls.
func InTurn(parts ...Reply) Reply {
	return func(c *Call) (jsontext.Value, error) { return parts[min(c.N, len(parts))-1](c) }
}

// FirstN uses one reply for the first n calls and another one afterwards.
func FirstN(n int, play, then Reply) Reply {
	return func(c *Call) (jsontext.Value, error) {
		if c.N <= n {
			return play(c)
		}
		return then(c)
	}
}

// An Agent is one agent of a World: a manager, a referee, a player, or only a script.
type Agent struct {
	Host    string
	ID      string // the requested id; the host is the same in lower case
	Script  Script
	Mux     *transport.Mux
	Stop    func()
	Caller  protocol.Caller
	Player  *player.Player
	Referee *referee.Referee

	name             string
	strategy         string
	Decide           strategy.Strategy // replaces the named strategy
	capacity         int
	league           string
	randomSecrets    bool // draws secrets from the system instead of deriving them from its id
	wantsID          bool
	unsigned         bool // it has no signing key
	verifiesReferees bool // accepts only referees that authenticate themselves

	offset time.Duration // of its wall clock from that of the World
	jumps  []Jump
	pauses []Pause
}

// An Option changes an agent before it starts.
type Option func(*Agent)

func On(method string, play Reply) Option { return func(a *Agent) { a.Script[method] = play } }
func WithStrategy(strategy string) Option { return func(a *Agent) { a.strategy = strategy } }
func WithName(name string) Option         { return func(a *Agent) { a.name = name } }
func WithCapacity(matches int) Option     { return func(a *Agent) { a.capacity = matches } }
func WithLeague(id string) Option         { return func(a *Agent) { a.league = id } }
func WithRandomSecrets(a *Agent)          { a.randomSecrets = true }
func WithoutID(a *Agent)                  { a.wantsID = false }
func WithoutKey(a *Agent)                 { a.unsigned = true }
func VerifyReferees(a *Agent)             { a.verifiesReferees = true }

func NewAgent(id string, traits []Option) *Agent {
	a := &Agent{
		ID: id, Host: strings.ToLower(id), Script: Script{}, name: "Agent " + id, strategy: "random",
		capacity: 10, wantsID: true,
	}
	for _, set := range traits {
		set(a)
	}
	return a
}

// KeyedRandom returns a random source that depends on the parts alone.
func KeyedRandom(parts ...string) *rand.Rand {
	key := SecretOf(parts...)
	return rand.New(rand.NewChaCha8(key))
}
