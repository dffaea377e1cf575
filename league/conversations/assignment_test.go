package conversations

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// assertRefused checks the error that another agent answered with.
func assertRefused(t *testing.T, err error, code protocol.Code, rpc int) {
	t.Helper()
	e := protocol.AsError(err)
	if assert.NotNil(t, e, "an error was expected, got %v", err) {
		assert.Equal(t, code, e.Code, e.Error())
		assert.Equal(t, rpc, e.RPC, e.Error())
	}
}

func TestAnAssignmentIsAcceptedAtOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.referee("REF01")
		w.player("P01", slow(4*second, 0, 0))
		w.player("P02")
		ack, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		assert.Zero(t, w.now())
		assert.Equal(t, protocol.StatusAccepted, ack.Status)
		assert.Equal(t, "R1M1", ack.MatchID)
		assert.Equal(t, 1, ack.Attempt)
		assert.Equal(t, "REF01", ack.RefereeID)
		assert.Equal(t, protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", w.nonce("R1M1")), ack.DrawCommitment)
	})
}

func TestTheSameAssignmentTwiceIsOneMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.referee("REF01", capacity(1), byChance)
		w.player("P01", slow(4*second, 0, 0))
		w.player("P02")
		w.varies = true
		first, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		w.at(1 * second)
		again, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, again.Status, "also with no room for another match")
		assert.Equal(t, first.DrawCommitment, again.DrawCommitment)
		w.at(10 * second)
		assert.Len(t, w.said(protocol.Invite.Name), 2)
		w.only(protocol.ReportMatchResult.Name, theBoss)
	})
}

func TestAFinishedMatchHandedOverAgainIsReportedAgain(t *testing.T) {
	for _, attempt := range []int{1, 2} {
		t.Run(fmt.Sprint("attempt ", attempt), func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				boss := w.boss()
				r := w.referee("REF01")
				w.players(2)
				_, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
				require.NoError(t, err)
				w.at(1 * second)
				w.only(protocol.ReportMatchResult.Name, theBoss)

				ack, err := w.assign(boss, r, w.assignment("R1M1", attempt, "REF01"))
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusAccepted, ack.Status)
				w.at(2 * second)
				reports := w.said(protocol.ReportMatchResult.Name)
				require.Len(t, reports, 2)
				assert.JSONEq(t, string(reports[0].message), string(reports[1].message))
				assert.Len(t, w.said(protocol.Invite.Name), 2, "it is not played again")
				assert.Equal(t, 1, r.referee.Record().Conducted, "one match, however often reported")
			})
		})
	}
}

func TestAFinishedMatchIsReportedByOneAtATime(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss(does(protocol.ReportMatchResult.Name, nTimes(2, failing(errHangUp), honestly)))
		r := w.referee("REF01")
		w.players(2)
		_, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		w.at(1 * second) // the report has failed once, and waits
		_, err = w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		w.at(60 * second)
		assert.Len(t, w.said(protocol.ReportMatchResult.Name), 3)
		assert.Equal(t, 1, r.referee.Record().Conducted)
	})
}

func TestANewAttemptTakesThePlaceOfTheOld(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.referee("REF01")
		w.player("P01", does(protocol.Invite.Name, inTurn(silent, honestly)))
		w.player("P02")
		_, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		w.at(1 * second)
		ack, err := w.assign(boss, r, w.assignment("R1M1", 2, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, 2, ack.Attempt)
		assert.Equal(t, protocol.DrawCommitment(leagueID, "R1M1", 2, "REF01", w.nonce("R1M1")), ack.DrawCommitment)
		w.at(60 * second)
		report := w.only(protocol.ReportMatchResult.Name, theBoss)
		assert.Equal(t, 1*second, report.at)
		assert.Equal(t, 2, read[protocol.MatchResultReport](report.message).Attempt)
		assert.Equal(t, "conv-r1m1-a2", read[protocol.Envelope](report.message).ConversationID)
		assert.Empty(t, w.complaints(), "nobody is blamed for an attempt that was given up")

		old, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)
		assert.Equal(t, ack.DrawCommitment, old.DrawCommitment, "the match is over, whatever the attempt")
	})
}

