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
	"evenodd/rules/pig"
	"evenodd/rules/tictactoe"
)

// keyOf is the signing key of an agent.
func keyOf(id string) *protocol.SigningKey {
	var seed [32]byte
	copy(seed[:], id)
	return protocol.NewSigningKey(seed)
}

// signing is the first event of a league that signs.
func signing(signatures string) *journal.Created {
	d := created()
	d.ManagerKey, d.Signatures = keyOf("manager").Public(), signatures
	return d
}

func withKey(d *journal.AgentRegistered) *journal.AgentRegistered {
	d.PublicKey = keyOf(d.AgentID).Public()
	return d
}

func relaying(d *journal.AgentRegistered) *journal.AgentRegistered {
	d.RelaysSignatures = true
	return d
}

// signed is a league that signs in which REF01 has the first match of P01 and P02. REF01
// and REF02 relay signatures, REF03 does not. P04 has no key.
func signed(t *testing.T, more ...journal.Data) *journal.State {
	t.Helper()
	s := fold(t, signing(journal.SignaturesOptional), withKey(player("P01")), withKey(player("P02")), withKey(player("P03")), player("P04"),
		relaying(referee("REF01", 2, "")), relaying(referee("REF02", 2, "")), referee("REF03", 1, ""))
	apply(t, s, &journal.Started{
		Algorithm: "circle-v1", Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01", "REF02", "REF03"}, Keys: s.PublicKeys(),
	}, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	apply(t, s, more...)
	return s
}

var (
	drawNonce = protocol.Secret{1}
	entropies = [2]protocol.Secret{{2}, {3}}
	players   = [2]string{"P01", "P02"}
)

// statementOf is what a player signs in the first match.
func statementOf(side int, move string) protocol.MoveStatement {
	id := players[side]
	return protocol.MoveStatement{
		Started: startHash, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: id,
		DrawCommitment: protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", drawNonce),
		EntropyCommitments: [2]string{
			protocol.EntropyCommitment("R1M1", "P01", entropies[0]), protocol.EntropyCommitment("R1M1", "P02", entropies[1]),
		},
		Turn: 1, Move: move, Entropy: entropies[side].Hex(),
	}
}

func signatureOf(s protocol.MoveStatement) protocol.MoveSignature {
	return protocol.MoveSignature{Turn: s.Turn, Signature: keyOf(s.PlayerID).SignMove(&s)}
}

// honest is a true report of REF01: P01 chose even, P02 odd.
func honest(change ...func(*protocol.MatchResultReport)) *protocol.MatchResultReport {
	a, b := statementOf(0, "even"), statementOf(1, "odd")
	q := report(func(q *protocol.MatchResultReport) {
		q.Draw = &protocol.Draw{
			Commitment: a.DrawCommitment, Nonce: drawNonce.Hex(),
			Entropies:          league.Both("P01", a.Entropy, "P02", b.Entropy),
			EntropyCommitments: league.Both("P01", a.EntropyCommitments[0], "P02", a.EntropyCommitments[1]),
		}
		q.Signatures = league.Both("P01", signatureOf(a), "P02", signatureOf(b))
	})
	follow(q)
	for _, c := range change {
		c(q)
	}
	return q
}

// follow makes the number and the winner of a report follow from its draw and its choices,
// as a lying referee does it.
func follow(q *protocol.MatchResultReport) {
	chance := rules.Chance{}
	chance.Nonce, _ = protocol.ParseSecret(q.Draw.Nonce)
	for i, into := range []*[32]byte{&chance.EntropyA, &chance.EntropyB} {
		text, _ := q.Draw.Entropies.Get(players[i])
		*into, _ = protocol.ParseSecret(text)
	}
	result := q.Result.Result
	verdict := evenodd.Game{}.Start().Play(result.Moves(players)).Judge(chance)
	q.Result.WinnerPlayerID, q.Result.Status = nil, league.StatusDraw
	if winner := verdict.WinnerOf(players); winner != "" {
		q.Result.WinnerPlayerID, q.Result.Status = &winner, league.StatusWin
	}
	q.Result.DrawnNumber = &verdict.Number
}

func choose(a, b string) func(*protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) {
		q.Result.Choices = league.Both("P01", new(a), "P02", new(b))
		follow(q)
	}
}

