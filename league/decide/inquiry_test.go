package decide_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
)

// bids is the game of a program: in two rounds a card is drawn, and both sides bid for it at the same time. The side
// with more in all wins. In the hidden form the bids of the first round are secret.
func bids(hidden bool) rules.Game {
	return rules.NewProgram(rules.Info{Type: "bids", MoveTypes: []string{"bid"}, MaxMove: 1, Draws: true, Hidden: hidden},
		2)
}

// bidsAfter is what the program says of a history.
func bidsAfter(history []rules.Entry) *rules.State {
	var sum [2]int
	for i, e := range history {
		draws := i%2 == 0
		switch {
		case draws != (e.Draw != nil), i >= 4:
			return &rules.State{Illegal: &rules.Illegal{Index: i, Reason: "not due"}}
		case draws && *e.Draw >= 6:
			return &rules.State{Illegal: &rules.Illegal{Index: i, Side: rules.NoSide, Reason: "out of range"}}
		case draws:
			continue
		}
		for side, move := range e.Moves {
			switch {
			case move == "" && i == len(history)-1 && e.Moves != [2]string{}:
				state := bidsAfter(history[:i])
				state.ToMove[1-side] = nil
				return state
			case len(move) != 1 || move < "1" || move > "9":
				return &rules.State{Illegal: &rules.Illegal{Index: i, Side: rules.Side(side), Reason: "no bid"}}
			}
			sum[side] += int(move[0] - '0')
		}
	}
	switch {
	case len(history)%2 == 0 && len(history) < 4:
		return &rules.State{Draw: 6}
	case len(history) < 4:
		q := &rules.Question{MoveType: "bid", Options: []string{"1", "9"}, Secret: len(history) == 1}
		return &rules.State{ToMove: [2]*rules.Question{q, q}}
	case sum[0] == sum[1]:
		return &rules.State{Over: true, Winner: rules.NoSide}
	case sum[0] > sum[1]:
		return &rules.State{Over: true, Winner: rules.SideA}
	}
	return &rules.State{Over: true, Winner: rules.SideB}
}

func bidsJudge(hidden bool) *decide.ReportJudge {
	return &decide.ReportJudge{LeagueID: leagueID, GameType: "bids", Game: bids(hidden)}
}

// bidsReport is a true report of REF01 about a match of bids, which P01 wins by 7 to 6.
func bidsReport(hidden bool, change ...func(*protocol.MatchResultReport)) *protocol.MatchResultReport {
	chance := rules.Chance{Nonce: drawNonce, EntropyA: entropies[0], EntropyB: entropies[1]}
	q := honest(func(q *protocol.MatchResultReport) {
		q.Moves = []protocol.PlayerMove{
			{PlayerID: "P01", Move: rules.Ready, Turn: 1}, {PlayerID: "P02", Move: rules.Ready, Turn: 1},
			{PlayerID: "P01", Move: "3", Turn: 2, Secret: hidden}, {PlayerID: "P02", Move: "5", Turn: 2, Secret: hidden},
			{PlayerID: "P01", Move: "4", Turn: 3}, {PlayerID: "P02", Move: "1", Turn: 3},
		}
		q.Draws = []protocol.Drawn{
			{Turn: 2, Of: 6, Number: chance.Draw("R1M1", 1, 6)}, {Turn: 3, Of: 6, Number: chance.Draw("R1M1", 2, 6)},
		}
		q.Result = resultOf(league.Result{
			WinnerPlayerID: new("P01"), Status: league.StatusWin, Choices: league.Both("P01", new("4"), "P02", new("1")),
		})
	})
	for _, c := range change {
		c(q)
	}
	q.Signatures = league.Both("P01", bidSignature(q, 0, hidden), "P02", bidSignature(q, 1, hidden))
	return q
}

// bidSignature is the signature of a side over its last move, as the player gives it that was shown a view.
func bidSignature(q *protocol.MatchResultReport, side int, hidden bool) protocol.MoveSignature {
	at, before := len(q.Moves), 0
	for i, m := range q.Moves {
		if m.PlayerID == players[side] {
			at = i
		}
	}
	if at == len(q.Moves) {
		return protocol.MoveSignature{}
	}
	for before < len(q.Moves) && q.Moves[before].Turn < q.Moves[at].Turn {
		before++
	}
	s := laterStatement(side, q.Moves[at].Turn, q.Moves[at].Move, q.Moves[:before])
	if !hidden {
		return signatureOf(s)
	}
	s.ViewHash = protocol.ViewHash(map[string]any{"side": side})
	if s.Turn > 1 {
		s.MovesHash = protocol.HiddenMovesHash(protocol.ShownMoves(q.Moves[:before], players[side], drawNonce))
	}
	signature := signatureOf(s)
	signature.ViewHash = s.ViewHash
	return signature
}

