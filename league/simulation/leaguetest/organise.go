package leaguetest

import (
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// A Command changes the request of an organiser's command.
type Command func(*protocol.OrganiseRequest)

func About(agentID string) Command { return func(q *protocol.OrganiseRequest) { q.AgentID = agentID } }
func OfMatch(matchID string) Command {
	return func(q *protocol.OrganiseRequest) { q.MatchID = matchID }
}
func Winner(winner string) Command { return func(q *protocol.OrganiseRequest) { q.Winner = winner } }
func StartAt(at time.Time) Command {
	return func(q *protocol.OrganiseRequest) { q.StartAt = protocol.FormatTimestamp(at) }
}

// TryToOrganise calls organise_league with the admin token.
func (w *World) TryToOrganise(command string, change ...Command) (*protocol.Organised, error) {
	q := &protocol.OrganiseRequest{LeagueID: LeagueID, Command: command, By: "A. Smith", Reason: "so decided"}
	q.AuthToken = protocol.AdminToken(protocol.ManagerKeysOf(w.Secret).Admin, LeagueID)
	for _, set := range change {
		set(q)
	}
	return protocol.OrganiseLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

// Organise is TryToOrganise for a command that is possible. It waits until all agents are idle.
func (w *World) Organise(command string, change ...Command) *protocol.Organised {
	w.T.Helper()
	done, err := w.TryToOrganise(command, change...)
	require.NoError(w.T, err)
	synctest.Wait()
	return done
}
