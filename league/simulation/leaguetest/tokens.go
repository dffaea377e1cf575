package leaguetest

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A LogBuffer is a buffer for concurrent writers.
type LogBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *LogBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// AllTokens returns all tokens of a league of four players and two referees, by
// description.
func (w *World) AllTokens() map[string]string {
	tokens := map[string]string{"the admin token": w.Manager.AdminToken()}
	referees := []string{"REF01", "REF02"}
	for _, id := range append([]string{"P01", "P02", "P03", "P04"}, referees...) {
		tokens["the token of "+id] = w.Token(id)
		tokens["the credential for "+id] = w.ManagerCredential(id)
	}
	for _, r := range Results(w.Manager) {
		for _, id := range []string{r.PlayerAID, r.PlayerBID} {
			for attempt := 1; attempt <= 2; attempt++ {
				for _, referee := range referees {
					tokens["access to "+id+" in "+r.MatchID+" for "+referee] = w.AccessToken(id, r.MatchID, attempt, referee)
				}
			}
		}
	}
	return tokens
}

// AssertNoTokenLeaked checks that no answer to the untrusted caller contains a token.
func (w *World) AssertNoTokenLeaked(ids ...string) {
	w.T.Helper()
	for _, e := range w.Recorder.All(func(e *Exchange) bool { return e.From == "untrusted" }) {
		told := string(e.Answer)
		if failure := e.ProtocolError(); failure != nil {
			told += failure.Error() + fmt.Sprint(failure.Context)
		}
		for _, id := range ids {
			assert.NotContains(w.T, told, w.Token(id), e.Method)
			assert.NotContains(w.T, told, w.ManagerCredential(id), e.Method)
			for attempt := 1; attempt <= 2; attempt++ {
				assert.NotContains(w.T, told, w.AccessToken(id, "R1M1", attempt, "REF01"), e.Method)
			}
		}
	}
}

// ManagerCalls returns all calls of a manager to a player. The end of the league must come
// last.
func (w *World) ManagerCalls(to *Agent, bearer string) map[string]func() error {
	peer := protocol.Peer{Endpoint: EndpointOf(to.Host), Bearer: bearer}
	envelope := func(messageType string) protocol.Envelope {
		return protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(messageType, "conv-manager")
	}
	rows := []protocol.StandingRow{{Rank: 1, PlayerID: "P01", DisplayName: "Agent P01", Played: 1, Wins: 1, Points: 3}}
	return map[string]func() error{
		"notify_round": calling(w, &protocol.NotifyRound, peer, &protocol.RoundAnnouncement{
			Envelope: envelope(protocol.TypeRoundAnnouncement), LeagueID: LeagueID, RoundID: 1,
			Matches: []protocol.AnnouncedMatch{{
				MatchID: "R1M1", GameType: "even_odd", PlayerAID: "P01", PlayerBID: "P02", RefereeEndpoint: EndpointOf("ref01"),
			}},
		}),
		"update_standings": calling(w, &protocol.UpdateStandings, peer, &protocol.StandingsUpdate{
			Envelope: envelope(protocol.TypeStandingsUpdate), LeagueID: LeagueID, RoundID: 1, Standings: rows,
		}),
		"notify_round_completed": calling(w, &protocol.NotifyRoundCompleted, peer, &protocol.RoundCompleted{
			Envelope: envelope(protocol.TypeRoundCompleted), LeagueID: LeagueID, RoundID: 1,
		}),
		"notify_league_completed": calling(w, &protocol.NotifyLeagueCompleted, peer, &protocol.LeagueCompleted{
			Envelope: envelope(protocol.TypeLeagueCompleted), LeagueID: LeagueID, TotalRounds: 1, TotalMatches: 1,
			Champion: league.Champion{PlayerID: "P01", DisplayName: "Agent P01", Points: 3}, FinalStandings: protocol.FinalRows(rows),
		}),
	}
}

// calling returns a function that sends a message and returns the error of the call.
func calling[Q, A any](w *World, method *protocol.Method[Q, A], to protocol.Peer, message *Q) func() error {
	return func() error {
		_, err := method.Call(w.Context, w.Untrusted, to, message)
		return err
	}
}

func IsClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
