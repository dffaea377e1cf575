package conversations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// application is what a player that nobody refuses sends.
func (w *world) application(name string) *protocol.LeagueRegisterRequest {
	host := strings.ToLower(name)
	return &protocol.LeagueRegisterRequest{
		Envelope: protocol.NewStamp(protocol.PlayerSender(host), w.clock).
			Envelope(protocol.TypeLeagueRegisterRequest, "conv-"+host),
		PlayerMeta: protocol.PlayerMeta{
			DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{evenodd.Type}, ContactEndpoint: endpointOf(host),
		},
	}
}

// refereeApplication is the same for a referee.
func (w *world) refereeApplication(name string) *protocol.RefereeRegisterRequest {
	host := strings.ToLower(name)
	return &protocol.RefereeRegisterRequest{
		Envelope: protocol.NewStamp(protocol.RefereeSender(host), w.clock).
			Envelope(protocol.TypeRefereeRegisterRequest, "conv-"+host),
		RefereeMeta: protocol.RefereeMeta{
			DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version,
			GameTypes: []string{evenodd.Type}, ContactEndpoint: endpointOf(host), MaxConcurrentMatches: 1,
		},
	}
}

// listener is somebody who answers ping, and nothing else.
func (w *world) listener(host string) *actor {
	a := newActor(host, nil)
	a.parts = script{protocol.Ping.Name: saying(map[string]string{"message_type": "PONG", "status": "ok"})}
	w.open(a, w.stage(a.parts))
	return a
}

func (w *world) manage() protocol.Peer { return protocol.Peer{Endpoint: endpointOf(theBoss)} }

func (w *world) apply(q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	return protocol.RegisterPlayer.Call(w.life, w.stranger, w.manage(), q)
}

func (w *world) applyReferee(q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	return protocol.RegisterReferee.Call(w.life, w.stranger, w.manage(), q)
}

func TestIDsAreGivenInOrderOfArrival(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		for i := 1; i <= 3; i++ {
			p := w.player(fmt.Sprintf("Somebody%d", i), withoutID)
			assert.Equal(t, protocol.PlayerID(i), p.player.ID())
			assert.Equal(t, protocol.PlayerSender(p.player.ID()), p.player.Stamp().Sender())
			r := w.referee(fmt.Sprintf("Whistle%d", i), withoutID)
			assert.Equal(t, protocol.RefereeID(i), r.referee.ID())
		}
		assert.Equal(t, 3, w.manager.Status().Players)
		assert.Equal(t, 3, w.manager.Status().Referees)
	})
}

func TestAnAcceptedRegistration(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.listener("alpha")
		q := w.application("Alpha")
		r, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, "P01", *r.PlayerID)
		assert.Equal(t, leagueID, r.LeagueID)
		assert.Equal(t, w.token("P01"), r.AuthToken)
		assert.Equal(t, protocol.ManagerAuthBearer, r.ManagerAuth)
		assert.Nil(t, r.Reason)
		assert.Empty(t, r.ErrorCode)
		assert.Equal(t, q.ConversationID, r.ConversationID)
		assert.Equal(t, protocol.ManagerSender, r.Sender)

		w.listener("whistle")
		ref, err := w.applyReferee(w.refereeApplication("Whistle"))
		require.NoError(t, err)
		assert.Equal(t, "REF01", *ref.RefereeID)
		assert.Equal(t, w.token("REF01"), ref.AuthToken)
	})
}

func TestAnIDThatIsAskedFor(t *testing.T) {
	for _, test := range []struct{ name, wanted, got string }{
		{"a free one is granted", "P07", "P07"},
		{"also beyond a hundred", "P100", "P100"},
		{"one that is taken is not", "P02", "P01"},
		{"nor one with too few digits", "P7", "P01"},
		{"nor one with too many", "P007", "P01"},
		{"nor zero", "P00", "P01"},
		{"nor that of a referee", "REF07", "P01"},
		{"nor one in lower case", "p07", "P01"},
		{"nor a name", "alpha", "P01"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.player("P02")
				w.listener("alpha")
				q := w.application("Alpha")
				q.Sender = "player:" + test.wanted
				r, err := w.apply(q)
				require.NoError(t, err)
				require.Equal(t, protocol.StatusAccepted, r.Status)
				assert.Equal(t, test.got, *r.PlayerID)
			})
		})
	}
}