func TestAnAssignmentIsTurnedDown(t *testing.T) {
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
			name: "of another league", change: func(q *protocol.MatchAssignment) { q.LeagueID = "another" },
			code: protocol.ErrLeagueNotFound, rpc: 6003,
		},
		{
			name: "of a game it does not know", change: func(q *protocol.MatchAssignment) { q.GameType = "chess" },
			status: protocol.StatusRejected,
		},
		{
			name: "without a match", change: func(q *protocol.MatchAssignment) { q.MatchID = "" },
			code: protocol.ErrMissingField, rpc: -32602,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				boss := w.boss()
				w.unchecked[boss.host] = true
				r := w.referee("REF01")
				w.players(2)
				q := w.assignment("R1M1", 1, "REF01")
				if test.change != nil {
					test.change(q)
				}
				bearer := map[string]string{"": w.credential("REF01"), "none": "", "wrong": w.credential("P01")}[test.bearer]
				ack, err := protocol.StartMatch.Call(w.life, boss.caller, protocol.Peer{Endpoint: endpointOf(r.host), Bearer: bearer}, q)
				if test.status == "" {
					assertRefused(t, err, test.code, test.rpc)
				} else {
					require.NoError(t, err)
					assert.Equal(t, test.status, ack.Status)
					assert.NotEmpty(t, ack.Reason)
					assert.Empty(t, ack.DrawCommitment)
				}
				w.at(60 * second)
				assert.Empty(t, w.said(protocol.Invite.Name))
			})
		})
	}
}

func TestARefereeIsBusyAtItsLimit(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.referee("REF01", capacity(2))
		w.player("P01", slow(4*second, 0, 0))
		w.player("P02")
		status := func(matchID string) string {
			ack, err := w.assign(boss, r, w.assignment(matchID, 1, "REF01"))
			require.NoError(t, err)
			return ack.Status
		}
		assert.Equal(t, protocol.StatusAccepted, status("R1M1"))
		assert.Equal(t, protocol.StatusAccepted, status("R1M2"))
		assert.Equal(t, protocol.StatusBusy, status("R1M3"))
		w.at(5 * second)
		assert.Equal(t, protocol.StatusAccepted, status("R1M3"), "there is room again")
		w.at(10 * second)
		assert.Equal(t, 3, r.referee.Record().Conducted)
	})
}

func TestAnUnregisteredRefereeTakesNoMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.newReferee("REF01")
		_, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
	})
}

func TestTheStateOfAMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.referee("REF01")
		w.player("P01", choosing("even"), slow(1*second, 4*second, 1*second))
		w.player("P02", choosing("odd"))
		state := func(matchID, token, bearer string) (*protocol.MatchState, error) {
			q := &protocol.ToolRequest{MatchID: matchID}
			q.AuthToken = token
			return protocol.GetMatchState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(r.host), Bearer: bearer}, q)
		}
		own := w.token("REF01")
		_, err := state("R1M1", own, "")
		assertRefused(t, err, protocol.ErrMatchNotFound, 4003)
		_, err = w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
		require.NoError(t, err)

		_, err = state("R1M1", "", "")
		assertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = state("R1M1", w.token("P01"), "")
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)

		for _, moment := range []struct {
			at    time.Duration
			state string
		}{
			{500 * time.Millisecond, "WAITING_FOR_PLAYERS"},
			{4 * second, "COLLECTING_CHOICES"},
			{5500 * time.Millisecond, "FINISHED"},
		} {
			w.at(moment.at)
			for name, ask := range map[string]func() (*protocol.MatchState, error){
				"its own token":            func() (*protocol.MatchState, error) { return state("R1M1", own, "") },
				"the manager's credential": func() (*protocol.MatchState, error) { return state("R1M1", "", w.credential("REF01")) },
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
				assert.Equal(t, w.gameOver("p01").GameResult, s.GameResult)
				assert.Equal(t, w.gameOver("p01").Draw, s.Draw)
			}
		}
	})
}