// resign replaces the signature of P01 by one over a changed statement.
func resign(change func(*protocol.MoveStatement)) func(*protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) {
		s := statementOf(0, "even")
		change(&s)
		q.Signatures = league.Both("P01", signatureOf(s), "P02", signatureOf(statementOf(1, "odd")))
	}
}

// unanswered makes a report a technical loss of the opponent of a side, with an entropy and a
// commitment of the opponent that the side's signature does not cover.
func unanswered(side int) func(*protocol.MatchResultReport) {
	return func(q *protocol.MatchResultReport) {
		other := players[1-side]
		for i := range players {
			if players[i] == other {
				q.Result.Choices[i].Value = nil
				q.Draw.Entropies[i].Value = protocol.Secret{9}.Hex()
				q.Draw.EntropyCommitments[i].Value = protocol.EntropyCommitment("R1M1", other, protocol.Secret{9})
			}
		}
		d := &q.Result
		d.Status, d.DrawnNumber, d.WinnerPlayerID = league.StatusTechnicalLoss, nil, &players[side]
	}
}

// A lying referee reports what the rules allow: only the signatures show the lie.
func TestReportThatItsSignaturesDoNotProveIsRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*protocol.MatchResultReport)
		reason string
	}{
		"a flipped choice": {choose("odd", "odd"), "signatures: that of P01: it is not over"},
		"an invented entropy": {func(q *protocol.MatchResultReport) {
			q.Draw.Entropies = league.Both("P01", protocol.Secret{9}.Hex(), "P02", entropies[1].Hex())
			follow(q)
		}, "signatures: that of P01: it is not over"},
		"an invented entropy with its commitment": {func(q *protocol.MatchResultReport) {
			q.Draw.Entropies = league.Both("P01", protocol.Secret{9}.Hex(), "P02", entropies[1].Hex())
			q.Draw.EntropyCommitments = league.Both("P01", protocol.EntropyCommitment("R1M1", "P01", protocol.Secret{9}), "P02", statementOf(0, "").EntropyCommitments[1])
			follow(q)
		}, "signatures: that of P01: it is not over"},
		"a choice and an entropy": {func(q *protocol.MatchResultReport) {
			q.Draw.Entropies = league.Both("P01", protocol.Secret{9}.Hex(), "P02", entropies[1].Hex())
			choose("odd", "even")(q)
		}, "signatures: that of P01: it is not over"},
		"another draw": {func(q *protocol.MatchResultReport) {
			q.Draw.Nonce, q.Draw.Commitment = protocol.Secret{9}.Hex(), protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", protocol.Secret{9})
			follow(q)
		}, "signatures: that of P01: it is not over"},
		"no signatures":               {func(q *protocol.MatchResultReport) { q.Signatures = nil }, "signatures: that of P01: it is missing"},
		"the signature of one player": {func(q *protocol.MatchResultReport) { q.Signatures = q.Signatures[:1] }, "signatures: that of P02: it is missing"},
		"no draw":                     {func(q *protocol.MatchResultReport) { q.Draw = nil }, "draw: it is missing"},
		"invented bytes": {func(q *protocol.MatchResultReport) {
			q.Signatures = league.Both("P01", protocol.MoveSignature{Turn: 1, Signature: startHash + startHash}, "P02", q.Signatures[1].Value)
		}, "signatures: that of P01: it is not over"},
		"signatures of each other": {func(q *protocol.MatchResultReport) {
			q.Signatures = league.Both("P01", q.Signatures[1].Value, "P02", q.Signatures[0].Value)
		}, "signatures: that of P01: it is not over"},
		"a signature of another turn": {func(q *protocol.MatchResultReport) {
			q.Signatures = league.Both("P01", protocol.MoveSignature{Turn: 2, Signature: q.Signatures[0].Value.Signature}, "P02", q.Signatures[1].Value)
		}, "signatures: that of P01: it is of another turn"},
		"a signature of another match":   {resign(func(s *protocol.MoveStatement) { s.MatchID = "R2M1" }), "signatures: that of P01: it is not over"},
		"a signature of another attempt": {resign(func(s *protocol.MoveStatement) { s.Attempt = 2 }), "signatures: that of P01: it is not over"},
		"a signature of another league":  {resign(func(s *protocol.MoveStatement) { s.Started = journal.Origin }), "signatures: that of P01: it is not over"},
		"a signature for another referee": {resign(func(s *protocol.MoveStatement) { s.RefereeID = "REF02" }),
			"signatures: that of P01: it is not over"},
		"a signature of another player": {resign(func(s *protocol.MoveStatement) { s.PlayerID = "P03" }), "signatures: that of P01: it is not over"},
		"the statement of another player with the same key": {func(q *protocol.MatchResultReport) {
			s := statementOf(0, "even")
			s.PlayerID = "P02"
			q.Signatures[0].Value.Signature = keyOf("P01").SignMove(&s)
		}, "signatures: that of P01: it is not over"},
		"an entropy of player B with its commitment, beside the move of player A": {unanswered(0), "signatures: that of P01: it is not over"},
		"an entropy of player A with its commitment, beside the move of player B": {unanswered(1), "signatures: that of P02: it is not over"},
		"a technical loss with an invented choice": {func(q *protocol.MatchResultReport) {
			q.Result.Choices = league.Both("P01", new("odd"), "P02", nil)
			q.Result.Status, q.Result.DrawnNumber = league.StatusTechnicalLoss, nil
			q.Result.WinnerPlayerID = new("P01")
		}, "signatures: that of P01: it is not over"},
		"an entropy that a player without a key never committed to": {func(q *protocol.MatchResultReport) {
			q.Draw.Entropies = league.Both("P01", entropies[0].Hex(), "P02", protocol.Secret{9}.Hex())
			q.Result.Choices = league.Both("P01", new("even"), "P02", nil)
			q.Result.Status, q.Result.DrawnNumber = league.StatusTechnicalLoss, nil
			q.Result.WinnerPlayerID = new("P01")
		}, "draw.entropies: that of P02 does not belong to its commitment"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(signed(t), honest(tt.change), "REF01", decide.NotPinged)
			assert.False(t, v.Accepted)
			assert.Contains(t, v.Rejected, tt.reason)
			assert.Equal(t, protocol.ErrInvalidFieldType, protocol.AsError(v.Err).Code)
		})
	}
}

