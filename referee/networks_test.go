package referee_test

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
)

const networksToken = "tok-ref01-0123456789012345678901"

// networkAgents are a manager and two unreachable players. They record the networks of the
// calls to the manager and to the players.
type networkAgents struct {
	stamp *protocol.Stamp

	mu               sync.Mutex
	manager, players [][]netip.Prefix
}

func (a *networkAgents) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.HasPrefix(r.Endpoint, "http://p0") {
		a.players = append(a.players, r.Networks)
		return nil, nil, &transport.UnreachableError{Endpoint: r.Endpoint}
	}
	a.manager = append(a.manager, r.Networks)
	if q, ok := r.Params.(*protocol.RefereeRegisterRequest); ok {
		granted := &protocol.RefereeRegisterResponse{Envelope: a.stamp.Envelope(protocol.TypeRefereeRegisterResponse, q.ConversationID)}
		granted.AuthToken, granted.Status, granted.LeagueID, granted.ManagerAuth = networksToken, protocol.StatusAccepted, "cup", protocol.ManagerAuthBearer
		id := "REF01"
		granted.RefereeID = &id
		return granted, nil, nil
	}
	return &protocol.Ack{Status: protocol.StatusAccepted}, nil, nil
}

// A referee calls players in the networks of its own setting, else in those of the
// assignment, else in its usual ones. Its operator chose the manager, which may be anywhere.
func TestRefereeCallsPlayersInAllowedNetworks(t *testing.T) {
	own, told, usual := netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.0/8")
	for _, test := range []struct {
		name string
		own  []netip.Prefix
		told []string
		want []netip.Prefix
	}{
		{"of the assignment", nil, []string{"10.1.0.0/16"}, []netip.Prefix{told}},
		{"of its own setting", []netip.Prefix{own}, []string{"10.1.0.0/16"}, []netip.Prefix{own}},
		{"of its own setting, with a third-party manager", []netip.Prefix{own}, nil, []netip.Prefix{own}},
		{"its usual ones, with a third-party manager", nil, nil, []netip.Prefix{usual}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agents := &networkAgents{stamp: protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock())}
				r, err := referee.New(referee.Options{
					Options: membership.Options{
						Name: "Referee", ID: "REF01", Endpoint: "http://ref01", Manager: "http://manager", Caller: agents,
						Clock: protocol.SystemClock(), Log: zerolog.Nop(),
					},
					MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}), Networks: test.own, UsualNetworks: []netip.Prefix{usual},
				})
				require.NoError(t, err)
				defer r.Close()
				require.NoError(t, r.Register(t.Context()))
				mux := transport.NewMux(zerolog.Nop())
				r.Mount(mux)
				_, err = mux.Dispatch(t.Context(), protocol.KeyOf(networksToken).ManagerCredential("cup"), protocol.StartMatch.Name, &protocol.MatchAssignment{
					Envelope: agents.stamp.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation("R1M1", 1)),
					LeagueID: "cup", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: evenodd.Type,
					PlayerA:  protocol.AssignedPlayer{PlayerID: "P01", Endpoint: "http://p01", DisplayName: "One"},
					PlayerB:  protocol.AssignedPlayer{PlayerID: "P02", Endpoint: "http://p02", DisplayName: "Two"},
					Timeouts: protocol.DefaultTimeouts(), Scoring: protocol.Scoring{Win: 3, Draw: 1}, AllowedEndpoints: test.told,
				})
				require.NoError(t, err)
				synctest.Wait()
				agents.mu.Lock()
				defer agents.mu.Unlock()
				assert.GreaterOrEqual(t, len(agents.players), 4, "invitations and results")
				for _, networks := range agents.players {
					assert.Equal(t, test.want, networks)
				}
				assert.GreaterOrEqual(t, len(agents.manager), 2, "registration and report")
				for _, networks := range agents.manager {
					assert.Nil(t, networks)
				}
			})
		})
	}
}
