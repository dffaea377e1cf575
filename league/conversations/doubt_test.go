package conversations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/audit"
	"evenodd/league/protocol"
)

// contradictory is a report of R1M1 whose winner is not the one that its choices
// and its number make: P01 chose even, P02 odd, and 8 was drawn.
func (w *world) contradictory(refereeID string) *protocol.MatchResultReport {
	q := w.wins(refereeID)
	other := "P02"
	q.Result.Winner = &other
	return q
}

// After three reports that contradict themselves, another referee gets the match.
func TestThreeContradictoryReportsCostTheMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.at(second)
		for range 3 {
			_, err := w.report(w.contradictory("REF01"))
			assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			assert.Contains(t, protocol.AsError(err).Detail, "result.winner: by the rules of even_odd it is P01")
		}
		x.finish()
		assert.Equal(t, second, w.said(protocol.StartMatch.Name, "ref02")[0].at, "at once")
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		require.Len(t, state.Matches[0].Doubts, 1)
		assert.Equal(t, "REF01", state.Matches[0].Doubts[0].RefereeID)
		audited := w.auditOf(folder)
		assert.Empty(t, audited.Findings, "the result is that of the other referee")
		assert.Contains(t, rulesOf(audited.Notes), audit.RuleDoubt)
	})
}

func rulesOf(findings []audit.Finding) (names []string) {
	for _, f := range findings {
		names = append(names, f.Rule)
	}
	return names
}

// A referee that falls silent after a contradictory report loses the match ten
// seconds later.
func TestContradictoryReportFollowedBySilence(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.at(second)
		_, err := w.report(w.contradictory("REF01"))
		require.Error(t, err)
		w.finish()
		assert.Equal(t, 11*second, w.said(protocol.StartMatch.Name, "ref02")[0].at)
		assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
	})
}

// A better report that follows in time counts.
func TestCorrectedReportCounts(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02", w.idle())
		w.players(2)
		w.at(second)
		_, err := w.report(w.contradictory("REF01"))
		require.Error(t, err)
		w.at(9 * second)
		_, err = w.report(w.wins("REF01"))
		require.NoError(t, err)
		w.finish()
		assert.Equal(t, "P01", w.manager.Results()[0].Winner)
		assert.Empty(t, w.said(protocol.StartMatch.Name, "ref02"))
	})
}

// Where no other referee is left, the match ends by what the report says, and
// the audit finds it.
func TestContradictoryReportOfTheOnlyReferee(t *testing.T) {
	maybe, eleven, stranger := "maybe", 11, "P77"
	for _, test := range []struct {
		name   string
		change func(q *protocol.MatchResultReport)
		code   protocol.Code
		want   string // status, winner, and choice of P01 that are recorded
	}{
		{"another winner", func(q *protocol.MatchResultReport) {}, protocol.ErrInvalidFieldType, "WIN P01 even"},
		{"a number that is never drawn", func(q *protocol.MatchResultReport) { q.Result.Details.DrawnNumber = &eleven }, protocol.ErrInvalidFieldType, "WIN P02 even"},
		{"a choice that the rules do not allow", func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &maybe, "P02", &maybe)
		}, protocol.ErrInvalidParityChoice, "WIN P02 "},
		{"a winner that does not play", func(q *protocol.MatchResultReport) { q.Result.Winner = &stranger }, protocol.ErrInvalidFieldType, "WIN P01 even"},
		{"a winner of a draw", func(q *protocol.MatchResultReport) {
			q.Result.Details.Status, q.Result.Details.DrawnNumber = protocol.StatusDraw, nil
		}, protocol.ErrInvalidFieldType, "WIN P02 even"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 2, 1)
				w.referee("REF01", w.idle())
				w.players(2)
				w.at(second)
				for range 3 {
					q := w.contradictory("REF01")
					test.change(q)
					_, err := w.report(q)
					require.Error(t, err)
					assert.Equal(t, test.code, protocol.AsError(err).Code)
				}
				x.finish()
				r := x.manager.Results()[0]
				assert.Equal(t, test.want, r.Status+" "+r.Winner+" "+r.ChoiceA)
				require.NoError(t, x.close())
				w.checkKept(folder)
				assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
			})
		})
	}
}

// doubleLoss is the report that both players of R1M1 failed.
func (w *world) doubleLoss(refereeID string) *protocol.MatchResultReport {
	q := w.verdict(refereeID, "R1M1", nil, "P01", "P02", 0, 0)
	q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
	return q
}

// A third-party referee that blames both players, although both answer, has
// perhaps never asked them: another referee gets the match.
func TestDoubleTechnicalLossOfPlayersThatAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.outsider("REF01", w.accepting)
		w.referee("REF02")
		w.players(2, slow(second, second, 0))
		w.at(second)
		pings := w.often(protocol.Ping.Name, "p01")
		for range 2 {
			_, err := w.report(w.doubleLoss("REF01"))
			assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		}
		assert.Equal(t, pings+1, w.often(protocol.Ping.Name, "p01"), "once for the match")
		x.finish()
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
		assert.NotEqual(t, protocol.StatusTechnicalLoss, x.manager.Results()[0].Status)
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		assert.Equal(t, "it says that P01 and P02 both failed, but both answer", state.Matches[0].Doubts[0].Reason)
		assert.Empty(t, w.auditOf(folder).Findings)
	})
}

func TestDoubleTechnicalLossOfTheOnlyReferee(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.outsider("REF01", w.accepting)
		w.players(2)
		w.at(second)
		_, err := w.report(w.doubleLoss("REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		x.finish()
		assert.Equal(t, protocol.StatusTechnicalLoss, x.manager.Results()[0].Status)
		_, err = w.report(w.doubleLoss("REF01"))
		require.NoError(t, err, "it is the recorded result now")
		require.NoError(t, x.close())
		w.checkKept(folder)
		assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
	})
}

// A double loss is believed when a player is gone, and from referees that prove
// themselves to the players.
func TestDoubleTechnicalLossThatIsBelieved(t *testing.T) {
	for _, test := range []struct {
		name string
		gone bool
		ours bool
	}{{"a player is gone", true, false}, {"a referee of ours", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1)
				if test.ours {
					w.referee("REF01", w.idle())
				} else {
					w.outsider("REF01", w.accepting)
				}
				players := w.players(2)
				w.at(second)
				if test.gone {
					players[1].stop()
				}
				_, err := w.report(w.doubleLoss("REF01"))
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusTechnicalLoss, w.manager.Results()[0].Status)
				assert.Less(t, w.now(), 4*time.Second)
			})
		})
	}
}