func TestReportWithSignaturesIsAccepted(t *testing.T) {
	for name, change := range map[string]func(*protocol.MatchResultReport){
		"a whole match": func(*protocol.MatchResultReport) {},
		"a technical loss of a player without choice": func(q *protocol.MatchResultReport) {
			q.Result.Choices = league.Both("P01", new("even"), "P02", nil)
			q.Result.Status, q.Result.DrawnNumber = league.StatusTechnicalLoss, nil
			q.Result.WinnerPlayerID = new("P01")
			q.Draw.Entropies, q.Signatures = q.Draw.Entropies[:1], q.Signatures[:1]
		},
		"a double technical loss": func(q *protocol.MatchResultReport) {
			doubleLoss(q)
			q.Signatures = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := honest(change)
			v := judge(signed(t), q, "REF01", decide.PlayerAway)
			assert.True(t, v.Accepted, "%v", v.Err)
			assert.Equal(t, q.Signatures, v.Result.Signatures)
		})
	}
}

// A referee that relays signatures shows all moves and the draw, also of players without keys.
func TestRelayingRefereeShowsMovesOfPlayersWithoutKeys(t *testing.T) {
	s := fold(t, signing(journal.SignaturesOptional),
		player("P01"), player("P02"), player("P03"), player("P04"), relaying(referee("REF01", 2, "")))
	apply(t, s, &journal.Started{
		Algorithm: "circle-v1", Players: []string{"P01", "P02", "P03", "P04"},
		Referees: []string{"REF01"}, Keys: s.PublicKeys(),
	}, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	without := func(q *protocol.MatchResultReport) { q.Signatures = nil }
	v := judge(s, honest(without), "REF01", decide.NotPinged)
	require.True(t, v.Accepted, "%v", v.Err)
	assert.Equal(t, journal.GradeRecomputed, v.Result.Grade)
	for name, q := range map[string]*protocol.MatchResultReport{
		"no number": report(func(q *protocol.MatchResultReport) { q.Result.DrawnNumber = nil }),
		"no moves":  report(winnerOnly),
	} {
		v := judge(s, q, "REF01", decide.NotPinged)
		assert.False(t, v.Accepted, name)
		assert.Contains(t, v.Rejected, "a report shows all moves of both players, and the draw", name)
	}
}

func TestResultKeepsOnlyVerifiedSignatures(t *testing.T) {
	s := signed(t, &journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF03"})
	q := honest(func(q *protocol.MatchResultReport) { // REF03 does not relay, so nobody verifies
		q.Attempt, q.Draw, q.Moves = 2, nil, []protocol.PlayerMove{{PlayerID: "P01", Move: "even"}}
	})
	v := judge(s, q, "REF03", decide.NotPinged)
	require.True(t, v.Accepted, "%v", v.Err)
	assert.Equal(t, protocol.Evidence{}, v.Result.Evidence)
	assert.Len(t, q.Signatures, 2, "messages are immutable")

	v = judge(signed(t), honest(func(q *protocol.MatchResultReport) {
		q.Signatures = append(q.Signatures, league.Member[protocol.MoveSignature]{Name: "P04", Value: q.Signatures[0].Value})
	}), "REF01", decide.NotPinged)
	require.True(t, v.Accepted, "%v", v.Err)
	assert.Len(t, v.Result.Signatures, 2, "that of a player that does not play is dropped")
}

func TestLateReportWithoutProofIsNoDispute(t *testing.T) {
	s := signed(t)
	v := judge(s, honest(), "REF01", decide.NotPinged)
	require.True(t, v.Accepted)
	apply(t, s, v.Result)
	v = judge(s, honest(), "REF01", decide.NotPinged)
	assert.True(t, v.Repeated)
	for name, change := range map[string]func(*protocol.MatchResultReport){
		"another result":                     choose("odd", "odd"),
		"the same result without signatures": func(q *protocol.MatchResultReport) { q.Signatures = nil },
	} {
		v := judge(s, honest(change), "REF01", decide.NotPinged)
		assert.False(t, v.Disputed || v.Repeated || v.Accepted, name)
		assert.Equal(t, protocol.ErrInvalidFieldType, protocol.AsError(v.Err).Code, name)
	}
}

// ticTacToe is a report of a match in which P01 wins with the cells 0, 1 and 2.
func ticTacToe(change ...func(*protocol.MatchResultReport)) *protocol.MatchResultReport {
	moves := []protocol.PlayerMove{
		{PlayerID: "P01", Move: "0"}, {PlayerID: "P02", Move: "3"}, {PlayerID: "P01", Move: "1"}, {PlayerID: "P02", Move: "4"}, {PlayerID: "P01", Move: "2"},
	}
	q := honest(func(q *protocol.MatchResultReport) {
		q.Result = resultOf(league.Result{
			WinnerPlayerID: new("P01"), Status: league.StatusWin, Choices: league.Both("P01", new("2"), "P02", new("4")),
		})
		q.Moves = moves
		q.Signatures = league.Both("P01", signatureOf(laterStatement(0, 5, "2", moves[:4])), "P02", signatureOf(laterStatement(1, 4, "4", moves[:3])))
	})
	for _, c := range change {
		c(q)
	}
	return q
}

// laterStatement is what a player signs in a later turn.
func laterStatement(side, turn int, move string, before []protocol.PlayerMove) protocol.MoveStatement {
	s := statementOf(side, move)
	if s.Turn = turn; turn > 1 {
		s.MovesHash = protocol.MovesHash(nil, before)
	}
	return s
}

func TestMovesOfSeveralTurnsAreReplayed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*protocol.MatchResultReport)
		reason string // "" for an accepted report
	}{
		"a true report": {func(*protocol.MatchResultReport) {}, ""},
		"a technical loss in the middle": {func(q *protocol.MatchResultReport) {
			q.Moves = q.Moves[:4]
			q.Result.WinnerPlayerID, q.Result.Status = new("P02"), league.StatusTechnicalLoss
			q.Result.Choices = league.Both("P01", new("1"), "P02", new("4"))
			q.Signatures = league.Both("P01", signatureOf(laterStatement(0, 3, "1", q.Moves[:2])), "P02", q.Signatures[1].Value)
		}, ""},
		"another winner": {func(q *protocol.MatchResultReport) { q.Result.WinnerPlayerID = new("P02") }, "result.winner"},
		"a draw": {func(q *protocol.MatchResultReport) {
			q.Result.WinnerPlayerID, q.Result.Status = nil, league.StatusDraw
		}, "result.winner"},
		"no moves":        {func(q *protocol.MatchResultReport) { q.Moves = nil }, "moves: they are missing"},
		"an earlier move": {func(q *protocol.MatchResultReport) { q.Moves = changed(q.Moves, 1, "5") }, "signatures: that of P01"},
		"a last move that its player did not make": {func(q *protocol.MatchResultReport) { // it made the one that it signed
			q.Result.Choices = league.Both("P01", new("8"), "P02", new("4"))
			q.Signatures[0].Value = signatureOf(laterStatement(0, 5, "8", q.Moves[:4]))
		}, "moves: the last one of P01"},
		"a statement of another turn": {func(q *protocol.MatchResultReport) {
			earlier := signatureOf(laterStatement(0, 4, "2", q.Moves[:4]))
			earlier.Turn = 5
			q.Signatures = league.Both("P01", earlier, "P02", q.Signatures[1].Value)
		}, "signatures: that of P01: it is not over"},
		"an illegal move":     {func(q *protocol.MatchResultReport) { q.Moves = changed(q.Moves, 1, "0") }, "moves: "},
		"a move of no player": {func(q *protocol.MatchResultReport) { q.Moves[1].PlayerID = "P03" }, "moves: "},
		"a game that is not over": {func(q *protocol.MatchResultReport) {
			q.Moves = q.Moves[:4]
			q.Result.Choices = league.Both("P01", new("1"), "P02", new("4"))
		}, "signatures: that of P01: it is of another turn"},
		"an older signature of a player": {func(q *protocol.MatchResultReport) {
			q.Signatures = league.Both("P01", signatureOf(laterStatement(0, 3, "1", q.Moves[:2])), "P02", q.Signatures[1].Value)
		}, "signatures: that of P01: it is of another turn"},
		"another last move": {func(q *protocol.MatchResultReport) {
			q.Moves = changed(q.Moves, 3, "5")
			q.Result.Choices = league.Both("P01", new("2"), "P02", new("5"))
			q.Signatures = league.Both("P01", signatureOf(laterStatement(0, 5, "2", q.Moves[:4])), "P02", q.Signatures[1].Value)
		}, "signatures: that of P02"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &decide.ReportJudge{LeagueID: leagueID, GameType: "tic_tac_toe", Game: tictactoe.Game{}}
			s := signed(t)
			c, err := p.Read(s, ticTacToe(tt.change), "REF01", startHash)
			require.NoError(t, err)
			p.Prove(&c)
			v := p.Judge(s, c, decide.NotPinged)
			assert.Equal(t, tt.reason == "", v.Accepted, "%v", v.Err)
			assert.Contains(t, v.Rejected, tt.reason)
		})
	}
}

