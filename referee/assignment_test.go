package referee_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/referee"
)

func TestAssignmentIsAcceptedImmediatelyAndOnce(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := w.Referee("REF01", leaguetest.WithCapacity(1), leaguetest.WithRandomSecrets)
		w.Player("P01", leaguetest.WithDelays(4*leaguetest.Second, 0, 0))
		w.Player("P02")
		w.Varies = true
		first, err := w.Assign(manager, r, w.Assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		assert.Zero(t, w.Now())
		assert.Equal(t, []any{protocol.StatusAccepted, "R1M1", 1, "REF01"}, []any{first.Status, first.MatchID, first.Attempt, first.RefereeID})
		w.WaitUntil(1 * leaguetest.Second)
		again := w.HandOver(manager, r, "R1M1", 1) // also at the limit of concurrent matches
		assert.Equal(t, first.DrawCommitment, again.DrawCommitment)
		w.WaitUntil(10 * leaguetest.Second)
		assert.Len(t, w.Calls(protocol.Invite.Name), 2)
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)

		claim := []byte(`{"auth_token":"` + w.AccessToken("P01", "R1M1", 1, "REF01") + `","match_id":"R1M1"}`)
		assert.Empty(t, r.Referee.Identify("", claim), "the access token of a match that is over")
	})
}

func TestFinishedMatchIsReportedAgainWhenAssignedAgain(t *testing.T) {
	for _, attempt := range []int{1, 2} {
		leaguetest.RunInMemory(t, fmt.Sprint("attempt ", attempt), func(t *testing.T, w *leaguetest.World) {
			manager := w.ScriptedManager()
			r := w.Referee("REF01")
			w.Players(2)
			w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(1 * leaguetest.Second)
			w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)

			w.HandOver(manager, r, "R1M1", attempt)
			w.WaitUntil(2 * leaguetest.Second)
			reports := w.Calls(protocol.ReportMatchResult.Name)
			require.Len(t, reports, 2)
			assert.JSONEq(t, string(reports[0].Message), string(reports[1].Message))
			assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
			assert.Equal(t, 1, r.Referee.Record().Conducted, "one match, regardless of the number of reports")
		})
	}
}

// The manager refuses a technical loss of an attempt if another referee may have begun a later one. When that one has
// failed too, it assigns another attempt.
func TestMatchWithAnOutdatedResultIsPlayedAgainInALaterAttempt(t *testing.T) {
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			outdated := leaguetest.RefuseWith(protocol.ErrInvalidMatchState)
			folder, manager, r := refereeWithFiles(w, leaguetest.InTurn(outdated, outdated, leaguetest.Normally))
			w.Players(2)
			w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(20 * leaguetest.Second)
			if restarts {
				r.StopReferee()
				r = w.RefereeWithFiles("REF01", folder)
			}
			ack := w.HandOver(manager, r, "R1M1", 1)
			assert.Equal(t, 1, ack.Attempt, "the same attempt is reported again")
			w.WaitUntil(30 * leaguetest.Second)
			ack = w.HandOver(manager, r, "R1M1", 3)
			assert.Equal(t, 3, ack.Attempt)
			w.WaitUntil(40 * leaguetest.Second)
			assert.Len(t, w.Calls(protocol.Invite.Name), 4)
			reports := w.Calls(protocol.ReportMatchResult.Name)
			require.Len(t, reports, 3)
			assert.Equal(t, 3, leaguetest.Decode[protocol.MatchResultReport](reports[2].Message).Attempt)
			assert.NoError(t, reports[2].Err)
		})
	}
}

// The manager refuses it if another referee got the match between the two attempts, which this referee cannot know.
func TestRefereeIsBusyForALaterAttemptUntilItsTechnicalLossIsDecided(t *testing.T) {
	for name, refused := range map[string]bool{"it counts": false, "it is refused": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			decision := leaguetest.Normally
			if refused {
				decision = leaguetest.RefuseWith(protocol.ErrInvalidMatchState)
			}
			manager := w.ScriptedManager(leaguetest.On(protocol.ReportMatchResult.Name,
				leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Delayed(leaguetest.Second, decision), leaguetest.Normally)))
			r := w.Referee("REF01")
			w.Player("P01", leaguetest.On(protocol.Invite.Name,
				leaguetest.FirstN(4, leaguetest.RefuseWith(protocol.ErrInvalidMatchState), leaguetest.Normally)))
			w.Player("P02")
			w.HandOver(manager, r, "R1M1", 1)
			w.WaitUntil(1 * leaguetest.Second)
			w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
			ack, err := w.Assign(manager, r, w.Assignment("R1M1", 3, "REF01"))
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusBusy+": reporting attempt 1 at the match first", ack.Status+": "+ack.Reason)
			w.WaitUntil(3 * leaguetest.Second)
			require.Len(t, w.Calls(protocol.ReportMatchResult.Name), 2, "at once, because the manager asks")
			attempt := 1
			if refused {
				attempt = 3
			}
			assert.Equal(t, attempt, w.HandOver(manager, r, "R1M1", 3).Attempt)
			w.WaitUntil(4 * leaguetest.Second)
			reports := w.Calls(protocol.ReportMatchResult.Name)
			require.Len(t, reports, 3)
			assert.Equal(t, attempt, leaguetest.Decode[protocol.MatchResultReport](reports[2].Message).Attempt)
		})
	}
}

