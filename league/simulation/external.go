package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/transport"
)

// External are players of a simulated league that run in other processes. Most agents do
// not register with an unknown league, so the simulation registers them. A player may
// also register by itself.
type External struct {
	Players []string        // their endpoints
	Caller  protocol.Caller // reaches them
	// Serve answers calls at the default endpoint of a manager, where agents look for one,
	// until stop is called. It is nil when another process uses that endpoint.
	Serve    func(mux *transport.Mux, stamp func() *protocol.Stamp) (stop func())
	Wait     time.Duration // for the players to listen and to register by themselves
	Patience time.Duration // the limit of every call to them, if the rules allow more; 0: as the rules say
	// Note tells the user what the simulation waits for.
	Note func(format string, args ...any)
}

// ExternalStrategy is shown as the strategy of an external player.
const ExternalStrategy = "external"

// externalPlayers is the number of external players.
func (o *Options) externalPlayers() int {
	if o.External == nil {
		return 0
	}
	return len(o.External.Players)
}

// checkExternal checks the options of external players.
func (o *Options) checkExternal(check func(ok bool, format string, args ...any)) {
	if o.External == nil {
		return
	}
	endpoints := o.External.Players
	check(len(endpoints) <= o.Players, "%d external players in a league of %d", len(endpoints), o.Players)
	check(o.Transport != HTTP,
		"a league with external players uses the transport memory or wire for all other agents, not http")
	check(o.Faults == "", "a league with external players has no simulated faults, because its time is real")
	check(o.External.Wait >= 0 && o.External.Patience >= 0, "a time to wait for external players must not be negative")
	for i, endpoint := range endpoints {
		twice := slices.ContainsFunc(endpoints[:i], func(other string) bool { return protocol.SameEndpoint(endpoint, other) })
		check(!twice, "%s is named twice: name each player once", endpoint)
	}
}

// shorten reduces the timeouts of a league to Patience.
func (e *External) shorten(t protocol.Timeouts) protocol.Timeouts {
	if e.Patience > 0 {
		most := e.Patience.Seconds()
		t.GameJoinAck, t.Move = min(t.GameJoinAck, most), min(t.Move, most)
		t.GameOver, t.Generic = min(t.GameOver, most), min(t.Generic, most)
	}
	return t
}

// An externalNetwork also reaches external players.
type externalNetwork struct {
	network
	external *External
}

func (n externalNetwork) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	if strings.HasPrefix(q.Endpoint, Memory+"://") {
		return n.network.Call(ctx, q)
	}
	most := n.external.Patience
	if most > 0 && !isQuestion(q.Method) && (q.Limit == 0 || q.Limit > most) {
		q.Limit = most
	}
	return n.external.Caller.Call(ctx, q)
}

// isQuestion tells whether a method asks a player in a match, in a window that the referee has shortened itself.
func isQuestion(method string) bool {
	return method == protocol.Invite.Name || protocol.AsksForMove(method)
}

// registerExternal waits until external players have registered by themselves, and
// registers the others.
func (s *runningLeague) registerExternal(ctx context.Context) error {
	e := s.options.External
	if e.Serve != nil {
		s.stops = append(s.stops, e.Serve(s.registrationDesk(), s.manager.Stamp))
	}
	if err := s.awaitExternal(ctx); err != nil {
		return err
	}
	missing, err := s.roster.close(ctx)
	if err != nil {
		return err
	}
	for _, number := range missing {
		err := s.registerFor(ctx, number)
		if err == nil {
			continue
		}
		endpoint := e.Players[number]
		if refusal := s.roster.external(number).refusal; refusal != "" {
			return fmt.Errorf("%s cannot take part: its own registration was refused: %s; and so was the simulation's: %w",
				endpoint, refusal, err)
		}
		return fmt.Errorf("%s cannot take part: %w", endpoint, err)
	}
	return ctx.Err()
}