func TestARegistrationIsRefused(t *testing.T) {
	version := func(v string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ProtocolVersion = v }
	}
	contact := func(url string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ContactEndpoint = url }
	}
	for _, test := range []struct {
		name   string
		before func(*world)
		change func(*protocol.PlayerMeta)
		code   protocol.Code // "" for accepted
	}{
		{name: "not at all"},
		{name: "version 1.9.9", change: version("1.9.9"), code: protocol.ErrProtocolVersion},
		{name: "version 2.2.0", change: version("2.2.0"), code: protocol.ErrProtocolVersion},
		{name: "version 3.0.0", change: version("3.0.0"), code: protocol.ErrProtocolVersion},
		{name: "not for version 2.0.0", change: version("2.0.0")},
		{name: "not for version 2.0.9", change: version("2.0.9")},
		{name: "not for no version", change: version("")},
		{name: "another game", change: func(m *protocol.PlayerMeta) { m.GameTypes = []string{"chess", "go"} }, code: protocol.ErrUnsupportedGame},
		{name: "not for more games", change: func(m *protocol.PlayerMeta) { m.GameTypes = []string{"chess", evenodd.Type} }},
		{name: "a name that is taken", change: func(m *protocol.PlayerMeta) { m.DisplayName = "Agent P01" }, code: protocol.ErrDuplicateName},
		{
			name: "too late, while the league runs", code: protocol.ErrLateRegistration,
			before: func(w *world) {
				w.referee("REF01")
				w.evens(2)
				w.begin()
			},
		},
		{
			name: "too late, when the league is over", code: protocol.ErrLateRegistration,
			before: func(w *world) {
				w.referee("REF01")
				w.players(2)
				w.begin()
			},
		},
		{name: "a full league", before: func(w *world) { w.players(4) }, code: protocol.ErrLeagueFull},
		{name: "not for one that does not listen yet", change: contact(endpointOf("nowhere"))},
		{name: "an endpoint that is taken", change: contact("HTTP://P01:8000/mcp/?x=1"), code: protocol.ErrInvalidEndpoint},
		{name: "no URL", change: contact("alpha"), code: protocol.ErrInvalidEndpoint},
		{name: "no scheme", change: contact("//alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "no host", change: contact("http:///mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "another scheme", change: contact("ftp://alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "a password", change: contact("http://me:secret@alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{
			name: "not for one that knows no ping",
			before: func(w *world) {
				a := newActor("other", []trait{does("something_else", silent)})
				w.open(a, w.stage(a.parts))
			},
			change: contact(endpointOf("other")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers = 4 })
				if test.before != nil {
					test.before(w)
				} else {
					w.player("P01")
				}
				w.listener("alpha")
				q := w.application("Alpha")
				if test.change != nil {
					test.change(&q.PlayerMeta)
				}
				before := w.manager.Status().Players
				r, err := w.apply(q)
				require.NoError(t, err)
				assert.Zero(t, w.now().Round(second), "the response comes at once")
				if test.code == "" {
					assert.Equal(t, protocol.StatusAccepted, r.Status)
					return
				}
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Nil(t, r.PlayerID)
				assert.Empty(t, r.AuthToken)
				assert.Empty(t, r.ManagerAuth)
				require.NotNil(t, r.Reason)
				assert.NotEmpty(t, *r.Reason)
				assert.Equal(t, string(test.code), r.ErrorCode)
				assert.Equal(t, test.code.Name(), r.ErrorName)
				assert.Equal(t, before, w.manager.Status().Players)
				calls := w.said(protocol.RegisterPlayer.Name)
				assert.Contains(t, string(calls[len(calls)-1].answer), `"player_id":null`)
			})
		})
	}
}

