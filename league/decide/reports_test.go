package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

func reportJudge() *decide.ReportJudge {
	return &decide.ReportJudge{LeagueID: leagueID, GameType: "even_odd", Game: evenodd.Game{}}
}

// judge reads, proves and judges a report.
func judge(s *journal.State, q *protocol.MatchResultReport, refereeID string, pings decide.Pings) (v decide.Judgement) {
	c, err := reportJudge().Read(s, q, refereeID, startHash)
	if err != nil {
		v.Err = err
		return v
	}
	reportJudge().Prove(&c)
	return reportJudge().Judge(s, c, pings)
}

// startHash is the hash of the event that started the league.
const startHash = "5555555555555555555555555555555555555555555555555555555555555555"

// report is a report of the first match: P01 chose even, P02 odd, and the number 8 makes
// P01 the winner.
func report(change ...func(*protocol.MatchResultReport)) *protocol.MatchResultReport {
	q := &protocol.MatchResultReport{
		LeagueID: leagueID, RoundID: 1, MatchID: "R1M1", Attempt: 1,
		Result: resultOf(league.Result{
			WinnerPlayerID: new("P01"), Status: league.StatusWin, DrawnNumber: new(8),
			Choices: league.Both("P01", new("even"), "P02", new("odd")),
		}),
	}
	for _, c := range change {
		c(q)
	}
	return q
}

func resultOf(r league.Result) protocol.ReportedResult { return protocol.ReportedResult{Result: r} }

// winnerOnly makes a report one without details.
func winnerOnly(q *protocol.MatchResultReport) {
	q.Result = resultOf(league.Result{WinnerPlayerID: q.Result.WinnerPlayerID})
}

func doubleLoss(q *protocol.MatchResultReport) {
	q.Result = resultOf(league.Result{Status: league.StatusTechnicalLoss})
}

func winner(id *string) func(*protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) { q.Result.WinnerPlayerID = id }
}

