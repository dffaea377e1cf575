package conversations

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// atOnce is the most matches that were in the hands of the given referees at
// the same time: from start_match to the report.
func (w *world) atOnce(referees ...string) int {
	type span struct{ from, to time.Duration }
	var spans []span
	reported := map[string]time.Duration{}
	for _, e := range w.said(protocol.ReportMatchResult.Name) {
		reported[read[protocol.MatchResultReport](e.message).MatchID] = e.at
	}
	for _, e := range w.said(protocol.StartMatch.Name, referees...) {
		spans = append(spans, span{e.at, reported[read[protocol.MatchAssignment](e.message).MatchID]})
	}
	most := 0
	for _, one := range spans {
		n := 0
		for _, other := range spans {
			if other.from <= one.from && one.from < other.to {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestNoMoreMatchesAtOnceThanAllowed(t *testing.T) {
	for _, test := range []struct {
		name        string
		concurrency int // of the league
		first       int // what REF01 can do
		second      int // what REF02 can do
		most        [3]int
		took        int // seconds: a match takes one
	}{
		{"what two referees can do", 0, 1, 1, [3]int{1, 1, 2}, 10},
		{"what two unequal referees can do", 0, 1, 2, [3]int{1, 2, 3}, 5},
		{"what the league allows", 1, 3, 3, [3]int{1, 1, 1}, 15},
		{"as many as there are", 0, 10, 10, [3]int{2, 2, 3}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(6, 2, func(o *league.Options) { o.Concurrency = test.concurrency })
				w.referee("REF01", capacity(test.first))
				w.referee("REF02", capacity(test.second))
				w.evens(6)
				w.finish()
				assert.Equal(t, test.most[0], w.atOnce("ref01"))
				assert.Equal(t, test.most[1], w.atOnce("ref02"))
				assert.Equal(t, test.most[2], w.atOnce())
				assert.Equal(t, test.took, int(w.now()/second))
			})
		})
	}
}

// answering takes no match, and says so.
func answering(status string) part {
	return func(c *call) (jsontext.Value, error) {
		q := read[protocol.MatchAssignment](c.message)
		e := q.Envelope
		e.MessageType, e.AuthToken = protocol.TypeMatchAssignmentAck, ""
		return written(protocol.MatchAssignmentAck{
			Envelope: e, Status: status, MatchID: q.MatchID, Attempt: q.Attempt, Reason: "not now",
		}), nil
	}
}

// assignments are the calls of start_match as "ref01 a1 0s".
func (w *world) assignments() []string {
	var list []string
	for _, e := range w.said(protocol.StartMatch.Name) {
		q := read[protocol.MatchAssignment](e.message)
		assert.Equal(w.t, protocol.MatchConversation(q.MatchID, q.Attempt), q.ConversationID)
		for _, seat := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
			id := map[string]string{"ref01": "REF01", "ref02": "REF02", "ref03": "REF03"}[e.to]
			assert.Equal(w.t, w.access(seat.PlayerID, q.MatchID, q.Attempt, id), seat.AccessToken)
		}
		list = append(list, q.MatchID+" "+e.to+" attempt "+string(rune('0'+q.Attempt))+" at "+e.at.String())
	}
	return list
}

// A referee that was busy, and then takes the match, may report before the manager has
// heard that it does.
func TestAReportThatIsFasterThanASecondAnswer(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01", does(protocol.StartMatch.Name, inTurn(saying(protocol.MatchAssignmentAck{Status: protocol.StatusBusy}), after(second, w.accepting))))
		w.players(2)
		w.at(2500 * time.Millisecond)
		require.Equal(t, 2, w.often(protocol.StartMatch.Name))
		_, err := w.report(w.wins("REF01"))
		require.NoError(t, err)
		w.finish()
	})
}