// bidsLeague is a league of bids in which REF01 has given its commitment for the first match.
func bidsLeague(t *testing.T) *journal.State {
	return signed(t, &journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01",
		DrawCommitment: statementOf(0, "").DrawCommitment})
}

// inquired is the judgement of a report by what a program says; asked counts its questions.
func inquired(t *testing.T, hidden bool, q *protocol.MatchResultReport,
	program func(history []rules.Entry) (*rules.State, error)) (v decide.Judgement, asked int) {
	t.Helper()
	s, j := bidsLeague(t), bidsJudge(hidden)
	c, err := j.Read(s, q, "REF01", startHash)
	require.NoError(t, err)
	for history, due := c.Asks(); due; history, due = c.Asks() {
		asked++
		c.Told(program(history))
	}
	j.Prove(&c)
	return j.Judge(s, c, decide.NotPinged), asked
}

func loses(loser, choiceA, choiceB string, moves, draws int) func(q *protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) {
		q.Moves, q.Draws = q.Moves[:moves], q.Draws[:draws]
		winner := map[string]string{"P01": "P02", "P02": "P01"}[loser]
		q.Result = resultOf(league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner,
			Choices: league.Both("P01", protocol.NonZero(choiceA), "P02", protocol.NonZero(choiceB))})
	}
}

func TestReportIsJudgedByWhatTheProgramSays(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*protocol.MatchResultReport)
		asked  int
		reason string // "" for an accepted report
	}{
		"a true report": {func(*protocol.MatchResultReport) {}, 3, ""},
		"another winner": {func(q *protocol.MatchResultReport) { q.Result.WinnerPlayerID = new("P02") }, 3,
			"result.winner: by the rules of bids it is P01"},
		"another number": {func(q *protocol.MatchResultReport) { q.Draws[1].Number = (q.Draws[1].Number + 1) % 6 }, 3,
			"draws: draw 2 is"},
		"of other outcomes": {func(q *protocol.MatchResultReport) {
			chance := rules.Chance{Nonce: drawNonce, EntropyA: entropies[0], EntropyB: entropies[1]}
			q.Draws[1].Of, q.Draws[1].Number = 5, chance.Draw("R1M1", 2, 5)
		}, 2, "draws: draw 2, before turn 3, has 5 outcomes; by the rules of bids it has 6"},
		"a draw less": {func(q *protocol.MatchResultReport) { q.Draws = q.Draws[:1] }, 2, "is not legal: not due"},
		"a draw more": {func(q *protocol.MatchResultReport) {
			q.Draws = append(q.Draws, protocol.Drawn{Turn: 4, Of: 6, Number: 1})
		}, 3, "draws: draw 3, before turn 4"},
		"a draw too late": {func(q *protocol.MatchResultReport) { q.Draws[1].Turn = 9 }, 0,
			"draws: draw 2 is before turn 9"},
		"draws in disorder": {func(q *protocol.MatchResultReport) { slices.Reverse(q.Draws) }, 0,
			"draws: they are not in the order"},
		"an illegal move": {func(q *protocol.MatchResultReport) { q.Moves = changed(q.Moves, 2, "0") }, 2,
			`moves: that of P01 in turn 2, "0"`},
		"not ready": {func(q *protocol.MatchResultReport) { q.Moves = changed(q.Moves, 1, "no") }, 0,
			"moves: move 2"},
		"no ready turn": {func(q *protocol.MatchResultReport) { q.Moves = q.Moves[2:] }, 0, "moves: move 1"},
		"a turn left out": {func(q *protocol.MatchResultReport) { q.Moves = append(q.Moves[:2:2], q.Moves[4:]...) }, 0,
			"moves: move 3"},
		"B before A": {func(q *protocol.MatchResultReport) { q.Moves[2], q.Moves[3] = q.Moves[3], q.Moves[2] }, 0,
			"moves: move 4"},
		"a move of no player": {func(q *protocol.MatchResultReport) { q.Moves[3].PlayerID = "P07" }, 0, "moves: move 4"},
		"not the end": {func(q *protocol.MatchResultReport) {
			q.Moves, q.Draws = q.Moves[:4], q.Draws[:1]
			q.Result.Choices = league.Both("P01", new("3"), "P02", new("5"))
		}, 2, "the moves reported do not end the game"},
		"no secrets":                    {func(q *protocol.MatchResultReport) { q.Draw = nil }, 3, "draw: it is missing"},
		"a technical loss":              {loses("P02", "4", "5", 5, 2), 3, ""},
		"of a player that is not ready": {loses("P02", "", "", 1, 0), 0, ""},
		"after the ready turn":          {loses("P02", "", "", 2, 1), 2, ""},
		"ready is no choice": {loses("P02", rules.Ready, "", 1, 0), 0,
			"moves: the last one of P01 is \"\", not \"ready\""},
		"before the first answer":       {loses("P01", "", "", 0, 0), 0, ""},
		"of a player that owes nothing": {loses("P01", "4", "5", 5, 2), 3, "that is no technical loss of P01"},
		"of a player that is ready":     {loses("P01", "", "", 1, 0), 0, "that is no technical loss of P01"},
		"of a player, with a wrong number": {func(q *protocol.MatchResultReport) {
			q.Draws[0].Number = (q.Draws[0].Number + 1) % 6
			loses("P02", "4", "5", 5, 2)(q)
		}, 3, "draws: draw 1 is"},
	} {
		t.Run(name, func(t *testing.T) {
			v, asked := inquired(t, false, bidsReport(false, tt.change),
				func(h []rules.Entry) (*rules.State, error) { return bidsAfter(h), nil })
			assert.Equal(t, tt.reason == "", v.Accepted, "%v", v.Err)
			assert.Contains(t, v.Rejected, tt.reason)
			assert.Equal(t, tt.asked, asked)
			if tt.reason == "" && v.Result.Status == league.StatusWin {
				assert.Equal(t, journal.GradeProven, v.Result.Grade)
			}
		})
	}
}