// awaitExternal waits until the external players have registered and listen, for as long
// as Wait: some agents register before they listen.
func (s *runningLeague) awaitExternal(ctx context.Context) error {
	e := s.options.External
	bound, cancel := context.WithTimeout(ctx, e.Wait)
	defer cancel()
	for _, endpoint := range e.Players {
		if e.Wait == 0 {
			break
		}
		if _, err := s.ping(ctx, endpoint); protocol.Unreachable(err) {
			e.Note("Nobody listens at %s yet: waiting for it, %s at most.", endpoint, e.Wait)
		}
	}
	if e.Serve != nil {
		s.roster.await(bound)
	}
	var problems []error
	for number, endpoint := range e.Players {
		pong, err := s.ping(ctx, s.roster.external(number).endpoint)
		for protocol.Unreachable(err) && s.clock.Sleep(bound, 100*time.Millisecond) == nil {
			pong, err = s.ping(ctx, s.roster.external(number).endpoint)
		}
		switch {
		case protocol.Unreachable(err):
			problems = append(problems, fmt.Errorf("nobody listens at %s: start the agent, and look at its port", endpoint))
		case err == nil && pong.Role == protocol.ManagerSender:
			problems = append(problems, fmt.Errorf("a league manager answers at %s: give the player's own URL", endpoint))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(problems...)
}

// ping calls an agent. Any answer other than protocol.Unreachable shows that the agent
// listens, and so does a slow agent.
func (s *runningLeague) ping(ctx context.Context, endpoint string) (*protocol.Pong, error) {
	pong, _, err := protocol.Ping.CallWithin(ctx, s.net, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{},
		2*time.Second)
	return pong, err
}

// registrationDesk is the manager for external agents: it registers only the expected
// players.
func (s *runningLeague) registrationDesk() *transport.Mux {
	log := s.options.Log.With().Str("agent_id", protocol.ManagerSender).Logger()
	mux := transport.NewMux(log)
	s.manager.Mount(mux)
	protocol.RegisterPlayer.Handle(mux, s.manager.Stamp(), s.registerItself)
	protocol.RegisterReferee.Handle(mux, s.manager.Stamp(),
		func(context.Context, string, *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
			return &protocol.RefereeRegisterResponse{Registration: s.rejected(
				"this is a simulated league, which has referees of its own")}, nil
		})
	return mux
}

func (s *runningLeague) rejected(why string) protocol.Registration {
	return protocol.Registration{
		Status: protocol.StatusRejected, LeagueID: s.options.LeagueID, Reason: &why,
		ErrorCode: string(protocol.ErrNotAuthorized), ErrorName: protocol.ErrNotAuthorized.Name(),
	}
}

// registerItself passes the registration of an external player on to the manager.
func (s *runningLeague) registerItself(ctx context.Context, _ string,
	q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	endpoint := q.PlayerMeta.ContactEndpoint
	number, why := s.roster.begin(endpoint, q.PlayerMeta.DisplayName, q.AuthToken)
	if why != "" {
		return &protocol.LeagueRegisterResponse{Registration: s.rejected(why)}, nil
	}
	passed := *q
	if s.options.Entrants != nil {
		passed.PlayerMeta.DisplayName = s.options.entrant(number + 1).Name
	}
	if _, ok := league.ParsePlayerID(protocol.AgentOf(q.Sender)); !ok { // it asks for no id
		passed.Sender = protocol.PlayerSender(league.PlayerID(number + 1))
	}
	var id, refusal string
	defer func() { s.roster.finish(number, endpoint, id, refusal) }()
	r, err := protocol.RegisterPlayer.Call(ctx, s.net, protocol.Peer{Endpoint: s.address}, &passed)
	if err != nil {
		if q.AuthToken == "" { // else the token is of an earlier league: the player registers again without it
			refusal = err.Error()
		}
		return nil, err
	}
	if err := membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken); err != nil {
		refusal = err.Error()
		s.options.External.Note(
			"The registration of %s under the name %q was refused: %s. The simulation registers it instead.",
			endpoint, q.PlayerMeta.DisplayName, refusal)
		return r, nil
	}
	id = *r.PlayerID
	return r, nil
}

// large tells whether messages of the game can have up to 64 KB.
func (s *runningLeague) large() bool {
	game, err := s.options.Games.Game(s.options.GameType)
	return err == nil && game.Info().Large
}

// registerFor registers a player that does not register by itself. Only the simulation
// knows its token.
func (s *runningLeague) registerFor(ctx context.Context, number int) error {
	endpoint := s.options.External.Players[number]
	if s.large() {
		s.options.External.Note("Messages of %s can have 64 KB: %s must take them.", s.options.GameType, endpoint)
	}
	stamp := protocol.NewStamp(protocol.PlayerSender(league.PlayerID(number+1)), s.clock)
	host := endpoint
	if u, err := url.Parse(endpoint); err == nil {
		host = u.Host
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%.40s", host) // a name has 50 characters at most
		switch {
		case s.options.Entrants != nil:
			name = s.options.entrant(number + 1).Name
		case n > 1:
			name += fmt.Sprintf(" (%d)", n)
		}
		r, err := protocol.RegisterPlayer.Call(ctx, s.net, protocol.Peer{Endpoint: s.address},
			&protocol.LeagueRegisterRequest{
				Envelope: stamp.Envelope(protocol.TypeLeagueRegisterRequest, membership.Conversation(protocol.RolePlayer, name)),
				PlayerMeta: protocol.PlayerMeta{
					AgentMeta: protocol.AgentMeta{
						DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version,
						GameTypes: []string{s.options.GameType}, ContactEndpoint: endpoint, LargeMessages: s.large(),
					},
				},
			})
		if err != nil {
			return err
		}
		if r.ErrorCode == string(protocol.ErrDuplicateName) && n <= s.options.externalPlayers() {
			continue // another player has this name
		}
		if err := membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken); err != nil {
			return err
		}
		s.roster.update(func() { s.roster.players[number].id = *r.PlayerID })
		return nil
	}
}