// A player that is ready has signed that, although it has made no choice when the match ends.
func TestSignatureOfTheReadyTurnIsKept(t *testing.T) {
	ready := func(move string) *protocol.MatchResultReport {
		return honest(func(q *protocol.MatchResultReport) {
			q.Result = resultOf(league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P01"),
				Choices: league.Both[*string]("P01", nil, "P02", nil)})
			q.Draw.Entropies = q.Draw.Entropies[:1]
			q.Moves = []protocol.PlayerMove{{PlayerID: "P01", Move: rules.Ready, Turn: 1}}
			q.Signatures = q.Signatures[:1]
			q.Signatures[0].Value = signatureOf(statementOf(0, move))
		})
	}
	p := &decide.ReportJudge{LeagueID: leagueID, GameType: pig.Type, Game: pig.Game{}}
	judge := func(q *protocol.MatchResultReport) decide.Judgement {
		s := signed(t)
		c, err := p.Read(s, q, "REF01", startHash)
		require.NoError(t, err)
		p.Prove(&c)
		return p.Judge(s, c, decide.NotPinged)
	}
	v := judge(ready(rules.Ready))
	require.True(t, v.Accepted, "%v", v.Err)
	assert.Equal(t, ready(rules.Ready).Signatures, v.Result.Signatures)
	assert.Contains(t, judge(ready(pig.Roll)).Rejected, "signatures: that of P01: it is not over")
}

// changed are moves with another one at an index.
func changed(moves []protocol.PlayerMove, index int, move string) []protocol.PlayerMove {
	moves = append([]protocol.PlayerMove(nil), moves...)
	moves[index].Move = move
	return moves
}