// later does something at a time of the world.
func (w *world) later(moment time.Duration, do func()) {
	w.running.Go(func() {
		time.Sleep(moment - w.now())
		do()
	})
}

func TestARefereeIsRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.RefereeRegisterRequest)
		code   protocol.Code
	}{
		{"version", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.ProtocolVersion = "1.0.0" }, protocol.ErrProtocolVersion},
		{"game", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.GameTypes = []string{"chess"} }, protocol.ErrUnsupportedGame},
		{"endpoint", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.ContactEndpoint = "nowhere" }, protocol.ErrInvalidEndpoint},
		{"full", nil, protocol.ErrLeagueFull},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				most := 2
				if test.change == nil {
					most = 1
				}
				w.startManager(0, 1, func(o *league.Options) { o.MaxReferees = most })
				w.referee("REF01")
				w.listener("whistle")
				q := w.refereeApplication("Whistle")
				if test.change != nil {
					test.change(q)
				}
				r, err := w.applyReferee(q)
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Nil(t, r.RefereeID)
				assert.Empty(t, r.AuthToken)
				assert.Equal(t, string(test.code), r.ErrorCode)
				assert.Equal(t, 1, w.manager.Status().Referees)
			})
		})
	}
}

func TestEqualNames(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) { o.SameNames = true })
		w.referee("REF01", named("Twin"))
		w.player("P01", named("Twin"))
		w.player("P02", named("Twin"))
		assert.Equal(t, "Twin", w.finish().Champion.DisplayName)
	})
}

func TestAMalformedRegistrationIsAnError(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.LeagueRegisterRequest)
		code   protocol.Code
		rpc    int
		field  string
	}{
		{"another protocol", func(q *protocol.LeagueRegisterRequest) { q.Protocol = "league.v1" }, protocol.ErrProtocolVersion, 18, "protocol"},
		{"no name", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "" }, protocol.ErrMissingField, -32602, "player_meta.display_name"},
		{"no conversation", func(q *protocol.LeagueRegisterRequest) { q.ConversationID = "" }, protocol.ErrMissingField, -32602, "conversation_id"},
		{"no games", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.GameTypes = nil }, protocol.ErrMissingField, -32602, "player_meta.game_types"},
		{"a local time", func(q *protocol.LeagueRegisterRequest) { q.Timestamp = "2000-01-01T00:00:00" }, protocol.ErrInvalidTimestamp, 21, "timestamp"},
		{"a name of 51 characters", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = strings.Repeat("é", 51) }, protocol.ErrInvalidFieldType, -32602, "player_meta.display_name"},
		{"a sender of no kind", func(q *protocol.LeagueRegisterRequest) { q.Sender = "alpha" }, protocol.ErrInvalidFieldType, -32602, "sender"},
		{"the protocol before what is missing", func(q *protocol.LeagueRegisterRequest) {
			q.Protocol, q.ConversationID = "league.v1", ""
		}, protocol.ErrProtocolVersion, 18, "conversation_id"},
		{"what is missing before the time", func(q *protocol.LeagueRegisterRequest) {
			q.Timestamp, q.ConversationID = "now", ""
		}, protocol.ErrMissingField, -32602, "timestamp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.listener("alpha")
				q := w.application("Alpha")
				test.change(q)
				_, err := w.apply(q)
				assertRefused(t, err, test.code, test.rpc)
				assert.Contains(t, fmt.Sprint(protocol.AsError(err).Context["fields"]), test.field, "all broken fields are listed")
				assert.Zero(t, w.manager.Status().Players)
			})
		})
	}
}

func TestARefereeOffersAtMostTenMatchesAtOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.listener("whistle")
		q := w.refereeApplication("Whistle")
		q.RefereeMeta.MaxConcurrentMatches = 11
		_, err := w.applyReferee(q)
		assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		q.RefereeMeta.MaxConcurrentMatches = 10
		r, err := w.applyReferee(q)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
	})
}
