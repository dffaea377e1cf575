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
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// A report without a status is no technical loss of a player that answered.
func TestTechnicalLossIsInferredOnlyWithoutTheChoiceOfTheLoser(t *testing.T) {
	even, odd := new("even"), new("odd")
	chose := func(a, b *string) league.PerPlayer[*string] { return league.Both("P01", a, "P02", b) }
	for name, tt := range map[string]struct {
		game     rules.Game
		winner   *string
		choices  league.PerPlayer[*string]
		number   *int
		want     string
		accepted bool
	}{
		"the loser chose":                        {evenodd.Game{}, new("P01"), chose(even, odd), nil, league.StatusWin, true},
		"the loser did not choose":               {evenodd.Game{}, new("P01"), chose(even, nil), nil, league.StatusTechnicalLoss, true},
		"the loser chose nothing":                {evenodd.Game{}, new("P01"), chose(even, new("")), nil, league.StatusTechnicalLoss, true},
		"only the loser chose":                   {evenodd.Game{}, new("P01"), chose(nil, odd), nil, league.StatusWin, true},
		"nobody chose":                           {evenodd.Game{}, new("P01"), chose(nil, nil), nil, league.StatusTechnicalLoss, true},
		"nobody chose, no winner":                {evenodd.Game{}, nil, chose(nil, nil), nil, league.StatusTechnicalLoss, true},
		"one chose, no winner":                   {evenodd.Game{}, nil, chose(even, nil), nil, league.StatusDraw, true},
		"both chose, no winner":                  {evenodd.Game{}, nil, chose(even, odd), nil, league.StatusDraw, true},
		"both chose, and a number":               {evenodd.Game{}, new("P01"), chose(even, odd), new(8), league.StatusWin, true},
		"both chose, and a number against it":    {evenodd.Game{}, new("P02"), chose(even, odd), new(8), league.StatusWin, false},
		"a game without a number":                {rockpaperscissors.Game{}, new("P01"), chose(new("rock"), new("scissors")), nil, league.StatusWin, true},
		"a game without a number, false winner":  {rockpaperscissors.Game{}, new("P02"), chose(new("rock"), new("scissors")), nil, league.StatusWin, false},
		"last moves in a game of several turns":  {tictactoe.Game{}, new("P01"), chose(new("2"), new("4")), nil, league.StatusWin, true},
		"the winner's last move alone in such a": {tictactoe.Game{}, new("P01"), chose(new("2"), nil), nil, league.StatusTechnicalLoss, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF02"})
			p := &decide.ReportJudge{LeagueID: leagueID, GameType: "even_odd", Game: tt.game}
			q := report(func(q *protocol.MatchResultReport) {
				q.Result = resultOf(league.Result{WinnerPlayerID: tt.winner, Choices: tt.choices, DrawnNumber: tt.number})
			})
			c, err := p.Read(s, q, "REF02", startHash)
			require.NoError(t, err)
			p.Prove(&c)
			v := p.Judge(s, c, decide.PlayerAway)
			assert.Equal(t, tt.want, v.Result.Status)
			assert.Equal(t, tt.accepted, v.Accepted, v.Rejected)
		})
	}
}

// loss changes a report into a technical loss of P02 with these choices and faults; the draw is opened.
func loss(winner *string, a, b *string, faults ...string) func(*protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) {
		q.Result = resultOf(league.Result{WinnerPlayerID: winner, Status: league.StatusTechnicalLoss,
			Choices: league.Both("P01", a, "P02", b)})
		for _, id := range faults {
			q.Result.Faults = append(q.Result.Faults, league.Member[string]{Name: id, Value: "E001"})
		}
		q.Draw = &protocol.Draw{Commitment: protocol.DrawCommitment(leagueID, "R1M1", 1, "REF02", drawNonce), Nonce: drawNonce.Hex()}
	}
}

func undrawn(q *protocol.MatchResultReport) { q.Draw = nil }

func TestTechnicalLossAgainstTheEvidenceIsRefused(t *testing.T) {
	even, odd, won := new("even"), new("odd"), new("P01")
	moves := func(cells ...string) func(*protocol.MatchResultReport) {
		return func(q *protocol.MatchResultReport) {
			last := [2]*string{}
			for i, cell := range cells {
				q.Moves = append(q.Moves, protocol.PlayerMove{PlayerID: players[i%2], Move: cell})
				last[i%2] = &cells[i]
			}
			q.Result.Choices = league.Both("P01", last[0], "P02", last[1])
		}
	}
	for name, tt := range map[string]struct {
		game   rules.Game
		change []func(*protocol.MatchResultReport)
		want   string // "" for a report that counts
	}{
		"the loser chose":                   {evenodd.Game{}, own(loss(won, even, odd, "P02")), "P02 chose"},
		"only the loser chose":              {evenodd.Game{}, own(loss(won, nil, odd)), "P02 chose"},
		"both lost, one chose":              {evenodd.Game{}, own(loss(nil, even, nil, "P01", "P02")), "P01 chose"},
		"the loser did not choose":          {evenodd.Game{}, own(loss(won, even, nil, "P02")), ""},
		"nobody chose":                      {evenodd.Game{}, own(loss(won, nil, nil)), ""},
		"both lost, nobody chose":           {evenodd.Game{}, own(loss(nil, nil, nil, "P01", "P02")), ""},
		"an illegal choice is named":        {evenodd.Game{}, own(loss(won, even, new("seven"), "P02")), ""},
		"a late choice, without a draw":     {evenodd.Game{}, own(loss(won, even, odd, "P02"), undrawn), ""},
		"the fault of the winner alone":     {evenodd.Game{}, own(loss(won, nil, nil, "P01"), undrawn), "failure of the winner, P01"},
		"faults of both":                    {evenodd.Game{}, own(loss(won, nil, nil, "P01", "P02")), ""},
		"a later turn that the loser owes":  {tictactoe.Game{}, own(loss(won, nil, nil), moves("0", "3", "1")), ""},
		"a turn that the winner owes":       {tictactoe.Game{}, own(loss(won, nil, nil), moves("0", "3")), "P02 chose"},
		"a game that is over":               {tictactoe.Game{}, own(loss(won, nil, nil), moves("0", "3", "1", "4", "2")), "P02 chose"},
		"no move of a game of turns":        {tictactoe.Game{}, own(loss(won, nil, nil)), ""},
		"last moves alone in such a game":   {tictactoe.Game{}, own(loss(won, new("0"), new("3"))), ""},
		"moves against the rules":           {tictactoe.Game{}, own(loss(won, nil, nil), moves("0", "0")), ""},
		"a turn that both lost, one of two": {tictactoe.Game{}, own(loss(nil, nil, nil), moves("0", "3", "1")), "P01 chose"},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF02"})
			p := &decide.ReportJudge{LeagueID: leagueID, GameType: "even_odd", Game: tt.game}
			c, err := p.Read(s, report(tt.change...), "REF02", startHash)
			require.NoError(t, err)
			p.Prove(&c)
			v := p.Judge(s, c, decide.PlayerAway)
			assert.Equal(t, tt.want == "", v.Accepted, v.Rejected)
			assert.Contains(t, v.Rejected, tt.want)
			if tt.want == "" {
				assert.Equal(t, league.StatusTechnicalLoss, v.Result.Status)
			}
		})
	}
}

func own(change ...func(*protocol.MatchResultReport)) []func(*protocol.MatchResultReport) {
	return change
}