// A match can end before a side has moved. What this side has signed is its answer to the ready turn, which is no
// choice.
func TestSignatureOfASideThatWasOnlyReady(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		q := bidsReport(hidden, func(q *protocol.MatchResultReport) {
			q.Moves, q.Draws = q.Moves[:3], q.Draws[:1]
			q.Result.Choices = league.Both("P01", new("3"), "P02", nil)
		})
		v, _ := inquired(t, hidden, q, func(history []rules.Entry) (*rules.State, error) {
			return []*rules.State{
				{Draw: 6}, {ToMove: [2]*rules.Question{{MoveType: "bid", Options: []string{"3"}}}},
				{Over: true, Winner: rules.SideA},
			}[len(history)], nil
		})
		require.True(t, v.Accepted, "%v", v.Err)
		assert.Equal(t, journal.GradeProven, v.Result.Grade)
	}
}

// The draws of a game of this program are played by the numbers in the report, and these follow from the secrets.
func TestDrawsOfAReportFollowFromTheSecrets(t *testing.T) {
	for _, game := range []rules.Game{kuhnpoker.Game{}, pig.Game{}} {
		chance := rules.Chance{Nonce: drawNonce, EntropyA: entropies[0], EntropyB: entropies[1]}
		c := rules.Begin(game)
		for !c.Over() {
			var moves [2]string
			for _, side := range c.ToMove() {
				moves[side] = c.Ask(side).Options[0]
			}
			c = c.Play(moves).Settle("R1M1", &chance)
		}
		verdict := c.Judge(chance)
		for name, tt := range map[string]struct {
			change func(*protocol.MatchResultReport)
			reason string // "" for an accepted report
		}{
			"a true report": {func(*protocol.MatchResultReport) {}, ""},
			"another number": {func(q *protocol.MatchResultReport) {
				last := &q.Draws[len(q.Draws)-1]
				last.Number = (last.Number + 1) % last.Of
			}, "draw"},
			"of other outcomes":   {func(q *protocol.MatchResultReport) { q.Draws[0].Of++ }, "draws: draw 1 is"},
			"before another turn": {func(q *protocol.MatchResultReport) { q.Draws[0].Turn++ }, "draws: draw 1 is"},
			"a draw less":         {func(q *protocol.MatchResultReport) { q.Draws = q.Draws[:len(q.Draws)-1] }, "draws: draw"},
			"a draw more": {func(q *protocol.MatchResultReport) {
				q.Draws = append(q.Draws, protocol.Drawn{Turn: c.Turn(), Of: 2, Number: chance.Draw("R1M1", len(q.Draws)+1, 2)})
			}, "draws: there are"},
			"no secrets": {func(q *protocol.MatchResultReport) { q.Draw = nil }, "draw: it is missing"},
		} {
			t.Run(game.Info().Type+"/"+name, func(t *testing.T) {
				q := honest(func(q *protocol.MatchResultReport) {
					q.Draws, q.Moves, q.Signatures = nil, nil, nil
					for _, d := range c.Draws() {
						q.Draws = append(q.Draws, protocol.Drawn(d))
					}
					for _, m := range c.Moves() {
						q.Moves = append(q.Moves, protocol.PlayerMove{PlayerID: players[m.Side], Move: m.Text, Turn: m.Turn})
					}
					q.Result = resultOf(*league.ResultOf(verdict, players))
				})
				tt.change(q)
				s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"},
					&journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01", DrawCommitment: statementOf(0, "").DrawCommitment})
				j := &decide.ReportJudge{LeagueID: leagueID, GameType: game.Info().Type, Game: game}
				claim, err := j.Read(s, q, "REF01", startHash)
				require.NoError(t, err)
				j.Prove(&claim)
				v := j.Judge(s, claim, decide.NotPinged)
				assert.Equal(t, tt.reason == "", v.Accepted, "%v", v.Err)
				reason := tt.reason
				if game.Info().Hidden {
					reason, _, _ = strings.Cut(reason, ":")
				}
				assert.Contains(t, v.Rejected, reason)
			})
		}
	}
}

