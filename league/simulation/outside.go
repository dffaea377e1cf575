package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/transport"
)

// Outside are players of a simulated league that run elsewhere. Most agents do
// not register with a league that they have not heard of, so the simulation does
// it in their place; one that registers by itself takes its seat itself.
type Outside struct {
	Players []string        // their endpoints, in the order of the seats
	Caller  protocol.Caller // reaches them
	// Serve answers calls to the league's manager where agents look for one, until
	// the returned function is called; nil where that place is taken.
	Serve    func(mux *transport.Mux, stamp func() *protocol.Stamp) (stop func())
	Wait     time.Duration     // for them to listen, and to register by themselves
	Patience time.Duration     // the most that any of their answers may take, where the rules give more; 0: as they say
	Note     func(text string) // tells people what is waited for; may be nil
}

// External stands in the place of the strategy of a player from outside.
const External = "external"

// outside is how many players run elsewhere.
func (o *Options) outside() int {
	if o.Outside == nil {
		return 0
	}
	return len(o.Outside.Players)
}

// checkOutside tells what is wrong about players from outside.
func (o *Options) checkOutside() (problems []error) {
	if o.Outside == nil {
		return nil
	}
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if n := o.outside(); n > o.Players {
		wrong("%d players from outside in a league of %d", n, o.Players)
	}
	if o.Transport == HTTP {
		wrong("where players run elsewhere, all others are joined by the transports memory or wire, not by http")
	}
	if o.Faults != "" {
		wrong("no faults are made where players run elsewhere: there time is real, and so are its faults")
	}
	if o.Outside.Wait < 0 || o.Outside.Patience < 0 {
		wrong("nobody waits for less than no time")
	}
	for i, endpoint := range o.Outside.Players {
		for _, other := range o.Outside.Players[:i] {
			if protocol.SameEndpoint(endpoint, other) {
				wrong("%s is named twice: a player has one seat", endpoint)
			}
		}
	}
	return problems
}

// hurry cuts the timeouts of a league.
func (o *Outside) hurry(t protocol.Timeouts) protocol.Timeouts {
	if o.Patience > 0 {
		most := o.Patience.Seconds()
		t.GameJoinAck, t.Move = min(t.GameJoinAck, most), min(t.Move, most)
		t.GameOver, t.Generic = min(t.GameOver, most), min(t.Generic, most)
	}
	return t
}

func (o *Outside) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// reaching is a network that reaches those outside as well.
type reaching struct {
	network
	outside *Outside
}

func (r reaching) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	if strings.HasPrefix(q.Endpoint, Memory+"://") {
		return r.network.Call(ctx, q)
	}
	if r.outside.Patience > 0 && !ofMatch(q.Method) {
		if q.Limit == 0 || q.Limit > r.outside.Patience {
			q.Limit = r.outside.Patience
		}
	}
	return r.outside.Caller.Call(ctx, q)
}

// ofMatch tells whether a call is a question of a match, for which the referee
// itself has the time, and looks where it went.
func ofMatch(method string) bool {
	return method == protocol.Invite.Name || method == protocol.ChooseParity.Name || method == protocol.MakeMove.Name
}

// watchOutside has the referees of the league watched, and this process as well:
// time is real.
func (s *simulated) watchOutside() {
	s.seats = newSeats(s.options.Outside.Players)
	s.witness = newWitness(referee.WatchStalls())
	s.stops = append(s.stops, s.witness.stalls.Stop)
}

// seatOutside gives those outside their seats: those who register by themselves
// first, then the rest.
func (s *simulated) seatOutside(ctx context.Context) error {
	o := s.options.Outside
	if o.Serve != nil {
		s.stops = append(s.stops, o.Serve(s.gate(), s.manager.Stamp))
	}
	if err := s.awaitOutside(ctx); err != nil {
		return err
	}
	missing, err := s.seats.close(ctx)
	if err != nil {
		return err
	}
	for _, endpoint := range missing {
		if err := s.registerOutside(ctx, endpoint); err != nil {
			if own := s.seats.refusal(endpoint); own != "" {
				return fmt.Errorf("%s cannot take part: its own registration was refused: %s; and so was the simulation's: %w", endpoint, own, err)
			}
			return fmt.Errorf("%s cannot take part: %w", endpoint, err)
		}
	}
	return ctx.Err()
}