func TestAMatchThatARefereeDoesNotTake(t *testing.T) {
	start := protocol.StartMatch.Name
	for _, test := range []struct {
		name     string
		first    []trait // of REF01, to whom the match belongs
		second   []trait // of REF02; nil when there is none
		assigned []string
		attempt  int
		referee  string
	}{
		{
			"it is busy: another takes it", with(does(start, answering(protocol.StatusBusy))), with(capacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s"}, 2, "REF02",
		},
		{
			"it refuses: another takes it", with(does(start, answering(protocol.StatusRejected))), with(capacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s"}, 2, "REF02",
		},
		{
			"it is gone: another takes it, as a new attempt", with(does(start, failing(errHangUp))), with(capacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s"}, 2, "REF02",
		},
		{
			"it hangs: another takes it after 10 s, as a new attempt", with(does(start, silent)), with(capacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 10s"}, 2, "REF02",
		},
		{
			"it answers with an error: another takes it, as a new attempt",
			with(does(start, refusing(protocol.ErrInvalidMatchState))), with(capacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s"}, 2, "REF02",
		},
		{
			"it is the only one, and busy twice: it is asked again every 2 s",
			with(does(start, nTimes(2, answering(protocol.StatusBusy), honestly))), nil,
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 2s", "R1M1 ref01 attempt 1 at 4s"}, 1, "REF01",
		},
		{
			"it is the only one, and away twice",
			with(does(start, nTimes(2, failing(errHangUp), honestly))), nil,
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 2 at 2s", "R1M1 ref01 attempt 3 at 4s"}, 3, "REF01",
		},
		{
			"both are busy once: they are asked in turn",
			with(does(start, inTurn(answering(protocol.StatusBusy), honestly))),
			with(capacity(1), does(start, inTurn(answering(protocol.StatusBusy), honestly))),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s", "R1M1 ref01 attempt 1 at 2s"}, 1, "REF01",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				referees := 1
				if test.second != nil {
					referees = 2
				}
				w.startManager(2, referees)
				w.referee("REF01", test.first...)
				if test.second != nil {
					w.referee("REF02", test.second...)
				}
				w.players(2)
				w.finish()
				assert.Equal(t, test.assigned, w.assignments())
				assert.Equal(t, test.referee, w.manager.Results()[0].RefereeID)
				report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
				assert.Equal(t, test.attempt, report.Attempt)
				assert.Empty(t, w.complaints(), "the players know any referee that the manager sends")
			})
		})
	}
}

// longestMatch is how long the manager waits for a report: 26 s for the
// invitation, 126 s for the choice, 5 s for the end, 40 s for the report, and
// 30 s more.
const longestMatch = 227 * second

func TestAMatchThatNobodyReports(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.finish()
		assert.Equal(t, longestMatch, w.now())
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 3m47s"}, w.assignments())
		assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
	})
}

func TestALateReportOfTheFirstReferee(t *testing.T) {
	for _, test := range []struct {
		name  string
		order []string
	}{
		{"after that of the second it comes too late", []string{"REF02", "REF01"}},
		{"before that of the second it counts", []string{"REF01", "REF02"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(4, 3)
				for n := range 3 {
					w.referee(protocol.RefereeID(n+1), w.idle())
				}
				w.players(4)
				w.at(longestMatch + second)
				require.ElementsMatch(t, []string{
					"R1M1 ref01 attempt 1 at 0s", "R1M2 ref02 attempt 1 at 0s",
					"R1M1 ref02 attempt 2 at 3m47s", "R1M2 ref03 attempt 2 at 3m47s",
				}, w.assignments())
				_, err := w.report(w.wins("REF03"))
				assertRefused(t, err, protocol.ErrMatchNotFound, 5002)
				_, err = w.report(w.wins(test.order[0]))
				require.NoError(t, err)
				other := w.wins(test.order[1])
				number := 6
				other.Result.Details.DrawnNumber = &number
				_, err = w.report(other)
				assertRefused(t, err, protocol.ErrDuplicateReport, 5003)
				assert.Equal(t, 1, w.manager.Status().Recorded)
				assert.Equal(t, test.order[0], w.manager.Results()[0].RefereeID)
				assert.Equal(t, 8, w.manager.Results()[0].Number)
			})
		})
	}
}

func TestAMatchIsOverWithTheFirstReportEvenWhileItIsHandedOver(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", does(protocol.StartMatch.Name, func(c *call) (jsontext.Value, error) {
			if _, err := w.report(w.wins("REF01")); err != nil { // inside the assignment
				return nil, err
			}
			return silent(c)
		}))
		w.referee("REF02")
		w.players(2)
		w.finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s"}, w.assignments())
		assert.Equal(t, "P01", w.manager.Results()[0].Winner)
	})
}
