package leaguetest

import (
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// Application is a registration of a player that the manager accepts.
func (w *World) Application(name string) *protocol.LeagueRegisterRequest {
	host := strings.ToLower(name)
	return &protocol.LeagueRegisterRequest{
		Envelope: protocol.NewStamp(protocol.PlayerSender(host), w.Clock).
			Envelope(protocol.TypeLeagueRegisterRequest, "conv-"+host),
		PlayerMeta: protocol.PlayerMeta{
			AgentMeta: protocol.AgentMeta{DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{evenodd.Type}, ContactEndpoint: EndpointOf(host)},
		},
	}
}

// RefereeApplication is a registration of a referee that the manager accepts.
func (w *World) RefereeApplication(name string) *protocol.RefereeRegisterRequest {
	host := strings.ToLower(name)
	return &protocol.RefereeRegisterRequest{
		Envelope: protocol.NewStamp(protocol.RefereeSender(host), w.Clock).
			Envelope(protocol.TypeRefereeRegisterRequest, "conv-"+host),
		RefereeMeta: protocol.RefereeMeta{
			AgentMeta:            protocol.AgentMeta{DisplayName: name, Version: "1.0.0", ProtocolVersion: protocol.Version, GameTypes: []string{evenodd.Type}, ContactEndpoint: EndpointOf(host)},
			MaxConcurrentMatches: 1,
		},
	}
}

// PingOnly starts an agent that answers ping and nothing else.
func (w *World) PingOnly(host string) *Agent {
	a := NewAgent(host, nil)
	a.Script = Script{protocol.Ping.Name: AnswerWith(map[string]string{"message_type": "PONG", "status": "ok"})}
	w.Open(a, w.ScriptMux(a.Script))
	return a
}

func (w *World) ManagerPeer() protocol.Peer { return protocol.Peer{Endpoint: EndpointOf(ManagerHost)} }

func (w *World) Apply(q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	return protocol.RegisterPlayer.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

func (w *World) ApplyReferee(q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	return protocol.RegisterReferee.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

// RunAt calls do at a time of the World.
func (w *World) RunAt(moment time.Duration, do func()) {
	w.Background.Go(func() {
		time.Sleep(moment - w.Now())
		do()
	})
}
