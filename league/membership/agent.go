package membership

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// Options are the options that players and referees share.
type Options struct {
	Name     string   // display name, 1 to 50 characters
	ID       string   // the id to ask for; "" for any
	Leagues  []string // the only leagues to join; none means any
	Version  string   // of the agent; "" means 1.0.0
	Endpoint string   // at which other agents reach it
	Manager  string   // endpoint of the league manager

	// Large tells that a game of the agent can have messages of up to 64 KB, which the agent must take then.
	Large bool

	RegistrationCode string // for a league with a roster; "" for none. An agent with a token does not send it

	// Folder is the data folder for the identity and the files of the agent, for a
	// restart; with "" the agent writes no file.
	Folder store.Folder
	// Anew has the agent register as a new one: an identity in the folder is that of a league before.
	Anew bool

	// SigningKey returns the key by which the agent signs; nil derives it from the agent's
	// stored secret. An agent whose function returns nil has no key, and signs nothing.
	SigningKey func() *protocol.SigningKey

	RegisterTimeout time.Duration // of one registration call; 0 means 10 s

	Caller protocol.Caller
	Clock  *protocol.Clock
	Log    zerolog.Logger
	Guard  protocol.Guard // of the goroutines of the agent; nil: a panic ends the process

	// Waiting is called with the first error of a registration that is tried again; nil for
	// nothing. If it has told the user, the log line is no warning.
	Waiting func(err error) (told bool)

	// Unreached is called with each new reason why the manager cannot call the agent, such as
	// "connection refused at http://192.0.2.7:8101/mcp, 3 tries"; nil for nothing.
	Unreached func(reason string)
}

// An Agent is the part that players and referees share: the membership, the identity
// and the registration. Safe for concurrent use.
type Agent struct {
	Current

	options    *Options
	identities *identityStore
	stamp      *protocol.Stamp
	done       chan struct{}
	errors     protocol.LineQuota // of the log lines about LEAGUE_ERROR
}

// NewAgent returns an agent of a role, and sets the defaults of its options. It reads
// the identity in the folder; an identity that cannot be used is an error.
func NewAgent(role string, o *Options) (*Agent, error) {
	if !protocol.ValidName(o.Name) {
		return nil, fmt.Errorf("a %s's name has 1 to 50 characters, and no control characters", role)
	}
	o.Version = cmp.Or(o.Version, "1.0.0")
	identities, err := newIdentityStore(o.Folder, role, o.Name, o.Manager, o.Leagues)
	if o.Anew && err == nil {
		identities.Discard()
	}
	if err != nil {
		return nil, err
	}
	return &Agent{
		options: o, identities: identities, done: make(chan struct{}),
		stamp: protocol.NewStamp(role+":"+cmp.Or(o.ID, Slug(o.Name)), o.Clock),
	}, nil
}

// ID returns the agent's id; "" before it is registered.
func (a *Agent) ID() string {
	if m := a.Membership(); m != nil {
		return m.AgentID
	}
	return ""
}

// Stamp returns the stamp of the agent's messages.
func (a *Agent) Stamp() *protocol.Stamp { return a.stamp }

// LeagueError logs a LEAGUE_ERROR of the manager. That of any other sender is not logged.
func (a *Agent) LeagueError(ctx context.Context, bearer string, e *protocol.LeagueError) {
	if a.CheckManager(ctx, bearer) != nil {
		return
	}
	if omitted, ok := a.errors.Take(a.options.Clock.Now()); ok { // a third-party manager shows no credential
		a.options.Log.Warn().Str("conversation_id", e.ConversationID).Str("message_type", protocol.TypeLeagueError).
			Str("error", e.InWords()).Int("omitted_before", omitted).Str("event_type", "LEAGUE_ERROR").
			Msg("the manager reports an error")
	}
}

// Done returns a channel that is closed when the league is over.
func (a *Agent) Done() <-chan struct{} { return a.done }

// End closes Done. It must be called once.
func (a *Agent) End() { close(a.done) }

// Wait returns when a condition holds, or ctx ends. It checks the condition with the lock of
// changed held, now and whenever changed is signalled.
func Wait(ctx context.Context, changed *sync.Cond, holds func() bool) {
	changed.L.Lock()
	defer changed.L.Unlock()
	defer context.AfterFunc(ctx, func() {
		changed.L.Lock()
		defer changed.L.Unlock()
		changed.Broadcast()
	})()
	for !holds() && ctx.Err() == nil {
		changed.Wait()
	}
}

// Derive derives a random value from the agent's secret and a key, which a restarted
// agent derives again.
func (a *Agent) Derive(key string) protocol.Secret {
	return protocol.Derive(a.identities.Secret(), key)
}

// SigningKey returns the key by which the agent signs; nil for an agent without a key.
func (a *Agent) SigningKey() *protocol.SigningKey {
	if a.options.SigningKey != nil {
		return a.options.SigningKey()
	}
	return a.identities.SigningKey()
}

// PublicKey returns the public key of the agent; "" for an agent without a key.
func (a *Agent) PublicKey() string {
	if key := a.SigningKey(); key != nil {
		return key.Public()
	}
	return ""
}