func TestVerdictOnAReport(t *testing.T) {
	assigned := func(id string) journal.Data { return &journal.MatchAssigned{Attempt: attempt(1), RefereeID: id} }
	own, thirdParty := []journal.Data{announced(), assigned("REF01")}, []journal.Data{announced(), assigned("REF02")}
	commitment := append(own[:2:2], &journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01", DrawCommitment: "promised"})
	second := func(id string) journal.Data { return &journal.MatchAssigned{Attempt: attempt(2), RefereeID: id} }
	inAttempt2 := func(q *protocol.MatchResultReport) { q.Attempt = 2 }
	failed := append(own[:2:2], &journal.AgentFailed{AgentID: "REF01", Attempt: attempt(1)}, &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01"})
	doubted := append(own[:2:2], &journal.AttemptLost{
		Attempt: attempt(1), RefereeID: "REF01", Cause: journal.CauseBothAnswer, Report: &journal.MatchReported{Attempt: attempt(1), RefereeID: "REF01"},
	})
	for _, test := range []struct {
		name    string
		before  []journal.Data
		referee string
		q       *protocol.MatchResultReport
		pings   decide.Pings
		want    decide.Judgement // without Result and Err
		code    protocol.Code
	}{
		{"a credible report", own, "REF01", report(), decide.NotPinged, decide.Judgement{Accepted: true}, ""},
		{"a report without details", own, "REF01", report(winnerOnly), decide.NotPinged, decide.Judgement{Accepted: true}, ""},
		{"a report with winner DRAW", own, "REF01", report(func(q *protocol.MatchResultReport) {
			q.Result = resultOf(league.Result{WinnerPlayerID: new("DRAW")})
		}), decide.NotPinged, decide.Judgement{Accepted: true}, ""},
		{"a referee without the match", own, "REF02", report(), decide.NotPinged, decide.Judgement{}, protocol.ErrMatchNotFound},
		{"a contradictory winner", own, "REF01", report(winner(new("P02"))), decide.NotPinged,
			decide.Judgement{Rejected: "result.winner: by the rules of even_odd it is P01"}, protocol.ErrInvalidFieldType},
		{"a winner that did not play", own, "REF01", report(winner(new("P03"))), decide.NotPinged,
			decide.Judgement{Rejected: "result.winner must be P01, P02 or null"}, protocol.ErrInvalidFieldType},
		{"an illegal choice", own, "REF01", report(func(q *protocol.MatchResultReport) {
			q.Result.Choices = league.Both("P01", new("seven"), "P02", new("odd"))
		}), decide.NotPinged, decide.Judgement{Rejected: `result.details.choices: P01: choice must be "even" or "odd", got "seven"`}, protocol.ErrInvalidParityChoice},
		{"no draw after a commitment", commitment, "REF01", report(), decide.NotPinged,
			decide.Judgement{Rejected: "draw: it is missing, although a commitment was given with MATCH_ASSIGNMENT_ACK"}, protocol.ErrInvalidFieldType},
		{"a double loss of our referee", own, "REF01", report(doubleLoss), decide.NotPinged, decide.Judgement{PingFirst: true}, ""},
		{"a double loss of a third-party referee", thirdParty, "REF02", report(doubleLoss), decide.NotPinged, decide.Judgement{PingFirst: true}, ""},
		{"any report while pings have no answer", thirdParty, "REF02", report(), decide.PingsSent, decide.Judgement{PingFirst: true}, ""},
		{"a double loss while a player is away", thirdParty, "REF02", report(doubleLoss), decide.PlayerAway, decide.Judgement{Accepted: true}, ""},
		{"a double loss although both players answer", thirdParty, "REF02", report(doubleLoss), decide.BothAnswer, decide.Judgement{}, protocol.ErrInvalidMatchState},
		{"the same without another referee", append(failed[:4:4], second("REF02")), "REF02", report(doubleLoss, inAttempt2), decide.BothAnswer, decide.Judgement{Accepted: true}, ""},
		{"the same of a second referee", append(doubted[:3:3], second("REF02")), "REF02", report(doubleLoss, inAttempt2), decide.NotPinged, decide.Judgement{Accepted: true}, ""},
		{"a double loss right after a restart", thirdParty, "REF02", report(doubleLoss), decide.NotRunning, decide.Judgement{}, protocol.ErrInvalidMatchState},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := judge(started(t, test.before...), test.q, test.referee, test.pings)
			if test.code == "" {
				require.NoError(t, v.Err)
			} else {
				require.Error(t, v.Err)
				assert.Equal(t, test.code, protocol.AsError(v.Err).Code)
			}
			if v.Lost != nil {
				assert.Equal(t, journal.CauseBothAnswer, v.Lost.Cause)
				assert.Equal(t, "it says that P01 and P02 both failed, but both answer", v.Lost.Reason)
			}
			assert.Equal(t, test.pings == decide.BothAnswer, v.Lost != nil)
			v.Result, v.Err, v.Lost = nil, nil, nil
			assert.Equal(t, test.want, v)
		})
	}
}

func TestRepeatedReportIsAcknowledgedAndADifferentOneIsRefused(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	v := judge(s, report(), "REF01", decide.NotPinged)
	require.True(t, v.Accepted)
	assert.Equal(t, league.Both("P01", 3, "P02", 0), v.Result.Score)
	apply(t, s, v.Result)
	v = judge(s, report(), "REF01", decide.NotPinged)
	assert.True(t, v.Repeated)
	require.NoError(t, v.Err)
	v = judge(s, report(winner(new("P02"))), "REF01", decide.NotPinged)
	assert.True(t, v.Disputed)
	assert.Equal(t, protocol.ErrDuplicateReport, protocol.AsError(v.Err).Code)
}