func TestConcurrentReportsOfAMatchAreMerged(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager(leaguetest.On(protocol.ReportMatchResult.Name, leaguetest.FirstN(2, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally)))
		r := w.Referee("REF01")
		w.Players(2)
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(1 * leaguetest.Second) // the first report has failed
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(60 * leaguetest.Second)
		reports := w.Calls(protocol.ReportMatchResult.Name)
		require.Len(t, reports, 3)
		assert.Equal(t, 1*leaguetest.Second, reports[1].At, "at once, because the manager asks")
		assert.Greater(t, reports[2].At, 5*leaguetest.Second, "a pause of its own")
		assert.Equal(t, 1, r.Referee.Record().Conducted)
	})
}

func TestNewAttemptReplacesTheOldOne(t *testing.T) {
	leaguetest.RunInMemory(t, "without files", func(t *testing.T, w *leaguetest.World) {
		replaceAttempt(t, w, w.ScriptedManager(), w.Referee("REF01"))
	})
	leaguetest.RunInMemory(t, "with files", func(t *testing.T, w *leaguetest.World) {
		folder, manager, r := refereeWithFiles(w, leaguetest.Normally)
		first := replaceAttempt(t, w, manager, r)
		names := []string{leaguetest.FirstMatchFile, leaguetest.AttemptFile(1)}
		assert.ElementsMatch(t, names, leaguetest.MatchFiles(t, folder))
		assert.Equal(t, 2, leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).Attempt)
		doc := leaguetest.ReadMatchFile(t, folder, leaguetest.AttemptFile(1))
		assert.Equal(t, []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "ABANDONED"}, statesOf(doc))
		assert.Nil(t, doc.Result)
		assert.Equal(t, first.DrawCommitment, doc.Draw.Commitment)
		assert.NotEmpty(t, transcriptWith(doc, "P02"))
	})
}

// replaceAttempt assigns a match a second time while P01 is silent, and returns the first acknowledgement.
func replaceAttempt(
	t *testing.T, w *leaguetest.World, manager, r *leaguetest.Agent,
) (first *protocol.MatchAssignmentAck) {
	t.Helper()
	w.Player("P01", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
	w.Player("P02")
	first = w.HandOver(manager, r, "R1M1", 1)
	w.WaitUntil(1 * leaguetest.Second)
	ack := w.HandOver(manager, r, "R1M1", 2)
	assert.Equal(t, 2, ack.Attempt)
	commitment := protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 2, "REF01", w.Nonce("R1M1"))
	assert.Equal(t, commitment, ack.DrawCommitment)
	w.WaitUntil(60 * leaguetest.Second)
	report := w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
	assert.Equal(t, 1*leaguetest.Second, report.At)
	assert.Equal(t, 2, leaguetest.Decode[protocol.MatchResultReport](report.Message).Attempt)
	assert.Equal(t, "conv-r1m1-a2", leaguetest.Decode[protocol.Envelope](report.Message).ConversationID)
	assert.Empty(t, w.GameErrors(), "an abandoned attempt has no GAME_ERROR")
	old := w.HandOver(manager, r, "R1M1", 1)
	assert.Equal(t, ack.DrawCommitment, old.DrawCommitment, "the match is over, for any attempt")
	return first
}

func TestInvalidAssignmentIsRejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.MatchAssignment)
		bearer string // "" for the right one
		status string // of the acknowledgement, "" for an error
		code   protocol.Code
		rpc    int
	}{
		{name: "without the credential", bearer: "none", code: protocol.ErrTokenMissing, rpc: 3001},
		{name: "with another credential", bearer: "wrong", code: protocol.ErrTokenInvalid, rpc: 3001},
		{
			name: "another league", change: func(q *protocol.MatchAssignment) { q.LeagueID = "another" },
			code: protocol.ErrLeagueNotFound, rpc: 6003,
		},
		{
			name: "unknown game", change: func(q *protocol.MatchAssignment) { q.GameType = "chess" },
			status: protocol.StatusRejected,
		},
		{
			name: "a player at an endpoint that the referee does not call", status: protocol.StatusRejected,
			change: func(q *protocol.MatchAssignment) { q.PlayerB.Endpoint = "nats://$JS.API.STREAM.PURGE.x" },
		},
		{
			name: "without a match", change: func(q *protocol.MatchAssignment) { q.MatchID = "" },
			code: protocol.ErrMissingField, rpc: -32602,
		},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			manager := w.ScriptedManager()
			w.Unchecked[manager.Host] = true
			r := w.RefereeWith("REF01", nil, func(o *referee.Options) {
				o.CheckPlayer = func(_, endpoint string) error {
					if strings.HasPrefix(endpoint, protocol.NATSEndpoint("$JS")) {
						return errors.New("not the endpoint of an agent")
					}
					return nil
				}
			})
			require.NoError(t, r.Referee.Register(w.Context))
			w.Players(2)
			q := w.Assignment("R1M1", 1, "REF01")
			if test.change != nil {
				test.change(q)
			}
			bearer := map[string]string{"": w.ManagerCredential("REF01"), "none": "", "wrong": w.ManagerCredential("P01")}[test.bearer]
			ack, err := protocol.StartMatch.Call(w.Context, manager.Caller, protocol.Peer{Endpoint: leaguetest.EndpointOf(r.Host), Bearer: bearer}, q)
			if test.status == "" {
				leaguetest.AssertRefused(t, err, test.code, test.rpc)
			} else {
				require.NoError(t, err)
				assert.Equal(t, test.status, ack.Status)
				assert.NotEmpty(t, ack.Reason)
				assert.Empty(t, ack.DrawCommitment)
			}
			w.WaitUntil(60 * leaguetest.Second)
			assert.Empty(t, w.Calls(protocol.Invite.Name))
		})
	}
}

func TestRefereeIsBusyAtItsCapacity(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := w.Referee("REF01", leaguetest.WithCapacity(2))
		w.Player("P01", leaguetest.WithDelays(4*leaguetest.Second, 0, 0))
		w.Player("P02")
		status := func(matchID string) string {
			ack, err := w.Assign(manager, r, w.Assignment(matchID, 1, "REF01"))
			require.NoError(t, err)
			return ack.Status
		}
		assert.Equal(t, protocol.StatusAccepted, status("R1M1"))
		assert.Equal(t, protocol.StatusAccepted, status("R1M2"))
		assert.Equal(t, protocol.StatusBusy, status("R1M3"))
		w.WaitUntil(5 * leaguetest.Second)
		assert.Equal(t, protocol.StatusAccepted, status("R1M3"), "one match is over")
		w.WaitUntil(10 * leaguetest.Second)
		assert.Equal(t, 3, r.Referee.Record().Conducted)
	})
}

func TestUnregisteredRefereeRejectsAssignments(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := w.NewReferee("REF01")
		_, err := w.Assign(manager, r, w.Assignment("R1M1", 1, "REF01"))
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
	})
}

func TestMatchStateNeedsATokenAndHidesChoices(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"), leaguetest.WithDelays(1*leaguetest.Second, 4*leaguetest.Second, 1*leaguetest.Second))
		w.Player("P02", leaguetest.WithStrategy("odd"))
		state := func(matchID, token, bearer string) (*protocol.MatchState, error) {
			q := &protocol.ToolRequest{MatchID: matchID}
			q.AuthToken = token
			return protocol.GetMatchState.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(r.Host), Bearer: bearer}, q)
		}
		own := w.Token("REF01")
		_, err := state("R1M1", own, "")
		leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		w.HandOver(manager, r, "R1M1", 1)

		_, err = state("R1M1", "", "")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = state("R1M1", w.Token("P01"), "")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

		for _, moment := range []struct {
			at    time.Duration
			state string
		}{
			{500 * time.Millisecond, "WAITING_FOR_PLAYERS"},
			{4 * leaguetest.Second, "COLLECTING_CHOICES"},
			{5500 * time.Millisecond, "FINISHED"},
		} {
			w.WaitUntil(moment.at)
			for name, ask := range map[string]func() (*protocol.MatchState, error){
				"its own token":            func() (*protocol.MatchState, error) { return state("R1M1", own, "") },
				"the manager's credential": func() (*protocol.MatchState, error) { return state("R1M1", "", w.ManagerCredential("REF01")) },
			} {
				s, err := ask()
				require.NoError(t, err, name)
				assert.Equal(t, moment.state, s.State)
				assert.Equal(t, []string{"P01", "P02"}, []string{s.PlayerAID, s.PlayerBID})
				assert.Equal(t, 1, s.Attempt)
				if moment.state != "FINISHED" {
					assert.Nil(t, s.GameResult, "choices are secret until the end")
					assert.Nil(t, s.Draw)
					continue
				}
				assert.Equal(t, w.GameOver("p01").GameResult, s.GameResult)
				assert.Equal(t, w.GameOver("p01").Draw, s.Draw)
			}
		}
	})
}