// A signature of a game that hides something covers what the player was shown: the view, and the secret moves of its
// opponent as commitments.
func TestSignaturesOfAHiddenGameCoverTheView(t *testing.T) {
	honest := func(h []rules.Entry) (*rules.State, error) { return bidsAfter(h), nil }
	v, _ := inquired(t, true, bidsReport(true), honest)
	require.True(t, v.Accepted, "%v", v.Err)
	assert.Equal(t, journal.GradeProven, v.Result.Grade)
	for name, change := range map[string]func(*protocol.MatchResultReport){
		"another view": func(q *protocol.MatchResultReport) {
			q.Signatures[0].Value.ViewHash = protocol.ViewHash("another card")
		},
		"no view": func(q *protocol.MatchResultReport) { q.Signatures[1].Value.ViewHash = "" },
		"another secret move": func(q *protocol.MatchResultReport) {
			q.Moves = changed(q.Moves, 3, "4") // P01 was shown the commitment to 5
			q.Signatures[1].Value = bidSignature(q, 1, true)
		},
		"a secret move as an open one": func(q *protocol.MatchResultReport) { q.Moves[3].Secret = false },
	} {
		q := bidsReport(true)
		change(q)
		v, _ := inquired(t, true, q, honest)
		assert.Contains(t, v.Rejected, "signatures: ", name)
	}
}

// Journal and log have the reason for which a report is rejected.
func TestRejectedReportOfAHiddenGameTellsNoCard(t *testing.T) {
	v, _ := inquired(t, true, bidsReport(true, func(q *protocol.MatchResultReport) {
		q.Draws[0].Number = (q.Draws[0].Number + 1) % 6
	}), func(h []rules.Entry) (*rules.State, error) { return bidsAfter(h), nil })
	assert.Equal(t, "draws: it contradicts the rest of the report, the rules or the draw; bids hides the details",
		v.Rejected)
	assert.Contains(t, v.Err.Error(), v.Rejected)
}

func TestReportIsNotJudgedWhenTheProgramFails(t *testing.T) {
	for name, tt := range map[string]struct {
		program func(h []rules.Entry) (*rules.State, error)
		failure string
	}{
		"it dies": {func([]rules.Entry) (*rules.State, error) { return nil, errors.New("it ended") }, "it ended"},
		"it refuses what it had accepted": {func(h []rules.Entry) (*rules.State, error) {
			if len(h) < 4 {
				return bidsAfter(h), nil
			}
			return &rules.State{Illegal: &rules.Illegal{Index: 0, Reason: "never"}}, nil
		}, "refuses entry 0 of a history that it had accepted before"},
		"it refuses an entry that is not there": {func([]rules.Entry) (*rules.State, error) {
			return &rules.State{Illegal: &rules.Illegal{Index: 7}}, nil
		}, "refuses entry 7 of a history of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := inquired(t, false, bidsReport(false), tt.program)
			assert.True(t, v.Failed)
			assert.ErrorContains(t, v.Err, tt.failure)
			assert.Empty(t, v.Rejected, "the referee has done nothing wrong")
			assert.False(t, v.Accepted || v.PingFirst || v.Lost != nil)
		})
	}
}

// The referee repeats its report until it is acknowledged, and the program need not be asked again.
func TestProgramIsNotAskedAboutALateReport(t *testing.T) {
	s, j := bidsLeague(t), bidsJudge(false)
	v, _ := inquired(t, false, bidsReport(false), func(h []rules.Entry) (*rules.State, error) { return bidsAfter(h), nil })
	apply(t, s, v.Result)
	c, err := j.Read(s, bidsReport(false), "REF01", startHash)
	require.NoError(t, err)
	_, due := c.Asks()
	assert.False(t, due)
	j.Prove(&c)
	assert.True(t, j.Judge(s, c, decide.NotPinged).Repeated)
}