// The same referee conducts a rematch, and its result is the one that it had before a ruling.
func TestReportFromBeforeARulingIsNotAcknowledgedByThatOfTheRematch(t *testing.T) {
	by := journal.Decision{By: "A. Smith", Reason: "a wrong draw"}
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"},
		&journal.Decided{Command: protocol.CommandRule, Decision: by, MatchID: first(), Winner: "P02"},
		&journal.Decided{Command: protocol.CommandRematch, Decision: by, MatchID: first()})
	s.Rounds[0].CompletedAt = "2025-01-15T10:00:00Z"
	apply(t, s, &journal.Decided{Command: journal.CommandReopen, Decision: by, MatchID: first()},
		&journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF01"})
	v := judge(s, report(func(q *protocol.MatchResultReport) { q.Attempt = 2 }), "REF01", decide.NotPinged)
	require.True(t, v.Accepted, "%v", v.Err)
	apply(t, s, v.Result)
	v = judge(s, report(func(q *protocol.MatchResultReport) { q.Attempt = 1 }), "REF01", decide.NotPinged)
	assert.False(t, v.Repeated || v.Disputed || v.Accepted)
	assert.Equal(t, protocol.ErrInvalidMatchState, protocol.AsError(v.Err).Code)
	assert.True(t, judge(s, report(func(q *protocol.MatchResultReport) { q.Attempt = 2 }), "REF01", decide.NotPinged).Repeated)
}

// A referee reports the first of its two attempts. A plain report names it in its conversation alone.
func TestReportIsAboutTheAttemptThatItNames(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"},
		&journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF01"})
	for name, test := range map[string]struct {
		named        int
		conversation string
		want         int
	}{
		"by a member":                {named: 1, want: 1},
		"by its conversation":        {conversation: "conv-r1m1-a1", want: 1},
		"not at all":                 {conversation: "my-conversation", want: 2},
		"one that is not its":        {named: 3, want: 2},
		"differently, in two places": {named: 2, conversation: "conv-r1m1-a1", want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(s, report(func(q *protocol.MatchResultReport) {
				q.Attempt, q.ConversationID = test.named, test.conversation
			}), "REF01", decide.NotPinged)
			require.True(t, v.Accepted, "%v", v.Err)
			assert.Equal(t, test.want, v.Result.Number)
		})
	}
}