// awaitOutside waits until the outside players have registered and listen, for
// the time that they have: those that register do so before they listen.
func (s *simulated) awaitOutside(ctx context.Context) error {
	o := s.options.Outside
	bound, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	for _, endpoint := range o.Players {
		if o.Wait > 0 && !s.listens(ctx, endpoint) {
			o.note("Nobody listens at %s yet: waiting for it, %s at most.", endpoint, o.Wait)
		}
	}
	if o.Serve != nil {
		s.seats.await(bound)
	}
	var problems []error
	for _, endpoint := range o.Players {
		for !s.listens(ctx, s.seats.address(endpoint)) {
			if s.clock.Sleep(bound, 100*time.Millisecond) != nil {
				problems = append(problems, fmt.Errorf("nobody listens at %s: start the agent, and look at its port", endpoint))
				break
			}
		}
		if pong, err := s.ping(ctx, endpoint); err == nil && pong.Role == protocol.ManagerSender {
			problems = append(problems, fmt.Errorf("a league manager answers at %s: give the player's own URL", endpoint))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(problems...)
}

// listens tells whether somebody listens at an endpoint. Whatever is answered
// will do, and so will somebody who is slow.
func (s *simulated) listens(ctx context.Context, endpoint string) bool {
	_, err := s.ping(ctx, endpoint)
	return !protocol.Unreachable(err)
}

func (s *simulated) ping(ctx context.Context, endpoint string) (*protocol.Pong, error) {
	pong, _, err := protocol.Ping.CallWithin(ctx, s.net, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{}, 2*time.Second)
	return pong, err
}

// gate is the manager as those outside have it: it registers nobody but them.
func (s *simulated) gate() *transport.Mux {
	log := s.options.Log.With().Str("agent_id", protocol.ManagerSender).Logger()
	mux := transport.NewMux(log)
	s.manager.Mount(mux)
	protocol.RegisterPlayer.Handle(mux, s.manager.Stamp(), s.letIn)
	protocol.RegisterReferee.Handle(mux, s.manager.Stamp(), func(context.Context, string, *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
		return &protocol.RefereeRegisterResponse{Registration: s.turnedDown("this is a simulated league, which has referees of its own")}, nil
	})
	return mux
}

func (s *simulated) turnedDown(why string) protocol.Registration {
	return protocol.Registration{
		Status: protocol.StatusRejected, LeagueID: s.options.LeagueID, Reason: &why,
		ErrorCode: string(protocol.ErrNotAuthorized), ErrorName: protocol.ErrNotAuthorized.Name(),
	}
}

// letIn passes a registration of one of those outside on to the manager.
func (s *simulated) letIn(ctx context.Context, _ string, q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	endpoint := q.PlayerMeta.ContactEndpoint
	place, why := s.seats.enter(endpoint, q.PlayerMeta.DisplayName, q.AuthToken)
	if why != "" {
		return &protocol.LeagueRegisterResponse{Registration: s.turnedDown(why)}, nil
	}
	passed := *q
	if _, wishes := protocol.ParsePlayerID(protocol.AgentOf(q.Sender)); !wishes {
		passed.Sender = protocol.PlayerSender(protocol.PlayerID(place + 1))
	}
	var id, refusal string
	defer func() { s.seats.leave(endpoint, id, refusal) }()
	r, err := protocol.RegisterPlayer.Call(ctx, s.net, protocol.Peer{Endpoint: s.address}, &passed)
	if err == nil {
		err := membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken)
		if err == nil {
			id = *r.PlayerID
			return r, nil
		}
		refusal = err.Error()
		s.options.Outside.note("The registration of %s under the name %q was refused: %s. The simulation registers it instead.",
			endpoint, q.PlayerMeta.DisplayName, refusal)
		return r, nil
	}
	refusal = err.Error()
	return nil, err
}

// registerOutside registers a player that does not do so by itself. Nobody but
// the simulation ever knows its token.
func (s *simulated) registerOutside(ctx context.Context, endpoint string) error {
	place, _ := s.seats.place(endpoint)
	stamp := protocol.NewStamp(protocol.PlayerSender(protocol.PlayerID(place+1)), s.clock)
	host := endpoint
	if u, err := url.Parse(endpoint); err == nil {
		host = u.Host
	}
	for n := 1; ; n++ {
		name := nameFor(host, n)
		r, err := protocol.RegisterPlayer.Call(ctx, s.net, protocol.Peer{Endpoint: s.address}, &protocol.LeagueRegisterRequest{
			Envelope: stamp.Envelope(protocol.TypeLeagueRegisterRequest, membership.Conversation(membership.RolePlayer, name)),
			PlayerMeta: protocol.PlayerMeta{
				DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version,
				GameTypes: []string{s.options.GameType}, ContactEndpoint: endpoint,
			},
		})
		if err != nil {
			return err
		}
		if r.ErrorCode == string(protocol.ErrDuplicateName) && n <= len(s.seats.wanted) {
			continue // another has a name like it
		}
		if err := membership.Admitted(&r.Registration, r.PlayerID, r.AuthToken); err != nil {
			return err
		}
		s.seats.take(*r.PlayerID, &taken{endpoint: endpoint, strategy: External, outside: true})
		return nil
	}
}

// nameFor is the n-th name for a player at a host: a name has 50 characters.
func nameFor(host string, n int) string {
	const most = 40
	if runes := []rune(host); len(runes) > most {
		host = string(runes[:most])
	}
	if n > 1 {
		host += " (" + strconv.Itoa(n) + ")"
	}
	return host
}