// A referee that lost the answer to its report sends it again, and another referee has conducted the match meanwhile.
func TestRepeatedReportOfALostAttemptIsNoDispute(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF02"})
	v := judge(s, report(doubleLoss), "REF02", decide.BothAnswer)
	require.NotNil(t, v.Lost)
	apply(t, s, v.Lost, &journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF01"})
	v = judge(s, report(doubleLoss, func(q *protocol.MatchResultReport) { q.Attempt = 2 }), "REF01", decide.NotPinged)
	require.True(t, v.Accepted, "%v", v.Err)
	apply(t, s, v.Result)
	v = judge(s, report(doubleLoss), "REF02", decide.NotPinged)
	assert.False(t, v.Disputed || v.Repeated || v.Accepted)
	assert.Equal(t, protocol.ErrInvalidMatchState, protocol.AsError(v.Err).Code)
	assert.True(t, judge(s, report(), "REF02", decide.NotPinged).Disputed, "another result")
	apply(t, s, &journal.MatchAssigned{Attempt: attempt(3), RefereeID: "REF02"})
	v = judge(s, report(doubleLoss, func(q *protocol.MatchResultReport) { q.Attempt = 3 }), "REF02", decide.NotPinged)
	assert.False(t, v.Disputed || v.Repeated || v.Accepted, "the same result of another attempt")
	assert.Equal(t, protocol.ErrDuplicateReport, protocol.AsError(v.Err).Code)
}

func TestLostAttemptEndsInADrawWithoutChoices(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	v := judge(s, report(winner(new("P02"))), "REF01", decide.NotPinged)
	require.NotEmpty(t, v.Rejected)
	r, err := reportJudge().ResultOfLostAttempt(s, first())
	require.NoError(t, err)
	assert.Nil(t, r, "no attempt is lost")
	apply(t, s, decide.LoseAttempt(v))
	v = judge(s, report(), "REF01", decide.NotPinged)
	assert.Equal(t, protocol.ErrInvalidMatchState, protocol.AsError(v.Err).Code, "a lost attempt gets no second chance")
	r, err = reportJudge().ResultOfLostAttempt(s, first())
	require.NoError(t, err)
	apply(t, s, r)
	assert.Equal(t, []any{league.StatusDraw, (*string)(nil), journal.GradeStated, "its referee did not show its result"},
		[]any{r.Status, r.WinnerPlayerID, r.Grade, r.Reason})
	assert.Equal(t, [2]string{}, r.Result.Moves(players))
	assert.Equal(t, league.Both("P01", 1, "P02", 1), r.Score)
	v = judge(s, report(), "REF01", decide.NotPinged)
	assert.True(t, v.Disputed, "a later report is a dispute")
}

// A report of which nothing but the number is wrong counts without it.
func TestResultWithoutAnImpossibleNumber(t *testing.T) {
	drew := func(n int, winner *string, a, b string) func(*protocol.MatchResultReport) {
		return func(q *protocol.MatchResultReport) {
			q.Result.WinnerPlayerID, q.Result.DrawnNumber = winner, &n
			if q.Result.Choices = league.Both("P01", new(a), "P02", new(b)); winner == nil {
				q.Result.Status = league.StatusDraw
			}
		}
	}
	accepted := &journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01", DrawCommitment: "promised"}
	for name, tt := range map[string]struct {
		change func(*protocol.MatchResultReport)
		before []journal.Data
		want   string // status, winner and reason
	}{
		"the winner follows":            {drew(57, new("P02"), "even", "odd"), nil, "WIN P02 its referee drew 57; the game draws 1 to 10"},
		"a negative number":             {drew(-2, new("P01"), "even", "odd"), nil, "WIN P01 its referee drew -2; the game draws 1 to 10"},
		"zero":                          {drew(0, new("P01"), "even", "odd"), nil, "WIN P01 its referee drew 0; the game draws 1 to 10"},
		"a draw":                        {drew(57, nil, "odd", "odd"), nil, "DRAW  its referee drew 57; the game draws 1 to 10"},
		"another winner":                {drew(57, new("P01"), "even", "odd"), nil, "DRAW  " + journal.NotShown},
		"no winner":                     {drew(57, nil, "even", "odd"), nil, "DRAW  " + journal.NotShown},
		"an illegal choice":             {drew(57, new("P02"), "EVEN", "odd"), nil, "DRAW  " + journal.NotShown},
		"a missing choice":              {drew(57, new("P02"), "", "odd"), nil, "DRAW  " + journal.NotShown},
		"a referee that gave a promise": {drew(57, new("P02"), "even", "odd"), []journal.Data{accepted}, "DRAW  " + journal.NotShown},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(t, append([]journal.Data{announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"}}, tt.before...)...)
			v := judge(s, report(tt.change), "REF01", decide.NotPinged)
			require.NotEmpty(t, v.Rejected)
			apply(t, s, decide.LoseAttempt(v))
			r, err := reportJudge().ResultOfLostAttempt(s, first())
			require.NoError(t, err)
			assert.Equal(t, tt.want, r.Status+" "+protocol.ValueOf(r.WinnerPlayerID)+" "+r.Reason)
			assert.Equal(t, []any{(*int)(nil), journal.GradeStated}, []any{r.DrawnNumber, r.Grade})
			apply(t, s, r)
			assert.Equal(t, r.Reason, s.Match(first()).Doubt())
			again := judge(s, report(tt.change), "REF01", decide.NotPinged)
			assert.Equal(t, r.Reason != journal.NotShown, again.Repeated)
		})
	}
}

// A player that a later attempt has reached refuses the messages of the earlier one.
func TestPlayersAreAskedAboutLaterAttempts(t *testing.T) {
	assigned := func(number int, id string) journal.Data {
		return &journal.MatchAssigned{Attempt: attempt(number), RefereeID: id}
	}
	failed := &journal.AgentFailed{AgentID: "REF02", Attempt: attempt(2), Reason: "no answer"}
	declined := &journal.MatchDeclined{Attempt: attempt(2), RefereeID: "REF02"}
	loses := func(q *protocol.MatchResultReport) {
		q.Result = resultOf(league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P01")})
	}
	for name, tt := range map[string]struct {
		later    []journal.Data
		change   func(q *protocol.MatchResultReport)
		attempts []int
		losers   []string
	}{
		"a loss, and another referee has got the match": {[]journal.Data{assigned(2, "REF02")}, loses, []int{2}, []string{"P02"}},
		"a double loss":             {[]journal.Data{assigned(2, "REF02")}, doubleLoss, []int{2}, []string{"P01", "P02"}},
		"its answer was lost":       {[]journal.Data{assigned(2, "REF02"), failed}, loses, []int{2}, []string{"P02"}},
		"it has declined the match": {[]journal.Data{assigned(2, "REF02"), declined}, loses, nil, []string{"P02"}},
		"its own later attempt":     {[]journal.Data{assigned(2, "REF01")}, loses, nil, []string{"P02"}},
		"a win":                     {[]journal.Data{assigned(2, "REF02")}, func(*protocol.MatchResultReport) {}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(t, append([]journal.Data{announced(), assigned(1, "REF01")}, tt.later...)...)
			c, err := reportJudge().Read(s, report(tt.change), "REF01", startHash)
			require.NoError(t, err)
			attempts, losers := c.Later(s)
			var numbers []int
			for _, a := range attempts {
				numbers = append(numbers, a.Number)
			}
			assert.Equal(t, tt.attempts, numbers)
			assert.Equal(t, tt.losers, losers)
			reportJudge().Prove(&c)
			assert.True(t, reportJudge().Judge(s, c, decide.PlayerAway).Accepted, "no player knows a later attempt")
			if len(attempts) > 0 {
				c.Overtaken()
				v := reportJudge().Judge(s, c, decide.PlayerAway)
				require.Error(t, v.Err)
				assert.Equal(t, protocol.ErrInvalidMatchState, protocol.AsError(v.Err).Code)
			}
		})
	}
}

// A league pauses for a referee that sends no token, but not for a match that has an outcome already.
func TestLostAttemptCountsBeforeOneOfATokenlessReferee(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	v := judge(s, report(winner(new("P02"))), "REF01", decide.NotPinged)
	apply(t, s, decide.LoseAttempt(v))
	apply(t, s, &journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF02"})
	apply(t, s, &journal.AttemptLost{Attempt: attempt(2), RefereeID: "REF02", Cause: journal.CauseNoToken, Reason: "it sends no token"})
	r, err := reportJudge().ResultOfLostAttempt(s, first())
	require.NoError(t, err)
	require.NotNil(t, r)
	assert.Equal(t, []string{league.StatusDraw, "REF01"}, []string{r.Status, r.RefereeID})
	apply(t, s, r)
}

func TestDoubleLossThatNoOtherRefereeContradictsIsRecorded(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF02"})
	v := judge(s, report(doubleLoss), "REF02", decide.BothAnswer)
	require.NotNil(t, v.Lost)
	apply(t, s, v.Lost)
	r, err := reportJudge().ResultOfLostAttempt(s, first())
	require.NoError(t, err)
	assert.Equal(t, []any{league.StatusTechnicalLoss, "", "REF02"}, []any{r.Status, r.Grade, r.RefereeID})
	apply(t, s, r)
}

func TestCredibilityOfARevealedDraw(t *testing.T) {
	nonce := protocol.Secret{1}
	commitment := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", nonce)
	number := evenodd.Game{}.Start().Play([2]string{"even", "odd"}).Judge(rules.Chance{Nonce: nonce}).Number
	won := new("P02")
	if number%2 == 0 {
		won = new("P01")
	}
	honest := func(q *protocol.MatchResultReport) {
		q.Draw = &protocol.Draw{Commitment: commitment, Nonce: nonce.Hex()}
		q.Result.WinnerPlayerID, q.Result.DrawnNumber = won, &number
	}
	for _, test := range []struct {
		name     string
		change   func(q *protocol.MatchResultReport)
		rejected string
	}{
		{"the promised draw", func(*protocol.MatchResultReport) {}, ""},
		{"another commitment", func(q *protocol.MatchResultReport) { q.Draw.Commitment = "another" }, "draw.commitment"},
		{"a nonce of another draw", func(q *protocol.MatchResultReport) { q.Draw.Nonce = protocol.Secret{2}.Hex() }, "draw.nonce"},
		{"an entropy that is no number", func(q *protocol.MatchResultReport) {
			q.Draw.Entropies = league.PerPlayer[string]{{Name: "P01", Value: "chance"}}
		}, "draw.entropies"},
		{"a number of another draw", func(q *protocol.MatchResultReport) {
			other := number%10 + 1
			q.Result.WinnerPlayerID, q.Result.DrawnNumber = new("P01"), &other
			if other%2 != 0 {
				q.Result.WinnerPlayerID = new("P02")
			}
		}, "drawn_number: by the draw it is"},
		{"a hidden choice", func(q *protocol.MatchResultReport) {
			q.Result.Choices = league.Both("P01", new("even"), "P02", nil)
		}, "no choice reported for P02"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"},
				&journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01", DrawCommitment: commitment})
			v := judge(s, report(honest, test.change), "REF01", decide.NotPinged)
			assert.Equal(t, test.rejected == "", v.Accepted)
			assert.Contains(t, v.Rejected, test.rejected)
		})
	}
}

func TestReportOfAMatchThatIsNotAssigned(t *testing.T) {
	assigned := &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"}
	for _, test := range []struct {
		name   string
		state  *journal.State
		change func(q *protocol.MatchResultReport)
		code   protocol.Code
	}{
		{"before the start", fold(t, created(), referee("REF01", 1, "")), nil, protocol.ErrLeagueNotStarted},
		{"a round that is not that of the match", started(t, announced(), assigned), func(q *protocol.MatchResultReport) { q.RoundID = 2 }, protocol.ErrMatchNotFound},
		{"a match of a later round", started(t, announced(), assigned), func(q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "R2M1", 2 }, protocol.ErrMatchNotFound},
		{"no match", started(t, announced(), assigned), func(q *protocol.MatchResultReport) { q.MatchID, q.RoundID = "chess", 0 }, protocol.ErrMatchNotFound},
		{"a match that the referee declined", started(t, announced(), assigned, &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01"}), nil, protocol.ErrMatchNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := report()
			if test.change != nil {
				test.change(q)
			}
			v := judge(test.state, q, "REF01", decide.NotPinged)
			assert.Nil(t, v.Result)
			assert.Equal(t, test.code, protocol.AsError(v.Err).Code)
		})
	}
}

func TestAttemptOfAReport(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"},
		&journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF02"}, &journal.MatchAssigned{Attempt: attempt(3), RefereeID: "REF01"})
	for named, want := range map[int]int{1: 1, 3: 3, 0: 3, 2: 3, 9: 3} { // else the referee's last
		v := judge(s, report(func(q *protocol.MatchResultReport) { q.Attempt = named }), "REF01", decide.NotPinged)
		assert.Equal(t, want, v.Result.Number, named)
	}
}

func TestOnlyPossibleFallbacksAreRecorded(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	for name, tt := range map[string]struct{ reported, want league.PerPlayer[int] }{
		"one":                          {league.PerPlayer[int]{{Name: "P01", Value: 1}}, league.PerPlayer[int]{{Name: "P01", Value: 1}}},
		"none":                         {nil, nil},
		"more than moves":              {league.PerPlayer[int]{{Name: "P01", Value: 2}}, nil},
		"negative":                     {league.PerPlayer[int]{{Name: "P01", Value: -1}}, nil},
		"of a player of other matches": {league.PerPlayer[int]{{Name: "P09", Value: 1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(s, report(func(q *protocol.MatchResultReport) { q.Result.Fallbacks = tt.reported }), "REF01", decide.NotPinged)
			require.True(t, v.Accepted)
			assert.Equal(t, tt.want, v.Result.Fallbacks)
		})
	}
}

// Everybody may read the journal.
func TestReasonsInTheJournalHaveNoTokens(t *testing.T) {
	const token = "tok-p01-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	q := honest()
	q.Result.Reason = "I have " + token
	v := judge(signed(t), q, "REF01", decide.NotPinged)
	require.NoError(t, v.Err)
	assert.Equal(t, "I have ***", v.Result.Reason)
	at := league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}
	recorded := &journal.Match{Attempts: []journal.Attempt{{Number: 1, Referee: "REF01"}}}
	declined := decide.Decline(recorded, at, "REF01", &protocol.MatchAssignmentAck{Reason: "I have " + token})
	require.NotNil(t, declined)
	assert.Equal(t, "I have ***", declined.Reason)
}
